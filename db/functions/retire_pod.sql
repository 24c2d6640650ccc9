-- payroll.retire_pod(pod) -> void
--   The pod stops on purpose: others take its open batches over at once, without waiting for its lease.
-- Errors: PL002 no such pod. Idempotent.
-- Sends: NOTIFY payroll_work.   Tables: pod (update).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.retire_pod(pod text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    UPDATE payroll.pod AS p SET retired_at = coalesce(p.retired_at, payroll.read_clock()) WHERE p.pod = retire_pod.pod;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no pod "%"', retire_pod.pod USING ERRCODE = 'PL002';
    END IF;
    PERFORM pg_notify('payroll_work', '');
END
$$;
