-- payroll.start_pod(pod, network_passphrase, lease_seconds) -> void
--   Registers a pod. A restart is a new pod with a new name.
-- Parameters: pod '<host>:<uuid>'; network_passphrase of the Stellar network that the pod talks to; lease_seconds: without a
--   heartbeat for this long the pod counts as dead and others take its batches over (5 to 3600).
-- Errors: PL001 a parameter is missing or out of range; PL011 the name was used by a pod that has retired;
--   PL012 this database belongs to another network, or to none yet (set_network).
-- Idempotent for a running pod. Tables: installation (read), pod (insert, update).   Called by: payroll_pod.
CREATE OR REPLACE FUNCTION payroll.start_pod(pod text, network_passphrase text, lease_seconds integer) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, payroll, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    clock constant timestamptz := payroll.read_clock();
    own_network text;
BEGIN
    IF coalesce(btrim(start_pod.pod), '') = '' THEN
        RAISE EXCEPTION 'start_pod: pod is empty' USING ERRCODE = 'PL001';
    ELSIF start_pod.lease_seconds IS NULL OR start_pod.lease_seconds NOT BETWEEN 5 AND 3600 THEN
        RAISE EXCEPTION 'start_pod: lease_seconds must be from 5 to 3600, not %', start_pod.lease_seconds USING ERRCODE = 'PL001';
    END IF;
    SELECT i.network_passphrase INTO own_network FROM payroll.installation AS i;
    IF own_network IS NULL THEN
        RAISE EXCEPTION 'this database belongs to no network yet'
            USING ERRCODE = 'PL012', HINT = 'An operator calls set_network once (paylock channel add does).';
    ELSIF own_network IS DISTINCT FROM start_pod.network_passphrase THEN
        RAISE EXCEPTION 'this database belongs to the network "%", the pod to "%"', own_network, start_pod.network_passphrase
            USING ERRCODE = 'PL012', HINT = 'Correct the pod''s PAYLOCK_NETWORK_PASSPHRASE or its database URL.';
    END IF;
    INSERT INTO payroll.pod AS p (pod, lease, started_at, heartbeat_at)
    VALUES (start_pod.pod, make_interval(secs => start_pod.lease_seconds), clock, clock)
    ON CONFLICT (pod) DO UPDATE SET heartbeat_at = clock, lease = excluded.lease;
    PERFORM payroll.require_pod(start_pod.pod);
END
$$;
