"""claim_due_schedules: what opens, when, once, and what stays shut."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest

from tests.database_server import Database
from tests.sql.payroll_rows import (
    POD,
    Connection,
    Line,
    Row,
    account,
    call,
    muxed,
    new_organization,
    new_payee,
    new_schedule,
    one,
    refused,
    rows,
    run_row,
    set_clock,
)

NOON = datetime(2026, 6, 15, 12, tzinfo=UTC)


def open_due(connection: Connection, pod: str = POD) -> list[Row]:
    return call(connection, "claim_due_schedules", pod=pod)


def schedule_row(connection: Connection, schedule_id: int) -> Row:
    (schedule,) = rows(
        connection,
        "SELECT *, state::text AS state FROM payroll.pay_schedule WHERE schedule_id = %s",
        schedule_id,
    )
    return schedule


def test_a_due_schedule_opens_its_run_with_its_lines_frozen(connection: Connection) -> None:
    acme = new_organization(connection, "acme")
    plain = new_payee(connection, acme, "plain")
    exchange = new_payee(connection, acme, "exchange", memo=("id", "77"))
    many = new_payee(connection, acme, "many", destination=muxed("many"))
    usdc, eurc = ("USDC", account("usdc")), ("EURC", account("eurc"))
    schedule_id = new_schedule(
        connection,
        acme,
        [
            Line(plain, "0.0000001"),
            Line(plain, "922337203685.4775807", usdc, line=2),
            Line(exchange, "10.50", usdc),
            Line(many, "3", eurc),
        ],
        rule="FREQ=MONTHLY;BYMONTHDAY=-1",
        anchor=date(2026, 5, 31),
        pay_time=time(9),
        zone="America/New_York",
    )
    set_clock(connection, NOON)
    (opened,) = open_due(connection)
    assert opened == {
        "run_id": opened["run_id"],
        "organization": "acme",
        "schedule_id": schedule_id,
        "nominal_date": date(2026, 5, 31),
        "pay_at": datetime(2026, 5, 31, 13, tzinfo=UTC),
        "payments": 4,
        "totals": {
            "XLM": "0.0000001",
            f"USDC:{usdc[1]}": "922337203695.9775807",
            f"EURC:{eurc[1]}": "3.0000000",
        },
    }
    run = run_row(connection, opened["run_id"])
    assert (run["state"], run["pending_count"], run["opened_by"]) == ("approved", 4, POD)
    assert (run["opened_at"], run["next_serve_at"]) == (NOON, run["pay_at"])
    assert run["funding_account_id"] == acme.funding_account_id
    payments = rows(
        connection,
        "SELECT payee_id, line, destination, memo_type::text, memo_value, asset_code, asset_issuer,"
        " amount::numeric,"
        " state::text FROM payroll.payment WHERE run_id = %s ORDER BY payee_id, line",
        opened["run_id"],
    )
    assert [tuple(payment.values()) for payment in payments] == [
        (plain, 1, account("acme", "plain"), "none", None, None, None, Decimal("0.0000001"), "pending"),
        (plain, 2, account("acme", "plain"), "none", None, *usdc, Decimal("922337203685.4775807"), "pending"),
        (exchange, 1, account("acme", "exchange"), "id", "77", *usdc, Decimal("10.50"), "pending"),
        (many, 1, muxed("many"), "none", None, *eurc, Decimal(3), "pending"),
    ]
    schedule = schedule_row(connection, schedule_id)
    assert (schedule["next_nominal_date"], schedule["state"]) == (date(2026, 6, 30), "active")
    assert schedule["next_pay_at"] == schedule["next_open_at"] == datetime(2026, 6, 30, 13, tzinfo=UTC)


def test_asking_again_opens_nothing_more(connection: Connection) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [Line(new_payee(connection, acme))])
    assert len(open_due(connection)) == 1
    assert open_due(connection) == []
    assert one(connection, "SELECT count(*) FROM payroll.pay_run") == 1


def test_nothing_is_due_in_an_empty_database(connection: Connection) -> None:
    assert open_due(connection) == []


@pytest.mark.parametrize("pod", [None, "", "  "])
def test_a_caller_without_a_name_is_refused(connection: Connection, pod: str | None) -> None:
    with refused(connection, "PL001", words="pod is empty"):
        call(connection, "claim_due_schedules", pod=pod)


def test_pg_cron_may_open_runs_without_being_registered(connection: Connection) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [Line(new_payee(connection, acme))])
    (opened,) = open_due(connection, "pg_cron")
    assert run_row(connection, opened["run_id"])["opened_by"] == "pg_cron"


@pytest.mark.parametrize(("before", "opens"), [(timedelta(microseconds=1), False), (timedelta(), True)])
def test_a_run_opens_at_its_moment_and_not_before(
    connection: Connection, before: timedelta, opens: bool
) -> None:
    acme = new_organization(connection)
    new_schedule(
        connection, acme, [Line(new_payee(connection, acme))], anchor=date(2026, 6, 15), pay_time=time(12)
    )
    set_clock(connection, NOON - before)
    assert bool(open_due(connection)) is opens


def test_a_run_opens_its_lead_time_before_it_pays(connection: Connection) -> None:
    acme = new_organization(connection)
    lines = [Line(new_payee(connection, acme))]
    terms = {"anchor": date(2026, 6, 17), "pay_time": time(12), "lead_time": timedelta(days=2)}
    schedule_id = new_schedule(connection, acme, lines, rule="FREQ=WEEKLY;BYDAY=WE", **terms)  # type: ignore[arg-type]
    set_clock(connection, NOON - timedelta(seconds=1))
    assert open_due(connection) == []
    set_clock(connection, NOON)
    (opened,) = open_due(connection)
    run = run_row(connection, opened["run_id"])
    assert run["pay_at"] == run["next_serve_at"] == NOON + timedelta(days=2)
    schedule = schedule_row(connection, schedule_id)
    assert schedule["next_open_at"] == NOON + timedelta(days=7)
    assert schedule["next_pay_at"] == NOON + timedelta(days=9)


def test_missed_dates_open_one_per_call_the_oldest_first(connection: Connection) -> None:
    acme = new_organization(connection)
    lines = [Line(new_payee(connection, acme))]
    schedule_id = new_schedule(connection, acme, lines, rule="FREQ=WEEKLY;BYDAY=MO", anchor=date(2026, 5, 25))
    set_clock(connection, NOON)  # a Monday: 25 May, 1, 8 and 15 June are due
    opened = []
    while more := open_due(connection):
        assert len(more) == 1
        opened += [row["nominal_date"] for row in more]
    assert opened == [date(2026, 5, 25), date(2026, 6, 1), date(2026, 6, 8), date(2026, 6, 15)]
    assert schedule_row(connection, schedule_id)["next_nominal_date"] == date(2026, 6, 22)


def test_the_oldest_schedules_open_first_when_there_are_more_than_a_call_takes(
    connection: Connection,
) -> None:
    acme = new_organization(connection)
    payee = new_payee(connection, acme)
    schedules = [
        new_schedule(connection, acme, [Line(payee)], anchor=date(2026, 6, 14) - timedelta(days=n % 7))
        for n in range(230)
    ]
    set_clock(connection, NOON)
    first, second, third = open_due(connection), open_due(connection), open_due(connection)
    assert (len(first), len(second), len(third)) == (200, 30, 0)
    assert max(row["pay_at"] for row in first) <= min(row["pay_at"] for row in second)
    assert {row["schedule_id"] for row in first + second} == set(schedules)


def test_a_call_takes_no_more_schedules_once_it_has_twenty_thousand_payments(connection: Connection) -> None:
    acme = new_organization(connection)
    schedules = [new_schedule(connection, acme, [], anchor=date(2026, 6, n)) for n in (1, 2, 3)]
    connection.execute(
        "WITH payees AS (INSERT INTO payroll.payee (organization_id, reference, name, destination,"
        " created_at,"
        " changed_at) SELECT %(organization)s, 'p' || n, 'p', %(destination)s, now(), now()"
        " FROM generate_series(1, 12000) AS n RETURNING payee_id)"
        " INSERT INTO payroll.schedule_line (organization_id, schedule_id, payee_id, amount)"
        " SELECT %(organization)s, s, payee_id, 1 FROM payees, unnest(%(schedules)s::bigint[]) AS s",
        {
            "organization": acme.organization_id,
            "destination": account("x"),
            "schedules": schedules,
        },
    )
    set_clock(connection, NOON)
    assert [row["payments"] for row in open_due(connection)] == [12000, 12000]
    assert [row["payments"] for row in open_due(connection)] == [12000]
    assert open_due(connection) == []


@pytest.mark.parametrize("state", ["paused", "cancelled", "ended"])
def test_a_schedule_that_is_not_active_opens_nothing(connection: Connection, state: str) -> None:
    acme = new_organization(connection)
    schedule_id = new_schedule(
        connection, acme, [Line(new_payee(connection, acme))], rule="FREQ=WEEKLY;BYDAY=MO"
    )
    set_clock(connection, datetime.now(UTC) + timedelta(days=30))
    connection.execute("UPDATE payroll.pay_schedule SET state = %s", (state,))
    assert open_due(connection) == []
    assert schedule_row(connection, schedule_id)["state"] == state


def test_the_end_date_is_inclusive_and_ends_the_schedule(connection: Connection) -> None:
    acme = new_organization(connection)
    schedule_id = new_schedule(
        connection,
        acme,
        [Line(new_payee(connection, acme))],
        rule="FREQ=WEEKLY;BYDAY=MO",
        anchor=date(2026, 6, 1),
        end_date=date(2026, 6, 8),
    )
    set_clock(connection, NOON)
    assert [row["nominal_date"] for row in open_due(connection)] == [date(2026, 6, 1)]
    assert [row["nominal_date"] for row in open_due(connection)] == [date(2026, 6, 8)]
    assert open_due(connection) == []
    schedule = schedule_row(connection, schedule_id)
    assert (schedule["state"], schedule["next_nominal_date"], schedule["next_open_at"]) == (
        "ended",
        None,
        None,
    )


def test_a_single_date_ends_its_schedule(connection: Connection) -> None:
    acme = new_organization(connection)
    schedule_id = new_schedule(connection, acme, [Line(new_payee(connection, acme))])
    assert len(open_due(connection)) == 1
    assert schedule_row(connection, schedule_id)["state"] == "ended"


def test_an_end_date_before_the_next_date_is_refused_by_the_schema(connection: Connection) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [], anchor=date(2026, 6, 1))
    with refused(connection, "23514", words="pay_schedule_next_within_end"):
        connection.execute("UPDATE payroll.pay_schedule SET end_date = '2026-05-31'")


def test_a_date_whose_run_exists_already_is_passed_over_without_a_second_run(connection: Connection) -> None:
    """As after a person put the schedule's next date back by hand."""
    acme = new_organization(connection)
    lines = [Line(new_payee(connection, acme))]
    schedule_id = new_schedule(connection, acme, lines, rule="FREQ=WEEKLY;BYDAY=MO", anchor=date(2026, 6, 8))
    set_clock(connection, NOON)
    assert len(open_due(connection)) == 1
    connection.execute(
        "UPDATE payroll.pay_schedule SET next_nominal_date = anchor, next_pay_at = next_pay_at -"
        " interval '7 days',"
        " next_open_at = next_open_at - interval '7 days'"
    )
    open_due(connection)
    assert schedule_row(connection, schedule_id)["next_nominal_date"] == date(2026, 6, 15)
    assert one(connection, "SELECT count(*) FROM payroll.pay_run") == 1
    assert one(connection, "SELECT count(*) FROM payroll.payment") == 1


