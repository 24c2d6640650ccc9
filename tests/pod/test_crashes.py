"""A pod is killed at each boundary; another one completes the run; the ledger shows one payment each."""

import signal

import pytest

from notifier.crash_points import BOUNDARIES
from sandbox.server import Sandbox
from tests.database_server import Database
from tests.pod.conftest import PASSPHRASE
from tests.pod.whole_path import open_shop, payees, run_ended
from tests.support.company import Town, add_schedule
from tests.support.judge import judge
from tests.support.pods import pod_environment, pod_process


@pytest.mark.parametrize(
    ("boundary", "count"),
    [*((boundary, 1) for boundary in BOUNDARIES), ("after_record", 2), ("after_settle", 3)],
)
async def test_a_pod_killed_at_any_boundary_pays_nobody_twice_and_leaves_nobody_out(
    boundary: str, count: int, database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database)
    pays = await payees(town, 350)
    environment = pod_environment(database, network.url, PASSPHRASE, it)
    fatal = {"PAYLOCK_ALLOW_CRASH": "1", "PAYLOCK_CRASH_AT": boundary, "PAYLOCK_CRASH_COUNT": str(count)}
    async with pod_process(environment | fatal) as doomed:
        await doomed.logged("started")
        add_schedule(database, it, pays)
        assert await doomed.ended() == -signal.SIGKILL
    async with pod_process(environment) as survivor:
        assert await run_ended(database) == [("paid", 350, 0)]
        await survivor.logged(
            "started"
        )  # where the killed pod settled the last batch, nobody waited for this one
        survivor.signal(signal.SIGTERM)
        assert await survivor.ended() == 0
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once


async def test_pods_that_are_killed_again_and_again_still_pay_once(
    database: Database, network: Sandbox, town: Town
) -> None:
    it = await open_shop(town, database, channels=2)
    pays = await payees(town, 300)
    environment = pod_environment(database, network.url, PASSPHRASE, it)
    add_schedule(database, it, pays)
    for boundary in BOUNDARIES:
        fatal = {"PAYLOCK_ALLOW_CRASH": "1", "PAYLOCK_CRASH_AT": boundary}
        async with pod_process(environment | fatal) as doomed:
            await doomed.logged("started")
            if boundary != "after_open":
                assert await doomed.ended() == -signal.SIGKILL
    async with pod_process(environment):
        assert await run_ended(database) == [("paid", 300, 0)]
    assert judge(await town.get("/sandbox/operations"), it.funding.public_key, pays).exactly_once
