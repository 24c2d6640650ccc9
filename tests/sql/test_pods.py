"""Pods come and go: start_pod, heartbeat, retire_pod, claim_abandoned_batches; next_due_at, work_summary."""

from datetime import UTC, date, datetime, timedelta

import pytest
from psycopg.types.json import Jsonb

from tests.sql.payroll_rows import (
    OTHER_POD,
    PASSPHRASE,
    POD,
    Connection,
    Line,
    Row,
    batch_row,
    call,
    claim,
    envelope,
    new_organization,
    new_payee,
    new_schedule,
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
    start_pods,
)

NOON = datetime(2026, 6, 15, 12, tzinfo=UTC)


def start(connection: Connection, **changed: object) -> None:
    terms: Row = {"pod": POD, "network_passphrase": PASSPHRASE, "lease_seconds": 30, **changed}
    call(connection, "start_pod", **terms)


def pod_row(connection: Connection, pod: str = POD) -> Row:
    (found,) = rows(connection, "SELECT * FROM payroll.pod WHERE pod = %s", pod)
    return found


def abandoned(connection: Connection, pod: str = OTHER_POD, tracked: list[int] | None = None) -> list[Row]:
    return call(connection, "claim_abandoned_batches", pod=pod, tracked=tracked or [])


def test_a_pod_registers_and_lives_by_its_heartbeat(connection: Connection) -> None:
    set_clock(connection, NOON)
    start_pods(connection, POD)
    assert pod_row(connection)["heartbeat_at"] == pod_row(connection)["started_at"] == NOON
    set_clock(connection, NOON + timedelta(seconds=9))
    call(connection, "heartbeat", pod=POD)
    assert pod_row(connection)["heartbeat_at"] == NOON + timedelta(seconds=9)
    assert pod_row(connection)["lease"] == timedelta(seconds=30)


def test_registering_twice_is_one_pod(connection: Connection) -> None:
    start_pods(connection, POD)
    start(connection, lease_seconds=60)
    assert pod_row(connection)["lease"] == timedelta(seconds=60)


@pytest.mark.parametrize(
    "changed",
    [{"pod": None}, {"pod": " "}, {"lease_seconds": None}, {"lease_seconds": 4}, {"lease_seconds": 3601}],
)
def test_a_pod_without_a_name_or_a_sensible_lease_is_refused(connection: Connection, changed: Row) -> None:
    start_pods(connection)
    with refused(connection, "PL001"):
        start(connection, **changed)


@pytest.mark.parametrize("passphrase", ["Another network", "", None])
def test_a_pod_of_another_network_is_refused(connection: Connection, passphrase: str | None) -> None:
    start_pods(connection)
    with refused(connection, "PL012"):
        start(connection, network_passphrase=passphrase)


def test_a_database_that_belongs_to_no_network_starts_no_pod(connection: Connection) -> None:
    with refused(connection, "PL012"):
        start(connection)


def test_a_retired_pod_never_comes_back(connection: Connection) -> None:
    start_pods(connection, POD)
    call(connection, "retire_pod", pod=POD)
    retired_at = pod_row(connection)["retired_at"]
    call(connection, "retire_pod", pod=POD)
    assert pod_row(connection)["retired_at"] == retired_at is not None
    with refused(connection, "PL011"):
        call(connection, "heartbeat", pod=POD)
    with refused(connection, "PL011"):
        start(connection)
    with refused(connection, "PL011"):
        abandoned(connection, POD)


def test_a_stranger_is_refused(connection: Connection) -> None:
    with refused(connection, "PL011"):
        call(connection, "heartbeat", pod="stranger")
    with refused(connection, "PL002"):
        call(connection, "retire_pod", pod="stranger")
    with refused(connection, "PL011"):
        abandoned(connection, "stranger")
    for function in ("heartbeat", "retire_pod"):
        with refused(connection, "PL001", "PL002"):
            call(connection, function, pod="")


# Taking over


