"""What each answer means: the tables of sections 2 and 3 of the network notes, row by row."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from notifier.network.protocol import (
    AccountReading,
    ChannelUse,
    ChannelUses,
    InLedger,
    LedgerClose,
    LookupAnswer,
    NotAsked,
    NotFound,
    Queued,
    Rejected,
    SubmitAnswer,
    TryAgainLater,
    Unknown,
)
from notifier.result_codes import CLASS_OF, CodeClass, class_of
from notifier.settlement import (
    BUMPED_LEDGERS,
    Hold,
    Known,
    Later,
    LookUp,
    Quarantine,
    RaiseBid,
    SearchChannel,
    SendAgain,
    Settle,
    SignAgain,
    judge_open_batch,
    judge_rejection,
    judge_submission,
)

NOW = datetime(2026, 12, 1, tzinfo=UTC)
OUTER, INNER, OTHER = b"o" * 32, b"i" * 32, b"x" * 32
SLOT = 50
KNOWN = Known(
    slot=SLOT,
    hashes=frozenset({OUTER, INNER}),
    spent=frozenset(),
    newest_spent=False,
    valid_until=NOW + timedelta(seconds=60),
    ledger=LedgerClose(100, NOW),
    can_raise=True,
)
APPLIED = InLedger(OUTER, 99, NOW, True, "tx_success", None, 200)
FAILED = InLedger(OUTER, 99, NOW, False, "tx_failed", ("op_success", "op_no_trust"), 200)
INVALID = InLedger(OUTER, 99, NOW, False, "tx_bad_seq", None, 200)
ABSENT: list[LookupAnswer] = [NotFound(), NotFound()]
UNUSED = AccountReading(SLOT - 1, 100)
USED = AccountReading(SLOT, 100)


# --- after a submission
# -----------------------------------------------------------------------------------------


def test_a_submission_that_is_in_a_ledger_settles() -> None:
    assert judge_submission(APPLIED) == Settle(APPLIED, read_channel=False)
    assert judge_submission(FAILED) == Settle(FAILED, read_channel=False)


def test_a_rejection_is_looked_up_before_anything_else() -> None:
    for code in [*CLASS_OF, "tx_failed", "tx_never_heard_of"]:
        assert judge_submission(Rejected(code)) == LookUp(Rejected(code))


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (Unknown("HTTP 504"), 0.0),
        (Unknown("ConnectionResetError"), 0.0),
        (Unknown("HTTP 503", 7.0), 7.0),
        (NotAsked("HTTP 429", 3.0), 3.0),
        (NotAsked("HTTP 503 stale_history"), 0.0),
        (Queued(), 0.0),
        (TryAgainLater(), 0.0),
    ],
)
def test_no_answer_keeps_the_slot_and_looks_later(answer: SubmitAnswer, pause: float) -> None:
    decision = judge_submission(answer)
    assert isinstance(decision, Later)
    assert (decision.alert, decision.retry_after) == (None, pause)


# --- after a rejection was looked up
# -------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [*CLASS_OF, "tx_failed", "tx_never_heard_of"])
@pytest.mark.parametrize("found", [APPLIED, FAILED])
def test_a_rejected_transaction_that_is_in_a_ledger_settles_whatever_the_code(
    code: str, found: InLedger
) -> None:
    assert judge_rejection(Rejected(code), [NotFound(), found], KNOWN) == Settle(found, read_channel=False)


@pytest.mark.parametrize("code", [*CLASS_OF, "tx_failed", "tx_never_heard_of"])
@pytest.mark.parametrize("silence", [Unknown("reset"), NotAsked("HTTP 429", 2.0)])
def test_a_rejection_whose_lookup_is_unanswered_decides_nothing(
    code: str, silence: Unknown | NotAsked
) -> None:
    decision = judge_rejection(Rejected(code), [NotFound(), silence], KNOWN)
    assert decision == Later(silence.reason, retry_after=silence.retry_after)


EXPECTED: dict[CodeClass, type] = {
    CodeClass.SUCCESS: Later,
    CodeClass.PAYEE: Hold,
    CodeClass.SOURCE: Later,
    CodeClass.RAISE_BID: RaiseBid,
    CodeClass.NEW_BOUNDS: SignAgain,
    CodeClass.SEND_AGAIN: Later,
    CodeClass.LOOK_FIRST: Later,
    CodeClass.DEFECT: Hold,
}


@pytest.mark.parametrize("code", [code for code in CLASS_OF if code.startswith("tx_")])
def test_each_transaction_code_does_what_its_class_says(code: str) -> None:
    decision = judge_rejection(Rejected(code), ABSENT, KNOWN)
    assert type(decision) is EXPECTED[class_of(code)]
    if class_of(code) is CodeClass.SOURCE:
        assert decision == Later(code, alert="source_account", slowly=True)


def test_the_table_lists_every_code_of_the_network_notes_once() -> None:
    by_class: dict[CodeClass, set[str]] = {}
    for code, kind in CLASS_OF.items():
        by_class.setdefault(kind, set()).add(code)
    assert by_class == {
        CodeClass.SUCCESS: {"tx_success", "op_success"},
        CodeClass.PAYEE: {
            "op_no_destination", "op_no_trust", "op_line_full", "op_not_authorized", "op_no_issuer",
        },
        CodeClass.SOURCE: {
            "op_underfunded", "op_src_no_trust", "op_src_not_authorized", "op_no_source_account",
            "tx_insufficient_balance", "tx_bad_auth", "tx_bad_auth_extra", "tx_no_source_account",
        },
        CodeClass.RAISE_BID: {"tx_insufficient_fee"},
        CodeClass.NEW_BOUNDS: {"tx_too_late"},
        CodeClass.SEND_AGAIN: {"tx_internal_error"},
        CodeClass.LOOK_FIRST: {"tx_bad_seq"},
        CodeClass.DEFECT: {
            "op_malformed", "op_bad_auth", "tx_missing_operation", "tx_malformed", "tx_too_early",
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    "code", ["tx_never_heard_of", "transaction_malformed", "tx_soroban_invalid", "tx_not_supported", ""]
)
def test_an_unlisted_code_holds_the_batch(code: str) -> None:
    assert isinstance(judge_rejection(Rejected(code), ABSENT, KNOWN), Hold)


def test_a_bid_is_raised_within_the_cap_and_while_the_bounds_hold() -> None:
    low = Rejected("tx_insufficient_fee")
    assert judge_rejection(low, ABSENT, KNOWN) == RaiseBid()
    expired = replace(KNOWN, ledger=LedgerClose(100, KNOWN.valid_until))
    assert judge_rejection(low, ABSENT, expired) == SignAgain("tx_insufficient_fee", raise_bid=True)
    capped = judge_rejection(low, ABSENT, replace(KNOWN, can_raise=False))
    assert capped == Later("tx_insufficient_fee", alert="fee_cap_reached", slowly=True)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (("op_success", "op_malformed"), Hold),
        (("op_bad_auth",), Hold),
        (("op_never_heard_of",), Hold),
        (("op_no_source_account",), Later),
        (("op_success", "op_no_trust"), Later),
        ((), Later),
    ],
)
def test_failed_operations_that_are_in_no_ledger_yet(codes: tuple[str, ...], expected: type) -> None:
    decision = judge_rejection(Rejected("tx_failed", codes), ABSENT, KNOWN)
    assert type(decision) is expected
    if codes == ("op_no_source_account",):
        assert isinstance(decision, Later)
        assert decision.alert == "source_account"


# --- looking at an open batch
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [UNUSED, USED, NotFound(), Unknown("reset"), NotAsked("HTTP 429")])
def test_a_hash_that_is_found_settles_whatever_the_channel_says(
    channel: AccountReading | NotFound | Unknown | NotAsked,
) -> None:
    for found in (APPLIED, FAILED):
        decision = judge_open_batch(channel, [NotFound(), found], None, KNOWN)
        assert decision == Settle(found, read_channel=False)


def test_a_success_settles_before_an_invalid_one() -> None:
    success = replace(APPLIED, tx_hash=OTHER)
    assert judge_open_batch(USED, [INVALID, success], None, KNOWN) == Settle(success, read_channel=False)


def test_an_invalid_transaction_in_a_ledger_needs_the_channel_s_sequence() -> None:
    for code in ("tx_bad_seq", "tx_too_late", "tx_bad_sponsorship", "tx_insufficient_balance"):
        found = replace(INVALID, result_code=code)
        assert judge_submission(found) == Settle(found, read_channel=True)
        assert judge_open_batch(UNUSED, [found], None, KNOWN) == Settle(found, read_channel=True)


def test_a_spent_envelope_is_replaced_for_the_same_slot() -> None:
    spent = replace(KNOWN, spent=frozenset({OUTER, INNER}), newest_spent=True)
    invalid_inner = replace(INVALID, tx_hash=INNER)
    decision = judge_open_batch(UNUSED, [INVALID, invalid_inner], None, spent)
    assert isinstance(decision, SignAgain)


@pytest.mark.parametrize("channel", [UNUSED, USED, Unknown("reset"), NotAsked("HTTP 429", 4.0)])
@pytest.mark.parametrize("lookup", [NotFound(), Unknown("reset"), NotAsked("HTTP 429", 4.0)])
def test_any_unanswered_question_decides_nothing(
    channel: AccountReading | Unknown | NotAsked, lookup: LookupAnswer
) -> None:
    decision = judge_open_batch(channel, [NotFound(), lookup], None, KNOWN)
    if isinstance(channel, Unknown | NotAsked) or isinstance(lookup, Unknown | NotAsked):
        assert isinstance(decision, Later)
        assert decision.alert is None


def test_an_unused_slot_gets_the_same_envelope_again_while_its_bounds_hold() -> None:
    assert judge_open_batch(UNUSED, ABSENT, None, KNOWN) == SendAgain()
    at_the_bound = replace(KNOWN, ledger=LedgerClose(100, KNOWN.valid_until))
    assert judge_open_batch(UNUSED, ABSENT, None, at_the_bound) == SendAgain()


def test_an_unused_slot_gets_a_new_envelope_once_the_ledger_s_time_is_past() -> None:
    expired = replace(KNOWN, ledger=LedgerClose(100, KNOWN.valid_until + timedelta(seconds=1)))
    assert judge_open_batch(UNUSED, ABSENT, None, expired) == SignAgain(
        "expired, slot unused", raise_bid=True
    )


def test_an_expired_envelope_that_was_rejected_is_not_sent_again_with_a_higher_bid() -> None:
    expired = replace(KNOWN, starved=False, ledger=LedgerClose(100, KNOWN.valid_until + timedelta(seconds=1)))
    assert judge_open_batch(UNUSED, ABSENT, None, expired) == SignAgain(
        "expired, slot unused", raise_bid=False
    )


def test_a_reading_from_before_the_expiry_is_no_evidence_of_it() -> None:
    expired = replace(KNOWN, ledger=LedgerClose(101, KNOWN.valid_until + timedelta(seconds=1)))
    assert isinstance(judge_open_batch(UNUSED, ABSENT, None, expired), Later)


def test_a_held_batch_is_settled_but_never_sent() -> None:
    held = replace(KNOWN, held=True)
    expired = replace(held, ledger=LedgerClose(100, KNOWN.valid_until + timedelta(seconds=1)))
    for known in (held, expired):
        assert isinstance(judge_open_batch(UNUSED, ABSENT, None, known), Later)
    assert isinstance(judge_open_batch(UNUSED, [APPLIED], None, held), Settle)


def test_a_channel_behind_its_slot_is_not_sent_to() -> None:
    decision = judge_open_batch(AccountReading(SLOT - 2, 100), ABSENT, None, KNOWN)
    assert isinstance(decision, Later)
    assert decision.alert == "sequence_gap"


def test_a_missing_channel_account_alerts_and_waits() -> None:
    decision = judge_open_batch(NotFound(), ABSENT, None, KNOWN)
    assert isinstance(decision, Later)
    assert (decision.alert, decision.slowly) == ("channel_missing", True)


# --- the slot is used and none of our hashes was found
# ------------------------------------------------------------------


def use(tx_hash: bytes, inner: bytes | None, found: InLedger) -> ChannelUse:
    return ChannelUse(tx_hash, inner, SLOT, replace(found, tx_hash=inner or tx_hash))


@pytest.mark.parametrize("sequence", [SLOT, SLOT + 1, SLOT + 1000])
def test_a_used_slot_makes_us_search_the_channel_s_history(sequence: int) -> None:
    assert judge_open_batch(AccountReading(sequence, 100), ABSENT, None, KNOWN) == SearchChannel()


@pytest.mark.parametrize("silence", [Unknown("reset"), NotAsked("HTTP 429", 2.0)])
def test_an_unanswered_search_decides_nothing(silence: Unknown | NotAsked) -> None:
    decision = judge_open_batch(USED, ABSENT, silence, KNOWN)
    assert decision == Later(silence.reason, retry_after=silence.retry_after)


@pytest.mark.parametrize("found", [APPLIED, FAILED])
def test_our_own_transaction_in_the_history_settles(found: InLedger) -> None:
    ours = use(OTHER, INNER, found)  # someone else may have wrapped our inner transaction: it is still ours
    decision = judge_open_batch(USED, ABSENT, ChannelUses((ours,), True), KNOWN)
    assert decision == Settle(ours.found, read_channel=False)


@pytest.mark.parametrize("found", [APPLIED, FAILED, replace(FAILED, result_code="tx_bad_sponsorship")])
def test_a_foreign_transaction_in_the_history_quarantines_with_evidence(found: InLedger) -> None:
    foreign = use(OTHER, None, found)
    decision = judge_open_batch(USED, ABSENT, ChannelUses((foreign,), False), KNOWN)
    assert isinstance(decision, Quarantine)
    assert decision.evidence["channel_sequence"] == str(SLOT)
    assert decision.evidence["as_of_ledger"] == 100
    transactions = decision.evidence["transactions"]
    assert isinstance(transactions, list)
    assert transactions[0]["hash"] == OTHER.hex()


def test_a_foreign_transaction_that_used_nothing_is_no_evidence() -> None:
    foreign = use(OTHER, None, INVALID)
    assert isinstance(judge_open_batch(USED, ABSENT, ChannelUses((foreign,), True), KNOWN), Later)


@pytest.mark.parametrize("waited", range(BUMPED_LEDGERS + 2))
@pytest.mark.parametrize("complete", [True, False])
def test_a_slot_passed_without_a_transaction_is_quarantined_after_some_ledgers(
    waited: int, complete: bool
) -> None:
    known = replace(KNOWN, passed_at=USED.as_of_ledger - waited)
    decision = judge_open_batch(USED, ABSENT, ChannelUses((), complete), known)
    if complete and waited >= BUMPED_LEDGERS:
        assert isinstance(decision, Quarantine)
    else:
        assert isinstance(decision, Later)


def test_nothing_ever_settles_without_a_transaction_in_a_ledger() -> None:
    """Every combination of answers that holds no transaction of ours."""
    channels: list[AccountReading | NotFound | NotAsked | Unknown] = [
        UNUSED,
        USED,
        AccountReading(SLOT + 9, 100),
        AccountReading(1, 100),
        NotFound(),
        Unknown(""),
        NotAsked(""),
    ]
    lookups: list[LookupAnswer] = [NotFound(), Unknown(""), NotAsked("")]
    searches: list[ChannelUses | NotAsked | Unknown | None] = [
        None,
        Unknown(""),
        NotAsked(""),
        ChannelUses((), True),
        ChannelUses((), False),
        ChannelUses((use(OTHER, None, APPLIED),), True),
        ChannelUses((use(OTHER, None, INVALID),), True),
    ]
    times = [NOW - timedelta(days=1), NOW, NOW + timedelta(days=1)]
    for channel, one, two, search, time, held, passed in itertools.product(
        channels, lookups, lookups, searches, times, (True, False), (None, 1, 100)
    ):
        known = replace(KNOWN, ledger=LedgerClose(100, time), held=held, passed_at=passed)
        decision = judge_open_batch(channel, [one, two], search, known)
        assert not isinstance(decision, Settle)
        if held:
            assert not isinstance(decision, SendAgain | SignAgain)
        if isinstance(decision, Quarantine):
            assert isinstance(channel, AccountReading)
            assert channel.sequence >= SLOT


def test_a_spent_envelope_that_was_applied_after_all_is_settled() -> None:
    spent = replace(KNOWN, spent=frozenset({OUTER, INNER}), newest_spent=True)
    paid = InLedger(INNER, 12, datetime(2026, 1, 1, tzinfo=UTC), True, "tx_success", None, 300)
    assert judge_open_batch(USED, [paid], None, spent) == Settle(paid, read_channel=False)
    stranger = ChannelUse(b"s" * 32, INNER, KNOWN.slot, paid)
    uses = ChannelUses((stranger,), complete=True)
    assert judge_open_batch(USED, [NotFound()], uses, spent) == Settle(paid, read_channel=False)
