"""set_options, manage_data and bump_sequence: what an account says about itself."""

import base64
from dataclasses import dataclass
from typing import Any

from sandbox.entries import (
    AUTH_CLAWBACK_ENABLED,
    AUTH_IMMUTABLE,
    AUTH_REVOCABLE,
    Account,
    DataEntry,
    Signer,
    SignerKey,
)
from sandbox.operations.base import Context, Operation, OperationFailed, Threshold
from sandbox.reserves import add_subentry, remove_subentry
from sandbox.strkeys import Party, account_address, hash_x_address, pre_auth_address, signed_payload_address

_ALL_FLAGS = 0xF
_MAX_SIGNERS = 20
_FLAG_NAMES = {1: "auth_required", 2: "auth_revocable", 4: "auth_immutable", 8: "auth_clawback_enabled"}


def signer_address(key: SignerKey) -> str:
    """G…, T…, X… or P…"""
    if key.kind == 0:
        return account_address(key.key)
    if key.kind == 1:
        return pre_auth_address(key.key)
    if key.kind == 2:
        return hash_x_address(key.key)
    return signed_payload_address(key.key, key.payload)


def is_text(value: bytes) -> bool:
    """stellar-core's isStringValid: printable ASCII only."""
    return all(0x20 <= byte < 0x7F for byte in value)


@dataclass(frozen=True, slots=True)
class SetOptions(Operation):
    """Flags, thresholds, home domain and signers. None leaves as is."""

    KIND = 5
    NAME = "set_options"
    LOW_RESERVE, TOO_MANY_SIGNERS, BAD_FLAGS, INVALID_INFLATION, CANT_CHANGE = -1, -2, -3, -4, -5
    UNKNOWN_FLAG, THRESHOLD_OUT_OF_RANGE, BAD_SIGNER, INVALID_HOME_DOMAIN, REVOCABLE_REQUIRED = (
        -6,
        -7,
        -8,
        -9,
        -10,
    )

    inflation_destination: bytes | None
    clear_flags: int | None
    set_flags: int | None
    thresholds: tuple[int | None, int | None, int | None, int | None]
    home_domain: bytes | None
    signer: tuple[SignerKey, int] | None

    @property
    def threshold(self) -> Threshold:
        changes_auth = self.signer is not None or any(value is not None for value in self.thresholds)
        return Threshold.HIGH if changes_auth else Threshold.MEDIUM

    def check(self, source: bytes) -> int:
        set_flags, clear_flags = self.set_flags or 0, self.clear_flags or 0
        if (set_flags | clear_flags) & ~_ALL_FLAGS:
            return self.UNKNOWN_FLAG
        if set_flags & clear_flags:
            return self.BAD_FLAGS
        if any(value is not None and value > 255 for value in self.thresholds):
            return self.THRESHOLD_OUT_OF_RANGE
        if self.signer is not None:
            key, weight = self.signer
            if (key.kind == 0 and key.key == source) or weight > 255 or (key.kind == 3 and not key.payload):
                return self.BAD_SIGNER
        if self.home_domain is not None and not is_text(self.home_domain):
            return self.INVALID_HOME_DOMAIN
        return 0

    def apply(self, context: Context) -> bytes:
        state = context.state
        account = state.edit_account(context.source.account)
        if self.inflation_destination is not None:
            if state.account(self.inflation_destination) is None:
                raise OperationFailed(self.INVALID_INFLATION)
            account.inflation_destination = self.inflation_destination
        self._change_flags(account)
        if self.home_domain is not None:
            account.home_domain = self.home_domain
        master, low, medium, high = (
            old if new is None else new for new, old in zip(self.thresholds, account.thresholds, strict=True)
        )
        account.thresholds = (master, low, medium, high)
        if self.signer is not None:
            self._change_signer(context, *self.signer)
        return b""

    def _change_flags(self, account: Account) -> None:
        if (self.set_flags or self.clear_flags) and account.flags & AUTH_IMMUTABLE:
            raise OperationFailed(self.CANT_CHANGE)
        account.flags = (account.flags & ~(self.clear_flags or 0)) | (self.set_flags or 0)
        if account.flags & AUTH_CLAWBACK_ENABLED and not account.flags & AUTH_REVOCABLE:
            raise OperationFailed(self.REVOCABLE_REQUIRED)

    def _change_signer(self, context: Context, key: SignerKey, weight: int) -> None:
        owner = context.source.account
        account = context.state.edit_account(owner)
        present = next((each for each in account.signers if each.key == key), None)
        if present is not None:
            others = tuple(each for each in account.signers if each.key != key)
            if weight:
                account.signers = tuple(
                    sorted((*others, Signer(key, weight, present.sponsor)), key=lambda each: each.key)
                )
            else:
                account.signers = others
                remove_subentry(context.state, owner, present.sponsor)
        elif weight:
            if len(account.signers) >= _MAX_SIGNERS:
                raise OperationFailed(self.TOO_MANY_SIGNERS)
            sponsor = add_subentry(context, owner, self.LOW_RESERVE)
            account = context.state.edit_account(owner)
            account.signers = tuple(
                sorted((*account.signers, Signer(key, weight, sponsor)), key=lambda each: each.key)
            )

    def details(self, source: Party) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if self.home_domain is not None:
            fields["home_domain"] = self.home_domain.decode("ascii", "replace")
        if self.inflation_destination is not None:
            fields["inflation_dest"] = account_address(self.inflation_destination)
        names = ("master_key_weight", "low_threshold", "med_threshold", "high_threshold")
        fields.update(
            {name: value for name, value in zip(names, self.thresholds, strict=True) if value is not None}
        )
        if self.signer is not None:
            fields["signer_key"] = signer_address(self.signer[0])
            fields["signer_weight"] = self.signer[1]
        for name, flags in (("set_flags", self.set_flags), ("clear_flags", self.clear_flags)):
            if flags:
                fields[name] = [bit for bit in _FLAG_NAMES if flags & bit]
                fields[f"{name}_s"] = [text for bit, text in _FLAG_NAMES.items() if flags & bit]
        return fields


