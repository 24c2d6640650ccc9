-- payroll.add_funding_account(organization, address) -> bigint
--   Registers the account that an organization's money leaves from. The same call again changes nothing.
-- Parameters: address G….
-- Returns: its id.
-- Errors: PL001 the address is no account's; PL002 no such organization; PL006 the account belongs to another organization,
--   or is a channel account.
-- Tables: funding_account (insert), channel_account, organization (read), audit_event (insert).   Called by: payroll_operator.
CREATE OR REPLACE FUNCTION payroll.add_funding_account(organization text, address text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    owner_id constant bigint := payroll.organization_id_of(add_funding_account.organization);
    present payroll.funding_account;
    new_id bigint;
BEGIN
    IF payroll.is_account_address(add_funding_account.address) IS NOT TRUE THEN
        RAISE EXCEPTION 'add_funding_account: % is not an account''s address', coalesce(quote_literal(add_funding_account.address), 'NULL')
            USING ERRCODE = 'PL001', HINT = 'Give the public address (G…), copied whole.';
    ELSIF EXISTS (SELECT FROM payroll.channel_account AS c WHERE c.address = add_funding_account.address) THEN
        RAISE EXCEPTION 'account % is a channel account: it lends sequence numbers and can''t hold the money', add_funding_account.address
            USING ERRCODE = 'PL006', HINT = 'Use another account.';
    END IF;
    INSERT INTO payroll.funding_account AS f (organization_id, address, created_at)
    VALUES (owner_id, add_funding_account.address, payroll.read_clock())
    ON CONFLICT (address) DO NOTHING
    RETURNING f.funding_account_id INTO new_id;
    IF new_id IS NOT NULL THEN
        PERFORM payroll.record_audit(owner_id, 'add_funding_account', 'funding account ' || add_funding_account.address, NULL);
        RETURN new_id;
    END IF;
    SELECT f.* INTO present FROM payroll.funding_account AS f WHERE f.address = add_funding_account.address;
    IF present.organization_id <> owner_id THEN
        RAISE EXCEPTION 'account % is another organization''s funding account', add_funding_account.address
            USING ERRCODE = 'PL006', HINT = 'Each organization pays from accounts of its own.';
    END IF;
    RETURN present.funding_account_id;
END
$$;
