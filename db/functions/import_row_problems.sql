-- payroll.import_row_problems(import_id) -> (row_number, column_name, problem) rows
--   What is wrong with staged rows taken one by one: something missing, an address that fails its checksum, an amount that
--   can't be paid exactly, a memo or asset that the ledger doesn't know.
-- Errors: none.   Tables: payroll_import_row, organization, payee, funding_account,
--   channel_account (read).   Called by: payroll_import_problems. Not granted to anyone.
-- enable_nestloop is off for the reason given in import_lines.
CREATE OR REPLACE FUNCTION payroll.import_row_problems(import_id uuid)
RETURNS TABLE (row_number integer, column_name text, problem text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, payroll, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
    WITH issuer AS MATERIALIZED (
        -- Few issuers, many rows: each is checked once.
        SELECT distinct_issuer.address, payroll.is_account_address(distinct_issuer.address) AS is_valid
        FROM (
            SELECT DISTINCT r.asset_issuer AS address FROM payroll.payroll_import_row AS r
            WHERE r.import_id = import_row_problems.import_id AND r.asset_issuer IS NOT NULL
        ) AS distinct_issuer
    ), known AS MATERIALIZED (
        SELECT lower(o.name) AS organization_key, lower(p.reference) AS employee_key, p.destination::text AS destination
        FROM payroll.payee AS p
        JOIN payroll.organization AS o ON o.organization_id = p.organization_id
        WHERE p.organization_id IN (
            SELECT k.organization_id FROM payroll.import_schedules(import_row_problems.import_id) AS k)
    )
    SELECT bad.row_number, c.column_name, c.problem
    FROM (
        SELECT r.row_number,
               CASE WHEN r.organization IS NULL THEN 'is missing' END AS organization_problem,
               CASE
               WHEN r.schedule IS NULL THEN 'is missing'
               WHEN length(r.schedule) > 100 THEN 'is longer than 100 characters' END AS schedule_problem,
               CASE
               WHEN r.employee_id IS NULL THEN 'is missing'
               WHEN length(r.employee_id) > 100 THEN 'is longer than 100 characters' END AS employee_id_problem,
               CASE WHEN r.name IS NULL THEN 'is missing' END AS name_problem,
               CASE
               WHEN r.destination IS NULL THEN 'is missing'
               WHEN r.destination IN (SELECT f.address::text FROM payroll.funding_account AS f)
                    OR r.destination IN (SELECT a.address::text FROM payroll.channel_account AS a)
               THEN 'is an account that payrolls are paid from, not a payee''s; ask the payee for the address (G… or M…)'
               WHEN r.destination = k.destination THEN NULL    -- as it is stored, and so checked already
               WHEN left(r.destination, 1) = 'C' THEN 'is a contract''s address; payroll pays accounts only (G… or M…)'
               WHEN left(r.destination, 1) = 'S' THEN 'is not an address; if it is a secret key, treat it as stolen'
               WHEN NOT (payroll.is_account_address(r.destination) OR payroll.is_muxed_address(r.destination))
               THEN 'is not a Stellar address (G… or M…), or is mistyped: its checksum is wrong' END AS destination_problem,
               CASE
               WHEN r.memo_type NOT IN ('none', 'text', 'id', 'hash', 'return') THEN 'is not none, text, id, hash or return' END AS memo_type_problem,
               CASE
               WHEN r.memo_type NOT IN ('none', 'text', 'id', 'hash', 'return') THEN NULL
               WHEN r.memo_type <> 'none' AND left(r.destination, 1) = 'M'
               THEN 'must be empty: a muxed address (M…) carries its own id'
               WHEN NOT payroll.is_memo(r.memo_type::payroll.memo_kind, r.memo) THEN CASE r.memo_type
                   WHEN 'none' THEN 'must be empty when memo_type is none'
                   WHEN 'text' THEN 'must have 1 to 28 bytes (an accented letter counts 2 or more)'
                   WHEN 'id' THEN 'must be a whole number from 0 to 18446744073709551615'
                   ELSE 'must have 64 hexadecimal digits' END END AS memo_problem,
               CASE WHEN r.asset_code !~ '^[A-Za-z0-9]{1,12}$' THEN 'must be XLM, or 1 to 12 letters and digits' END AS asset_problem,
               CASE
               WHEN r.asset_code = 'XLM' THEN 'must be empty for XLM, which nobody issues'
               WHEN r.asset_code IS NOT NULL AND r.asset_issuer IS NULL THEN 'is missing: an asset is only known together with its issuer (G…)'
               WHEN r.asset_issuer IS NOT NULL AND i.is_valid IS NOT TRUE THEN 'is not an account''s address (G…), or is mistyped' END AS issuer_problem,
               CASE
               WHEN r.amount IS NULL THEN 'is missing'
               WHEN r.amount !~ '^[0-9]+([.][0-9]+)?$'
               THEN 'must be digits with a decimal point and nothing else, as 1234.56 (no comma, no thousands separator)'
               WHEN length(split_part(r.amount, '.', 2)) > 7 THEN 'has more than 7 decimals; the ledger keeps 7: round it yourself'
               WHEN length(r.amount) > 40 OR r.amount::numeric > 922337203685.4775807 THEN 'is more than the ledger can hold'
               WHEN r.amount::numeric = 0 THEN 'is zero; leave the row out if this person is not paid' END AS amount_problem,
               CASE WHEN r.line_number IS NULL THEN 'must be a whole number from 1 to 32767' END AS line_problem
        FROM payroll.payroll_import_row AS r
        LEFT JOIN issuer AS i ON i.address = r.asset_issuer
        LEFT JOIN known AS k ON k.organization_key = r.organization_key AND k.employee_key = r.employee_key
        WHERE r.import_id = import_row_problems.import_id
        OFFSET 0    -- judged once a row; the list of VALUES, which is prepared anew for each, only for those that are bad
    ) AS bad
    CROSS JOIN LATERAL (VALUES
        ('organization', bad.organization_problem),
        ('schedule', bad.schedule_problem),
        ('employee_id', bad.employee_id_problem),
        ('name', bad.name_problem),
        ('destination', bad.destination_problem),
        ('memo_type', bad.memo_type_problem),
        ('memo', bad.memo_problem),
        ('asset', bad.asset_problem),
        ('issuer', bad.issuer_problem),
        ('amount', bad.amount_problem),
        ('line', bad.line_problem)
    ) AS c (column_name, problem)
    WHERE num_nonnulls(bad.organization_problem, bad.schedule_problem, bad.employee_id_problem, bad.name_problem,
                       bad.destination_problem, bad.memo_type_problem, bad.memo_problem, bad.asset_problem,
                       bad.issuer_problem, bad.amount_problem, bad.line_problem) > 0
      AND c.problem IS NOT NULL
$$;
