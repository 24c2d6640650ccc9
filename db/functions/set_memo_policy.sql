-- payroll.set_memo_policy(organization, schedule, version, memo_policy, memo_text) -> integer
--   Which memo the transactions of a schedule's runs carry, from the next run on. A payee's own memo always wins.
-- Parameters: version as in change_schedule; memo_policy 'reference_hash' (the run's reference, see run_reference), 'text'
--   (memo_text, 1 to 28 bytes) or 'none'; memo_text NULL unless 'text'.
-- Returns: the new version; the old one when nothing differs.
-- Errors: PL001 a parameter is wrong; PL002 no such schedule; PL003 it was cancelled; PL006 somebody changed it meanwhile.
-- Locks: schedule.   Tables: pay_schedule (update), audit_event (insert).   Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.set_memo_policy(organization text, schedule text, version integer, memo_policy text, memo_text text)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    locked payroll.pay_schedule;
BEGIN
    IF set_memo_policy.memo_policy IS NULL OR set_memo_policy.memo_policy NOT IN ('reference_hash', 'text', 'none')
       OR (set_memo_policy.memo_policy = 'text') <> (set_memo_policy.memo_text IS NOT NULL)
       OR (set_memo_policy.memo_text IS NOT NULL AND NOT payroll.is_memo('text', set_memo_policy.memo_text)) THEN
        RAISE EXCEPTION 'set_memo_policy: give ''reference_hash'', ''none'', or ''text'' with a memo of 1 to 28 bytes' USING ERRCODE = 'PL001';
    END IF;
    locked := payroll.lock_schedule(set_memo_policy.organization, set_memo_policy.schedule);
    IF locked.state = 'cancelled' THEN
        RAISE EXCEPTION 'schedule "%" was cancelled: it never pays again', locked.name USING ERRCODE = 'PL003';
    ELSIF locked.version IS DISTINCT FROM set_memo_policy.version THEN
        RAISE EXCEPTION 'schedule "%" is at version %, not %: somebody changed it meanwhile', locked.name, locked.version,
            coalesce(set_memo_policy.version::text, 'NULL')
            USING ERRCODE = 'PL006', HINT = 'Read it again, then change it.';
    ELSIF (locked.memo_policy::text, locked.memo_text) IS NOT DISTINCT FROM (set_memo_policy.memo_policy, set_memo_policy.memo_text) THEN
        RETURN locked.version;
    END IF;
    UPDATE payroll.pay_schedule AS s
    SET memo_policy = set_memo_policy.memo_policy::payroll.memo_policy, memo_text = set_memo_policy.memo_text,
        version = s.version + 1, changed_at = payroll.read_clock()
    WHERE s.schedule_id = locked.schedule_id;
    PERFORM payroll.record_audit(locked.organization_id, 'set_memo_policy', 'schedule ' || locked.name,
        jsonb_build_object('memo_policy', set_memo_policy.memo_policy, 'memo_text', set_memo_policy.memo_text));
    RETURN locked.version + 1;
END
$$;
