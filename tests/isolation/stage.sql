-- The stage: scenarios for the isolation specs, in a schema of its own beside payroll, in a test database only.
-- A scenario is built once by the builders below and saved; each permutation begins with stage.restore().

CREATE SCHEMA stage;
GRANT USAGE ON SCHEMA stage TO PUBLIC;

-- No statistics are gathered while a spec runs: plans, and with them the order of payments in a batch, stay as they are.
DO $$
DECLARE
    table_name text;
BEGIN
    FOR table_name IN SELECT t.tablename FROM pg_catalog.pg_tables AS t WHERE t.schemaname = 'payroll' LOOP
        EXECUTE format('ALTER TABLE payroll.%I SET (autovacuum_enabled = off)', table_name);
    END LOOP;
END
$$;

-- Valid account addresses; the harness fills it.
CREATE TABLE stage.address (n integer PRIMARY KEY, address text NOT NULL);

-- Batches that exist before the sessions start, by the name that the steps call them.
CREATE TABLE stage.batch (label text PRIMARY KEY, batch_id bigint NOT NULL, claim_token uuid NOT NULL, slot bigint NOT NULL);
GRANT SELECT ON stage.batch TO PUBLIC;

-- What a scenario has put into the tables, to begin each permutation from.
CREATE SCHEMA saved;

-- stage.save(): keeps a copy of what the scenario has built, and writes stage.restore(), which puts the tables back as they were.
-- Money rows refuse DELETE to everyone; only there, as superuser and with triggers off for one transaction, they go. The
-- sessions under test run with every trigger and constraint in force.
CREATE FUNCTION stage.save() RETURNS void
LANGUAGE plpgsql
AS $save$
DECLARE
    name text;
    filled boolean;
    statements text := '';
BEGIN
    FOR name IN
        SELECT t.tablename FROM pg_catalog.pg_tables AS t
        WHERE t.schemaname = 'payroll'
          AND t.tablename NOT IN ('schema_migration', 'installed_function', 'state_transition', 'result_code')
    LOOP
        EXECUTE format('CREATE TABLE saved.%I AS TABLE payroll.%I', name, name);
        EXECUTE format('SELECT EXISTS (SELECT FROM saved.%I)', name) INTO filled;
        statements := statements || format('DELETE FROM payroll.%I;', name);
        IF filled THEN
            statements := statements || format('INSERT INTO payroll.%I OVERRIDING SYSTEM VALUE TABLE saved.%I;', name, name);
        END IF;
    END LOOP;
    EXECUTE format($restore$
        CREATE FUNCTION stage.restore() RETURNS void LANGUAGE plpgsql SET session_replication_role = replica
        AS 'BEGIN %s END'
    $restore$, statements);
END
$save$;

CREATE FUNCTION stage.address(wanted integer) RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT a.address FROM stage.address AS a WHERE a.n = wanted $$;

-- stage.company(name, number, channels): an organization with a funding account and idle channels (sequence 1000, 2000 …).
-- `number` (0 to 9) keeps its addresses apart from another's.
CREATE FUNCTION stage.company(name text, number integer, channels integer) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    organization bigint;
BEGIN
    INSERT INTO payroll.organization (name, display_name, created_at) VALUES (company.name, company.name, now())
    RETURNING organization_id INTO organization;
    INSERT INTO payroll.funding_account (organization_id, address, created_at)
    VALUES (organization, stage.address(number * 10), now());
    INSERT INTO payroll.channel_account (organization_id, address, key_index, sequence, last_claimed_at, created_at)
    SELECT organization, stage.address(number * 10 + c), number * 10 + c, c * 1000, timestamptz '2000-01-01' + c * interval '1 day', now()
    FROM generate_series(1, channels) AS c;
END
$$;

