"""How fast claim_due_schedules opens runs, against a raw bulk INSERT … SELECT of the same rows.

The raw insert writes the very rows that the function wrote, prepared in two tables, into the same two tables
with the same constraints and indexes, in transactions of the same size. Both work on fresh copies of one
database, in short turns.

    python -m bench.open_runs [--schedules 10000] [--lines 5] [--rounds 5] [--sessions 1 2 4]
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import psycopg

from bench.figures import Figure, Report, show
from bench.population import Population, fill
from bench.server import bench_server, copy_of, installed_database, settle_down, version_of
from tests.database_server import Database, Server

RUNS_PER_CALL = 200  # as many as claim_due_schedules opens
CALLS_PER_PHASE = 2

KEEP_ROWS = """
    CREATE SCHEMA bench;
    CREATE TABLE bench.run AS
        SELECT row_number() OVER (ORDER BY run_id) AS place, * FROM payroll.pay_run;
    CREATE INDEX ON bench.run (place);
    CREATE TABLE bench.payment AS
        SELECT r.place, p.*
        FROM payroll.payment AS p JOIN bench.run AS r ON r.run_id = p.run_id
        ORDER BY p.payment_id;
    CREATE INDEX ON bench.payment (place);
    SET session_replication_role = replica;
    TRUNCATE payroll.payment, payroll.pay_run, payroll.payment_batch, payroll.batch_payment, payroll.envelope;
    UPDATE payroll.pay_schedule SET
        state = 'active', state_reason = NULL, next_nominal_date = anchor,
        next_pay_at = payroll.pay_instant(anchor, pay_time, time_zone),
        next_open_at = payroll.pay_instant(anchor, pay_time, time_zone);
    REINDEX TABLE payroll.pay_schedule
"""
RAW_RUNS = """
    INSERT INTO payroll.pay_run (
        run_id, organization_id, schedule_id, nominal_date, pay_at, funding_account_id, memo_type, memo_value,
        state, pending_count, next_serve_at, opened_at, opened_by
    )
    OVERRIDING SYSTEM VALUE
    SELECT run_id, organization_id, schedule_id, nominal_date, pay_at, funding_account_id, memo_type,
           memo_value, state, pending_count, next_serve_at, opened_at, opened_by
    FROM bench.run WHERE place > %(first)s AND place <= %(last)s
"""
RAW_PAYMENTS = """
    INSERT INTO payroll.payment (
        organization_id, run_id, payee_id, line, destination, memo_type, memo_value,
        asset_code, asset_issuer, amount
    )
    SELECT organization_id, run_id, payee_id, line, destination, memo_type, memo_value,
           asset_code, asset_issuer, amount
    FROM bench.payment WHERE place > %(first)s AND place <= %(last)s
"""


Done = tuple[int, int]  # runs and payments


@dataclass(slots=True)
class Pace:
    """What all sessions of one kind did together, phase by phase."""

    seconds: float = 0
    runs: int = 0
    payments: int = 0


class OpenedTwice(Exception):
    """Two runs of one schedule's date, or a payment too many: the claim is broken."""


def run(server: Server, *, schedules: int, lines: int, rounds: int, sessions: tuple[int, ...]) -> Report:
    """Measures; raises OpenedTwice if a run or a payment was not written exactly once."""
    figures: list[Figure] = []
    with installed_database(server) as original:
        fill(original, Population(schedules=schedules, lines=lines, payees=schedules * lines))
        settle_down(original)
        with original.connect("payroll_pod") as connection:
            while claim(connection)() != (0, 0):
                pass
        with original.connect() as connection:
            connection.execute(KEEP_ROWS)
        settle_down(original)
        for count in sessions:
            paces = []
            for _ in range(rounds):
                with copy_of(original) as claimed, copy_of(original) as raw:
                    settle_down(claimed)
                    settle_down(raw)
                    paces.append(alternate(claimed, raw, count))
                    check(claimed, schedules, lines)
                    check(raw, schedules, lines)
            figures += figures_of(count, paces)
    return Report("open_runs", "python -m bench.open_runs", version_of(server), tuple(figures))


