"""The slot protocol against a ledger in miniature; and with a guard removed, the same judge finds the double payment."""

from collections.abc import Sequence
from contextlib import suppress

import psycopg
import pytest
from psycopg.rows import TupleRow

from tests.sql.payroll_rows import Connection, one, rows, run_row
from tests.sql.slot_simulation import new_world

STEPS = 150


@pytest.mark.parametrize("seed", range(15))
def test_whatever_pods_and_network_do_everyone_payable_is_paid_once(connection: Connection, seed: int) -> None:
    world = new_world(connection, seed)
    for _ in range(STEPS):
        world.step()
        assert not world.paid_twice()
    world.settle_down()
    assert not world.paid_twice()
    assert world.contradictions == 0
    states = rows(connection, "SELECT payment_id, state::text AS state FROM payroll.payment")
    assert {row["payment_id"] for row in states if row["state"] == "paid"} == set(world.ledger.credited)
    assert {row["payment_id"] for row in states if row["state"] == "failed"} == world.ledger.unpayable
    for run_id in world.run_ids:
        assert run_row(connection, run_id)["state"] == "partly_paid"
    sequences = rows(connection, "SELECT address::text, sequence FROM payroll.channel_account")
    assert {row["address"]: row["sequence"] for row in sequences} == world.ledger.sequences


MUTANTS: dict[str, Sequence[tuple[str, str, str]]] = {
    "a late envelope is not fenced by the claim token or the batch's state": [
        ("record_envelope", "ELSIF batch.claim_token IS DISTINCT FROM record_envelope.claim_token THEN", "ELSIF false THEN"),
        ("record_envelope", "ELSIF batch.state NOT IN ('claimed', 'signed') THEN", "ELSIF false THEN"),
    ],
    "a batch with an envelope is given back": [
        ("claim_abandoned_batches", "IF batch.state = 'claimed' THEN", "IF true THEN"),
        ("return_payments", "IF batch.state IS DISTINCT FROM 'claimed'", "IF false AND (true"),
        ("return_payments", "e.batch_id = return_payments.batch_id) THEN", "e.batch_id = -1)) THEN"),
        ("enforce_transition", "IF NOT EXISTS (", "IF false AND NOT EXISTS ("),
    ],
    "a used slot settles a batch though another of its envelopes may have used it": [
        ("settle_batch", "IF EXISTS (\n            SELECT FROM payroll.envelope AS e", "IF false AND EXISTS (\n            SELECT FROM payroll.envelope AS e"),
    ],
    "a payment may be in two live batches and a claim takes what is in flight": [
        ("claim_payments", "AND p.state = 'pending'", "AND p.state IN ('pending', 'in_flight')"),
        ("batch_payment_one_live", "", ""),
    ],
}  # fmt: skip


def mutate(connection: Connection, changes: Sequence[tuple[str, str, str]]) -> None:
    """Rewrites functions in the transaction; a change without text drops the unique index of that name."""
    for name, old, new in changes:
        if not old:
            connection.execute(f"DROP INDEX payroll.{name}")
            continue
        text = one(connection, "SELECT pg_get_functiondef(('payroll.' || %s)::regproc)", name)
        assert text.count(old) >= 1, f"{name} has no longer: {old}"
        connection.execute(text.replace(old, new, 1))


@pytest.mark.parametrize("mutant", MUTANTS)
def test_without_this_guard_somebody_is_paid_twice(
    connection: psycopg.Connection[TupleRow], mutant: str
) -> None:
    for seed in range(40):
        with connection.transaction(force_rollback=True):
            world = new_world(connection, seed)
            mutate(connection, MUTANTS[mutant])
            # A broken copy may stumble over its own state before it pays twice.
            with suppress(psycopg.Error):
                for _ in range(2 * STEPS):
                    world.step()
                    if world.paid_twice():
                        return
    pytest.fail("the judge saw no double payment")
