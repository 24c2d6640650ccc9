"""settle_batch and quarantine_batch: only the ledger's facts close a batch, and they close it once."""

from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.payroll_rows import (
    Connection,
    Row,
    batch_row,
    call,
    channel_row,
    claim,
    failure,
    new_organization,
    one,
    open_run,
    payment_states,
    record,
    refused,
    report,
    rows,
    run_row,
    set_clock,
    settle,
    some_bytes,
)


@pytest.fixture
def batch(connection: Connection) -> Row:
    """A signed batch of three payments of a run that has no others."""
    open_run(connection, new_organization(connection))
    claimed = claim(connection)
    record(connection, claimed)
    return claimed


def channel_of(connection: Connection, batch: Row) -> Row:
    return channel_row(connection, batch_row(connection, batch["batch_id"])["channel_id"])


def results(connection: Connection, batch: Row) -> list[tuple[str, str | None]]:
    found = rows(
        connection,
        "SELECT result::text, code FROM payroll.batch_payment WHERE batch_id = %s ORDER BY position",
        batch["batch_id"],
    )
    return [(row["result"], row["code"]) for row in found]


def everything(connection: Connection) -> list[Any]:
    """All rows that settling could touch."""
    tables = (
        "pay_run",
        "payment",
        "payment_batch",
        "batch_payment",
        "envelope",
        "channel_account",
        "audit_event",
    )
    return [
        one(connection, f"SELECT jsonb_agg(t ORDER BY t::text) FROM payroll.{table} AS t") for table in tables
    ]


