"""Applying a transaction to the ledger: all of it or nothing, but its fee and (mostly) its sequence are
gone."""

from dataclasses import dataclass

from sandbox import results
from sandbox.ledger import LedgerState
from sandbox.operations import Context, Movement, Operation, OperationFailed, Unsupported
from sandbox.reserves import remove_subentry
from sandbox.results import OperationResult, TransactionResult, untried
from sandbox.signatures import SignatureChecker
from sandbox.transaction import Submission, Transaction
from sandbox.validity import Moment, Stage, check_common, check_signed, operation_kind


@dataclass(frozen=True, slots=True)
class Applied:
    """What a transaction did."""

    submission: Submission
    result: TransactionResult
    movements: tuple[Movement, ...]


def charge_fee(state: LedgerState, submission: Submission, base_fee: int) -> int:
    """Takes the fee, before anything of the ledger is applied; the stroops taken."""
    account = state.edit_account(submission.fee_source.account)
    fee = min(submission.fee, base_fee * max(1, submission.operation_count), account.balance)
    account.balance -= fee
    state.fee_pool += fee
    return fee


def apply_submission(state: LedgerState, submission: Submission, moment: Moment, fee: int) -> Applied:
    """Applies what was sent; `fee` is what `charge_fee` took for it."""
    inner = submission.inner
    if not submission.is_fee_bump:
        code, outcomes, movements = _apply(state, inner, moment, charges_fee=True)
        return Applied(submission, TransactionResult(fee, code, outcomes), movements)
    payer = state.account(submission.fee_source.account)
    checker = SignatureChecker(submission.hash, submission.signatures)
    if payer is None:
        return Applied(submission, TransactionResult(fee, results.NO_ACCOUNT), ())
    if not checker.check_account(payer, 1):
        return Applied(submission, TransactionResult(fee, results.BAD_AUTH), ())
    _remove_one_time_signers(state, submission.hash, {submission.fee_source.account})
    code, outcomes, movements = _apply(state, inner, moment, charges_fee=False)
    outer = results.FEE_BUMP_INNER_SUCCESS if code == results.SUCCESS else results.FEE_BUMP_INNER_FAILED
    result = TransactionResult(fee, outer, (), inner.hash, TransactionResult(0, code, outcomes))
    return Applied(submission, result, movements)


def _remove_one_time_signers(state: LedgerState, digest: bytes, accounts: set[bytes]) -> None:
    for key in accounts:
        account = state.account(key)
        if account is None:
            continue
        for signer in account.signers:
            if signer.key.kind == 1 and signer.key.key == digest:
                edited = state.edit_account(key)
                edited.signers = tuple(each for each in edited.signers if each != signer)
                remove_subentry(state, key, signer.sponsor)


def _apply(
    state: LedgerState, transaction: Transaction, moment: Moment, *, charges_fee: bool
) -> tuple[int, tuple[OperationResult, ...], tuple[Movement, ...]]:
    checker = SignatureChecker(transaction.hash, transaction.signatures)
    stage, code = check_common(state, transaction, checker, moment, charges_fee=charges_fee, applying=True)
    if stage >= Stage.SEQUENCE_USED:
        account = state.edit_account(transaction.source.account)
        account.sequence = transaction.sequence
        account.sequence_ledger = moment.ledger
        account.sequence_time = moment.close_time
    outcomes = []
    if stage is Stage.VALID:
        for operation in transaction.operations:
            outer = check_signed(state, transaction, operation, checker)
            kind = operation_kind(operation)
            outcomes.append(OperationResult(kind, outer) if outer else untried(kind))
    sources = {(operation.source or transaction.source).account for operation in transaction.operations}
    _remove_one_time_signers(state, transaction.hash, sources | {transaction.source.account})
    if stage is not Stage.VALID:
        return code, (), ()
    if any(outcome.outer not in (0, results.OP_NOT_SUPPORTED) for outcome in outcomes):
        return results.FAILED, tuple(outcomes), ()
    if not checker.all_used():
        return results.BAD_AUTH_EXTRA, (), ()
    return _apply_operations(state, transaction)


def _apply_operations(
    state: LedgerState, transaction: Transaction
) -> tuple[int, tuple[OperationResult, ...], tuple[Movement, ...]]:
    """Core tries every operation, even after one failed: each gets its result, and then nothing of it
    stays."""
    context = Context(state, transaction.source.account, transaction.sequence)
    before = state.mark()
    outcomes = []
    for index, operation in enumerate(transaction.operations):
        context.index = index
        context.source = operation.source or transaction.source
        mark = state.mark()
        try:
            outcomes.append(_apply_operation(context, operation))
        except OperationFailed as failure:
            state.roll_back(mark)
            outcomes.append(operation.failed(failure))
    failed = any(not outcome.succeeded for outcome in outcomes)
    if failed or context.sponsorships:
        state.roll_back(before)
        if failed:
            return results.FAILED, tuple(outcomes), ()
        return results.BAD_SPONSORSHIP, (), ()
    state.mark()
    return results.SUCCESS, tuple(outcomes), tuple(context.movements)


def _apply_operation(context: Context, operation: Operation) -> OperationResult:
    if isinstance(operation, Unsupported):
        return OperationResult(operation.kind, results.OP_NOT_SUPPORTED)
    source = context.source
    if context.state.account(source.account) is None:
        raise OperationFailed(outer=results.OP_NO_ACCOUNT)
    inner = operation.check(source.account)
    if inner:
        raise OperationFailed(inner)
    return OperationResult(operation.KIND, extra=operation.apply(context))