@dataclass(frozen=True, slots=True)
class ManageData(Operation):
    """Sets a named value of the account, or (None) removes it."""

    KIND = 10
    NAME = "manage_data"
    NOT_SUPPORTED_YET, NAME_NOT_FOUND, LOW_RESERVE, INVALID_NAME = -1, -2, -3, -4

    name: bytes
    value: bytes | None

    def check(self, source: bytes) -> int:
        return 0 if self.name and is_text(self.name) else self.INVALID_NAME

    def apply(self, context: Context) -> bytes:
        state, key = context.state, context.source.account
        present = state.data(key, self.name)
        if self.value is None:
            if present is None:
                raise OperationFailed(self.NAME_NOT_FOUND)
            remove_subentry(state, key, present.sponsor)
            state.remove_data(key, self.name)
        elif present is not None:
            state.edit_data(key, self.name).value = self.value
        else:
            sponsor = add_subentry(context, key, self.LOW_RESERVE)
            state.put_data(key, self.name, DataEntry(self.value, sponsor))
        return b""

    def details(self, source: Party) -> dict[str, Any]:
        value = None if self.value is None else base64.b64encode(self.value).decode()
        return {"name": self.name.decode("ascii", "replace"), "value": value}


@dataclass(frozen=True, slots=True)
class BumpSequence(Operation):
    """Raises the account's sequence; lower values change nothing and succeed."""

    KIND = 11
    NAME = "bump_sequence"
    BAD_SEQ = -1

    bump_to: int

    @property
    def threshold(self) -> Threshold:
        return Threshold.LOW

    def check(self, source: bytes) -> int:
        return self.BAD_SEQ if self.bump_to < 0 else 0

    def apply(self, context: Context) -> bytes:
        account = context.state.edit_account(context.source.account)
        account.sequence_ledger = context.state.sequence
        account.sequence_time = context.state.close_time
        account.sequence = max(account.sequence, self.bump_to)
        return b""

    def details(self, source: Party) -> dict[str, Any]:
        return {"bump_to": str(self.bump_to)}
