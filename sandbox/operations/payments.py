"""payment and the two path payments (without an exchange: only the same asset on both sides)."""

import struct
from dataclasses import dataclass
from typing import Any

from sandbox import assets
from sandbox.amounts import MAX_AMOUNT, to_text
from sandbox.assets import Asset
from sandbox.operations.base import Context, Operation, OperationFailed, muxed_fields
from sandbox.reserves import available_balance
from sandbox.strkeys import Party

MALFORMED, UNDERFUNDED, SRC_NO_TRUST, SRC_NOT_AUTHORIZED, NO_DESTINATION = -1, -2, -3, -4, -5
NO_TRUST, NOT_AUTHORIZED, LINE_FULL, NO_ISSUER, TOO_FEW_OFFERS = -6, -7, -8, -9, -10
OVER_LIMIT = -12


def credit(context: Context, key: bytes, asset: Asset, amount: int) -> None:
    """Adds to what an account holds; the payment codes NO_TRUST, NOT_AUTHORIZED and LINE_FULL if it can't."""
    state = context.state
    if asset is None:
        account = state.edit_account(key)
        if account.balance + amount > MAX_AMOUNT:
            raise OperationFailed(LINE_FULL)
        account.balance += amount
        return
    if asset.issuer == key:
        return
    line = state.line(key, asset)
    if line is None:
        raise OperationFailed(NO_TRUST)
    if not line.authorized:
        raise OperationFailed(NOT_AUTHORIZED)
    if line.balance + amount > line.limit:
        raise OperationFailed(LINE_FULL)
    state.edit_line(key, asset).balance += amount


def debit(context: Context, key: bytes, asset: Asset, amount: int) -> None:
    """Takes from what an account holds; the payment codes SRC_NO_TRUST, SRC_NOT_AUTHORIZED and
    UNDERFUNDED."""
    state = context.state
    if asset is None:
        account = state.edit_account(key)
        if available_balance(account, state.base_reserve) < amount:
            raise OperationFailed(UNDERFUNDED)
        account.balance -= amount
        return
    if asset.issuer == key:
        return
    line = state.line(key, asset)
    if line is None:
        raise OperationFailed(SRC_NO_TRUST)
    if not line.authorized:
        raise OperationFailed(SRC_NOT_AUTHORIZED)
    if line.balance < amount:
        raise OperationFailed(UNDERFUNDED)
    state.edit_line(key, asset).balance -= amount


def _pays_back_issuer(destination: Party, asset: Asset) -> bool:
    return asset is not None and asset.issuer == destination.account


@dataclass(frozen=True, slots=True)
class Payment(Operation):
    """Moves an amount of one asset."""

    KIND = 1
    NAME = "payment"

    destination: Party
    asset: Asset
    amount: int

    def check(self, source: bytes) -> int:
        return MALFORMED if self.amount <= 0 or not assets.is_valid(self.asset) else 0

    def apply(self, context: Context) -> bytes:
        source, target = context.source.account, self.destination.account
        if source != target or self.asset is not None:
            if not _pays_back_issuer(self.destination, self.asset) and context.state.account(target) is None:
                raise OperationFailed(NO_DESTINATION)
            credit(context, target, self.asset, self.amount)
            debit(context, source, self.asset, self.amount)
        context.move(self.NAME, context.source, self.destination, self.asset, self.amount)
        return b""

    def parties(self) -> tuple[bytes, ...]:
        return (self.destination.account,)

    def details(self, source: Party) -> dict[str, Any]:
        return {
            **assets.fields(self.asset),
            **muxed_fields("from", source),
            **muxed_fields("to", self.destination),
            "amount": to_text(self.amount),
        }

    def is_payment(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class PathPayment(Operation):
    """Base of both path payments. `send_amount` and `receive_amount` are the exact one and the limit."""

    destination: Party
    send_asset: Asset
    send_amount: int
    receive_asset: Asset
    receive_amount: int
    path: tuple[Asset, ...]

    def check(self, source: bytes) -> int:
        valid = all(assets.is_valid(each) for each in (self.send_asset, self.receive_asset, *self.path))
        return MALFORMED if self.send_amount <= 0 or self.receive_amount <= 0 or not valid else 0

    def moved(self) -> int:
        """The exact amount."""
        raise NotImplementedError

    def apply(self, context: Context) -> bytes:
        target = self.destination.account
        direct = self.send_asset == self.receive_asset and not self.path
        needs_target = not (direct and _pays_back_issuer(self.destination, self.receive_asset))
        if needs_target and context.state.account(target) is None:
            raise OperationFailed(NO_DESTINATION)
        amount = self.moved()
        if direct and self.send_amount < self.receive_amount:
            raise OperationFailed(OVER_LIMIT)
        credit(context, target, self.receive_asset, amount)
        if not direct:
            raise OperationFailed(TOO_FEW_OFFERS)
        debit(context, context.source.account, self.send_asset, amount)
        context.move(self.NAME, context.source, self.destination, self.receive_asset, amount)
        return bytes(4) + bytes(4) + target + assets.to_xdr(self.receive_asset) + struct.pack(">q", amount)

    def parties(self) -> tuple[bytes, ...]:
        return (self.destination.account,)

    def is_payment(self) -> bool:
        return True

    def _common(self, source: Party) -> dict[str, Any]:
        return {
            **assets.fields(self.receive_asset),
            **muxed_fields("from", source),
            **muxed_fields("to", self.destination),
            "path": [assets.fields(each) for each in self.path],
            **assets.fields(self.send_asset, "source_"),
        }


@dataclass(frozen=True, slots=True)
class PathPaymentStrictReceive(PathPayment):
    """The destination gets exactly `receive_amount`."""

    KIND = 2
    NAME = "path_payment_strict_receive"

    def moved(self) -> int:
        return self.receive_amount

    def details(self, source: Party) -> dict[str, Any]:
        return {
            **self._common(source),
            "amount": to_text(self.receive_amount),
            "source_amount": to_text(self.receive_amount),
            "source_max": to_text(self.send_amount),
        }


@dataclass(frozen=True, slots=True)
class PathPaymentStrictSend(PathPayment):
    """The source sends exactly `send_amount`."""

    KIND = 13
    NAME = "path_payment_strict_send"

    def moved(self) -> int:
        return self.send_amount

    def details(self, source: Party) -> dict[str, Any]:
        return {
            **self._common(source),
            "amount": to_text(self.send_amount),
            "source_amount": to_text(self.send_amount),
            "destination_min": to_text(self.receive_amount),
        }
