-- Read-only views for operators, approvers and auditors. They run with the owner's rights, so that nobody
-- needs a right on a table.

-- payroll.local_time(moment, zone) -> timestamp: what a wall clock of the zone shows; NULL for a zone that this server
-- doesn't know (its zone data changed), so that one such schedule doesn't hide all others. Touches no table. Errors: none.
CREATE FUNCTION payroll.local_time(moment timestamptz, zone text) RETURNS timestamp
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN moment AT TIME ZONE zone;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN NULL;
END
$$;

CREATE VIEW payroll.installation_overview AS
SELECT i.network_passphrase, i.set_at FROM payroll.installation AS i;
COMMENT ON VIEW payroll.installation_overview IS 'The Stellar network that this database belongs to; no row until set_network was called.';

CREATE VIEW payroll.organization_overview AS
SELECT o.name::text AS organization, o.display_name, o.created_at,
       (SELECT count(*) FROM payroll.payee AS p WHERE p.organization_id = o.organization_id) AS payees,
       (SELECT count(*) FROM payroll.channel_account AS c
        WHERE c.organization_id = o.organization_id AND c.state = 'active') AS active_channels
FROM payroll.organization AS o;

CREATE VIEW payroll.funding_account_overview AS
SELECT o.name::text AS organization, f.funding_account_id, f.address::text AS address, f.created_at
FROM payroll.funding_account AS f
JOIN payroll.organization AS o ON o.organization_id = f.organization_id;

CREATE VIEW payroll.channel_overview AS
SELECT o.name::text AS organization, c.channel_id, c.address::text AS address, c.key_index, c.sequence,
       c.state::text AS state, c.state_reason AS reason, c.live_batch_id, b.state::text AS live_batch_state,
       NULLIF(c.last_claimed_at, '-infinity') AS last_claimed_at, c.created_at
FROM payroll.channel_account AS c
JOIN payroll.organization AS o ON o.organization_id = c.organization_id
LEFT JOIN payroll.payment_batch AS b ON b.batch_id = c.live_batch_id;
COMMENT ON COLUMN payroll.channel_overview.sequence IS 'The last sequence number that the ledger is known to have used.';

CREATE VIEW payroll.payee_overview AS
SELECT o.name::text AS organization, p.payee_id, p.reference::text AS employee_id, p.name, p.destination::text AS destination,
       p.memo_type::text AS memo_type, p.memo_value, p.created_at, p.changed_at
FROM payroll.payee AS p
JOIN payroll.organization AS o ON o.organization_id = p.organization_id;

CREATE VIEW payroll.schedule_overview AS
SELECT o.name::text AS organization, s.schedule_id, s.name::text AS schedule, s.state::text AS state, s.state_reason AS reason,
       s.rule, s.anchor AS first_pay_date, s.pay_time, s.time_zone, s.end_date, s.next_nominal_date, s.next_pay_at,
       payroll.local_time(s.next_pay_at, s.time_zone) AS next_local_time, s.next_open_at,
       (SELECT count(*) FROM payroll.schedule_line AS l WHERE l.schedule_id = s.schedule_id) AS lines,
       f.address::text AS funding_address, s.memo_policy::text AS memo_policy, s.memo_text, s.version, s.created_at, s.changed_at
FROM payroll.pay_schedule AS s
JOIN payroll.organization AS o ON o.organization_id = s.organization_id
JOIN payroll.funding_account AS f ON f.funding_account_id = s.funding_account_id;

CREATE VIEW payroll.schedule_line_overview AS
SELECT o.name::text AS organization, s.name::text AS schedule, p.reference::text AS employee_id, p.name, l.line,
       CASE WHEN l.asset_issuer IS NULL THEN 'XLM' ELSE l.asset_code || ':' || l.asset_issuer END AS asset,
       l.amount::numeric AS amount
FROM payroll.schedule_line AS l
JOIN payroll.pay_schedule AS s ON s.schedule_id = l.schedule_id
JOIN payroll.payee AS p ON p.payee_id = l.payee_id
JOIN payroll.organization AS o ON o.organization_id = l.organization_id;

CREATE VIEW payroll.run_overview AS
SELECT o.name::text AS organization, s.name::text AS schedule, r.run_id, r.nominal_date, r.pay_at,
       payroll.local_time(r.pay_at, s.time_zone) AS local_time, s.time_zone, r.state::text AS state,
       coalesce(code.reason, r.state_reason) AS reason, r.cancel_requested_at,
       r.pending_count + r.in_flight_count + r.held_count + r.paid_count + r.failed_count + r.cancelled_count AS payments,
       r.pending_count AS pending, r.in_flight_count AS in_flight, r.held_count AS held, r.paid_count AS paid,
       r.failed_count AS failed, r.cancelled_count AS cancelled, r.opened_at, r.opened_by
FROM payroll.pay_run AS r
JOIN payroll.pay_schedule AS s ON s.schedule_id = r.schedule_id
JOIN payroll.organization AS o ON o.organization_id = r.organization_id
LEFT JOIN payroll.result_code AS code ON code.code = r.state_reason;

