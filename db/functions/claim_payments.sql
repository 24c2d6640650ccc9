-- payroll.claim_payments(pod) -> one batch, or no row
--   Binds up to 99 pending payments of one payable run to the next slot of an idle channel of the run's organization.
--   The pod builds exactly one transaction from the row: source = channel with sequence `slot`, one payment
--   operation a line in order, operation source = funding account, the given memo.
--
-- Parameters
--   pod   a registered pod (start_pod).
-- Returns batch_id, claim_token (fences record_envelope), organization, run_id, channel_address, channel_key_index
--   (SEP-5), slot (sequence number), funding_address, memo_type (none|text|id|hash|return), memo_value (text as it
--   is, id in decimal, hash and return in hexadecimal), lines: [{payment_id, destination, asset_code, asset_issuer,
--   amount, own_memo}], amounts as strings, 1 to 99 of them. A payment with a memo of its own comes alone.
-- Errors: PL001 pod is empty, PL011 pod not registered or retired.
-- Fair: among organizations with payable work and an idle channel the one served longest ago; in it, the run served longest
--   ago. Its cost grows with the number of organizations that have payable work at this moment, not with runs,
--   payments or history.
-- Locks: run FOR UPDATE (waits for one only when nothing else can be served), then channel FOR UPDATE SKIP LOCKED, then organization (last_served_at).
-- Tables: pay_run, payment, channel_account, organization (update), payment_batch, batch_payment (insert), pay_schedule, pod,
--   funding_account (read).
-- Called by: payroll_pod.
--
-- Why it has this form. Everything that moves a payment holds its run's row lock, so payments need none of their own.
-- channel_account.live_batch_id is in the locking query's condition because a row that was locked late is checked again
-- with its newest version, while a subquery on payment_batch would still see the old one. The unique
-- indexes (one live batch a channel, one batch a slot, one live batch a payment) say the same to whoever comes without these locks.
-- A ledger's room is counted in operations, 1,000 on the public network, and a fee bump counts as one: 99 payments make
-- 100, so that ten transactions fill a ledger (990 payments). Of 100 payments each only nine would fit (900).
-- Measured by: make bench (bench/claim_cost.py, bench/large_run.py).
CREATE OR REPLACE FUNCTION payroll.claim_payments(pod text)
RETURNS TABLE (
    batch_id bigint, claim_token uuid, organization text, run_id bigint, channel_address text,
    channel_key_index integer, slot bigint, funding_address text, memo_type text, memo_value text, lines jsonb
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    candidate bigint;
    run payroll.pay_run;
    channel payroll.channel_account;
    schedule_end date;
    chosen bigint[];
    batch_memo_type payroll.memo_kind;
    batch_memo_value text;
    new_batch bigint;
    new_token constant uuid := gen_random_uuid();
    tried_runs bigint[] := '{}'::bigint[];
    full_organizations bigint[] := '{}'::bigint[];    -- whose idle channels other sessions took meanwhile
    locked_run bigint;                      -- the first one that another session had locked
    holds_lock boolean := false;
BEGIN
    PERFORM payroll.require_pod(claim_payments.pod);

    FOR attempt IN 1 .. 8 LOOP
        -- Step from organization to organization along the index pay_run_payable.
        WITH RECURSIVE with_work AS (
            (SELECT r.organization_id
             FROM payroll.pay_run AS r
             WHERE r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0
             ORDER BY r.organization_id LIMIT 1)
            UNION ALL
            SELECT (SELECT r.organization_id
                    FROM payroll.pay_run AS r
                    WHERE r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0
                      AND r.organization_id > w.organization_id
                    ORDER BY r.organization_id LIMIT 1)
            FROM with_work AS w
            WHERE w.organization_id IS NOT NULL
        )
        SELECT waiting.run_id INTO candidate
        FROM (
            SELECT o.organization_id, o.last_served_at
            FROM with_work AS w
            JOIN payroll.organization AS o ON o.organization_id = w.organization_id
            ORDER BY o.last_served_at NULLS FIRST, o.organization_id
        ) AS in_turn    -- in order before the look at runs and channels, which so ends at the first that can be served
        CROSS JOIN LATERAL (
            SELECT r.run_id
            FROM payroll.pay_run AS r
            WHERE r.organization_id = in_turn.organization_id
              AND r.state IN ('approved', 'paying', 'awaiting_funds') AND r.pending_count > 0
              AND r.next_serve_at <= clock AND r.cancel_requested_at IS NULL
              AND r.run_id <> ALL (tried_runs)
            ORDER BY r.next_serve_at
            LIMIT 1
        ) AS waiting
        WHERE EXISTS (
            SELECT FROM payroll.channel_account AS c
            WHERE c.organization_id = in_turn.organization_id AND c.state = 'active' AND c.live_batch_id IS NULL
        ) AND in_turn.organization_id <> ALL (full_organizations)
        ORDER BY in_turn.last_served_at NULLS FIRST, in_turn.organization_id
        LIMIT 1;
        -- Lock it. A run that somebody else has locked holds nobody else up: it is waited for only when nothing else can be
        -- served, and only while this call holds no lock (two calls that wait for each other's run would deadlock).
        IF candidate IS NULL THEN
            EXIT WHEN locked_run IS NULL OR holds_lock;
            candidate := locked_run;
            locked_run := NULL;
            SELECT r.* INTO run FROM payroll.pay_run AS r WHERE r.run_id = candidate FOR UPDATE;
        ELSE
            SELECT r.* INTO run FROM payroll.pay_run AS r WHERE r.run_id = candidate FOR UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                locked_run := coalesce(locked_run, candidate);
                tried_runs := tried_runs || candidate;
                CONTINUE;
            END IF;
        END IF;
        tried_runs := tried_runs || candidate;
        holds_lock := true;
        CONTINUE WHEN run.state NOT IN ('approved', 'paying', 'awaiting_funds') OR run.pending_count = 0
                      OR run.next_serve_at > clock OR run.cancel_requested_at IS NOT NULL;

        -- The end date is read twice: when the run opened, and now. No function leaves a run behind a new end date; this is for
        -- whoever writes the table.
        SELECT s.end_date INTO schedule_end FROM payroll.pay_schedule AS s WHERE s.schedule_id = run.schedule_id;
        IF run.nominal_date > schedule_end THEN
            UPDATE payroll.pay_run AS r
            SET state = 'held', state_reason = format('its date %s is after the schedule''s end date %s', run.nominal_date, schedule_end)
            WHERE r.run_id = candidate;
            CONTINUE;
        END IF;

        SELECT c.* INTO channel
        FROM payroll.channel_account AS c
        WHERE c.organization_id = run.organization_id AND c.state = 'active' AND c.live_batch_id IS NULL
        ORDER BY c.last_claimed_at
        LIMIT 1
        FOR UPDATE SKIP LOCKED;
        IF channel.channel_id IS NULL THEN
            full_organizations := full_organizations || run.organization_id;
            CONTINUE;
        END IF;

        WITH next_payments AS MATERIALIZED (
            SELECT p.payment_id, p.memo_type, p.memo_value, (p.memo_type <> 'none') AS sent_apart
            FROM payroll.payment AS p
            WHERE p.run_id = candidate AND p.state = 'pending'
            ORDER BY (p.memo_type <> 'none'), p.payment_id
            LIMIT 99
        ), first_payment AS (
            SELECT n.* FROM next_payments AS n ORDER BY n.sent_apart, n.payment_id LIMIT 1
        )
        SELECT array_agg(n.payment_id ORDER BY n.payment_id),
               CASE WHEN bool_or(n.sent_apart) THEN min(n.memo_type) ELSE run.memo_type END,
               CASE WHEN bool_or(n.sent_apart) THEN min(n.memo_value) ELSE run.memo_value END
        INTO chosen, batch_memo_type, batch_memo_value
        FROM next_payments AS n
        CROSS JOIN first_payment AS f
        WHERE n.payment_id = f.payment_id OR (NOT f.sent_apart AND NOT n.sent_apart);
        IF chosen IS NULL THEN
            -- Never seen. If it happens, it stops this run, and nobody else's.
            UPDATE payroll.pay_run AS r
            SET state = 'held', state_reason = format('it counts %s pending payments and has none', run.pending_count)
            WHERE r.run_id = candidate;
            CONTINUE;
        END IF;

        INSERT INTO payroll.payment_batch AS b (
            organization_id, run_id, channel_id, slot, memo_type, memo_value, claim_token, claimed_by, claimed_at
        )
        VALUES (run.organization_id, candidate, channel.channel_id, channel.sequence + 1, batch_memo_type, batch_memo_value,
                new_token, claim_payments.pod, clock)
        RETURNING b.batch_id INTO new_batch;
        INSERT INTO payroll.batch_payment (batch_id, payment_id, position)
        SELECT new_batch, c.payment_id, c.place FROM unnest(chosen) WITH ORDINALITY AS c (payment_id, place);
        UPDATE payroll.payment AS p SET state = 'in_flight', failure_code = NULL WHERE p.payment_id = ANY (chosen);
        UPDATE payroll.pay_run AS r
        SET state = 'paying', state_reason = CASE WHEN r.held_count > 0 THEN r.state_reason END,
            pending_count = r.pending_count - cardinality(chosen), in_flight_count = r.in_flight_count + cardinality(chosen),
            next_serve_at = greatest(clock, r.next_serve_at)
        WHERE r.run_id = candidate;
        UPDATE payroll.channel_account AS c SET live_batch_id = new_batch, last_claimed_at = clock
        WHERE c.channel_id = channel.channel_id;
        UPDATE payroll.organization AS o SET last_served_at = clock WHERE o.organization_id = run.organization_id;

        RETURN QUERY SELECT * FROM payroll.batch_work(new_batch);
        RETURN;
    END LOOP;
END
$$;
