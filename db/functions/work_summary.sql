-- payroll.work_summary() -> (name, value) rows
--   Gauges for a pod's /metrics: what is live in this database now. Reads the partial indexes of live states only.
-- Errors: none.   Tables: pay_run, pay_schedule, payment_batch, channel_account (read).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.work_summary() RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    clock constant timestamptz := payroll.read_clock();
BEGIN
    RETURN QUERY
    WITH live_runs AS (
        SELECT count(*) AS runs, sum(r.pending_count) AS payments, count(*) FILTER (WHERE r.state = 'awaiting_funds') AS waiting
        FROM payroll.pay_run AS r
        WHERE r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0
    ), held_runs AS (
        SELECT count(*) AS runs, sum(r.held_count) AS payments
        FROM payroll.pay_run AS r
        WHERE r.held_count > 0 OR r.state = 'held'
    ), live_batches AS (
        SELECT count(*) FILTER (WHERE b.state <> 'quarantined') AS open,
               count(*) FILTER (WHERE b.state <> 'quarantined' AND b.held_reason IS NOT NULL) AS held,
               count(*) FILTER (WHERE b.state = 'quarantined') AS quarantined
        FROM payroll.payment_batch AS b
        WHERE b.state IN ('claimed', 'signed', 'quarantined')
    ), channels AS (
        SELECT count(*) FILTER (WHERE c.state = 'active') AS active, count(*) FILTER (WHERE c.state = 'quarantined') AS quarantined
        FROM payroll.channel_account AS c
    )
    SELECT v.name, v.value
    FROM live_runs AS r, held_runs AS h, live_batches AS b, channels AS c
    CROSS JOIN LATERAL (VALUES
        ('runs_payable', r.runs), ('payments_pending', coalesce(r.payments, 0)::bigint), ('runs_awaiting_funds', r.waiting),
        ('runs_held', h.runs), ('payments_held', coalesce(h.payments, 0)::bigint),
        ('batches_open', b.open), ('batches_held', b.held), ('batches_quarantined', b.quarantined),
        ('channels_active', c.active), ('channels_quarantined', c.quarantined),
        ('schedules_overdue', (SELECT count(*) FROM payroll.pay_schedule AS s
                               WHERE s.state = 'active' AND s.next_open_at < clock - interval '1 minute'))
    ) AS v (name, value);
END
$$;
