-- Who may do what. Re-applied as a whole whenever it changes; tested against the catalog by tests/sql.
--
-- Nobody but payroll_owner has a right on a table. Functions are SECURITY DEFINER and checked one by one.
REVOKE ALL ON ALL TABLES IN SCHEMA payroll FROM PUBLIC, payroll_pod, payroll_operator, payroll_approver, payroll_auditor;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA payroll FROM PUBLIC, payroll_pod, payroll_operator, payroll_approver, payroll_auditor;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA payroll FROM PUBLIC, payroll_pod, payroll_operator, payroll_approver, payroll_auditor;
REVOKE ALL ON SCHEMA payroll FROM PUBLIC;
GRANT USAGE ON SCHEMA payroll TO payroll_pod, payroll_operator, payroll_approver, payroll_auditor;

-- Pods.
GRANT EXECUTE ON FUNCTION
    payroll.start_pod(text, text, integer),
    payroll.heartbeat(text),
    payroll.retire_pod(text),
    payroll.claim_due_schedules(text),
    payroll.claim_payments(text),
    payroll.refuse_payments(bigint, uuid, bigint[], text),
    payroll.record_envelope(bigint, uuid, bigint, bytea, bytea, text, bigint, timestamptz, bigint),
    payroll.settle_batch(bigint, bytea, bigint, timestamptz, boolean, text, text[], bigint, bigint),
    payroll.quarantine_batch(bigint, text, jsonb),
    payroll.hold_batch(bigint, uuid, text),
    payroll.release_batch(bigint, uuid),
    payroll.claim_abandoned_batches(text, bigint[]),
    payroll.next_due_at(),
    payroll.work_summary()
TO payroll_pod;

-- Operators.
GRANT EXECUTE ON FUNCTION
    payroll.set_network(text),
    payroll.create_organization(text, text),
    payroll.add_funding_account(text, text),
    payroll.add_channel(text, text, integer, bigint),
    payroll.stage_payroll_rows(uuid, integer, jsonb),
    payroll.payroll_import_problems(uuid, boolean),
    payroll.apply_payroll_import(uuid, boolean),
    payroll.discard_payroll_import(uuid),
    payroll.change_schedule(text, text, integer, text, date, time, text, date),
    payroll.set_memo_policy(text, text, integer, text, text),
    payroll.resume_schedule(text, text, text, text),
    payroll.cancel_schedule(text, text, text),
    payroll.resume_batch(text, bigint, text)
TO payroll_operator;

-- Whoever may stop payments.
GRANT EXECUTE ON FUNCTION
    payroll.pause_schedule(text, text, text),
    payroll.cancel_run(text, bigint, text)
TO payroll_operator, payroll_approver;

-- Whoever may look.
GRANT EXECUTE ON FUNCTION
    payroll.parse_recurrence(text),             -- these touch no table; preview_dates runs them with its caller's rights
    payroll.is_time_zone(text),
    payroll.local_time(timestamptz, text),      -- the overviews call it with the reader's rights
    payroll.next_nominal_date(text, integer, smallint[], smallint[], text, date, date),
    payroll.nominal_date_in_month(smallint[], text, date, date),
    payroll.resolve_local_time(timestamp, text),
    payroll.preview_dates(text, date, time, text, date, integer),
    payroll.preview_schedule(text, text, integer)
TO payroll_operator, payroll_approver, payroll_auditor;
GRANT SELECT ON
    payroll.installation_overview, payroll.organization_overview, payroll.funding_account_overview, payroll.channel_overview,
    payroll.payee_overview, payroll.schedule_overview, payroll.schedule_line_overview, payroll.run_overview, payroll.run_totals,
    payroll.payment_overview, payroll.batch_overview, payroll.pod_overview, payroll.audit_overview
TO payroll_operator, payroll_approver, payroll_auditor;
