-- payroll.import_schedule_terms(import_id, clock) -> jsonb
--   Inserts the schedules that are new and gives those whose terms changed their new ones. The rows were checked, and the
--   caller holds the schedules' locks. A schedule that had ended becomes active again when its new terms give a date.
-- Returns: {"added", "changed", "unchanged"}, counting terms only.
-- Errors: none.   Tables: payroll_import_row, funding_account, pay_run (read), pay_schedule (insert, update).
-- Called by: apply_payroll_import. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.import_schedule_terms(import_id uuid, clock timestamptz) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    named bigint;
    added bigint;
    changed bigint;
BEGIN
    WITH differing AS MATERIALIZED (
        SELECT k.schedule_id, k.rule, k.first_pay_date::date AS anchor, k.pay_time::time AS pay_time, k.time_zone, k.end_date::date AS end_date
        FROM payroll.import_schedules(import_schedule_terms.import_id) AS k
        JOIN payroll.pay_schedule AS s ON s.schedule_id = k.schedule_id
        WHERE k.rule IS NOT NULL
          AND (s.rule, s.anchor, s.pay_time, s.time_zone, s.end_date)
              IS DISTINCT FROM (k.rule, k.first_pay_date::date, k.pay_time::time, k.time_zone, k.end_date::date)
        ORDER BY k.schedule_id
    )
    SELECT count(payroll.set_schedule_terms(
               d.schedule_id, d.rule, d.anchor, d.pay_time, d.time_zone, d.end_date, import_schedule_terms.clock))
    INTO changed
    FROM differing AS d;

    SELECT count(*) INTO named FROM payroll.import_schedules(import_schedule_terms.import_id);
    INSERT INTO payroll.pay_schedule (
        organization_id, name, funding_account_id, rule, recurrence_frequency, recurrence_every, recurrence_week_days,
        recurrence_month_days, recurrence_skip, anchor, end_date, pay_time, time_zone, next_nominal_date, next_pay_at, next_open_at,
        created_at, changed_at
    )
    SELECT k.organization_id, k.name, f.funding_account_id, k.rule, parts.frequency, parts.every, parts.week_days,
           parts.month_days, parts.skip, k.first_pay_date::date, k.end_date::date, k.pay_time::time, k.time_zone,
           n.nominal_date, n.pay_at, n.pay_at, import_schedule_terms.clock, import_schedule_terms.clock
    FROM payroll.import_schedules(import_schedule_terms.import_id) AS k
    JOIN payroll.funding_account AS f ON f.organization_id = k.organization_id
    CROSS JOIN LATERAL payroll.parse_recurrence(k.rule) AS parts
    CROSS JOIN LATERAL payroll.next_occurrence(
        parts.frequency, parts.every, parts.week_days, parts.month_days, parts.skip,
        k.first_pay_date::date, NULL, k.end_date::date, k.pay_time::time, k.time_zone) AS n
    WHERE k.schedule_id IS NULL
    ORDER BY k.row_number;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN jsonb_build_object('added', added, 'changed', changed, 'unchanged', named - added - changed);
END
$$;