@pytest.fixture
def signed(connection: Connection) -> Row:
    """A signed batch of POD; OTHER_POD is registered. The clock stands at its claim."""
    set_clock(connection, NOON)
    open_run(connection, new_organization(connection), anchor=date(2026, 6, 15))
    start_pods(connection, OTHER_POD)
    batch = claim(connection)
    record(connection, batch)
    return batch


def later(connection: Connection, seconds: int, *beating: str) -> None:
    set_clock(connection, NOON + timedelta(seconds=seconds))
    for pod in beating:
        call(connection, "heartbeat", pod=pod)


def test_a_living_pods_batch_is_left_to_it(connection: Connection, signed: Row) -> None:
    later(connection, 29, OTHER_POD)
    assert abandoned(connection) == []
    later(connection, 300, POD, OTHER_POD)
    assert abandoned(connection) == []


def test_a_dead_pods_signed_batch_comes_with_its_envelopes_and_a_new_token(
    connection: Connection, signed: Row
) -> None:
    record(connection, signed, 2, outer_hash=None)
    later(connection, 31, OTHER_POD)
    (taken,) = abandoned(connection)
    kept = {name: value for name, value in signed.items() if name != "claim_token"}
    assert {name: taken[name] for name in kept} == kept
    assert taken["claim_token"] != signed["claim_token"]
    assert taken["held_reason"] is None
    first, second = taken["envelopes"]
    sent = envelope(signed)
    assert (first["inner_hash"], first["outer_hash"]) == (sent["inner_hash"].hex(), sent["outer_hash"].hex())
    assert (first["envelope_xdr"], first["fee_bid"], first["as_of_ledger"]) == ("AAAA1", 400, 50)
    assert datetime.fromisoformat(first["valid_until"]) == sent["valid_until"]
    assert (second["envelope_xdr"], second["outer_hash"]) == ("AAAA2", None)
    assert batch_row(connection, signed["batch_id"])["claimed_by"] == OTHER_POD
    assert abandoned(connection, tracked=[taken["batch_id"]]) == []


def test_a_retired_pods_batch_is_taken_over_at_once(connection: Connection, signed: Row) -> None:
    call(connection, "retire_pod", pod=POD)
    assert [row["batch_id"] for row in abandoned(connection)] == [signed["batch_id"]]


def test_an_abandoned_batch_without_an_envelope_is_given_back(connection: Connection) -> None:
    run_id, _ = open_run(connection, new_organization(connection))
    start_pods(connection, OTHER_POD)
    batch = claim(connection)
    call(connection, "retire_pod", pod=POD)
    assert abandoned(connection) == []
    assert batch_row(connection, batch["batch_id"])["state"] == "released"
    assert payment_states(connection, run_id) == ["pending"] * 3
    with refused(connection, "PL004", "PL008"):
        record(connection, batch)
    assert claim(connection, OTHER_POD)["slot"] == batch["slot"]


def test_a_pods_own_batch_that_it_does_not_know_of_comes_back_after_its_lease(
    connection: Connection, signed: Row
) -> None:
    later(connection, 10, POD)
    assert abandoned(connection, POD) == []
    later(connection, 31, POD)
    assert abandoned(connection, POD, [signed["batch_id"]]) == []
    (mine,) = abandoned(connection, POD)
    assert mine["batch_id"] == signed["batch_id"]


def test_a_held_batch_comes_with_its_reason(connection: Connection, signed: Row) -> None:
    call(
        connection,
        "hold_batch",
        batch_id=signed["batch_id"],
        claim_token=signed["claim_token"],
        reason="odd code",
    )
    call(connection, "retire_pod", pod=POD)
    (taken,) = abandoned(connection)
    assert taken["held_reason"] == "odd code"


@pytest.mark.parametrize("ending", ["settled", "quarantined"])
def test_a_batch_that_is_settled_or_quarantined_is_nobodys(
    connection: Connection, signed: Row, ending: str
) -> None:
    if ending == "settled":
        settle(connection, report(signed))
    else:
        call(connection, "quarantine_batch", batch_id=signed["batch_id"], reason="r", evidence=Jsonb({}))
    call(connection, "retire_pod", pod=POD)
    assert abandoned(connection) == []


