-- payroll.refuse_payments(batch_id, claim_token, payment_ids, code) -> integer
--   Before a batch has an envelope: takes payments out of it and fails them for a reason of the payee's that a check found
--   (today: memo_required, SEP-29). The pod then builds from the lines that are left.
-- Returns: how many lines are left; at 0 the batch is released.
-- Idempotent: the same refusal again (its answer was lost) changes nothing.
-- Errors: PL001 the code is not a check's, or a payment is not in this batch; PL002 no such batch; PL004 the claim token is no longer
--   valid; PL008 the batch has an envelope.
-- Locks: run, channel, batch.
-- Tables: pay_run, payment, payment_batch, batch_payment, channel_account (update), result_code (read).
-- Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.refuse_payments(batch_id bigint, claim_token uuid, payment_ids bigint[], code text)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    batch payroll.payment_batch;
    wanted bigint[];
    refused integer;
    lines_left integer;
BEGIN
    IF NOT EXISTS (SELECT FROM payroll.result_code AS rc WHERE rc.code = refuse_payments.code AND rc.level = 'check') THEN
        RAISE EXCEPTION 'refuse_payments: "%" is not the code of a check', refuse_payments.code
            USING ERRCODE = 'PL001', HINT = 'payroll.result_code lists them, with level "check".';
    END IF;
    batch := payroll.lock_batch(refuse_payments.batch_id);
    IF batch.claim_token IS DISTINCT FROM refuse_payments.claim_token THEN
        RAISE EXCEPTION 'batch % is no longer this pod''s', refuse_payments.batch_id USING ERRCODE = 'PL004', HINT = 'Drop it.';
    END IF;
    SELECT array_agg(DISTINCT w.payment_id) INTO wanted
    FROM unnest(refuse_payments.payment_ids) AS w (payment_id)
    WHERE NOT EXISTS (      -- refused before
        SELECT FROM payroll.batch_payment AS bp
        WHERE bp.batch_id = refuse_payments.batch_id AND bp.payment_id = w.payment_id
          AND bp.result = 'failed' AND bp.code = refuse_payments.code
    );
    IF wanted IS NULL AND batch.state IN ('claimed', 'released') THEN
        RETURN (SELECT count(*) FROM payroll.batch_payment AS bp
                WHERE bp.batch_id = refuse_payments.batch_id AND bp.result = 'open');
    ELSIF batch.state <> 'claimed' THEN
        RAISE EXCEPTION 'batch % is %: its payments can''t be taken out any more', refuse_payments.batch_id, batch.state
            USING ERRCODE = 'PL008';
    END IF;

    WITH refused_payments AS (
        UPDATE payroll.batch_payment AS bp SET result = 'failed', code = refuse_payments.code
        WHERE bp.batch_id = refuse_payments.batch_id AND bp.payment_id = ANY (wanted) AND bp.result = 'open'
        RETURNING bp.payment_id
    ), failed AS (
        UPDATE payroll.payment AS p SET state = 'failed', failure_code = refuse_payments.code
        FROM refused_payments AS rp WHERE p.payment_id = rp.payment_id
        RETURNING p.payment_id
    )
    SELECT count(*) INTO refused FROM failed;
    IF refused <> coalesce(cardinality(wanted), 0) THEN
        RAISE EXCEPTION 'refuse_payments: % of % payments are open in batch %', refused, coalesce(cardinality(wanted), 0), refuse_payments.batch_id
            USING ERRCODE = 'PL001';
    END IF;
    UPDATE payroll.pay_run AS r
    SET in_flight_count = r.in_flight_count - refused, failed_count = r.failed_count + refused
    WHERE r.run_id = batch.run_id;

    SELECT count(*) INTO lines_left
    FROM payroll.batch_payment AS bp WHERE bp.batch_id = refuse_payments.batch_id AND bp.result = 'open';
    IF lines_left = 0 THEN
        PERFORM payroll.return_payments(refuse_payments.batch_id, 'every payment of it was refused by a check');
    END IF;
    RETURN lines_left;
END
$$;