def test_a_schedule_without_lines_opens_an_empty_run_that_is_done(connection: Connection) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [])
    (opened,) = open_due(connection)
    assert (opened["payments"], opened["totals"]) == (0, {})
    assert run_row(connection, opened["run_id"])["state"] == "paid"


def test_later_edits_of_payee_and_schedule_reach_the_next_run_only(connection: Connection) -> None:
    acme = new_organization(connection)
    payee = new_payee(connection, acme)
    new_schedule(connection, acme, [Line(payee, "5")], rule="FREQ=WEEKLY;BYDAY=MO", anchor=date(2026, 6, 8))
    set_clock(connection, NOON)
    (first,) = open_due(connection)
    connection.execute("UPDATE payroll.payee SET destination = %s", (account("moved"),))
    connection.execute("UPDATE payroll.schedule_line SET amount = 6")
    (second,) = open_due(connection)
    found = rows(
        connection, "SELECT run_id, destination, amount::numeric FROM payroll.payment ORDER BY run_id"
    )
    assert [tuple(row.values())[2] for row in found] == [Decimal(5), Decimal(6)]
    assert [row["destination"] == account("moved") for row in found] == [False, True]
    assert [row["run_id"] for row in found] == [first["run_id"], second["run_id"]]


@pytest.mark.parametrize(
    ("policy", "text", "expected"),
    [("none", None, ("none", None)), ("text", "Salary 06/26 é", ("text", "Salary 06/26 é"))],
)
def test_the_runs_memo_follows_the_schedules_policy(
    connection: Connection, policy: str, text: str | None, expected: tuple[str, str | None]
) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [Line(new_payee(connection, acme))], memo_policy=policy, memo_text=text)
    (opened,) = open_due(connection)
    run = run_row(connection, opened["run_id"])
    assert (run["memo_type"], run["memo_value"]) == expected