def test_a_successful_transaction_pays_every_payment(connection: Connection, batch: Row) -> None:
    assert settle(connection, report(batch)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid"] * 3
    assert results(connection, batch) == [("paid", "op_success")] * 3
    assert run_row(connection, batch["run_id"])["state"] == "paid"
    stored = batch_row(connection, batch["batch_id"])
    assert stored["settled_hash"] == some_bytes("outer", batch["batch_id"], 1)
    assert (stored["settled_ledger"], stored["settled_code"], stored["fee_charged"]) == (
        60,
        "tx_success",
        400,
    )
    channel = channel_of(connection, batch)
    assert (channel["sequence"], channel["live_batch_id"]) == (batch["slot"], None)


@pytest.mark.parametrize("tx_hash", ["inner", "outer"])
@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_any_hash_of_any_envelope_of_the_batch_settles_it(
    connection: Connection, batch: Row, attempt: int, tx_hash: str
) -> None:
    record(connection, batch, 2)
    record(connection, batch, 3)
    told = report(batch, attempt, tx_hash=some_bytes(tx_hash, batch["batch_id"], attempt))
    assert settle(connection, told) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid"] * 3


def test_the_same_report_again_changes_nothing(connection: Connection, batch: Row) -> None:
    for told in (
        report(batch),
        report(batch),
        report(batch, tx_hash=some_bytes("inner", batch["batch_id"], 1)),
    ):
        assert settle(connection, told) == "succeeded"
        before = everything(connection)
    assert everything(connection) == before


def test_a_failed_transaction_pays_nobody_and_names_the_payees_fault(
    connection: Connection, batch: Row
) -> None:
    told = failure(batch, "op_success", "op_no_trust", "op_success")
    assert settle(connection, told) == "failed"
    assert payment_states(connection, batch["run_id"]) == ["pending", "failed", "pending"]
    assert results(connection, batch) == [
        ("failed", "op_success"),
        ("failed", "op_no_trust"),
        ("failed", "op_success"),
    ]
    codes = rows(connection, "SELECT failure_code FROM payroll.payment ORDER BY payment_id")
    assert [row["failure_code"] for row in codes] == [None, "op_no_trust", None]
    assert run_row(connection, batch["run_id"])["state"] == "paying"
    assert channel_of(connection, batch)["sequence"] == batch["slot"]
    before = everything(connection)
    assert settle(connection, told) == "failed"
    assert everything(connection) == before


def test_what_a_failed_transaction_left_over_is_paid_from_the_next_slot(
    connection: Connection, batch: Row
) -> None:
    settle(connection, failure(batch, "op_success", "op_no_trust", "op_success"))
    second = claim(connection)
    assert second["slot"] == batch["slot"] + 1
    assert [line["payment_id"] for line in second["lines"]] == [
        batch["lines"][0]["payment_id"],
        batch["lines"][2]["payment_id"],
    ]
    record(connection, second)
    assert settle(connection, report(second)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid", "failed", "paid"]
    assert run_row(connection, batch["run_id"])["state"] == "partly_paid"


def test_each_result_code_of_the_table_has_the_effect_of_its_class(connection: Connection) -> None:
    expected = {"success": "pending", "payee": "failed", "source": "pending", "defect": "held"}
    codes = rows(connection, "SELECT code, class FROM payroll.result_code WHERE level = 'operation'")
    assert len(codes) >= 12
    for row in [*codes, {"code": "op_nobody_knows", "class": "defect"}]:
        with connection.transaction(force_rollback=True):
            open_run(connection, new_organization(connection), payees=2)
            batch = claim(connection)
            record(connection, batch)
            settle(connection, failure(batch, "op_success", row["code"]))
            assert payment_states(connection, batch["run_id"]) == ["pending", expected[row["class"]]], row
            run_row(connection, batch["run_id"])


def test_when_the_source_can_not_pay_nothing_fails_and_the_run_waits_longer_each_time(
    connection: Connection,
) -> None:
    run_id, _ = open_run(connection, new_organization(connection), payees=1)
    waits = []
    for _ in range(4):
        clock = run_row(connection, run_id)["next_serve_at"] + timedelta(seconds=1)
        set_clock(connection, clock)
        batch = claim(connection)
        record(connection, batch)
        settle(connection, failure(batch, "op_underfunded"))
        run = run_row(connection, run_id)
        assert (run["state"], run["state_reason"]) == ("awaiting_funds", "op_underfunded")
        assert payment_states(connection, run_id) == ["pending"]
        assert call(connection, "claim_payments", pod="pod-1:00000000") == []
        waits.append((run["next_serve_at"] - clock).total_seconds())
    assert waits == sorted(waits)
    assert 0 < waits[0] < waits[-1] <= 600
    set_clock(connection, run["next_serve_at"])
    batch = claim(connection)
    record(connection, batch)
    assert settle(connection, report(batch)) == "succeeded"
    assert run_row(connection, run_id)["state"] == "paid"


@pytest.mark.parametrize(
    "changed",
    [
        {"tx_hash": None}, {"tx_hash": b"short"}, {"ledger": None}, {"closed_at": None}, {"successful": None},
        {"result_code": None}, {"result_code": ""},
        {"successful": True, "result_code": "tx_failed"}, {"successful": False, "result_code": "tx_success"},
    ],
)  # fmt: skip
def test_a_report_with_a_part_missing_or_against_itself_is_refused(
    connection: Connection, batch: Row, changed: Row
) -> None:
    with refused(connection, "PL001"):
        settle(connection, report(batch, **changed))


@pytest.mark.parametrize("codes", [None, [], ["op_success"], ["op_success"] * 4])
def test_a_failure_without_one_code_an_operation_is_refused(
    connection: Connection, batch: Row, codes: list[str] | None
) -> None:
    with refused(connection, "PL001", words="operations"):
        settle(connection, failure(batch, operation_codes=codes))
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3


def test_a_hash_or_a_batch_that_is_not_ours_is_refused(connection: Connection, batch: Row) -> None:
    with refused(connection, "PL002"):
        settle(connection, report(batch, tx_hash=some_bytes("foreign")))
    with refused(connection, "PL002"):
        settle(connection, report(batch, batch_id=-1))
    assert batch_row(connection, batch["batch_id"])["state"] == "signed"


def test_a_batch_without_an_envelope_can_not_be_settled(connection: Connection) -> None:
    open_run(connection, new_organization(connection))
    with refused(connection, "PL002"):
        settle(connection, report(claim(connection)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (report, lambda batch: failure(batch, *["op_no_trust"] * 3)),
        (report, lambda batch: report(batch, ledger=61)),
        (report, lambda batch: report(batch, 2)),
        (report, lambda batch: failure(batch, *["op_no_trust"] * 3, attempt=2)),
        (lambda batch: failure(batch, *["op_no_trust"] * 3), report),
        (lambda batch: failure(batch, *["op_no_trust"] * 3), lambda batch: report(batch, 2)),
        (lambda batch: failure(batch, *["op_success"] * 3), lambda batch: report(batch, 2)),
    ],
)
def test_a_contradicting_report_is_an_error_that_changes_nothing(
    connection: Connection, batch: Row, first: Any, second: Any
) -> None:
    record(connection, batch, 2)
    settle(connection, first(batch))
    before = everything(connection)
    with refused(connection, "PL005", words="Nothing was changed"):
        settle(connection, second(batch))
    assert everything(connection) == before


# In a ledger with a validity code: the slot may be unused, and somebody else may have used it.


def invalid(batch: Row, attempt: int = 1, code: str = "tx_bad_seq", sequence: int | None = None) -> Row:
    return report(
        batch, attempt, successful=False, result_code=code, operation_codes=None, channel_sequence=sequence
    )


@pytest.mark.parametrize("code", ["tx_bad_seq", "tx_too_late", "tx_bad_auth", "tx_nobody_knows"])
def test_a_validity_code_without_the_channels_sequence_settles_nothing(
    connection: Connection, batch: Row, code: str
) -> None:
    with refused(connection, "PL009"):
        settle(connection, invalid(batch, code=code))
    assert batch_row(connection, batch["batch_id"])["state"] == "signed"


def test_while_the_slot_is_unused_the_batch_stays_open_on_it(connection: Connection, batch: Row) -> None:
    assert settle(connection, invalid(batch, code="tx_too_late", sequence=batch["slot"] - 1)) == "signed"
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3
    record(connection, batch, 2)
    assert settle(connection, report(batch, 2)) == "succeeded"
    assert settle(connection, invalid(batch, code="tx_too_late", sequence=batch["slot"])) == "succeeded"


@pytest.mark.parametrize("code", ["tx_bad_seq", "tx_bad_auth", "tx_too_late", "tx_nobody_knows"])
def test_a_used_slot_settles_nothing_by_a_transaction_that_did_not_use_it(
    connection: Connection, batch: Row, code: str
) -> None:
    """Its inner transaction may fly again in another fee bump: only what used the slot closes a batch."""
    assert settle(connection, invalid(batch, code=code, sequence=batch["slot"])) == "signed"
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3
    assert settle(connection, report(batch, ledger=61)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid"] * 3


def test_a_code_that_uses_its_number_pays_nobody_once_the_number_is_used(
    connection: Connection, batch: Row
) -> None:
    code = "tx_bad_sponsorship"
    assert settle(connection, invalid(batch, code=code, sequence=batch["slot"] - 1)) == "signed"
    assert settle(connection, invalid(batch, code=code, sequence=batch["slot"])) == "failed"
    assert payment_states(connection, batch["run_id"]) == ["pending"] * 3
    assert results(connection, batch) == [("failed", None)] * 3
    assert channel_of(connection, batch)["sequence"] == batch["slot"]
    before = everything(connection)
    assert settle(connection, invalid(batch, code=code, sequence=batch["slot"])) == "failed"
    assert everything(connection) == before
    with refused(connection, "PL005"):
        settle(connection, report(batch))


@pytest.mark.parametrize("code", ["tx_bad_seq", "tx_bad_auth", "tx_bad_sponsorship"])
@pytest.mark.parametrize("same_inner", [False, True])
def test_a_used_slot_settles_nothing_while_another_envelope_may_have_used_it(
    connection: Connection, batch: Row, code: str, same_inner: bool
) -> None:
    """The first is in a ledger and unused, the second paid: a late report must not free the payments."""
    changed = {"inner_hash": some_bytes("inner", batch["batch_id"], 1)} if same_inner else {}
    record(connection, batch, 2, **changed)
    assert settle(connection, invalid(batch, code=code, sequence=batch["slot"])) == "signed"
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3
    assert settle(connection, report(batch, 2, ledger=61)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid"] * 3


def test_when_all_envelopes_are_in_ledgers_and_unused_the_slots_user_is_still_to_be_found(
    connection: Connection, batch: Row
) -> None:
    record(connection, batch, 2)
    assert settle(connection, invalid(batch, 1, sequence=batch["slot"] - 1)) == "signed"
    assert settle(connection, invalid(batch, 2, sequence=batch["slot"])) == "signed"
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3


# quarantine_batch


def quarantine(connection: Connection, batch: Row, **changed: object) -> None:
    arguments = {
        "batch_id": batch["batch_id"],
        "reason": "a foreign transaction used the slot",
        "evidence": Jsonb({"sequence": batch["slot"]}),
        **changed,
    }
    call(connection, "quarantine_batch", **arguments)


def test_a_quarantined_batch_stops_its_channel_and_frees_no_payment(
    connection: Connection, batch: Row
) -> None:
    quarantine(connection, batch)
    assert batch_row(connection, batch["batch_id"])["state"] == "quarantined"
    channel = channel_of(connection, batch)
    assert (channel["state"], channel["sequence"]) == ("quarantined", batch["slot"] - 1)
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3
    event = rows(connection, "SELECT subject, details, actor FROM payroll.audit_event")
    assert [row["subject"] for row in event] == [f"batch {batch['batch_id']}"]
    assert event[0]["details"]["evidence"] == {"sequence": batch["slot"]}
    assert call(connection, "claim_payments", pod="pod-1:00000000") == []


def test_quarantining_twice_changes_nothing(connection: Connection, batch: Row) -> None:
    quarantine(connection, batch)
    before = everything(connection)
    quarantine(connection, batch, reason="another")
    assert everything(connection) == before


@pytest.mark.parametrize(
    ("told", "state", "payment"),
    [(report, "succeeded", "paid"), (lambda batch: failure(batch, *["op_success"] * 3), "failed", "pending")],
)
def test_a_quarantined_batch_is_settled_when_one_of_its_hashes_turns_up(
    connection: Connection, batch: Row, told: Any, state: str, payment: str
) -> None:
    quarantine(connection, batch)
    assert settle(connection, told(batch)) == state
    assert payment_states(connection, batch["run_id"]) == [payment] * 3
    assert channel_of(connection, batch)["state"] == "quarantined"


def test_nothing_is_signed_for_a_quarantined_batch(connection: Connection, batch: Row) -> None:
    quarantine(connection, batch)
    with refused(connection, "PL008", words="send nothing"):
        record(connection, batch, 2)


@pytest.mark.parametrize("changed", [{"reason": None}, {"reason": " "}, {"evidence": None}])
def test_a_quarantine_without_reason_or_evidence_is_refused(
    connection: Connection, batch: Row, changed: Row
) -> None:
    with refused(connection, "PL001"):
        quarantine(connection, batch, **changed)


def test_a_batch_that_is_unknown_unsigned_or_closed_can_not_be_quarantined(
    connection: Connection, batch: Row
) -> None:
    with refused(connection, "PL002"):
        quarantine(connection, batch, batch_id=-1)
    open_run(connection, new_organization(connection))
    with refused(connection, "PL008"):
        quarantine(connection, claim(connection))
    settle(connection, report(batch))
    with refused(connection, "PL008"):
        quarantine(connection, batch)


# A cancelled run: what is in flight settles, and nothing else of it is paid.


def test_what_was_in_flight_when_its_run_was_cancelled_is_paid(connection: Connection, batch: Row) -> None:
    connection.execute("UPDATE payroll.pay_run SET cancel_requested_at = now()")
    assert settle(connection, report(batch)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid"] * 3
    assert run_row(connection, batch["run_id"])["state"] == "paid"


def test_what_failed_after_its_run_was_cancelled_is_not_tried_again(
    connection: Connection, batch: Row
) -> None:
    connection.execute("UPDATE payroll.pay_run SET cancel_requested_at = now()")
    settle(connection, failure(batch, "op_success", "op_success", "op_underfunded"))
    assert payment_states(connection, batch["run_id"]) == ["cancelled"] * 3
    assert run_row(connection, batch["run_id"])["state"] == "cancelled"
