-- payroll.import_schedules(import_id) -> the schedules that the staged rows name, one row each
--   With the row that names it first, the terms (texts, NULL where the file has none) and the stored schedule's id, NULL if new.
-- Errors: none.   Tables: payroll_import_row, organization, pay_schedule (read).
-- Called by: apply_payroll_import and its parts. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.import_schedules(import_id uuid)
RETURNS TABLE (
    organization_id bigint, organization_key text, schedule_key text, name text, row_number integer,
    rule text, first_pay_date text, pay_time text, time_zone text, end_date text, schedule_id bigint
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
    SELECT o.organization_id, named.organization_key, named.schedule_key, named.schedule, named.row_number,
           named.rule, named.first_pay_date, named.pay_time, named.time_zone, named.end_date, s.schedule_id
    FROM (
        SELECT DISTINCT ON (r.organization_key, r.schedule_key) r.*
        FROM payroll.payroll_import_row AS r
        WHERE r.import_id = import_schedules.import_id
        ORDER BY r.organization_key, r.schedule_key, r.row_number
    ) AS named
    JOIN payroll.organization AS o ON lower(o.name) = named.organization_key
    LEFT JOIN payroll.pay_schedule AS s ON s.organization_id = o.organization_id AND lower(s.name) = named.schedule_key
$$;
