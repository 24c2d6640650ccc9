-- payroll.claim_abandoned_batches(pod, tracked) -> the batches that this pod must look after from now on
--   Takes over open batches whose pod is dead (no heartbeat for its lease) or retired, and this pod's own that it doesn't know of
--   although they are older than its lease (the answer of claim_payments was lost). Those with an envelope come
--   back with a new claim token and all their envelopes: ask the ledger, then send the same or sign anew for the same slot. Those
--   without one are released: nothing was sent, and a late record_envelope with the old token is refused.
--
-- Parameters
--   pod      a registered pod
--   tracked  the ids of the batches that this pod is working on
-- Returns the columns of claim_payments, then envelopes: [{inner_hash, outer_hash (hexadecimal), envelope_xdr,
--   fee_bid (stroops), valid_until, as_of_ledger}] oldest first, and held_reason (not NULL: look, but send nothing).
--   At most 20 a call: call again while rows come.
-- Errors: PL001, PL011 as claim_payments.
-- Locks: per batch run FOR UPDATE SKIP LOCKED, channel, batch.
-- Tables: payment_batch (update), envelope, pod (read); see return_payments.
-- Called by: payroll_pod.
--
-- A lease guards effort, not money: a pod that was only slow keeps nothing but hashes that are valid for the same slot.
CREATE OR REPLACE FUNCTION payroll.claim_abandoned_batches(pod text, tracked bigint[])
RETURNS TABLE (
    batch_id bigint, claim_token uuid, organization text, run_id bigint, channel_address text,
    channel_key_index integer, slot bigint, funding_address text, memo_type text, memo_value text, lines jsonb,
    envelopes jsonb, held_reason text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    abandoned record;
    batch payroll.payment_batch;
BEGIN
    PERFORM payroll.require_pod(claim_abandoned_batches.pod);
    FOR abandoned IN
        SELECT b.batch_id, b.run_id, b.claim_token
        FROM payroll.payment_batch AS b
        LEFT JOIN payroll.pod AS owner ON owner.pod = b.claimed_by
        WHERE b.state IN ('claimed', 'signed')
          AND NOT (b.state = 'claimed' AND b.held_reason IS NOT NULL)   -- giving it back would only have it held again
          AND CASE
              WHEN b.claimed_by = claim_abandoned_batches.pod
              THEN NOT b.batch_id = ANY (coalesce(claim_abandoned_batches.tracked, '{}')) AND b.claimed_at + owner.lease < clock
              ELSE owner.pod IS NULL OR owner.retired_at IS NOT NULL OR owner.heartbeat_at + owner.lease < clock
          END
        ORDER BY b.run_id, b.batch_id
        LIMIT 20
    LOOP
        PERFORM FROM payroll.pay_run AS r WHERE r.run_id = abandoned.run_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;        -- somebody works on this run; the next call looks again
        batch := payroll.lock_batch(abandoned.batch_id);
        CONTINUE WHEN batch.state NOT IN ('claimed', 'signed') OR batch.claim_token <> abandoned.claim_token
                      OR (batch.state = 'claimed' AND batch.held_reason IS NOT NULL);
        IF batch.state = 'claimed' THEN
            PERFORM payroll.return_payments(batch.batch_id, 'abandoned by ' || batch.claimed_by);
            CONTINUE;
        END IF;
        UPDATE payroll.payment_batch AS b
        SET claim_token = gen_random_uuid(), claimed_by = claim_abandoned_batches.pod, claimed_at = clock
        WHERE b.batch_id = batch.batch_id;
        RETURN QUERY
        SELECT w.*,
               (SELECT jsonb_agg(jsonb_build_object(
                           'inner_hash', encode(e.inner_hash, 'hex'), 'outer_hash', encode(e.outer_hash, 'hex'),
                           'envelope_xdr', e.envelope_xdr, 'fee_bid', e.fee_bid, 'valid_until', e.valid_until,
                           'as_of_ledger', e.as_of_ledger) ORDER BY e.envelope_id)
                FROM payroll.envelope AS e WHERE e.batch_id = batch.batch_id),
               batch.held_reason
        FROM payroll.batch_work(batch.batch_id) AS w;
    END LOOP;
END
$$;
