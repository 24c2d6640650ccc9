"""The plans of the hot statements, as they run inside the functions: by the partial indexes of live rows.

auto_explain reports the plan of each statement within a call. The tables hold a history that no plan may read
through, and plans are generic,
    as they become in a pod's long session: only a literal predicate lets a generic
plan use a partial index.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.database_server import Database, Server, empty_database
from tests.sql.payroll_rows import (
    POD,
    Connection,
    Line,
    call,
    claim,
    envelope,
    new_organization,
    new_payees,
    new_schedule,
    one,
    open_run,
    record,
    report,
    start_pods,
)

PAST = 8_000  # rows of history, and of schedules that are not due

# Tables that grow: with history, with payees, or with schedules.
GROWING = {
    "pay_schedule", "schedule_line", "payee", "pay_run", "payment", "payment_batch", "batch_payment",
    "envelope",
    "audit_event",
}  # fmt: skip

Node = dict[str, Any]


@pytest.fixture(scope="module")
def aged_database(postgres_server: Server, database_template: str) -> Iterator[Database]:
    """A database with a long past, many schedules that wait, and a little that is due."""
    with empty_database(postgres_server, database_template) as database:
        with database.connect() as connection, connection.transaction():
            start_pods(connection, POD)
            acme = new_organization(connection, "acme", channels=20)
            payees = new_payees(connection, acme, 300)
            waiting = new_schedule(connection, acme, [], rule="FREQ=WEEKLY;BYDAY=MO")
            _make_history(connection, waiting)
            connection.execute(
                "INSERT INTO payroll.schedule_line (organization_id, schedule_id, payee_id, amount)"
                " SELECT s.organization_id, s.schedule_id, %s, 1 FROM payroll.pay_schedule AS s"
                " WHERE s.schedule_id <> %s",
                (payees[0], waiting),
            )
            for _ in range(30):
                new_schedule(connection, acme, [Line(payee) for payee in payees[:5]])
        with database.connect() as connection:
            connection.execute("VACUUM ANALYZE")
        yield database


def _make_history(connection: Connection, schedule_id: int) -> None:
    """Rows of the past, straight into the tables; they fit together by construction."""
    connection.execute("SET LOCAL session_replication_role = replica")
    for statement in (
        "UPDATE payroll.channel_account SET sequence = sequence + 1000000",
        # Half of them wait for their date, half have ended.
        """
        INSERT INTO payroll.pay_schedule (
            organization_id, name, funding_account_id, state, rule, recurrence_frequency, recurrence_every,
            recurrence_week_days, recurrence_skip, anchor, pay_time, time_zone, next_nominal_date,
                next_pay_at,
            next_open_at, created_at, changed_at)
        SELECT organization_id, 'past-' || n, funding_account_id,
               (CASE n %% 2 WHEN 0 THEN 'active' ELSE 'ended' END)::payroll.schedule_state, rule,
               recurrence_frequency, recurrence_every, recurrence_week_days, recurrence_skip, anchor,
                   pay_time,
               time_zone, CASE n %% 2 WHEN 0 THEN DATE '2100-01-01' END,
                   CASE n %% 2 WHEN 0 THEN DATE '2100-01-01' END,
               CASE n %% 2 WHEN 0 THEN DATE '2100-01-01' END, created_at, changed_at
        FROM payroll.pay_schedule, generate_series(1, %(past)s) AS n WHERE schedule_id = %(schedule)s
        """,
        """
        INSERT INTO payroll.pay_run (
            organization_id, schedule_id, nominal_date, pay_at, funding_account_id, memo_type, state,
                paid_count,
            next_serve_at, opened_at, opened_by)
        SELECT organization_id, schedule_id, DATE '1900-01-01' + n, 'epoch', funding_account_id, 'none',
            'paid', 1,
               'epoch', 'epoch', 'past'
        FROM payroll.pay_schedule, generate_series(1, %(past)s) AS n WHERE schedule_id = %(schedule)s
        """,
        """
        INSERT INTO payroll.payment (
            organization_id, run_id, payee_id, line, destination, memo_type, amount, state)
        SELECT r.organization_id, r.run_id, p.payee_id, 1, p.destination, 'none', 1, 'paid'
        FROM payroll.pay_run AS r, (SELECT * FROM payroll.payee LIMIT 1) AS p
        """,
        """
        INSERT INTO payroll.payment_batch (
            organization_id, run_id, channel_id, slot, memo_type, state, claim_token, claimed_by, claimed_at,
            settled_hash, settled_ledger, settled_code, settled_at)
        SELECT r.organization_id, r.run_id, 1, row_number() OVER (), 'none', 'succeeded',
            gen_random_uuid(), 'past',
               'epoch', sha256(r.run_id::text::bytea), 1, 'tx_success', 'epoch'
        FROM payroll.pay_run AS r
        """,
        """
        INSERT INTO payroll.batch_payment (batch_id, payment_id, position, result)
        SELECT b.batch_id, p.payment_id, 1, 'paid'
        FROM payroll.payment_batch AS b JOIN payroll.payment AS p ON p.run_id = b.run_id
        """,
        """
        INSERT INTO payroll.envelope (
            organization_id, batch_id, slot, inner_hash, envelope_xdr, fee_bid, valid_until, as_of_ledger,
            recorded_by, recorded_at)
        SELECT b.organization_id, b.batch_id, b.slot, b.settled_hash, 'AAAA', 100, 'epoch', 1, 'past', 'epoch'
        FROM payroll.payment_batch AS b
        """,
    ):
        connection.execute(statement, {"past": PAST, "schedule": schedule_id})
    connection.execute("SET LOCAL session_replication_role = origin")


@pytest.fixture
def aged(aged_database: Database) -> Iterator[psycopg.Connection[TupleRow]]:
    """The superuser's connection in a transaction that is rolled back; its plans are generic."""
    with aged_database.connect(autocommit=False) as connection:
        try:
            connection.execute("LOAD 'auto_explain'")
        except psycopg.errors.UndefinedFile:
            pytest.skip("this PostgreSQL has no auto_explain")
        connection.execute(
            "SET plan_cache_mode = force_generic_plan; SET auto_explain.log_nested_statements = on;"
            " SET auto_explain.log_analyze = on; SET auto_explain.log_timing = off;"
            " SET auto_explain.log_format = json; SET auto_explain.log_level = notice"
        )
        yield connection
        connection.rollback()


