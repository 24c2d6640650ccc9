-- payroll.cancel_schedule(organization, schedule, reason) -> jsonb
--   Ends a schedule for ever: no occurrence opens any more, and what is left of its open runs is stopped as in cancel_run.
--   No pod brings it back to life, since 'cancelled' has no way out. Cancelling again changes nothing.
-- Returns: {"runs", "cancelled", "in_flight"} as stop_runs.
-- Errors: PL001 a parameter is missing; PL002 no such schedule.
-- Locks: schedule, runs, channels, batches.   Sends: NOTIFY payroll_work.
-- Tables: pay_schedule (update); see stop_runs; audit_event (insert).   Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.cancel_schedule(organization text, schedule text, reason text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    why constant text := payroll.require_reason(cancel_schedule.reason);
    locked payroll.pay_schedule;
    outcome jsonb;
BEGIN
    locked := payroll.lock_schedule(cancel_schedule.organization, cancel_schedule.schedule);
    IF locked.state <> 'cancelled' THEN
        UPDATE payroll.pay_schedule AS s
        SET state = 'cancelled', state_reason = why, next_nominal_date = NULL, next_pay_at = NULL, next_open_at = NULL,
            version = s.version + 1, changed_at = clock
        WHERE s.schedule_id = locked.schedule_id;
    END IF;
    outcome := payroll.stop_runs(
        ARRAY(SELECT r.run_id FROM payroll.pay_run AS r
              WHERE r.schedule_id = locked.schedule_id AND r.state NOT IN ('paid', 'partly_paid', 'cancelled')),
        why, clock);
    IF locked.state <> 'cancelled' OR (outcome ->> 'runs')::integer > 0 THEN
        PERFORM payroll.record_audit(locked.organization_id, 'cancel_schedule', 'schedule ' || locked.name,
            outcome || jsonb_build_object('reason', why));
        PERFORM pg_notify('payroll_work', '');
    END IF;
    RETURN outcome;
END
$$;
