-- payroll.pause_unknown_zones(schedule_ids, clock) -> bigint[]
--   Pauses the schedules whose time zone this server doesn't know (its zone data changed after they were made), so that a
--   person corrects them. The caller holds the schedules' locks.
-- Returns: the ids of the others, in the given order.
-- Errors: none.   Tables: pay_schedule (update), audit_event (insert).
-- Called by: claim_due_schedules, once it has seen that there is one. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.pause_unknown_zones(schedule_ids bigint[], clock timestamptz) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    schedule payroll.pay_schedule;
    known bigint[] := ARRAY[]::bigint[];
    reason text;
BEGIN
    FOR schedule IN
        SELECT s.* FROM unnest(pause_unknown_zones.schedule_ids) WITH ORDINALITY AS given (schedule_id, place)
        JOIN payroll.pay_schedule AS s ON s.schedule_id = given.schedule_id
        ORDER BY given.place
    LOOP
        BEGIN
            PERFORM count(clock AT TIME ZONE schedule.time_zone);
            known := known || schedule.schedule_id;
        EXCEPTION WHEN invalid_parameter_value THEN
            reason := format('the server does not know the time zone "%s": correct it with change_schedule, then resume', schedule.time_zone);
            UPDATE payroll.pay_schedule AS s SET state = 'paused', state_reason = reason WHERE s.schedule_id = schedule.schedule_id;
            INSERT INTO payroll.audit_event (organization_id, at, actor, action, subject, details)
            VALUES (schedule.organization_id, clock, session_user, 'pause_schedule', 'schedule ' || schedule.name,
                    jsonb_build_object('reason', reason));
        END;
    END LOOP;
    RETURN known;
END
$$;
