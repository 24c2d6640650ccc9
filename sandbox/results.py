"""Results: XDR as stellar-core writes it, and Horizon's names for the codes."""

import base64
import struct
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.amounts import MAX_AMOUNT

# TransactionResultCode
FEE_BUMP_INNER_SUCCESS = 1
SUCCESS = 0
FAILED = -1
TOO_EARLY = -2
TOO_LATE = -3
MISSING_OPERATION = -4
BAD_SEQ = -5
BAD_AUTH = -6
INSUFFICIENT_BALANCE = -7
NO_ACCOUNT = -8
INSUFFICIENT_FEE = -9
BAD_AUTH_EXTRA = -10
INTERNAL_ERROR = -11
NOT_SUPPORTED = -12
FEE_BUMP_INNER_FAILED = -13
BAD_SPONSORSHIP = -14
BAD_MIN_SEQ_AGE_OR_GAP = -15
MALFORMED = -16

TRANSACTION_CODES = {
    1: "tx_fee_bump_inner_success",
    0: "tx_success",
    -1: "tx_failed",
    -2: "tx_too_early",
    -3: "tx_too_late",
    -4: "tx_missing_operation",
    -5: "tx_bad_seq",
    -6: "tx_bad_auth",
    -7: "tx_insufficient_balance",
    -8: "tx_no_source_account",
    -9: "tx_insufficient_fee",
    -10: "tx_bad_auth_extra",
    -11: "tx_internal_error",
    -12: "tx_not_supported",
    -13: "tx_fee_bump_inner_failed",
    -14: "tx_bad_sponsorship",
    -15: "tx_bad_minseq_age_or_gap",
    -16: "tx_malformed",
    -17: "tx_soroban_invalid",
}

# OperationResultCode
OP_INNER = 0
OP_BAD_AUTH = -1
OP_NO_ACCOUNT = -2
OP_NOT_SUPPORTED = -3
OP_TOO_MANY_SUBENTRIES = -4
OP_EXCEEDED_WORK_LIMIT = -5
OP_TOO_MANY_SPONSORING = -6

_OUTER_CODES = {
    OP_BAD_AUTH: "op_bad_auth",
    OP_NO_ACCOUNT: "op_no_source_account",
    OP_NOT_SUPPORTED: "op_not_supported",
    OP_TOO_MANY_SUBENTRIES: "op_too_many_subentries",
    OP_EXCEEDED_WORK_LIMIT: "op_exceeded_work_limit",
    OP_TOO_MANY_SPONSORING: "op_too_many_sponsoring",
}

_PAYMENT = (
    "op_malformed",
    "op_underfunded",
    "op_src_no_trust",
    "op_src_not_authorized",
    "op_no_destination",
    "op_no_trust",
    "op_not_authorized",
    "op_line_full",
    "op_no_issuer",
)

# Names of the inner codes -1, -2, … of each operation type.
_INNER_CODES: dict[int, tuple[str, ...]] = {
    0: ("op_malformed", "op_underfunded", "op_low_reserve", "op_already_exists"),
    1: _PAYMENT,
    2: (*_PAYMENT, "op_too_few_offers", "op_cross_self", "op_over_source_max"),
    5: (
        "op_low_reserve",
        "op_too_many_signers",
        "op_bad_flags",
        "op_invalid_inflation",
        "op_cant_change",
        "op_unknown_flag",
        "op_threshold_out_of_range",
        "op_bad_signer",
        "op_invalid_home_domain",
        "op_auth_revocable_required",
    ),
    6: (
        "op_malformed",
        "op_no_issuer",
        "op_invalid_limit",
        "op_low_reserve",
        "op_self_not_allowed",
        "op_trust_line_missing",
        "op_cannot_delete",
        "op_not_aut_maintain_liabilities",
    ),
    7: (
        "op_malformed",
        "op_no_trustline",
        "op_not_required",
        "op_cant_revoke",
        "op_self_not_allowed",
        "op_low_reserve",
    ),
    8: (
        "op_malformed",
        "op_no_account",
        "op_immutable_set",
        "op_has_sub_entries",
        "op_seq_num_too_far",
        "op_dest_full",
        "op_is_sponsor",
    ),
    9: ("op_not_time",),
    10: ("op_not_supported_yet", "op_data_name_not_found", "op_low_reserve", "op_data_invalid_name"),
    11: ("op_bad_seq",),
    13: (*_PAYMENT, "op_too_few_offers", "op_cross_self", "op_under_dest_min"),
    14: ("op_malformed", "op_low_reserve", "op_no_trust", "op_not_authorized", "op_underfunded"),
    15: (
        "op_does_not_exist",
        "op_cannot_claim",
        "op_line_full",
        "op_no_trust",
        "op_not_authorized",
        "op_trustline_frozen",
    ),
    16: ("op_malformed", "op_already_sponsored", "op_recursive"),
    17: ("op_not_sponsored",),
    18: ("op_does_not_exist", "op_not_sponsor", "op_low_reserve", "op_only_transferable", "op_malformed"),
    19: ("op_malformed", "op_not_clawback_enabled", "op_no_trust", "op_underfunded"),
    20: ("op_does_not_exist", "op_no_issuer", "op_not_clawback_enabled"),
    21: ("op_malformed", "op_no_trustline", "op_cant_revoke", "op_invalid_state", "op_low_reserve"),
}


