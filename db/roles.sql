-- Roles of Paylock. Cluster-wide, so every statement tolerates roles that exist already.
--
--   payroll_owner     owns the schema and everything in it; the SECURITY DEFINER functions run as it
--   payroll_pod       may execute the pod functions, and nothing else
--   payroll_operator  may execute the operator functions and read the views
--   payroll_approver  may stop payments and read the views
--   payroll_auditor   may read the views
--
-- None of them can log in. Give a login one of them:  CREATE ROLE pod_1 LOGIN PASSWORD '…' IN ROLE payroll_pod;
-- Runs before the first migration, as a superuser or as a role with CREATEROLE.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY[
        'payroll_owner', 'payroll_pod', 'payroll_operator', 'payroll_approver', 'payroll_auditor'
    ] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role_name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;  -- another session created it in this moment
            END;
        END IF;
    END LOOP;
    -- The installing role must be able to act as the owner.
    IF NOT pg_catalog.pg_has_role(current_user, 'payroll_owner', 'MEMBER') THEN
        EXECUTE format('GRANT payroll_owner TO %I', current_user);
    END IF;
END
$$;

CREATE SCHEMA IF NOT EXISTS payroll AUTHORIZATION payroll_owner;
COMMENT ON SCHEMA payroll IS 'Paylock: payroll on Stellar. Read db/README.md first.';

-- What payroll_owner creates from here on is executable by nobody until db/grants.sql says so.
ALTER DEFAULT PRIVILEGES FOR ROLE payroll_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE payroll_owner REVOKE USAGE ON TYPES FROM PUBLIC;
