-- payroll.pause_schedule(organization, schedule, reason) -> void
--   No occurrence of the schedule opens until resume_schedule. Runs that are open go on. Pausing a paused one changes nothing.
-- Errors: PL001 a parameter is missing; PL002 no such schedule; PL003 the schedule has ended or was cancelled.
-- Locks: schedule.   Sends: NOTIFY payroll_work.   Tables: pay_schedule (update), audit_event (insert).
-- Called by: payroll_operator, payroll_approver.
CREATE OR REPLACE FUNCTION payroll.pause_schedule(organization text, schedule text, reason text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    why constant text := payroll.require_reason(pause_schedule.reason);
    locked payroll.pay_schedule;
BEGIN
    locked := payroll.lock_schedule(pause_schedule.organization, pause_schedule.schedule);
    IF locked.state = 'paused' THEN
        RETURN;
    ELSIF locked.state <> 'active' THEN
        RAISE EXCEPTION 'schedule "%" is %: there is nothing to pause', locked.name, locked.state USING ERRCODE = 'PL003';
    END IF;
    UPDATE payroll.pay_schedule AS s
    SET state = 'paused', state_reason = why, version = s.version + 1, changed_at = payroll.read_clock()
    WHERE s.schedule_id = locked.schedule_id;
    PERFORM payroll.record_audit(locked.organization_id, 'pause_schedule', 'schedule ' || locked.name,
        jsonb_build_object('reason', why, 'next_nominal_date', locked.next_nominal_date));
    PERFORM pg_notify('payroll_work', '');
END
$$;