def test_by_default_the_runs_memo_is_a_hash_that_an_auditor_can_compute(connection: Connection) -> None:
    acme = new_organization(connection, "acme")
    schedule_id = new_schedule(connection, acme, [Line(new_payee(connection, acme))], anchor=date(2026, 6, 1))
    (opened,) = open_due(connection)
    run = run_row(connection, opened["run_id"])
    name = schedule_row(connection, schedule_id)["name"]
    expected = one(
        connection,
        "SELECT encode(sha256(convert_to(%s, 'UTF8')), 'hex')",
        f"paylock:run:acme/{name}/2026-06-01",
    )
    assert (run["memo_type"], run["memo_value"]) == ("hash", expected)


@pytest.mark.parametrize("due", [0, 1, 50])
def test_one_notification_for_each_call_that_opened_something(database: Database, due: int) -> None:
    with database.connect() as listener, database.connect() as connection:
        listener.execute("LISTEN payroll_work")
        with connection.transaction():
            acme = new_organization(connection)
            payee = new_payee(connection, acme)
            for _ in range(due):
                new_schedule(connection, acme, [Line(payee)])
        list(listener.notifies(timeout=0))
        connection.execute("SET ROLE payroll_pod")
        opened = connection.execute("SELECT FROM payroll.claim_due_schedules('p')").rowcount
        assert opened == due
        # Once this own notification is there, all earlier ones are.
        connection.execute("SELECT pg_notify('payroll_work', 'last')")
        heard = []
        for notification in listener.notifies(timeout=30):
            if notification.payload == "last":
                break
            heard.append((notification.channel, notification.payload))
    assert heard == ([("payroll_work", "")] if due else [])