def nodes_of(connection: Connection, function: str, **arguments: Any) -> list[Node]:
    """All plan nodes of all statements that ran within one call of the function."""
    plans: list[Node] = []

    def collect(notice: psycopg.errors.Diagnostic) -> None:
        _, found, text = (notice.message_primary or "").partition("plan:\n")
        if found:
            plans.append(json.loads(text)["Plan"])

    connection.add_notice_handler(collect)
    connection.execute("SET LOCAL auto_explain.log_min_duration = 0")
    try:
        call(connection, function, **arguments)
    finally:
        connection.execute("SET LOCAL auto_explain.log_min_duration = -1")
        connection.remove_notice_handler(collect)
    assert plans
    return [node for plan in plans for node in _flat(plan)]


def _flat(plan: Node) -> Iterator[Node]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _flat(child)


def indexes(nodes: list[Node]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def assert_bounded(nodes: list[Node], most_rows: int) -> None:
    """No growing table is read through, and no index delivers more rows than the call is about."""
    for node in nodes:
        if node["Node Type"] == "Seq Scan":
            assert node["Relation Name"] not in GROWING, node
        if "Index Name" in node:
            rows = node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0)
            assert rows <= most_rows, node


def test_opening_runs_reads_the_index_of_due_schedules(aged: Connection) -> None:
    nodes = nodes_of(aged, "claim_due_schedules", pod=POD)
    assert "pay_schedule_due" in indexes(nodes)
    assert_bounded(nodes, most_rows=400)
    (scan,) = (node for node in nodes if node.get("Index Name") == "pay_schedule_due")
    assert scan["Actual Rows"] == 31


