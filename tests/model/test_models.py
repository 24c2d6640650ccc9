"""The models say what docs/model.md claims, and their counterexamples can be read.

Some of the checks; `make model` runs all.
"""

import pytest

from model.checks import CHECKS, Check, Search, Verdict
from model.exploration import Outcome, explore
from model.story import story, table

FEW = (
    "lock of the schedule",
    "one run per",
    "one live batch",
    "commit, then send",
    "identity check",
    "taken over",
)


def name(check: Check) -> str:
    return check.name


@pytest.mark.needs("spin")
@pytest.mark.parametrize("check", [one for one in CHECKS if any(word in one.name for word in FEW)], ids=name)
def test_a_check_has_the_expected_verdict_and_a_story_if_it_fails(check: Check) -> None:
    outcome: Outcome = explore(check)
    assert outcome.verdict is check.expected
    assert bool(outcome.steps) is (outcome.verdict is not Verdict.HOLDS)


@pytest.mark.needs("spin")
def test_a_small_payout_is_explored_whole_and_merging_symmetric_states_loses_no_verdict() -> None:
    definitions = ("ENVELOPES=2", "FOREIGN=0")
    merged = explore(Check("merged", "payout.pml", definitions, Search.WHOLE, Verdict.HOLDS))
    every = explore(Check("every", "payout.pml", definitions, Search.SHORTEST, Verdict.HOLDS))
    assert merged.verdict is every.verdict is Verdict.HOLDS
    assert merged.states < every.states


@pytest.mark.needs("spin")
@pytest.mark.parametrize("switch", ["SEND_THEN_COMMIT", "NOT_FOUND_IS_FAILURE"])
def test_a_removed_guard_is_found_among_merged_states_too(switch: str) -> None:
    definitions = ("ENVELOPES=2", "FOREIGN=0", "ONLY_THE_MONEY", switch)
    check = Check("merged", "payout.pml", definitions, Search.WHOLE, Verdict.PAID_TWICE)
    assert explore(check).verdict is Verdict.PAID_TWICE


def test_a_story_names_actors_payments_and_slots_in_words() -> None:
    printed = """
      STEP pod 0: claim_payments: <3>, slot <0.1>
          STEP pod 1: database 1: record_envelope: commits envelope 0 for <1>, slot <1.2>
    noise
      STEP ledger: applies envelope 0: pays <2>, slot <0.1> is used
    """
    assert table(story(printed)) == [
        "    1  pod 1   claim_payments: payments 1 and 2, slot 1 of channel 1",
        "    2  pod 2   database B: record_envelope: commits envelope 1 for payment 1, slot 2 of channel 2",
        "    3  ledger  applies envelope 1: pays payment 2, slot 1 of channel 1 is used",
    ]


def test_each_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
