-- payroll.resume_schedule(organization, schedule, missed, reason) -> (state, skipped, next_nominal_date, next_pay_at)
--   Lets a paused schedule go on. What becomes of the dates it missed is said, never guessed.
-- Parameters: missed 'skip': they are passed over, and the next date is the first still to come; 'open': each opens as a run
--   of its own, oldest first, and pays late; reason in plain words.
-- Returns: the schedule's state ('ended' when no date is left), how many dates were passed over, and the next one.
--   Resuming an active schedule changes nothing.
-- Errors: PL001 a parameter is missing or unknown; PL002 no such schedule; PL003 the schedule has ended or was cancelled.
-- Locks: schedule.   Sends: NOTIFY payroll_work.   Tables: pay_schedule (update), audit_event (insert).
-- Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.resume_schedule(
    organization text, schedule text, missed text, reason text,
    OUT state text, OUT skipped integer, OUT next_nominal_date date, OUT next_pay_at timestamptz
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    why constant text := payroll.require_reason(resume_schedule.reason);
    locked payroll.pay_schedule;
    upcoming record;
BEGIN
    IF resume_schedule.missed IS NULL OR resume_schedule.missed NOT IN ('skip', 'open') THEN
        RAISE EXCEPTION 'resume_schedule: missed must be ''skip'' or ''open''' USING ERRCODE = 'PL001',
            HINT = 'skip passes over the dates missed while it was paused; open pays each of them now.';
    END IF;
    locked := payroll.lock_schedule(resume_schedule.organization, resume_schedule.schedule);
    IF locked.state NOT IN ('active', 'paused') THEN
        RAISE EXCEPTION 'schedule "%" is %: it can''t be resumed', locked.name, locked.state
            USING ERRCODE = 'PL003', HINT = 'An ended schedule goes on with new terms (change_schedule); a cancelled one never.';
    END IF;
    resume_schedule.skipped := 0;
    IF locked.state = 'paused' THEN
        SELECT f.* INTO upcoming FROM payroll.first_occurrence_from(
            locked.recurrence_frequency, locked.recurrence_every, locked.recurrence_week_days, locked.recurrence_month_days,
            locked.recurrence_skip, locked.anchor, locked.next_nominal_date - 1, locked.end_date, locked.pay_time, locked.time_zone,
            CASE resume_schedule.missed WHEN 'skip' THEN clock END) AS f;
        resume_schedule.skipped := upcoming.skipped;
        UPDATE payroll.pay_schedule AS s
        SET state = CASE WHEN upcoming.nominal_date IS NULL THEN 'ended' ELSE 'active' END::payroll.schedule_state,
            state_reason = CASE WHEN upcoming.nominal_date IS NULL THEN 'no pay date was left when it was resumed' END,
            next_nominal_date = upcoming.nominal_date, next_pay_at = upcoming.pay_at, next_open_at = upcoming.pay_at - s.lead_time,
            version = s.version + 1, changed_at = clock
        WHERE s.schedule_id = locked.schedule_id
        RETURNING s.* INTO locked;
        PERFORM payroll.record_audit(locked.organization_id, 'resume_schedule', 'schedule ' || locked.name,
            jsonb_build_object('reason', why, 'missed', resume_schedule.missed, 'skipped', upcoming.skipped,
                               'next_nominal_date', locked.next_nominal_date));
        PERFORM pg_notify('payroll_work', '');
    END IF;
    resume_schedule.state := locked.state::text;
    resume_schedule.next_nominal_date := locked.next_nominal_date;
    resume_schedule.next_pay_at := locked.next_pay_at;
END
$$;
