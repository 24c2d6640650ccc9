-- payroll.preview_dates(rule text, anchor date, pay_time time, zone text, end_date date, count integer)
--
-- Purpose   Shows the first pay dates of a schedule before (or after) it is written, with what is unusual about each.
-- Parameters rule: see payroll.parse_recurrence; anchor: first possible date; pay_time: local time on the wall clock; zone:
--           IANA region; end_date: last possible date, inclusive and local, NULL for none; count: how many dates, 1 to 1000.
-- Returns   One row for each date, ascending: nominal_date (names the run), adjusted_date (when it pays; the same until
--           business-day conventions exist), pay_at, local_time (what the wall clock shows at pay_at), note (NULL, or
--           in plain words: clamped to a short month's end, clock gap, clock overlap).
-- Errors    PL001 a missing or bad parameter; PL007 a rule that is not supported.
-- Tables    none.
-- Called by people, through paylock schedule preview.
CREATE OR REPLACE FUNCTION payroll.preview_dates(
    rule text,
    anchor date,
    pay_time time,
    zone text,
    end_date date,
    count integer
)
RETURNS TABLE (
    nominal_date date,
    adjusted_date date,
    pay_at timestamptz,
    local_time timestamp,
    note text
)
LANGUAGE plpgsql
VOLATILE
AS $function$
DECLARE
    recurrence record;
    resolved record;
    wanted timestamp;
BEGIN
    IF anchor IS NULL OR NOT isfinite(anchor) OR anchor < DATE '0001-01-01' OR anchor > DATE '9999-12-31' THEN
        RAISE EXCEPTION 'the first date is missing or out of range: give a date in the years 1 to 9999'
            USING ERRCODE = 'PL001';
    ELSIF pay_time IS NULL THEN
        RAISE EXCEPTION 'the pay time is missing: give a local time such as 09:00'
            USING ERRCODE = 'PL001';
    ELSIF payroll.is_time_zone(zone) IS NOT TRUE THEN
        RAISE EXCEPTION 'time zone % is not the name of an IANA region: write one such as Europe/Berlin', COALESCE(quote_literal(zone), 'NULL')
            USING ERRCODE = 'PL001';
    ELSIF count IS NULL OR count NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'cannot show % dates: ask for 1 to 1000', COALESCE(count::text, 'NULL')
            USING ERRCODE = 'PL001';
    END IF;

    recurrence := payroll.parse_recurrence(rule);
    FOR occurrence IN 1..count LOOP
        nominal_date := payroll.next_nominal_date(
            recurrence.frequency, recurrence.every, recurrence.week_days, recurrence.month_days, recurrence.skip,
            anchor, nominal_date);
        EXIT WHEN nominal_date IS NULL OR nominal_date > end_date;

        adjusted_date := nominal_date;
        wanted := adjusted_date + pay_time;
        resolved := payroll.resolve_local_time(wanted, zone);
        pay_at := resolved.instant;
        local_time := pay_at AT TIME ZONE zone;
        note := NULLIF(concat_ws('; ',
            CASE
                WHEN recurrence.skip = 'backward'
                    AND NOT (date_part('day', nominal_date) = ANY (recurrence.month_days) OR -1 = ANY (recurrence.month_days))
                    -- A day from the end that falls on the last day can only be -1, so this one was clamped.
                    AND nominal_date = (date_trunc('month', nominal_date::timestamp) + INTERVAL '1 month')::date - 1
                    THEN 'the month is short: moved to its last day'
            END,
            CASE resolved.kind
                WHEN 'gap' THEN format('the clock skips %s: pays at the first moment after it, %s',
                    to_char(wanted, 'HH24:MI'), to_char(local_time, 'YYYY-MM-DD HH24:MI'))
                WHEN 'overlap' THEN format('the clock shows %s twice: pays at the first', to_char(wanted, 'HH24:MI'))
            END), '');
        RETURN NEXT;
    END LOOP;
END
$function$;
