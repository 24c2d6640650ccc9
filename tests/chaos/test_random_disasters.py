"""Random disasters, several at a time, while three pods pay two companies; then calm, and the ledger judges.

PAYLOCK_TEST_CHAOS_ROUNDS says how many worlds are destroyed (default 1: less than a minute),
PAYLOCK_TEST_CHAOS_SEED which ones: the seed is printed, and repeats the plan, though not each race.
"""

import asyncio
import os
import secrets
from pathlib import Path
from random import Random

import pytest

from tests.chaos.conftest import Mortal
from tests.chaos.disasters import calm, unleash
from tests.chaos.world import World, world

ROUNDS = int(os.environ.get("PAYLOCK_TEST_CHAOS_ROUNDS", "1"))
SEED = int(os.environ.get("PAYLOCK_TEST_CHAOS_SEED", "0")) or secrets.randbelow(2**31)
DISASTER_SECONDS = 12.0
CALM_SECONDS = 120.0


@pytest.mark.slow
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_whatever_happens_each_payee_is_paid_exactly_once(
    number: int, mortal: Mortal, tmp_path: Path
) -> None:
    seed = SEED + number
    print(f"PAYLOCK_TEST_CHAOS_ROUNDS=1 PAYLOCK_TEST_CHAOS_SEED={seed}; logs in {tmp_path}")
    async with world(Random(seed), mortal.postgres, mortal.database) as it:
        for place in it.fleet.places:
            await place.start()
        try:
            await unleash(it, DISASTER_SECONDS)
            await calm(it)
            faults = [] if await _everything_ends(it) else ["not settled in time"]
            faults += await it.judged()
        finally:
            it.tell_all(tmp_path)
    assert not faults, f"seed {seed}, story and logs in {tmp_path}: " + "\n".join(faults)


async def _everything_ends(it: World) -> bool:
    """Wait until all payments have ended. What pods held for a person is resumed, as a person would do."""
    try:
        async with asyncio.timeout(CALM_SECONDS):
            while not await it.settled():
                for organization, batch in await it.operate(
                    "SELECT organization, batch_id FROM payroll.batch_overview WHERE held_reason IS NOT NULL"
                    " AND state IN ('claimed', 'signed')"
                ):
                    await it.operate("SELECT payroll.resume_batch(%s, %s, 'calm')", organization, batch)
                await asyncio.sleep(0.5)
    except TimeoutError:
        return False
    it.tell("everything has ended")
    return True
