"""Result XDR to the names that Horizon gives result codes."""

from dataclasses import dataclass

from stellar_sdk import xdr

_TX_NAMES = {
    "txNO_ACCOUNT": "tx_no_source_account",
}
_OP_NAMES = {
    "opBAD_AUTH": "op_bad_auth",
    "opNO_ACCOUNT": "op_no_source_account",
    "opNOT_SUPPORTED": "op_not_supported",
    "opTOO_MANY_SUBENTRIES": "op_too_many_subentries",
    "opEXCEEDED_WORK_LIMIT": "op_exceeded_work_limit",
    "opTOO_MANY_SPONSORING": "op_too_many_sponsoring",
}


@dataclass(frozen=True, slots=True)
class Codes:
    """`transaction` is the inner transaction's code where the fee bump was valid; operations only for
    tx_failed."""

    transaction: str
    operations: tuple[str, ...] | None


def transaction_code(code: xdr.TransactionResultCode) -> str:
    """txBAD_SEQ → tx_bad_seq."""
    return _TX_NAMES.get(code.name, "tx_" + code.name.removeprefix("tx").lower())


def operation_code(result: xdr.OperationResult) -> str:
    """PAYMENT_NO_TRUST → op_no_trust. An operation that isn't a payment gets a name that no table lists."""
    if result.code != xdr.OperationResultCode.opINNER:
        return _OP_NAMES.get(result.code.name, "op_" + result.code.name.removeprefix("op").lower())
    if result.tr is None or result.tr.payment_result is None:
        return "op_not_a_payment"
    return "op_" + result.tr.payment_result.code.name.removeprefix("PAYMENT_").lower()


def read_codes(result_xdr: str) -> Codes:
    """The codes in a base64 TransactionResult. Raises whatever the XDR reader raises for garbage."""
    result = xdr.TransactionResult.from_xdr(result_xdr).result
    code, operations = result.code, result.results
    if result.inner_result_pair is not None:
        inner = result.inner_result_pair.result.result
        code, operations = inner.code, inner.results
    failed = code == xdr.TransactionResultCode.txFAILED
    return Codes(
        transaction_code(code),
        tuple(operation_code(operation) for operation in operations or ()) if failed else None,
    )
