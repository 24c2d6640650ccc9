-- The judge: what must hold in the tables after every interleaving, whatever was called. Each row says in words what is wrong.
-- It reads the tables and trusts no constraint, because specs run on copies with constraints removed.

CREATE SCHEMA judge;

CREATE VIEW judge.violation AS
    SELECT format('%s runs for one occurrence', count(*)) AS what
    FROM payroll.pay_run AS r GROUP BY r.schedule_id, r.nominal_date HAVING count(*) > 1
UNION ALL
    SELECT format('%s opened before its date', r.nominal_date) FROM payroll.pay_run AS r WHERE r.pay_at > r.opened_at
UNION ALL
    SELECT format('a run has %s payments for one payee and line', count(*))
    FROM payroll.payment AS p GROUP BY p.run_id, p.payee_id, p.line HAVING count(*) > 1
UNION ALL
    SELECT format('a payment is open or paid in %s batches', count(*))
    FROM payroll.batch_payment AS bp WHERE bp.result IN ('open', 'paid') GROUP BY bp.payment_id HAVING count(*) > 1
UNION ALL
    SELECT format('a channel has %s live batches', count(*))
    FROM payroll.payment_batch AS b WHERE b.state IN ('claimed', 'signed', 'quarantined') GROUP BY b.channel_id HAVING count(*) > 1
UNION ALL
    SELECT format('%s batches use one slot', count(*))
    FROM payroll.payment_batch AS b WHERE b.state <> 'released' GROUP BY b.channel_id, b.slot HAVING count(*) > 1
UNION ALL
    SELECT format('a %s batch has an envelope', b.state)
    FROM payroll.payment_batch AS b
    WHERE b.state IN ('claimed', 'released') AND EXISTS (SELECT FROM payroll.envelope AS e WHERE e.batch_id = b.batch_id)
UNION ALL
    SELECT format('a %s batch has no envelope', b.state)
    FROM payroll.payment_batch AS b
    WHERE b.state NOT IN ('claimed', 'released') AND NOT EXISTS (SELECT FROM payroll.envelope AS e WHERE e.batch_id = b.batch_id)
UNION ALL
    SELECT 'an envelope carries another slot than its batch'
    FROM payroll.envelope AS e JOIN payroll.payment_batch AS b USING (batch_id) WHERE e.slot <> b.slot
UNION ALL
    SELECT format('a run counts (%s), its payments are (%s)', counted, actual)
    FROM (
        SELECT concat_ws(' ', r.pending_count, r.in_flight_count, r.held_count, r.paid_count, r.failed_count, r.cancelled_count) AS counted,
               (SELECT concat_ws(' ', count(*) FILTER (WHERE p.state = 'pending'), count(*) FILTER (WHERE p.state = 'in_flight'),
                           count(*) FILTER (WHERE p.state = 'held'), count(*) FILTER (WHERE p.state = 'paid'),
                           count(*) FILTER (WHERE p.state = 'failed'), count(*) FILTER (WHERE p.state = 'cancelled'))
                FROM payroll.payment AS p WHERE p.run_id = r.run_id) AS actual
        FROM payroll.pay_run AS r
    ) AS run
    WHERE counted <> actual
UNION ALL
    SELECT format('a run is %s with %s payments to come', r.state, r.pending_count + r.in_flight_count + r.held_count)
    FROM payroll.pay_run AS r
    WHERE r.state IN ('paid', 'partly_paid', 'cancelled') AND r.pending_count + r.in_flight_count + r.held_count > 0
UNION ALL
    SELECT format('a run is %s though all its payments have ended', r.state)
    FROM payroll.pay_run AS r
    WHERE r.state NOT IN ('paid', 'partly_paid', 'cancelled') AND r.pending_count + r.in_flight_count + r.held_count = 0
UNION ALL
    SELECT format('a run is paid with %s failed and %s cancelled payments', r.failed_count, r.cancelled_count)
    FROM payroll.pay_run AS r WHERE r.state = 'paid' AND r.failed_count + r.cancelled_count > 0
UNION ALL
    SELECT 'a cancelled run still has payments that can be claimed'
    FROM payroll.pay_run AS r WHERE r.cancel_requested_at IS NOT NULL AND r.pending_count > 0
