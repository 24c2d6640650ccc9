"""What a spec is: sessions, their transactions, and every order in which their steps can be started.

A session runs its transactions one after another. Each is one step `BEGIN; call` (and, where the function
under test was given stopping points, one step for each that lets it go on) and one step that ends it: COMMIT,
or ROLLBACK, which is what a crash leaves. The orders are all merges of the sessions' steps, for every
combination of endings.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Self

from tests.isolation.outcome import Outcome

COMMIT, ROLLBACK = "commit", "rollback"
READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE = "read committed", "repeatable read", "serializable"
Expectation = Callable[[Outcome], str | None]  # what is wrong with an outcome in words, or None


@dataclass(frozen=True, slots=True)
class Call:
    """One transaction: `sql` gives one text, 'nothing' where it may have changed nothing.

    `refusals` are the SQLSTATEs that it may fail with here; a refused call must have changed nothing.
    `stops` are stopping points inside the function (tests/isolation/stops.py).
    """

    name: str
    sql: str
    refusals: frozenset[str] = frozenset()
    stops: tuple[str, ...] = ()
    endings: tuple[str, ...] = (COMMIT, ROLLBACK)

    def always_committed(self) -> Self:
        return replace(self, endings=(COMMIT,))


@dataclass(frozen=True, slots=True)
class Session:
    name: str
    calls: tuple[Call, ...]
    role: str = "payroll_pod"


@dataclass(frozen=True, slots=True)
class Spec:
    """`scenario` is SQL that builds the state before each permutation; `isolation` the sessions' level."""

    name: str
    scenario: str
    sessions: tuple[Session, ...]
    expect: tuple[Expectation, ...] = ()
    isolation: str = READ_COMMITTED
    never_refused: bool = False  # whatever the calls may otherwise be refused with
    in_turn: bool = True  # False: a serial order need not explain which of several runs was served


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one permutation; `call` is its place in its session."""

    session: str
    call: int
    part: str  # snapshot, call, a stopping point, commit, rollback

    @property
    def name(self) -> str:
        return f"{self.session}_{self.call}_{self.part}"

    @property
    def is_stop(self) -> bool:
        return self.part not in ("snapshot", "call", COMMIT, ROLLBACK)


@dataclass(frozen=True, slots=True)
class Permutation:
    """`serial` ones are the yardstick: some of the calls, whole, one after another."""

    steps: tuple[Step, ...]
    serial: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return " ".join(step.name for step in self.steps)


# isolationtester wants at least one step, also where no call is made.
NOBODY_STEP = Step("nobody", 0, "snapshot")


def takes_snapshot_first(spec: Spec) -> bool:
    """Above READ COMMITTED the snapshot is as old as the first statement: it becomes a step of its own."""
    return spec.isolation != READ_COMMITTED


def _steps_of_call(spec: Spec, session: Session, index: int, ending: str) -> list[Step]:
    parts = ["snapshot"] if takes_snapshot_first(spec) else []
    parts += ["call", *session.calls[index].stops, ending]
    return [Step(session.name, index, part) for part in parts]


def merges(sequences: Sequence[Sequence[Step]]) -> Iterator[tuple[Step, ...]]:
    """All merges that keep the order within each sequence."""
    if not any(sequences):
        yield ()
        return
    for place, sequence in enumerate(sequences):
        if sequence:
            shorter = [*sequences[:place], sequence[1:], *sequences[place + 1 :]]
            for rest in merges(shorter):
                yield (sequence[0], *rest)


def interleavings(spec: Spec) -> list[Permutation]:
    """Every order of the steps, for every combination of endings."""
    endings = [list(product(*(call.endings for call in session.calls))) for session in spec.sessions]
    found = []
    for chosen in product(*endings):
        sequences = [
            [
                step
                for index, ending in enumerate(ends)
                for step in _steps_of_call(spec, session, index, ending)
            ]
            for session, ends in zip(spec.sessions, chosen, strict=True)
        ]
        found += [Permutation(steps) for steps in merges(sequences)]
    return found


def serial_orders(spec: Spec) -> list[Permutation]:
    """Every serial order of every part of the calls, all committed."""
    choices = [
        [
            kept
            for count in range(len(session.calls) + 1)
            for kept in combinations(range(len(session.calls)), count)
        ]
        for session in spec.sessions
    ]
    found: dict[tuple[Step, ...], Permutation] = {}
    for chosen in product(*choices):
        markers = [
            [Step(session.name, index, "call") for index in kept]
            for session, kept in zip(spec.sessions, chosen, strict=True)
        ]
        for order in merges(markers):
            steps: list[Step] = []
            for marker in order:
                session = next(s for s in spec.sessions if s.name == marker.session)
                steps += _steps_of_call(spec, session, marker.call, COMMIT)
            found[tuple(steps)] = Permutation(tuple(steps) or (NOBODY_STEP,), serial=True)
    return list(found.values())
