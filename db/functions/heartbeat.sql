-- payroll.heartbeat(pod) -> void
--   Says that the pod lives. Call it several times per lease.
-- Errors: PL001 pod is empty; PL011 not registered, or retired.
-- Tables: pod (update).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.heartbeat(pod text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    PERFORM payroll.require_pod(heartbeat.pod);
    UPDATE payroll.pod AS p SET heartbeat_at = payroll.read_clock() WHERE p.pod = heartbeat.pod AND p.retired_at IS NULL;
END
$$;
