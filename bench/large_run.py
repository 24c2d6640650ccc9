"""One pod pays 10,000 payees on the sandbox: ledgers, processor time and memory.

The sandbox is a process of its own with the public network's limits: a ledger takes 1,000 operations, and a
fee-bumped transaction counts one operation more than it has. So ten transactions of 99 payments fill a
ledger. The least possible is as many in every ledger from the first to the last. Afterwards the ledger is
judged: everybody paid exactly once.

    python -m bench.large_run [--payees 10000] [--channels 10] [--close-seconds 5]
"""

import argparse
import asyncio
import json
import math
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp
import psutil
from prometheus_client.parser import text_string_to_metric_families

from bench.figures import Figure, Report, show
from bench.server import bench_server, installed_database, version_of
from tests.database_server import Database, Server
from tests.support.company import Pay, Town, add_schedule, company, key
from tests.support.judge import judge
from tests.support.pods import pod_environment, pod_process

PASSPHRASE = "Paylock benchmark network"
OPERATIONS_PER_LEDGER = 1000
PAYMENTS_PER_TRANSACTION = 99  # as claim_payments binds
MEBIBYTE = 1024 * 1024


class PaidWrong(Exception):
    """The ledger shows a payment too many, or one too few."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run took, from opened to settled. `cpu_seconds` and `memory` (peak, in bytes) are the pod's."""

    seconds: float
    cpu_seconds: float
    memory: int
    memory_before: int
    ledgers: int
    transactions: int
    sign_seconds: float  # to build and sign one transaction, on average


@asynccontextmanager
async def sandbox_process(close_seconds: float) -> AsyncIterator[str]:
    """A sandbox in its own process; its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sandbox", "--port", "0", "--passphrase", PASSPHRASE,
        "--close-seconds", str(close_seconds), "--max-operations", str(OPERATIONS_PER_LEDGER), stdout=PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield json.loads(await process.stdout.readline())["horizon"]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def measure(database: Database, payees: int, channels: int, close_seconds: float) -> Outcome:
    """Pays one run and judges it. Raises PaidWrong."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(sandbox_process(close_seconds))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        town = Town(session, url, PASSPHRASE)
        it = company("bench", channels)
        await town.open_company(it)
        await town.register(database, it)
        pays = [Pay(f"p{i}", key("payee", i).public_key) for i in range(payees)]
        await town.fund({pay.destination: "5" for pay in pays})
        environment = pod_environment(
            database, url, PASSPHRASE, it, poll_seconds="5", lease_seconds="30", concurrency=str(channels)
        )
        pod = await stack.enter_async_context(pod_process(environment))
        await pod.logged("started")
        process = psutil.Process(pod.process.pid)
        memory_before = process.memory_info().rss
        await asyncio.to_thread(add_schedule, database, it, pays)
        await pod.logged("run opened")
        began, cpu_began = time.monotonic(), cpu_seconds(process)
        memory = await _until_paid(database, process)
        seconds, cpu = time.monotonic() - began, cpu_seconds(process) - cpu_began
        sign = await mean_seconds(session, await pod.port(), "paylock_sign_seconds")
        funding = it.funding.public_key
        verdict = judge(await town.get("/sandbox/operations"), funding, pays)
        if not verdict.exactly_once:
            raise PaidWrong(f"missing {len(verdict.missing)}, too many {len(verdict.extra)}")
        channel_addresses = {address for _, address in it.channels}
        transactions = [
            transaction
            for transaction in await town.get("/sandbox/transactions")
            if transaction["source_account"] in channel_addresses
        ]
    ledgers = [transaction["ledger"] for transaction in transactions]
    used = max(ledgers) - min(ledgers) + 1
    return Outcome(seconds, cpu, memory, memory_before, used, len(transactions), sign)


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def mean_seconds(session: aiohttp.ClientSession, port: int, name: str) -> float:
    """The mean of one of the pod's histograms."""
    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        text = await answer.text()
    values = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in (f"{name}_sum", f"{name}_count")
    }
    return values[f"{name}_sum"] / values[f"{name}_count"]


async def _until_paid(database: Database, process: psutil.Process) -> int:
    """Waits until the run is paid; the pod's peak memory in bytes."""
    peak = 0
    async with await database.connect_async() as connection:
        while True:
            peak = max(peak, int(process.memory_info().rss))
            cursor = await connection.execute("SELECT state::text FROM payroll.pay_run")
            row = await cursor.fetchone()
            if row is not None and row[0] in ("paid", "partly_paid"):
                return peak
            await asyncio.sleep(0.1)


def run(server: Server, *, payees: int, channels: int, close_seconds: float) -> Report:
    """Measures. Raises PaidWrong."""
    with installed_database(server) as database:
        outcome = asyncio.run(measure(database, payees, channels, close_seconds))
    transactions = math.ceil(payees / PAYMENTS_PER_TRANSACTION)
    per_ledger = min(channels, OPERATIONS_PER_LEDGER // (PAYMENTS_PER_TRANSACTION + 1))
    least = math.ceil(transactions / per_ledger)
    figures = (
        Figure("payments", payees, ""),
        Figure("transactions", outcome.transactions, "", transactions),
        Figure("ledgers from first to last", outcome.ledgers, "", least + 2),
        Figure("least possible", least, ""),
        Figure("opened to settled", outcome.seconds, "s"),
        Figure("pod: processor seconds", outcome.cpu_seconds, "s"),
        Figure("pod: processor seconds per 1,000 payments", outcome.cpu_seconds / payees * 1000, "s"),
        Figure("pod: share of one core", outcome.cpu_seconds / outcome.seconds, "", 0.5),
        Figure("pod: build and sign a transaction", outcome.sign_seconds * 1000, "ms"),
        Figure("pod: memory when idle", outcome.memory_before / MEBIBYTE, "MiB"),
        Figure("pod: peak memory", outcome.memory / MEBIBYTE, "MiB", 120),
    )
    return Report("large_run", "python -m bench.large_run", version_of(server), figures)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One pod pays one large run.")
    parser.add_argument("--payees", type=int, default=10_000, help="of the run (default 10000)")
    parser.add_argument("--channels", type=int, default=10, help="channel accounts (default 10)")
    parser.add_argument("--close-seconds", type=float, default=5.0, help="between ledgers (default 5)")
    options = parser.parse_args(arguments)
    with bench_server() as server:
        show(
            run(
                server,
                payees=options.payees,
                channels=options.channels,
                close_seconds=options.close_seconds,
            )
        )


if __name__ == "__main__":
    main()
