"""The guards that keep payments single, each with the change that takes it out of a copy of the database."""

from collections.abc import Mapping
from types import MappingProxyType

import psycopg
from psycopg.rows import TupleRow

from tests.isolation.databases import Change
from tests.isolation.rewriting import drop_constraint, drop_index, drop_trigger, replace_in_function

Connection = psycopg.Connection[TupleRow]


def _replacing(function: str, old: str, new: str) -> Change:
    return lambda connection: replace_in_function(connection, function, old, new)


def _without_index(name: str) -> Change:
    return lambda connection: drop_index(connection, name)


def _run_once(connection: Connection) -> None:
    conflict = "ON CONFLICT ON CONSTRAINT pay_run_once DO NOTHING"
    replace_in_function(connection, "claim_due_schedules", conflict, "")
    drop_constraint(connection, "pay_run", "pay_run_once")


def _settled_state_checks(connection: Connection) -> None:
    replace_in_function(
        connection,
        "settle_batch",
        "ELSIF batch.state NOT IN ('signed', 'quarantined') THEN",
        "ELSIF false THEN",
    )
    drop_trigger(connection, "payment_batch", "payment_batch_moves")


def _run_lock(connection: Connection) -> None:
    for lock in ("FOR UPDATE SKIP LOCKED;", "FOR UPDATE;"):
        replace_in_function(
            connection, "claim_payments", f"WHERE r.run_id = candidate {lock}", "WHERE r.run_id = candidate;"
        )


def _count_checks(connection: Connection) -> None:
    for state in ("pending", "in_flight"):
        drop_constraint(connection, "pay_run", f"pay_run_{state}_count_check")


GUARDS: Mapping[str, Change] = MappingProxyType(
    {
        # Opening runs
        "schedule lock in claim_due_schedules": _replacing(
            "claim_due_schedules", "        FOR UPDATE SKIP LOCKED\n", ""
        ),
        "unique (schedule, nominal date)": _run_once,
        "only active schedules open": _replacing(
            "claim_due_schedules", "WHERE s.state = 'active' AND", "WHERE s.state IN ('active', 'paused') AND"
        ),
        # Claiming payments
        "run lock in claim_payments": _run_lock,
        "one live batch per payment": _without_index("batch_payment_one_live"),
        "counts are not negative": _count_checks,
        "only idle channels are taken": _replacing(
            "claim_payments",
            "AND c.state = 'active' AND c.live_batch_id IS NULL\n        ORDER BY c.last_claimed_at",
            "AND c.state = 'active'\n        ORDER BY c.key_index",
        ),
        "one live batch per channel": _without_index("payment_batch_one_live_per_channel"),
        "one batch per slot": _without_index("payment_batch_one_per_slot"),
        # Signing
        "claim token in record_envelope": _replacing(
            "record_envelope", "batch.claim_token IS DISTINCT FROM record_envelope.claim_token", "false"
        ),
        "released state in record_envelope": _replacing(
            "record_envelope", " OR batch.state = 'released' THEN", " THEN"
        ),
        "open state in record_envelope": _replacing(
            "record_envelope", "ELSIF batch.state NOT IN ('claimed', 'signed') THEN", "ELSIF false THEN"
        ),
        "batch lock in record_envelope": _replacing(
            "record_envelope",
            "WHERE b.batch_id = record_envelope.batch_id FOR UPDATE;",
            "WHERE b.batch_id = record_envelope.batch_id;",
        ),
        "batch transitions": lambda connection: drop_trigger(
            connection, "payment_batch", "payment_batch_moves"
        ),
        # Settling and giving back
        "run lock in lock_batch": _replacing(
            "lock_batch", "WHERE r.run_id = batch.run_id FOR UPDATE;", "WHERE r.run_id = batch.run_id;"
        ),
        "channel lock in lock_batch": _replacing(
            "lock_batch", "batch.channel_id FOR UPDATE;", "batch.channel_id;"
        ),
        "batch lock in lock_batch": _replacing(
            "lock_batch", "lock_batch.batch_id FOR UPDATE;", "lock_batch.batch_id;"
        ),
        "contradiction check in settle_batch": _replacing(
            "settle_batch", "IF batch.state IN ('succeeded', 'failed') THEN", "IF false THEN"
        ),
        "state checks in settle_batch": _settled_state_checks,
        # Cancelling
        "runs are locked in stop_runs": _replacing(
            "stop_runs", "ORDER BY r.run_id FOR UPDATE\n", "ORDER BY r.run_id\n"
        ),
    }
)