-- stage.schedule(company, name, missed, plain_lines, memo_lines): an active weekly schedule with `missed` due dates (0: the next one is
-- days away). Each line pays another payee n XLM in whole numbers from 1 up; memo lines have a memo of their own, so each
-- needs a batch of its own.
CREATE FUNCTION stage.schedule(company text, name text, missed integer, plain_lines integer, memo_lines integer) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    organization constant bigint := (SELECT o.organization_id FROM payroll.organization AS o WHERE o.name = schedule.company);
    first_date constant date := (now() AT TIME ZONE 'UTC')::date - 7 * missed + 5;
    new_schedule bigint;
BEGIN
    INSERT INTO payroll.pay_schedule (
        organization_id, name, funding_account_id, rule, recurrence_frequency, recurrence_every, recurrence_week_days,
        recurrence_skip, anchor, pay_time, time_zone, memo_policy, memo_text, next_nominal_date, next_pay_at, next_open_at,
        created_at, changed_at
    )
    SELECT organization, schedule.name, f.funding_account_id, 'every week', 'weekly', 1,
           ARRAY[extract(isodow FROM first_date)::smallint], 'omit', first_date, '00:00', 'UTC', 'text', 'old terms', first_date,
           first_date::timestamp AT TIME ZONE 'UTC', first_date::timestamp AT TIME ZONE 'UTC', now(), now()
    FROM payroll.funding_account AS f WHERE f.organization_id = organization
    RETURNING pay_schedule.schedule_id INTO new_schedule;
    WITH new_payee AS (
        INSERT INTO payroll.payee (organization_id, reference, name, destination, memo_type, memo_value, created_at, changed_at)
        SELECT organization, format('%s %s', schedule.name, n), 'Payee', stage.address(100 + n),
               (CASE WHEN n > plain_lines THEN 'id' ELSE 'none' END)::payroll.memo_kind,
               CASE WHEN n > plain_lines THEN n::text END, now(), now()
        FROM generate_series(1, plain_lines + memo_lines) AS n
        RETURNING payee_id
    )
    INSERT INTO payroll.schedule_line (organization_id, schedule_id, payee_id, amount)
    SELECT organization, new_schedule, p.payee_id, row_number() OVER (ORDER BY p.payee_id)
    FROM new_payee AS p;
END
$$;

-- stage.pod(name): a registered pod. Its lease is longer than any spec runs.
CREATE FUNCTION stage.pod(name text) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO payroll.pod (pod, lease, started_at, heartbeat_at)
    VALUES (name, '1 hour', now() - interval '1 day', now())
$$;

CREATE FUNCTION stage.open_runs() RETURNS bigint
LANGUAGE sql
AS $$ SELECT count(*) FROM payroll.claim_due_schedules('setup') $$;

-- stage.claim(label, pod): a claimed batch, known to the steps by its label.
CREATE FUNCTION stage.claim(label text, pod text) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO stage.batch SELECT claim.label, c.batch_id, c.claim_token, c.slot FROM payroll.claim_payments(claim.pod) AS c;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the scenario has nothing to claim';
    END IF;
END
$$;

