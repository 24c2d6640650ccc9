-- payroll.cancel_run(organization, run_id, reason) -> jsonb
--   Stops a run at once: what is not in an envelope yet is cancelled, what is on its way to the ledger settles as the ledger says.
--   Cancelling again changes nothing.
-- Returns: {"runs", "cancelled", "in_flight"} as stop_runs; runs is 0 when the run was cancelled before.
-- Errors: PL001 a parameter is missing; PL002 the organization has no such run; PL003 the run has ended, paid.
-- Locks: run, channels, batches.   Sends: NOTIFY payroll_work.
-- Tables: see stop_runs; audit_event (insert).   Called by: payroll_operator, payroll_approver.
CREATE OR REPLACE FUNCTION payroll.cancel_run(organization text, run_id bigint, reason text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    why constant text := payroll.require_reason(cancel_run.reason);
    owner_id constant bigint := payroll.organization_id_of(cancel_run.organization);
    run payroll.pay_run;
    outcome jsonb;
BEGIN
    SELECT r.* INTO run FROM payroll.pay_run AS r
    WHERE r.run_id = cancel_run.run_id AND r.organization_id = owner_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'organization "%" has no run %', cancel_run.organization, coalesce(cancel_run.run_id::text, 'NULL')
            USING ERRCODE = 'PL002', HINT = 'See payroll.run_overview (paylock run list).';
    ELSIF run.state IN ('paid', 'partly_paid') AND run.cancel_requested_at IS NULL THEN
        RAISE EXCEPTION 'run % is %: it can''t be cancelled any more', cancel_run.run_id, run.state USING ERRCODE = 'PL003';
    END IF;
    outcome := payroll.stop_runs(ARRAY[cancel_run.run_id], why, payroll.read_clock());
    IF (outcome ->> 'runs')::integer > 0 THEN
        PERFORM payroll.record_audit(owner_id, 'cancel_run', 'run ' || cancel_run.run_id, outcome || jsonb_build_object('reason', why));
        PERFORM pg_notify('payroll_work', '');
    END IF;
    RETURN outcome;
END
$$;