class OperationResult(NamedTuple):
    """One operation's result. `inner` counts only if `outer` is 0 (opINNER); `extra` is what follows a code
    in XDR."""

    kind: int
    outer: int = 0
    inner: int = 0
    extra: bytes = b""

    @property
    def succeeded(self) -> bool:
        """Whether the operation did what it says."""
        return self.outer == 0 and self.inner == 0

    @property
    def code(self) -> str:
        """Horizon's name."""
        if self.outer:
            return _OUTER_CODES[self.outer]
        return "op_success" if self.inner == 0 else _INNER_CODES[self.kind][-self.inner - 1]

    def to_xdr(self) -> bytes:
        """OperationResult."""
        if self.outer:
            return struct.pack(">i", self.outer)
        return struct.pack(">iii", 0, self.kind, self.inner) + self.extra


_EMPTY_EXTRA = {8: bytes(8), 14: bytes(36), 2: bytes(4 + 36 + 4 + 8), 13: bytes(4 + 36 + 4 + 8)}


def inner_code_count(kind: int) -> int:
    """How many ways of its own an operation type has to fail: inner codes -1 to minus this."""
    return len(_INNER_CODES.get(kind, ()))


def untried(kind: int) -> OperationResult:
    """The result of an operation that core did not look at: initialised as a success."""
    if kind in _INNER_CODES:
        return OperationResult(kind, extra=_EMPTY_EXTRA.get(kind, b""))
    return OperationResult(kind, OP_NOT_SUPPORTED)


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """What became of a transaction. `fee_charged` in stroops. A fee bump carries its inner transaction's
    result."""

    fee_charged: int
    code: int
    operations: tuple[OperationResult, ...] = ()
    inner_hash: bytes | None = None
    inner: "TransactionResult | None" = None

    @property
    def succeeded(self) -> bool:
        """Whether every operation was applied."""
        return self.code in (SUCCESS, FEE_BUMP_INNER_SUCCESS)

    @property
    def name(self) -> str:
        """Horizon's name of the code."""
        return TRANSACTION_CODES[self.code]

    @property
    def operation_results(self) -> tuple[OperationResult, ...]:
        """The operations' results, the inner transaction's for a fee bump."""
        return self.inner.operations if self.inner is not None else self.operations

    def to_xdr(self) -> bytes:
        """TransactionResult."""
        return struct.pack(">qi", min(self.fee_charged, MAX_AMOUNT), self.code) + self._body() + bytes(4)

    def to_base64(self) -> str:
        """TransactionResult in base64."""
        return base64.b64encode(self.to_xdr()).decode()

    def _body(self) -> bytes:
        if self.inner is not None and self.inner_hash is not None:
            return self.inner_hash + self.inner.to_xdr()
        if self.code in (SUCCESS, FAILED):
            return struct.pack(">I", len(self.operations)) + b"".join(
                each.to_xdr() for each in self.operations
            )
        return b""

    def result_codes(self) -> dict[str, object]:
        """Horizon's extras.result_codes."""
        codes: dict[str, object] = {"transaction": self.name}
        if self.inner is not None:
            codes["inner_transaction"] = self.inner.name
        if self.operation_results:
            codes["operations"] = [each.code for each in self.operation_results]
        return codes
