"""What specs expect beyond the judge's invariants: each says what is wrong with an outcome, or nothing."""

from tests.isolation.outcome import Outcome
from tests.isolation.spec import Expectation


def one_run(outcome: Outcome) -> str | None:
    """Exactly one run as soon as one claim that opened it has committed; none before."""
    runs = len(outcome.digest["runs"] or [])
    opened = sum(1 for call in outcome.committed if not outcome.answers[call].changed_nothing)
    if runs == 1 and opened == 1:
        return None
    if runs == 0 and opened == 0:
        return None
    return f"{runs} runs for one due date, {opened} sessions say that they opened one"


def runs_at_most(limit: int) -> Expectation:
    def expect(outcome: Outcome) -> str | None:
        runs = len(outcome.digest["runs"] or [])
        return f"{runs} runs, at most {limit} are due" if runs > limit else None

    return expect


def schedule_stays(state: str, session: str) -> Expectation:
    """Once the session's call has committed, the schedule is in `state`, whatever the others did."""

    def expect(outcome: Outcome) -> str | None:
        if not any(name == session for name, _ in outcome.committed):
            return None
        states = {schedule[1] for schedule in outcome.digest["schedules"]}
        return None if states == {state} else f"the schedule is {states}, not {state}"

    return expect


def nothing_opens_after(stopper: str, claimer: str) -> Expectation:
    """A claim that starts after the stopping call has committed opens nothing."""

    def expect(outcome: Outcome) -> str | None:
        if not outcome.happened_before(f"{stopper}_0_commit", f"{claimer}_0_call"):
            return None
        opened = not outcome.answers[claimer, 0].changed_nothing
        return "a run opened after its schedule was stopped" if opened else None

    return expect


def no_batch_after(stopper: str, claimer: str) -> Expectation:
    """A claim that starts after the stopping call has committed gets no batch."""

    def expect(outcome: Outcome) -> str | None:
        if not outcome.happened_before(f"{stopper}_0_commit", f"{claimer}_0_call"):
            return None
        claimed = not outcome.answers[claimer, 0].changed_nothing
        return "payments were claimed after their run was cancelled" if claimed else None

    return expect


def refused_after(fencer: str, late: str, state: str) -> Expectation:
    """A `late` call that starts after the fencing call has committed is refused with `state`."""

    def expect(outcome: Outcome) -> str | None:
        if not outcome.happened_before(f"{fencer}_0_commit", f"{late}_0_call"):
            return None
        answer = outcome.answers[late, 0]
        return None if state in answer.states else f"the late call got through: {answer}"

    return expect


def one_of_two(first: str, second: str, state: str) -> Expectation:
    """Contradicting calls: when the first to take effect commits, the other is refused with `state`."""

    def expect(outcome: Outcome) -> str | None:
        answers = (outcome.answers[first, 0], outcome.answers[second, 0])
        if all(name in {session for session, _ in outcome.committed} for name in (first, second)):
            return "both of two contradicting calls took effect"
        for answer in answers:
            if answer.error is not None and state not in answer.states:
                return f"refused with another state than {state}: {answer}"
        if all(answer.error is not None for answer in answers):
            return "both calls were refused"
        return None

    return expect
