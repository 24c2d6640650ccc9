-- payroll.batch_work(batch_id) -> one row: what a pod needs to build the batch's transaction
--   The same columns as claim_payments; lines are the batch's open payments in operation order.
-- Errors: none (no row for an unknown batch).
-- Tables: payment_batch, batch_payment, payment, channel_account, pay_run, funding_account, organization (read).
-- Called by: claim_payments, claim_abandoned_batches. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.batch_work(batch_id bigint)
RETURNS TABLE (
    batch_id bigint, claim_token uuid, organization text, run_id bigint, channel_address text,
    channel_key_index integer, slot bigint, funding_address text, memo_type text, memo_value text, lines jsonb
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
    SELECT b.batch_id, b.claim_token, o.name::text, b.run_id, c.address::text, c.key_index, b.slot, f.address::text,
           b.memo_type::text, b.memo_value,
           (SELECT jsonb_agg(jsonb_build_object(
                       'payment_id', p.payment_id, 'destination', p.destination, 'asset_code', p.asset_code,
                       'asset_issuer', p.asset_issuer, 'amount', p.amount::text, 'own_memo', p.memo_type <> 'none'
                   ) ORDER BY bp.position)
            FROM payroll.batch_payment AS bp
            JOIN payroll.payment AS p ON p.payment_id = bp.payment_id
            WHERE bp.batch_id = b.batch_id AND bp.result = 'open')
    FROM payroll.payment_batch AS b
    JOIN payroll.pay_run AS r ON r.run_id = b.run_id
    JOIN payroll.organization AS o ON o.organization_id = b.organization_id
    JOIN payroll.channel_account AS c ON c.channel_id = b.channel_id
    JOIN payroll.funding_account AS f ON f.funding_account_id = r.funding_account_id
    WHERE b.batch_id = batch_work.batch_id
$$;
