-- payroll.stop_runs(run_ids, reason, clock) -> jsonb
--   Cancels what is left of runs: payments that wait or are held, and those in batches that have no envelope yet. What is in an
--   envelope may be on its way: only the ledger settles it, and settle_batch then ends the run. Runs that have ended, or are being
--   cancelled already, are left as they are.
--   The caller holds the schedules' locks, if it has any.
-- Returns: {"runs": how many it stopped, "cancelled": payments cancelled, "in_flight": payments that the ledger still decides}.
-- Errors: none of our own.
-- Locks: runs, then channels, then batches, each in key order.
-- Tables: pay_run, payment, channel_account, payment_batch, batch_payment (update).
-- Called by: cancel_run, cancel_schedule. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.stop_runs(run_ids bigint[], reason text, clock timestamptz) RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    stopped bigint[];
    returnable bigint;
    run bigint;
    cancelled bigint := 0;
    given_back bigint := 0;
    in_flight bigint;
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT r.run_id, r.state, r.cancel_requested_at FROM payroll.pay_run AS r
        WHERE r.run_id = ANY (stop_runs.run_ids) ORDER BY r.run_id FOR UPDATE
    )
    SELECT coalesce(array_agg(l.run_id ORDER BY l.run_id), '{}') INTO stopped
    FROM locked AS l
    WHERE l.state NOT IN ('paid', 'partly_paid', 'cancelled') AND l.cancel_requested_at IS NULL;

    PERFORM FROM payroll.channel_account AS c
    WHERE c.channel_id IN (SELECT b.channel_id FROM payroll.payment_batch AS b WHERE b.run_id = ANY (stopped) AND b.state = 'claimed')
    ORDER BY c.channel_id FOR UPDATE;
    PERFORM FROM payroll.payment_batch AS b
    WHERE b.run_id = ANY (stopped) AND b.state = 'claimed'
    ORDER BY b.batch_id FOR UPDATE;

    UPDATE payroll.pay_run AS r
    SET cancel_requested_at = stop_runs.clock, state_reason = stop_runs.reason
    WHERE r.run_id = ANY (stopped);

    -- A statement of its own after the locks: a batch that got its envelope while this call waited is no longer 'claimed'.
    FOR returnable IN
        SELECT b.batch_id FROM payroll.payment_batch AS b
        WHERE b.run_id = ANY (stopped) AND b.state = 'claimed'
        ORDER BY b.batch_id
    LOOP
        given_back := given_back + payroll.return_payments(returnable, 'its run was cancelled: ' || stop_runs.reason);
    END LOOP;

    WITH moved AS (
        UPDATE payroll.payment AS p SET state = 'cancelled'
        FROM (
            SELECT w.payment_id, w.state AS old_state FROM payroll.payment AS w
            WHERE w.run_id = ANY (stopped) AND w.state IN ('pending', 'held')
            ORDER BY w.payment_id FOR UPDATE
        ) AS waiting
        WHERE p.payment_id = waiting.payment_id
        RETURNING p.run_id, waiting.old_state
    ), counted AS (
        SELECT m.run_id, count(*) FILTER (WHERE m.old_state = 'pending')::integer AS pending,
               count(*) FILTER (WHERE m.old_state = 'held')::integer AS held
        FROM moved AS m GROUP BY m.run_id
    ), recounted AS (
        UPDATE payroll.pay_run AS r
        SET pending_count = r.pending_count - c.pending, held_count = r.held_count - c.held,
            cancelled_count = r.cancelled_count + c.pending + c.held
        FROM counted AS c WHERE r.run_id = c.run_id
        RETURNING c.pending + c.held AS payments
    )
    SELECT coalesce(sum(n.payments), 0) INTO cancelled FROM recounted AS n;

    FOREACH run IN ARRAY stopped LOOP
        PERFORM payroll.finish_run(run);
    END LOOP;
    SELECT coalesce(sum(r.in_flight_count), 0) INTO in_flight FROM payroll.pay_run AS r WHERE r.run_id = ANY (stopped);
    RETURN jsonb_build_object('runs', cardinality(stopped), 'cancelled', cancelled + given_back, 'in_flight', in_flight);
END
$$;
