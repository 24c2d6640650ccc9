-- payroll.hold_batch(batch_id, claim_token, reason) -> void
--   A defect, or a code nobody knows, at submission: the batch keeps its slot and its payments; pods go on looking for its
--   hashes, but sign and send nothing for it until a person resumes it (resume_batch).
-- Errors: PL001 reason is missing; PL002 no such batch; PL004 the claim token is no longer valid; PL008 the batch is closed or quarantined.
-- Idempotent: the first reason stays. Locks: batch.
-- Tables: payment_batch (update), audit_event (insert).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.hold_batch(batch_id bigint, claim_token uuid, reason text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    batch payroll.payment_batch;
BEGIN
    IF coalesce(btrim(hold_batch.reason), '') = '' THEN
        RAISE EXCEPTION 'hold_batch: reason must be given' USING ERRCODE = 'PL001';
    END IF;
    SELECT b.* INTO batch FROM payroll.payment_batch AS b WHERE b.batch_id = hold_batch.batch_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no batch %', hold_batch.batch_id USING ERRCODE = 'PL002';
    ELSIF batch.claim_token IS DISTINCT FROM hold_batch.claim_token THEN
        RAISE EXCEPTION 'batch % is no longer this pod''s', hold_batch.batch_id USING ERRCODE = 'PL004', HINT = 'Drop it.';
    ELSIF batch.state NOT IN ('claimed', 'signed') THEN
        RAISE EXCEPTION 'batch % is %', hold_batch.batch_id, batch.state USING ERRCODE = 'PL008';
    ELSIF batch.held_reason IS NOT NULL THEN
        RETURN;
    END IF;
    UPDATE payroll.payment_batch AS b SET held_reason = hold_batch.reason WHERE b.batch_id = hold_batch.batch_id;
    INSERT INTO payroll.audit_event (organization_id, at, actor, action, subject, details)
    VALUES (batch.organization_id, payroll.read_clock(), session_user, 'hold_batch', 'batch ' || hold_batch.batch_id,
            jsonb_build_object('reason', hold_batch.reason));
END
$$;
