"""How fast claim_due_schedules opens runs, against a raw bulk INSERT … SELECT of the same rows.

The raw insert writes the very rows that the function wrote, prepared in two tables, into the same two tables
with the same constraints and indexes, in transactions of the same size. Both take turns on fresh copies of one
database.

    python -m bench.open_runs [--schedules 10000] [--lines 5] [--rounds 5] [--sessions 1 2 4]
"""

import argparse
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from bench.figures import Figure, Report, show
from bench.population import Population, fill
from bench.server import bench_server, copy_of, installed_database, settle_down, version_of
from tests.database_server import Database, Server

RUNS_PER_CALL = 200  # as many as claim_due_schedules opens

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
    SELECT run_id, organization_id, schedule_id, nominal_date, pay_at, funding_account_id, memo_type, memo_value,
           state, pending_count, next_serve_at, opened_at, opened_by
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


@dataclass(frozen=True, slots=True)
class Pace:
    """What several sessions did together, from the first start to the last end."""

    seconds: float
    runs: int
    payments: int


class OpenedTwice(Exception):
    """Two runs of one schedule's date, or a payment too many: the claim is broken."""


def run(server: Server, *, schedules: int, lines: int, rounds: int, sessions: tuple[int, ...]) -> Report:
    """Measures; raises OpenedTwice if a run or a payment was not written exactly once."""
    population = Population(schedules=schedules, lines=lines, payees=schedules * lines)
    figures: list[Figure] = []
    with installed_database(server) as original:
        fill(original, population)
        settle_down(original)
        claim_all(original, 1)
        with original.connect() as connection:
            connection.execute(KEEP_ROWS)
        settle_down(original)
        for count in sessions:
            claimed: list[Pace] = []
            raw: list[Pace] = []
            for _ in range(rounds):
                for measure, paces in ((claim_all, claimed), (insert_all, raw)):
                    with copy_of(original) as copy:
                        settle_down(copy)
                        paces.append(measure(copy, count))
                        check(copy, schedules, lines)
            figures += figures_of(count, claimed, raw)
        return Report("open_runs", "python -m bench.open_runs", version_of(server), tuple(figures))


def figures_of(sessions: int, claimed: list[Pace], raw: list[Pace]) -> list[Figure]:
    """The median pace, and the median of the ratios of neighbours."""
    share = median(b.seconds / a.seconds for a, b in zip(claimed, raw, strict=True))
    seconds = median(pace.seconds for pace in claimed)
    name = f"{sessions} session{'s' if sessions > 1 else ''}"
    return [
        Figure(f"{name}: schedules opened", claimed[0].runs / seconds, "1/s"),
        Figure(f"{name}: payments opened", claimed[0].payments / seconds, "1/s"),
        Figure(f"{name}: share of the raw insert's pace", share, "", 0.6, at_most=False),
    ]


def claim_all(database: Database, sessions: int) -> Pace:
    """Every session calls claim_due_schedules until it returns nothing."""

    def work(number: int) -> tuple[int, int]:
        runs = payments = 0
        with database.connect("payroll_pod") as connection:
            start.wait()
            while True:
                row = connection.execute(
                    "SELECT count(*), coalesce(sum(payments), 0) FROM payroll.claim_due_schedules(%s)",
                    (f"bench:{number}",),
                ).fetchone()
                assert row is not None
                if row[0] == 0:
                    return runs, payments
                runs += row[0]
                payments += row[1]

    start = threading.Barrier(sessions + 1)
    return together(work, sessions, start)


def insert_all(database: Database, sessions: int) -> Pace:
    """The sessions insert the kept rows, chunk by chunk in turn."""

    def work(number: int) -> tuple[int, int]:
        runs = payments = 0
        with database.connect() as connection:
            row = connection.execute("SELECT count(*) FROM bench.run").fetchone()
            assert row is not None
            start.wait()
            for first in range(number * RUNS_PER_CALL, row[0], sessions * RUNS_PER_CALL):
                chunk = {"first": first, "last": first + RUNS_PER_CALL}
                with connection.transaction():
                    runs += connection.execute(RAW_RUNS, chunk, prepare=True).rowcount
                    payments += connection.execute(RAW_PAYMENTS, chunk, prepare=True).rowcount
        return runs, payments

    start = threading.Barrier(sessions + 1)
    return together(work, sessions, start)


def together(work: Callable[[int], tuple[int, int]], sessions: int, start: threading.Barrier) -> Pace:
    """Runs `work` in one thread for each session; the clock runs from the moment when all are connected."""
    with ThreadPoolExecutor(sessions) as pool:
        futures = [pool.submit(work, number) for number in range(sessions)]
        start.wait()
        began = time.perf_counter()
        done = [future.result() for future in futures]
        seconds = time.perf_counter() - began
    return Pace(seconds, sum(runs for runs, _ in done), sum(payments for _, payments in done))


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
