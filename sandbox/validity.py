"""The checks that decide whether a transaction may enter the queue and the ledger, in stellar-core's order.

Malformed or no operation → too early or too late → insufficient fee → no account → bad sequence → minimum
sequence age or gap → bad auth → insufficient balance → each operation's own check up to the first bad one →
extra signatures. A fee bump's own checks come before its inner transaction's.
"""

from dataclasses import dataclass
from enum import IntEnum

from sandbox import results
from sandbox.entries import Account, Signer
from sandbox.ledger import LedgerState
from sandbox.operations import Operation, Threshold, Unsupported
from sandbox.reserves import available_balance
from sandbox.results import OperationResult, TransactionResult, untried
from sandbox.signatures import SignatureChecker
from sandbox.transaction import Submission, Transaction

_MAX_SEQUENCE = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Moment:
    """The ledger that a transaction is meant for. `latest_close_time` is what maxTime must not be before."""

    ledger: int
    close_time: int
    latest_close_time: int
    base_fee: int


class Stage(IntEnum):
    """How far a transaction got; from SEQUENCE_USED on it uses up its sequence even if it fails."""

    INVALID = 0
    SEQUENCE_USED = 1
    VALID = 2


def required_fee(operation_count: int, base_fee: int) -> int:
    """The least bid, in stroops, for that many operations."""
    return base_fee * max(1, operation_count)


def is_too_early(transaction: Transaction, moment: Moment) -> bool:
    """Before its minimum time or ledger."""
    bounds = transaction.preconditions
    return bounds.min_time > moment.close_time or bounds.min_ledger > moment.ledger


def is_too_late(transaction: Transaction, moment: Moment) -> bool:
    """After its maximum time, or at or after its maximum ledger."""
    bounds = transaction.preconditions
    if bounds.max_time and bounds.max_time < moment.latest_close_time:
        return True
    return bool(bounds.max_ledger) and bounds.max_ledger <= moment.ledger


def is_bad_sequence(transaction: Transaction, account: Account, moment: Moment) -> bool:
    """Whether the account's sequence is not the one that the transaction follows."""
    if transaction.sequence < 0 or transaction.sequence == moment.ledger << 32:
        return True
    minimum = transaction.preconditions.min_sequence
    if minimum is not None:
        return not minimum <= account.sequence < transaction.sequence
    return account.sequence == _MAX_SEQUENCE or account.sequence + 1 != transaction.sequence


def is_too_soon_after(transaction: Transaction, account: Account, moment: Moment) -> bool:
    """Whether the account's sequence changed too short a time or too few ledgers ago."""
    bounds = transaction.preconditions
    return (
        bounds.min_sequence_age > moment.close_time - account.sequence_time
        or bounds.min_sequence_ledger_gap > moment.ledger - account.sequence_ledger
    )


def check_common(
    state: LedgerState,
    transaction: Transaction,
    checker: SignatureChecker,
    moment: Moment,
    *,
    charges_fee: bool,
    applying: bool,
) -> tuple[Stage, int]:
    """The checks before the operations: how far it got and the code that stopped it (0 if none)."""
    extra = transaction.preconditions.extra_signers
    if len(set(extra)) != len(extra) or any(key.kind == 3 and not key.payload for key in extra):
        return Stage.INVALID, results.MALFORMED
    if not transaction.operations:
        return Stage.INVALID, results.MISSING_OPERATION
    if is_too_early(transaction, moment):
        return Stage.INVALID, results.TOO_EARLY
    if is_too_late(transaction, moment):
        return Stage.INVALID, results.TOO_LATE
    if charges_fee and transaction.fee < required_fee(len(transaction.operations), moment.base_fee):
        return Stage.INVALID, results.INSUFFICIENT_FEE
    account = state.account(transaction.source.account)
    if account is None:
        return Stage.INVALID, results.NO_ACCOUNT
    if is_bad_sequence(transaction, account, moment):
        return Stage.INVALID, results.BAD_SEQ
    if is_too_soon_after(transaction, account, moment):
        return Stage.SEQUENCE_USED if applying else Stage.INVALID, results.BAD_MIN_SEQ_AGE_OR_GAP
    signed_extra = all(checker.check((Signer(key, 1),), 1) for key in extra)
    if not checker.check_account(account, Threshold.LOW) or not signed_extra:
        return Stage.SEQUENCE_USED, results.BAD_AUTH
    if charges_fee and not applying and available_balance(account, state.base_reserve) < transaction.fee:
        return Stage.SEQUENCE_USED, results.INSUFFICIENT_BALANCE
    return Stage.VALID, 0


