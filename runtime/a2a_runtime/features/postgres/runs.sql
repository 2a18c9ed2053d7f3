-- Leases of processes, claims and cancellation.

-- name: renew_lease
INSERT INTO a2a_processes (process, lease_until) VALUES (:process, :until)
ON CONFLICT (process) DO UPDATE SET lease_until = excluded.lease_until, suspect = NULL

-- name: mark_suspect
UPDATE a2a_processes SET suspect = :key::uuid WHERE process = :process

-- name: server_millis
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS millis

-- name: load_claims
SELECT key, cancel_requested, epoch, writes FROM a2a_tasks WHERE process = :process AND is_active ORDER BY key

-- name: release_claims
UPDATE a2a_tasks SET process = NULL WHERE key = ANY (:keys::uuid[]) AND process = :process AND is_active

-- name: end_lease
DELETE FROM a2a_processes WHERE process = :process

-- name: delete_old_leases
-- A claim on a task of the process still looks for the suspect.
DELETE FROM a2a_processes p WHERE lease_until <= :now AND NOT EXISTS (SELECT FROM a2a_tasks t WHERE t.is_active AND t.process = p.process)

-- name: claim
-- A process never takes its own claim for an expired one. One row, even if the task is not claimed. The row is compared with what was seen: the lease of a process that claims the task at the same moment may be
-- younger than this statement. A row that another process has locked is left to it: claims are sent in batches, which must not wait for each other.
WITH seen AS (
    SELECT t.key, t.epoch, t.process, t.process IS NOT NULL AND coalesce(p.suspect = t.key, true) AS has_crashed
    FROM a2a_tasks t LEFT JOIN a2a_processes p ON p.process = t.process
    WHERE t.key = $1 AND t.is_active AND t.process IS DISTINCT FROM $2 AND (p.lease_until IS NULL OR p.lease_until <= $3)
    FOR UPDATE OF t SKIP LOCKED
), claimed AS (
    UPDATE a2a_tasks t SET epoch = t.epoch + 1, process = $2, writes = 0, crashes = t.crashes + has_crashed::integer
    FROM seen WHERE t.key = seen.key AND t.is_active AND t.epoch = seen.epoch AND t.process IS NOT DISTINCT FROM seen.process
    RETURNING t.key, t.scope, t.wire_id, t.crashes
)
SELECT claimed.scope, claimed.wire_id, claimed.crashes, records.kinds, records.keys, records.fingerprints, records.bodies
FROM (SELECT) AS one LEFT JOIN claimed ON true LEFT JOIN LATERAL (
    SELECT array_agg(kind ORDER BY place) AS kinds, array_agg(record_key ORDER BY place) AS keys,
        array_agg(fingerprint ORDER BY place) AS fingerprints, array_agg(body ORDER BY place) AS bodies
    FROM a2a_records WHERE task = claimed.key
) AS records ON true

-- name: find_orphans
-- Those that workers run have a queue.
SELECT t.key FROM a2a_tasks t LEFT JOIN a2a_processes p ON p.process = t.process
WHERE t.is_active AND t.queue IS NULL AND (p.lease_until IS NULL OR p.lease_until <= :now) AND (:surfaces::text[] IS NULL OR t.scope::json ->> 0 = ANY (:surfaces::text[]))
ORDER BY t.key LIMIT :limit

-- name: request_cancel
-- A suspended task becomes an orphan, which the next process that looks for one ends.
UPDATE a2a_tasks SET cancel_requested = true, is_active = true
WHERE wire_id = :wire_id AND scope IS NOT DISTINCT FROM :scope AND is_latest AND state = ANY (:states::text[])
RETURNING key
