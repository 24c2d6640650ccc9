-- The allowed state transitions, as data. Enforced by triggers below; docs/states.md is printed from this table.

CREATE TABLE payroll.state_transition (
    entity text NOT NULL CHECK (entity IN ('schedule', 'run', 'payment', 'batch', 'channel')),
    from_state text NOT NULL,               -- '' is: newly inserted
    to_state text NOT NULL,
    happens_when text NOT NULL,
    PRIMARY KEY (entity, from_state, to_state)
);

INSERT INTO payroll.state_transition (entity, from_state, to_state, happens_when) VALUES
    ('schedule', '', 'active', 'a payroll file or an operator creates it'),
    ('schedule', 'active', 'paused', 'an operator pauses it'),
    ('schedule', 'active', 'cancelled', 'an operator cancels it'),
    ('schedule', 'active', 'ended', 'its last occurrence has opened'),
    ('schedule', 'paused', 'active', 'an operator resumes it'),
    ('schedule', 'paused', 'cancelled', 'an operator cancels it'),
    ('schedule', 'paused', 'ended', 'it is resumed or changed, and no occurrence is left'),
    ('schedule', 'ended', 'active', 'an operator gives it new dates'),
    ('schedule', 'ended', 'cancelled', 'an operator cancels it'),

    ('run', '', 'open', 'it opens and its checks are still to run'),
    ('run', '', 'awaiting_approval', 'it opens and needs approval'),
    ('run', '', 'approved', 'it opens and needs no approval'),
    ('run', '', 'held', 'it opens and a person must look first'),
    ('run', '', 'paid', 'it opens without any line'),
    ('run', 'open', 'awaiting_approval', 'its checks are done'),
    ('run', 'open', 'approved', 'its checks are done and it needs no approval'),
    ('run', 'open', 'held', 'a check or a person stops it'),
    ('run', 'open', 'cancelled', 'a person cancels it'),
    ('run', 'awaiting_approval', 'approved', 'enough people approved it'),
    ('run', 'awaiting_approval', 'held', 'a person holds it'),
    ('run', 'awaiting_approval', 'cancelled', 'a person cancels it'),
    ('run', 'approved', 'awaiting_approval', 'its content changed'),
    ('run', 'approved', 'paying', 'its first batch is claimed'),
    ('run', 'approved', 'held', 'a person holds it, or its schedule ended before it'),
    ('run', 'approved', 'cancelled', 'a person cancels it'),
    ('run', 'paying', 'paid', 'every payment is paid'),
    ('run', 'paying', 'partly_paid', 'every payment has ended, some unpaid'),
    ('run', 'paying', 'cancelled', 'it was cancelled and nothing of it was paid'),
    ('run', 'paying', 'awaiting_funds', 'the funding account could not pay'),
    ('run', 'paying', 'held', 'a person holds it, or its schedule ended before it'),
    ('run', 'awaiting_funds', 'paying', 'its next batch is claimed'),
    ('run', 'awaiting_funds', 'paid', 'a batch in flight settled and every payment is paid'),
    ('run', 'awaiting_funds', 'partly_paid', 'a batch in flight settled and every payment has ended'),
    ('run', 'awaiting_funds', 'cancelled', 'a person cancels it'),
    ('run', 'awaiting_funds', 'held', 'a person holds it, or its schedule ended before it'),
    ('run', 'held', 'awaiting_approval', 'a person releases it'),
    ('run', 'held', 'approved', 'a person releases it'),
    ('run', 'held', 'paying', 'a person releases it'),
    ('run', 'held', 'paid', 'a batch in flight settled and every payment is paid'),
    ('run', 'held', 'partly_paid', 'a batch in flight settled and every payment has ended'),
    ('run', 'held', 'cancelled', 'a person cancels it'),
    ('run', 'partly_paid', 'paying', 'a person retries its failed payments'),

    ('payment', '', 'pending', 'its run opens'),
    ('payment', 'pending', 'in_flight', 'a batch claims it'),
    ('payment', 'pending', 'held', 'a person holds it'),
    ('payment', 'pending', 'cancelled', 'a person cancels its run'),
    ('payment', 'in_flight', 'paid', 'the ledger has its batch, succeeded'),
    ('payment', 'in_flight', 'failed', 'the ledger refused it for a reason of the payee''s, or a check before sending did'),
    ('payment', 'in_flight', 'pending', 'its batch was never sent, or the ledger used the slot and paid nobody'),
    ('payment', 'in_flight', 'held', 'the ledger refused it for a reason that a person must look at'),
    ('payment', 'in_flight', 'cancelled', 'its run was cancelled and its batch paid nobody'),
    ('payment', 'held', 'pending', 'a person releases it'),
    ('payment', 'held', 'cancelled', 'a person cancels its run'),
    ('payment', 'failed', 'pending', 'a person retries it'),

    ('batch', '', 'claimed', 'a pod claims payments'),
    ('batch', 'claimed', 'signed', 'its first envelope is recorded'),
    ('batch', 'claimed', 'released', 'it was given back before any envelope'),
    ('batch', 'signed', 'succeeded', 'one of its hashes is in a ledger, successful'),
    ('batch', 'signed', 'failed', 'one of its hashes is in a ledger, failed, and the slot is used'),
    ('batch', 'signed', 'quarantined', 'a foreign transaction used its slot'),
    ('batch', 'quarantined', 'succeeded', 'one of its hashes is in a ledger after all, successful'),
    ('batch', 'quarantined', 'failed', 'one of its hashes is in a ledger after all, failed'),

    ('channel', '', 'active', 'an operator adds it'),
    ('channel', 'active', 'quarantined', 'a foreign transaction used its sequence'),
    ('channel', 'active', 'retired', 'an operator retires it'),
    ('channel', 'quarantined', 'active', 'an operator has reconciled it'),
    ('channel', 'quarantined', 'retired', 'an operator retires it');

