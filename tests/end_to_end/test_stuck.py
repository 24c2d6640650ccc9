"""A demo that waits in vain says for what."""

import asyncio
from pathlib import Path

from paylock.demo.stuck import explain_stuck
from tests.database_server import Database
from tests.end_to_end.world import soon, world


async def test_what_is_not_done_is_named_schedule_by_schedule_run_by_run_and_batch_by_batch(
    database: Database, tmp_path: Path
) -> None:
    async with world(database, tmp_path) as employer:
        await employer.add_payees(12)
        await employer.import_schedule("due now", soon(0))
        await employer.import_schedule("due much later", soon(3600))
        with database.connect("payroll_pod") as pod:
            passphrase = employer.sandbox.network.parameters.passphrase
            pod.execute("SELECT payroll.start_pod('host:dead', %s, 30)", (passphrase,))
            while pod.execute("SELECT * FROM payroll.claim_due_schedules('host:dead')").fetchall() == []:
                await asyncio.sleep(0.05)
            assert pod.execute("SELECT * FROM payroll.claim_payments('host:dead')").fetchone() is not None
        with database.connect() as admin:
            explained = "\n".join(explain_stuck(admin, 120))
    assert "nothing has changed for 120 seconds" in explained
    assert "run of acme, due now, is paying: 1 payments wait, 11 are in flight, 0 are held" in explained
    assert "is claimed with 0 envelopes, at host:dead, whose last heartbeat was" in explained
    assert "schedule due much later of acme is active and opens at" in explained
