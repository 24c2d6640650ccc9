"""Trials: guards taken out of a copy of the database, alone and together, and what the specs then find.

Most promises have two guards or more: a lock that decides who works, a constraint that decides who is right.
So one guard alone may be missing and nobody is paid twice, because the next one refuses the call that comes
too late. Only without all of them do the specs find the fault, which shows that they would.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.database_server import Server
from tests.isolation.databases import stage_template
from tests.isolation.guards import GUARDS
from tests.isolation.running import WORKERS, run_spec, serial_outcomes
from tests.isolation.spec import Spec
from tests.isolation.specs import all_specs


@dataclass(frozen=True, slots=True)
class Trial:
    """`caught`: whether the specs must find broken data without these guards."""

    without: tuple[str, ...]
    specs: tuple[str, ...]
    caught: bool

    def __str__(self) -> str:
        return " + ".join(self.without)


@dataclass(frozen=True, slots=True)
class Finding:
    """How many interleavings ran, broke a promise, or only refused a call that all guards let through."""

    trial: Trial
    interleavings: int
    broken: int
    refused: int
    example: str

    @property
    def as_expected(self) -> bool:
        return (self.broken > 0) == self.trial.caught


_OPENING = ("claim_due x claim_due", "claim_due x claim_due, inside")
_LOCK, _ONCE = "schedule lock in claim_due_schedules", "unique (schedule, nominal date)"
_CLAIMING = ("claim x claim, one run of four batches, two channels",)
_RUN, _PAYMENT, _COUNTS = (
    "run lock in claim_payments",
    "one live batch per payment",
    "counts are not negative",
)
_CHANNEL_SPECS = ("claim x claim, one run of two batches, one channel", "settle x claim")
_IDLE, _LIVE, _SLOT = "only idle channels are taken", "one live batch per channel", "one batch per slot"
_RELEASING = ("record x release", "record x rescue, claimed")
_TOKEN = "claim token in record_envelope"
_RELEASED, _OPEN = "released state in record_envelope", "open state in record_envelope"
_SIGNING_LOCK, _MOVES = "batch lock in record_envelope", "batch transitions"
_CONTRADICTING = ("settle x settle, paid and failed", "settle x settle, two ledgers")
_CONTRADICTION, _SETTLED = "contradiction check in settle_batch", "state checks in settle_batch"
_SETTLE_LOCKS = ("run lock in lock_batch", "channel lock in lock_batch", "batch lock in lock_batch")

TRIALS = (
    Trial((_LOCK,), _OPENING, caught=False),
    Trial((_ONCE,), _OPENING, caught=False),
    Trial((_LOCK, _ONCE), _OPENING, caught=True),
    Trial((_LOCK,), ("claim_due x change of dates",), caught=True),
    Trial(("only active schedules open",), ("claim_due x pause",), caught=True),
    Trial((_RUN,), _CLAIMING, caught=False),
    Trial((_PAYMENT,), _CLAIMING, caught=False),
    Trial((_RUN, _PAYMENT), _CLAIMING, caught=True),
    Trial((_IDLE,), _CHANNEL_SPECS, caught=False),
    Trial((_LIVE,), _CHANNEL_SPECS, caught=False),
    Trial((_IDLE, _LIVE), _CHANNEL_SPECS, caught=False),
    Trial((_IDLE, _LIVE, _SLOT), _CHANNEL_SPECS, caught=True),
    Trial((_TOKEN,), _RELEASING, caught=False),
    # A released batch keeps its token, so that a refusal can be repeated: its state stops a late envelope.
    Trial((_RELEASED,), _RELEASING, caught=False),
    Trial((_OPEN,), _RELEASING, caught=False),
    Trial((_RELEASED, _OPEN), _RELEASING, caught=True),
    Trial((_TOKEN,), ("record x rescue, signed",), caught=True),
    Trial((_SIGNING_LOCK,), _RELEASING, caught=False),
    Trial((_SIGNING_LOCK, _MOVES), _RELEASING, caught=True),
    Trial((_CONTRADICTION,), _CONTRADICTING, caught=True),
    Trial((_CONTRADICTION, _SETTLED), _CONTRADICTING, caught=True),
    Trial(_SETTLE_LOCKS[2:], ("settle x settle, two envelopes",), caught=False),
    Trial(_SETTLE_LOCKS, ("settle x settle, two envelopes",), caught=True),
    Trial(("runs are locked in stop_runs",), ("claim x cancel run",), caught=False),
)


def _spec(name: str) -> Spec:
    return next(spec for spec in all_specs() if spec.name == name)


def run_without(
    server: Server, migrated: str, intact: str, guards: Iterable[str], specs: Iterable[Spec]
) -> Iterator[tuple[int, int, int, str]]:
    """For each spec: interleavings, broken ones, refused ones, and one fault in words."""
    changes = [GUARDS[name] for name in guards]
    with stage_template(server, migrated, changes) as template:
        for spec in specs:
            report = run_spec(server, template, spec, serial_outcomes(server, intact, spec))
            worst = sorted(report.faults, key=lambda fault: fault.kind)
            example = worst[0].what if worst else ""
            yield len(report.outcomes), report.broken, report.failed - report.broken, example


def run_trial(server: Server, migrated: str, intact: str, trial: Trial) -> Finding:
    interleavings = broken = refused = 0
    examples = []
    found = run_without(server, migrated, intact, trial.without, map(_spec, trial.specs))
    for ran, broke, were_refused, example in found:
        interleavings += ran
        broken += broke
        refused += were_refused
        examples.append((broke == 0, example))
    return Finding(trial, interleavings, broken, refused, min(examples)[1])


def run_trials(
    server: Server, migrated: str, intact: str, trials: Iterable[Trial] = TRIALS
) -> Iterator[Finding]:
    run: Callable[[Trial], Finding] = lambda trial: run_trial(server, migrated, intact, trial)  # noqa: E731
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(run, trials)
