-- payroll.set_schedule_terms(schedule_id, rule, anchor, pay_time, zone, end_date, clock) -> integer
--   Gives a schedule new terms and finds the occurrence that opens next under them (see upcoming_occurrence). Runs that are open
--   keep their date. An ended schedule becomes active again, a paused one stays paused.
--   The caller holds the schedule's lock and has checked the terms (schedule_terms_problem).
-- Returns: the schedule's new version.
-- Errors: PL001 no pay date is left with these terms; PL003 the schedule was cancelled.
-- Tables: pay_schedule (update), pay_run (read).
-- Called by: change_schedule, import_schedule_terms. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.set_schedule_terms(
    schedule_id bigint, rule text, anchor date, pay_time time, zone text, end_date date, clock timestamptz
) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    parts record;
    upcoming record;
    new_version integer;
BEGIN
    parts := payroll.parse_recurrence(set_schedule_terms.rule);
    SELECT n.* INTO upcoming FROM payroll.upcoming_occurrence(
        set_schedule_terms.schedule_id, parts.frequency, parts.every, parts.week_days, parts.month_days, parts.skip,
        set_schedule_terms.anchor, set_schedule_terms.end_date, set_schedule_terms.pay_time, set_schedule_terms.zone,
        set_schedule_terms.clock) AS n;
    IF upcoming.nominal_date IS NULL THEN
        RAISE EXCEPTION 'no pay date is left with these terms' USING ERRCODE = 'PL001', HINT = 'Give later dates, or cancel the schedule.';
    END IF;
    UPDATE payroll.pay_schedule AS s
    SET rule = set_schedule_terms.rule, recurrence_frequency = parts.frequency, recurrence_every = parts.every,
        recurrence_week_days = parts.week_days, recurrence_month_days = parts.month_days, recurrence_skip = parts.skip,
        anchor = set_schedule_terms.anchor, end_date = set_schedule_terms.end_date,
        pay_time = set_schedule_terms.pay_time, time_zone = set_schedule_terms.zone,
        next_nominal_date = upcoming.nominal_date, next_pay_at = upcoming.pay_at, next_open_at = upcoming.pay_at - s.lead_time,
        state = CASE s.state WHEN 'ended' THEN 'active' ELSE s.state END,
        state_reason = CASE s.state WHEN 'ended' THEN NULL ELSE s.state_reason END,
        version = s.version + 1, changed_at = set_schedule_terms.clock
    WHERE s.schedule_id = set_schedule_terms.schedule_id AND s.state <> 'cancelled'
    RETURNING s.version INTO new_version;
    IF new_version IS NULL THEN
        RAISE EXCEPTION 'the schedule was cancelled: it never pays again' USING ERRCODE = 'PL003', HINT = 'Create one with another name.';
    END IF;
    RETURN new_version;
END
$$;
