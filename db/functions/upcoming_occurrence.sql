-- payroll.upcoming_occurrence(schedule_id, frequency … skip, anchor, end_date, pay_time, zone, clock) -> (nominal_date, pay_at)
--   Which occurrence a schedule opens next under the given terms. A new schedule (schedule_id NULL): its first. An existing
--   one: the first after every date that was opened already, and not in the past; but one that is due and not opened yet
--   isn't lost by an edit. Both NULL when none is left.
-- Parameters: the terms as next_occurrence takes them; clock: the caller's reading of the clock.
-- Errors: those of next_occurrence.   Tables: pay_schedule, pay_run (read).
-- Called by: import_schedule_problems, apply_payroll_import, change_schedule. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.upcoming_occurrence(
    schedule_id bigint, frequency text, every integer, week_days smallint[], month_days smallint[], skip text,
    anchor date, end_date date, pay_time time, zone text, clock timestamptz,
    OUT nominal_date date, OUT pay_at timestamptz
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    last_opened date;
    earliest timestamptz;
BEGIN
    IF upcoming_occurrence.schedule_id IS NOT NULL THEN
        SELECT max(r.nominal_date) INTO last_opened FROM payroll.pay_run AS r WHERE r.schedule_id = upcoming_occurrence.schedule_id;
        SELECT least(upcoming_occurrence.clock, s.next_pay_at) INTO earliest
        FROM payroll.pay_schedule AS s WHERE s.schedule_id = upcoming_occurrence.schedule_id;
    END IF;
    SELECT f.nominal_date, f.pay_at INTO nominal_date, pay_at
    FROM payroll.first_occurrence_from(
        frequency, every, week_days, month_days, skip, anchor, last_opened, end_date, pay_time, zone, earliest) AS f;
END
$$;
