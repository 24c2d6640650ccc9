-- payroll.require_reason(reason) -> text
--   The reason without spaces around it. Whoever stops or frees something says why; the audit trail keeps it.
-- Errors: PL001 there is no reason.   Tables: none.   Called by: the operator functions. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.require_reason(reason text) RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
BEGIN
    IF coalesce(btrim(require_reason.reason), '') = '' THEN
        RAISE EXCEPTION 'a reason must be given' USING ERRCODE = 'PL001', HINT = 'Say in a few words why; it is kept for auditors.';
    END IF;
    RETURN btrim(require_reason.reason);
END
$$;
