-- payroll.release_batch(batch_id, claim_token) -> boolean
--   Gives back a batch that was claimed and has no envelope: nothing of it can have been sent.
-- Returns: true when it was given back by this call; false when there is nothing to give back any more (it has an
--   envelope, is closed, or another pod has it).
-- Errors: PL002 no such batch.
-- Locks: run, channel, batch.   Tables: see return_payments.   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.release_batch(batch_id bigint, claim_token uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    batch payroll.payment_batch;
BEGIN
    batch := payroll.lock_batch(release_batch.batch_id);
    IF batch.state <> 'claimed' OR batch.claim_token IS DISTINCT FROM release_batch.claim_token THEN
        RETURN false;
    END IF;
    PERFORM payroll.return_payments(release_batch.batch_id, 'given back by ' || batch.claimed_by);
    RETURN true;
END
$$;
