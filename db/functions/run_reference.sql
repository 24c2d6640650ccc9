-- payroll.run_reference(organization, schedule, nominal_date) -> text
--   The run's reference: 64 lower-case hexadecimal digits, the SHA-256 of
--   'paylock:run:<organization>/<schedule>/<YYYY-MM-DD>' in UTF-8. It stands as hash memo in the run's
--   transactions (an organization's name has no slash, so no two runs share a reference), so an auditor can find a run's transactions on the ledger without this database.
--   STABLE, because to_char and convert_to are: so PostgreSQL inlines it.
-- Errors: none.   Tables: none.   Called by: claim_due_schedules.
CREATE OR REPLACE FUNCTION payroll.run_reference(organization text, schedule text, nominal_date date) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
        'paylock:run:' || organization || '/' || schedule || '/' || pg_catalog.to_char(nominal_date, 'YYYY-MM-DD'), 'UTF8')), 'hex')
$$;
