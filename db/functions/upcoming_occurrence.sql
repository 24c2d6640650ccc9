-- payroll.upcoming_occurrence(schedule_id, frequency … skip, anchor, end_date, pay_time, zone, clock) -> (nominal_date, pay_at)
--   Which occurrence a schedule opens next under the given terms. A new schedule (schedule_id NULL): its first. An existing
--   one: the one that is due and not opened yet, as it is, since a pod might have opened it a moment before the edit; else the first
--   after every date that was opened already, and not in the past. The date that was to come next is not passed over because
--   its new hour is past: it is due at once. Both NULL when none is left.
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
    present payroll.pay_schedule;
    awaited record;
BEGIN
    IF upcoming_occurrence.schedule_id IS NOT NULL THEN
        SELECT max(r.nominal_date) INTO last_opened FROM payroll.pay_run AS r WHERE r.schedule_id = upcoming_occurrence.schedule_id;
        SELECT s.* INTO present FROM payroll.pay_schedule AS s WHERE s.schedule_id = upcoming_occurrence.schedule_id;
        IF present.next_open_at <= upcoming_occurrence.clock
           AND (upcoming_occurrence.end_date IS NULL OR present.next_nominal_date <= upcoming_occurrence.end_date) THEN
            nominal_date := present.next_nominal_date;
            pay_at := present.next_pay_at;
            RETURN;
        END IF;
    END IF;
    SELECT f.nominal_date, f.pay_at INTO nominal_date, pay_at
    FROM payroll.first_occurrence_from(
        frequency, every, week_days, month_days, skip, anchor, last_opened, end_date, pay_time, zone,
        CASE WHEN upcoming_occurrence.schedule_id IS NOT NULL THEN upcoming_occurrence.clock END) AS f;
    IF present.next_nominal_date IS NOT NULL THEN
        SELECT n.nominal_date, n.pay_at INTO awaited
        FROM payroll.next_occurrence(
            frequency, every, week_days, month_days, skip, anchor, greatest(last_opened, present.next_nominal_date - 1),
            end_date, pay_time, zone) AS n;
        IF awaited.nominal_date < coalesce(nominal_date, 'infinity') THEN
            nominal_date := awaited.nominal_date;
            pay_at := awaited.pay_at;
        END IF;
    END IF;
END
$$;
