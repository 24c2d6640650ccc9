-- payroll.schedule_terms_problem(rule, first_pay_date, pay_time, time_zone, end_date) -> (column_name, problem)
--   What is wrong with a schedule's terms as texts, or two NULLs: then each text can be cast, the rule can be parsed, and the
--   first pay date is a date that the rule gives.
-- Parameters: as in a payroll file: rule see parse_recurrence; dates YYYY-MM-DD; pay_time HH:MM[:SS]; end_date may be NULL.
-- Errors: none.   Tables: none.   Called by: payroll_import_problems, change_schedule. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.schedule_terms_problem(
    rule text, first_pay_date text, pay_time text, time_zone text, end_date text, OUT column_name text, OUT problem text
)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    parts record;
    anchor date;
    last_date date;
    nearest date;
BEGIN
    column_name := 'first_pay_date';
    IF first_pay_date IS NULL OR first_pay_date !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN
        problem := 'is missing or not written as YYYY-MM-DD';
        RETURN;
    END IF;
    BEGIN
        anchor := first_pay_date::date;
    EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format THEN
        problem := format('%s is not a day of the calendar', first_pay_date);
        RETURN;
    END;
    column_name := 'end_date';
    IF end_date IS NOT NULL THEN
        IF end_date !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' THEN
            problem := 'is not written as YYYY-MM-DD';
            RETURN;
        END IF;
        BEGIN
            last_date := end_date::date;
        EXCEPTION WHEN datetime_field_overflow OR invalid_datetime_format THEN
            problem := format('%s is not a day of the calendar', end_date);
            RETURN;
        END;
        IF last_date < anchor THEN
            problem := format('%s is before the first pay date %s; nobody would ever be paid', last_date, anchor);
            RETURN;
        END IF;
    END IF;
    column_name := 'pay_time';
    IF pay_time IS NULL OR pay_time !~ '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$' THEN
        problem := 'is missing or not written as HH:MM or HH:MM:SS';
        RETURN;
    END IF;
    column_name := 'time_zone';
    IF payroll.is_time_zone(time_zone) IS NOT TRUE THEN
        problem := format('%s is not the name of an IANA time zone; write one such as Europe/Berlin', coalesce(quote_literal(time_zone), 'nothing'));
        RETURN;
    END IF;
    column_name := 'rule';
    BEGIN
        parts := payroll.parse_recurrence(rule);
    EXCEPTION WHEN SQLSTATE 'PL001' OR SQLSTATE 'PL007' THEN
        problem := SQLERRM;
        RETURN;
    END;
    column_name := 'first_pay_date';
    nearest := payroll.next_nominal_date(parts.frequency, parts.every, parts.week_days, parts.month_days, parts.skip, anchor, NULL);
    IF nearest IS DISTINCT FROM anchor THEN
        problem := format('%s is not a date that the rule %s gives; the next one is %s', anchor, rule, coalesce(nearest::text, 'never'));
        RETURN;
    END IF;
    column_name := NULL;
END
$$;