-- payroll.enforce_transition(): row trigger, argument: the entity. Raises PL003 for a step that isn't in the table.
CREATE FUNCTION payroll.enforce_transition() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    old_state text := '';
BEGIN
    IF TG_OP = 'UPDATE' THEN
        old_state := OLD.state::text;
    END IF;
    IF NOT EXISTS (
        SELECT FROM payroll.state_transition AS allowed
        WHERE allowed.entity = TG_ARGV[0] AND allowed.from_state = old_state AND allowed.to_state = NEW.state::text
    ) THEN
        RAISE EXCEPTION 'a % can''t go from "%" to "%"', TG_ARGV[0], old_state, NEW.state
            USING ERRCODE = 'PL003', HINT = 'The allowed steps stand in payroll.state_transition (docs/states.md).',
                  TABLE = TG_TABLE_NAME, SCHEMA = TG_TABLE_SCHEMA;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER pay_schedule_starts BEFORE INSERT ON payroll.pay_schedule FOR EACH ROW
    WHEN (NEW.state <> 'active') EXECUTE FUNCTION payroll.enforce_transition('schedule');
CREATE TRIGGER pay_schedule_moves BEFORE UPDATE ON payroll.pay_schedule FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION payroll.enforce_transition('schedule');
CREATE TRIGGER pay_run_starts BEFORE INSERT ON payroll.pay_run FOR EACH ROW
    WHEN (NEW.state <> 'approved') EXECUTE FUNCTION payroll.enforce_transition('run');
CREATE TRIGGER pay_run_moves BEFORE UPDATE ON payroll.pay_run FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION payroll.enforce_transition('run');
CREATE TRIGGER payment_starts BEFORE INSERT ON payroll.payment FOR EACH ROW
    WHEN (NEW.state <> 'pending') EXECUTE FUNCTION payroll.enforce_transition('payment');
CREATE TRIGGER payment_moves BEFORE UPDATE ON payroll.payment FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION payroll.enforce_transition('payment');
CREATE TRIGGER payment_batch_starts BEFORE INSERT ON payroll.payment_batch FOR EACH ROW
    WHEN (NEW.state <> 'claimed') EXECUTE FUNCTION payroll.enforce_transition('batch');
CREATE TRIGGER payment_batch_moves BEFORE UPDATE ON payroll.payment_batch FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION payroll.enforce_transition('batch');
CREATE TRIGGER channel_account_starts BEFORE INSERT ON payroll.channel_account FOR EACH ROW
    WHEN (NEW.state <> 'active') EXECUTE FUNCTION payroll.enforce_transition('channel');
CREATE TRIGGER channel_account_moves BEFORE UPDATE ON payroll.channel_account FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION payroll.enforce_transition('channel');

-- payroll.refuse_change(): statement trigger on rows that are kept for ever. Raises PL003.
CREATE FUNCTION payroll.refuse_change() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, payroll, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '% of payroll.% is refused: its rows are kept for ever', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'PL003', HINT = 'Cancel or retire instead; history stays.';
END
$$;

