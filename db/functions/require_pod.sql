-- payroll.require_pod(pod) -> void
--   Refuses a name that is not a running pod's.
-- Errors: PL001 pod is empty; PL011 never registered, or retired.
-- Tables: pod (read).   Called by: the pod functions. Not granted to anyone.
CREATE OR REPLACE FUNCTION payroll.require_pod(pod text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, payroll, pg_temp
AS $$
DECLARE
    retired timestamptz;
BEGIN
    IF coalesce(btrim(require_pod.pod), '') = '' THEN
        RAISE EXCEPTION 'pod is empty' USING ERRCODE = 'PL001', HINT = 'Pass the pod''s name.';
    END IF;
    SELECT p.retired_at INTO retired FROM payroll.pod AS p WHERE p.pod = require_pod.pod;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'pod "%" is not registered', require_pod.pod
            USING ERRCODE = 'PL011', HINT = 'Call start_pod first.';
    ELSIF retired IS NOT NULL THEN
        RAISE EXCEPTION 'pod "%" is retired since %', require_pod.pod, retired
            USING ERRCODE = 'PL011', HINT = 'A restart is a new pod: start with a new name.';
    END IF;
END
$$;
