-- Pay runs and payments: what the schedules turned into. Never deleted.

CREATE TABLE payroll.pay_run (
    run_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES payroll.organization,
    schedule_id bigint NOT NULL REFERENCES payroll.pay_schedule,
    nominal_date date NOT NULL,             -- names the occurrence for ever
    pay_at timestamptz NOT NULL,
    funding_account_id bigint NOT NULL REFERENCES payroll.funding_account,
    memo_type payroll.memo_kind NOT NULL,   -- of the transactions that carry no payee's own memo
    memo_value text,
    state payroll.run_state NOT NULL,
    state_reason text,
    -- How many payments stand in each state; kept by the functions that move payments, under this row's lock.
    pending_count integer NOT NULL DEFAULT 0 CHECK (pending_count >= 0),
    in_flight_count integer NOT NULL DEFAULT 0 CHECK (in_flight_count >= 0),
    held_count integer NOT NULL DEFAULT 0 CHECK (held_count >= 0),
    paid_count integer NOT NULL DEFAULT 0 CHECK (paid_count >= 0),
    failed_count integer NOT NULL DEFAULT 0 CHECK (failed_count >= 0),
    cancelled_count integer NOT NULL DEFAULT 0 CHECK (cancelled_count >= 0),
    next_serve_at timestamptz NOT NULL,     -- when claim_payments may next serve it: pay_at, then the last claim, or a wait
    funding_failures integer NOT NULL DEFAULT 0,   -- in a row; lengthens the wait for funds
    cancel_requested_at timestamptz,        -- from here on nothing of it goes into a new batch
    opened_at timestamptz NOT NULL,
    opened_by text NOT NULL,                -- pod name or 'pg_cron'
    CONSTRAINT pay_run_once UNIQUE (schedule_id, nominal_date),
    CONSTRAINT pay_run_memo_is_valid CHECK (payroll.is_memo(memo_type, memo_value))
) WITH (fillfactor = 80);
-- The runs that claim_payments can serve: organization by organization, the one that waited longest first. next_due_at
-- reads it too. An index by next_serve_at alone would tempt the planner to read all runs of one organization's backlog
-- to find the first run of another.
CREATE INDEX pay_run_payable ON payroll.pay_run (organization_id, next_serve_at)
    WHERE state IN ('approved', 'paying', 'awaiting_funds') AND pending_count > 0;

-- work_summary
CREATE INDEX pay_run_held ON payroll.pay_run (run_id) WHERE held_count > 0 OR state = 'held';

CREATE TABLE payroll.payment (
    payment_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL,
    run_id bigint NOT NULL REFERENCES payroll.pay_run,
    payee_id bigint NOT NULL REFERENCES payroll.payee,
    line smallint NOT NULL,
    -- Copied from payee and schedule_line when the run opened, where they were checked; later edits don't reach them.
    destination text NOT NULL,
    memo_type payroll.memo_kind NOT NULL,
    memo_value text,
    asset_code text,
    asset_issuer text,
    amount payroll.asset_amount NOT NULL,
    state payroll.payment_state NOT NULL DEFAULT 'pending',
    failure_code text,                      -- payroll.result_code.code of the last attempt that failed it
    CONSTRAINT payment_once UNIQUE (run_id, payee_id, line),
    CONSTRAINT payment_asset_is_whole CHECK ((asset_code IS NULL) = (asset_issuer IS NULL))
);
-- claim_payments: those that share the run's memo first, those with a memo of their own (sent apart) after them.
CREATE INDEX payment_pending ON payroll.payment (run_id, (memo_type <> 'none'), payment_id) WHERE state = 'pending';
