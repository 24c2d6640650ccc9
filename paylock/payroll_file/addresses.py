"""Stellar addresses: real strkeys with a right checksum. A secret key is never repeated in a message."""

import re
from functools import lru_cache

from stellar_sdk import StrKey

from paylock.payroll_file.problems import FieldRefused

_SECRET = re.compile(r"S[A-Z2-7]{55}", re.IGNORECASE)
_OTHER_KINDS = {
    "C": "a contract's address; payroll pays accounts only (G… or M…)",
    "B": "a claimable balance's id; payroll pays accounts only (G… or M…)",
    "L": "a liquidity pool's id; payroll pays accounts only (G… or M…)",
    "P": "a signed payload signer; payroll pays accounts only (G… or M…)",
    "T": "a pre-authorized transaction's hash; payroll pays accounts only (G… or M…)",
    "X": "a hash signer; payroll pays accounts only (G… or M…)",
}


def refuse_secret(text: str) -> None:
    """Raises FieldRefused if the text holds what looks like a secret key."""
    if len(text) >= 56 and _SECRET.search(text):
        raise FieldRefused(
            "holds what looks like a SECRET key (S…): whoever reads this file owns that account. Treat the"
            " key as stolen, ask the payee for the public address (G…), and delete the file"
        )


def destination_of(text: str) -> str:
    """A G… or M… address; raises FieldRefused."""
    if not text:
        raise FieldRefused("is empty; write the payee's Stellar address (G… or M…)")
    refuse_secret(text)
    if text[0] == "G" and StrKey.is_valid_ed25519_public_key(text):
        return text
    if text[0] == "M" and StrKey.is_valid_med25519_public_key(text):
        return text
    raise FieldRefused(_why_not(text, ("G", "M")))


@lru_cache(maxsize=1024)
def issuer_of(text: str) -> str:
    """A G… address; raises FieldRefused."""
    refuse_secret(text)
    if text[:1] == "G" and StrKey.is_valid_ed25519_public_key(text):
        return text
    if text[:1] == "M":
        raise FieldRefused(f"{_shown(text)} is a muxed address; an asset's issuer is a plain account (G…)")
    raise FieldRefused(_why_not(text, ("G",)))


def _why_not(text: str, kinds: tuple[str, ...]) -> str:
    first = text[0].upper()
    if "*" in text:
        return f"{text!r} is a federation name; ask the payee for the address behind it (G… or M…)"
    if first in _OTHER_KINDS and len(text) >= 56:
        return f"{_shown(text)} is {_OTHER_KINDS[first]}"
    if first not in kinds:
        return f"{_shown(text)} is not a Stellar address; it begins with {' or '.join(kinds)}"
    wanted = 69 if first == "M" else 56
    if len(text) != wanted:
        return f"{_shown(text)} has {len(text)} characters instead of {wanted}; copy the whole address again"
    if text != text.upper():
        return f"{_shown(text)} has small letters; an address is written in capitals: copy it again"
    return f"{_shown(text)} is mistyped (its checksum is wrong); copy it again, never type it"


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 20 else f"'{text[:6]}…{text[-6:]}'"
