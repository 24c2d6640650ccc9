"""cancel_run and cancel_schedule against the pods that are paying the run."""

from collections.abc import Iterator

from tests.isolation.calls import (
    cancel_run,
    cancel_schedule,
    claim_payments,
    record,
    record_own,
    release,
    rescue,
    settle,
    settle_own,
)
from tests.isolation.expectations import no_batch_after
from tests.isolation.spec import Session, Spec
from tests.isolation.specs.scenarios import (
    APPROVER,
    CLAIMED,
    CLAIMED_MORE_TO_COME,
    DEAD,
    ONE_BATCH_ONE_CHANNEL,
    OPERATOR,
    SIGNED,
    SIGNED_MORE_TO_COME,
    TWO_BATCHES_ONE_CHANNEL,
    operator,
    pod,
)
from tests.isolation.specs.settling import ONE_LINE_FAILED


def cancelling_specs() -> Iterator[Spec]:
    cancels = operator(cancel_run("acme", "weekly"))
    stopped = (no_batch_after("operator", "pod_1"),)
    claims = pod(1, claim_payments("pod_1", "chosen", "run_locked"))
    yield Spec("claim x cancel run", ONE_BATCH_ONE_CHANNEL, (claims, cancels), stopped)
    signs = pod(1, record("b", "e1", "checked"))
    yield Spec("record x cancel run", CLAIMED, (signs, cancels))
    yield Spec("record x cancel run, more to come", CLAIMED_MORE_TO_COME, (signs, cancels))
    gives_back = pod(1, release("b", "read", "checked"))
    yield Spec("release x cancel run", CLAIMED_MORE_TO_COME, (gives_back, cancels), never_refused=True)
    paid = pod(1, settle("b", "e1", 10, stops="read checked"))
    yield Spec("settle x cancel run", SIGNED, (paid, cancels))
    failed = pod(1, settle("b", "e1", 10, "tx_failed", ONE_LINE_FAILED, stops="checked"))
    yield Spec("settle failed x cancel run", SIGNED_MORE_TO_COME, (failed, cancels))
    rescues = pod(2, rescue("pod_2", "found", "read"))
    yield Spec("rescue x cancel run", CLAIMED_MORE_TO_COME + DEAD, (rescues, cancels), never_refused=True)

    approver = Session("approver", cancels.calls, APPROVER)
    yield Spec("cancel run x cancel run", CLAIMED_MORE_TO_COME, (cancels, approver), never_refused=True)
    cancels_schedule = cancel_schedule("acme", "weekly")
    other = Session("other", (cancels_schedule,), OPERATOR)
    yield Spec("cancel run x cancel schedule", CLAIMED_MORE_TO_COME, (cancels, other), never_refused=True)
    paying = pod(1, claim_payments("pod_1"), record_own("e1"), settle_own("e1", 10))
    yield Spec(
        "claim, sign, settle x cancel schedule",
        TWO_BATCHES_ONE_CHANNEL,
        (paying, operator(cancels_schedule)),
        stopped,
    )
