"""A small stage for the sandbox's tests: accounts, transactions, and ledgers closed by hand."""

import asyncio
from typing import Any

from stellar_sdk import (
    Account,
    Asset,
    FeeBumpTransactionEnvelope,
    Keypair,
    TransactionBuilder,
    TransactionEnvelope,
)
from stellar_sdk.client.aiohttp_client import AiohttpClient
from stellar_sdk.exceptions import BaseHorizonError
from stellar_sdk.operation import Operation
from stellar_sdk.server_async import ServerAsync

from sandbox.history import TransactionRecord
from sandbox.queue import Answer
from sandbox.server import Sandbox
from sandbox.transaction import Submission

XLM = Asset.native()
Envelope = TransactionEnvelope | FeeBumpTransactionEnvelope


def key(name: str) -> Keypair:
    """The same key pair for the same name."""
    return Keypair.from_raw_ed25519_seed(name.encode().ljust(32, b"."))


class Stage:
    """A sandbox with manual closes and a client for it."""

    def __init__(self, sandbox: Sandbox, server: ServerAsync) -> None:
        self.sandbox = sandbox
        self.server = server
        self.passphrase = sandbox.network.parameters.passphrase

    def fund(self, *names: str, amount: str = "1000") -> list[Keypair]:
        """Opens accounts and closes a ledger."""
        self.sandbox.fund({key(name).public_key: amount for name in names})
        return [key(name) for name in names]

    def sequence(self, source: Keypair) -> int:
        """The account's sequence in the ledger."""
        account = self.sandbox.ledger.account(source.raw_public_key())
        assert account is not None
        return account.sequence

    def balance(self, owner: Keypair) -> int:
        """The account's balance in stroops."""
        account = self.sandbox.ledger.account(owner.raw_public_key())
        assert account is not None
        return account.balance

    def builder(self, source: Keypair, sequence: int | None = None, fee: int = 100) -> TransactionBuilder:
        """A builder for the account's next transaction, without time bounds."""
        last = self.sequence(source) if sequence is None else sequence - 1
        return TransactionBuilder(Account(source.public_key, last), self.passphrase, fee).add_time_bounds(
            0, 0
        )

    def build(
        self,
        source: Keypair,
        *operations: Operation,
        sequence: int | None = None,
        fee: int = 100,
        signers: list[Keypair] | None = None,
    ) -> TransactionEnvelope:
        """A signed transaction of those operations."""
        builder = self.builder(source, sequence, fee)
        for operation in operations:
            builder.append_operation(operation)
        return self.sign(builder, *([source] if signers is None else signers))

    def sign(self, builder: TransactionBuilder, *signers: Keypair) -> TransactionEnvelope:
        """Builds and signs."""
        envelope = builder.build()
        for signer in signers:
            envelope.sign(signer)
        return envelope

    def bump(
        self,
        envelope: TransactionEnvelope,
        payer: Keypair,
        fee: int = 100,
        signers: list[Keypair] | None = None,
    ) -> FeeBumpTransactionEnvelope:
        """A signed fee bump; `fee` per operation."""
        bump = TransactionBuilder.build_fee_bump_transaction(payer, fee, envelope, self.passphrase)
        for signer in [payer] if signers is None else signers:
            bump.sign(signer)
        return bump

    def read(self, envelope: Envelope) -> Submission:
        """The envelope as the sandbox reads it."""
        return self.sandbox.network.read(envelope.to_xdr())

    def send(self, envelope: Envelope) -> Answer:
        """Core's answer."""
        return self.sandbox.network.submit(self.read(envelope))

    def refusal(self, envelope: Envelope) -> list[str]:
        """The codes with which core refuses: transaction, (inner,) and operations; empty if it takes it."""
        answer = self.send(envelope)
        if answer.result is None:
            return [] if answer.status.value == "PENDING" else [answer.status.value]
        return flat(answer.result.result_codes())

    def apply_unseen(self, *envelopes: Envelope) -> None:
        """Sends and closes; for when lookups do not see it yet. Fails if one is not taken."""
        for envelope in envelopes:
            answer = self.send(envelope)
            assert answer.status.value == "PENDING", answer
        self.sandbox.close_ledger()

    def apply(self, *envelopes: Envelope) -> list[TransactionRecord]:
        """Sends, closes, and gives the records in the order sent. Fails if one is not taken."""
        self.apply_unseen(*envelopes)
        return [self.record(envelope) for envelope in envelopes]

    def record(self, envelope: Envelope) -> TransactionRecord:
        """The envelope's record in the ledger."""
        record = self.sandbox.network.find(envelope.hash())
        assert record is not None
        return record

    def outcome(self, *envelopes: Envelope) -> list[str]:
        """The codes that the last of some transactions, sent in the same ledger, got at apply."""
        return flat(self.apply(*envelopes)[-1].result.result_codes())

    def do(self, source: Keypair, *operations: Operation, signers: list[Keypair] | None = None) -> list[str]:
        """Applies operations in a ledger of their own; the codes."""
        return self.outcome(self.build(source, *operations, signers=signers))

    def must(self, source: Keypair, *operations: Operation, signers: list[Keypair] | None = None) -> None:
        """Applies operations that have to succeed."""
        codes = self.do(source, *operations, signers=signers)
        assert codes[0] == "tx_success", codes

    async def post(self, envelope: Envelope | str) -> dict[str, Any]:
        """Submits by HTTP and closes a ledger while it waits."""
        sending = asyncio.create_task(self.server.submit_transaction(envelope, skip_memo_required_check=True))
        while not sending.done() and not self.sandbox.network.queue.waiting():
            await asyncio.sleep(0.005)
        if not sending.done():
            self.sandbox.close_ledger()
        return await sending


def flat(codes: dict[str, Any]) -> list[str]:
    """result_codes as one list."""
    return [code for value in codes.values() for code in (value if isinstance(value, list) else [value])]


def problem(error: BaseHorizonError) -> str:
    """The last part of a problem's type."""
    assert error.type is not None
    return error.type.rsplit("/", 1)[-1]


__all__ = ["XLM", "AiohttpClient", "Envelope", "Stage", "flat", "key", "problem"]
