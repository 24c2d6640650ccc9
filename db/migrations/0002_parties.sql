-- Who pays and who is paid: the installation, organizations, funding and channel accounts, payees.

-- One row: the Stellar network that every account in this database belongs to.
CREATE TABLE payroll.installation (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    network_passphrase text NOT NULL CHECK (length(network_passphrase) > 0),
    set_at timestamptz NOT NULL
);

CREATE TABLE payroll.organization (
    organization_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name payroll.short_name NOT NULL UNIQUE CHECK (name NOT LIKE '%/%'),    -- see payroll.run_reference
    display_name text NOT NULL,
    created_at timestamptz NOT NULL,
    last_served_at timestamptz          -- when claim_payments last gave it a batch; in no index
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX organization_name_ignores_case ON payroll.organization (lower(name));

-- The account the money leaves from: source of the payment operations, fee account of the fee bumps.
CREATE TABLE payroll.funding_account (
    funding_account_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES payroll.organization,
    address payroll.account_address NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    UNIQUE (organization_id, funding_account_id)
);

-- Lends its sequence numbers: source of the transactions. `sequence` is the last number that the ledger is known
-- to have consumed; it moves only by settling a batch (or by reconcile). The next slot is sequence + 1.
CREATE TABLE payroll.channel_account (
    channel_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES payroll.organization,
    address payroll.account_address NOT NULL UNIQUE,
    key_index integer NOT NULL CHECK (key_index >= 0),      -- SEP-5: m/44'/148'/key_index'
    sequence bigint NOT NULL CHECK (sequence >= 0),
    state payroll.channel_state NOT NULL DEFAULT 'active',
    state_reason text,
    live_batch_id bigint,               -- the batch that holds the next slot, NULL when idle
    last_claimed_at timestamptz NOT NULL DEFAULT '-infinity',
    created_at timestamptz NOT NULL,
    UNIQUE (organization_id, channel_id),
    CONSTRAINT channel_account_one_per_key UNIQUE (organization_id, key_index)
);
-- claim_payments takes the idle channel that rested longest.
CREATE INDEX channel_account_idle ON payroll.channel_account (organization_id, last_claimed_at)
    WHERE state = 'active' AND live_batch_id IS NULL;

CREATE TABLE payroll.payee (
    payee_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES payroll.organization,
    reference payroll.short_name NOT NULL,          -- employee or contractor number, as the payroll file has it
    name text NOT NULL CHECK (length(btrim(name)) > 0),
    destination payroll.destination_address NOT NULL,
    memo_type payroll.memo_kind NOT NULL DEFAULT 'none',
    memo_value text,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    UNIQUE (organization_id, payee_id),
    CONSTRAINT payee_memo_is_valid CHECK (payroll.is_memo(memo_type, memo_value)),
    -- A muxed address carries the id that a memo would; two answers to one question are refused (SEP-23).
    CONSTRAINT payee_muxed_has_no_memo CHECK (memo_type = 'none' OR left(destination, 1) = 'G')
);
CREATE UNIQUE INDEX payee_reference_ignores_case ON payroll.payee (organization_id, lower(reference));
