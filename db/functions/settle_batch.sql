-- payroll.settle_batch(batch_id, tx_hash, ledger, closed_at, successful, result_code, operation_codes, fee_charged, channel_sequence)
--   Records what the ledger did with a batch's slot: evidence alone closes a batch. What a hash did in a ledger is true
--   whoever reports it, so this needs no claim token, and saying it again changes nothing.
--
-- Parameters
--   tx_hash           32 bytes: the inner or outer hash of one of the batch's envelopes, as found in a ledger
--   ledger, closed_at the ledger's number and close time
--   successful        whether the transaction succeeded
--   result_code       the (inner) transaction's own code: tx_success, tx_failed, tx_bad_seq …
--   operation_codes   for tx_failed: one code an operation, in order ('op_success', 'op_no_trust' …); else NULL
--   fee_charged       stroops
--   channel_sequence  the channel's sequence as of that ledger or a later one; needed only when the transaction failed
--                     with a code other than tx_failed, because such a one does not use its sequence number
--                     (tx_bad_sponsorship does)
-- Returns the batch's state: 'succeeded' (its payments are paid), 'failed' (nobody was paid; final reasons fail a payment, all others
--   go into a new batch), or 'signed' or 'quarantined' (in a ledger, but not what used the slot: the batch stays open until the
--   transaction that used it is found; if that is a stranger's, quarantine_batch).
-- Errors: PL001 a parameter is missing, or the number of codes is not the number of operations; PL002 no such batch, or not one of
--   its hashes; PL008 the batch was released; PL005 an earlier report says otherwise: nothing is changed, a person must look; PL009 the evidence is
--   not sufficient (channel_sequence is missing).
-- Locks: run, channel, batch.
-- Tables: pay_run, payment, channel_account, payment_batch, batch_payment, envelope (update), result_code (read).
-- Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.settle_batch(
    batch_id bigint, tx_hash bytea, ledger bigint, closed_at timestamptz, successful boolean, result_code text,
    operation_codes text[], fee_charged bigint, channel_sequence bigint
) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    batch payroll.payment_batch;
    run payroll.pay_run;
    open_lines integer;
    paid integer := 0;
    failed integer := 0;
    held integer := 0;
    returned integer := 0;
    cancelled integer := 0;
    source_code text;
    seen payroll.envelope;
BEGIN
    IF octet_length(settle_batch.tx_hash) IS DISTINCT FROM 32 OR settle_batch.ledger IS NULL OR settle_batch.closed_at IS NULL
       OR settle_batch.successful IS NULL OR coalesce(settle_batch.result_code, '') = '' THEN
        RAISE EXCEPTION 'settle_batch: tx_hash (32 bytes), ledger, closed_at, successful and result_code must be given'
            USING ERRCODE = 'PL001';
    ELSIF settle_batch.successful <> (settle_batch.result_code = 'tx_success') THEN
        RAISE EXCEPTION 'settle_batch: successful is % but the code is %', settle_batch.successful, settle_batch.result_code
            USING ERRCODE = 'PL001', HINT = 'Pass the inner transaction''s own code.';
    END IF;

    batch := payroll.lock_batch(settle_batch.batch_id);
    SELECT e.* INTO seen FROM payroll.envelope AS e
    WHERE e.batch_id = settle_batch.batch_id AND settle_batch.tx_hash IN (e.inner_hash, e.outer_hash)
    ORDER BY e.outer_hash = settle_batch.tx_hash DESC NULLS LAST, e.envelope_id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'transaction % is not an envelope of batch %', encode(settle_batch.tx_hash, 'hex'), settle_batch.batch_id
            USING ERRCODE = 'PL002';
    END IF;

    IF batch.state IN ('succeeded', 'failed') THEN
        IF EXISTS (
               SELECT FROM payroll.envelope AS e
               WHERE e.batch_id = settle_batch.batch_id AND e.inner_hash = seen.inner_hash
                 AND batch.settled_hash IN (e.inner_hash, e.outer_hash))
           AND batch.settled_ledger = settle_batch.ledger
           AND (batch.state = 'succeeded') = settle_batch.successful
           AND batch.settled_code = settle_batch.result_code THEN
            RETURN batch.state;     -- said before
        ELSIF NOT settle_batch.successful AND settle_batch.result_code <> 'tx_failed' THEN
            -- Another envelope of the same slot that got into a ledger and used nothing: no contradiction.
            UPDATE payroll.envelope AS e SET ledger = settle_batch.ledger, result_code = settle_batch.result_code
            WHERE e.envelope_id = seen.envelope_id;
            RETURN batch.state;
        END IF;
        RAISE EXCEPTION 'batch % is % by transaction % in ledger %; now transaction % in ledger % is said to be %',
            settle_batch.batch_id, batch.state, encode(batch.settled_hash, 'hex'), batch.settled_ledger,
            encode(settle_batch.tx_hash, 'hex'), settle_batch.ledger, settle_batch.result_code
            USING ERRCODE = 'PL005', HINT = 'Nothing was changed. Compare both transactions on the ledger; one of the two nodes is wrong.';
    ELSIF batch.state NOT IN ('signed', 'quarantined') THEN
        RAISE EXCEPTION 'batch % is %', settle_batch.batch_id, batch.state USING ERRCODE = 'PL008';
    END IF;

    UPDATE payroll.envelope AS e SET ledger = settle_batch.ledger, result_code = settle_batch.result_code
    WHERE e.envelope_id = seen.envelope_id;

    IF NOT settle_batch.successful AND settle_batch.result_code <> 'tx_failed' THEN
        IF settle_batch.channel_sequence IS NULL THEN
            RAISE EXCEPTION 'batch %: % in a ledger does not say whether the slot is used', settle_batch.batch_id, settle_batch.result_code
                USING ERRCODE = 'PL009', HINT = 'Read the channel account''s sequence as of that ledger or a later one, and pass it.';
        ELSIF settle_batch.channel_sequence < batch.slot OR settle_batch.result_code <> 'tx_bad_sponsorship' THEN
            -- This transaction did not use the slot, and that is all it says. If the slot is used all the same, then by another
            -- envelope, by this one later (the same hash, or its inner transaction in somebody else's fee bump, can
            -- still be applied), or by a stranger. Only the transaction that used it may close the batch: giving the
            -- payments back on less has them paid twice. Found by model/payout.pml (SLOT_USER_NOT_READ).
            RETURN batch.state;
        END IF;
        -- tx_bad_sponsorship uses its number. Yet the number could be another envelope's doing.
        IF EXISTS (
            SELECT FROM payroll.envelope AS e
            WHERE e.batch_id = settle_batch.batch_id AND e.envelope_id <> seen.envelope_id
              AND (e.ledger IS NULL OR e.result_code IN ('tx_success', 'tx_failed'))
        ) THEN
            RETURN batch.state;
        END IF;
    END IF;

    SELECT r.* INTO run FROM payroll.pay_run AS r WHERE r.run_id = batch.run_id;
    SELECT count(*) INTO open_lines
    FROM payroll.batch_payment AS bp WHERE bp.batch_id = settle_batch.batch_id AND bp.result = 'open';

    IF settle_batch.successful THEN
        WITH closed AS (
            UPDATE payroll.batch_payment AS bp SET result = 'paid', code = 'op_success'
            WHERE bp.batch_id = settle_batch.batch_id AND bp.result = 'open'
            RETURNING bp.payment_id
        ), moved AS (
            UPDATE payroll.payment AS p SET state = 'paid', failure_code = NULL
            FROM closed WHERE p.payment_id = closed.payment_id
            RETURNING p.payment_id
        )
        SELECT count(*) INTO paid FROM moved;
    ELSE
        IF settle_batch.result_code = 'tx_failed'
           AND coalesce(cardinality(settle_batch.operation_codes), 0) <> open_lines THEN
            RAISE EXCEPTION 'settle_batch: batch % has % operations, % codes were given',
                settle_batch.batch_id, open_lines, coalesce(cardinality(settle_batch.operation_codes), 0)
                USING ERRCODE = 'PL001';
        END IF;
        -- Each payment by its own operation's code. Without one (the transaction never ran): back to pending.
        WITH numbered AS (
            SELECT bp.payment_id, row_number() OVER (ORDER BY bp.position) AS operation
            FROM payroll.batch_payment AS bp
            WHERE bp.batch_id = settle_batch.batch_id AND bp.result = 'open'
        ), judged AS (
            SELECT n.payment_id, codes.code,
                   CASE
                       WHEN codes.code IS NULL THEN 'success'
                       ELSE coalesce(rc.class, 'defect')
                   END AS class
            FROM numbered AS n
            LEFT JOIN unnest(settle_batch.operation_codes) WITH ORDINALITY AS codes (code, operation) ON codes.operation = n.operation
            LEFT JOIN payroll.result_code AS rc ON rc.code = codes.code AND rc.level = 'operation'
        ), closed AS (
            UPDATE payroll.batch_payment AS bp SET result = 'failed', code = j.code
            FROM judged AS j
            WHERE bp.batch_id = settle_batch.batch_id AND bp.payment_id = j.payment_id
            RETURNING bp.payment_id
        ), moved AS (
            UPDATE payroll.payment AS p
            SET state = (CASE
                    WHEN j.class = 'payee' THEN 'failed'
                    WHEN run.cancel_requested_at IS NOT NULL THEN 'cancelled'
                    WHEN j.class IN ('success', 'source') THEN 'pending'
                    ELSE 'held'
                END)::payroll.payment_state,
                failure_code = CASE WHEN j.class = 'success' THEN NULL ELSE j.code END
            FROM judged AS j
            WHERE p.payment_id = j.payment_id
            RETURNING p.state, j.class, j.code
        )
        SELECT count(*) FILTER (WHERE m.state = 'failed'), count(*) FILTER (WHERE m.state = 'pending'),
               count(*) FILTER (WHERE m.state = 'held'), count(*) FILTER (WHERE m.state = 'cancelled'),
               min(m.code) FILTER (WHERE m.class = 'source')
        INTO failed, returned, held, cancelled, source_code
        FROM moved AS m;
    END IF;

    UPDATE payroll.payment_batch AS b
    SET state = (CASE WHEN settle_batch.successful THEN 'succeeded' ELSE 'failed' END)::payroll.batch_state,
        settled_hash = settle_batch.tx_hash, settled_ledger = settle_batch.ledger, settled_closed_at = settle_batch.closed_at,
        settled_code = settle_batch.result_code, fee_charged = settle_batch.fee_charged, settled_at = clock
    WHERE b.batch_id = settle_batch.batch_id;
    UPDATE payroll.channel_account AS c
    SET sequence = greatest(c.sequence, batch.slot), live_batch_id = NULL
    WHERE c.channel_id = batch.channel_id;
    UPDATE payroll.pay_run AS r
    SET in_flight_count = r.in_flight_count - open_lines,
        paid_count = r.paid_count + paid, failed_count = r.failed_count + failed, held_count = r.held_count + held,
        pending_count = r.pending_count + returned, cancelled_count = r.cancelled_count + cancelled,
        -- The source must be mended: wait 5, 10, 20 … at most 600 seconds, then try again. Batches that were in flight
        -- beside the first one that failed don't lengthen the wait.
        funding_failures = CASE
            WHEN source_code IS NOT NULL AND r.state = 'paying' THEN r.funding_failures + 1
            WHEN paid > 0 THEN 0 ELSE r.funding_failures END,
        next_serve_at = CASE WHEN source_code IS NOT NULL AND returned > 0 AND r.state = 'paying'
            THEN clock + make_interval(secs => least(600, 5 * 2 ^ least(r.funding_failures, 8))) ELSE r.next_serve_at END,
        state = CASE WHEN source_code IS NOT NULL AND returned > 0 AND r.state = 'paying'
            THEN 'awaiting_funds'::payroll.run_state ELSE r.state END,
        state_reason = CASE
            WHEN source_code IS NOT NULL AND returned > 0 THEN source_code
            WHEN held + r.held_count > 0 THEN format('%s payments are held: the ledger gave a reason that a person must look at', held + r.held_count)
            ELSE r.state_reason END
    WHERE r.run_id = batch.run_id;
    PERFORM payroll.finish_run(batch.run_id);
    PERFORM pg_notify('payroll_work', '');      -- a channel is free again
    RETURN CASE WHEN settle_batch.successful THEN 'succeeded' ELSE 'failed' END;
END
$$;
