-- payroll.set_network(network_passphrase) -> void
--   Says once and for all which Stellar network this database belongs to. Saying the same again changes nothing.
-- Errors: PL001 the passphrase is missing; PL012 the database belongs to another network: it can't be moved to one.
-- Tables: installation (insert), audit_event (insert).   Called by: payroll_operator (paylock channel add).
CREATE OR REPLACE FUNCTION payroll.set_network(network_passphrase text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    present text;
BEGIN
    IF coalesce(btrim(set_network.network_passphrase), '') = '' THEN
        RAISE EXCEPTION 'set_network: the passphrase is missing' USING ERRCODE = 'PL001';
    END IF;
    INSERT INTO payroll.installation AS i (network_passphrase, set_at)
    VALUES (set_network.network_passphrase, payroll.read_clock())
    ON CONFLICT (only_row) DO NOTHING;
    IF FOUND THEN
        PERFORM payroll.record_audit(NULL, 'set_network', 'installation',
            jsonb_build_object('network_passphrase', set_network.network_passphrase));
        RETURN;
    END IF;
    SELECT i.network_passphrase INTO present FROM payroll.installation AS i;
    IF present IS DISTINCT FROM set_network.network_passphrase THEN
        RAISE EXCEPTION 'this database belongs to the network "%", not to "%"', present, set_network.network_passphrase
            USING ERRCODE = 'PL012', HINT = 'Use the database of that network, or install a new one for this network.';
    END IF;
END
$$;