def check_signed(
    state: LedgerState, transaction: Transaction, operation: Operation, checker: SignatureChecker
) -> int:
    """The outer code of an operation whose source has not signed enough; 0 if it has.

    A source of its own may not exist yet (an operation before it may create it): its master key must sign.
    """
    source = operation.source or transaction.source
    account = state.account(source.account)
    if account is not None:
        return 0 if checker.check_account(account, operation.threshold) else results.OP_BAD_AUTH
    if operation.source is None:
        return results.OP_NO_ACCOUNT
    master = Account(source.account, 0, 0)
    return 0 if checker.check_account(master, 0) else results.OP_BAD_AUTH


def operation_kind(operation: Operation) -> int:
    """XDR's OperationType."""
    return operation.kind if isinstance(operation, Unsupported) else operation.KIND


def check_operation(
    state: LedgerState, transaction: Transaction, operation: Operation, checker: SignatureChecker
) -> OperationResult:
    """An operation's own check: supported, signed, well formed."""
    if isinstance(operation, Unsupported):
        return OperationResult(operation.kind, results.OP_NOT_SUPPORTED)
    outer = check_signed(state, transaction, operation, checker)
    if outer:
        return OperationResult(operation.KIND, outer)
    inner = operation.check((operation.source or transaction.source).account)
    return OperationResult(operation.KIND, 0, inner) if inner else untried(operation.KIND)


def check_transaction(
    state: LedgerState, transaction: Transaction, moment: Moment, *, charges_fee: bool
) -> TransactionResult:
    """All checks of a transaction before it is queued or put into a ledger."""
    minimum = required_fee(len(transaction.operations), moment.base_fee) if charges_fee else 0
    checker = SignatureChecker(transaction.hash, transaction.signatures)
    stage, code = check_common(state, transaction, checker, moment, charges_fee=charges_fee, applying=False)
    if stage is not Stage.VALID or code:
        return TransactionResult(minimum, code)
    outcomes = [untried(operation_kind(operation)) for operation in transaction.operations]
    for index, operation in enumerate(transaction.operations):
        outcomes[index] = check_operation(state, transaction, operation, checker)
        if not outcomes[index].succeeded:
            return TransactionResult(minimum, results.FAILED, tuple(outcomes))
    if not checker.all_used():
        return TransactionResult(minimum, results.BAD_AUTH_EXTRA)
    return TransactionResult(minimum, results.SUCCESS, tuple(outcomes))


def check_submission(state: LedgerState, submission: Submission, moment: Moment) -> TransactionResult:
    """All checks of what was sent. Its result's code is 0 (or 1 for a fee bump) if it is valid."""
    inner = submission.inner
    if not submission.is_fee_bump:
        return check_transaction(state, inner, moment, charges_fee=True)
    minimum = required_fee(submission.operation_count, moment.base_fee)
    if submission.fee < minimum:
        return TransactionResult(minimum, results.INSUFFICIENT_FEE)
    inner_minimum = required_fee(len(inner.operations), moment.base_fee)
    if submission.fee * inner_minimum < inner.fee * minimum:
        needed = -(-inner.fee * minimum // inner_minimum)
        return TransactionResult(needed, results.INSUFFICIENT_FEE)
    account = state.account(submission.fee_source.account)
    if account is None:
        return TransactionResult(minimum, results.NO_ACCOUNT)
    checker = SignatureChecker(submission.hash, submission.signatures)
    if not checker.check_account(account, Threshold.LOW):
        return TransactionResult(minimum, results.BAD_AUTH)
    if available_balance(account, state.base_reserve) < submission.fee:
        return TransactionResult(minimum, results.INSUFFICIENT_BALANCE)
    if not checker.all_used():
        return TransactionResult(minimum, results.BAD_AUTH_EXTRA)
    outcome = check_transaction(state, inner, moment, charges_fee=False)
    code = results.FEE_BUMP_INNER_SUCCESS if outcome.succeeded else results.FEE_BUMP_INNER_FAILED
    return TransactionResult(minimum, code, (), inner.hash, outcome)
