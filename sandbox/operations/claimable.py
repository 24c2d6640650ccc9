"""create_claimable_balance, claim_claimable_balance and their clawback: money for whom can't hold it yet."""

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

from sandbox import assets
from sandbox.amounts import to_text
from sandbox.assets import Asset, Credit
from sandbox.clock import rfc3339
from sandbox.entries import LINE_CLAWBACK_ENABLED, ClaimableBalance, Claimant, Predicate
from sandbox.operations import payments
from sandbox.operations.base import Context, Operation, OperationFailed, Threshold, muxed_fields
from sandbox.reserves import release_sponsor, sponsor_balance
from sandbox.strkeys import Party, account_address

CLAWBACK_FLAG = 1


def predicate_json(predicate: Predicate) -> dict[str, Any]:
    """Horizon's form of a predicate."""
    if predicate.kind == 0:
        return {"unconditional": True}
    if predicate.kind in (1, 2):
        return {{1: "and", 2: "or"}[predicate.kind]: [predicate_json(part) for part in predicate.parts]}
    if predicate.kind == 3:
        return {"not": predicate_json(predicate.parts[0])}
    if predicate.kind == 5:
        return {"rel_before": str(predicate.time)}
    return {"abs_before": rfc3339(predicate.time), "abs_before_epoch": str(predicate.time)}


def balance_id_text(balance_id: bytes) -> str:
    """Horizon's 72 hex digits: type, then hash."""
    return "00000000" + balance_id.hex()


@dataclass(frozen=True, slots=True)
class CreateClaimableBalance(Operation):
    """Puts an amount aside for one of its claimants."""

    KIND = 14
    NAME = "create_claimable_balance"
    MALFORMED, LOW_RESERVE, NO_TRUST, NOT_AUTHORIZED, UNDERFUNDED = -1, -2, -3, -4, -5

    asset: Asset
    amount: int
    claimants: tuple[Claimant, ...]

    def check(self, source: bytes) -> int:
        accounts = {claimant.account for claimant in self.claimants}
        if not assets.is_valid(self.asset) or self.amount <= 0 or not accounts:
            return self.MALFORMED
        if len(accounts) != len(self.claimants) or not all(
            each.predicate.is_valid() for each in self.claimants
        ):
            return self.MALFORMED
        return 0

    def apply(self, context: Context) -> bytes:
        state, source = context.state, context.source.account
        translated = {
            payments.SRC_NO_TRUST: self.NO_TRUST,
            payments.SRC_NOT_AUTHORIZED: self.NOT_AUTHORIZED,
            payments.UNDERFUNDED: self.UNDERFUNDED,
        }
        try:
            payments.debit(context, source, self.asset, self.amount)
        except OperationFailed as failure:
            raise OperationFailed(translated[failure.inner]) from failure
        flags = 0
        if self.asset is not None:
            line = state.line(source, self.asset)
            issuer = state.account(self.asset.issuer)
            held = line.flags & LINE_CLAWBACK_ENABLED if line else issuer is not None and issuer.flags & 8
            flags = CLAWBACK_FLAG if held else 0
        preimage = struct.pack(">II", 6, 0) + context.transaction_source
        preimage += struct.pack(">qI", context.transaction_sequence, context.index)
        balance_id = hashlib.sha256(preimage).digest()
        sponsor = sponsor_balance(context, source, len(self.claimants), self.LOW_RESERVE)
        claimants = tuple(
            Claimant(each.account, each.predicate.absolute(state.close_time)) for each in self.claimants
        )
        state.put_balance(
            balance_id,
            ClaimableBalance(claimants, self.asset, self.amount, flags, sponsor, created_by=source),
        )
        context.move(self.NAME, context.source, None, self.asset, self.amount, balance_id)
        return bytes(4) + balance_id

    def parties(self) -> tuple[bytes, ...]:
        return tuple(claimant.account for claimant in self.claimants)

    def details(self, source: Party) -> dict[str, Any]:
        return {
            "asset": assets.canonical(self.asset),
            "amount": to_text(self.amount),
            "claimants": [
                {"destination": account_address(each.account), "predicate": predicate_json(each.predicate)}
                for each in self.claimants
            ],
        }


def _credit_asset(balance: ClaimableBalance) -> Asset:
    return None if balance.asset is None else Credit(*balance.asset)


@dataclass(frozen=True, slots=True)
class ClaimClaimableBalance(Operation):
    """A claimant takes what was put aside."""

    KIND = 15
    NAME = "claim_claimable_balance"
    DOES_NOT_EXIST, CANNOT_CLAIM, LINE_FULL, NO_TRUST, NOT_AUTHORIZED = -1, -2, -3, -4, -5

    balance_id: bytes

    @property
    def threshold(self) -> Threshold:
        return Threshold.LOW

    def apply(self, context: Context) -> bytes:
        state, source = context.state, context.source.account
        balance = state.balance(self.balance_id)
        if balance is None:
            raise OperationFailed(self.DOES_NOT_EXIST)
        claimant = next((each for each in balance.claimants if each.account == source), None)
        if claimant is None or not claimant.predicate.holds(state.close_time):
            raise OperationFailed(self.CANNOT_CLAIM)
        translated = {
            payments.NO_TRUST: self.NO_TRUST,
            payments.NOT_AUTHORIZED: self.NOT_AUTHORIZED,
            payments.LINE_FULL: self.LINE_FULL,
        }
        try:
            payments.credit(context, source, _credit_asset(balance), balance.amount)
        except OperationFailed as failure:
            raise OperationFailed(translated[failure.inner]) from failure
        release_sponsor(state, balance.sponsor, len(balance.claimants))
        state.remove_balance(self.balance_id)
        context.move(self.NAME, None, context.source, _credit_asset(balance), balance.amount, self.balance_id)
        return b""

    def details(self, source: Party) -> dict[str, Any]:
        return {"balance_id": balance_id_text(self.balance_id), **muxed_fields("claimant", source)}


@dataclass(frozen=True, slots=True)
class ClawbackClaimableBalance(Operation):
    """The issuer takes back what was put aside."""

    KIND = 20
    NAME = "clawback_claimable_balance"
    DOES_NOT_EXIST, NOT_ISSUER, NOT_CLAWBACK_ENABLED = -1, -2, -3

    balance_id: bytes

    def apply(self, context: Context) -> bytes:
        state = context.state
        balance = state.balance(self.balance_id)
        if balance is None:
            raise OperationFailed(self.DOES_NOT_EXIST)
        asset = _credit_asset(balance)
        if asset is None or asset.issuer != context.source.account:
            raise OperationFailed(self.NOT_ISSUER)
        if not balance.flags & CLAWBACK_FLAG:
            raise OperationFailed(self.NOT_CLAWBACK_ENABLED)
        release_sponsor(state, balance.sponsor, len(balance.claimants))
        state.remove_balance(self.balance_id)
        context.move(self.NAME, None, context.source, asset, balance.amount, self.balance_id)
        return b""

    def details(self, source: Party) -> dict[str, Any]:
        return {"balance_id": balance_id_text(self.balance_id)}
