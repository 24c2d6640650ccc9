"""create_account and account_merge."""

import struct
from dataclasses import dataclass
from typing import Any

from sandbox.amounts import MAX_AMOUNT, to_text
from sandbox.entries import AUTH_IMMUTABLE, Account
from sandbox.operations.base import Context, Operation, OperationFailed, Threshold, muxed_fields
from sandbox.reserves import add_account, available_balance, release_sponsor
from sandbox.strkeys import Party, account_address


@dataclass(frozen=True, slots=True)
class CreateAccount(Operation):
    """Opens an account with a starting balance (0 only if its reserve is sponsored)."""

    KIND = 0
    NAME = "create_account"
    MALFORMED, UNDERFUNDED, LOW_RESERVE, ALREADY_EXIST = -1, -2, -3, -4

    destination: bytes
    starting_balance: int

    def check(self, source: bytes) -> int:
        return self.MALFORMED if self.starting_balance < 0 or self.destination == source else 0

    def apply(self, context: Context) -> bytes:
        state = context.state
        if state.account(self.destination) is not None:
            raise OperationFailed(self.ALREADY_EXIST)
        account = Account(self.destination, self.starting_balance, state.sequence << 32)
        add_account(context, account, self.LOW_RESERVE)
        source = state.edit_account(context.source.account)
        if available_balance(source, state.base_reserve) < self.starting_balance:
            raise OperationFailed(self.UNDERFUNDED)
        source.balance -= self.starting_balance
        context.move(self.NAME, context.source, Party(self.destination), None, self.starting_balance)
        return b""

    def parties(self) -> tuple[bytes, ...]:
        return (self.destination,)

    def details(self, source: Party) -> dict[str, Any]:
        return {
            "starting_balance": to_text(self.starting_balance),
            **muxed_fields("funder", source),
            "account": account_address(self.destination),
        }

    def is_payment(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class AccountMerge(Operation):
    """Closes the source account and moves all it has to another."""

    KIND = 8
    NAME = "account_merge"
    MALFORMED, NO_ACCOUNT, IMMUTABLE_SET, HAS_SUB_ENTRIES, SEQNUM_TOO_FAR, DEST_FULL, IS_SPONSOR = range(
        -1, -8, -1
    )

    destination: Party

    @property
    def threshold(self) -> Threshold:
        return Threshold.HIGH

    def check(self, source: bytes) -> int:
        return self.MALFORMED if self.destination.account == source else 0

    def apply(self, context: Context) -> bytes:
        state = context.state
        key = context.source.account
        if state.account(self.destination.account) is None:
            raise OperationFailed(self.NO_ACCOUNT)
        source = state.edit_account(key)
        if source.flags & AUTH_IMMUTABLE:
            raise OperationFailed(self.IMMUTABLE_SET)
        if source.subentries != len(source.signers):
            raise OperationFailed(self.HAS_SUB_ENTRIES)
        if source.sequence >= state.sequence << 32:
            raise OperationFailed(self.SEQNUM_TOO_FAR)
        if key in context.sponsorships.values() or source.sponsoring:
            raise OperationFailed(self.IS_SPONSOR)
        for signer in source.signers:
            release_sponsor(state, signer.sponsor, 1)
        amount = source.balance
        target = state.edit_account(self.destination.account)
        if target.balance + amount > MAX_AMOUNT:
            raise OperationFailed(self.DEST_FULL)
        target.balance += amount
        release_sponsor(state, source.sponsor, 2)
        state.remove_account(key)
        context.move(self.NAME, context.source, self.destination, None, amount)
        return struct.pack(">q", amount)

    def parties(self) -> tuple[bytes, ...]:
        return (self.destination.account,)

    def details(self, source: Party) -> dict[str, Any]:
        return {**muxed_fields("account", source), **muxed_fields("into", self.destination)}

    def is_payment(self) -> bool:
        return True