-- What a payment is may not change once it exists, and a batch never changes its slot.
CREATE FUNCTION payroll.refuse_rewrite() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, payroll, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'a row of payroll.% can''t be rewritten: what it pays, and from which slot, is fixed when it is made', TG_TABLE_NAME
        USING ERRCODE = 'PL003', HINT = 'Cancel it and make another.';
END
$$;

CREATE TRIGGER pay_run_kept BEFORE DELETE OR TRUNCATE ON payroll.pay_run EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER payment_kept BEFORE DELETE OR TRUNCATE ON payroll.payment EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER payment_batch_kept BEFORE DELETE OR TRUNCATE ON payroll.payment_batch EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER batch_payment_kept BEFORE DELETE OR TRUNCATE ON payroll.batch_payment EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER envelope_kept BEFORE DELETE OR TRUNCATE ON payroll.envelope EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER audit_event_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON payroll.audit_event EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER channel_account_kept BEFORE DELETE OR TRUNCATE ON payroll.channel_account EXECUTE FUNCTION payroll.refuse_change();
CREATE TRIGGER funding_account_kept BEFORE DELETE OR TRUNCATE ON payroll.funding_account EXECUTE FUNCTION payroll.refuse_change();

CREATE TRIGGER pay_run_fixed BEFORE UPDATE ON payroll.pay_run FOR EACH ROW
    WHEN (OLD.run_id <> NEW.run_id OR OLD.schedule_id <> NEW.schedule_id OR OLD.nominal_date <> NEW.nominal_date
          OR OLD.organization_id <> NEW.organization_id)
    EXECUTE FUNCTION payroll.refuse_rewrite();
CREATE TRIGGER payment_fixed BEFORE UPDATE ON payroll.payment FOR EACH ROW
    WHEN (OLD.payment_id <> NEW.payment_id OR OLD.run_id <> NEW.run_id OR OLD.payee_id <> NEW.payee_id OR OLD.line <> NEW.line
          OR OLD.destination <> NEW.destination OR OLD.memo_type <> NEW.memo_type
          OR OLD.memo_value IS DISTINCT FROM NEW.memo_value OR OLD.asset_code IS DISTINCT FROM NEW.asset_code
          OR OLD.asset_issuer IS DISTINCT FROM NEW.asset_issuer OR OLD.amount::numeric <> NEW.amount::numeric)
    EXECUTE FUNCTION payroll.refuse_rewrite();
CREATE TRIGGER payment_batch_fixed BEFORE UPDATE ON payroll.payment_batch FOR EACH ROW
    WHEN (OLD.batch_id <> NEW.batch_id OR OLD.run_id <> NEW.run_id OR OLD.channel_id <> NEW.channel_id OR OLD.slot <> NEW.slot
          OR OLD.memo_type <> NEW.memo_type OR OLD.memo_value IS DISTINCT FROM NEW.memo_value)
    EXECUTE FUNCTION payroll.refuse_rewrite();
CREATE TRIGGER batch_payment_fixed BEFORE UPDATE ON payroll.batch_payment FOR EACH ROW
    WHEN (OLD.batch_id <> NEW.batch_id OR OLD.payment_id <> NEW.payment_id OR OLD.position <> NEW.position
          OR (OLD.result <> 'open' AND OLD.result IS DISTINCT FROM NEW.result))
    EXECUTE FUNCTION payroll.refuse_rewrite();
CREATE TRIGGER envelope_fixed BEFORE UPDATE ON payroll.envelope FOR EACH ROW
    WHEN (OLD.envelope_id <> NEW.envelope_id OR OLD.batch_id <> NEW.batch_id OR OLD.slot <> NEW.slot OR OLD.inner_hash::bytea <> NEW.inner_hash::bytea
          OR OLD.outer_hash::bytea IS DISTINCT FROM NEW.outer_hash::bytea OR OLD.envelope_xdr <> NEW.envelope_xdr)
    EXECUTE FUNCTION payroll.refuse_rewrite();
CREATE TRIGGER channel_account_fixed BEFORE UPDATE ON payroll.channel_account FOR EACH ROW
    WHEN (OLD.channel_id <> NEW.channel_id OR OLD.address::text <> NEW.address::text OR OLD.organization_id <> NEW.organization_id
          OR NEW.sequence < OLD.sequence)
    EXECUTE FUNCTION payroll.refuse_rewrite();
