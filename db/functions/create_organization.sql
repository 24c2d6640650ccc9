-- payroll.create_organization(organization, display_name) -> bigint
--   Creates an employer. The same call again changes nothing.
-- Parameters: organization: the short name that all calls and files use, 1 to 100 characters, capital and small
--   letters being the same; display_name: as people write it.
-- Returns: its id.
-- Errors: PL001 a parameter is missing or too long, or the short name has a slash; PL006 it exists with another display name.
-- Tables: organization (insert), audit_event (insert).   Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.create_organization(organization text, display_name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    short_name constant text := btrim(create_organization.organization);
    shown_name constant text := btrim(create_organization.display_name);
    present payroll.organization;
    new_id bigint;
BEGIN
    IF coalesce(short_name, '') = '' OR length(short_name) > 100 OR coalesce(shown_name, '') = '' THEN
        RAISE EXCEPTION 'create_organization: a short name (1 to 100 characters) and a display name must be given'
            USING ERRCODE = 'PL001';
    END IF;
    IF short_name LIKE '%/%' THEN
        RAISE EXCEPTION 'create_organization: the short name "%" has a slash', short_name
            USING ERRCODE = 'PL001', HINT = 'A run''s reference is organization/schedule/date; only the schedule may have slashes.';
    END IF;
    INSERT INTO payroll.organization AS o (name, display_name, created_at)
    VALUES (short_name, shown_name, payroll.read_clock())
    ON CONFLICT DO NOTHING
    RETURNING o.organization_id INTO new_id;
    IF new_id IS NOT NULL THEN
        PERFORM payroll.record_audit(new_id, 'create_organization', 'organization ' || short_name,
            jsonb_build_object('display_name', shown_name));
        RETURN new_id;
    END IF;
    SELECT o.* INTO present FROM payroll.organization AS o WHERE lower(o.name) = lower(short_name);
    IF present.display_name <> shown_name THEN
        RAISE EXCEPTION 'organization "%" exists with the display name "%"', present.name, present.display_name
            USING ERRCODE = 'PL006', HINT = 'Use that one, or take another short name.';
    END IF;
    RETURN present.organization_id;
END
$$;
