-- Processes and what they run.

-- name: renew_lease
INSERT INTO processes (process, expires_at) VALUES (:process, :until) ON CONFLICT (process) DO UPDATE SET expires_at = excluded.expires_at;

-- name: end_lease
DELETE FROM processes WHERE process = :process;

-- name: end_all_leases
-- Only for who holds the lock of the file: nobody else can be alive.
DELETE FROM processes;

-- name: end_old_leases
DELETE FROM processes WHERE expires_at <= :now;

-- name: wanted_canceled
SELECT key FROM tasks WHERE active = 1 AND process = :process AND cancel_requested = 1 ORDER BY key;

-- name: claim
UPDATE tasks SET process = :process, epoch = epoch + 1
WHERE key = :key AND active = 1 AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.process = tasks.process AND expires_at > :now);

-- name: orphans
SELECT key FROM tasks INDEXED BY tasks_active
WHERE active = 1 AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.process = tasks.process AND expires_at > :now)
    AND (:surfaces IS NULL OR json_extract(scope, '$[0]') IN (SELECT value FROM json_each(:surfaces)))
ORDER BY key LIMIT :limit;

-- name: records_of
SELECT kind, name, fingerprint, body FROM records WHERE task_key = :key ORDER BY version, n;

-- name: want_canceled
UPDATE tasks SET cancel_requested = 1 WHERE key = :key;
