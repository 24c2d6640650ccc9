-- payroll.lock_batch(batch_id) -> the batch's row, locked
--   Locks the batch's run, its channel, then the batch itself, in the order that every function keeps.
-- Errors: PL002 no such batch.
-- Tables: pay_run, channel_account, payment_batch (lock).   Called by: functions that close or give back a batch. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.lock_batch(batch_id bigint) RETURNS payroll.payment_batch
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    batch payroll.payment_batch;
BEGIN
    -- A batch never changes its run or channel, so they can be read before the lock.
    SELECT b.* INTO batch FROM payroll.payment_batch AS b WHERE b.batch_id = lock_batch.batch_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no batch %', lock_batch.batch_id USING ERRCODE = 'PL002';
    END IF;
    PERFORM FROM payroll.pay_run AS r WHERE r.run_id = batch.run_id FOR UPDATE;
    PERFORM FROM payroll.channel_account AS c WHERE c.channel_id = batch.channel_id FOR UPDATE;
    SELECT b.* INTO batch FROM payroll.payment_batch AS b WHERE b.batch_id = lock_batch.batch_id FOR UPDATE;
    RETURN batch;
END
$$;
