"""The one table of result codes (stellar.md section 3). A code that isn't listed is a defect: hold, never
retry."""

from enum import Enum


class CodeClass(Enum):
    """What a result code says about who has to act."""

    SUCCESS = "success"
    PAYEE = "payee"
    """That payee's payment can't be delivered; the others can."""
    SOURCE = "source"
    """The funding or channel account must be mended; nothing is failed, the slot is kept."""
    RAISE_BID = "raise_bid"
    """Same slot, same inner transaction, higher fee within the cap."""
    NEW_BOUNDS = "new_bounds"
    """Same slot and payments, new time bounds."""
    SEND_AGAIN = "send_again"
    """Same slot, same envelope, later."""
    LOOK_FIRST = "look_first"
    """Look up every hash of the slot before anything else."""
    DEFECT = "defect"
    """Ours: hold the batch and alert."""


CLASS_OF: dict[str, CodeClass] = {
    "tx_success": CodeClass.SUCCESS,
    "op_success": CodeClass.SUCCESS,
    "op_no_destination": CodeClass.PAYEE,
    "op_no_trust": CodeClass.PAYEE,
    "op_line_full": CodeClass.PAYEE,
    "op_not_authorized": CodeClass.PAYEE,
    "op_no_issuer": CodeClass.PAYEE,
    "op_underfunded": CodeClass.SOURCE,
    "op_src_no_trust": CodeClass.SOURCE,
    "op_src_not_authorized": CodeClass.SOURCE,
    "op_no_source_account": CodeClass.SOURCE,
    "tx_insufficient_balance": CodeClass.SOURCE,
    "tx_bad_auth": CodeClass.SOURCE,
    "tx_bad_auth_extra": CodeClass.SOURCE,
    "tx_no_source_account": CodeClass.SOURCE,
    "tx_insufficient_fee": CodeClass.RAISE_BID,
    "tx_too_late": CodeClass.NEW_BOUNDS,
    "tx_internal_error": CodeClass.SEND_AGAIN,
    "tx_bad_seq": CodeClass.LOOK_FIRST,
    "op_malformed": CodeClass.DEFECT,
    "op_bad_auth": CodeClass.DEFECT,
    "tx_missing_operation": CodeClass.DEFECT,
    "tx_malformed": CodeClass.DEFECT,
    "tx_too_early": CodeClass.DEFECT,
}

FEE_BUMP_WRAPPERS = frozenset({"tx_fee_bump_inner_success", "tx_fee_bump_inner_failed"})
"""Codes of a fee bump that only say: see the inner transaction's code."""


def class_of(code: str) -> CodeClass:
    """The class of a transaction's or operation's code; unlisted ones are defects."""
    return CLASS_OF.get(code, CodeClass.DEFECT)
