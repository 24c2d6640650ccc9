-- payroll.import_schedule_problems(import_id, replace_lines) -> (row_number, column_name, problem) rows
--   Where staged rows don't fit what is stored: an organization that doesn't exist or can't pay, a new schedule without
--   terms, terms that can't be used, a cancelled schedule, lines that the file lacks. Named at the schedule's first row.
-- Errors: none.
-- Tables: payroll_import_row, organization, funding_account, payee, pay_schedule, schedule_line, pay_run (read).
-- Called by: payroll_import_problems. Not granted to anyone.
-- enable_nestloop is off for the reason given in import_lines.
CREATE OR REPLACE FUNCTION payroll.import_schedule_problems(import_id uuid, replace_lines boolean)
RETURNS TABLE (row_number integer, column_name text, problem text)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
SET enable_nestloop = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    staged record;
    present payroll.pay_schedule;
    upcoming record;
    parts record;
    accounts bigint;
    missing bigint;
    missing_names text;
BEGIN
    FOR staged IN
        SELECT DISTINCT ON (r.organization_key)
               r.organization, r.organization_key, r.row_number, o.organization_id
        FROM payroll.payroll_import_row AS r
        LEFT JOIN payroll.organization AS o ON lower(o.name) = r.organization_key
        WHERE r.import_id = import_schedule_problems.import_id AND r.organization IS NOT NULL
        ORDER BY r.organization_key, r.row_number
    LOOP
        row_number := staged.row_number;
        column_name := 'organization';
        SELECT count(*) INTO accounts FROM payroll.funding_account AS f WHERE f.organization_id = staged.organization_id;
        problem := CASE
            WHEN staged.organization_id IS NULL
            THEN format('%L does not exist; create it first (paylock organization add), or correct the name', staged.organization)
            WHEN accounts = 0 THEN format('%L has no funding account to pay from; add it first (paylock organization add)', staged.organization)
        END;
        IF problem IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;

    FOR staged IN
        SELECT DISTINCT ON (r.organization_key, r.schedule_key) r.*, o.organization_id
        FROM payroll.payroll_import_row AS r
        JOIN payroll.organization AS o ON lower(o.name) = r.organization_key
        WHERE r.import_id = import_schedule_problems.import_id AND r.schedule IS NOT NULL
        ORDER BY r.organization_key, r.schedule_key, r.row_number
    LOOP
        row_number := staged.row_number;
        column_name := 'schedule';
        SELECT s.* INTO present FROM payroll.pay_schedule AS s
        WHERE s.organization_id = staged.organization_id AND lower(s.name) = staged.schedule_key;

        IF present.state = 'cancelled' THEN
            problem := format('%L was cancelled and never pays again; give the new schedule another name', staged.schedule);
            RETURN NEXT;
            CONTINUE;
        ELSIF present.schedule_id IS NULL THEN
            SELECT count(*) INTO accounts FROM payroll.funding_account AS f WHERE f.organization_id = staged.organization_id;
            IF accounts > 1 THEN
                problem := format('%L is new, and the organization has %s funding accounts: which one pays can''t be told from a file',
                                  staged.schedule, accounts);
                RETURN NEXT;
            END IF;
        END IF;

        IF num_nonnulls(staged.rule, staged.first_pay_date, staged.pay_time, staged.time_zone, staged.end_date) = 0 THEN
            IF present.schedule_id IS NULL THEN
                problem := format('%L is new; say when it pays: --frequency (or --rule), --first-pay-date, --pay-time and --time-zone, '
                                  'or the columns of these names', staged.schedule);
                RETURN NEXT;
            END IF;
        ELSE
            SELECT t.column_name, t.problem INTO column_name, problem
            FROM payroll.schedule_terms_problem(staged.rule, staged.first_pay_date, staged.pay_time, staged.time_zone, staged.end_date) AS t;
            IF problem IS NOT NULL THEN
                RETURN NEXT;
                CONTINUE;
            END IF;
            column_name := 'first_pay_date';
            IF present.schedule_id IS NULL OR (
                present.rule, present.anchor, present.pay_time, present.time_zone, present.end_date
            ) IS DISTINCT FROM (
                staged.rule, staged.first_pay_date::date, staged.pay_time::time, staged.time_zone, staged.end_date::date
            ) THEN
                parts := payroll.parse_recurrence(staged.rule);
                SELECT n.* INTO upcoming FROM payroll.upcoming_occurrence(
                    present.schedule_id, parts.frequency, parts.every, parts.week_days, parts.month_days, parts.skip,
                    staged.first_pay_date::date, staged.end_date::date, staged.pay_time::time, staged.time_zone, clock) AS n;
                IF upcoming.nominal_date IS NULL THEN
                    problem := format('no pay date of schedule %L is left with these terms; give later dates', staged.schedule);
                    RETURN NEXT;
                ELSIF present.schedule_id IS NULL AND upcoming.pay_at < clock - interval '1 day' THEN
                    problem := format('%s %s in %s is more than a day ago; the schedule would at once pay what it missed: give a later first date',
                                      staged.first_pay_date, staged.pay_time, staged.time_zone);
                    RETURN NEXT;
                END IF;
            END IF;
        END IF;

        IF present.schedule_id IS NOT NULL AND import_schedule_problems.replace_lines IS NOT TRUE THEN
            SELECT count(*), string_agg(l.reference || CASE WHEN l.line > 1 THEN format(' (line %s)', l.line) ELSE '' END, ', ')
                       FILTER (WHERE l.place <= 10)
            INTO missing, missing_names
            FROM (
                SELECT p.reference, sl.line, row_number() OVER (ORDER BY lower(p.reference), sl.line) AS place
                FROM payroll.schedule_line AS sl
                JOIN payroll.payee AS p ON p.payee_id = sl.payee_id AND p.organization_id = staged.organization_id
                WHERE sl.schedule_id = present.schedule_id AND NOT EXISTS (
                    SELECT FROM payroll.payroll_import_row AS r
                    WHERE r.import_id = import_schedule_problems.import_id
                      AND r.organization_key = staged.organization_key AND r.schedule_key = staged.schedule_key
                      AND r.employee_key = lower(p.reference) AND r.line_number = sl.line
                )
            ) AS l;
            IF missing > 0 THEN
                column_name := 'schedule';
                problem := format('%L also pays %s%s, who are missing from the file; add them, or say --replace to stop paying them by this schedule',
                                  staged.schedule, missing_names, CASE WHEN missing > 10 THEN format(' and %s more', missing - 10) ELSE '' END);
                RETURN NEXT;
            END IF;
        END IF;
    END LOOP;
END
$$;
