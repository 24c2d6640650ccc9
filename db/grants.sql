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
