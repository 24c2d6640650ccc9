-- payroll.record_audit(organization_id, action, subject, details) -> void
--   One line of the audit trail: who (the login, not the function's owner) did what to what, by the database's clock.
-- Parameters: organization_id NULL for what concerns the whole installation; details NULL is {}.
-- Errors: none.   Tables: audit_event (insert).   Called by: the operator functions. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.record_audit(organization_id bigint, action text, subject text, details jsonb) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
    INSERT INTO payroll.audit_event (organization_id, at, actor, action, subject, details)
    VALUES (record_audit.organization_id, payroll.read_clock(), session_user, record_audit.action, record_audit.subject,
            coalesce(record_audit.details, '{}'::jsonb))
$$;
