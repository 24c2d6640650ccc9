-- payroll.import_payees(import_id, clock) -> (counts, destinations)
--   Inserts the payees that are new and updates those that changed. The rows were checked.
-- Returns: counts {"added", "changed", "unchanged"}; destinations [{"organization", "employee_id", "name", "old", "new"}], the
--   payees whose money goes elsewhere from now on.
-- Errors: none.   Tables: payroll_import_row, organization (read), payee (insert, update).
-- Called by: apply_payroll_import. Not granted to anyone.
-- enable_nestloop is off for the reason given in import_lines.
CREATE OR REPLACE FUNCTION payroll.import_payees(import_id uuid, clock timestamptz, OUT counts jsonb, OUT destinations jsonb)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    organizations bigint[];
    named bigint;
    added bigint;
    changed bigint;
BEGIN
    SELECT count(*) INTO named FROM (
        SELECT DISTINCT r.organization_key, r.employee_key FROM payroll.payroll_import_row AS r WHERE r.import_id = import_payees.import_id
    ) AS people;

    SELECT array_agg(DISTINCT k.organization_id) INTO organizations FROM payroll.import_schedules(import_payees.import_id) AS k;

    WITH person AS MATERIALIZED (
        SELECT DISTINCT ON (r.organization_key, r.employee_key)
               o.organization_id, o.name AS organization, r.employee_key, r.name, r.destination,
               r.memo_type::payroll.memo_kind AS memo_type, r.memo
        FROM payroll.payroll_import_row AS r
        JOIN payroll.organization AS o ON lower(o.name) = r.organization_key
        WHERE r.import_id = import_payees.import_id
        ORDER BY r.organization_key, r.employee_key, r.row_number
    ), differing AS MATERIALIZED (
        SELECT p.payee_id, p.reference, p.destination::text AS old_destination, n.*
        FROM person AS n
        JOIN payroll.payee AS p ON p.organization_id = n.organization_id AND lower(p.reference) = n.employee_key
        WHERE p.organization_id = ANY (organizations)
          AND (p.name, p.destination::text, p.memo_type, p.memo_value) IS DISTINCT FROM (n.name, n.destination, n.memo_type, n.memo)
        ORDER BY p.payee_id
    ), updated AS (
        UPDATE payroll.payee AS p
        SET name = d.name, destination = d.destination, memo_type = d.memo_type, memo_value = d.memo, changed_at = import_payees.clock
        FROM differing AS d
        WHERE p.payee_id = d.payee_id
        RETURNING p.payee_id
    )
    SELECT (SELECT count(*) FROM updated),
           coalesce(jsonb_agg(jsonb_build_object(
               'organization', d.organization, 'employee_id', d.reference, 'name', d.name,
               'old', d.old_destination, 'new', d.destination) ORDER BY d.payee_id)
               FILTER (WHERE d.old_destination <> d.destination), '[]'::jsonb)
    INTO changed, destinations
    FROM differing AS d;

    INSERT INTO payroll.payee (organization_id, reference, name, destination, memo_type, memo_value, created_at, changed_at)
    SELECT n.organization_id, n.employee_id, n.name, n.destination, n.memo_type, n.memo, import_payees.clock, import_payees.clock
    FROM (
        SELECT DISTINCT ON (r.organization_key, r.employee_key)
               o.organization_id, r.employee_id, r.employee_key, r.name, r.destination, r.memo_type::payroll.memo_kind AS memo_type,
               r.memo, r.row_number
        FROM payroll.payroll_import_row AS r
        JOIN payroll.organization AS o ON lower(o.name) = r.organization_key
        WHERE r.import_id = import_payees.import_id
        ORDER BY r.organization_key, r.employee_key, r.row_number
    ) AS n
    WHERE NOT EXISTS (
        SELECT FROM payroll.payee AS p
        WHERE p.organization_id = ANY (organizations) AND p.organization_id = n.organization_id AND lower(p.reference) = n.employee_key)
    ORDER BY n.row_number;
    GET DIAGNOSTICS added = ROW_COUNT;
    counts := jsonb_build_object('added', added, 'changed', changed, 'unchanged', named - added - changed);
END
$$;
