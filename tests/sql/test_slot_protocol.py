"""The slot protocol against a ledger in miniature. Without a guard, the judge finds the double payment."""

from collections.abc import Callable

import pytest

from tests.sql.payroll_rows import Connection, Row, one, rows, run_row
from tests.sql.slot_simulation import LEASE_SECONDS, PODS, Applied, World, new_world

STEPS = 150


@pytest.mark.parametrize("seed", range(15))
def test_whatever_pods_and_network_do_everyone_payable_is_paid_once(
    connection: Connection, seed: int
) -> None:
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


# Each guard alone: what would happen without it.


def late_envelope(world: World) -> None:
    """A batch is given back, its payments go into another, and a slow task still signs the first one."""
    first = claimed(world)
    world.release(PODS[0], first)
    second = claimed(world)
    world.sign(PODS[0], first)
    world.sign(PODS[0], second)


def abandoned_after_sending(world: World) -> None:
    """A pod dies after it sent; another takes over what it left, and pays what it finds pending."""
    world.sign(PODS[0], claimed(world))
    world.advance(LEASE_SECONDS + 1)
    world.ask("heartbeat", pod=PODS[1])
    world.take_over(PODS[1])
    world.claim(PODS[1])
    for batch in list(world.held[PODS[1]].values()):
        world.sign(PODS[1], batch)


def late_report_of_an_unused_envelope(world: World) -> None:
    """The first envelope used nothing, the second paid; the report about the first comes late."""
    batch = claimed(world)
    world.sign(PODS[0], batch)
    world.sign(PODS[0], batch)
    first, second = world.sent
    world.ledger.applied[first.hash] = Applied(100, "tx_bad_auth")
    world.ledger.apply(second)
    world.look_up(first)
    world.claim(PODS[1])
    for again in world.held[PODS[1]].values():
        world.sign(PODS[1], again)


def claimed_while_in_flight(world: World) -> None:
    """Two pods claim one after the other."""
    world.sign(PODS[0], claimed(world))
    world.advance(1)
    world.claim(PODS[1])
    for batch in world.held[PODS[1]].values():
        world.sign(PODS[1], batch)


def claimed(world: World) -> Row:
    """One more batch of the first pod."""
    known = set(world.held[PODS[0]])
    world.claim(PODS[0])
    (new,) = set(world.held[PODS[0]]) - known
    return world.held[PODS[0]][new]


Change = tuple[str, str, str]  # function, its text, another text; or an index to drop

MUTANTS: list[tuple[Callable[[World], None], list[Change]]] = [
    (
        late_envelope,
        [
            ("record_envelope", "batch.claim_token IS DISTINCT FROM record_envelope.claim_token", "false"),
            ("record_envelope", " OR batch.state = 'released' THEN", " THEN"),
            ("record_envelope", "batch.state NOT IN ('claimed', 'signed')", "false"),
        ],
    ),
    (
        abandoned_after_sending,
        [
            ("claim_abandoned_batches", "IF batch.state = 'claimed' THEN", "IF true THEN"),
            ("return_payments", "batch.state IS DISTINCT FROM 'claimed'", "false"),
            ("return_payments", "WHERE e.batch_id = return_payments.batch_id)", "WHERE false)"),
            ("enforce_transition", "IF NOT EXISTS (", "IF false AND NOT EXISTS ("),
        ],
    ),
    (
        late_report_of_an_unused_envelope,
        [
            ("settle_batch", " OR settle_batch.result_code <> 'tx_bad_sponsorship' THEN", " THEN"),
            ("settle_batch", "(e.ledger IS NULL OR e.result_code IN ('tx_success', 'tx_failed'))", "false"),
        ],
    ),
    (
        claimed_while_in_flight,
        [
            ("claim_payments", "p.state = 'pending'", "p.state IN ('pending', 'in_flight')"),
            ("batch_payment_one_live", "", ""),
        ],
    ),
]


def mutate(connection: Connection, changes: list[Change]) -> None:
    """Takes the guard out, in this transaction."""
    for name, old, new in changes:
        if not old:
            connection.execute(f"DROP INDEX payroll.{name}")
            continue
        text = one(connection, "SELECT pg_get_functiondef(('payroll.' || %s)::regproc)", name)
        assert old in text, f"{name} has no longer: {old}"
        connection.execute(text.replace(old, new, 1))


@pytest.mark.parametrize(("story", "guard"), MUTANTS, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("guarded", [True, False])
def test_the_guard_and_nothing_else_keeps_this_story_from_paying_twice(
    connection: Connection, story: Callable[[World], None], guard: list[Change], guarded: bool
) -> None:
    world = new_world(connection, 1, trouble=0)
    # One organization is left, so that both claims are about the same payments.
    connection.execute("UPDATE payroll.pay_run SET state = 'held' WHERE run_id <> %s", (world.run_ids[0],))
    if not guarded:
        mutate(connection, guard)
    story(world)
    for signed in world.sent:
        world.ledger.apply(signed)
    assert world.ledger.credited
    assert bool(world.paid_twice()) is not guarded
