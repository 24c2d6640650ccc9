"""The plans of the hot functions, read from EXPLAIN while the functions run.

auto_explain shows the plan of each statement inside a function, so what is tested is the shipped text.
Generic plans are forced: a pod's session has them after a few calls, and with them a partial index is lost
when its predicate stands in the query as a parameter.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.errors import Diagnostic

from bench.population import PASSPHRASE, Population, add_backlog, add_history, fill
from bench.server import bulk_connection
from paylock.sql_files import read_tree
from tests.database_server import Database, Server, empty_database

BIG_TABLES = {
    *("pay_schedule", "schedule_line", "payee", "channel_account"),
    *("pay_run", "payment", "payment_batch", "batch_payment"),
}
SCHEDULES = 5_000
POD = "plans:1"
OLD_BATCHES = """
    WITH made AS (
        INSERT INTO payroll.payment_batch (
            organization_id, run_id, channel_id, slot, memo_type, state, claim_token, claimed_by, claimed_at
        )
        SELECT 1, run_id, 1, run_id, 'none', 'released', gen_random_uuid(), 'old', now() FROM payroll.pay_run
        RETURNING batch_id, run_id
    )
    INSERT INTO payroll.batch_payment (batch_id, payment_id, position, result)
    SELECT made.batch_id, p.payment_id, p.line, 'released'
    FROM made JOIN payroll.payment AS p ON p.run_id = made.run_id
"""


@dataclass(frozen=True, slots=True)
class Plans:
    """What the statements of one call used."""

    indexes: frozenset[str]
    scanned: frozenset[str]  # tables that were read as a whole


@pytest.fixture(scope="module")
def filled(postgres_server: Server, database_template: str) -> Iterator[Database]:
    """Enough rows that the planner has a reason to prefer an index."""
    with empty_database(postgres_server, database_template) as database:
        population = Population(
            schedules=SCHEDULES, lines=2, payees=SCHEDULES, organizations=10, channels=100, due=False
        )
        fill(database, population)
        add_history(database, 20_000)
        add_backlog(database, 200, lines=5)
        with bulk_connection(database) as connection:
            connection.execute(OLD_BATCHES)
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("SELECT payroll.start_pod(%s, %s, 3600)", (POD, PASSPHRASE))
        yield database


@pytest.fixture
def session(filled: Database) -> Iterator[psycopg.Connection]:
    """A superuser's session with auto_explain and generic plans; what it does is rolled back."""
    with filled.connect(autocommit=False) as connection:
        try:
            connection.execute("LOAD 'auto_explain'")
        except psycopg.errors.UndefinedFile:
            pytest.skip("left out for lack of auto_explain (contrib)")
        for name, value in (
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_nested_statements", "on"),
            ("auto_explain.log_format", "json"),
            ("auto_explain.log_level", "notice"),
            ("client_min_messages", "notice"),
            ("plan_cache_mode", "force_generic_plan"),
        ):
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        yield connection
        connection.rollback()


def plans_of(session: psycopg.Connection, query: str) -> Plans:
    """Runs the query, which must return a row, and gathers the plans of all statements inside it."""
    indexes: set[str] = set()
    scanned: set[str] = set()

    def visit(node: dict[str, Any]) -> None:
        if "Index Name" in node:
            indexes.add(node["Index Name"])
        if node["Node Type"] == "Seq Scan":
            scanned.add(node["Relation Name"])
        for child in node.get("Plans", ()):
            visit(child)

    def listen(message: Diagnostic) -> None:
        text = message.message_primary or ""
        if "plan:" in text:
            visit(json.loads(text.partition("plan:")[2])["Plan"])

    session.add_notice_handler(listen)
    rows = session.execute(query.encode()).fetchall()
    session.remove_notice_handler(listen)
    assert rows
    return Plans(frozenset(indexes), frozenset(scanned))


def make_due(session: psycopg.Connection, schedules: int) -> None:
    session.execute(
        "UPDATE payroll.pay_schedule SET next_open_at = now() - interval '1 second' WHERE schedule_id <= %s",
        (schedules,),
    )


def test_claim_due_schedules_finds_due_schedules_by_their_partial_index(session: psycopg.Connection) -> None:
    make_due(session, 10)
    plans = plans_of(session, f"SELECT * FROM payroll.claim_due_schedules('{POD}')")
    assert "pay_schedule_due" in plans.indexes
    assert not plans.scanned & BIG_TABLES


def test_claim_due_schedules_reads_no_table_as_a_whole_when_a_call_is_full(
    session: psycopg.Connection,
) -> None:
    make_due(session, 1000)
    plans = plans_of(session, f"SELECT * FROM payroll.claim_due_schedules('{POD}')")
    assert "pay_schedule_due" in plans.indexes
    assert not plans.scanned & BIG_TABLES


def test_claim_payments_finds_run_payments_and_channel_by_their_partial_indexes(
    session: psycopg.Connection,
) -> None:
    plans = plans_of(session, f"SELECT * FROM payroll.claim_payments('{POD}')")
    assert {"pay_run_payable", "payment_pending", "channel_account_idle"} <= plans.indexes
    assert not plans.scanned & BIG_TABLES


def test_next_due_at_reads_two_partial_indexes(session: psycopg.Connection) -> None:
    plans = plans_of(session, "SELECT * FROM payroll.next_due_at()")
    assert {"pay_schedule_due", "pay_run_payable"} <= plans.indexes
    assert not plans.scanned & BIG_TABLES


def test_a_predicate_that_is_a_variable_loses_the_index_and_is_noticed(session: psycopg.Connection) -> None:
    """Shows that the tests above would fail for the mistake that they are there for."""
    (shipped,) = (f.text for f in read_tree().functions if f.name == "functions/claim_due_schedules.sql")
    mistaken = shipped.replace("WHERE s.state = 'active'", "WHERE s.state = wanted").replace(
        "DECLARE\n", "DECLARE\n    wanted payroll.schedule_state := 'active';\n"
    )
    assert mistaken.count("wanted") == 2
    session.execute(mistaken.encode())
    make_due(session, 10)
    plans = plans_of(session, f"SELECT * FROM payroll.claim_due_schedules('{POD}')")
    assert "pay_schedule_due" not in plans.indexes
    assert "pay_schedule" in plans.scanned
