-- payroll.quarantine_batch(batch_id, reason, evidence) -> void
--   The channel's sequence passed the batch's slot and a foreign transaction did it: stops the batch and its channel until a
--   person has looked. Settles nothing: the payments stay in flight, because nobody may pay them again before that.
-- Parameters: reason in plain words; evidence: what was read from the ledger (hash, ledger, sequence …).
-- Errors: PL001 reason or evidence is missing; PL002 no such batch; PL008 the batch is closed or was never signed.
-- Idempotent. Locks: run, channel, batch.
-- Tables: payment_batch, channel_account (update), audit_event (insert).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.quarantine_batch(batch_id bigint, reason text, evidence jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    batch payroll.payment_batch;
BEGIN
    IF coalesce(btrim(quarantine_batch.reason), '') = '' OR quarantine_batch.evidence IS NULL THEN
        RAISE EXCEPTION 'quarantine_batch: reason and evidence must be given' USING ERRCODE = 'PL001';
    END IF;
    batch := payroll.lock_batch(quarantine_batch.batch_id);
    IF batch.state = 'quarantined' THEN
        RETURN;
    ELSIF batch.state <> 'signed' THEN
        RAISE EXCEPTION 'batch % is %', quarantine_batch.batch_id, batch.state USING ERRCODE = 'PL008';
    END IF;
    UPDATE payroll.payment_batch AS b SET state = 'quarantined', state_reason = quarantine_batch.reason
    WHERE b.batch_id = quarantine_batch.batch_id;
    UPDATE payroll.channel_account AS c SET state = 'quarantined', state_reason = quarantine_batch.reason
    WHERE c.channel_id = batch.channel_id AND c.state = 'active';
    INSERT INTO payroll.audit_event (organization_id, at, actor, action, subject, details)
    VALUES (batch.organization_id, payroll.read_clock(), session_user, 'quarantine_batch', 'batch ' || quarantine_batch.batch_id,
            jsonb_build_object('reason', quarantine_batch.reason, 'evidence', quarantine_batch.evidence));
END
$$;
