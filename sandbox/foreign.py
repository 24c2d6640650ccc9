"""Transactions that the sandbox itself sends: friendbot's, and foreign ones that disturb a channel account.

They go into the next ledger past the queue's rules, paid by the root account.
"""

from dataclasses import dataclass

from stellar_sdk import Account, Asset, FeeBumpTransactionEnvelope, Keypair, TransactionBuilder
from stellar_sdk.transaction_envelope import TransactionEnvelope

from sandbox.amounts import to_text
from sandbox.network import Network
from sandbox.transaction import Submission

_FEE = 100_000
_OPERATIONS = 100


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What a foreign transaction does to the account of `secret`.

    `bump_to` raises its sequence by an operation of another account's transaction. Otherwise its own sequence
    is used up (at `sequence`, by default its next) by a payment of `amount` from `payer_secret` to
    `destination`, or by a no-op.
    """

    secret: str
    bump_to: int | None = None
    sequence: int | None = None
    payer_secret: str | None = None
    destination: str | None = None
    amount: str = "1"
    asset_code: str | None = None
    asset_issuer: str | None = None
    memo: str | None = None
    first: bool = True


class Sender:
    """Builds, signs and injects transactions."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._root = Keypair.from_raw_ed25519_seed(network.network_id)

    @property
    def root(self) -> Keypair:
        """The key pair of the root account, which holds all coins at the start."""
        return self._root

    def _builder(self, address: str, sequence: int) -> TransactionBuilder:
        account = Account(address, sequence - 1)
        builder = TransactionBuilder(account, self._network.parameters.passphrase, _FEE)
        return builder.add_time_bounds(0, 0)

    def _next_sequence(self, key: bytes) -> int:
        account = self._network.state.account(key)
        if account is None:
            raise ValueError("the account does not exist")
        return account.sequence + 1 + self._network.injected_of(key)

    def fund(self, accounts: dict[str, int]) -> list[Submission]:
        """Opens accounts, each with a balance in stroops, from the root account."""
        sent = []
        wanted = list(accounts.items())
        for start in range(0, len(wanted), _OPERATIONS):
            builder = self._builder(self._root.public_key, self._next_sequence(self._network.root))
            for address, balance in wanted[start : start + _OPERATIONS]:
                builder.append_create_account_op(address, to_text(balance))
            sent.append(self._inject(builder.build(), [self._root], True))
        return sent

    def disturb(self, disturbance: Disturbance) -> Submission:
        """Sends a foreign transaction. ValueError if it can't be built."""
        channel = Keypair.from_secret(disturbance.secret)
        if disturbance.bump_to is not None:
            builder = self._builder(self._root.public_key, self._next_sequence(self._network.root))
            builder.append_bump_sequence_op(disturbance.bump_to, source=channel.public_key)
            return self._inject(builder.build(), [self._root, channel], disturbance.first)
        sequence = disturbance.sequence or self._next_sequence(channel.raw_public_key())
        builder = self._builder(channel.public_key, sequence)
        signers = [channel]
        if disturbance.memo is not None:
            builder.add_text_memo(disturbance.memo)
        if disturbance.destination is not None:
            asset = Asset(disturbance.asset_code or "XLM", disturbance.asset_issuer)
            payer = (
                channel if disturbance.payer_secret is None else Keypair.from_secret(disturbance.payer_secret)
            )
            builder.append_payment_op(
                disturbance.destination, asset, disturbance.amount, source=payer.public_key
            )
            if payer.public_key != channel.public_key:
                signers.append(payer)
        else:
            builder.append_bump_sequence_op(0)
        return self._inject_bumped(builder.build(), signers, disturbance.first)

    def _inject(self, envelope: TransactionEnvelope, signers: list[Keypair], first: bool) -> Submission:
        for signer in signers:
            envelope.sign(signer)
        submission = self._network.read(envelope.to_xdr())
        self._network.inject(submission, first)
        return submission

    def _inject_bumped(
        self, envelope: TransactionEnvelope, signers: list[Keypair], first: bool
    ) -> Submission:
        for signer in signers:
            envelope.sign(signer)
        bump = TransactionBuilder.build_fee_bump_transaction(
            self._root, _FEE, envelope, self._network.parameters.passphrase
        )
        assert isinstance(bump, FeeBumpTransactionEnvelope)
        bump.sign(self._root)
        submission = self._network.read(bump.to_xdr())
        self._network.inject(submission, first)
        return submission
