-- payroll.resume_batch(organization, batch_id, reason) -> boolean
--   Clears a batch's hold (hold_batch): pods may send for it again, on the same slot. The person has looked at why it was held.
--   The batch is taken from the pod that had it, which remembers it as held: claim_abandoned_batches gives it to whoever comes first,
--   and the old claim token is no longer valid.
-- Returns: true when it was held, false when there was nothing to clear.
-- Errors: PL001 a parameter is missing; PL002 the organization has no such batch; PL008 the batch is closed.
-- Locks: batch.   Sends: NOTIFY payroll_work.   Tables: payment_batch (update), audit_event (insert).   Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.resume_batch(organization text, batch_id bigint, reason text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    why constant text := payroll.require_reason(resume_batch.reason);
    owner_id constant bigint := payroll.organization_id_of(resume_batch.organization);
    batch payroll.payment_batch;
BEGIN
    SELECT b.* INTO batch FROM payroll.payment_batch AS b
    WHERE b.batch_id = resume_batch.batch_id AND b.organization_id = owner_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'organization "%" has no batch %', resume_batch.organization, coalesce(resume_batch.batch_id::text, 'NULL')
            USING ERRCODE = 'PL002', HINT = 'See payroll.batch_overview.';
    ELSIF batch.state NOT IN ('claimed', 'signed') THEN
        RAISE EXCEPTION 'batch % is %: it can''t be resumed', resume_batch.batch_id, batch.state USING ERRCODE = 'PL008';
    ELSIF batch.held_reason IS NULL THEN
        RETURN false;
    END IF;
    UPDATE payroll.payment_batch AS b SET held_reason = NULL, claim_token = gen_random_uuid(), claimed_by = 'resumed by ' || session_user
    WHERE b.batch_id = resume_batch.batch_id;
    PERFORM payroll.record_audit(owner_id, 'resume_batch', 'batch ' || resume_batch.batch_id,
        jsonb_build_object('reason', why, 'held_reason', batch.held_reason));
    PERFORM pg_notify('payroll_work', '');
    RETURN true;
END
$$;
