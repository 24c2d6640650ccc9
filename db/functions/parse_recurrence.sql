-- payroll.parse_recurrence(rule text)
--
-- Purpose   Reads the recurrence rule of a pay schedule, once, at the door. What comes out is stored on
--           payroll.pay_schedule, so that nothing parses text while runs are opened. A part that is not
--           supported is refused by its name; no part is ever ignored.
-- Parameter rule: one of
--             ONCE                                                  the anchor date alone
--             FREQ=WEEKLY[;INTERVAL=n];BYDAY=MO,FR[;WKST=MO]        every n weeks on these weekdays
--             FREQ=MONTHLY[;INTERVAL=n];BYMONTHDAY=15,-1[;SKIP=OMIT|BACKWARD][;RSCALE=GREGORIAN]
--                                                                   every n months on these days
--           Parts of RFC 5545 and RFC 7529, in any order, in either case, after an optional "RRULE:".
--           n is 1 to 999. Month days are 1 to 31 from the start, -1 to -28 from the end. SKIP says what
--           happens in a month without the day: OMIT (the default) pays nothing, BACKWARD pays on the
--           month's last day.
-- Returns   One row: frequency ('once', 'weekly', 'monthly'); every (weeks or months, 1 for once);
--           week_days (ISO, 1 = Monday), NULL unless weekly; month_days, NULL unless monthly;
--           skip ('omit', 'backward'). Both lists ascending and without repeats: next_nominal_date
--           searches them by bisection.
-- Errors    PL001 the text is not a rule; PL007 a rule, but with something that is not supported.
-- Tables    none.
-- Called by the functions that create or edit a schedule, payroll.preview_dates.
CREATE OR REPLACE FUNCTION payroll.parse_recurrence(
    rule text,
    OUT frequency text,
    OUT every integer,
    OUT week_days smallint[],
    OUT month_days smallint[],
    OUT skip text
)
LANGUAGE plpgsql
IMMUTABLE
PARALLEL SAFE
AS $function$
DECLARE
    -- RFC 5545 and RFC 7529 know these parts; any other name is a mistake.
    known_parts CONSTANT text[] := ARRAY[
        'FREQ', 'INTERVAL', 'BYDAY', 'BYMONTHDAY', 'WKST', 'SKIP', 'RSCALE', 'COUNT', 'UNTIL',
        'BYSECOND', 'BYMINUTE', 'BYHOUR', 'BYYEARDAY', 'BYWEEKNO', 'BYMONTH', 'BYSETPOS'];
    known_frequencies CONSTANT text[] := ARRAY[
        'SECONDLY', 'MINUTELY', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'];
    week_day_names CONSTANT text[] := ARRAY['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];
    body text := upper(btrim(rule));
    part text;
    part_name text;
    part_value text;
    item text;
    day integer;
    parts jsonb := '{}'::jsonb;
BEGIN
    IF body IS NULL OR body = '' THEN
        RAISE EXCEPTION 'the recurrence rule is empty: write ONCE, FREQ=WEEKLY;BYDAY=… or FREQ=MONTHLY;BYMONTHDAY=…'
            USING ERRCODE = 'PL001';
    END IF;
    IF length(body) > 500 THEN
        RAISE EXCEPTION 'the recurrence rule has % characters: at most 500 are read', length(body)
            USING ERRCODE = 'PL001';
    END IF;

    every := 1;
    skip := 'omit';
    IF body = 'ONCE' THEN
        frequency := 'once';
        RETURN;
    END IF;

    -- Take the text apart: NAME=VALUE, each name once.
    FOREACH part IN ARRAY string_to_array(regexp_replace(body, '^RRULE:', ''), ';') LOOP
        IF part !~ '^[A-Z]+=[^=\s]+$' THEN
            RAISE EXCEPTION 'recurrence rule "%": "%" is not of the form NAME=VALUE without spaces', rule, part
                USING ERRCODE = 'PL001';
        END IF;
        part_name := split_part(part, '=', 1);
        part_value := split_part(part, '=', 2);
        IF part_name <> ALL (known_parts) THEN
            RAISE EXCEPTION 'recurrence rule "%": % is not a part of a recurrence rule: correct or remove it', rule, part_name
                USING ERRCODE = 'PL001';
        END IF;
        IF parts ? part_name THEN
            RAISE EXCEPTION 'recurrence rule "%": % is given twice: keep one', rule, part_name
                USING ERRCODE = 'PL001';
        END IF;
        parts := parts || jsonb_build_object(part_name, part_value);
    END LOOP;

    part_value := parts ->> 'FREQ';
    IF part_value IS NULL THEN
        RAISE EXCEPTION 'recurrence rule "%": FREQ is missing: write FREQ=WEEKLY or FREQ=MONTHLY, or ONCE for a single date', rule
            USING ERRCODE = 'PL001';
    ELSIF part_value <> ALL (known_frequencies) THEN
        RAISE EXCEPTION 'recurrence rule "%": FREQ=% is not a frequency: write FREQ=WEEKLY or FREQ=MONTHLY', rule, part_value
            USING ERRCODE = 'PL001';
    ELSIF part_value NOT IN ('WEEKLY', 'MONTHLY') THEN
        RAISE EXCEPTION 'recurrence rule "%": FREQ=% is not supported: write FREQ=WEEKLY or FREQ=MONTHLY', rule, part_value
            USING ERRCODE = 'PL007';
    END IF;
    frequency := lower(part_value);

    -- Parts that exist but are not supported, by name and with what to do instead.
    FOREACH part_name IN ARRAY ARRAY[
        'COUNT', 'UNTIL', 'BYSETPOS', 'BYMONTH', 'BYWEEKNO', 'BYYEARDAY', 'BYHOUR', 'BYMINUTE', 'BYSECOND'] LOOP
        IF parts ? part_name THEN
            RAISE EXCEPTION 'recurrence rule "%": % is not supported: %', rule, part_name, CASE
                    WHEN part_name IN ('COUNT', 'UNTIL') THEN 'remove it and give the schedule an end date'
                    WHEN part_name IN ('BYHOUR', 'BYMINUTE', 'BYSECOND') THEN 'remove it and give the schedule a pay time'
                    ELSE 'use FREQ=WEEKLY with BYDAY or FREQ=MONTHLY with BYMONTHDAY' END
                USING ERRCODE = 'PL007';
        END IF;
    END LOOP;

    IF parts ? 'INTERVAL' THEN
        part_value := parts ->> 'INTERVAL';
        IF part_value !~ '^[0-9]+$' OR part_value ~ '^0+$' THEN
            RAISE EXCEPTION 'recurrence rule "%": INTERVAL=% must be a whole number from 1 to 999', rule, part_value
                USING ERRCODE = 'PL001';
        ELSIF length(ltrim(part_value, '0')) > 3 THEN
            RAISE EXCEPTION 'recurrence rule "%": INTERVAL=% is not supported: at most 999', rule, part_value
                USING ERRCODE = 'PL007';
        END IF;
        every := part_value::integer;
    END IF;

    IF parts ? 'WKST' THEN
        part_value := parts ->> 'WKST';
        IF part_value <> ALL (week_day_names) THEN
            RAISE EXCEPTION 'recurrence rule "%": WKST=% is not a weekday: write WKST=MO or remove it', rule, part_value
                USING ERRCODE = 'PL001';
        ELSIF part_value <> 'MO' THEN
            RAISE EXCEPTION 'recurrence rule "%": WKST=% is not supported: weeks start on Monday, write WKST=MO or remove it', rule, part_value
                USING ERRCODE = 'PL007';
        ELSIF frequency <> 'weekly' THEN
            RAISE EXCEPTION 'recurrence rule "%": WKST is not supported with FREQ=MONTHLY: remove it', rule
                USING ERRCODE = 'PL007';
        END IF;
    END IF;

    IF parts ? 'RSCALE' AND parts ->> 'RSCALE' <> 'GREGORIAN' THEN
        RAISE EXCEPTION 'recurrence rule "%": RSCALE=% is not supported: write RSCALE=GREGORIAN or remove it', rule, parts ->> 'RSCALE'
            USING ERRCODE = 'PL007';
    END IF;

    IF parts ? 'SKIP' THEN
        part_value := parts ->> 'SKIP';
        IF part_value NOT IN ('OMIT', 'BACKWARD', 'FORWARD') THEN
            RAISE EXCEPTION 'recurrence rule "%": SKIP=% is not known: write SKIP=OMIT or SKIP=BACKWARD', rule, part_value
                USING ERRCODE = 'PL001';
        ELSIF part_value = 'FORWARD' THEN
            RAISE EXCEPTION 'recurrence rule "%": SKIP=FORWARD is not supported: write SKIP=BACKWARD for the last day of a short month, or SKIP=OMIT', rule
                USING ERRCODE = 'PL007';
        ELSIF frequency <> 'monthly' THEN
            RAISE EXCEPTION 'recurrence rule "%": SKIP is not supported with FREQ=WEEKLY: remove it', rule
                USING ERRCODE = 'PL007';
        END IF;
        skip := lower(part_value);
    END IF;

    IF frequency = 'weekly' THEN
        IF parts ? 'BYMONTHDAY' THEN
            RAISE EXCEPTION 'recurrence rule "%": BYMONTHDAY does not go with FREQ=WEEKLY: use BYDAY, or FREQ=MONTHLY', rule
                USING ERRCODE = 'PL001';
        ELSIF NOT parts ? 'BYDAY' THEN
            RAISE EXCEPTION 'recurrence rule "%": FREQ=WEEKLY without BYDAY is not supported: name the weekdays, such as BYDAY=FR', rule
                USING ERRCODE = 'PL007';
        END IF;
        week_days := '{}';
        FOREACH item IN ARRAY string_to_array(parts ->> 'BYDAY', ',') LOOP
            IF item ~ '^[+-]?[0-9]+(MO|TU|WE|TH|FR|SA|SU)$' THEN
                RAISE EXCEPTION 'recurrence rule "%": BYDAY=% is not supported: name weekdays without a number, such as BYDAY=FR', rule, item
                    USING ERRCODE = 'PL007';
            END IF;
            day := array_position(week_day_names, item);
            IF day IS NULL THEN
                RAISE EXCEPTION 'recurrence rule "%": "%" in BYDAY is not a weekday: use MO, TU, WE, TH, FR, SA, SU, separated by commas', rule, item
                    USING ERRCODE = 'PL001';
            ELSIF day = ANY (week_days) THEN
                RAISE EXCEPTION 'recurrence rule "%": BYDAY names % twice: keep one', rule, item
                    USING ERRCODE = 'PL001';
            END IF;
            week_days := week_days || day::smallint;
        END LOOP;
        week_days := ARRAY(SELECT list.day FROM unnest(week_days) AS list (day) ORDER BY list.day);
        RETURN;
    END IF;

    IF parts ? 'BYDAY' THEN
        RAISE EXCEPTION 'recurrence rule "%": BYDAY is not supported with FREQ=MONTHLY: use BYMONTHDAY, or FREQ=WEEKLY', rule
            USING ERRCODE = 'PL007';
    ELSIF NOT parts ? 'BYMONTHDAY' THEN
        RAISE EXCEPTION 'recurrence rule "%": FREQ=MONTHLY without BYMONTHDAY is not supported: name the days, such as BYMONTHDAY=15,-1', rule
            USING ERRCODE = 'PL007';
    END IF;
    month_days := '{}';
    FOREACH item IN ARRAY string_to_array(parts ->> 'BYMONTHDAY', ',') LOOP
        IF item !~ '^[+-]?[0-9]{1,2}$' OR item::integer NOT BETWEEN -31 AND 31 OR item::integer = 0 THEN
            RAISE EXCEPTION 'recurrence rule "%": "%" in BYMONTHDAY is not a day of a month: use 1 to 31, or -1 to -28 from the end', rule, item
                USING ERRCODE = 'PL001';
        END IF;
        day := item::integer;
        IF day < -28 THEN
            RAISE EXCEPTION 'recurrence rule "%": BYMONTHDAY=% is not supported: days from the end go to -28, which every month has', rule, item
                USING ERRCODE = 'PL007';
        ELSIF day = ANY (month_days) THEN
            RAISE EXCEPTION 'recurrence rule "%": BYMONTHDAY names % twice: keep one', rule, day
                USING ERRCODE = 'PL001';
        END IF;
        month_days := month_days || day::smallint;
    END LOOP;
    month_days := ARRAY(SELECT list.day FROM unnest(month_days) AS list (day) ORDER BY list.day);
END
$function$;
