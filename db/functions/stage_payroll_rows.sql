-- payroll.stage_payroll_rows(import_id, first_row, rows) -> integer
--   Brings rows of a payroll file to the database, some hundreds at a time, for apply_payroll_import in the same transaction.
--   Nothing is checked here but that the rows are rows, so that all problems can be named together afterwards.
--
-- Parameters
--   import_id  any new uuid; the same for all calls of one import
--   first_row  the row number of the first element, as a spreadsheet shows it
--   rows       a JSON array of objects with texts: organization, schedule, employee_id, name, destination, memo_type, memo,
--              asset (XLM or a code), issuer, amount, line, and the schedule's terms rule, first_pay_date, pay_time, time_zone,
--              end_date. What is missing, null or blank is not given. "row" overrides the row number (blank lines).
-- Returns how many rows it took.
-- Errors: PL001 a parameter is missing, rows is not an array of objects, or a row number comes twice; PL006 the import_id is
--   another login's.
-- Tables: payroll_import_row (insert; rows that were left for more than a day are deleted).
-- Called by: payroll_operator (paylock import).
CREATE OR REPLACE FUNCTION payroll.stage_payroll_rows(import_id uuid, first_row integer, rows jsonb) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    blanks constant text := E' \t\r\n\u00a0\u2007\u202f\ufeff';
    taken integer;
BEGIN
    IF stage_payroll_rows.import_id IS NULL OR stage_payroll_rows.first_row IS NULL
       OR jsonb_typeof(stage_payroll_rows.rows) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(stage_payroll_rows.rows, 'strict $[*] ? (@.type() != "object")') THEN
        RAISE EXCEPTION 'stage_payroll_rows: import_id, first_row and an array of objects must be given' USING ERRCODE = 'PL001';
    ELSIF EXISTS (
        SELECT FROM payroll.payroll_import_row AS r
        WHERE r.import_id = stage_payroll_rows.import_id AND r.staged_by <> session_user
    ) THEN
        RAISE EXCEPTION 'import % belongs to another login', stage_payroll_rows.import_id
            USING ERRCODE = 'PL006', HINT = 'Take a new uuid for each import.';
    END IF;

    INSERT INTO payroll.payroll_import_row (
        import_id, row_number, staged_by, staged_at, organization, schedule, employee_id, name, destination, memo_type, memo,
        asset_code, asset_issuer, amount, line, rule, first_pay_date, pay_time, time_zone, end_date,
        organization_key, schedule_key, employee_key, line_number
    )
    SELECT stage_payroll_rows.import_id, t.row_number, session_user, clock, t.organization, t.schedule, t.employee_id, t.name,
           t.destination, coalesce(lower(t.memo_type), 'none'),
           CASE WHEN lower(t.memo_type) IN ('hash', 'return') THEN lower(t.memo) ELSE t.memo END,
           CASE WHEN t.asset = 'XLM' AND t.issuer IS NULL THEN NULL ELSE coalesce(t.asset, '') END,
           t.issuer, t.amount, t.line, t.rule, t.first_pay_date, t.pay_time, t.time_zone, t.end_date,
           lower(t.organization), lower(t.schedule), lower(t.employee_id),
           CASE WHEN t.line IS NULL THEN 1 WHEN t.line ~ '^[0-9]{1,5}$' AND t.line::integer BETWEEN 1 AND 32767 THEN t.line::integer END
    FROM (
        SELECT coalesce((e.element ->> 'row')::integer, stage_payroll_rows.first_row + e.place::integer - 1) AS row_number,
               NULLIF(btrim(e.element ->> 'organization', blanks), '') AS organization,
               NULLIF(btrim(e.element ->> 'schedule', blanks), '') AS schedule,
               NULLIF(btrim(e.element ->> 'employee_id', blanks), '') AS employee_id,
               NULLIF(btrim(e.element ->> 'name', blanks), '') AS name,
               NULLIF(btrim(e.element ->> 'destination', blanks), '') AS destination,
               NULLIF(btrim(e.element ->> 'memo_type', blanks), '') AS memo_type,
               NULLIF(btrim(e.element ->> 'memo', blanks), '') AS memo,
               NULLIF(btrim(e.element ->> 'asset', blanks), '') AS asset,
               NULLIF(btrim(e.element ->> 'issuer', blanks), '') AS issuer,
               NULLIF(btrim(e.element ->> 'amount', blanks), '') AS amount,
               NULLIF(btrim(e.element ->> 'line', blanks), '') AS line,
               NULLIF(btrim(e.element ->> 'rule', blanks), '') AS rule,
               NULLIF(btrim(e.element ->> 'first_pay_date', blanks), '') AS first_pay_date,
               NULLIF(btrim(e.element ->> 'pay_time', blanks), '') AS pay_time,
               NULLIF(btrim(e.element ->> 'time_zone', blanks), '') AS time_zone,
               NULLIF(btrim(e.element ->> 'end_date', blanks), '') AS end_date
        FROM jsonb_array_elements(stage_payroll_rows.rows) WITH ORDINALITY AS e (element, place)
    ) AS t;
    GET DIAGNOSTICS taken = ROW_COUNT;

    DELETE FROM payroll.payroll_import_row AS r
    WHERE r.staged_at < clock - interval '1 day' AND stage_payroll_rows.first_row <= 2;
    RETURN taken;
EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'stage_payroll_rows: a row number comes twice' USING ERRCODE = 'PL001', DETAIL = SQLERRM;
    WHEN invalid_text_representation OR numeric_value_out_of_range THEN
        RAISE EXCEPTION 'stage_payroll_rows: a row number is not a whole number' USING ERRCODE = 'PL001', DETAIL = SQLERRM;
END
$$;