-- stage.record(label, hash): an envelope for a batch of the scenario, with the token that its claim gave. inner hash = sha256(hash).
CREATE FUNCTION stage.record(label text, hash text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    batch constant stage.batch := (SELECT b FROM stage.batch AS b WHERE b.label = record.label);
BEGIN
    PERFORM payroll.record_envelope(batch.batch_id, batch.claim_token, batch.slot, sha256(hash::bytea), sha256(('outer ' || hash)::bytea),
                                    'AAAA', 400, now() + interval '1 minute', 7);
    RETURN 'recorded';
END
$$;

-- stage.settle(label, hash, ledger, code, operation_codes, channel_sequence): what a pod reports of a hash.
CREATE FUNCTION stage.settle(
    label text, hash text, ledger bigint, code text, operation_codes text[] DEFAULT NULL, channel_sequence bigint DEFAULT NULL
) RETURNS text
LANGUAGE sql
AS $$
    SELECT payroll.settle_batch(b.batch_id, sha256(hash::bytea), settle.ledger, '2026-01-01T00:00:00Z', code = 'tx_success', code,
                                settle.operation_codes, 400, settle.channel_sequence)
    FROM stage.batch AS b WHERE b.label = settle.label
$$;

-- stage.note(batch_id, claim_token, slot): a session remembers the batch that it has claimed itself; undone when its transaction is.
CREATE FUNCTION stage.note(batch_id bigint, claim_token uuid, slot bigint) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM set_config('stage.own_batch', concat_ws(' ', batch_id, claim_token, slot), false);
    RETURN NULL;
END
$$;

-- stage.own(part): of what it noted, 1 the batch's id, 2 its token, 3 its slot; NULL if it has claimed nothing.
CREATE FUNCTION stage.own(part integer) RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT (string_to_array(nullif(current_setting('stage.own_batch', true), ''), ' '))[part] $$;

CREATE FUNCTION stage.record_own(hash text) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
    IF stage.own(1) IS NULL THEN
        RETURN 'nothing';
    END IF;
    PERFORM payroll.record_envelope(stage.own(1)::bigint, stage.own(2)::uuid, stage.own(3)::bigint, sha256(hash::bytea),
                                    sha256(('outer ' || hash)::bytea), 'AAAA', 400, now() + interval '1 minute', 7);
    RETURN 'recorded';
END
$$;

CREATE FUNCTION stage.settle_own(hash text, ledger bigint) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
    IF stage.own(1) IS NULL THEN
        RETURN 'nothing';
    END IF;
    RETURN payroll.settle_batch(stage.own(1)::bigint, sha256(hash::bytea), ledger, '2026-01-01T00:00:00Z', true, 'tx_success',
                                NULL, 400, NULL);
END
$$;

-- stage.digest(): the outcome without anything that differs from one permutation to the next for no reason: ids, tokens, clock
-- readings, and which of several idle channels was taken (their sequences differ by thousands).
CREATE FUNCTION stage.digest() RETURNS jsonb
LANGUAGE plpgsql STABLE      -- not sql: its plan is kept
AS $$
BEGIN
    RETURN jsonb_build_object(
        'schedules', (
            SELECT jsonb_agg(jsonb_build_array(s.name, s.state, s.next_nominal_date - s.anchor, s.version, s.memo_text,
                       (SELECT sum(l.amount) FROM payroll.schedule_line AS l WHERE l.schedule_id = s.schedule_id)) ORDER BY s.name)
            FROM payroll.pay_schedule AS s),
        'runs', (
            SELECT jsonb_agg(jsonb_build_array(s.name, r.nominal_date - s.anchor, r.state, r.state_reason, r.memo_value, r.opened_by,
                       r.pending_count, r.in_flight_count, r.held_count, r.paid_count, r.failed_count, r.cancelled_count,
                       r.cancel_requested_at IS NOT NULL, r.funding_failures) ORDER BY s.name, r.nominal_date)
            FROM payroll.pay_run AS r JOIN payroll.pay_schedule AS s USING (schedule_id)),
        'payments', (
            SELECT jsonb_agg(jsonb_build_array(y.reference, r.nominal_date - s.anchor, p.line, p.amount, p.state, p.failure_code)
                       ORDER BY y.reference, r.nominal_date, p.line)
            FROM payroll.payment AS p JOIN payroll.payee AS y USING (payee_id) JOIN payroll.pay_run AS r USING (run_id)
            JOIN payroll.pay_schedule AS s USING (schedule_id)),
        'batches', (
            SELECT jsonb_agg(b.description ORDER BY b.description)
            FROM (
                SELECT jsonb_build_array(b.slot % 1000, b.state, b.state_reason, b.claimed_by, b.held_reason,
                           encode(b.settled_hash, 'hex'), b.settled_ledger, b.settled_code,
                           (SELECT jsonb_agg(jsonb_build_array(y.reference, bp.position, bp.result, bp.code) ORDER BY bp.position)
                            FROM payroll.batch_payment AS bp JOIN payroll.payment AS p USING (payment_id)
                            JOIN payroll.payee AS y USING (payee_id) WHERE bp.batch_id = b.batch_id),
                           (SELECT jsonb_agg(jsonb_build_array(encode(e.inner_hash, 'hex'), e.slot % 1000, e.ledger, e.result_code)
                                       ORDER BY e.inner_hash)
                            FROM payroll.envelope AS e WHERE e.batch_id = b.batch_id)) AS description
                FROM payroll.payment_batch AS b JOIN payroll.channel_account AS c USING (channel_id)
            ) AS b),
        'channels', (
            SELECT jsonb_agg(jsonb_build_array(o.name, c.sequence % 1000, c.state, c.live_batch_id IS NOT NULL)
                       ORDER BY o.name, c.sequence % 1000, c.state, c.live_batch_id IS NOT NULL)
            FROM payroll.channel_account AS c JOIN payroll.organization AS o USING (organization_id)));
END
$$;

-- Stopping points (stops.py). stage.stops is set for one transaction by its call step: '<call> <stop> <stop> …'.
-- stage.stop(name): waits while the gate holds this call's stop of that name.
CREATE FUNCTION stage.stop(name text) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    stops constant text[] := string_to_array(current_setting('stage.stops', true), ' ');
BEGIN
    IF stop.name = ANY (stops[2:]) THEN
        PERFORM pg_advisory_xact_lock_shared(hashtext(stops[1]), hashtext(stop.name));
    END IF;
END
$$;

-- stage.hold(call, name) in the gate's setup; stage.let_go(call, name) is the gate's step. 'not waiting': the call has not come there.
CREATE FUNCTION stage.hold(call text, name text) RETURNS void
LANGUAGE sql
AS $$ SELECT pg_advisory_lock(hashtext(call), hashtext(name)) $$;

CREATE FUNCTION stage.let_go(call text, name text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    expected boolean;
BEGIN
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_locks AS l
        WHERE l.locktype = 'advisory' AND NOT l.granted
          AND l.classid::bigint::bit(32) = hashtext(call)::bit(32) AND l.objid::bigint::bit(32) = hashtext(name)::bit(32)
          AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
    ) INTO expected;
    PERFORM pg_advisory_unlock(hashtext(call), hashtext(name));
    RETURN CASE WHEN expected THEN 'on' ELSE 'not waiting' END;
END
$$;

-- What steps read as if somebody had told them; the roles under test may read no table.
CREATE VIEW stage.run AS
    SELECT s.name AS schedule, r.run_id, r.nominal_date FROM payroll.pay_run AS r JOIN payroll.pay_schedule AS s USING (schedule_id);
CREATE VIEW stage.open_line AS SELECT bp.batch_id, bp.payment_id FROM payroll.batch_payment AS bp WHERE bp.result = 'open';
GRANT SELECT ON stage.run, stage.open_line TO PUBLIC;

CREATE FUNCTION stage.today() RETURNS date
LANGUAGE sql STABLE
AS $$ SELECT (now() AT TIME ZONE 'UTC')::date $$;

CREATE FUNCTION stage.rule_of_tomorrow() RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT 'FREQ=WEEKLY;BYDAY=' || (ARRAY['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'])[extract(isodow FROM stage.today() + 1)::integer]
$$;

-- stage.edit_lines(schedule): a hundred times the amounts, and another memo. Runs as payroll_owner, under the schedule's lock.
CREATE FUNCTION stage.edit_lines(schedule text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    edited bigint;
BEGIN
    SELECT s.schedule_id INTO edited FROM payroll.pay_schedule AS s WHERE s.name = edit_lines.schedule FOR UPDATE;
    UPDATE payroll.schedule_line AS l SET amount = l.amount * 100 WHERE l.schedule_id = edited;
    UPDATE payroll.pay_schedule AS s SET memo_text = 'new terms', version = s.version + 1 WHERE s.schedule_id = edited;
    RETURN 'edited';
END
$$;
