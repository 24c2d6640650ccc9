"""The database goes away, answers get lost between it and the pod, a pod stalls past its lease: paid once."""

import asyncio
import signal

from sandbox.server import Sandbox
from tests.database_server import Database
from tests.pod.conftest import PASSPHRASE
from tests.pod.whole_path import open_shop, payees, run_ended
from tests.support.company import Town, add_schedule
from tests.support.cutting_proxy import cutting_proxy
from tests.support.judge import judge
from tests.support.pods import pod_environment, pod_process


async def test_answers_of_the_database_that_get_lost_change_nothing(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=4)
    pays = await payees(town, 500)
    environment = pod_environment(database, network.url, PASSPHRASE, it)
    async with cutting_proxy(environment["PAYLOCK_DATABASE_URL"], probability=0.08) as (proxy, url):
        async with pod_process({**environment, "PAYLOCK_DATABASE_URL": url}) as pod:
            add_schedule(database, it, pays)
            assert await run_ended(database) == [("paid", 500, 0)]
            assert not [entry for entry in pod.log if entry["message"] == "unexpected"]
            proxy.probability = 0
            pod.signal(signal.SIGTERM)
            assert await pod.ended() == 0
        assert proxy.cuts > 0
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_database_that_goes_away_is_waited_for(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=2)
    pays = await payees(town, 400)
    async with pod_process(pod_environment(database, network.url, PASSPHRASE, it)) as pod:
        add_schedule(database, it, pays)
        await pod.logged("settled")
        with database.server.connect() as connection:
            connection.execute(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database.name]
            )
            await pod.logged("not listening for wake-ups", times=3)
            connection.execute(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")
        assert await run_ended(database) == [("paid", 400, 0)]
        assert pod.process.returncode is None
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_pod_that_stalls_past_its_lease_and_wakes_up_pays_nobody_twice(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=2)
    pays = await payees(town, 300)
    await town.post("/sandbox/faults", {"kind": "timeout_dropped", "count": 2, "delay": 2})
    environment = pod_environment(database, network.url, PASSPHRASE, it)
    async with pod_process(environment) as zombie:
        add_schedule(database, it, pays)
        async with asyncio.timeout(60):
            while len(network.faults.log) < 2:
                await asyncio.sleep(0.02)
        zombie.signal(signal.SIGSTOP)
        async with pod_process(environment) as other:
            await other.logged("taken over", times=2)
            zombie.signal(signal.SIGCONT)
            assert await run_ended(database) == [("paid", 300, 0)]
            for pod in (zombie, other):
                pod.signal(signal.SIGTERM)
                assert await pod.ended() == 0
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_a_second_signal_ends_the_pod_at_once(database: Database, network: Sandbox, town: Town) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 50)
    await town.post("/sandbox/faults", {"kind": "stall"})
    async with pod_process(
        pod_environment(database, network.url, PASSPHRASE, it, grace_seconds="3600")
    ) as pod:
        add_schedule(database, it, pays)
        async with asyncio.timeout(60):
            while not (await town.get("/sandbox/state"))["queued"]:
                await asyncio.sleep(0.05)
        pod.signal(signal.SIGTERM)
        await pod.logged("stopping")
        pod.signal(signal.SIGTERM)
        assert await pod.ended() == 1
