"""What can happen: to pods, to the network, to the database, to the accounts, and by people."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from stellar_sdk import TransactionBuilder

from tests.chaos.fleet import Place
from tests.chaos.world import LEASE_SECONDS, World
from tests.support.company import Company

Disaster = Callable[[World], Awaitable[None]]

SUBMISSION_FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "lost_before"},
    {"kind": "lost_after"},
    {"kind": "lost_after_submit"},
    {"kind": "timeout_applied", "delay": 0.5},
    {"kind": "timeout_dropped", "delay": 0.5},
    {"kind": "swallowed", "delay": 0.5},
    {"kind": "try_again_later", "delay": 0.3},
    {"kind": "banned"},
    {"kind": "rate_limited", "retry_after": 1},
    {"kind": "stale_history"},
    {"kind": "server_error", "status": 502, "body": "html"},
    {"kind": "server_error", "status": 503, "body": "null_extras"},
    {"kind": "slow", "delay": 2},
    {"kind": "slow_answer", "delay": 2},
    {"kind": "truncated"},
    {"kind": "reject", "code": "tx_bad_seq"},
    {"kind": "reject", "code": "tx_too_late"},
    {"kind": "reject", "code": "tx_insufficient_fee"},
    {"kind": "reject", "code": "tx_internal_error"},
    {"kind": "reject", "code": "tx_insufficient_balance"},
    {"kind": "reject", "code": "tx_malformed"},
)
QUESTION_FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "lost_before"},
    {"kind": "truncated"},
    {"kind": "rate_limited", "retry_after": 1},
    {"kind": "stale_history"},
    {"kind": "server_error", "status": 500, "body": "empty"},
    {"kind": "slow_answer", "delay": 2},
    {"kind": "lagging_node", "ledgers": 1},
    {"kind": "lagging_node", "ledgers": 3},
    {"kind": "not_found", "path": "/transactions/*"},
)


def _somebody(world: World) -> Place:
    return world.random.choice(world.fleet.places)


# --- pods ---------------------------------------------------------------------------------------------------


async def kill_a_pod(world: World) -> None:
    place = _somebody(world)
    world.tell(f"SIGKILL to pod {world.fleet.places.index(place)}")
    await place.end(signal.SIGKILL)
    await asyncio.sleep(world.random.uniform(0, 1.5))
    await place.start()


async def terminate_a_pod(world: World) -> None:
    """A rollout: SIGTERM, and a new pod with another configuration. Twins' one name must not retire."""
    place = _somebody(world)
    number = signal.SIGKILL if world.fleet.twins else signal.SIGTERM
    world.tell(f"{number.name} to pod {world.fleet.places.index(place)}, and another configuration")
    await place.end(number)
    await place.start(
        PAYLOCK_ENVELOPE_SECONDS=world.random.choice(("1", "3", "20")),
        PAYLOCK_MAX_FEE=world.random.choice(("100", "1500", "10000")),
        PAYLOCK_GRACE_SECONDS=world.random.choice(("0.1", "3")),
    )


async def stall_a_pod(world: World) -> None:
    """Longer than its lease, so that the others take its batches over; then it goes on with what it knew."""
    place = _somebody(world)
    if place.stalled:
        return
    world.tell(f"SIGSTOP to pod {world.fleet.places.index(place)}")
    place.stall()
    await asyncio.sleep(LEASE_SECONDS + world.random.uniform(0.5, 3))
    world.tell(f"SIGCONT to pod {world.fleet.places.index(place)}")
    place.go_on()


# --- the network --------------------------------------------------------------------------------------------


async def lose_submissions(world: World) -> None:
    await _with_rules(world, "POST", SUBMISSION_FAULTS)


async def lose_questions(world: World) -> None:
    await _with_rules(world, "GET", QUESTION_FAULTS)


async def _with_rules(world: World, method: str, menu: tuple[dict[str, Any], ...]) -> None:
    rules = world.random.sample(menu, world.random.randint(1, 4))
    probability = world.random.choice((0.1, 0.3, 0.7))
    world.tell(f"{method} with probability {probability}: {rules}")
    ids: list[int] = []
    for rule in rules:
        path = "/transactions" if method == "POST" else "*"
        ids += world.network.set_fault(
            {"method": method, "path": path, "probability": probability, "count": 8, **rule}
        )
    await asyncio.sleep(world.random.uniform(1, 4))
    world.network.clear_faults(ids)


