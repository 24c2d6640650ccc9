"""claim_payments: which payments are bound to which slot, and for whom first."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest

from tests.database_server import Database
from tests.sql.payroll_rows import (
    OTHER_POD,
    POD,
    Connection,
    Line,
    account,
    batch_row,
    call,
    channel_row,
    claim,
    muxed,
    new_organization,
    new_payee,
    new_schedule,
    one,
    open_run,
    payment_states,
    record,
    refused,
    release,
    report,
    rows,
    run_row,
    set_clock,
    settle,
    start_pods,
)


def claim_or_none(connection: Connection, pod: str = POD) -> dict[str, object] | None:
    found = call(connection, "claim_payments", pod=pod)
    assert len(found) <= 1
    return found[0] if found else None


def test_a_batch_carries_all_that_a_pod_needs_to_build_its_transaction(connection: Connection) -> None:
    acme = new_organization(connection, "acme")
    start_pods(connection, POD)
    usdc = ("USDC", account("usdc"))
    payees = [new_payee(connection, acme, "a"), new_payee(connection, acme, "b", destination=muxed("b"))]
    new_schedule(
        connection, acme, [Line(payees[0], "12.5"), Line(payees[1], "0.0000001", usdc)],
        memo_policy="text", memo_text="June",
    )  # fmt: skip
    (opened,) = call(connection, "claim_due_schedules", pod=POD)
    batch = claim(connection)
    ids = [row["payment_id"] for row in rows(connection, "SELECT payment_id FROM payroll.payment ORDER BY 1")]
    assert batch == {
        "batch_id": batch["batch_id"],
        "claim_token": batch["claim_token"],
        "organization": "acme",
        "run_id": opened["run_id"],
        "channel_address": account("acme", "channel", 0),
        "channel_key_index": 0,
        "slot": 1001,
        "funding_address": acme.funding_address,
        "memo_type": "text",
        "memo_value": "June",
        "lines": [
            {
                "payment_id": ids[0], "destination": account("acme", "a"),
                "asset_code": None, "asset_issuer": None,
                "amount": "12.5", "own_memo": False,
            },
            {
                "payment_id": ids[1], "destination": muxed("b"),
                "asset_code": "USDC", "asset_issuer": usdc[1],
                "amount": "0.0000001", "own_memo": False,
            },
        ],
    }  # fmt: skip
    stored = batch_row(connection, batch["batch_id"])
    assert (stored["state"], stored["claimed_by"], stored["channel_id"]) == (
        "claimed",
        POD,
        acme.channel_ids[0],
    )
    assert channel_row(connection, acme.channel_ids[0])["live_batch_id"] == batch["batch_id"]
    assert channel_row(connection, acme.channel_ids[0])["sequence"] == 1000
    run = run_row(connection, opened["run_id"])
    assert (run["state"], run["in_flight_count"]) == ("paying", 2)


def test_at_most_99_payments_go_into_a_batch_and_none_into_two(connection: Connection) -> None:
    run_id, payments = open_run(connection, new_organization(connection, channels=4), payees=250)
    batches = [claim(connection) for _ in range(3)]
    assert [len(batch["lines"]) for batch in batches] == [99, 99, 52]
    assert [line["payment_id"] for batch in batches for line in batch["lines"]] == payments
    assert len({batch["channel_address"] for batch in batches}) == 3
    assert claim_or_none(connection) is None
    assert run_row(connection, run_id)["in_flight_count"] == 250


def test_payments_with_a_memo_of_their_own_are_sent_alone_after_the_others(connection: Connection) -> None:
    acme = new_organization(connection, channels=4)
    start_pods(connection, POD)
    payees = [
        new_payee(connection, acme, memo=("id", "7")),
        new_payee(connection, acme),
        new_payee(connection, acme, memo=("id", "7")),
        new_payee(connection, acme),
        new_payee(connection, acme, memo=("hash", "ab" * 32)),
    ]
    new_schedule(connection, acme, [Line(payee) for payee in payees])
    call(connection, "claim_due_schedules", pod=POD)
    batches = [claim(connection) for _ in range(4)]
    assert [(len(b["lines"]), {line["own_memo"] for line in b["lines"]}) for b in batches] == [
        (2, {False}), (1, {True}), (1, {True}), (1, {True}),
    ]  # fmt: skip
    assert [(b["memo_type"], b["memo_value"]) for b in batches[1:]] == [
        ("id", "7"), ("id", "7"), ("hash", "ab" * 32),
    ]  # fmt: skip
    assert batches[0]["memo_type"] == "hash"
    assert len({line["payment_id"] for b in batches for line in b["lines"]}) == 5


@pytest.mark.parametrize(("pod", "sqlstate"), [(None, "PL001"), ("", "PL001"), ("stranger", "PL011")])
def test_a_pod_that_is_not_registered_gets_nothing(
    connection: Connection, pod: str | None, sqlstate: str
) -> None:
    open_run(connection, new_organization(connection))
    with refused(connection, sqlstate):
        call(connection, "claim_payments", pod=pod)


def test_a_retired_pod_gets_nothing(connection: Connection) -> None:
    open_run(connection, new_organization(connection))
    call(connection, "retire_pod", pod=POD)
    with refused(connection, "PL011"):
        claim(connection)


def test_nothing_is_claimed_before_the_run_pays(connection: Connection) -> None:
    now = datetime.now(UTC)
    anchor, lead_time = now.date() + timedelta(days=2), timedelta(days=10)
    run_id, _ = open_run(connection, new_organization(connection), anchor=anchor, lead_time=lead_time)
    assert claim_or_none(connection) is None
    set_clock(connection, run_row(connection, run_id)["pay_at"] - timedelta(microseconds=1))
    assert claim_or_none(connection) is None
    set_clock(connection, run_row(connection, run_id)["pay_at"])
    assert claim_or_none(connection) is not None


@pytest.mark.parametrize("state", ["held", "awaiting_approval", "cancelled"])
def test_a_run_that_a_person_stopped_is_not_paid(connection: Connection, state: str) -> None:
    open_run(connection, new_organization(connection))
    connection.execute("UPDATE payroll.pay_run SET state = %s", (state,))
    assert claim_or_none(connection) is None


def test_a_run_whose_cancelling_was_asked_for_is_not_paid_and_stops_nobody_else(
    connection: Connection,
) -> None:
    open_run(connection, new_organization(connection))
    connection.execute("UPDATE payroll.pay_run SET cancel_requested_at = now()")
    assert claim_or_none(connection) is None
    other, _ = open_run(connection, new_organization(connection))
    batch = claim_or_none(connection)
    assert batch is not None
    assert batch["run_id"] == other


def test_the_end_date_is_read_again_when_it_pays(connection: Connection) -> None:
    anchor = date(2026, 1, 5)
    run_id, _ = open_run(connection, new_organization(connection), rule="FREQ=WEEKLY;BYDAY=MO", anchor=anchor)
    connection.execute(
        "UPDATE payroll.pay_schedule SET end_date = '2026-01-04', state = 'ended', next_nominal_date = NULL,"
        " next_pay_at = NULL, next_open_at = NULL"
    )
    assert claim_or_none(connection) is None
    run = run_row(connection, run_id)
    assert run["state"] == "held"
    assert "2026-01-04" in run["state_reason"]


@pytest.mark.parametrize("state", ["quarantined", "retired"])
def test_a_channel_that_is_not_active_lends_no_slot(connection: Connection, state: str) -> None:
    acme = new_organization(connection, channels=2)
    open_run(connection, acme, payees=2)
    connection.execute(
        "UPDATE payroll.channel_account SET state = %s WHERE channel_id = %s", (state, acme.channel_ids[0])
    )
    batch = claim(connection)
    assert batch["channel_key_index"] == 1
    assert batch["slot"] == 2001


def test_without_an_idle_channel_of_its_own_organization_a_run_waits(connection: Connection) -> None:
    acme, other = new_organization(connection), new_organization(connection, channels=3)
    open_run(connection, acme, payees=100)
    first = claim(connection)
    assert claim_or_none(connection) is None
    record(connection, first)
    assert claim_or_none(connection) is None
    settle(connection, report(first))
    second = claim(connection)
    assert (second["slot"], second["channel_address"]) == (first["slot"] + 1, first["channel_address"])
    assert len(second["lines"]) == 1
    assert {channel_row(connection, channel)["live_batch_id"] for channel in other.channel_ids} == {None}


def test_channels_take_turns(connection: Connection) -> None:
    acme = new_organization(connection, channels=3)
    open_run(connection, acme, payees=2)
    used = []
    for minute in range(4):
        set_clock(connection, datetime.now(UTC) + timedelta(minutes=minute))
        batch = claim(connection)
        used.append(batch["channel_key_index"])
        release(connection, batch)
    assert sorted(used[:3]) == [0, 1, 2]
    assert used[3] == used[0]


def test_a_huge_run_does_not_starve_a_small_one_of_another_organization(connection: Connection) -> None:
    huge, small = new_organization(connection, channels=8), new_organization(connection, channels=2)
    huge_run, _ = open_run(connection, huge, payees=500)
    small_run, _ = open_run(connection, small, payees=120)
    served = []
    for second in range(6):
        set_clock(connection, datetime.now(UTC) + timedelta(seconds=second))
        served.append(claim(connection)["run_id"])
    assert sorted(served[0:2]) == sorted(served[2:4]) == [huge_run, small_run]
    assert served[4:] == [huge_run, huge_run]


def test_two_runs_of_one_organization_take_turns(connection: Connection) -> None:
    acme = new_organization(connection, channels=6)
    one_run, _ = open_run(connection, acme, payees=250)
    other_run, _ = open_run(connection, acme, payees=250)
    served = []
    for second in range(4):
        set_clock(connection, datetime.now(UTC) + timedelta(seconds=second))
        served.append(claim(connection)["run_id"])
    assert sorted(served[:2]) == sorted(served[2:]) == [one_run, other_run]


def test_several_sessions_at_once_claim_each_payment_once(database: Database) -> None:
    with database.connect() as setup, setup.transaction():
        for _ in range(3):
            open_run(setup, new_organization(setup, channels=5), payees=410)
        start_pods(setup, OTHER_POD)

    def work(pod: str) -> list[int]:
        with database.connect("payroll_pod") as session:
            found: list[int] = []
            while more := session.execute("SELECT lines FROM payroll.claim_payments(%s)", (pod,)).fetchone():
                found += [line["payment_id"] for line in more[0]]
            return found

    with ThreadPoolExecutor(4) as sessions:
        claimed = [
            payment for part in sessions.map(work, [POD, OTHER_POD, POD, OTHER_POD]) for payment in part
        ]
    with database.connect() as judge:
        claimed += work(POD)
        total = one(judge, "SELECT count(*) FROM payroll.payment")
        assert len(claimed) == len(set(claimed)) == total == 1230
        assert one(judge, "SELECT count(*) FROM payroll.payment_batch WHERE state = 'claimed'") == 15
        assert one(judge, "SELECT count(DISTINCT (channel_id, slot)) FROM payroll.payment_batch") == 15
        for run_id in one(judge, "SELECT array_agg(run_id) FROM payroll.pay_run"):
            assert set(payment_states(judge, run_id)) == {"in_flight"}
            run_row(judge, run_id)


def test_a_wrong_counter_stops_its_own_run_only(connection: Connection) -> None:
    acme = new_organization(connection, channels=2)
    start_pods(connection, POD)
    broken, _ = open_run(connection, acme, payees=1)
    sound, _ = open_run(connection, acme, payees=1)
    connection.execute("UPDATE payroll.payment SET state = 'held' WHERE run_id = %s", (broken,))
    assert claim(connection)["run_id"] == sound
    assert one(connection, "SELECT state::text FROM payroll.pay_run WHERE run_id = %s", broken) == "held"


def test_a_run_that_somebody_has_locked_holds_up_no_other_organization(database: Database) -> None:
    with database.connect() as superuser, superuser.transaction():
        first = new_organization(superuser)
        second = new_organization(superuser)
        start_pods(superuser, POD)
        locked, _ = open_run(superuser, first, payees=1)
        free, _ = open_run(superuser, second, payees=1)
    with (
        database.connect(autocommit=False) as person,
        database.connect("payroll_pod") as pod,
    ):
        person.execute("SELECT FROM payroll.pay_run WHERE run_id = %s FOR UPDATE", (locked,))
        pod.execute("SET lock_timeout = '10s'")
        found = pod.execute("SELECT run_id FROM payroll.claim_payments(%s)", (POD,)).fetchall()
        assert found == [(free,)]
        pod.execute("SET lock_timeout = '10ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):  # nothing else is left: now it waits
            pod.execute("SELECT run_id FROM payroll.claim_payments(%s)", (POD,))
        person.rollback()
        assert pod.execute("SELECT run_id FROM payroll.claim_payments(%s)", (POD,)).fetchall() == [(locked,)]


def test_channels_that_somebody_has_locked_hold_up_no_other_organization(database: Database) -> None:
    with database.connect() as superuser, superuser.transaction():
        first = new_organization(superuser)
        second = new_organization(superuser)
        start_pods(superuser, POD)
        open_run(superuser, first, payees=1)
        free, _ = open_run(superuser, second, payees=1)
    with (
        database.connect(autocommit=False) as person,
        database.connect("payroll_pod") as pod,
    ):
        person.execute(
            "SELECT FROM payroll.channel_account WHERE organization_id = %s FOR UPDATE",
            (first.organization_id,),
        )
        assert pod.execute("SELECT run_id FROM payroll.claim_payments(%s)", (POD,)).fetchall() == [(free,)]