def test_sessions_that_open_at_once_open_each_run_once(database: Database) -> None:
    """All interleavings are in tests/isolation; here three real sessions race over 300 schedules."""
    with database.connect() as setup, setup.transaction():
        acme = new_organization(setup)
        lines = [Line(new_payee(setup, acme)) for _ in range(3)]
        anchor = datetime.now(UTC).date() - timedelta(days=15)
        for _ in range(300):
            new_schedule(setup, acme, lines, rule="FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU", anchor=anchor)

    def work(pod: str) -> list[int]:
        with database.connect("payroll_pod") as session:
            found = []
            while more := session.execute(
                "SELECT run_id FROM payroll.claim_due_schedules(%s)", (pod,)
            ).fetchall():
                found += [row[0] for row in more]
            return found

    with ThreadPoolExecutor(3) as sessions:
        opened = [run for part in sessions.map(work, ["p1", "p2", "p3"]) for run in part]
    with database.connect() as judge:
        # A session stops when it finds nothing that is free: the last one may have left something behind.
        judge.execute("SET ROLE payroll_pod")
        while more := judge.execute("SELECT run_id FROM payroll.claim_due_schedules('p4')").fetchall():
            opened += [row[0] for row in more]
        judge.execute("RESET ROLE")
        runs = one(judge, "SELECT array_agg(run_id) FROM payroll.pay_run")
        per_schedule = rows(judge, "SELECT count(*) AS n FROM payroll.pay_run GROUP BY schedule_id")
        assert one(judge, "SELECT count(*) FROM payroll.payment") == 3 * len(runs)
    assert sorted(opened) == sorted(runs)
    assert {row["n"] for row in per_schedule} <= {15, 16}
    assert len(per_schedule) == 300


def test_a_schedule_that_another_session_holds_is_left_to_it_without_waiting(database: Database) -> None:
    with database.connect() as setup, setup.transaction():
        acme = new_organization(setup)
        lines = [Line(new_payee(setup, acme))]
        held, free = new_schedule(setup, acme, lines), new_schedule(setup, acme, lines)
    with database.connect(autocommit=False) as holder, database.connect("payroll_pod") as session:
        holder.execute("SELECT FROM payroll.pay_schedule WHERE schedule_id = %s FOR UPDATE", (held,))
        session.execute("SET lock_timeout = '60s'")
        opened = session.execute("SELECT schedule_id FROM payroll.claim_due_schedules('p')").fetchall()
        assert opened == [(free,)]
        holder.rollback()
        opened = session.execute("SELECT schedule_id FROM payroll.claim_due_schedules('p')").fetchall()
        assert opened == [(held,)]


def test_the_run_and_the_next_date_stand_or_fall_together(connection: Connection) -> None:
    acme = new_organization(connection)
    new_schedule(connection, acme, [Line(new_payee(connection, acme))])
    with connection.transaction(force_rollback=True):
        assert len(open_due(connection)) == 1
    assert one(connection, "SELECT count(*) FROM payroll.pay_run") == 0
    assert len(open_due(connection)) == 1


def test_a_zone_that_the_server_forgot_stops_its_own_schedule_only(connection: Connection) -> None:
    acme = new_organization(connection)
    payee = new_payee(connection, acme)
    lost = new_schedule(connection, acme, [Line(payee)])
    kept = new_schedule(connection, acme, [Line(payee)])
    connection.execute(
        "UPDATE payroll.pay_schedule SET time_zone = 'Atlantis/Capital' WHERE schedule_id = %s", (lost,)
    )
    assert [opened["schedule_id"] for opened in open_due(connection)] == [kept]
    row = schedule_row(connection, lost)
    assert row["state"] == "paused"
    assert "Atlantis/Capital" in row["state_reason"]
    assert open_due(connection) == []
