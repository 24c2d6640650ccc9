-- payroll.add_channel(organization, address, key_index, sequence) -> bigint
--   Registers a channel account, which lends its sequence numbers. The same call again changes nothing; above all it
--   never moves the sequence of a registered channel, which only settling may do.
-- Parameters: address G…; key_index: its place in the channel seed (SEP-5, m/44'/148'/key_index'); sequence: as the ledger
--   has it now. The first slot is sequence + 1.
-- Returns: its id.
-- Errors: PL001 a parameter is missing or wrong; PL002 no such organization; PL006 the account is registered with another
--   organization or key index, or is a funding account.
-- Sends: NOTIFY payroll_work. Tables: channel_account (insert), funding_account, organization (read), audit_event (insert).
-- Called by: payroll_operator (paylock channel add).
CREATE OR REPLACE FUNCTION payroll.add_channel(organization text, address text, key_index integer, sequence bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    owner_id constant bigint := payroll.organization_id_of(add_channel.organization);
    present payroll.channel_account;
    new_id bigint;
BEGIN
    IF payroll.is_account_address(add_channel.address) IS NOT TRUE THEN
        RAISE EXCEPTION 'add_channel: % is not an account''s address', coalesce(quote_literal(add_channel.address), 'NULL')
            USING ERRCODE = 'PL001', HINT = 'Give the public address (G…), copied whole.';
    ELSIF add_channel.key_index IS NULL OR add_channel.key_index < 0 OR add_channel.sequence IS NULL OR add_channel.sequence < 0 THEN
        RAISE EXCEPTION 'add_channel: key_index and sequence must be given, from 0 on' USING ERRCODE = 'PL001';
    ELSIF EXISTS (SELECT FROM payroll.funding_account AS f WHERE f.address = add_channel.address) THEN
        RAISE EXCEPTION 'account % is a funding account: it can''t be a channel too', add_channel.address
            USING ERRCODE = 'PL006', HINT = 'Use another account.';
    END IF;
    INSERT INTO payroll.channel_account AS c (organization_id, address, key_index, sequence, created_at)
    VALUES (owner_id, add_channel.address, add_channel.key_index, add_channel.sequence, payroll.read_clock())
    ON CONFLICT DO NOTHING
    RETURNING c.channel_id INTO new_id;
    IF new_id IS NOT NULL THEN
        PERFORM payroll.record_audit(owner_id, 'add_channel', 'channel ' || add_channel.address,
            jsonb_build_object('key_index', add_channel.key_index, 'sequence', add_channel.sequence));
        PERFORM pg_notify('payroll_work', '');
        RETURN new_id;
    END IF;
    SELECT c.* INTO present FROM payroll.channel_account AS c WHERE c.address = add_channel.address;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'organization "%" has another channel with key index %', add_channel.organization, add_channel.key_index
            USING ERRCODE = 'PL006', HINT = 'One seed gives one account for an index: take the next index.';
    ELSIF present.organization_id <> owner_id OR present.key_index <> add_channel.key_index THEN
        RAISE EXCEPTION 'channel % is registered with another organization or key index (%)', add_channel.address, present.key_index
            USING ERRCODE = 'PL006', HINT = 'See payroll.channel_overview (paylock channel list).';
    END IF;
    RETURN present.channel_id;
END
$$;
