"""How long from a schedule's due moment until the network has the envelope, while the pods are idle.

The schedules fall due one by one. The due moment is the schedule's; the arrival is read when the sandbox
takes the decoded transaction; both clocks are this machine's. The schedules and their payees are new to the
pods, so that each payee's account is asked for its memo rule first.

    python -m bench.due_to_submitted [--moments 100] [--payees 5] [--pods 2]
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import aiohttp

from bench.figures import Figure, Report, percentile, show
from bench.server import bench_server, installed_database, version_of
from sandbox.queue import Answer
from sandbox.server import Sandbox
from sandbox.transaction import Submission
from tests.database_server import Database, Server
from tests.support.company import Company, Pay, Town, add_schedule, company, key
from tests.support.pods import pod_environment, pod_process

PASSPHRASE = "Paylock benchmark network"
CLOSE_SECONDS = 1.0
SECONDS_BETWEEN = 0.45
STEPS = ("due to opening", "opening to claim", "claim to committed envelope", "committed to arrived")


class NotPaid(Exception):
    """A run's envelope did not reach the network."""


async def measure(database: Database, moments: int, payees: int, pods: int) -> list[tuple[float, ...]]:
    """The steps of each run, see _steps."""
    arrivals: dict[str, float] = {}
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(_network(arrivals))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        town = Town(session, network.url, PASSPHRASE)
        it = company("bench", channels=10)
        await town.open_company(it)
        await town.register(database, it)
        names = [f"schedule-{number}" for number in range(moments)]
        pays = {name: [Pay(f"p{i}", key(name, i).public_key) for i in range(payees)] for name in names}
        await town.fund({pay.destination: "5" for listed in pays.values() for pay in listed})
        environment = pod_environment(
            database, network.url, PASSPHRASE, it, poll_seconds="5", lease_seconds="30"
        )
        for _ in range(pods):
            pod = await stack.enter_async_context(pod_process(environment))
            await pod.logged("started")
        due = await asyncio.to_thread(_plan, database, it, pays)
        await asyncio.sleep((due[names[-1]] - datetime.now(UTC)).total_seconds())
        await _all_paid(database, moments)
    return _steps(database, arrivals)


@asynccontextmanager
async def _network(arrivals: dict[str, float]) -> AsyncIterator[Sandbox]:
    """A sandbox that notes when it first sees a transaction, by its memo."""
    async with Sandbox(PASSPHRASE, close_seconds=CLOSE_SECONDS) as network:
        submit = network.network.submit

        def noted(submission: Submission) -> Answer:
            value = submission.inner.memo.value
            if isinstance(value, bytes):
                arrivals.setdefault(value.hex(), time.time())
            return submit(submission)

        with patch.object(network.network, "submit", noted):
            yield network


def _plan(database: Database, it: Company, pays: dict[str, list[Pay]]) -> dict[str, datetime]:
    """Adds the schedules far away, then gives each its due moment at once."""
    far = timedelta(days=1)
    numbers = {name: add_schedule(database, it, listed, name=name, due=far) for name, listed in pays.items()}
    start = datetime.now(UTC) + timedelta(seconds=3)
    due = {name: start + timedelta(seconds=SECONDS_BETWEEN * place) for place, name in enumerate(pays)}
    with database.connect(autocommit=False) as connection:
        for name, moment in due.items():
            connection.execute(
                "UPDATE payroll.pay_schedule SET next_pay_at = %s, next_open_at = %s WHERE schedule_id = %s",
                (moment, moment, numbers[name]),
            )
        connection.execute("SELECT pg_notify('payroll_work', '')")
        connection.commit()
    return due


async def _all_paid(database: Database, moments: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        async with await database.connect_async() as connection:
            cursor = await connection.execute("SELECT count(*) FROM payroll.pay_run WHERE state = 'paid'")
            row = await cursor.fetchone()
        if row is not None and row[0] == moments:
            return
        await asyncio.sleep(0.2)
    raise NotPaid(f"only {row} of {moments} runs are paid")


def _steps(database: Database, arrivals: dict[str, float]) -> list[tuple[float, ...]]:
    """For each run, Unix seconds: due, opening begun, batch claimed, envelope committed, arrived."""
    with database.connect() as connection:
        rows = connection.execute(
            """
            SELECT r.memo_value, extract(epoch FROM r.pay_at)::float8,
                   extract(epoch FROM r.opened_at)::float8,
                   extract(epoch FROM b.claimed_at)::float8, extract(epoch FROM e.recorded_at)::float8
            FROM payroll.pay_run AS r
            JOIN payroll.payment_batch AS b USING (run_id)
            JOIN payroll.envelope AS e USING (batch_id)
            """
        ).fetchall()
    return [(*moments, arrivals[memo]) for memo, *moments in rows]


def run(server: Server, *, moments: int, payees: int, pods: int) -> Report:
    """Measures. Raises NotPaid."""
    with installed_database(server) as database:
        steps = asyncio.run(measure(database, moments, payees, pods))
    seconds = [times[-1] - times[0] for times in steps]
    figures = [
        Figure("due to submitted, p50", percentile(seconds, 0.5) * 1000, "ms"),
        Figure("due to submitted, p99", percentile(seconds, 0.99) * 1000, "ms", 100),
    ]
    for place, name in enumerate(STEPS):
        taken = [times[place + 1] - times[place] for times in steps]
        figures.append(Figure(f"{name}, p50", percentile(taken, 0.5) * 1000, "ms"))
    return Report("due_to_submitted", "python -m bench.due_to_submitted", version_of(server), tuple(figures))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="From the due moment to the network.")
    parser.add_argument("--moments", type=int, default=100, help="single due moments (default 100)")
    parser.add_argument("--payees", type=int, default=5, help="of each schedule (default 5)")
    parser.add_argument("--pods", type=int, default=2, help="pods that wait (default 2)")
    options = parser.parse_args(arguments)
    with bench_server() as server:
        show(run(server, moments=options.moments, payees=options.payees, pods=options.pods))


if __name__ == "__main__":
    main()
