-- payroll.first_occurrence_from(frequency … skip, anchor, after, end_date, pay_time, zone, not_before) -> (nominal_date, pay_at, skipped)
--   The first occurrence after the nominal date `after` that pays at or after the moment not_before, and how many
--   occurrences were passed over. Both columns NULL when none is left.
-- Parameters: as next_occurrence; not_before NULL: none is passed over.
-- Errors: those of next_occurrence.   Tables: none.   Called by: functions that change or resume a schedule. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.first_occurrence_from(
    frequency text, every integer, week_days smallint[], month_days smallint[], skip text,
    anchor date, after date, end_date date, pay_time time, zone text, not_before timestamptz,
    OUT nominal_date date, OUT pay_at timestamptz, OUT skipped integer
)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
BEGIN
    nominal_date := after;
    skipped := -1;
    LOOP
        SELECT n.nominal_date, n.pay_at INTO nominal_date, pay_at
        FROM payroll.next_occurrence(frequency, every, week_days, month_days, skip, anchor, nominal_date, end_date, pay_time, zone) AS n;
        skipped := skipped + 1;
        EXIT WHEN nominal_date IS NULL OR not_before IS NULL OR pay_at >= not_before;
    END LOOP;
END
$$;
