"""settle_batch against itself, agreeing and contradicting, and against whoever moves its batch or run."""

from collections.abc import Iterator

from tests.isolation.calls import claim_payments, quarantine, record, rescue, settle
from tests.isolation.expectations import one_of_two
from tests.isolation.spec import REPEATABLE_READ, Spec
from tests.isolation.specs.scenarios import DEAD, SIGNED, SIGNED_MORE_TO_COME, SIGNED_TWICE, TWO_SIGNED, pod

ONE_LINE_FAILED = "ARRAY['op_no_trust', 'op_success']"
CONTRADICTION = "PL005"


def settling_specs() -> Iterator[Spec]:
    paid = pod(1, settle("b", "e1", 10, stops="read checked"))
    again = pod(2, settle("b", "e1", 10, stops="read checked"))
    yield Spec("settle x settle, the same", SIGNED, (paid, again), never_refused=True)
    yield from _contradicting()
    for name, settles_other in (
        ("two batches of a run", settle("c", "f1", 12, stops="read checked")),
        (
            "two batches, one failed",
            settle("c", "f1", 12, "tx_failed", "ARRAY['op_no_trust']", stops="checked"),
        ),
    ):
        yield Spec(f"settle x settle, {name}", TWO_SIGNED, (paid, pod(2, settles_other)), never_refused=True)
    unfunded = "ARRAY['op_underfunded']"
    both_failed = (
        pod(1, settle("b", "e1", 10, "tx_failed", unfunded)),
        pod(2, settle("c", "f1", 12, "tx_failed", unfunded)),
    )
    yield Spec("settle x settle, both unfunded", TWO_SIGNED, both_failed, never_refused=True)
    yield from _against_others()


def _contradicting() -> Iterator[Spec]:
    paid = pod(1, settle("b", "e1", 10, refusals=CONTRADICTION, stops="checked"))
    one_wins = (one_of_two("pod_1", "pod_2", CONTRADICTION),)
    failed = settle("b", "e1", 10, "tx_failed", ONE_LINE_FAILED, CONTRADICTION, "checked")
    yield Spec("settle x settle, paid and failed", SIGNED, (paid, pod(2, failed)), one_wins)
    elsewhere = settle("b", "e1", 11, refusals=CONTRADICTION, stops="checked")
    yield Spec("settle x settle, two ledgers", SIGNED, (paid, pod(2, elsewhere)), one_wins)
    other_envelope = settle("b", "e2", 10, refusals=CONTRADICTION, stops="checked")
    yield Spec("settle x settle, two envelopes", SIGNED_TWICE, (paid, pod(2, other_envelope)), one_wins)
    plainly = (
        pod(1, settle("b", "e1", 10, refusals=CONTRADICTION)),
        pod(2, settle("b", "e1", 10, "tx_failed", ONE_LINE_FAILED, CONTRADICTION)),
    )
    yield Spec(
        f"settle x settle, paid and failed, {REPEATABLE_READ}", SIGNED, plainly, isolation=REPEATABLE_READ
    )


def _against_others() -> Iterator[Spec]:
    paid = pod(1, settle("b", "e1", 10, stops="read checked"))
    failed = pod(1, settle("b", "e1", 10, "tx_failed", ONE_LINE_FAILED, stops="checked"))
    yield Spec("settle x record", SIGNED, (paid, pod(2, record("b", "e2", "checked"))))
    claims = pod(2, claim_payments("pod_2", "chosen"))
    yield Spec("settle x claim", SIGNED_MORE_TO_COME, (paid, claims), never_refused=True)
    claims_inside = pod(2, claim_payments("pod_2", "chosen", "run_locked"))
    yield Spec("settle failed x claim", SIGNED_MORE_TO_COME, (failed, claims_inside), never_refused=True)
    rescues = pod(2, rescue("pod_2", "found", "read"))
    yield Spec("settle x rescue", SIGNED + DEAD, (paid, rescues), never_refused=True)
    yield Spec("settle x quarantine", SIGNED, (paid, pod(2, quarantine("b"))))
    three = (
        pod(1, settle("b", "e1", 10)),
        pod(2, settle("b", "e1", 10)),
        pod(3, claim_payments("pod_3")),
    )
    yield Spec("settle x settle x claim", SIGNED_MORE_TO_COME, three, never_refused=True)
