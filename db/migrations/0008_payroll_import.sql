-- Where an import's rows wait until they are checked and applied. Applied as payroll_owner.

-- Rows of payroll files between stage_payroll_rows and apply_payroll_import, which run in one transaction: other sessions
-- normally see nothing here. Everything is text as it was in the file, so that what is wrong with it can be said
-- by row. Unlogged: after a crash the file is imported again.
CREATE UNLOGGED TABLE payroll.payroll_import_row (
    import_id uuid NOT NULL,
    row_number integer NOT NULL,            -- as a spreadsheet shows it
    staged_by text NOT NULL,                -- session_user
    staged_at timestamptz NOT NULL,
    organization text,
    schedule text,
    employee_id text,
    name text,
    destination text,
    memo_type text,
    memo text,
    asset_code text,                        -- NULL: XLM
    asset_issuer text,
    amount text,
    line text,
    rule text,
    first_pay_date text,
    pay_time text,
    time_zone text,
    end_date text,
    -- What rows are matched by.
    organization_key text,
    schedule_key text,
    employee_key text,
    line_number integer,                    -- NULL: not a line number
    PRIMARY KEY (import_id, row_number)
);
-- "Which lines of a schedule does the file lack?"
CREATE INDEX payroll_import_row_line
    ON payroll.payroll_import_row (import_id, organization_key, schedule_key, employee_key, line_number);

-- The attempts that failed a payment, for payment_overview. (Few rows match; no installation has any yet.)
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX batch_payment_failed ON payroll.batch_payment (payment_id, batch_id) WHERE result = 'failed';