def test_a_call_takes_over_a_bounded_number_and_the_next_one_the_rest(connection: Connection) -> None:
    acme = new_organization(connection, channels=25)
    open_run(connection, acme, payees=2401)
    start_pods(connection, OTHER_POD)
    for _ in range(25):
        record(connection, claim(connection))
    call(connection, "retire_pod", pod=POD)
    first = abandoned(connection)
    tracked = [row["batch_id"] for row in first]
    second = abandoned(connection, tracked=tracked)
    assert (len(first), len(second)) == (20, 5)
    assert abandoned(connection, tracked=tracked + [row["batch_id"] for row in second]) == []


# Planning


def due(connection: Connection) -> tuple[datetime | None, float | None]:
    ((due_at, seconds),) = (row.values() for row in call(connection, "next_due_at"))
    return due_at, seconds


def test_nothing_planned_means_no_due_moment(connection: Connection) -> None:
    assert due(connection) == (None, None)


def test_the_next_due_moment_is_the_next_opening_or_the_next_paying(connection: Connection) -> None:
    set_clock(connection, NOON)
    acme = new_organization(connection)
    lines = [Line(new_payee(connection, acme))]
    new_schedule(connection, acme, lines, anchor=date(2026, 7, 1))
    assert due(connection) == (
        datetime(2026, 7, 1, 9, tzinfo=UTC),
        (datetime(2026, 7, 1, 9, tzinfo=UTC) - NOON).total_seconds(),
    )
    new_schedule(connection, acme, lines, anchor=date(2026, 6, 20), lead_time=timedelta(days=4))
    assert due(connection)[0] == datetime(2026, 6, 16, 9, tzinfo=UTC)
    set_clock(connection, datetime(2026, 6, 16, 9, tzinfo=UTC))
    assert due(connection) == (datetime(2026, 6, 16, 9, tzinfo=UTC), 0)
    call(connection, "claim_due_schedules", pod=POD)
    assert due(connection)[0] == datetime(2026, 6, 20, 9, tzinfo=UTC)


def test_an_overdue_schedule_is_due_in_no_seconds(connection: Connection) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [], anchor=date(2020, 1, 1))
    assert due(connection) == (datetime(2020, 1, 1, 9, tzinfo=UTC), 0)
    connection.execute("UPDATE payroll.pay_schedule SET state = 'paused'")
    assert due(connection) == (None, None)


def summary(connection: Connection) -> dict[str, int]:
    return {row["name"]: row["value"] for row in call(connection, "work_summary")}


def test_the_summary_counts_what_is_live(connection: Connection) -> None:
    assert set(summary(connection)) == {
        "runs_payable", "payments_pending", "batches_open", "batches_held", "batches_quarantined",
        "channels_active",
        "channels_quarantined", "runs_awaiting_funds", "schedules_overdue", "runs_held", "payments_held",
    }  # fmt: skip
    assert set(summary(connection).values()) == {0}
    acme = new_organization(connection, channels=3)
    run_id, _ = open_run(connection, acme, payees=250)
    new_schedule(connection, acme, [], anchor=date(2020, 1, 1))
    first, second = claim(connection), claim(connection)
    record(connection, first)
    record(connection, second)
    call(connection, "hold_batch", batch_id=first["batch_id"], claim_token=first["claim_token"], reason="r")
    call(connection, "quarantine_batch", batch_id=second["batch_id"], reason="r", evidence=Jsonb({}))
    assert summary(connection) == {
        "runs_payable": 1, "payments_pending": 52, "batches_open": 1, "batches_held": 1,
        "batches_quarantined": 1,
        "channels_active": 2, "channels_quarantined": 1, "runs_awaiting_funds": 0, "schedules_overdue": 1,
        "runs_held": 0, "payments_held": 0,
    }  # fmt: skip
    run_row(connection, run_id)


def test_the_clock_moves_within_a_transaction(connection: Connection) -> None:
    first = one(connection, "SELECT payroll.read_clock()")
    assert one(connection, "SELECT payroll.read_clock() > %s", first)