CREATE VIEW payroll.run_totals AS
SELECT p.run_id, CASE WHEN p.asset_issuer IS NULL THEN 'XLM' ELSE p.asset_code || ':' || p.asset_issuer END AS asset,
       count(*) AS payments, sum(p.amount::numeric) AS amount,
       count(*) FILTER (WHERE p.state = 'paid') AS paid_payments,
       coalesce(sum(p.amount::numeric) FILTER (WHERE p.state = 'paid'), 0) AS paid_amount,
       count(*) FILTER (WHERE p.state = 'failed') AS failed_payments,
       coalesce(sum(p.amount::numeric) FILTER (WHERE p.state = 'failed'), 0) AS failed_amount
FROM payroll.payment AS p
GROUP BY p.run_id, p.asset_code, p.asset_issuer;
COMMENT ON VIEW payroll.run_totals IS 'Payments and amounts of a run by asset. Ask for one run_id at a time.';

CREATE VIEW payroll.payment_overview AS
SELECT o.name::text AS organization, s.name::text AS schedule, p.run_id, r.nominal_date, p.payment_id,
       payee.reference::text AS employee_id, payee.name, p.line, p.destination, p.memo_type::text AS memo_type, p.memo_value,
       CASE WHEN p.asset_issuer IS NULL THEN 'XLM' ELSE p.asset_code || ':' || p.asset_issuer END AS asset,
       p.amount::numeric AS amount, p.state::text AS state, p.failure_code,
       CASE
           WHEN p.state = 'paid' THEN NULL
           WHEN p.failure_code IS NOT NULL THEN coalesce(code.reason, p.failure_code)
           WHEN p.state = 'cancelled' THEN coalesce(r.state_reason, 'Its run was cancelled.')
           WHEN p.state = 'in_flight' THEN coalesce(
               CASE WHEN b.state = 'quarantined' THEN b.state_reason END, b.held_reason, 'Sent; waiting for the ledger''s answer.')
           ELSE coalesce(run_code.reason, r.state_reason, 'Waiting to be sent.')
       END AS reason,
       b.batch_id, encode(coalesce(b.settled_hash, refused.settled_hash)::bytea, 'hex') AS tx_hash,
       coalesce(b.settled_ledger, refused.settled_ledger) AS ledger,
       coalesce(b.settled_closed_at, refused.settled_closed_at) AS closed_at
FROM payroll.payment AS p
JOIN payroll.pay_run AS r ON r.run_id = p.run_id
JOIN payroll.pay_schedule AS s ON s.schedule_id = r.schedule_id
JOIN payroll.organization AS o ON o.organization_id = p.organization_id
JOIN payroll.payee AS payee ON payee.payee_id = p.payee_id
LEFT JOIN payroll.batch_payment AS bp ON bp.payment_id = p.payment_id AND bp.result IN ('open', 'paid')
LEFT JOIN payroll.payment_batch AS b ON b.batch_id = bp.batch_id
LEFT JOIN LATERAL (
    SELECT fb.settled_hash, fb.settled_ledger, fb.settled_closed_at
    FROM payroll.batch_payment AS fbp
    JOIN payroll.payment_batch AS fb ON fb.batch_id = fbp.batch_id
    WHERE fbp.payment_id = p.payment_id AND fbp.result = 'failed' AND p.state IN ('failed', 'held')
    ORDER BY fbp.batch_id DESC
    LIMIT 1
) AS refused ON true
LEFT JOIN payroll.result_code AS code ON code.code = p.failure_code
LEFT JOIN payroll.result_code AS run_code ON run_code.code = r.state_reason;
COMMENT ON VIEW payroll.payment_overview IS
    'Every payment with its state, the reason in plain words, and the transaction, ledger and time that settled it.';

CREATE VIEW payroll.batch_overview AS
SELECT o.name::text AS organization, b.batch_id, b.run_id, c.address::text AS channel_address, c.key_index, b.slot,
       b.state::text AS state, b.state_reason AS reason, b.held_reason, b.claimed_by, b.claimed_at,
       (SELECT count(*) FROM payroll.batch_payment AS bp WHERE bp.batch_id = b.batch_id) AS payments,
       (SELECT count(*) FROM payroll.envelope AS e WHERE e.batch_id = b.batch_id) AS envelopes,
       encode(b.settled_hash::bytea, 'hex') AS tx_hash, b.settled_ledger AS ledger, b.settled_closed_at AS closed_at,
       b.settled_code AS result_code, b.fee_charged
FROM payroll.payment_batch AS b
JOIN payroll.channel_account AS c ON c.channel_id = b.channel_id
JOIN payroll.organization AS o ON o.organization_id = b.organization_id;

CREATE VIEW payroll.pod_overview AS
SELECT p.pod, p.lease, p.started_at, p.heartbeat_at, p.retired_at FROM payroll.pod AS p;

CREATE VIEW payroll.audit_overview AS
SELECT a.audit_event_id, o.name::text AS organization, a.at, a.actor, a.action, a.subject, a.details
FROM payroll.audit_event AS a
LEFT JOIN payroll.organization AS o ON o.organization_id = a.organization_id;
