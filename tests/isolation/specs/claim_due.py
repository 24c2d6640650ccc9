"""claim_due_schedules against itself and against people who pause, cancel or edit the schedule."""

from collections.abc import Iterator

from tests.isolation.calls import cancel_schedule, change_terms, claim_due, edit_lines, pause_schedule, resume_schedule
from tests.isolation.expectations import nothing_opens_after, one_run, runs_at_most, schedule_stays
from tests.isolation.spec import Session, Spec

ONE_DUE = "SELECT stage.company('acme', 1, 1), stage.schedule('acme', 'weekly', 1, 2, 0);"
TWO_DATES_DUE = "SELECT stage.company('acme', 1, 1), stage.schedule('acme', 'weekly', 2, 2, 0);"
TWO_SCHEDULES_DUE = (
    "SELECT stage.company('acme', 1, 1), stage.schedule('acme', 'monthly', 1, 1, 0),"
    " stage.company('bolt', 2, 1), stage.schedule('bolt', 'weekly', 1, 2, 0);"
)
PAUSED = ONE_DUE + " UPDATE payroll.pay_schedule SET state = 'paused';"


def _pods(count: int, *stops: str) -> tuple[Session, ...]:
    return tuple(Session(f"pod_{n}", (claim_due(f"pod_{n}", *stops),)) for n in range(1, count + 1))


def claim_due_specs() -> Iterator[Spec]:
    inside = ("locked", "counted")
    pod = (Session("pod_1", (claim_due("pod_1", *inside),)),)
    operator = "payroll_operator"

    yield Spec("claim_due x claim_due", ONE_DUE, _pods(2), (one_run,))
    yield Spec("claim_due x claim_due, inside", ONE_DUE, _pods(2, *inside), (one_run,))
    yield Spec("claim_due x claim_due x claim_due", ONE_DUE, _pods(3), (one_run,))
    yield Spec("claim_due x claim_due, two dates missed", TWO_DATES_DUE, _pods(2), (runs_at_most(2),))
    yield Spec("claim_due x claim_due, two schedules", TWO_SCHEDULES_DUE, _pods(2, "locked"), (runs_at_most(2),))
    twice = tuple(
        Session(f"pod_{n}", (claim_due(f"pod_{n}"), claim_due(f"pod_{n}"))) for n in (1, 2)
    )
    yield Spec("claim_due twice x claim_due twice", ONE_DUE, twice, (one_run,))
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        yield Spec(f"claim_due x claim_due, {level.lower()}", ONE_DUE, _pods(2), (one_run,), level)

    stoppers = (("pause", pause_schedule("acme", "weekly"), "paused"), ("cancel", cancel_schedule("acme", "weekly"), "cancelled"))
    for name, call, state in stoppers:
        expect = (runs_at_most(1), schedule_stays(state, "operator"), nothing_opens_after("operator", "pod_1"))
        sessions = (*pod, Session("operator", (call,), operator))
        yield Spec(f"claim_due x {name}", ONE_DUE, sessions, expect)
        yield Spec(f"claim_due x {name}, repeatable read", ONE_DUE, sessions, expect, "REPEATABLE READ")
        yield Spec(f"claim_due x claim_due x {name}", ONE_DUE, (*_pods(2), Session("operator", (call,), operator)), expect)
    yield Spec(
        "claim_due x resume", PAUSED, (*pod, Session("operator", (resume_schedule("acme", "weekly", "open"),), operator)), (runs_at_most(1),)
    )
    yield Spec(
        "claim_due x change of dates", ONE_DUE, (*pod, Session("operator", (change_terms("acme", "weekly"),), operator)), (runs_at_most(1),)
    )
    yield Spec(
        "claim_due x edit of lines and memo", ONE_DUE, (*pod, Session("owner", (edit_lines("weekly"),), "payroll_owner")), (runs_at_most(1),)
    )