def test_opening_nothing_reads_next_to_nothing(aged: Connection) -> None:
    while call(aged, "claim_due_schedules", pod=POD):
        pass
    nodes = nodes_of(aged, "claim_due_schedules", pod=POD)
    assert indexes(nodes) == {"pay_schedule_due"}
    assert_bounded(nodes, most_rows=0)


def test_claiming_payments_reads_the_indexes_of_payable_runs_idle_channels_and_pending_payments(
    aged: Connection,
) -> None:
    open_run(aged, new_organization(aged, "other", channels=3), payees=250)
    nodes = nodes_of(aged, "claim_payments", pod=POD)
    assert {"pay_run_payable", "payment_pending"} <= indexes(nodes)
    assert_bounded(nodes, most_rows=110)


def test_claiming_nothing_reads_next_to_nothing(aged: Connection) -> None:
    nodes = nodes_of(aged, "claim_payments", pod=POD)
    assert indexes(nodes) <= {"pay_run_payable", "channel_account_idle", "pod_pkey", "organization_pkey"}
    assert_bounded(nodes, most_rows=5)


@pytest.mark.parametrize("analyzed", [False, True])
def test_the_backlog_of_one_organization_costs_another_nothing(aged: Connection, analyzed: bool) -> None:
    """Thousands of runs of one organization wait; another's only run is found without reading them."""
    aged.execute("SET LOCAL session_replication_role = replica")
    aged.execute(
        "INSERT INTO payroll.pay_run (organization_id, schedule_id, nominal_date, pay_at, funding_account_id,"
        " memo_type, state, pending_count, next_serve_at, opened_at, opened_by)"
        " SELECT organization_id, schedule_id, DATE '2200-01-01' + n, 'epoch', funding_account_id, 'none',"
        " 'approved', 1, 'epoch', 'epoch', 'past' FROM payroll.pay_schedule, generate_series(1, 5000) AS n"
        " WHERE name = (SELECT min(name) FROM payroll.pay_schedule WHERE state = 'active')"
    )
    aged.execute("SET LOCAL session_replication_role = origin")
    if analyzed:
        aged.execute("ANALYZE payroll.pay_run")
    aged.execute("UPDATE payroll.organization SET last_served_at = now()")
    run_id, _ = open_run(aged, new_organization(aged, "other", channels=3), payees=3)
    nodes = nodes_of(aged, "claim_payments", pod=POD)
    assert one(aged, "SELECT run_id FROM payroll.payment_batch ORDER BY batch_id DESC LIMIT 1") == run_id
    assert "pay_run_payable" in indexes(nodes)
    assert_bounded(nodes, most_rows=110)
    assert_bounded(nodes_of(aged, "next_due_at"), most_rows=10)


def test_signing_and_settling_read_their_own_batch_only(aged: Connection) -> None:
    open_run(aged, new_organization(aged, "other"), payees=100)
    batch = claim(aged)
    nodes = nodes_of(aged, "record_envelope", **envelope(batch))
    assert_bounded(nodes, most_rows=2)
    nodes = nodes_of(aged, "settle_batch", **report(batch))
    assert_bounded(nodes, most_rows=200)


def test_looking_for_abandoned_batches_reads_the_index_of_live_ones(aged: Connection) -> None:
    open_run(aged, new_organization(aged, "other", channels=3), payees=250)
    for _ in range(3):
        record(aged, claim(aged))
    nodes = nodes_of(aged, "claim_abandoned_batches", pod=POD, tracked=[])
    assert "payment_batch_live" in indexes(nodes)
    assert_bounded(nodes, most_rows=10)


def test_planning_reads_the_first_rows_of_two_indexes(aged: Connection) -> None:
    nodes = nodes_of(aged, "next_due_at")
    assert indexes(nodes) == {"pay_schedule_due", "pay_run_payable"}
    assert_bounded(nodes, most_rows=1)


def test_the_summary_reads_live_rows_only(aged: Connection) -> None:
    assert_bounded(nodes_of(aged, "work_summary"), most_rows=100)
