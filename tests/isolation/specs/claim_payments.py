"""claim_payments against itself and against what makes payments claimable."""

from collections.abc import Iterator

from tests.isolation.calls import claim_due, claim_payments, record_own, release, settle_own
from tests.isolation.spec import REPEATABLE_READ, Session, Spec
from tests.isolation.specs.scenarios import (
    CLAIMED_MORE_TO_COME,
    FOUR_BATCHES_TWO_CHANNELS,
    ONE_BATCH_ONE_CHANNEL,
    ONE_BATCH_TWO_CHANNELS,
    ONE_DUE,
    TWO_BATCHES_ONE_CHANNEL,
    TWO_BATCHES_TWO_CHANNELS,
    TWO_ORGANIZATIONS,
    TWO_RUNS_ONE_CHANNEL,
    pod,
)

_SCENARIOS = (
    ("one run, one channel", ONE_BATCH_ONE_CHANNEL),
    ("one run of two batches, one channel", TWO_BATCHES_ONE_CHANNEL),
    ("one run, two channels", ONE_BATCH_TWO_CHANNELS),
    ("one run of two batches, two channels", TWO_BATCHES_TWO_CHANNELS),
    ("two runs, one channel", TWO_RUNS_ONE_CHANNEL),
    ("two organizations", TWO_ORGANIZATIONS),
    ("one run of four batches, two channels", FOUR_BATCHES_TWO_CHANNELS),
)


def _claims(count: int, *stops: str) -> tuple[Session, ...]:
    return tuple(pod(n, claim_payments(f"pod_{n}", *stops)) for n in range(1, count + 1))


def _whole_life(number: int) -> Session:
    """A pod that claims, signs and settles, each in a transaction of its own, none of them crashing."""
    envelope = f"e{number}"
    calls = (claim_payments(f"pod_{number}"), record_own(envelope), settle_own(envelope, 10 + number))
    return pod(number, *(call.always_committed() for call in calls))


def claim_payments_specs() -> Iterator[Spec]:
    for name, scenario in _SCENARIOS:
        claims = _claims(2, "chosen", "run_locked")
        # A run that the other session has locked is passed over, even if that session then fails.
        several_runs = scenario in (TWO_RUNS_ONE_CHANNEL, TWO_ORGANIZATIONS)
        yield Spec(f"claim x claim, {name}", scenario, claims, never_refused=True, in_turn=not several_runs)
    for name, scenario in _SCENARIOS[2:5]:
        claims = _claims(2, "channel_locked")
        yield Spec(f"claim x claim, {name}, channel locked", scenario, claims, never_refused=True)
    for name, scenario in _SCENARIOS[:5]:
        yield Spec(
            f"claim x claim, {name}, {REPEATABLE_READ}", scenario, _claims(2), isolation=REPEATABLE_READ
        )
    yield Spec("claim x claim x claim", TWO_BATCHES_TWO_CHANNELS, _claims(3), never_refused=True)
    lives = (_whole_life(1), _whole_life(2))
    yield Spec(
        "claim, sign, settle x the same, one channel", TWO_BATCHES_ONE_CHANNEL, lives, never_refused=True
    )
    yield Spec(
        "claim, sign, settle x the same, two channels", TWO_BATCHES_TWO_CHANNELS, lives, never_refused=True
    )
    claim = pod(2, claim_payments("pod_2", "chosen"))
    yield Spec(
        "claim_due x claim", ONE_DUE, (pod(1, claim_due("pod_1", "locked")), claim), never_refused=True
    )
    giving_back = pod(1, release("b", "checked"))
    yield Spec("release x claim", CLAIMED_MORE_TO_COME, (giving_back, claim), never_refused=True)
