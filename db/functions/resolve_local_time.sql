-- payroll.resolve_local_time(local_time timestamp, zone text)
--
-- Purpose   What a wall clock's reading means near a clock change. payroll.pay_instant answers most calls without it.
-- Parameters local_time: date and time on the wall clock; zone: IANA region (see payroll.is_time_zone).
-- Returns   One row. kind: 'plain', or 'gap' when the clock never shows local_time, or 'overlap' when it shows it more than
--           once. instant: the moment it is shown; in a gap the first moment after it (the change itself); in an overlap
--           the first of them.
-- Errors    22023 (PostgreSQL's own) when the zone is unknown.
-- Tables    none.
-- Called by payroll.pay_instant, payroll.preview_dates.
--
-- How       The instant lies within 16 hours of local_time read as UTC (offsets go from -15:56:08 to +15:13:42). The clock's
--           offset is constant from one change to the next, so each stretch yields at most one reading. Changes
--           are found by comparing the offset hour by hour (the closest two changes in the zone data are four days apart)
--           and halving the hour to the second. AT TIME ZONE is used only from instant to local time, where it is exact.
CREATE OR REPLACE FUNCTION payroll.resolve_local_time(
    local_time timestamp,
    zone text,
    OUT instant timestamptz,
    OUT kind text
)
LANGUAGE plpgsql
STABLE
PARALLEL SAFE
AS $function$
DECLARE
    as_utc CONSTANT timestamptz := local_time AT TIME ZONE 'UTC';
    stretch_start timestamptz := date_trunc('second', as_utc, 'UTC') - INTERVAL '16 hours';
    last_moment CONSTANT timestamptz := stretch_start + INTERVAL '33 hours';
    clock_offset interval := stretch_start AT TIME ZONE zone - stretch_start AT TIME ZONE 'UTC';
    before_change timestamptz := stretch_start;
    after_change timestamptz;
    next_hour timestamptz;
    middle timestamptz;
    readings integer := 0;
    reading timestamptz;
    first_after_gap timestamptz;
BEGIN
    WHILE before_change < last_moment LOOP
        next_hour := before_change + INTERVAL '1 hour';
        IF next_hour < last_moment
            AND next_hour AT TIME ZONE zone - next_hour AT TIME ZONE 'UTC' = clock_offset THEN
            before_change := next_hour;
            CONTINUE;
        END IF;

        after_change := next_hour;
        IF next_hour < last_moment THEN
            WHILE after_change - before_change > INTERVAL '1 second' LOOP
                middle := date_trunc('second', before_change + (after_change - before_change) / 2, 'UTC');
                IF middle AT TIME ZONE zone - middle AT TIME ZONE 'UTC' = clock_offset THEN
                    before_change := middle;
                ELSE
                    after_change := middle;
                END IF;
            END LOOP;
        END IF;

        -- The stretch [stretch_start, after_change) has clock_offset. Does it show local_time?
        reading := as_utc - clock_offset;
        IF reading < after_change THEN
            IF reading >= stretch_start THEN
                readings := readings + 1;
                instant := COALESCE(instant, reading);
            ELSE
                first_after_gap := COALESCE(first_after_gap, stretch_start);
            END IF;
        END IF;

        stretch_start := after_change;
        before_change := after_change;
        clock_offset := after_change AT TIME ZONE zone - after_change AT TIME ZONE 'UTC';
    END LOOP;

    kind := CASE readings WHEN 0 THEN 'gap' WHEN 1 THEN 'plain' ELSE 'overlap' END;
    instant := COALESCE(instant, first_after_gap);
END
$function$;
