-- payroll.record_envelope(batch_id, claim_token, slot, inner_hash, outer_hash, envelope_xdr, fee_bid, valid_until, as_of_ledger)
--   Stores a signed transaction before it is sent: commit, then send. Not one byte may leave the pod before this has
--   returned and committed. A batch may get several envelopes (new fee, new time bounds), all for its one slot.
--
-- Parameters
--   slot          the transaction's sequence number; must be the batch's slot
--   inner_hash    32 bytes; outer_hash: of the fee bump, NULL without one
--   envelope_xdr  base64, as it will be sent
--   fee_bid       stroops, for the whole outer transaction
--   valid_until   the transaction's maxTime (ledger time)
--   as_of_ledger  the newest ledger the pod knew of when it signed
-- Errors: PL001 a parameter is missing or the slot is not the batch's; PL002 no such batch; PL004 the claim token is no longer valid
--   (another pod took the batch over, or it was released): send nothing; PL006 a hash belongs to another batch or inner transaction;
--   PL008 the batch is closed, held or quarantined: send nothing.
-- Idempotent: the same envelope again changes nothing.
-- Locks: batch.   Tables: payment_batch (update), envelope (insert).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.record_envelope(
    batch_id bigint, claim_token uuid, slot bigint, inner_hash bytea, outer_hash bytea, envelope_xdr text,
    fee_bid bigint, valid_until timestamptz, as_of_ledger bigint
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    batch payroll.payment_batch;
BEGIN
    -- Commit, then send: a commit that a crash of the server can lose is none. A login may have turned this off.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF record_envelope.slot IS NULL OR octet_length(record_envelope.inner_hash) IS DISTINCT FROM 32
       OR octet_length(record_envelope.outer_hash) <> 32
       OR coalesce(record_envelope.envelope_xdr, '') = '' OR coalesce(record_envelope.fee_bid, 0) <= 0
       OR record_envelope.valid_until IS NULL OR record_envelope.as_of_ledger IS NULL THEN
        RAISE EXCEPTION 'record_envelope: slot, inner_hash, envelope_xdr, fee_bid, valid_until and as_of_ledger must be given'
            USING ERRCODE = 'PL001', HINT = 'Hashes have 32 bytes; fee_bid is a positive number of stroops.';
    END IF;
    SELECT b.* INTO batch FROM payroll.payment_batch AS b WHERE b.batch_id = record_envelope.batch_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no batch %', record_envelope.batch_id USING ERRCODE = 'PL002';
    ELSIF batch.claim_token IS DISTINCT FROM record_envelope.claim_token OR batch.state = 'released' THEN
        RAISE EXCEPTION 'batch % is no longer this pod''s: send nothing', record_envelope.batch_id
            USING ERRCODE = 'PL004', HINT = 'Another pod took it over, or it was released. Drop it.';
    ELSIF batch.state NOT IN ('claimed', 'signed') THEN
        RAISE EXCEPTION 'batch % is %: send nothing', record_envelope.batch_id, batch.state USING ERRCODE = 'PL008';
    ELSIF batch.held_reason IS NOT NULL THEN
        RAISE EXCEPTION 'batch % is held: send nothing (%)', record_envelope.batch_id, batch.held_reason
            USING ERRCODE = 'PL008', HINT = 'A person must look and resume it.';
    ELSIF batch.slot <> record_envelope.slot THEN
        RAISE EXCEPTION 'batch % has slot %, the envelope carries sequence %', record_envelope.batch_id, batch.slot, record_envelope.slot
            USING ERRCODE = 'PL001', HINT = 'Every envelope of a batch carries the batch''s slot.';
    END IF;

    IF EXISTS (
        SELECT FROM payroll.envelope AS e
        WHERE e.inner_hash = record_envelope.inner_hash AND e.outer_hash IS NOT DISTINCT FROM record_envelope.outer_hash
          AND e.batch_id = record_envelope.batch_id
    ) THEN
        RETURN;
    END IF;
    IF EXISTS (
        SELECT FROM payroll.envelope AS e
        WHERE e.inner_hash = record_envelope.inner_hash AND e.batch_id <> record_envelope.batch_id
    ) OR EXISTS (
        SELECT FROM payroll.envelope AS e
        WHERE e.outer_hash = record_envelope.outer_hash
          AND (e.batch_id <> record_envelope.batch_id OR e.inner_hash <> record_envelope.inner_hash)
    ) THEN
        RAISE EXCEPTION 'envelope % was recorded for another batch or inner transaction', encode(record_envelope.inner_hash, 'hex')
            USING ERRCODE = 'PL006';
    END IF;
    INSERT INTO payroll.envelope (
        organization_id, batch_id, slot, inner_hash, outer_hash, envelope_xdr, fee_bid, valid_until, as_of_ledger,
        recorded_by, recorded_at
    )
    VALUES (
        batch.organization_id, record_envelope.batch_id, record_envelope.slot, record_envelope.inner_hash,
        record_envelope.outer_hash, record_envelope.envelope_xdr, record_envelope.fee_bid, record_envelope.valid_until,
        record_envelope.as_of_ledger, batch.claimed_by, clock
    );
    IF batch.state = 'claimed' THEN
        UPDATE payroll.payment_batch AS b SET state = 'signed' WHERE b.batch_id = record_envelope.batch_id;
    END IF;
END
$$;
