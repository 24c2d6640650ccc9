-- payroll.preview_schedule(organization, schedule, count) -> the columns of preview_dates
--   The next pay dates of a schedule, beginning with the one that opens next. No row when it has ended or was cancelled.
-- Parameters: count 1 to 1000.
-- Errors: PL001 count is out of range; PL002 no such schedule.
-- Tables: organization, pay_schedule (read).   Called by: payroll_operator, payroll_approver, payroll_auditor.
CREATE OR REPLACE FUNCTION payroll.preview_schedule(organization text, schedule text, count integer)
RETURNS TABLE (nominal_date date, adjusted_date date, pay_at timestamptz, local_time timestamp, note text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    owner_id constant bigint := payroll.organization_id_of(preview_schedule.organization);
    shown payroll.pay_schedule;
BEGIN
    IF preview_schedule.count IS NULL OR preview_schedule.count NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'preview_schedule: count must be from 1 to 1000' USING ERRCODE = 'PL001';
    END IF;
    SELECT s.* INTO shown FROM payroll.pay_schedule AS s
    WHERE s.organization_id = owner_id AND lower(s.name) = lower(btrim(preview_schedule.schedule));
    IF NOT FOUND THEN
        RAISE EXCEPTION 'organization "%" has no schedule "%"', preview_schedule.organization, preview_schedule.schedule
            USING ERRCODE = 'PL002', HINT = 'See payroll.schedule_overview (paylock schedule list).';
    ELSIF shown.next_nominal_date IS NULL THEN
        RETURN;
    END IF;
    -- Weeks and months are counted from the anchor's; the next date stands in a week or month that counts, so the dates
    -- counted from it are the same.
    RETURN QUERY SELECT d.* FROM payroll.preview_dates(
        shown.rule, shown.next_nominal_date, shown.pay_time, shown.time_zone, shown.end_date, preview_schedule.count) AS d;
END
$$;
