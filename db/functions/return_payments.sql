-- payroll.return_payments(batch_id, reason) -> integer
--   Closes a batch that has no envelope: its open payments go back to pending (cancelled, when a person
--   has asked to cancel the run), its slot to its channel, the batch to 'released'.
--   The caller holds the locks of run, channel and batch, in this order, and has seen that no envelope exists.
-- Returns: how many payments it gave back.
-- Errors: PL008 the batch has an envelope or is closed.
-- Tables: pay_run, payment, channel_account, payment_batch, batch_payment (update), envelope (read).
-- Called by: release_batch, claim_abandoned_batches, refuse_payments, cancel functions. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.return_payments(batch_id bigint, reason text) RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    batch payroll.payment_batch;
    cancelling boolean;
    given_back integer;
BEGIN
    SELECT b.* INTO batch FROM payroll.payment_batch AS b WHERE b.batch_id = return_payments.batch_id;
    IF batch.state IS DISTINCT FROM 'claimed'
       OR EXISTS (SELECT FROM payroll.envelope AS e WHERE e.batch_id = return_payments.batch_id) THEN
        RAISE EXCEPTION 'batch % can''t be given back: it is % and may have been sent', return_payments.batch_id, batch.state
            USING ERRCODE = 'PL008', HINT = 'A batch with an envelope is closed by the ledger alone.';
    END IF;
    SELECT r.cancel_requested_at IS NOT NULL INTO cancelling FROM payroll.pay_run AS r WHERE r.run_id = batch.run_id;

    WITH released AS (
        UPDATE payroll.batch_payment AS bp SET result = 'released'
        WHERE bp.batch_id = return_payments.batch_id AND bp.result = 'open'
        RETURNING bp.payment_id
    ), moved AS (
        UPDATE payroll.payment AS p
        SET state = (CASE WHEN cancelling THEN 'cancelled' ELSE 'pending' END)::payroll.payment_state
        FROM released WHERE p.payment_id = released.payment_id
        RETURNING p.payment_id
    )
    SELECT count(*) INTO given_back FROM moved;

    UPDATE payroll.payment_batch AS b SET state = 'released', state_reason = return_payments.reason
    WHERE b.batch_id = return_payments.batch_id;
    UPDATE payroll.channel_account AS c SET live_batch_id = NULL
    WHERE c.channel_id = batch.channel_id AND c.live_batch_id = return_payments.batch_id;
    UPDATE payroll.pay_run AS r
    SET in_flight_count = r.in_flight_count - given_back,
        pending_count = r.pending_count + CASE WHEN cancelling THEN 0 ELSE given_back END,
        cancelled_count = r.cancelled_count + CASE WHEN cancelling THEN given_back ELSE 0 END
    WHERE r.run_id = batch.run_id;
    PERFORM payroll.finish_run(batch.run_id);
    PERFORM pg_notify('payroll_work', '');
    RETURN given_back;
END
$$;
