"""record_envelope, and rescue, against whoever would take the batch away or close it."""

from collections.abc import Iterator

from tests.isolation.calls import (
    claim_payments,
    hold,
    record,
    record_own,
    refuse_first,
    release,
    rescue,
    resume,
    retire,
    settle,
)
from tests.isolation.expectations import refused_after
from tests.isolation.spec import Spec
from tests.isolation.specs.scenarios import CLAIMED, CLAIMED_MORE_TO_COME, DEAD, HELD, SIGNED, operator, pod


def envelope_specs() -> Iterator[Spec]:
    first = record("b", "e1", "checked")
    signs = pod(1, first)
    yield Spec("record x release", CLAIMED, (signs, pod(2, release("b", "read", "checked"))))
    yield Spec("record x record, the same", CLAIMED, (signs, pod(2, first)), never_refused=True)
    another = pod(2, record("b", "e2", "checked"))
    yield Spec("record x record, another", CLAIMED, (signs, another), never_refused=True)
    yield Spec("record x refuse", CLAIMED, (signs, pod(2, refuse_first("b"))))
    yield Spec("record x hold", CLAIMED, (signs, pod(2, hold("b"))))
    resumes = operator(resume("acme", "b"))
    fenced = (refused_after("operator", "pod_1", "PL004"),)
    signs_anew = pod(1, record("b", "e2", "checked"))
    yield Spec("record x resume", HELD, (signs_anew, resumes), fenced)
    yield Spec(
        "record x resume x rescue", HELD, (pod(1, record("b", "e2")), resumes, pod(2, rescue("pod_2")))
    )
    yield Spec("settle x resume", HELD, (pod(1, settle("b", "e1", 10, stops="checked")), resumes))
    yield from _rescue_specs()


def _rescue_specs() -> Iterator[Spec]:
    fenced = (refused_after("pod_2", "pod_1", "PL004"),)
    signs = pod(1, record("b", "e1", "checked"))
    releasing = pod(2, rescue("pod_2", "found", "checked"))
    yield Spec("record x rescue, claimed", CLAIMED + DEAD, (signs, releasing))
    signs_anew = pod(1, record("b", "e2", "checked"))
    taking = pod(2, rescue("pod_2", "found", "read"))
    yield Spec("record x rescue, signed", SIGNED + DEAD, (signs_anew, taking), fenced)
    rescues = (pod(2, rescue("pod_2")), pod(3, rescue("pod_3")))
    yield Spec("record x rescue x rescue", CLAIMED + DEAD, (pod(1, record("b", "e1")), *rescues))
    both = (taking, pod(3, rescue("pod_3", "found", "read")))
    yield Spec("rescue x rescue", SIGNED + DEAD, both, never_refused=True)
    takes_on = pod(2, rescue("pod_2"), claim_payments("pod_2"), record_own("e2"))
    yield Spec(
        "rescue, claim, sign x record", CLAIMED_MORE_TO_COME + DEAD, (takes_on, pod(1, record("b", "e1")))
    )
    gives_back = pod(1, release("b", "read", "run_locked"))
    yield Spec(
        "release x rescue", CLAIMED + DEAD, (gives_back, pod(2, rescue("pod_2", "found"))), never_refused=True
    )
    retires = pod(1, retire("pod_1"))
    yield Spec("retire x rescue", SIGNED, (retires, pod(2, rescue("pod_2", "found"))), never_refused=True)
