"""What is checked: each model whole, and each guard taken out in turn."""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What an exploration says. NEVER_ENDS: a payment may wait for ever."""

    HOLDS = "holds"
    PAID_TWICE = "paid twice"
    OPENED_TWICE = "opened twice"
    EVIDENCE = "closed without evidence"
    NEVER_ENDS = "never ends"


class Search(Enum):
    """WHOLE: every reachable state, symmetric ones merged. SHORTEST: breadth first, until the first fault.
    LIVENESS: every infinite run that is weakly fair."""

    WHOLE = "whole"
    SHORTEST = "shortest"
    LIVENESS = "liveness"


@dataclass(frozen=True, slots=True)
class Check:
    """One exploration. `definitions` are switches of the model; `slow`: it takes more than ten seconds."""

    name: str
    source: str
    definitions: tuple[str, ...]
    search: Search
    expected: Verdict
    slow: bool = False


def _whole(name: str, source: str, *definitions: str, slow: bool = False) -> Check:
    return Check(name, source, definitions, Search.WHOLE, Verdict.HOLDS, slow=slow)


def _payout_without(guard: str, *switches: str) -> Check:
    """ONLY_THE_MONEY: look for the second payment, not for the missing evidence that comes before it."""
    definitions = (*switches, "ONLY_THE_MONEY")
    return Check(f"without: {guard}", "payout.pml", definitions, Search.SHORTEST, Verdict.PAID_TWICE)


def _failover_without(guard: str, *switches: str, slow: bool = False) -> Check:
    definitions = ("PAYMENTS=1", "ENVELOPES=2", *switches)
    return Check(f"without: {guard}", "failover.pml", definitions, Search.SHORTEST, Verdict.PAID_TWICE, slow)


CHECKS = (
    _whole("opening runs: 3 sessions, 2 dates", "opening.pml"),
    _whole(
        "payout: 2 pods, 2 payments, 2 channels, 3 envelopes, 1 foreign transaction", "payout.pml", slow=True
    ),
    _whole(
        "payout: 3 pods, 2 payments, 2 channels, 2 envelopes",
        "payout.pml",
        "PODS=3",
        "ENVELOPES=2",
        slow=True,
    ),
    _whole(
        "failover: 2 pods, 2 payments, 2 channels, 2 envelopes, 1 reconcile",
        "failover.pml",
        "PAYMENTS=2",
        "ENVELOPES=2",
        "RECONCILES=1",
        slow=True,
    ),
    _whole(
        "failover: 2 pods, 1 payment, 2 channels, 3 envelopes, 2 reconciles",
        "failover.pml",
        "PAYMENTS=1",
        "ENVELOPES=3",
        "RECONCILES=2",
        slow=True,
    ),
    Check(
        "every payment ends: 2 pods, 2 payments, 2 channels, 3 envelopes",
        "payout.pml",
        ("LIVENESS",),
        Search.LIVENESS,
        Verdict.HOLDS,
        slow=True,
    ),
    Check(
        "without: lock of the schedule alone",
        "opening.pml",
        ("NO_LOCK",),
        Search.SHORTEST,
        Verdict.HOLDS,
    ),
    Check(
        "without: one run per occurrence (and the lock)",
        "opening.pml",
        ("NO_LOCK", "RUN_NOT_UNIQUE"),
        Search.SHORTEST,
        Verdict.OPENED_TWICE,
    ),
    _payout_without("one live batch per payment", "NO_ONE_LIVE_BATCH"),
    _payout_without("one slot per batch: signed again on a new slot", "RESIGN_ON_A_NEW_SLOT"),
    _payout_without("commit, then send", "SEND_THEN_COMMIT"),
    _payout_without("the claim token's fence", "NO_TOKEN_FENCE"),
    _payout_without("a batch with an envelope is never given back", "RESCUE_GIVES_SIGNED_BACK"),
    _payout_without("'not found' is no answer", "NOT_FOUND_IS_FAILURE"),
    _payout_without("an invalid transaction has not used its slot", "UNUSED_COUNTS_AS_USED"),
    _payout_without(
        "sister envelopes are accounted for", "SISTERS_NOT_ACCOUNTED_FOR", "LEDGER_TAKES_NOTHING_AGAIN"
    ),
    _payout_without("who used the slot is read from the ledger", "SLOT_USER_NOT_READ"),
    Check(
        "without: who used the slot is read from the ledger (the first property that breaks)",
        "payout.pml",
        ("SLOT_USER_NOT_READ",),
        Search.SHORTEST,
        Verdict.EVIDENCE,
    ),
    _failover_without("identity check", "NO_IDENTITY_CHECK", "RECONCILES=0"),
    _failover_without("fence on the ledger", "NO_LEDGER_FENCE", "RECONCILES=1"),
    _failover_without("fence on every channel", "FENCE_ONE_CHANNEL", "RECONCILES=1"),
    _failover_without("fence before read", "READ_BEFORE_FENCE", "RECONCILES=1"),
    _failover_without("read before adopt", "ADOPT_WITHOUT_READING", "RECONCILES=1"),
    _failover_without(
        "slots continue at the own cut, not at the account",
        "ADOPT_FOLLOWS_THE_ACCOUNT",
        "RECONCILES=2",
        slow=True,
    ),
    _failover_without("the cut still stands when it is read", "CUT_NOT_CHECKED", "RECONCILES=2", slow=True),
    Check(
        "without: abandoned batches are taken over",
        "payout.pml",
        ("LIVENESS", "NOBODY_RESCUES", "FOREIGN=0"),
        Search.LIVENESS,
        Verdict.NEVER_ENDS,
    ),
)
