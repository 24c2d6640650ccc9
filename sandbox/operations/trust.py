"""change_trust, allow_trust, set_trust_line_flags and clawback: who may hold an issued asset."""

from dataclasses import dataclass
from typing import Any

from sandbox import assets
from sandbox.amounts import to_text
from sandbox.assets import Asset, Credit
from sandbox.entries import (
    AUTH_CLAWBACK_ENABLED,
    AUTH_REQUIRED,
    AUTH_REVOCABLE,
    LINE_AUTHORIZED,
    LINE_CLAWBACK_ENABLED,
    LINE_MAINTAIN_LIABILITIES,
    Trustline,
)
from sandbox.operations.base import Context, Operation, OperationFailed, Threshold, muxed_fields
from sandbox.reserves import add_subentry, remove_subentry
from sandbox.strkeys import Party, account_address

_LEVELS = LINE_AUTHORIZED | LINE_MAINTAIN_LIABILITIES


@dataclass(frozen=True, slots=True)
class ChangeTrust(Operation):
    """Opens, limits or (limit 0) closes a trustline."""

    KIND = 6
    NAME = "change_trust"
    MALFORMED, NO_ISSUER, INVALID_LIMIT, LOW_RESERVE = -1, -2, -3, -4

    asset: Asset
    limit: int

    def check(self, source: bytes) -> int:
        asset = self.asset
        if self.limit < 0 or asset is None or not assets.is_valid(asset) or asset.issuer == source:
            return self.MALFORMED
        return 0

    def apply(self, context: Context) -> bytes:
        assert self.asset is not None
        state, key, asset = context.state, context.source.account, self.asset
        line = state.line(key, asset)
        if line is not None:
            if self.limit < line.balance:
                raise OperationFailed(self.INVALID_LIMIT)
            if self.limit == 0:
                remove_subentry(state, key, line.sponsor)
                state.remove_line(key, asset)
                return b""
            if state.account(asset.issuer) is None:
                raise OperationFailed(self.NO_ISSUER)
            state.edit_line(key, asset).limit = self.limit
            return b""
        if self.limit == 0:
            raise OperationFailed(self.INVALID_LIMIT)
        issuer = state.account(asset.issuer)
        if issuer is None:
            raise OperationFailed(self.NO_ISSUER)
        flags = 0 if issuer.flags & AUTH_REQUIRED else LINE_AUTHORIZED
        if issuer.flags & AUTH_CLAWBACK_ENABLED:
            flags |= LINE_CLAWBACK_ENABLED
        sponsor = add_subentry(context, key, self.LOW_RESERVE)
        state.put_line(key, asset, Trustline(0, self.limit, flags, sponsor))
        return b""

    def details(self, source: Party) -> dict[str, Any]:
        trustee = {} if self.asset is None else {"trustee": account_address(self.asset.issuer)}
        return {
            **assets.fields(self.asset),
            "limit": to_text(self.limit),
            **trustee,
            **muxed_fields("trustor", source),
        }


def _set_level(
    context: Context, trustor: bytes, asset: Credit, clear: int, add: int, codes: tuple[int, int, int]
) -> None:
    no_line, cant_revoke, invalid_state = codes
    state = context.state
    issuer = state.account(context.source.account)
    assert issuer is not None
    line = state.line(trustor, asset)
    if line is None:
        raise OperationFailed(no_line)
    flags = (line.flags & ~clear) | add
    if flags & _LEVELS == _LEVELS:
        raise OperationFailed(invalid_state)
    lowers = (line.flags & LINE_AUTHORIZED and not flags & LINE_AUTHORIZED) or (
        line.flags & LINE_MAINTAIN_LIABILITIES and not flags & _LEVELS
    )
    if lowers and not issuer.flags & AUTH_REVOCABLE:
        raise OperationFailed(cant_revoke)
    state.edit_line(trustor, asset).flags = flags


