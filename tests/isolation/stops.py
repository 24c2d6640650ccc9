"""Stopping points inside functions, so that sessions interleave between statements, not only between calls.

In a copy of the database each of these places gets a `PERFORM stage.stop(name)`. A call that is given stops
waits there for an advisory lock which the session `gate` holds, until the gate's step of that name lets it go
on; everyone else passes without noticing. What the functions do is untouched.
"""

from dataclasses import dataclass

import psycopg
from psycopg.rows import TupleRow

from tests.isolation.rewriting import replace_in_function


@dataclass(frozen=True, slots=True)
class StopPoint:
    """`before` is the text that the function stops before."""

    function: str
    name: str
    before: str


STOP_POINTS = (
    StopPoint("claim_due_schedules", "locked", "    RETURN QUERY\n"),
    StopPoint("claim_payments", "chosen", "        -- Lock it. A run that somebody else"),
    StopPoint("claim_payments", "run_locked", "        SELECT c.* INTO channel\n"),
    StopPoint("claim_payments", "channel_locked", "        WITH next_payments AS MATERIALIZED ("),
    StopPoint("record_envelope", "checked", "    INSERT INTO payroll.envelope ("),
    StopPoint("lock_batch", "read", "    PERFORM FROM payroll.pay_run AS r"),
    StopPoint("lock_batch", "run_locked", "    PERFORM FROM payroll.channel_account AS c"),
    StopPoint("settle_batch", "checked", "    SELECT r.* INTO run FROM payroll.pay_run AS r"),
    StopPoint("claim_abandoned_batches", "found", "        PERFORM FROM payroll.pay_run AS r"),
    StopPoint("return_payments", "checked", "    SELECT r.cancel_requested_at IS NOT NULL INTO cancelling"),
)


def insert_stops(connection: psycopg.Connection[TupleRow]) -> None:
    for point in STOP_POINTS:
        call = f"PERFORM stage.stop('{point.name}');\n"
        replace_in_function(connection, point.function, point.before, call + point.before)
