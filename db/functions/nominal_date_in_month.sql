-- payroll.nominal_date_in_month(month_days smallint[], skip text, month_start date, earliest date)
--
-- Purpose   The first date of one month that a monthly rule names, on or after a date of that month.
-- Parameters month_days, skip: as payroll.parse_recurrence returns them (ascending, without repeats);
--           month_start: the first day of the month; earliest: a date in that month.
-- Returns   The date, or NULL when this month has none left.
-- Errors    none.
-- Tables    none.
-- Called by payroll.next_nominal_date. PostgreSQL inlines this function there, because it is one expression without a
--           subquery: keep it so.
--
-- How       width_bucket(x, list) counts the elements up to x by bisection, so list[width_bucket(x, list) + 1] is
--           the first element above x. Day d stands at month_start + d - 1; day -n stands at the next month's start - n.
CREATE OR REPLACE FUNCTION payroll.nominal_date_in_month(
    month_days smallint[],
    skip text,
    month_start date,
    earliest date
)
RETURNS date
LANGUAGE sql
IMMUTABLE
PARALLEL SAFE
AS $function$
    SELECT LEAST(
        -- Days from the start of the month; one that the month lacks is left out, or clamped to its last day.
        CASE
            WHEN month_start + month_days[width_bucket((earliest - month_start)::smallint, month_days) + 1] - 1
                < (month_start + INTERVAL '1 month')::date
                THEN month_start + month_days[width_bucket((earliest - month_start)::smallint, month_days) + 1] - 1
            WHEN skip = 'backward'
                AND month_days[width_bucket((earliest - month_start)::smallint, month_days) + 1] IS NOT NULL
                THEN (month_start + INTERVAL '1 month')::date - 1
        END,
        -- Days from its end.
        CASE
            WHEN month_days[1] < 0
                AND month_days[width_bucket((earliest - (month_start + INTERVAL '1 month')::date - 1)::smallint, month_days) + 1] < 0
                THEN (month_start + INTERVAL '1 month')::date
                    + month_days[width_bucket((earliest - (month_start + INTERVAL '1 month')::date - 1)::smallint, month_days) + 1]
        END)
$function$;
