-- Types, domains and the checks behind them. Applied as payroll_owner (the runner does SET ROLE).

CREATE TYPE payroll.schedule_state AS ENUM ('active', 'paused', 'cancelled', 'ended');
CREATE TYPE payroll.run_state AS ENUM (
    'open', 'awaiting_approval', 'approved', 'paying', 'awaiting_funds', 'held',
    'paid', 'partly_paid', 'cancelled'
);
CREATE TYPE payroll.payment_state AS ENUM ('pending', 'in_flight', 'held', 'paid', 'failed', 'cancelled');
CREATE TYPE payroll.batch_state AS ENUM (
    'claimed', 'signed', 'succeeded', 'failed', 'released', 'quarantined'
);
CREATE TYPE payroll.batch_payment_result AS ENUM ('open', 'paid', 'failed', 'released');
CREATE TYPE payroll.channel_state AS ENUM ('active', 'quarantined', 'retired');
CREATE TYPE payroll.memo_kind AS ENUM ('none', 'text', 'id', 'hash', 'return');
CREATE TYPE payroll.memo_policy AS ENUM ('reference_hash', 'text', 'none');

-- payroll.is_strkey(address, version_byte, payload_bytes) -> boolean
--   True when address is the strkey (SEP-23: unpadded base32, CRC16-XModem, little endian) of a payload of
--   that many bytes with that version byte. Touches no table. Errors: none.
--   The checksum goes from base32 symbol to base32 symbol (5 bits), not from byte to byte: an import checks each address of
--   its file, and one statement in the loop instead of eleven makes that several times faster.
CREATE FUNCTION payroll.is_strkey(address text, version_byte integer, payload_bytes integer) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- The checksum of each 5-bit value: value * x^16 modulo x^16 + x^12 + x^5 + 1.
    checksum_of constant integer[] := ARRAY[
        0, 4129, 8258, 12387, 16516, 20645, 24774, 28903, 33032, 37161, 41290, 45419, 49548, 53677, 57806, 61935,
        4657, 528, 12915, 8786, 21173, 17044, 29431, 25302, 37689, 33560, 45947, 41818, 54205, 50076, 62463, 58334];
    characters constant integer := ((payload_bytes + 3) * 8 + 4) / 5;
    whole constant integer := (1 + payload_bytes) * 8 / 5;          -- symbols that the payload fills
    own_bits constant integer := (1 + payload_bytes) * 8 % 5;       -- its bits in the symbol after them
    padding_bits constant integer := characters * 5 - (payload_bytes + 3) * 8;
    symbols bytea;      -- 'A' is 0 … 'Z' is 25, '2' … '7' go on from there
    checksum integer := 0;
    rest integer;
BEGIN
    IF length(address) <> characters OR address !~ '^[A-Z2-7]+$' THEN
        RETURN false;
    END IF;
    symbols := convert_to(translate(address, '234567', '[\]^_`'), 'UTF8');
    IF (get_byte(symbols, 0) - 65 << 3 | (get_byte(symbols, 1) - 65 >> 2)) <> version_byte THEN
        RETURN false;
    END IF;
    FOR i IN 0 .. whole - 1 LOOP
        checksum := ((checksum << 5) & 65535) # checksum_of[1 + ((checksum >> 11) # (get_byte(symbols, i) - 65))];
    END LOOP;
    rest := get_byte(symbols, whole) - 65;
    checksum := ((checksum << own_bits) & 65535) # checksum_of[1 + ((checksum >> (16 - own_bits)) # (rest >> (5 - own_bits)))];
    -- What follows the payload: the checksum, low byte first, then bits that must be zero.
    rest := rest & ((1 << (5 - own_bits)) - 1);
    FOR i IN whole + 1 .. whole + 3 LOOP
        rest := (rest << 5) | (get_byte(symbols, i) - 65);
    END LOOP;
    RETURN (rest & ((1 << padding_bits) - 1)) = 0
       AND rest >> padding_bits = (((checksum & 255) << 8) | (checksum >> 8));
END
$$;

CREATE FUNCTION payroll.is_account_address(address text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT payroll.is_strkey(address, 48, 32) $$;

CREATE FUNCTION payroll.is_muxed_address(address text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT payroll.is_strkey(address, 96, 40) $$;

-- payroll.is_memo(kind, value) -> boolean: text holds 1 to 28 bytes of UTF-8 (bytes, not characters); id is an
-- unsigned 64-bit number in plain decimal; hash and return are 32 bytes in lower-case hexadecimal; none has no value.
CREATE FUNCTION payroll.is_memo(kind payroll.memo_kind, value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE kind
        WHEN 'none' THEN value IS NULL
        WHEN 'text' THEN value IS NOT NULL AND octet_length(convert_to(value, 'UTF8')) BETWEEN 1 AND 28
        WHEN 'id' THEN value IS NOT NULL AND CASE
            WHEN value ~ '^(0|[1-9][0-9]{0,19})$' THEN value::numeric <= 18446744073709551615
            ELSE false END
        ELSE value IS NOT NULL AND value ~ '^[0-9a-f]{64}$'
    END
$$;

CREATE DOMAIN payroll.account_address AS text
    CONSTRAINT account_address_is_strkey CHECK (payroll.is_account_address(VALUE));
CREATE DOMAIN payroll.destination_address AS text
    CONSTRAINT destination_address_is_strkey
    CHECK (payroll.is_account_address(VALUE) OR payroll.is_muxed_address(VALUE));

-- An amount of an asset, in whole units with at most 7 decimals (one stroop). Rejects, never rounds.
CREATE DOMAIN payroll.asset_amount AS numeric
    CONSTRAINT asset_amount_is_payable
    CHECK (VALUE > 0 AND VALUE <= 922337203685.4775807 AND scale(VALUE) <= 7);

CREATE DOMAIN payroll.asset_code AS text
    CONSTRAINT asset_code_is_alphanumeric CHECK (VALUE ~ '^[A-Za-z0-9]{1,12}$');

CREATE DOMAIN payroll.transaction_hash AS bytea
    CONSTRAINT transaction_hash_is_32_bytes CHECK (octet_length(VALUE) = 32);

-- Short names that people type and that route a call: organizations, schedules.
CREATE DOMAIN payroll.short_name AS text
    CONSTRAINT short_name_is_trimmed CHECK (VALUE = btrim(VALUE) AND length(VALUE) BETWEEN 1 AND 100);