async def disturb_the_network(world: World) -> None:
    """A surge, lagging lookups, ledgers that close late or not at all."""
    seconds = world.random.uniform(1, 5)
    disturbance = world.random.choice(
        (
            {"kind": "surge", "rate": world.random.choice((150, 800, 5000))},
            {"kind": "lag", "ledgers": world.random.randint(1, 6)},
            {"kind": "stall"},
            {"kind": "slow_closes", "factor": 3},
            {"kind": "uneven_closes", "factor": 3},
        )
    )
    world.tell(f"for {seconds:.1f} s: {disturbance}")
    world.network.set_fault({**disturbance, "for_seconds": seconds})
    await asyncio.sleep(seconds)


# --- the database -------------------------------------------------------------------------------------------


async def crash_the_database(world: World) -> None:
    """As by `pg_ctl stop -m immediate`; recovery from the write-ahead log."""
    if world.database_down.locked():
        return
    async with world.database_down:
        world.tell("PostgreSQL dies")
        await asyncio.to_thread(world.postgres.crash)
        await asyncio.sleep(world.random.uniform(0, 2))
        await asyncio.to_thread(world.postgres.recover)
        world.tell("PostgreSQL is back")


async def cut_connections(world: World) -> None:
    place = _somebody(world)
    place.cutter.mean_bytes = world.random.choice((2_000, 8_000, 40_000))
    world.tell(f"pod {world.fleet.places.index(place)} loses its connections")
    await asyncio.sleep(world.random.uniform(1, 4))
    place.cutter.mean_bytes = None


async def terminate_sessions(world: World) -> None:
    world.tell("sessions terminated")
    async with await world.database.connect_async() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.7"
        )


async def hold_locks(world: World) -> None:
    """Somebody forgot to commit: runs, channels and batches are locked for a while."""
    table = world.random.choice(("pay_run", "channel_account", "payment_batch", "pay_schedule"))
    world.tell(f"{table} locked")
    async with await world.database.connect_async(autocommit=False) as connection:
        await connection.execute(f"SELECT FROM payroll.{table} WHERE random() < 0.6 FOR UPDATE".encode())
        await asyncio.sleep(world.random.uniform(0.5, 3))


# --- accounts -----------------------------------------------------------------------------------------------


async def drain_funding(world: World) -> None:
    """Almost all money leaves a funding account; some seconds later it is back."""
    it = world.random.choice(world.companies)
    world.tell(f"{it.name} has no money")
    root = world.network.root
    world.drained(it, "999000")
    world.inject(it.funding, lambda b: b.append_payment_op(root.public_key, world.native, "999000"))
    await asyncio.sleep(world.random.uniform(1, 4))
    await refill(world, it)


async def refill(world: World, it: Company) -> None:
    """Give a funding account money until it has it: somebody else may use the giver's sequence number up."""
    while world.lumens_of(it.funding) < 500_000:
        world.inject(
            world.network.root,
            lambda b: b.append_payment_op(it.funding.public_key, world.native, "999000"),
        )
        await asyncio.sleep(2.5)
    world.tell(f"{it.name} has money")


async def remove_a_trustline(world: World) -> None:
    """A payee gives back what it got, and its trustline."""
    if not world.fickle:
        return
    holder = world.fickle.pop()
    world.tell(f"{holder.public_key} gives its trustline up")
    held = world.euros_of(holder)

    def leave(builder: TransactionBuilder) -> TransactionBuilder:
        if held:
            builder.append_payment_op(world.issuer.public_key, world.euro, held)
        return builder.append_change_trust_op(world.euro, "0")

    world.inject(holder, leave)


async def strange_use_of_a_channel(world: World) -> None:
    """Somebody else has a channel's key and uses a sequence number up. One channel only: others must pay."""
    if world.stranger_came:
        return
    world.stranger_came = True
    it = world.companies[0]
    index, address = world.random.choice(it.channels)
    world.tell(f"a stranger uses channel {address}")
    given: dict[str, Any] = {"secret": it.channel_key(index).secret}
    if world.random.random() < 0.3:
        given["bump_to"] = 2**62
    await world.town.post("/sandbox/foreign", given)


# --- people -------------------------------------------------------------------------------------------------


