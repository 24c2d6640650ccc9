-- payroll.next_due_at() -> (due_at, seconds_until)
--   When work is next due without anybody's doing: the next schedule to open or the next run to pay.
-- Returns: due_at, and the seconds until then by the database's clock (0 when it is due already); both NULL when nothing
--   is planned. A pod waits by seconds_until: its own clock decides nothing.
-- Errors: none.   Tables: pay_schedule, pay_run (read, by their partial indexes).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.next_due_at(OUT due_at timestamptz, OUT seconds_until double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    clock constant timestamptz := payroll.read_clock();
BEGIN
    -- Step from organization to organization along the index pay_run_payable, as claim_payments does.
    WITH RECURSIVE with_work AS (
        (SELECT r.organization_id
         FROM payroll.pay_run AS r
         WHERE r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0
         ORDER BY r.organization_id LIMIT 1)
        UNION ALL
        SELECT (SELECT r.organization_id
                FROM payroll.pay_run AS r
                WHERE r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0
                  AND r.organization_id > w.organization_id
                ORDER BY r.organization_id LIMIT 1)
        FROM with_work AS w
        WHERE w.organization_id IS NOT NULL
    )
    SELECT min(later.next_serve_at) INTO due_at
    FROM with_work AS w
    CROSS JOIN LATERAL (
        SELECT r.next_serve_at
        FROM payroll.pay_run AS r
        WHERE r.organization_id = w.organization_id
          AND r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0 AND r.next_serve_at > clock
        ORDER BY r.next_serve_at
        LIMIT 1
    ) AS later;
    due_at := least(
        due_at,
        (SELECT s.next_open_at FROM payroll.pay_schedule AS s WHERE s.state = 'active' ORDER BY s.next_open_at LIMIT 1)
    );
    -- greatest() alone would make 0 of NULL, and an idle pod would spin.
    seconds_until := CASE WHEN due_at IS NOT NULL THEN greatest(0, extract(epoch FROM due_at - clock)) END;
END
$$;
