-- payroll.next_occurrence(frequency … skip, anchor, after, end_date, pay_time, zone) -> (nominal_date, pay_at)
--   The first occurrence after the nominal date `after` (NULL: from the anchor on) and not after end_date
--   (local, inclusive; NULL: no end). One row always; both columns NULL when no occurrence is left.
-- Parameters: as next_nominal_date and pay_instant; zone is an IANA name.
-- Errors: those of pay_instant.   Tables: none.   Called by: claim_due_schedules, operator functions.
CREATE OR REPLACE FUNCTION payroll.next_occurrence(
    frequency text, every integer, week_days smallint[], month_days smallint[], skip text,
    anchor date, after date, end_date date, pay_time time, zone text,
    OUT nominal_date date, OUT pay_at timestamptz
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
BEGIN
    nominal_date := payroll.next_nominal_date(frequency, every, week_days, month_days, skip, anchor, after);
    IF nominal_date > end_date THEN
        nominal_date := NULL;
    END IF;
    IF nominal_date IS NOT NULL THEN
        pay_at := payroll.pay_instant(nominal_date, pay_time, zone);
    END IF;
END
$$;
