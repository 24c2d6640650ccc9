"""A batch gets an envelope or goes back: record_envelope, refuse_payments, release_batch, hold_batch."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.sql.payroll_rows import (
    OTHER_POD,
    POD,
    Connection,
    Row,
    batch_row,
    call,
    channel_row,
    claim,
    envelope,
    new_organization,
    one,
    open_run,
    payment_states,
    record,
    refused,
    release,
    report,
    rows,
    run_row,
    settle,
    some_bytes,
    start_pods,
    token_of,
)


@pytest.fixture
def batch(connection: Connection) -> Row:
    """A claimed batch of three payments of a run that has no others."""
    open_run(connection, new_organization(connection))
    start_pods(connection, OTHER_POD)
    return claim(connection)


def envelopes(connection: Connection, batch: Row) -> list[Row]:
    return rows(
        connection,
        "SELECT * FROM payroll.envelope WHERE batch_id = %s ORDER BY envelope_id",
        batch["batch_id"],
    )


def refuse(connection: Connection, batch: Row, payments: list[int], code: str = "memo_required") -> Any:
    arguments = {**token_of(batch), "payment_ids": payments, "code": code}
    ((left,),) = (row.values() for row in call(connection, "refuse_payments", **arguments))
    return left


def hold(connection: Connection, batch: Row, reason: str | None = "an unknown code") -> None:
    call(connection, "hold_batch", **token_of(batch), reason=reason)


# record_envelope


def test_an_envelope_is_kept_as_it_was_signed_and_the_batch_is_signed(
    connection: Connection, batch: Row
) -> None:
    record(connection, batch)
    (stored,) = envelopes(connection, batch)
    sent = envelope(batch)
    for name in (
        "slot",
        "inner_hash",
        "outer_hash",
        "envelope_xdr",
        "fee_bid",
        "valid_until",
        "as_of_ledger",
    ):
        assert stored[name] == sent[name], name
    assert stored["recorded_by"] == POD
    assert batch_row(connection, batch["batch_id"])["state"] == "signed"


def test_the_same_envelope_again_changes_nothing(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    record(connection, batch)
    assert len(envelopes(connection, batch)) == 1


def test_a_batch_may_get_several_envelopes_for_its_slot(connection: Connection, batch: Row) -> None:
    record(connection, batch, 1)
    record(connection, batch, 2)
    record(
        connection, batch, 3, inner_hash=some_bytes("inner", batch["batch_id"], 2)
    )  # the same, bumped again
    record(connection, batch, 4, outer_hash=None)
    assert {row["slot"] for row in envelopes(connection, batch)} == {batch["slot"]}
    assert len(envelopes(connection, batch)) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"slot": None}, {"inner_hash": None}, {"inner_hash": b"short"}, {"envelope_xdr": None},
        {"envelope_xdr": ""},
        {"fee_bid": None}, {"valid_until": None}, {"as_of_ledger": None},
    ],
)  # fmt: skip
def test_an_envelope_with_a_part_missing_is_refused(connection: Connection, batch: Row, changed: Row) -> None:
    with refused(connection, "PL001"):
        record(connection, batch, **changed)


@pytest.mark.parametrize("changed", [{"outer_hash": b"short"}, {"fee_bid": 0}, {"fee_bid": -1}])
def test_an_envelope_with_an_impossible_part_is_refused(
    connection: Connection, batch: Row, changed: Row
) -> None:
    with refused(connection, "PL001"):
        record(connection, batch, **changed)


@pytest.mark.parametrize("step", [-1, 1])
def test_an_envelope_for_another_slot_is_refused(connection: Connection, batch: Row, step: int) -> None:
    with refused(connection, "PL001", words="slot"):
        record(connection, batch, slot=batch["slot"] + step)


def test_an_unknown_batch_is_refused(connection: Connection, batch: Row) -> None:
    with refused(connection, "PL002"):
        record(connection, batch, batch_id=batch["batch_id"] + 1)


@pytest.mark.parametrize("token", [None, uuid.UUID(int=7)])
def test_another_claim_token_is_refused(connection: Connection, batch: Row, token: uuid.UUID | None) -> None:
    with refused(connection, "PL004", words="send nothing"):
        record(connection, batch, claim_token=token)


def test_a_late_envelope_of_a_released_batch_is_refused(connection: Connection, batch: Row) -> None:
    assert release(connection, batch)
    with refused(connection, "PL004", words="send nothing"):
        record(connection, batch)
    again = claim(connection)
    assert again["slot"] == batch["slot"]
    with refused(connection, "PL004", words="send nothing"):
        record(connection, batch)


def test_a_late_envelope_of_a_batch_that_another_pod_took_over_is_refused(
    connection: Connection, batch: Row
) -> None:
    record(connection, batch, 1)
    call(connection, "retire_pod", pod=POD)
    (taken,) = call(connection, "claim_abandoned_batches", pod=OTHER_POD, tracked=[])
    assert taken["claim_token"] != batch["claim_token"]
    with refused(connection, "PL004", words="send nothing"):
        record(connection, batch, 2)
    record(connection, taken, 2)


def test_a_closed_batch_gets_no_envelope(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    settle(connection, report(batch))
    with refused(connection, "PL008", words="send nothing"):
        record(connection, batch, 2)


def test_a_hash_that_belongs_to_another_batch_is_refused(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    open_run(connection, new_organization(connection))
    other = claim(connection)
    with refused(connection, "PL006"):
        record(connection, other, inner_hash=some_bytes("inner", batch["batch_id"], 1))
    with refused(connection, "PL006"):
        record(connection, other, outer_hash=some_bytes("outer", batch["batch_id"], 1))
    record(connection, other)


# refuse_payments


def test_payments_refused_by_a_check_fail_and_the_rest_stays(connection: Connection, batch: Row) -> None:
    payments = [line["payment_id"] for line in batch["lines"]]
    assert refuse(connection, batch, payments[1:2]) == 2
    assert payment_states(connection, batch["run_id"]) == ["in_flight", "failed", "in_flight"]
    assert (
        one(connection, "SELECT failure_code FROM payroll.payment WHERE payment_id = %s", payments[1])
        == "memo_required"
    )
    run_row(connection, batch["run_id"])
    record(connection, batch)
    assert settle(connection, report(batch)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid", "failed", "paid"]
    assert run_row(connection, batch["run_id"])["state"] == "partly_paid"


def test_refusing_every_payment_releases_the_batch_and_ends_the_run(
    connection: Connection, batch: Row
) -> None:
    payments = [line["payment_id"] for line in batch["lines"]]
    assert refuse(connection, batch, [*payments, payments[0]]) == 0
    assert batch_row(connection, batch["batch_id"])["state"] == "released"
    assert run_row(connection, batch["run_id"])["state"] == "partly_paid"
    channel = one(connection, "SELECT channel_id FROM payroll.payment_batch")
    assert channel_row(connection, channel)["live_batch_id"] is None
    assert channel_row(connection, channel)["sequence"] == batch["slot"] - 1


def test_refusing_a_payment_twice_changes_nothing(connection: Connection, batch: Row) -> None:
    payments = [line["payment_id"] for line in batch["lines"]]
    assert [refuse(connection, batch, payments[:1]) for _ in range(2)] == [2, 2]
    assert payment_states(connection, batch["run_id"]) == ["failed", "in_flight", "in_flight"]
    run_row(connection, batch["run_id"])
    assert [refuse(connection, batch, payments) for _ in range(2)] == [0, 0]
    run_row(connection, batch["run_id"])


def test_refusing_a_payment_of_another_batch_is_refused(connection: Connection, batch: Row) -> None:
    payments = [line["payment_id"] for line in batch["lines"]]
    refuse(connection, batch, payments[:1])
    with refused(connection, "PL001"):
        refuse(connection, batch, [payments[1], payments[2] + 1000])
    assert payment_states(connection, batch["run_id"]) == ["failed", "in_flight", "in_flight"]


def test_refusing_no_payment_changes_nothing(connection: Connection, batch: Row) -> None:
    assert refuse(connection, batch, []) == 3
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3


@pytest.mark.parametrize("code", ["op_no_trust", "tx_failed", "", None, "whatever"])
def test_only_a_checks_code_refuses_payments(connection: Connection, batch: Row, code: str) -> None:
    with refused(connection, "PL001"):
        refuse(connection, batch, [batch["lines"][0]["payment_id"]], code)


def test_a_signed_batch_keeps_its_payments(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    with refused(connection, "PL008"):
        refuse(connection, batch, [batch["lines"][0]["payment_id"]])


def test_refusing_payments_of_another_pods_batch_or_of_none_is_refused(
    connection: Connection, batch: Row
) -> None:
    payments = [batch["lines"][0]["payment_id"]]
    with refused(connection, "PL004"):
        refuse(connection, {**batch, "claim_token": uuid.UUID(int=7)}, payments)
    with refused(connection, "PL002"):
        refuse(connection, {**batch, "batch_id": -1}, payments)


# release_batch


def test_a_released_batch_gives_back_payments_and_slot(connection: Connection, batch: Row) -> None:
    assert release(connection, batch)
    assert batch_row(connection, batch["batch_id"])["state"] == "released"
    assert payment_states(connection, batch["run_id"]) == ["pending"] * 3
    run_row(connection, batch["run_id"])
    again = claim(connection)
    assert [line["payment_id"] for line in again["lines"]] == [line["payment_id"] for line in batch["lines"]]
    assert again["slot"] == batch["slot"]


def test_releasing_twice_says_false(connection: Connection, batch: Row) -> None:
    assert release(connection, batch)
    assert not release(connection, batch)
    again = claim(connection)
    assert not release(connection, batch)
    assert batch_row(connection, again["batch_id"])["state"] == "claimed"


def test_a_batch_with_an_envelope_is_never_released(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    assert not release(connection, batch)
    assert batch_row(connection, batch["batch_id"])["state"] == "signed"
    assert payment_states(connection, batch["run_id"]) == ["in_flight"] * 3


def test_a_batch_with_an_envelope_is_not_given_back_even_by_the_owner(
    connection: Connection, batch: Row
) -> None:
    record(connection, batch)
    with refused(connection, "PL008"):
        call(connection, "return_payments", role="payroll_owner", batch_id=batch["batch_id"], reason="test")


def test_only_the_batchs_own_pod_releases_it(connection: Connection, batch: Row) -> None:
    assert not release(connection, {**batch, "claim_token": uuid.UUID(int=7)})
    assert not release(connection, {**batch, "claim_token": None})
    with refused(connection, "PL002"):
        release(connection, {**batch, "batch_id": -1})
    assert batch_row(connection, batch["batch_id"])["state"] == "claimed"


def test_a_batch_released_after_its_run_was_cancelled_cancels_its_payments(
    connection: Connection, batch: Row
) -> None:
    connection.execute("UPDATE payroll.pay_run SET cancel_requested_at = now()")
    assert release(connection, batch)
    assert payment_states(connection, batch["run_id"]) == ["cancelled"] * 3
    assert run_row(connection, batch["run_id"])["state"] == "cancelled"


# hold_batch


def test_a_held_batch_keeps_slot_and_payments_and_is_not_sent_again(
    connection: Connection, batch: Row
) -> None:
    record(connection, batch)
    hold(connection, batch)
    stored = batch_row(connection, batch["batch_id"])
    assert (stored["state"], stored["held_reason"]) == ("signed", "an unknown code")
    with refused(connection, "PL008", words="held"):
        record(connection, batch, 2)
    assert one(connection, "SELECT count(*) FROM payroll.audit_event WHERE action = 'hold_batch'") == 1


def test_holding_twice_keeps_the_first_reason(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    hold(connection, batch)
    hold(connection, batch, "another")
    assert batch_row(connection, batch["batch_id"])["held_reason"] == "an unknown code"
    assert one(connection, "SELECT count(*) FROM payroll.audit_event") == 1


def test_a_held_batch_is_settled_when_the_ledger_has_it_after_all(connection: Connection, batch: Row) -> None:
    record(connection, batch)
    hold(connection, batch)
    assert settle(connection, report(batch)) == "succeeded"
    assert payment_states(connection, batch["run_id"]) == ["paid"] * 3


@pytest.mark.parametrize("reason", [None, "", " "])
def test_holding_without_a_reason_is_refused(connection: Connection, batch: Row, reason: str | None) -> None:
    with refused(connection, "PL001"):
        hold(connection, batch, reason)


def test_holding_a_strangers_a_closed_or_no_batch_is_refused(connection: Connection, batch: Row) -> None:
    with refused(connection, "PL004"):
        hold(connection, {**batch, "claim_token": uuid.UUID(int=7)})
    with refused(connection, "PL002"):
        hold(connection, {**batch, "batch_id": -1})
    record(connection, batch)
    settle(connection, report(batch, closed_at=datetime(2026, 1, 1, tzinfo=UTC)))
    with refused(connection, "PL008"):
        hold(connection, batch)


def test_an_envelopes_commit_waits_for_the_disk_though_the_login_says_otherwise(
    connection: Connection, batch: Row
) -> None:
    connection.execute("SET LOCAL synchronous_commit = off")
    record(connection, batch)
    assert one(connection, "SHOW synchronous_commit") == "on"
