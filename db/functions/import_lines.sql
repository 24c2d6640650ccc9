-- payroll.import_lines(import_id, replace_lines, clock) -> jsonb
--   Makes the staged rows the lines of their schedules. The rows were checked, payees and schedules exist, and the caller holds the
--   schedules' locks. A schedule whose lines changed gets a new version.
-- Returns: {"added", "changed", "unchanged", "removed"}.
-- Errors: none.
-- Tables: payroll_import_row, organization, payee (read), schedule_line (insert, update, delete), pay_schedule (update).
-- Called by: apply_payroll_import. Not granted to anyone.
--
-- Its joins must not be left to the planner's guesses: the tables have no statistics right after a first import, and wrong ones after
-- an autovacuum that saw the staging table empty. 5,000 rows then took 165 s, joined row by row or in an order that
-- multiplies lines by payees. So: two tables a step, each step MATERIALIZED, no nested loops (and no JIT,
-- which their absence's pretended cost would set off); the arrays keep the scans
-- to the schedules and organizations of this import. (tests/paylock/test_import.py plays both cases.)
CREATE OR REPLACE FUNCTION payroll.import_lines(import_id uuid, replace_lines boolean, clock timestamptz) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    named_schedules bigint[];
    organizations bigint[];
    touched bigint[];
    named bigint;
    added bigint;
    changed bigint;
    removed bigint;
BEGIN
    SELECT array_agg(k.schedule_id), array_agg(DISTINCT k.organization_id) INTO named_schedules, organizations
    FROM payroll.import_schedules(import_lines.import_id) AS k;

    WITH named AS MATERIALIZED (
        SELECT k.organization_id, k.organization_key, k.schedule_key, k.schedule_id
        FROM payroll.import_schedules(import_lines.import_id) AS k
    ), staged AS MATERIALIZED (
        SELECT n.organization_id, n.schedule_id, r.employee_key, r.line_number, r.asset_code, r.asset_issuer,
               r.amount::numeric AS amount, r.row_number
        FROM payroll.payroll_import_row AS r
        JOIN named AS n ON n.organization_key = r.organization_key AND n.schedule_key = r.schedule_key
        WHERE r.import_id = import_lines.import_id
    ), wanted AS MATERIALIZED (
        SELECT w.*, p.payee_id
        FROM staged AS w
        JOIN payroll.payee AS p ON p.organization_id = w.organization_id AND lower(p.reference) = w.employee_key
        WHERE p.organization_id = ANY (organizations)
    ), present AS MATERIALIZED (
        SELECT l.schedule_line_id, l.schedule_id, l.payee_id, l.line, l.asset_code::text AS asset_code,
               l.asset_issuer::text AS asset_issuer, l.amount::numeric AS amount
        FROM payroll.schedule_line AS l
        WHERE l.schedule_id = ANY (named_schedules)
    ), compared AS MATERIALIZED (
        SELECT w.*, h.schedule_line_id, h.schedule_line_id IS NOT NULL
                   AND (h.asset_code, h.asset_issuer, h.amount) IS DISTINCT FROM (w.asset_code, w.asset_issuer, w.amount) AS differs
        FROM wanted AS w
        LEFT JOIN present AS h ON h.schedule_id = w.schedule_id AND h.payee_id = w.payee_id AND h.line = w.line_number
    ), gone AS (
        DELETE FROM payroll.schedule_line AS l
        USING present AS h
        WHERE import_lines.replace_lines AND l.schedule_id = ANY (named_schedules) AND l.schedule_line_id = h.schedule_line_id
          AND NOT EXISTS (
              SELECT FROM wanted AS w
              WHERE w.schedule_id = h.schedule_id AND w.payee_id = h.payee_id AND w.line_number = h.line)
        RETURNING l.schedule_id
    ), updated AS (
        UPDATE payroll.schedule_line AS l
        SET asset_code = c.asset_code, asset_issuer = c.asset_issuer, amount = c.amount
        FROM compared AS c
        WHERE c.differs AND l.schedule_id = ANY (named_schedules) AND l.schedule_line_id = c.schedule_line_id
        RETURNING l.schedule_id
    ), issuer AS MATERIALIZED (
        -- The domain checks the checksum: once an issuer, not once a row.
        SELECT d.address, d.address::payroll.account_address AS checked
        FROM (SELECT DISTINCT c.asset_issuer AS address FROM compared AS c WHERE c.asset_issuer IS NOT NULL) AS d
    ), inserted AS (
        INSERT INTO payroll.schedule_line AS l (organization_id, schedule_id, payee_id, line, asset_code, asset_issuer, amount)
        SELECT c.organization_id, c.schedule_id, c.payee_id, c.line_number, c.asset_code, i.checked, c.amount
        FROM compared AS c
        LEFT JOIN issuer AS i ON i.address = c.asset_issuer
        WHERE c.schedule_line_id IS NULL
        ORDER BY c.row_number
        RETURNING l.schedule_id
    ), touched_lines AS (
        SELECT g.schedule_id FROM gone AS g
        UNION ALL SELECT u.schedule_id FROM updated AS u
        UNION ALL SELECT n.schedule_id FROM inserted AS n
    )
    SELECT (SELECT count(*) FROM staged), (SELECT count(*) FROM inserted), (SELECT count(*) FROM updated), (SELECT count(*) FROM gone),
           ARRAY(SELECT DISTINCT t.schedule_id FROM touched_lines AS t)
    INTO named, added, changed, removed, touched;

    -- A schedule that this import made is at its first version; the others were edited.
    UPDATE payroll.pay_schedule AS s
    SET version = s.version + 1, changed_at = import_lines.clock
    WHERE s.schedule_id = ANY (touched) AND s.created_at <> import_lines.clock;
    RETURN jsonb_build_object('added', added, 'changed', changed, 'unchanged', named - added - changed, 'removed', removed);
END
$$;
