-- payroll.import_lines(import_id, replace_lines, clock) -> jsonb
--   Makes the staged rows the lines of their schedules. The rows were checked, payees and schedules exist, and the caller holds the
--   schedules' locks. A schedule whose lines changed gets a new version.
-- Returns: {"added", "changed", "unchanged", "removed"}.
-- Errors: none.
-- Tables: payroll_import_row, organization, payee (read), schedule_line (insert, update, delete), pay_schedule (update).
-- Called by: apply_payroll_import. Not granted to anyone.
--
-- enable_nestloop is off in here: right after a first import the tables have no statistics yet, and the planner then joined
-- 5,000 rows row by row with 5,000 lines (165 s; by hash 0.3 s). The arrays keep the scans to the schedules and organizations
-- of this import.
CREATE OR REPLACE FUNCTION payroll.import_lines(import_id uuid, replace_lines boolean, clock timestamptz) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
SET enable_nestloop = off
AS $$
#variable_conflict use_column
DECLARE
    named_schedules bigint[];
    organizations bigint[];
    touched bigint[] := ARRAY[]::bigint[];
    more bigint[];
    named bigint;
    added bigint;
    changed bigint;
    removed bigint := 0;
BEGIN
    SELECT array_agg(k.schedule_id), array_agg(DISTINCT k.organization_id) INTO named_schedules, organizations
    FROM payroll.import_schedules(import_lines.import_id) AS k;

    IF import_lines.replace_lines THEN
        WITH gone AS (
            DELETE FROM payroll.schedule_line AS l
            USING payroll.import_schedules(import_lines.import_id) AS k, payroll.payee AS p
            WHERE l.schedule_id = ANY (named_schedules) AND p.organization_id = ANY (organizations)
              AND l.schedule_id = k.schedule_id AND p.payee_id = l.payee_id AND NOT EXISTS (
                SELECT FROM payroll.payroll_import_row AS r
                WHERE r.import_id = import_lines.import_id
                  AND r.organization_key = k.organization_key AND r.schedule_key = k.schedule_key
                  AND r.employee_key = lower(p.reference) AND r.line_number = l.line)
            RETURNING l.schedule_id
        )
        SELECT count(*), coalesce(array_agg(DISTINCT g.schedule_id), '{}') INTO removed, touched FROM gone AS g;
    END IF;

    WITH wanted AS (
        SELECT k.schedule_id, p.payee_id, r.line_number, r.asset_code, r.asset_issuer, r.amount::numeric AS amount
        FROM payroll.payroll_import_row AS r
        JOIN payroll.import_schedules(import_lines.import_id) AS k
          ON k.organization_key = r.organization_key AND k.schedule_key = r.schedule_key
        JOIN payroll.payee AS p ON p.organization_id = k.organization_id AND lower(p.reference) = r.employee_key
        WHERE r.import_id = import_lines.import_id AND p.organization_id = ANY (organizations)
    ), updated AS (
        UPDATE payroll.schedule_line AS l
        SET asset_code = w.asset_code, asset_issuer = w.asset_issuer, amount = w.amount
        FROM wanted AS w
        WHERE l.schedule_id = ANY (named_schedules) AND l.schedule_id = w.schedule_id AND l.payee_id = w.payee_id AND l.line = w.line_number
          AND (l.asset_code::text, l.asset_issuer::text, l.amount::numeric) IS DISTINCT FROM (w.asset_code, w.asset_issuer, w.amount)
        RETURNING l.schedule_id
    )
    SELECT count(*), coalesce(array_agg(DISTINCT u.schedule_id), '{}') INTO changed, more FROM updated AS u;
    touched := touched || more;

    WITH issuer AS MATERIALIZED (
        -- The domain checks the checksum: once an issuer, not once a row.
        SELECT d.address, d.address::payroll.account_address AS checked
        FROM (
            SELECT DISTINCT r.asset_issuer AS address FROM payroll.payroll_import_row AS r
            WHERE r.import_id = import_lines.import_id AND r.asset_issuer IS NOT NULL
        ) AS d
    ), inserted AS (
        INSERT INTO payroll.schedule_line AS l (organization_id, schedule_id, payee_id, line, asset_code, asset_issuer, amount)
        SELECT k.organization_id, k.schedule_id, p.payee_id, r.line_number, r.asset_code, i.checked, r.amount::numeric
        FROM payroll.payroll_import_row AS r
        JOIN payroll.import_schedules(import_lines.import_id) AS k
          ON k.organization_key = r.organization_key AND k.schedule_key = r.schedule_key
        JOIN payroll.payee AS p ON p.organization_id = k.organization_id AND lower(p.reference) = r.employee_key
        LEFT JOIN issuer AS i ON i.address = r.asset_issuer
        WHERE r.import_id = import_lines.import_id AND p.organization_id = ANY (organizations)
        ORDER BY r.row_number
        ON CONFLICT ON CONSTRAINT schedule_line_once DO NOTHING
        RETURNING l.schedule_id
    )
    SELECT count(*), coalesce(array_agg(DISTINCT n.schedule_id), '{}') INTO added, more FROM inserted AS n;
    touched := touched || more;

    SELECT count(*) INTO named FROM payroll.payroll_import_row AS r WHERE r.import_id = import_lines.import_id;
    -- A schedule that this import made is at its first version; the others were edited.
    UPDATE payroll.pay_schedule AS s
    SET version = s.version + 1, changed_at = import_lines.clock
    WHERE s.schedule_id = ANY (touched) AND s.created_at <> import_lines.clock;
    RETURN jsonb_build_object('added', added, 'changed', changed, 'unchanged', named - added - changed, 'removed', removed);
END
$$;
