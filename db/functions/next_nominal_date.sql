-- payroll.next_nominal_date(frequency text, every integer, week_days smallint[], month_days smallint[], skip text,
--                           anchor date, after date)
--
-- Purpose   The next nominal date of a pay schedule. It is counted from the anchor, never from the last run or from
--           today: weeks from the ISO week of the anchor, months from the month of the anchor.
-- Parameters frequency, every, week_days, month_days, skip: as payroll.parse_recurrence returns them (lists ascending,
--           without repeats); anchor: no date is before it; after: the date must be later than this, NULL for the first
--           date of all.
-- Returns   The first date of the rule later than after and not before the anchor, in the years 1 to 9999; NULL when
--           there is none.
-- Errors    none of our own.
-- Tables    none.
-- Called by payroll.claim_due_schedules in one UPDATE over all schedules that it opens, by the functions that create or
--           edit a schedule, by payroll.preview_dates.
--
-- Measured  1.2 µs a call for a weekly rule, 2.0 to 2.7 µs for a monthly one: PostgreSQL 15, 25,000 rows of each kind, the
--           execution time of EXPLAIN ANALYZE SELECT max(payroll.next_nominal_date(…)) FROM … less that of max(after).
--           The same as one SQL expression that PostgreSQL inlines took 0.3 and 0.6 to 3.1 µs, and nobody could read it: it
--           had to write each term up to eight times. PL/pgSQL, then, with simple expressions and no query inside.
CREATE OR REPLACE FUNCTION payroll.next_nominal_date(
    frequency text,
    every integer,
    week_days smallint[],
    month_days smallint[],
    skip text,
    anchor date,
    after date
)
RETURNS date
LANGUAGE plpgsql
IMMUTABLE
PARALLEL SAFE
AS $function$
DECLARE
    earliest date;
    found_date date;
    anchor_monday date;
    weeks integer;
    month_start date;
    months integer;
BEGIN
    IF anchor IS NULL OR anchor < DATE '0001-01-01' OR GREATEST(after, anchor - 1) >= DATE '9999-12-31' THEN
        RETURN NULL;
    END IF;
    earliest := GREATEST(after + 1, anchor);

    IF frequency = 'weekly' THEN
        anchor_monday := anchor - (anchor - DATE '0001-01-01') % 7;  -- 0001-01-01 was a Monday
        weeks := (earliest - anchor_monday) / 7;
        IF weeks % every = 0 THEN
            -- The first listed weekday from earliest's own on; NULL when this week has none left.
            found_date := anchor_monday + weeks * 7 - 1
                + week_days[width_bucket(((earliest - anchor_monday) % 7)::smallint, week_days) + 1];
        END IF;
        IF found_date IS NULL THEN
            found_date := anchor_monday + (weeks / every + 1) * every * 7 - 1 + week_days[1];
        END IF;

    ELSIF frequency = 'monthly' THEN
        months := ((date_part('year', earliest) - date_part('year', anchor)) * 12
            + date_part('month', earliest) - date_part('month', anchor))::integer;
        months := (months + every - 1) / every * every;
        -- A month may lack all the days (SKIP=OMIT). Day 29, 30 or 31 comes back within 6 steps if the steps reach other
        -- months. If they stay in February, leap years decide, and those come back within 16 steps (INTERVAL=900 is 75
        -- years: 2000, then 3200). So 24 steps without the day mean never.
        FOR step IN 1..24 LOOP
            month_start := (date_trunc('month', anchor::timestamp) + make_interval(months => months))::date;
            found_date := payroll.nominal_date_in_month(
                month_days, skip, month_start, GREATEST(earliest, month_start));
            EXIT WHEN found_date IS NOT NULL;
            months := months + every;
        END LOOP;

    ELSIF after IS NULL OR after < anchor THEN
        found_date := anchor;
    END IF;

    IF found_date <= DATE '9999-12-31' THEN
        RETURN found_date;
    END IF;
    RETURN NULL;
END
$function$;
