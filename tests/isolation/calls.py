"""What sessions do: the calls under test, each as SQL that gives one text without ids and clock readings."""

from tests.isolation.spec import Call

# record_envelope: the batch is no longer this pod's, or it is closed or held.
GONE = frozenset({"PL004", "PL008"})


def claim_due(pod: str, *stops: str) -> Call:
    sql = (
        "SELECT coalesce(string_agg(c.organization || ' ' || c.payments || ' lines ' || c.totals, ', '"
        f" ORDER BY c.nominal_date), 'nothing') FROM payroll.claim_due_schedules('{pod}') AS c"
    )
    return Call("claim_due", sql, stops=stops)


def claim_payments(pod: str, *stops: str) -> Call:
    sql = (
        "SELECT coalesce(max(concat_ws(' ', c.organization, c.slot % 1000, c.memo_value,"
        " jsonb_path_query_array(c.lines, '$.amount'), stage.note(c.batch_id, c.claim_token, c.slot))),"
        f" 'nothing') FROM payroll.claim_payments('{pod}') AS c"
    )
    return Call("claim_payments", sql, stops=stops)


def record(label: str, envelope: str, *stops: str) -> Call:
    """record_envelope for a batch of the scenario, with the token of its first claim."""
    return Call("record", f"SELECT stage.record('{label}', '{envelope}')", GONE, stops)


def record_own(envelope: str) -> Call:
    """record_envelope for the batch that this session has claimed before; nothing if it has none."""
    return Call("record_own", f"SELECT stage.record_own('{envelope}')", GONE)


def settle_own(envelope: str, ledger: int) -> Call:
    """settle_batch as succeeded, for the batch that this session has claimed and signed before."""
    return Call("settle_own", f"SELECT stage.settle_own('{envelope}', {ledger})", frozenset({"PL002"}))


def release(label: str, *stops: str) -> Call:
    sql = (
        "SELECT CASE WHEN payroll.release_batch(b.batch_id, b.claim_token) THEN 'released' ELSE 'nothing' END"
        f" FROM stage.batch AS b WHERE b.label = '{label}'"
    )
    return Call("release", sql, stops=stops)


def rescue(pod: str, *stops: str) -> Call:
    """claim_abandoned_batches. No row may also mean that it released something: that shows in the tables."""
    sql = (
        "SELECT coalesce(string_agg(concat_ws(' ', 'took', c.slot % 1000, jsonb_array_length(c.envelopes)),"
        f" ', ' ORDER BY c.slot % 1000), 'nothing') FROM payroll.claim_abandoned_batches('{pod}', NULL) AS c"
    )
    return Call("rescue", sql, stops=stops)


def settle(
    label: str,
    envelope: str,
    ledger: int,
    code: str = "tx_success",
    codes: str = "NULL",
    refusals: str = "",
    stops: str = "",
) -> Call:
    """settle_batch; `codes` an SQL array of operation codes, `refusals` and `stops` words."""
    sql = f"SELECT stage.settle('{label}', '{envelope}', {ledger}, '{code}', {codes}, NULL)"
    return Call("settle", sql, frozenset(refusals.split()), tuple(stops.split()))


def quarantine(label: str) -> Call:
    sql = (
        "SELECT 'quarantined' || payroll.quarantine_batch(b.batch_id, 'foreign transaction', '[]')"
        f" FROM stage.batch AS b WHERE b.label = '{label}'"
    )
    return Call("quarantine", sql, frozenset({"PL008"}))


def hold(label: str) -> Call:
    sql = (
        "SELECT 'held' || payroll.hold_batch(b.batch_id, b.claim_token, 'unlisted code')"
        f" FROM stage.batch AS b WHERE b.label = '{label}'"
    )
    return Call("hold", sql, GONE)


def resume(organization: str, label: str) -> Call:
    """resume_batch: clears a hold and takes the batch from the pod that had it."""
    sql = (
        f"SELECT CASE WHEN payroll.resume_batch('{organization}', b.batch_id, 'a test') THEN 'resumed'"
        f" ELSE 'nothing' END FROM stage.batch AS b WHERE b.label = '{label}'"
    )
    return Call("resume", sql, frozenset({"PL008"}))


def refuse_first(label: str) -> Call:
    """refuse_payments for the batch's first payment."""
    sql = (
        "SELECT payroll.refuse_payments(b.batch_id, b.claim_token, ARRAY[(SELECT min(line.payment_id)"
        " FROM stage.open_line AS line WHERE line.batch_id = b.batch_id)], 'memo_required') || ' left'"
        f" FROM stage.batch AS b WHERE b.label = '{label}'"
    )
    return Call("refuse", sql, GONE)


def retire(pod: str) -> Call:
    return Call("retire", f"SELECT 'retired' || payroll.retire_pod('{pod}')")


def pause_schedule(organization: str, schedule: str) -> Call:
    sql = f"SELECT 'paused' || payroll.pause_schedule('{organization}', '{schedule}', 'a test')"
    return Call("pause_schedule", sql, frozenset({"PL003"}))


def resume_schedule(organization: str, schedule: str, missed: str) -> Call:
    sql = (
        "SELECT concat_ws(' ', r.state, r.skipped)"
        f" FROM payroll.resume_schedule('{organization}', '{schedule}', '{missed}', 'a test') AS r"
    )
    return Call("resume_schedule", sql, frozenset({"PL003"}))


def cancel_schedule(organization: str, schedule: str) -> Call:
    sql = f"SELECT payroll.cancel_schedule('{organization}', '{schedule}', 'a test')::text"
    return Call("cancel_schedule", sql)


def change_terms(organization: str, schedule: str) -> Call:
    """change_schedule to the day after, at another hour; refused when somebody changed it meanwhile."""
    sql = (
        f"SELECT 'version ' || payroll.change_schedule('{organization}', '{schedule}', 1,"
        " stage.rule_of_tomorrow(), stage.today() + 1, '09:00', 'UTC', NULL)"
    )
    return Call("change_schedule", sql, frozenset({"PL006", "PL003"}))


def edit_lines(schedule: str) -> Call:
    """New amounts and a new memo under the schedule's lock, as an import makes them."""
    return Call("edit_lines", f"SELECT stage.edit_lines('{schedule}')")


def cancel_run(organization: str, schedule: str) -> Call:
    sql = (
        f"SELECT payroll.cancel_run('{organization}', r.run_id, 'a test')::text"
        f" FROM stage.run AS r WHERE r.schedule = '{schedule}'"
    )
    return Call("cancel_run", sql, frozenset({"PL003"}))
