"""Says what a pay run waits for, when nothing has changed for a long time."""

import psycopg


def explain_stuck(connection: psycopg.Connection, seconds: float) -> list[str]:
    """One sentence for each thing that is not done."""
    found = [f"nothing has changed for {seconds:.0f} seconds; this is what is not done:"]
    for organization, schedule, state, reason, pending, in_flight, held in connection.execute(
        "SELECT organization, schedule, state, reason, pending, in_flight, held FROM payroll.run_overview"
        " WHERE state NOT IN ('paid', 'partly_paid', 'cancelled') ORDER BY run_id"
    ):
        found.append(
            f"  run of {organization}, {schedule}, is {state}: {pending} payments wait, {in_flight} are in "
            f"flight, {held} are held" + (f" ({reason})" if reason else "")
        )
    for batch, state, pod, heartbeat, held_reason, channel_state, envelopes in connection.execute(
        "SELECT b.batch_id, b.state::text, b.claimed_by,"
        " extract(epoch FROM clock_timestamp() - p.heartbeat_at)::integer, b.held_reason, c.state::text,"
        " (SELECT count(*) FROM payroll.envelope AS e WHERE e.batch_id = b.batch_id)"
        " FROM payroll.payment_batch AS b"
        " JOIN payroll.channel_account AS c ON c.channel_id = b.channel_id"
        " LEFT JOIN payroll.pod AS p ON p.pod = b.claimed_by"
        " WHERE b.state IN ('claimed', 'signed', 'quarantined') ORDER BY b.batch_id"
    ):
        found.append(
            f"  batch {batch} is {state} with {envelopes} envelopes, at {pod}, whose last heartbeat was "
            f"{heartbeat} s ago; its channel is {channel_state}"
            + (f"; held: {held_reason}" if held_reason else "")
        )
    for organization, schedule, state, next_open_at in connection.execute(
        "SELECT organization, schedule, state, next_open_at FROM payroll.schedule_overview"
        " WHERE next_open_at IS NOT NULL ORDER BY schedule_id"
    ):
        found.append(f"  schedule {schedule} of {organization} is {state} and opens at {next_open_at}")
    return found
