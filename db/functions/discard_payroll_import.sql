-- payroll.discard_payroll_import(import_id) -> integer
--   Throws away staged rows that shall not be applied. Returns how many there were.
-- Errors: none.   Tables: payroll_import_row (delete).   Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.discard_payroll_import(import_id uuid) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    thrown_away integer;
BEGIN
    DELETE FROM payroll.payroll_import_row AS r
    WHERE r.import_id = discard_payroll_import.import_id AND r.staged_by = session_user;
    GET DIAGNOSTICS thrown_away = ROW_COUNT;
    RETURN thrown_away;
END
$$;
