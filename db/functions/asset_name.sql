-- payroll.asset_name(asset_code, asset_issuer) -> text
--   How reports name an asset: 'XLM' for the native asset (both NULL), else 'CODE:ISSUER'.
-- Errors: none.   Tables: none.   Called by: claim_due_schedules, views.
CREATE OR REPLACE FUNCTION payroll.asset_name(asset_code text, asset_issuer text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN asset_issuer IS NULL THEN 'XLM' ELSE asset_code || ':' || asset_issuer END $$;
