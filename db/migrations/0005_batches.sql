-- Batches, envelopes, pods: the slot protocol (docs/guarantee.md). Never deleted.

CREATE TABLE payroll.pod (
    pod text PRIMARY KEY CHECK (length(pod) BETWEEN 1 AND 200),     -- <host>:<uuid>; a restart is a new pod
    lease interval NOT NULL CHECK (lease > interval '0'),
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,      -- in no index: it changes every few seconds
    retired_at timestamptz
) WITH (fillfactor = 70);

CREATE TABLE payroll.payment_batch (
    batch_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL,
    run_id bigint NOT NULL REFERENCES payroll.pay_run,
    channel_id bigint NOT NULL REFERENCES payroll.channel_account,
    slot bigint NOT NULL CHECK (slot > 0),  -- the sequence number that every envelope of this batch carries
    memo_type payroll.memo_kind NOT NULL,
    memo_value text,
    state payroll.batch_state NOT NULL DEFAULT 'claimed',
    state_reason text,
    claim_token uuid NOT NULL,              -- fences record_envelope; renewed when another pod takes the batch over
    claimed_by text NOT NULL,
    claimed_at timestamptz NOT NULL,
    held_reason text,                       -- not NULL: pods look, but send nothing, until a person resumes it
    -- The evidence that closed it.
    settled_hash payroll.transaction_hash,
    settled_ledger bigint,
    settled_closed_at timestamptz,          -- the ledger's close time
    settled_code text,
    fee_charged bigint,                     -- stroops
    settled_at timestamptz,
    CONSTRAINT payment_batch_memo_is_valid CHECK (payroll.is_memo(memo_type, memo_value)),
    CONSTRAINT payment_batch_closed_by_evidence CHECK (
        state NOT IN ('succeeded', 'failed')
        OR (settled_hash IS NOT NULL AND settled_ledger IS NOT NULL AND settled_code IS NOT NULL AND settled_at IS NOT NULL)
    )
) WITH (fillfactor = 80);
-- One batch per slot: a slot is used again only when the batch that had it was released, that is never sent.
CREATE UNIQUE INDEX payment_batch_one_per_slot ON payroll.payment_batch (channel_id, slot) WHERE state <> 'released';
-- One live batch per channel (core's queue takes one transaction per source account).
CREATE UNIQUE INDEX payment_batch_one_live_per_channel ON payroll.payment_batch (channel_id)
    WHERE state IN ('claimed', 'signed', 'quarantined');
CREATE INDEX payment_batch_live ON payroll.payment_batch (batch_id) WHERE state IN ('claimed', 'signed', 'quarantined');
CREATE INDEX payment_batch_run ON payroll.payment_batch (run_id);

CREATE TABLE payroll.batch_payment (
    batch_id bigint NOT NULL REFERENCES payroll.payment_batch,
    payment_id bigint NOT NULL REFERENCES payroll.payment,
    position smallint NOT NULL CHECK (position BETWEEN 1 AND 100),
    result payroll.batch_payment_result NOT NULL DEFAULT 'open',
    code text,                              -- the operation's code on the ledger
    PRIMARY KEY (batch_id, payment_id),
    CONSTRAINT batch_payment_position_once UNIQUE (batch_id, position)
) WITH (fillfactor = 80);
-- One live batch per payment: refused while another attempt is open, and for ever after it was paid.
CREATE UNIQUE INDEX batch_payment_one_live ON payroll.batch_payment (payment_id) WHERE result IN ('open', 'paid');

CREATE TABLE payroll.envelope (
    envelope_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL,
    batch_id bigint NOT NULL REFERENCES payroll.payment_batch,
    slot bigint NOT NULL,
    inner_hash payroll.transaction_hash NOT NULL,
    outer_hash payroll.transaction_hash,    -- of the fee bump; NULL if there is none
    envelope_xdr text NOT NULL,             -- base64
    fee_bid bigint NOT NULL CHECK (fee_bid > 0),    -- stroops, for the whole outer transaction
    valid_until timestamptz NOT NULL,       -- maxTime
    as_of_ledger bigint NOT NULL,           -- the newest ledger the pod knew when it signed
    recorded_by text NOT NULL,
    recorded_at timestamptz NOT NULL,
    ledger bigint,                          -- seen there, though it did not close the batch
    result_code text,
    CONSTRAINT envelope_once UNIQUE NULLS NOT DISTINCT (inner_hash, outer_hash)
);
CREATE INDEX envelope_batch ON payroll.envelope (batch_id);
CREATE UNIQUE INDEX envelope_outer_hash_once ON payroll.envelope (outer_hash) WHERE outer_hash IS NOT NULL;

-- Who did what when. Written by every function that people call; append-only.
CREATE TABLE payroll.audit_event (
    audit_event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint REFERENCES payroll.organization,
    at timestamptz NOT NULL,
    actor text NOT NULL,                    -- session_user
    action text NOT NULL,
    subject text NOT NULL,
    details jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_event_organization ON payroll.audit_event (organization_id, audit_event_id);