@dataclass(frozen=True, slots=True)
class AllowTrust(Operation):
    """The older form of set_trust_line_flags. `authorize` is the new level: 0, 1 or 2."""

    KIND = 7
    NAME = "allow_trust"
    MALFORMED, NO_TRUST_LINE, TRUST_NOT_REQUIRED, CANT_REVOKE = -1, -2, -3, -4

    trustor: bytes
    code: bytes
    authorize: int

    @property
    def threshold(self) -> Threshold:
        return Threshold.LOW

    def check(self, source: bytes) -> int:
        asset = Credit(self.code, source)
        if self.authorize not in (0, 1, 2) or not assets.is_valid(asset) or self.trustor == source:
            return self.MALFORMED
        return 0

    def apply(self, context: Context) -> bytes:
        asset = Credit(self.code, context.source.account)
        codes = (self.NO_TRUST_LINE, self.CANT_REVOKE, self.MALFORMED)
        _set_level(context, self.trustor, asset, _LEVELS, self.authorize, codes)
        return b""

    def parties(self) -> tuple[bytes, ...]:
        return (self.trustor,)

    def details(self, source: Party) -> dict[str, Any]:
        return {
            **assets.fields(Credit(self.code, source.account)),
            **muxed_fields("trustee", source),
            "trustor": account_address(self.trustor),
            "authorize": self.authorize == 1,
            "authorize_to_maintain_liabilities": self.authorize == 2,
        }


_FLAG_NAMES = {1: "authorized", 2: "authorized_to_maintain_liabilites", 4: "clawback_enabled"}


@dataclass(frozen=True, slots=True)
class SetTrustLineFlags(Operation):
    """The issuer allows or forbids a holder to hold its asset."""

    KIND = 21
    NAME = "set_trust_line_flags"
    MALFORMED, NO_TRUST_LINE, CANT_REVOKE, INVALID_STATE = -1, -2, -3, -4

    trustor: bytes
    asset: Asset
    clear_flags: int
    set_flags: int

    @property
    def threshold(self) -> Threshold:
        return Threshold.LOW

    def check(self, source: bytes) -> int:
        asset = self.asset
        if asset is None or not assets.is_valid(asset) or asset.issuer != source or self.trustor == source:
            return self.MALFORMED
        if self.set_flags & self.clear_flags or self.set_flags & ~_LEVELS or self.set_flags == _LEVELS:
            return self.MALFORMED
        return self.MALFORMED if self.clear_flags & ~(_LEVELS | LINE_CLAWBACK_ENABLED) else 0

    def apply(self, context: Context) -> bytes:
        assert self.asset is not None
        codes = (self.NO_TRUST_LINE, self.CANT_REVOKE, self.INVALID_STATE)
        _set_level(context, self.trustor, self.asset, self.clear_flags, self.set_flags, codes)
        return b""

    def parties(self) -> tuple[bytes, ...]:
        return (self.trustor,)

    def details(self, source: Party) -> dict[str, Any]:
        fields: dict[str, Any] = {**assets.fields(self.asset), "trustor": account_address(self.trustor)}
        for name, flags in (("set_flags", self.set_flags), ("clear_flags", self.clear_flags)):
            if flags:
                fields[name] = [bit for bit in _FLAG_NAMES if flags & bit]
                fields[f"{name}_s"] = [text for bit, text in _FLAG_NAMES.items() if flags & bit]
        return fields


@dataclass(frozen=True, slots=True)
class Clawback(Operation):
    """The issuer takes an amount of its asset back from a holder."""

    KIND = 19
    NAME = "clawback"
    MALFORMED, NOT_CLAWBACK_ENABLED, NO_TRUST, UNDERFUNDED = -1, -2, -3, -4

    asset: Asset
    holder: Party
    amount: int

    def check(self, source: bytes) -> int:
        asset = self.asset
        if asset is None or self.amount < 1 or not assets.is_valid(asset):
            return self.MALFORMED
        return self.MALFORMED if asset.issuer != source or self.holder.account == source else 0

    def apply(self, context: Context) -> bytes:
        assert self.asset is not None
        line = context.state.line(self.holder.account, self.asset)
        if line is None:
            raise OperationFailed(self.NO_TRUST)
        if not line.flags & LINE_CLAWBACK_ENABLED:
            raise OperationFailed(self.NOT_CLAWBACK_ENABLED)
        if line.balance < self.amount:
            raise OperationFailed(self.UNDERFUNDED)
        context.state.edit_line(self.holder.account, self.asset).balance -= self.amount
        context.move(self.NAME, self.holder, context.source, self.asset, self.amount)
        return b""

    def parties(self) -> tuple[bytes, ...]:
        return (self.holder.account,)

    def details(self, source: Party) -> dict[str, Any]:
        return {
            **assets.fields(self.asset),
            **muxed_fields("from", self.holder),
            "amount": to_text(self.amount),
        }
