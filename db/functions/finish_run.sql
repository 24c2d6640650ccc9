-- payroll.finish_run(run_id) -> void
--   Gives a run its final state once none of its payments is pending, in flight or held: paid when all are paid, cancelled
--   when it was cancelled and nothing was paid or failed, else partly_paid. Does nothing before that, or twice.
--   The caller holds the run's row lock.
-- Errors: none.   Tables: pay_run (update).   Called by: settle_batch, refuse_payments, return_payments, cancel functions.
CREATE OR REPLACE FUNCTION payroll.finish_run(run_id bigint) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
    UPDATE payroll.pay_run AS r
    SET state = CASE
            WHEN r.paid_count > 0 AND r.failed_count = 0 AND r.cancelled_count = 0 THEN 'paid'::payroll.run_state
            WHEN r.paid_count = 0 AND r.failed_count = 0 THEN 'cancelled'::payroll.run_state
            ELSE 'partly_paid'::payroll.run_state
        END
    WHERE r.run_id = finish_run.run_id
      AND r.state NOT IN ('paid', 'partly_paid', 'cancelled')
      AND r.pending_count = 0 AND r.in_flight_count = 0 AND r.held_count = 0
$$;
