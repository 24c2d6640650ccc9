-- payroll.lock_schedule(organization, schedule) -> the schedule's row, locked
--   Finds a schedule by the short names that people use, and locks it: no occurrence opens until the caller commits.
-- Errors: PL001 a name is missing; PL002 no such organization or schedule.
-- Locks: schedule.   Tables: pay_schedule (lock), organization (read).
-- Called by: the functions that change a schedule. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.lock_schedule(organization text, schedule text) RETURNS payroll.pay_schedule
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    owner_id constant bigint := payroll.organization_id_of(lock_schedule.organization);
    locked payroll.pay_schedule;
BEGIN
    IF coalesce(btrim(lock_schedule.schedule), '') = '' THEN
        RAISE EXCEPTION 'the schedule is missing' USING ERRCODE = 'PL001', HINT = 'Give its name.';
    END IF;
    SELECT s.* INTO locked
    FROM payroll.pay_schedule AS s
    WHERE s.organization_id = owner_id AND lower(s.name) = lower(btrim(lock_schedule.schedule))
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'organization "%" has no schedule "%"', lock_schedule.organization, lock_schedule.schedule
            USING ERRCODE = 'PL002', HINT = 'See payroll.schedule_overview (paylock schedule list).';
    END IF;
    RETURN locked;
END
$$;
