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
CREATE FUNCTION payroll.is_strkey(address text, version_byte integer, payload_bytes integer) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    characters bytea;
    total_bytes constant integer := 1 + payload_bytes + 2;
    character_code integer;
    pending_bits integer := 0;      -- how many bits wait in bit_buffer
    bit_buffer integer := 0;
    byte_value integer;
    byte_index integer := 0;
    checksum integer := 0;
    stored_checksum integer := 0;
BEGIN
    IF length(address) <> (total_bytes * 8 + 4) / 5 OR address !~ '^[A-Z2-7]+$' THEN
        RETURN false;
    END IF;
    characters := convert_to(address, 'UTF8');
    FOR i IN 0 .. length(characters) - 1 LOOP
        character_code := get_byte(characters, i);
        bit_buffer := (bit_buffer << 5) | (CASE WHEN character_code >= 65 THEN character_code - 65 ELSE character_code - 24 END);
        pending_bits := pending_bits + 5;
        IF pending_bits >= 8 THEN
            pending_bits := pending_bits - 8;
            byte_value := bit_buffer >> pending_bits;
            bit_buffer := bit_buffer & ((1 << pending_bits) - 1);
            IF byte_index = 0 AND byte_value <> version_byte THEN
                RETURN false;
            END IF;
            IF byte_index < 1 + payload_bytes THEN
                checksum := ((checksum >> 8) | (checksum << 8)) & 65535;
                checksum := checksum # byte_value;
                checksum := checksum # ((checksum & 255) >> 4);
                checksum := checksum # ((checksum << 12) & 65535);
                checksum := checksum # (((checksum & 255) << 5) & 65535);
            ELSE
                stored_checksum := stored_checksum | (byte_value << (8 * (byte_index - 1 - payload_bytes)));
            END IF;
            byte_index := byte_index + 1;
        END IF;
    END LOOP;
    RETURN byte_index = total_bytes AND bit_buffer = 0 AND checksum = stored_checksum;
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
