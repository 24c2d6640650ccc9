-- payroll.apply_payroll_import(import_id, replace_lines) -> jsonb
--   Makes the staged rows the content of their schedules: payees, schedules, lines. All or nothing; applying the same content again
--   changes nothing. A payee's row is shared by all schedules of the organization.
--
-- Parameters
--   import_id      as in stage_payroll_rows; the staged rows are gone afterwards
--   replace_lines  lines that an existing schedule has and the file lacks are removed (otherwise that is a problem)
-- Returns {"rows", "changed": true|false,
--   "payees": {"added", "changed", "unchanged"}, "schedules": {the same}, "lines": {the same and "removed"},
--   "destinations_changed": [{"organization", "employee_id", "name", "old", "new"}] (at most 100; all are in the audit trail),
--   "content": [{"organization", "schedule", "state", "lines", "totals": {"XLM": "1.0000000"}, "next_nominal_date",
--                "next_pay_at", "next_local_time", "time_zone"}]}
-- Errors: PL001 there is nothing staged; PL001 with the problems in DETAIL, one a line (the first 200: all come from
--   payroll_import_problems), and nothing changed.
-- Locks: one import of an organization at a time (advisory); schedules in key order: none of them opens meanwhile.
-- Sends: one NOTIFY payroll_work when a schedule changed.
-- Tables: payroll_import_row (delete), payee, pay_schedule, schedule_line (insert, update, delete), organization,
--   funding_account, pay_run (read), audit_event (insert).
-- Called by: payroll_operator (paylock import).
CREATE OR REPLACE FUNCTION payroll.apply_payroll_import(import_id uuid, replace_lines boolean) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    staged_rows bigint;
    problem_count bigint;
    problem_lines text;
    payees jsonb;
    schedules jsonb;
    lines jsonb;
    destinations jsonb;
    content jsonb;
    has_changed boolean;
BEGIN
    SELECT count(*) INTO staged_rows
    FROM payroll.payroll_import_row AS r
    WHERE r.import_id = apply_payroll_import.import_id AND r.staged_by = session_user;
    IF staged_rows = 0 THEN
        RAISE EXCEPTION 'apply_payroll_import: nothing is staged under %', coalesce(apply_payroll_import.import_id::text, 'NULL')
            USING ERRCODE = 'PL001', HINT = 'Call stage_payroll_rows first, in the same transaction.';
    END IF;

    PERFORM pg_advisory_xact_lock(20260101, hashint8(owner.organization_id))
    FROM (
        SELECT DISTINCT o.organization_id
        FROM payroll.payroll_import_row AS r
        JOIN payroll.organization AS o ON lower(o.name) = r.organization_key
        WHERE r.import_id = apply_payroll_import.import_id
        ORDER BY o.organization_id
    ) AS owner;
    PERFORM FROM payroll.pay_schedule AS s
    WHERE s.schedule_id IN (
        SELECT k.schedule_id FROM payroll.import_schedules(apply_payroll_import.import_id) AS k WHERE k.schedule_id IS NOT NULL)
    ORDER BY s.schedule_id
    FOR UPDATE;

    SELECT count(*), string_agg(format('row %s, column %s: %s', p.row_number, p.column_name, p.problem), E'\n'
                                ORDER BY p.place) FILTER (WHERE p.place <= 200)
    INTO problem_count, problem_lines
    FROM payroll.payroll_import_problems(apply_payroll_import.import_id, apply_payroll_import.replace_lines)
         WITH ORDINALITY AS p (row_number, column_name, problem, place);
    IF problem_count > 0 THEN
        RAISE EXCEPTION 'the payroll has % problems and nothing was changed', problem_count
            USING ERRCODE = 'PL001', DETAIL = problem_lines, HINT = 'Correct the file and import it again.';
    END IF;

    SELECT a.counts, a.destinations INTO payees, destinations FROM payroll.import_payees(apply_payroll_import.import_id, clock) AS a;
    schedules := payroll.import_schedule_terms(apply_payroll_import.import_id, clock);
    lines := payroll.import_lines(apply_payroll_import.import_id, apply_payroll_import.replace_lines, clock);

    SELECT jsonb_agg(jsonb_build_object(
               'organization', o.name, 'schedule', s.name, 'state', s.state, 'lines', t.lines, 'totals', t.totals,
               'next_nominal_date', s.next_nominal_date, 'next_pay_at', s.next_pay_at,
               'next_local_time', to_char(s.next_pay_at AT TIME ZONE s.time_zone, 'YYYY-MM-DD HH24:MI:SS'),
               'time_zone', s.time_zone) ORDER BY o.name, s.name)
    INTO content
    FROM payroll.import_schedules(apply_payroll_import.import_id) AS k
    JOIN payroll.pay_schedule AS s ON s.schedule_id = k.schedule_id
    JOIN payroll.organization AS o ON o.organization_id = s.organization_id
    CROSS JOIN LATERAL (
        SELECT sum(a.lines) AS lines, jsonb_object_agg(a.asset, to_char(a.total, 'FM999999999999999999990.0000000')) AS totals
        FROM (
            SELECT payroll.asset_name(l.asset_code, l.asset_issuer) AS asset, count(*) AS lines, sum(l.amount::numeric) AS total
            FROM payroll.schedule_line AS l
            WHERE l.schedule_id = s.schedule_id
            GROUP BY l.asset_code, l.asset_issuer
        ) AS a
    ) AS t;

    has_changed := (payees ->> 'added')::bigint + (payees ->> 'changed')::bigint
        + (schedules ->> 'added')::bigint + (schedules ->> 'changed')::bigint
        + (lines ->> 'added')::bigint + (lines ->> 'changed')::bigint + (lines ->> 'removed')::bigint > 0;
    IF has_changed THEN
        INSERT INTO payroll.audit_event (organization_id, at, actor, action, subject, details)
        SELECT k.organization_id, clock, session_user, 'import_payroll', 'import ' || apply_payroll_import.import_id,
               jsonb_build_object('schedules', jsonb_agg(k.name ORDER BY k.name), 'payees', payees, 'lines', lines,
                                  'destinations_changed', (
                                      SELECT jsonb_agg(d.entry) FROM jsonb_array_elements(destinations) AS d (entry)
                                      WHERE lower(d.entry ->> 'organization') = min(k.organization_key)))
        FROM payroll.import_schedules(apply_payroll_import.import_id) AS k
        GROUP BY k.organization_id
        ORDER BY k.organization_id;
        PERFORM pg_notify('payroll_work', '');
    END IF;

    DELETE FROM payroll.payroll_import_row AS r WHERE r.import_id = apply_payroll_import.import_id;
    RETURN jsonb_build_object(
        'rows', staged_rows, 'changed', has_changed, 'payees', payees, 'schedules', schedules, 'lines', lines,
        'destinations_changed', (SELECT coalesce(jsonb_agg(d.entry ORDER BY d.place), '[]'::jsonb)
                                 FROM jsonb_array_elements(destinations) WITH ORDINALITY AS d (entry, place) WHERE d.place <= 100),
        'content', content);
END
$$;
