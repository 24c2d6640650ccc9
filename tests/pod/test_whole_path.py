"""Pods, a database and a network: the whole path, judged by the ledger."""

import asyncio
import signal

from sandbox.server import Sandbox
from tests.database_server import Database
from tests.pod.conftest import PASSPHRASE
from tests.support.company import Company, Pay, Town, add_schedule, company, key
from tests.support.judge import judge
from tests.support.pods import pod_environment, pod_process


async def run_ended(database: Database, seconds: float = 90) -> list[tuple[str, int, int]]:
    """Wait until no run is open; (state, paid, failed) of each."""
    async with asyncio.timeout(seconds):
        while True:
            async with await database.connect_async() as connection:
                cursor = await connection.execute(
                    "SELECT state::text, paid_count, failed_count FROM payroll.pay_run ORDER BY run_id"
                )
                runs = await cursor.fetchall()
            if runs and all(state in ("paid", "partly_paid", "cancelled") for state, _, _ in runs):
                return [(state, paid, failed) for state, paid, failed in runs]
            await asyncio.sleep(0.1)


async def open_shop(town: Town, database: Database, channels: int = 3, name: str = "acme") -> Company:
    it = company(name, channels)
    await town.open_company(it)
    await town.register(database, it)
    return it


async def payees(town: Town, count: int, amount: str = "10", name: str = "payee") -> list[Pay]:
    pays = [Pay(f"{name}{i}", key(name, i).public_key, amount) for i in range(count)]
    await town.fund({pay.destination: "5" for pay in pays})
    return pays


async def test_one_pod_pays_a_run_exactly_once(database: Database, network: Sandbox, town: Town) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 250)
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        await pod.logged("started")
        add_schedule(database, it, pays)
        assert await run_ended(database) == [("paid", 250, 0)]
        pod.signal(signal.SIGTERM)
        assert await pod.ended() == 0
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once
