-- What is installed. Applied on every run, before the migrations; the rows are written by whoever applies the files
-- (`paylock migrate`, or psql with install.sql), so that both can take over from each other.

SET ROLE payroll_owner;

DO $$
BEGIN
    IF to_regclass('payroll.schema_migration') IS NULL THEN
        CREATE TABLE payroll.schema_migration (
            version     integer PRIMARY KEY CHECK (version > 0),
            name        text NOT NULL,
            checksum    text NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
            applied_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
            applied_by  text NOT NULL DEFAULT session_user
        );
        COMMENT ON TABLE payroll.schema_migration IS
            'Migrations that were applied, with the SHA-256 of the file as it was then.';
    END IF;
    IF to_regclass('payroll.installed_function') IS NULL THEN
        CREATE TABLE payroll.installed_function (
            name        text PRIMARY KEY,
            checksum    text NOT NULL CHECK (checksum ~ '^[0-9a-f]{64}$'),
            applied_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
            applied_by  text NOT NULL DEFAULT session_user
        );
        COMMENT ON TABLE payroll.installed_function IS
            'Files that are applied again when their text changes: the functions and the grants.';
    END IF;
END
$$;

RESET ROLE;
