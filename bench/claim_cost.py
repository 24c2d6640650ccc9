"""What a claim costs in a small database, in a large one, and in a large one with a backlog.

small: 10,000 schedules, as many old payments, 2,000 runs to pay. large: 1,000,000 schedules, 1,000,000 old
payments, 2,000 runs to pay. backlog: the large one with 100,000 runs to pay. The calls take turns.
claim_due_schedules finds 10 due schedules in each call; claim_payments takes a batch of 5 payments, which is
given back untimed. Neither reads nor commits wait for the disk, whose noise would hide the difference: the
databases are in shared_buffers (3 GB are used), and synchronous_commit is off.

    python -m bench.claim_cost [--calls 800] [--schedules 1000000] [--payments 1000000] [--backlog 100000]
"""

import argparse
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import psycopg

from bench.figures import Figure, Report, percentile, show
from bench.population import PASSPHRASE, Population, add_backlog, add_history, fill
from bench.server import bench_server, copy_of, migrated_database, settle_down, version_of, warm_up
from tests.database_server import Database, Server

SMALL = 10_000
DUE_PER_CALL = 10
LIVE_RUNS = 2_000  # more than calls: each call serves a run that no other has touched
POD = "bench:1"

# Makes schedules due that were planned for a far day; their nominal dates stay.
MAKE_DUE = """
    UPDATE payroll.pay_schedule
    SET next_pay_at = now() - interval '1 second', next_open_at = now() - interval '1 second'
    WHERE schedule_id = ANY (%s)
"""


@dataclass(slots=True)
class Subject:
    """One database with the times (seconds) of the calls made in it."""

    name: str
    connection: psycopg.Connection
    schedules: int
    opened: list[float] = field(default_factory=list)
    claimed: list[float] = field(default_factory=list)


class ClaimWentWrong(Exception):
    """A call returned another number of rows than the benchmark had prepared."""


def run(server: Server, *, calls: int, schedules: int, payments: int, backlog: int) -> Report:
    """Loads the databases (a minute or two), then measures."""
    if calls * DUE_PER_CALL > SMALL:
        raise ValueError(f"at most {SMALL // DUE_PER_CALL} calls: each schedule is opened once")
    with ExitStack() as stack:
        small = stack.enter_context(migrated_database(server))
        load(small, SMALL, SMALL, LIVE_RUNS)
        large = stack.enter_context(migrated_database(server))
        load(large, schedules, payments, LIVE_RUNS)
        crowded = stack.enter_context(copy_of(large))
        add_backlog(crowded, backlog, lines=5, days_back=1000)
        settle_down(crowded)
        subjects = [
            Subject("small", stack.enter_context(small.connect()), SMALL),
            Subject("large", stack.enter_context(large.connect()), schedules),
            Subject("backlog", stack.enter_context(crowded.connect()), schedules),
        ]
        for database in (small, large, crowded):
            warm_up(database)
        measure(subjects, calls)
    return Report("claim_cost", "python -m bench.claim_cost", version_of(server), figures_of(subjects))


def load(database: Database, schedules: int, payments: int, live_runs: int) -> None:
    fill(database, Population(schedules=schedules, lines=2, payees=min(schedules, 100_000), due=False))
    add_history(database, payments)
    add_backlog(database, live_runs, lines=5)
    settle_down(database)


def measure(subjects: list[Subject], calls: int) -> None:
    dice = random.Random(1)
    for subject in subjects:
        subject.connection.execute("SET synchronous_commit = off")
        subject.connection.execute("SELECT payroll.start_pod(%s, %s, 3600)", (POD, PASSPHRASE))
    warm_up = 20
    for number in range(warm_up + calls):
        for subject in dice.sample(subjects, len(subjects)):
            seconds = claim_payments(subject.connection)
            if number >= warm_up:
                subject.claimed.append(seconds)
    chosen = {s.name: dice.sample(range(1, s.schedules + 1), calls * DUE_PER_CALL) for s in subjects}
    for number in range(calls):
        for subject in dice.sample(subjects, len(subjects)):
            due = chosen[subject.name][number * DUE_PER_CALL : (number + 1) * DUE_PER_CALL]
            seconds = open_due(subject.connection, due)
            if number >= warm_up:
                subject.opened.append(seconds)


def claim_payments(connection: psycopg.Connection) -> float:
    """Times one call, then gives the batch back."""
    began = time.perf_counter()
    rows = connection.execute("SELECT * FROM payroll.claim_payments(%s)", (POD,)).fetchall()
    seconds = time.perf_counter() - began
    if len(rows) != 1 or len(rows[0][10]) != 5:
        raise ClaimWentWrong(f"claim_payments returned {rows}")
    connection.execute("SELECT payroll.release_batch(%s, %s)", rows[0][:2])
    return seconds


def open_due(connection: psycopg.Connection, schedules: list[int]) -> float:
    """Makes the schedules due, then times the call that opens them."""
    connection.execute(MAKE_DUE, (schedules,))
    began = time.perf_counter()
    rows = connection.execute("SELECT * FROM payroll.claim_due_schedules(%s)", (POD,)).fetchall()
    seconds = time.perf_counter() - began
    if sorted(row[2] for row in rows) != sorted(schedules):
        raise ClaimWentWrong(f"claim_due_schedules opened {rows}")
    return seconds


def figures_of(subjects: list[Subject]) -> tuple[Figure, ...]:
    """Milliseconds, and how many times as long as in the small database."""
    figures = []
    for function in ("claim_due_schedules", "claim_payments"):
        for share in (0.5, 0.99):
            base = 0.0
            for subject in subjects:
                times = subject.opened if function == "claim_due_schedules" else subject.claimed
                value = percentile(times, share)
                base = base or value
                name = f"{function} p{share * 100:g}, {subject.name}"
                figures.append(Figure(name, value * 1000, "ms"))
                if subject is not subjects[0]:
                    figures.append(Figure(f"{name} / {subjects[0].name}", value / base, "", 1.2))
    return tuple(figures)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Cost of a claim against the size of the database.")
    parser.add_argument(
        "--calls", type=int, default=800, help="of each function in each database (default 800)"
    )
    parser.add_argument("--schedules", type=int, default=1_000_000, help="in the large database")
    parser.add_argument("--payments", type=int, default=1_000_000, help="old ones in the large database")
    parser.add_argument("--backlog", type=int, default=100_000, help="runs to pay in the third database")
    options = parser.parse_args(arguments)
    with bench_server(shared_buffers="4GB") as server:
        show(
            run(
                server,
                calls=options.calls,
                schedules=options.schedules,
                payments=options.payments,
                backlog=options.backlog,
            )
        )


if __name__ == "__main__":
    main()
