"""claim_due_schedules against itself and against people who pause, resume, cancel or edit the schedule."""

from collections.abc import Iterator

from tests.isolation.calls import (
    cancel_schedule,
    change_terms,
    claim_due,
    edit_lines,
    pause_schedule,
    resume_schedule,
)
from tests.isolation.expectations import nothing_opens_after, one_run, runs_at_most, schedule_stays
from tests.isolation.spec import REPEATABLE_READ, SERIALIZABLE, Session, Spec
from tests.isolation.specs.scenarios import (
    ONE_DUE,
    OWNER,
    PAUSED,
    TWO_DATES_DUE,
    TWO_SCHEDULES_DUE,
    operator,
    pod,
)


def _pods(count: int, *stops: str) -> tuple[Session, ...]:
    return tuple(pod(number, claim_due(f"pod_{number}", *stops)) for number in range(1, count + 1))


def claim_due_specs() -> Iterator[Spec]:
    yield Spec("claim_due x claim_due", ONE_DUE, _pods(2), (one_run,))
    yield Spec("claim_due x claim_due, inside", ONE_DUE, _pods(2, "locked"), (one_run,))
    yield Spec("claim_due x claim_due x claim_due", ONE_DUE, _pods(3), (one_run,))
    yield Spec("claim_due x claim_due, two dates missed", TWO_DATES_DUE, _pods(2), (runs_at_most(2),))
    yield Spec("claim_due x claim_due, two schedules", TWO_SCHEDULES_DUE, _pods(2, "locked"))
    twice = tuple(pod(n, *(claim_due(f"pod_{n}").always_committed(),) * 2) for n in (1, 2))
    yield Spec("claim_due twice x claim_due twice", ONE_DUE, twice, (one_run,))
    for level in (REPEATABLE_READ, SERIALIZABLE):
        yield Spec(f"claim_due x claim_due, {level}", ONE_DUE, _pods(2), (one_run,), level)
    yield from _against_people()


def _against_people() -> Iterator[Spec]:
    inside = _pods(1, "locked")
    at_most_one = (runs_at_most(1),)
    for name, call, state in (
        ("pause", pause_schedule("acme", "weekly"), "paused"),
        ("cancel", cancel_schedule("acme", "weekly"), "cancelled"),
    ):
        stopped = (*at_most_one, schedule_stays(state, "operator"), nothing_opens_after("operator", "pod_1"))
        yield Spec(f"claim_due x {name}", ONE_DUE, (*inside, operator(call)), stopped)
        yield Spec(
            f"claim_due x {name}, {REPEATABLE_READ}",
            ONE_DUE,
            (*_pods(1), operator(call)),
            stopped,
            REPEATABLE_READ,
        )
        yield Spec(f"claim_due x claim_due x {name}", ONE_DUE, (*_pods(2), operator(call)), stopped)
    resume = operator(resume_schedule("acme", "weekly", "open"))
    yield Spec("claim_due x resume", PAUSED, (*inside, resume), at_most_one)
    change = operator(change_terms("acme", "weekly"))
    yield Spec("claim_due x change of dates", ONE_DUE, (*inside, change), at_most_one)
    edit = Session("owner", (edit_lines("weekly"),), OWNER)
    yield Spec("claim_due x edit of lines and memo", ONE_DUE, (*inside, edit), at_most_one)
    yield Spec("claim_due x claim_due x edit of lines", ONE_DUE, (*_pods(2), edit), at_most_one)
