-- payroll.claim_due_schedules(pod) -> the runs it opened
--   Opens the due occurrence of each due schedule: claims the schedules, inserts the runs and their payments, and
--   moves the schedules on to their next occurrence, all in the caller's one transaction. Level-triggered: whatever
--   is due is claimed, however late the call is; a schedule that missed several dates opens them one per call,
--   oldest first. Any number of sessions may call it at once.
--
-- Parameters
--   pod   who calls: a pod's name, or 'pg_cron'. Recorded as pay_run.opened_by.
-- Returns one row a run: run_id, organization (short name), schedule_id, nominal_date, pay_at, payments (lines),
--   totals: {"XLM": "12.5000000", "CODE:ISSUER": "…"}, exact decimals as strings.
--   At most 200 runs and about 20,000 payments a call (one schedule is never split): call again while rows come.
-- Errors: PL001 pod is empty.
-- Locks: due schedules FOR UPDATE SKIP LOCKED, in order of next_open_at; nothing else waits.
-- Tables: pay_schedule (read, update), schedule_line, payee, organization (read), pay_run, payment (insert).
-- Sends: one NOTIFY payroll_work when it opened something.
-- Called by: payroll_pod, pg_cron.
--
-- Why it has this form. The lock decides who works, not who is right: a run is unique by (schedule_id,
-- nominal_date), so two sessions can't both open one even without the lock. Locking is a statement of its own,
-- because a statement sees the tables as they were when it began: an edit that committed while this one waited
-- for nothing (SKIP LOCKED) but read slowly would otherwise give new terms with old lines. The statements after
-- it see the rows as locked. `state = 'active'` is a literal, so that the partial index pay_schedule_due serves
-- it under a generic plan too; the index holds live schedules only, so past and paused ones cost nothing.
-- Measured by: make bench (bench/open_runs.py, bench/claim_cost.py). One session takes 1.4 times as long as a raw
-- INSERT … SELECT of the same rows; more than half of either goes to the foreign keys and indexes of pay_run and payment. Each
-- schedule is read once after its lock, with its next date: counting its lines, its next date and the UPDATE
-- as three statements took 1.6 times.
CREATE OR REPLACE FUNCTION payroll.claim_due_schedules(pod text)
RETURNS TABLE (
    run_id bigint, organization text, schedule_id bigint, nominal_date date, pay_at timestamptz,
    payments integer, totals jsonb
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    locked_schedules bigint[];
BEGIN
    IF coalesce(btrim(claim_due_schedules.pod), '') = '' THEN
        RAISE EXCEPTION 'claim_due_schedules: pod is empty' USING ERRCODE = 'PL001', HINT = 'Pass the pod''s name.';
    END IF;

    WITH locked AS MATERIALIZED (
        SELECT s.schedule_id, s.next_open_at
        FROM payroll.pay_schedule AS s
        WHERE s.state = 'active' AND s.next_open_at <= clock
        ORDER BY s.next_open_at, s.schedule_id
        LIMIT 200
        FOR UPDATE SKIP LOCKED
    )
    SELECT array_agg(l.schedule_id ORDER BY l.next_open_at, l.schedule_id) INTO locked_schedules FROM locked AS l;
    IF locked_schedules IS NULL THEN
        RETURN;
    END IF;

    -- A zone that is gone from the server's zone data stops its own schedules, not everybody's.
    BEGIN
        PERFORM count(clock AT TIME ZONE s.time_zone)
        FROM payroll.pay_schedule AS s WHERE s.schedule_id = ANY (locked_schedules);
    EXCEPTION WHEN invalid_parameter_value THEN
        locked_schedules := payroll.pause_unknown_zones(locked_schedules, clock);
    END;

    RETURN QUERY
    WITH counted AS (
        SELECT l.schedule_id, c.lines, sum(c.lines) OVER (ORDER BY l.place) - c.lines AS lines_before
        FROM unnest(locked_schedules) WITH ORDINALITY AS l (schedule_id, place)
        CROSS JOIN LATERAL (
            SELECT count(*)::integer AS lines FROM payroll.schedule_line AS sl WHERE sl.schedule_id = l.schedule_id
        ) AS c
    ), due AS MATERIALIZED (
        -- Bound the work of one call: whole schedules, until their lines before reach 20,000.
        SELECT c.schedule_id, c.lines, s.organization_id, o.name AS organization, s.name, s.next_nominal_date, s.next_pay_at,
               s.funding_account_id, s.memo_policy, s.memo_text, following.nominal_date AS following_date,
               following.pay_at AS following_pay_at
        FROM counted AS c
        JOIN payroll.pay_schedule AS s ON s.schedule_id = c.schedule_id
        JOIN payroll.organization AS o ON o.organization_id = s.organization_id
        CROSS JOIN LATERAL payroll.next_occurrence(
            s.recurrence_frequency, s.recurrence_every, s.recurrence_week_days, s.recurrence_month_days,
            s.recurrence_skip, s.anchor, s.next_nominal_date, s.end_date, s.pay_time, s.time_zone
        ) AS following
        WHERE c.lines_before < 20000
          AND s.next_open_at <= clock       -- locked rows still are; without the lock nothing opens before its date
    ), opened AS (
        INSERT INTO payroll.pay_run AS r (
            organization_id, schedule_id, nominal_date, pay_at, funding_account_id, memo_type, memo_value,
            state, pending_count, next_serve_at, opened_at, opened_by
        )
        SELECT d.organization_id, d.schedule_id, d.next_nominal_date, d.next_pay_at, d.funding_account_id,
               (CASE d.memo_policy WHEN 'reference_hash' THEN 'hash' WHEN 'text' THEN 'text' ELSE 'none' END)::payroll.memo_kind,
               CASE d.memo_policy
                   WHEN 'reference_hash' THEN payroll.run_reference(d.organization, d.name, d.next_nominal_date)
                   WHEN 'text' THEN d.memo_text
               END,
               (CASE WHEN d.lines = 0 THEN 'paid' ELSE 'approved' END)::payroll.run_state,
               d.lines, d.next_pay_at, clock, claim_due_schedules.pod
        FROM due AS d
        ORDER BY d.schedule_id
        ON CONFLICT ON CONSTRAINT pay_run_once DO NOTHING
        RETURNING r.run_id, r.schedule_id, r.nominal_date, r.pay_at, r.pending_count
    ), frozen AS (
        INSERT INTO payroll.payment AS p (
            organization_id, run_id, payee_id, line, destination, memo_type, memo_value, asset_code, asset_issuer, amount
        )
        SELECT l.organization_id, r.run_id, l.payee_id, l.line, payee.destination, payee.memo_type, payee.memo_value,
               l.asset_code, l.asset_issuer, l.amount
        FROM opened AS r
        JOIN payroll.schedule_line AS l ON l.schedule_id = r.schedule_id
        JOIN payroll.payee AS payee ON payee.payee_id = l.payee_id
        RETURNING p.run_id, p.asset_code, p.asset_issuer, p.amount
    ), moved AS (
        UPDATE payroll.pay_schedule AS s
        SET next_nominal_date = d.following_date,
            next_pay_at = d.following_pay_at,
            next_open_at = d.following_pay_at - s.lead_time,
            state = CASE WHEN d.following_date IS NULL THEN 'ended'::payroll.schedule_state ELSE s.state END,
            state_reason = CASE WHEN d.following_date IS NULL THEN 'its last occurrence has opened' ELSE s.state_reason END
        FROM due AS d
        WHERE s.schedule_id = d.schedule_id
    ), asset_totals AS (
        SELECT f.run_id, payroll.asset_name(f.asset_code, f.asset_issuer) AS asset, sum(f.amount::numeric) AS total
        FROM frozen AS f
        GROUP BY f.run_id, f.asset_code, f.asset_issuer
    ), run_totals AS (
        SELECT t.run_id, jsonb_object_agg(t.asset, round(t.total, 7)::text) AS totals
        FROM asset_totals AS t
        GROUP BY t.run_id
    )
    SELECT r.run_id, d.organization::text, r.schedule_id, r.nominal_date, r.pay_at, r.pending_count,
           coalesce(t.totals, '{}'::jsonb)
    FROM opened AS r
    JOIN due AS d ON d.schedule_id = r.schedule_id
    LEFT JOIN run_totals AS t ON t.run_id = r.run_id
    ORDER BY r.run_id;

    IF FOUND THEN
        PERFORM pg_notify('payroll_work', '');
    END IF;
END
$$;
