"""Signatures: which signers of an account stand behind a transaction, and whether any signature is left
over."""

import hashlib
from collections.abc import Sequence

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from sandbox.entries import Account, Signer, SignerKey
from sandbox.transaction import DecoratedSignature


def _verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    if len(signature) != 64:
        return False
    try:
        crypto_sign_open(signature + message, key)
    except (BadSignatureError, ValueError):
        return False
    return True


def account_signers(account: Account) -> tuple[Signer, ...]:
    """All signers of an account, the master key among them unless its weight is 0."""
    master = account.thresholds[0]
    if not master:
        return account.signers
    return (*account.signers, Signer(SignerKey(0, account.key), master))


class SignatureChecker:
    """Checks one hash's signatures and remembers which of them were used. Each pair is verified once."""

    def __init__(self, digest: bytes, signatures: Sequence[DecoratedSignature]) -> None:
        self._digest = digest
        self._signatures = signatures
        self._used = [False] * len(signatures)
        self._verified: dict[tuple[int, SignerKey], bool] = {}
        self._answers: dict[tuple[tuple[Signer, ...], int], bool] = {}

    def check(self, signers: tuple[Signer, ...], needed: int) -> bool:
        """Whether signers of at least the needed weight (and at least one) have signed."""
        question = (signers, needed)
        if question not in self._answers:
            self._answers[question] = self._check(signers, needed)
        return self._answers[question]

    def check_account(self, account: Account, threshold: int) -> bool:
        """Whether the account's signers reach one of its thresholds (the index in Account.thresholds)."""
        return self.check(account_signers(account), account.thresholds[threshold])

    def all_used(self) -> bool:
        """Whether no signature was for nothing."""
        return all(self._used)

    def _check(self, signers: tuple[Signer, ...], needed: int) -> bool:
        total = 0
        for signer in signers:
            if signer.key.kind == 1 and signer.key.key == self._digest:
                total += min(signer.weight, 255)
                if total >= needed:
                    return True
        for kinds in ((2,), (0,), (3,)):
            left = [signer for signer in signers if signer.key.kind in kinds]
            for position in range(len(self._signatures)):
                signer_found = next((each for each in left if self._matches(position, each.key)), None)
                if signer_found is None:
                    continue
                self._used[position] = True
                left.remove(signer_found)
                total += min(signer_found.weight, 255)
                if total >= needed:
                    return True
        return False

    def _matches(self, position: int, key: SignerKey) -> bool:
        pair = (position, key)
        if pair not in self._verified:
            self._verified[pair] = self._verify(self._signatures[position], key)
        return self._verified[pair]

    def _verify(self, decorated: DecoratedSignature, key: SignerKey) -> bool:
        hint, signature = decorated
        if key.kind == 0:
            return hint == key.key[-4:] and _verifies(key.key, self._digest, signature)
        if key.kind == 2:
            return hint == key.key[-4:] and hashlib.sha256(signature).digest() == key.key
        if key.kind == 3:
            tail = key.payload[-4:].ljust(4, b"\0")
            wanted = bytes(a ^ b for a, b in zip(key.key[-4:], tail, strict=True))
            return hint == wanted and _verifies(key.key, key.payload, signature)
        return False
