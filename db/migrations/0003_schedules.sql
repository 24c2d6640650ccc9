-- Pay schedules: who is paid what, on which dates. See payroll.parse_recurrence for the rule's parts.

CREATE TABLE payroll.pay_schedule (
    schedule_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES payroll.organization,
    name payroll.short_name NOT NULL,
    funding_account_id bigint NOT NULL,
    state payroll.schedule_state NOT NULL DEFAULT 'active',
    state_reason text,
    -- The rule as people wrote it, and its parts as parse_recurrence gave them.
    rule text NOT NULL,
    recurrence_frequency text NOT NULL CHECK (recurrence_frequency IN ('once', 'weekly', 'monthly')),
    recurrence_every integer NOT NULL CHECK (recurrence_every >= 1),
    recurrence_week_days smallint[],        -- ISO: 1 is Monday
    recurrence_month_days smallint[],       -- 1..31, -1 is the last day
    recurrence_skip text NOT NULL CHECK (recurrence_skip IN ('omit', 'backward')),
    anchor date NOT NULL,                   -- the first nominal date; all others are counted from it
    end_date date,                          -- local, inclusive
    pay_time time NOT NULL,                 -- local
    time_zone text NOT NULL,                -- IANA name
    lead_time interval NOT NULL DEFAULT '0' CHECK (lead_time >= interval '0'),  -- opens this long before it pays
    memo_policy payroll.memo_policy NOT NULL DEFAULT 'reference_hash',
    memo_text text,
    -- The occurrence that opens next; NULL once there is none.
    next_nominal_date date,
    next_pay_at timestamptz,
    next_open_at timestamptz,
    version integer NOT NULL DEFAULT 1,     -- counts people's edits; a stale edit is refused
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    UNIQUE (organization_id, schedule_id),
    FOREIGN KEY (organization_id, funding_account_id)
        REFERENCES payroll.funding_account (organization_id, funding_account_id),
    CONSTRAINT pay_schedule_memo_text_fits_policy
        CHECK ((memo_policy = 'text') = (memo_text IS NOT NULL) AND (memo_text IS NULL OR payroll.is_memo('text', memo_text))),
    CONSTRAINT pay_schedule_next_is_whole
        CHECK ((next_nominal_date IS NULL) = (next_pay_at IS NULL) AND (next_pay_at IS NULL) = (next_open_at IS NULL)),
    CONSTRAINT pay_schedule_active_has_next CHECK (state <> 'active' OR next_open_at IS NOT NULL),
    CONSTRAINT pay_schedule_next_within_end CHECK (end_date IS NULL OR next_nominal_date IS NULL OR next_nominal_date <= end_date)
);
CREATE UNIQUE INDEX pay_schedule_name_ignores_case ON payroll.pay_schedule (organization_id, lower(name));
-- claim_due_schedules and next_due_at read this index and nothing else of the table's past.
CREATE INDEX pay_schedule_due ON payroll.pay_schedule (next_open_at, schedule_id) WHERE state = 'active';

CREATE TABLE payroll.schedule_line (
    schedule_line_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL,
    schedule_id bigint NOT NULL,
    payee_id bigint NOT NULL,
    line smallint NOT NULL DEFAULT 1 CHECK (line >= 1),
    asset_code payroll.asset_code,          -- NULL with asset_issuer: the native asset, XLM
    asset_issuer payroll.account_address,
    amount payroll.asset_amount NOT NULL,
    CONSTRAINT schedule_line_once UNIQUE (schedule_id, payee_id, line),
    FOREIGN KEY (organization_id, schedule_id) REFERENCES payroll.pay_schedule (organization_id, schedule_id),
    FOREIGN KEY (organization_id, payee_id) REFERENCES payroll.payee (organization_id, payee_id),
    CONSTRAINT schedule_line_asset_is_whole CHECK ((asset_code IS NULL) = (asset_issuer IS NULL))
);
CREATE INDEX schedule_line_payee ON payroll.schedule_line (payee_id);
