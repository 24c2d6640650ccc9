"""Real pods, a real database, a ledger: one due schedule makes one run, and each payee is credited once.

PAYLOCK_TEST_REPEATS says how often the races run (2; CI takes more).
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from tests.database_server import Database
from tests.end_to_end.world import World, soon, world

REPEATS = int(os.environ.get("PAYLOCK_TEST_REPEATS", "2"))
PAYEES = 25


@pytest.fixture
async def employer(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with world(database, tmp_path) as ready:
        await ready.add_payees(PAYEES)
        yield ready


async def test_one_pod_alone_pays_everybody_once(employer: World) -> None:
    await employer.start_pod()
    await employer.import_schedule("salaries", soon(0))
    await employer.until_all_runs_are_done(1)
    await employer.stop_pods()
    await _expect_exactly(employer, runs=1)


async def test_two_pods_started_against_a_due_schedule_open_one_run_and_pay_everybody_once(
    employer: World,
) -> None:
    for repeat in range(1, REPEATS + 1):
        due = soon(0)
        await employer.import_schedule(f"salaries {repeat}", due)
        await asyncio.gather(employer.start_pod(), employer.start_pod())
        await employer.until_all_runs_are_done(repeat)
        await employer.stop_pods()
    await _expect_exactly(employer, runs=REPEATS)


async def test_two_idle_pods_woken_by_one_due_moment_open_one_run_and_pay_everybody_once(
    employer: World,
) -> None:
    for pod in await asyncio.gather(employer.start_pod(), employer.start_pod()):
        await pod.until_started()
    for repeat in range(1, REPEATS + 1):
        await employer.import_schedule(f"salaries {repeat}", soon(0))
        await employer.until_all_runs_are_done(repeat)
    await employer.stop_pods()
    await _expect_exactly(employer, runs=REPEATS)


@pytest.mark.slow
@pytest.mark.needs("pg_cron")
async def test_a_cron_job_opens_the_run_and_pods_pay_it(cron_database: Database, tmp_path: Path) -> None:
    """No pod runs when the schedule falls due: pg_cron alone opens the run. Pods started later pay it."""
    async with world(cron_database, tmp_path) as employer:
        await employer.add_payees(PAYEES)
        with cron_database.connect() as admin:
            admin.execute(
                "SELECT cron.schedule('paylock', '* * * * *',"  # seconds need pg_cron 1.5; Debian 12 has 1.4
                " $$SELECT count(*) FROM payroll.claim_due_schedules('pg_cron')$$)"
            )
        try:
            await employer.import_schedule("salaries", soon(0))
            while (opened := await _runs(employer.connection)) == []:
                await asyncio.sleep(0.05)
            assert opened == ["pg_cron"]
            await asyncio.gather(employer.start_pod(), employer.start_pod())
            await employer.until_all_runs_are_done(1)
            await employer.stop_pods()
        finally:
            with cron_database.connect() as admin:
                admin.execute("SELECT cron.unschedule('paylock')")
        await _expect_exactly(employer, runs=1)


async def _runs(connection: psycopg.AsyncConnection) -> list[str]:
    cursor = await connection.execute("SELECT opened_by FROM payroll.pay_run ORDER BY run_id")
    return [row[0] for row in await cursor.fetchall()]


async def _expect_exactly(employer: World, runs: int) -> None:
    assert len(await _runs(employer.connection)) == runs
    verdict = await employer.verdict()
    assert verdict.findings() == []
    assert len(verdict.paid_once) == verdict.payable == len(employer.lines) == runs * PAYEES
