-- payroll.import_agreement_problems(import_id) -> (row_number, column_name, problem) rows
--   Where staged rows contradict each other: one payee twice with the same line number, one payee with two names, destinations
--   or memos, one schedule with two sets of terms. Each names the other row.
-- Errors: none.   Tables: payroll_import_row (read).   Called by: payroll_import_problems. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.import_agreement_problems(import_id uuid)
RETURNS TABLE (row_number integer, column_name text, problem text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
    WITH compared AS (
        SELECT r.row_number, r.employee_id, r.schedule, r.line_number,
               first_value(r.row_number) OVER same_line AS first_line_row,
               first_value(r.row_number) OVER same_payee AS first_payee_row,
               (r.name, r.destination, r.memo_type, r.memo)
                   IS NOT DISTINCT FROM first_value((r.name, r.destination, r.memo_type, r.memo)) OVER same_payee AS same_person,
               first_value(r.row_number) OVER same_schedule AS first_schedule_row,
               (r.rule, r.first_pay_date, r.pay_time, r.time_zone, r.end_date)
                   IS NOT DISTINCT FROM first_value((r.rule, r.first_pay_date, r.pay_time, r.time_zone, r.end_date))
                   OVER same_schedule AS same_terms
        FROM payroll.payroll_import_row AS r
        WHERE r.import_id = import_agreement_problems.import_id
          AND r.organization IS NOT NULL AND r.schedule IS NOT NULL AND r.employee_id IS NOT NULL
        WINDOW same_line AS (PARTITION BY r.organization_key, r.schedule_key, r.employee_key, r.line_number ORDER BY r.row_number),
               same_payee AS (PARTITION BY r.organization_key, r.employee_key ORDER BY r.row_number),
               same_schedule AS (PARTITION BY r.organization_key, r.schedule_key ORDER BY r.row_number)
    )
    SELECT c.row_number, p.column_name, p.problem
    FROM compared AS c
    CROSS JOIN LATERAL (VALUES
        ('employee_id', CASE WHEN c.first_line_row < c.row_number AND c.line_number IS NOT NULL THEN format(
            '%L stands in row %s already; delete one of the two rows, or number them in the column line', c.employee_id, c.first_line_row) END),
        ('employee_id', CASE WHEN NOT c.same_person THEN format(
            '%L stands in row %s with another name, destination or memo; one person has one of each', c.employee_id, c.first_payee_row) END),
        ('rule', CASE WHEN NOT c.same_terms THEN format(
            'and the other terms of schedule %L are not those of row %s; a schedule has one set of terms', c.schedule, c.first_schedule_row) END)
    ) AS p (column_name, problem)
    WHERE (c.first_line_row < c.row_number OR NOT c.same_person OR NOT c.same_terms) AND p.problem IS NOT NULL
$$;
