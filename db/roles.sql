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
    -- The installing role must be able to act as the owner. Since PostgreSQL 16 whoever created a role is a member
    -- of it that may grant it, but not act as it: so grant, and see whether that was needed only when it fails.
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        BEGIN
            EXECUTE format('GRANT payroll_owner TO %I', current_user);
        EXCEPTION WHEN insufficient_privilege THEN
            IF NOT pg_catalog.pg_has_role(current_user, 'payroll_owner', 'MEMBER') THEN
                RAISE;
            END IF;
        END;
    END IF;
    -- Not IF NOT EXISTS: that asks for CREATE on the database even where the schema is there.
    IF pg_catalog.to_regnamespace('payroll') IS NULL THEN
        CREATE SCHEMA payroll AUTHORIZATION payroll_owner;
    END IF;
END
$$;

COMMENT ON SCHEMA payroll IS 'Paylock: payroll on Stellar. Read db/README.md first.';

-- What payroll_owner creates from here on is executable by nobody until db/grants.sql says so.
ALTER DEFAULT PRIVILEGES FOR ROLE payroll_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE payroll_owner REVOKE USAGE ON TYPES FROM PUBLIC;
