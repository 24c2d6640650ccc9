-- payroll.read_clock() -> timestamptz
--   The database's clock. Every function reads it once per call, through here, so that a test database can
--   replace this one function and play through a year. Only payroll_owner can replace it.
-- Returns: clock_timestamp(), which moves during a transaction (now() does not).
-- Errors: none.   Tables: none.   Called by: the other functions.
CREATE OR REPLACE FUNCTION payroll.read_clock() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT pg_catalog.clock_timestamp() $$;