UNION ALL
    SELECT format('an open line of a %s batch belongs to a payment that is %s', b.state, p.state)
    FROM payroll.batch_payment AS bp JOIN payroll.payment_batch AS b USING (batch_id) JOIN payroll.payment AS p USING (payment_id)
    WHERE bp.result = 'open' AND (b.state NOT IN ('claimed', 'signed', 'quarantined') OR p.state <> 'in_flight')
UNION ALL
    SELECT format('a payment is %s in %s open lines', p.state, count(bp.payment_id))
    FROM payroll.payment AS p LEFT JOIN payroll.batch_payment AS bp ON bp.payment_id = p.payment_id AND bp.result = 'open'
    GROUP BY p.payment_id HAVING (p.state = 'in_flight') <> (count(bp.payment_id) = 1)
UNION ALL
    SELECT format('a payment is %s and %s lines of succeeded batches paid it', p.state, count(b.batch_id))
    FROM payroll.payment AS p
    LEFT JOIN payroll.batch_payment AS bp ON bp.payment_id = p.payment_id AND bp.result = 'paid'
    LEFT JOIN payroll.payment_batch AS b ON b.batch_id = bp.batch_id AND b.state = 'succeeded'
    GROUP BY p.payment_id HAVING (p.state = 'paid') <> (count(b.batch_id) = 1)
UNION ALL
    SELECT format('a succeeded batch has lines that are %s', bp.result)
    FROM payroll.batch_payment AS bp JOIN payroll.payment_batch AS b USING (batch_id)
    WHERE b.state = 'succeeded' AND bp.result NOT IN ('paid', 'failed')
UNION ALL
    SELECT format('a channel says it has %s live batch, and has %s', CASE WHEN c.live_batch_id IS NULL THEN 'no' ELSE 'a' END, count(b.batch_id))
    FROM payroll.channel_account AS c
    LEFT JOIN payroll.payment_batch AS b ON b.channel_id = c.channel_id AND b.state IN ('claimed', 'signed', 'quarantined')
    GROUP BY c.channel_id HAVING c.live_batch_id IS DISTINCT FROM min(b.batch_id)
UNION ALL
    SELECT format('a live batch has slot %s on a channel at %s', b.slot, c.sequence)
    FROM payroll.payment_batch AS b JOIN payroll.channel_account AS c USING (channel_id)
    WHERE b.state IN ('claimed', 'signed', 'quarantined') AND b.slot <> c.sequence + 1
UNION ALL
    SELECT format('slot %s is consumed and its channel is at %s', b.slot, c.sequence)
    FROM payroll.payment_batch AS b JOIN payroll.channel_account AS c USING (channel_id)
    WHERE b.state IN ('succeeded', 'failed') AND b.slot > c.sequence
UNION ALL
    SELECT format('%s run %s pays %s, its schedule''s lines are worth %s', s.name, r.nominal_date, frozen.total, lines.total)
    FROM payroll.pay_run AS r
    JOIN payroll.pay_schedule AS s USING (schedule_id)
    CROSS JOIN LATERAL (SELECT coalesce(sum(p.amount), 0) AS total FROM payroll.payment AS p WHERE p.run_id = r.run_id) AS frozen
    CROSS JOIN LATERAL (SELECT coalesce(sum(l.amount), 0) AS total FROM payroll.schedule_line AS l WHERE l.schedule_id = s.schedule_id) AS lines
    -- 'old terms' pay 1, 2, 3 …; 'new terms' a hundred times as much: a run has the lines of its own terms.
    WHERE frozen.total <> lines.total * CASE r.memo_value WHEN s.memo_text THEN 1 WHEN 'old terms' THEN 0.01 ELSE 100 END
UNION ALL
    SELECT format('an active schedule would open %s again', s.next_nominal_date)
    FROM payroll.pay_schedule AS s JOIN payroll.pay_run AS r ON r.schedule_id = s.schedule_id AND r.nominal_date >= s.next_nominal_date;

-- judge.verdict(): one line of JSON: the violations and the digest.
CREATE FUNCTION judge.verdict() RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN jsonb_build_object(
        'violations', coalesce((SELECT jsonb_agg(v.what ORDER BY v.what) FROM judge.violation AS v), '[]'),
        'digest', stage.digest())::text;
END
$$;