def figures_of(sessions: int, paces: list[tuple[Pace, Pace]]) -> list[Figure]:
    """Medians over the rounds."""
    share = median(raw.seconds / claimed.seconds for claimed, raw in paces)
    seconds = median(claimed.seconds for claimed, _ in paces)
    done = paces[0][0]
    name = f"{sessions} session{'s' if sessions > 1 else ''}"
    return [
        Figure(f"{name}: schedules opened", done.runs / seconds, "1/s"),
        Figure(f"{name}: payments opened", done.payments / seconds, "1/s"),
        Figure(f"{name}: share of the raw insert's pace", share, "", 0.6, at_most=False),
    ]


def alternate(claimed: Database, raw: Database, sessions: int) -> tuple[Pace, Pace]:
    """All sessions claim, all sessions insert, and so on, CALLS_PER_PHASE calls each, until no rows are left.

    So whatever else the machine does meanwhile falls on both.
    """
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(sessions))
        claimers = [claim(stack.enter_context(claimed.connect("payroll_pod"))) for _ in range(sessions)]
        connections = [stack.enter_context(raw.connect()) for _ in range(sessions)]
        row = connections[0].execute("SELECT count(*) FROM bench.run").fetchone()
        assert row is not None
        chunks = iter(range(0, row[0], RUNS_PER_CALL))
        inserters = [insert(connection, chunks) for connection in connections]
        paces = (Pace(), Pace())
        while work(pool, claimers, paces[0]) | work(pool, inserters, paces[1]):
            pass
    return paces


def claim(connection: psycopg.Connection) -> Callable[[], Done]:
    def call() -> Done:
        row = connection.execute(
            "SELECT count(*), coalesce(sum(payments), 0) FROM payroll.claim_due_schedules('bench')"
        ).fetchone()
        assert row is not None
        return row[0], row[1]

    return call


def insert(connection: psycopg.Connection, chunks: Iterator[int]) -> Callable[[], Done]:
    def call() -> Done:
        first = next(chunks, None)
        if first is None:
            return 0, 0
        chunk = {"first": first, "last": first + RUNS_PER_CALL}
        with connection.transaction():
            return (
                connection.execute(RAW_RUNS, chunk, prepare=True).rowcount,
                connection.execute(RAW_PAYMENTS, chunk, prepare=True).rowcount,
            )

    return call


def work(pool: ThreadPoolExecutor, calls: list[Callable[[], Done]], pace: Pace) -> bool:
    """One phase: every session makes its calls. False when there was nothing left to do."""

    def phase(call: Callable[[], Done]) -> list[Done]:
        return [call() for _ in range(CALLS_PER_PHASE)]

    began = time.perf_counter()
    done = [one for made in pool.map(phase, calls) for one in made]
    seconds = time.perf_counter() - began
    if not any(runs for runs, _ in done):
        return False
    pace.seconds += seconds
    pace.runs += sum(runs for runs, _ in done)
    pace.payments += sum(payments for _, payments in done)
    return True


def check(database: Database, schedules: int, lines: int) -> None:
    """Every due date has one run with all its payments."""
    with database.connect() as connection:
        found = connection.execute(
            """
            SELECT (SELECT count(*) FROM payroll.pay_run),
                   (SELECT count(DISTINCT (schedule_id, nominal_date)) FROM payroll.pay_run),
                   (SELECT count(*) FROM payroll.payment),
                   (SELECT count(DISTINCT (run_id, payee_id, line)) FROM payroll.payment)
            """
        ).fetchone()
    if found != (schedules, schedules, schedules * lines, schedules * lines):
        raise OpenedTwice(f"runs, distinct runs, payments, distinct payments: {found}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Pace of claim_due_schedules against a raw insert.")
    parser.add_argument("--schedules", type=int, default=10_000, help="all due at once (default 10000)")
    parser.add_argument("--lines", type=int, default=5, help="payments of a schedule (default 5)")
    parser.add_argument("--rounds", type=int, default=5, help="repetitions, alternating (default 5)")
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args(arguments)
    with bench_server() as server:
        show(
            run(
                server,
                schedules=options.schedules,
                lines=options.lines,
                rounds=options.rounds,
                sessions=tuple(options.sessions),
            )
        )


if __name__ == "__main__":
    main()
