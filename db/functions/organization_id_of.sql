-- payroll.organization_id_of(organization) -> bigint
--   The id behind an organization's short name; capital and small letters are the same.
-- Errors: PL001 the name is missing; PL002 there is no such organization.
-- Tables: organization (read).   Called by: the operator functions. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.organization_id_of(organization text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    found_id bigint;
BEGIN
    IF coalesce(btrim(organization_id_of.organization), '') = '' THEN
        RAISE EXCEPTION 'the organization is missing' USING ERRCODE = 'PL001', HINT = 'Give its short name.';
    END IF;
    SELECT o.organization_id INTO found_id
    FROM payroll.organization AS o
    WHERE lower(o.name) = lower(btrim(organization_id_of.organization));
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no organization "%"', organization_id_of.organization
            USING ERRCODE = 'PL002', HINT = 'See payroll.organization_overview, or create it with create_organization (paylock organization add).';
    END IF;
    RETURN found_id;
END
$$;
