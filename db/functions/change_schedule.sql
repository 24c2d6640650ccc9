-- payroll.change_schedule(organization, schedule, version, rule, first_pay_date, pay_time, time_zone, end_date) -> integer
--   Gives a schedule new terms, from the next occurrence on; all of them are given each time. Runs that are open keep their date.
--   An ended schedule becomes active again when the new terms give a date.
-- Parameters: version: the schedule's version when the caller read it (schedule_overview); terms as in schedule_terms_problem;
--   end_date NULL: no end.
-- Returns: the new version; the old one when nothing differs.
-- Errors: PL001 a term is wrong, or no date is left; PL002 no such schedule; PL003 it was cancelled; PL006 somebody changed it
--   meanwhile; PL007 the rule is not supported.
-- Locks: schedule.   Sends: NOTIFY payroll_work.   Tables: pay_schedule (update), pay_run (read), audit_event (insert).
-- Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.change_schedule(
    organization text, schedule text, version integer,
    rule text, first_pay_date date, pay_time time, time_zone text, end_date date
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    locked payroll.pay_schedule;
    wrong record;
    new_version integer;
BEGIN
    PERFORM payroll.parse_recurrence(change_schedule.rule);
    SELECT t.* INTO wrong FROM payroll.schedule_terms_problem(
        change_schedule.rule, to_char(change_schedule.first_pay_date, 'YYYY-MM-DD'), to_char(change_schedule.pay_time, 'HH24:MI:SS'),
        change_schedule.time_zone, to_char(change_schedule.end_date, 'YYYY-MM-DD')) AS t;
    IF wrong.problem IS NOT NULL THEN
        RAISE EXCEPTION 'change_schedule: % %', wrong.column_name, wrong.problem USING ERRCODE = 'PL001';
    END IF;
    locked := payroll.lock_schedule(change_schedule.organization, change_schedule.schedule);
    IF locked.version IS DISTINCT FROM change_schedule.version THEN
        RAISE EXCEPTION 'schedule "%" is at version %, not %: somebody changed it meanwhile', locked.name, locked.version,
            coalesce(change_schedule.version::text, 'NULL')
            USING ERRCODE = 'PL006', HINT = 'Read it again, then change it.';
    ELSIF (locked.rule, locked.anchor, locked.pay_time, locked.time_zone, locked.end_date) IS NOT DISTINCT FROM
          (change_schedule.rule, change_schedule.first_pay_date, change_schedule.pay_time, change_schedule.time_zone,
           change_schedule.end_date) THEN
        RETURN locked.version;
    END IF;
    new_version := payroll.set_schedule_terms(
        locked.schedule_id, change_schedule.rule, change_schedule.first_pay_date, change_schedule.pay_time, change_schedule.time_zone,
        change_schedule.end_date, payroll.read_clock());
    PERFORM payroll.record_audit(locked.organization_id, 'change_schedule', 'schedule ' || locked.name, jsonb_build_object(
        'old', jsonb_build_object('rule', locked.rule, 'first_pay_date', locked.anchor, 'pay_time', locked.pay_time,
                                  'time_zone', locked.time_zone, 'end_date', locked.end_date),
        'new', jsonb_build_object('rule', change_schedule.rule, 'first_pay_date', change_schedule.first_pay_date,
                                  'pay_time', change_schedule.pay_time, 'time_zone', change_schedule.time_zone,
                                  'end_date', change_schedule.end_date)));
    PERFORM pg_notify('payroll_work', '');
    RETURN new_version;
END
$$;