async def pause_and_resume(world: World) -> None:
    it, name = world.random.choice(world.schedules)
    world.tell(f"schedule {name} paused")
    await world.operate("SELECT payroll.pause_schedule(%s, %s, 'chaos')", it.name, name)
    await asyncio.sleep(world.random.uniform(0, 3))
    world.tell(f"schedule {name} resumed")
    await world.operate("SELECT payroll.resume_schedule(%s, %s, 'open', 'chaos')", it.name, name)


async def cancel_a_run(world: World) -> None:
    """At most one, so that something is left to be paid."""
    if world.somebody_cancelled:
        return
    rows = await world.operate(
        "SELECT organization, schedule, run_id FROM payroll.run_overview"
        " WHERE state NOT IN ('paid', 'partly_paid', 'cancelled')"
    )
    if rows:
        world.somebody_cancelled = True
        organization, schedule, run = world.random.choice(rows)
        world.tell(f"run {run} of {schedule} cancelled")
        world.cancelled(schedule)
        await world.operate("SELECT payroll.cancel_run(%s, %s, 'chaos')", organization, run)


async def resume_batches(world: World) -> None:
    """A person resumes batches, held or not, at whatever moment it is."""
    rows = await world.operate(
        "SELECT organization, batch_id FROM payroll.batch_overview WHERE state IN ('claimed', 'signed')"
    )
    for organization, batch in rows:
        if world.random.random() < 0.7:
            world.tell(f"batch {batch} resumed")
            await world.operate("SELECT payroll.resume_batch(%s, %s, 'chaos')", organization, batch)


async def zombie_call(world: World) -> None:
    """A pod from the past uses the claim tokens of open batches: releases, holds and refuses."""
    try:
        async with await world.database.connect_async() as connection:
            cursor = await connection.execute(
                "SELECT batch_id FROM payroll.payment_batch WHERE state IN ('claimed', 'signed')"
            )
            for (batch,) in await cursor.fetchall():
                for call in (
                    "release_batch(%s, gen_random_uuid())",
                    "hold_batch(%s, gen_random_uuid(), 'old')",
                ):
                    try:
                        await connection.execute(f"SELECT payroll.{call}".encode(), [batch])
                    except psycopg.Error as error:
                        if error.sqlstate not in ("PL004", "PL008"):
                            raise
    except psycopg.OperationalError:
        world.tell("the zombie lost its connection")


MENU: dict[Disaster, int] = {
    kill_a_pod: 6,
    terminate_a_pod: 3,
    stall_a_pod: 4,
    lose_submissions: 8,
    lose_questions: 6,
    disturb_the_network: 5,
    crash_the_database: 2,
    cut_connections: 4,
    terminate_sessions: 2,
    hold_locks: 3,
    drain_funding: 1,
    remove_a_trustline: 2,
    strange_use_of_a_channel: 1,
    pause_and_resume: 3,
    cancel_a_run: 1,
    resume_batches: 3,
    zombie_call: 2,
}
"""Disasters and how often each is drawn."""


async def unleash(world: World, seconds: float) -> None:
    """Draw disasters for so long, several at a time, and wait until the last one is over."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    running: set[asyncio.Task[None]] = set()
    while loop.time() < until:
        disaster = world.random.choices(list(MENU), list(MENU.values()))[0]
        running.add(asyncio.create_task(_survived(world, disaster)))
        await asyncio.sleep(world.random.uniform(0.1, 1.0))
        running = {task for task in running if not task.done() or task.result() is not None}
    await asyncio.gather(*running)


async def _survived(world: World, disaster: Disaster) -> None:
    """A disaster that can't happen because the database is down doesn't happen."""
    try:
        await disaster(world)
    except psycopg.OperationalError as error:
        world.tell(f"  {disaster.__name__}: {type(error).__name__}")


async def calm(world: World) -> None:
    """Everything works again, and a person has done what a person must do."""
    world.tell("calm")
    world.network.clear_faults()
    for place in world.fleet.places:
        place.cutter.mean_bytes = None
        await place.end(signal.SIGKILL)
    for it in world.companies:
        await refill(world, it)
    for it, name in world.schedules:
        await world.operate("SELECT payroll.resume_schedule(%s, %s, 'open', 'calm')", it.name, name)
    for place in world.fleet.places[:2]:
        await place.start(PAYLOCK_ENVELOPE_SECONDS="20", PAYLOCK_MAX_FEE="100000")
