-- Who runs what.

-- name: register
INSERT INTO a2a_processes (process, lease_until) VALUES ($1, $2)
ON CONFLICT (process) DO UPDATE SET lease_until = excluded.lease_until

-- name: server_millis
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS millis

-- name: beat
-- $3 are tasks that the process may have got without being told: it does not run them.
WITH lease AS (
    {register}
), given_back AS (
    UPDATE a2a_tasks SET process = NULL WHERE key = ANY ($3::uuid[]) AND process = $1
)
SELECT key FROM a2a_tasks WHERE process = $1 AND is_active AND cancel_requested

-- name: unregister
DELETE FROM a2a_processes WHERE process = $1

-- name: claim
-- What was seen is asked again of the row itself: the lease of somebody who claims it at the same moment may be younger than this statement.
WITH seen AS (
    SELECT t.key, t.epoch, t.process
    FROM a2a_tasks t LEFT JOIN a2a_processes p ON p.process = t.process
    WHERE t.key = $1 AND t.is_active AND (p.lease_until IS NULL OR p.lease_until <= $3)
)
UPDATE a2a_tasks t SET epoch = t.epoch + 1, process = $2
FROM seen WHERE t.key = seen.key AND t.is_active AND t.epoch = seen.epoch AND t.process IS NOT DISTINCT FROM seen.process
RETURNING t.key

-- name: records
SELECT kind, record_key, fingerprint, body FROM a2a_records WHERE task = $1 ORDER BY place

-- name: orphans
SELECT t.key FROM a2a_tasks t LEFT JOIN a2a_processes p ON p.process = t.process
WHERE t.is_active AND (p.lease_until IS NULL OR p.lease_until <= $1) AND ($3::text[] IS NULL OR t.scope::json ->> 0 = ANY ($3::text[]))
ORDER BY t.key LIMIT $2

-- name: request_cancel
UPDATE a2a_tasks SET cancel_requested = true WHERE wire_id = $2 AND scope IS NOT DISTINCT FROM $1 AND is_latest AND state = ANY ($3::text[])
RETURNING key
