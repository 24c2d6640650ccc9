-- payroll.payroll_import_problems(import_id, replace_lines) -> (row_number, column_name, problem) rows
--   Everything that is wrong with the staged rows of an import, in their order; no row when it can be applied.
--   row_number is as a spreadsheet shows it; the text says what to do.
-- Parameters: import_id as in stage_payroll_rows; replace_lines: lines that an existing schedule has and the file lacks will be
--   removed (otherwise they are a problem).
-- Errors: none of our own.
-- Tables: payroll_import_row, organization, funding_account, payee, pay_schedule, schedule_line, pay_run (read).
-- Called by: payroll_operator, apply_payroll_import (which holds the schedules' locks).
CREATE OR REPLACE FUNCTION payroll.payroll_import_problems(import_id uuid, replace_lines boolean)
RETURNS TABLE (row_number integer, column_name text, problem text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT found.row_number, found.column_name, found.problem
    FROM (
        SELECT * FROM payroll.import_row_problems(payroll_import_problems.import_id)
        UNION ALL
        SELECT * FROM payroll.import_agreement_problems(payroll_import_problems.import_id)
        UNION ALL
        SELECT * FROM payroll.import_schedule_problems(payroll_import_problems.import_id, payroll_import_problems.replace_lines)
    ) AS found
    ORDER BY found.row_number, found.column_name;
END
$$;
