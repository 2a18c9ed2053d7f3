-- Leases of processes, claims and cancellation.

-- name: renew_lease
INSERT INTO processes (process, expires_at) VALUES (:process, :until)
ON CONFLICT (process) DO UPDATE SET expires_at = excluded.expires_at, suspect = NULL;

-- name: mark_suspect
UPDATE processes SET suspect = :key WHERE process = :process;

-- name: end_lease
DELETE FROM processes WHERE process = :process;

-- name: end_all_leases
-- Only for the holder of the file lock: no other process can be alive.
UPDATE processes SET expires_at = 0;

-- name: delete_old_leases
-- A claim on a task of the process still looks for the suspect.
DELETE FROM processes
WHERE expires_at <= :now AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.active = 1 AND tasks.process = processes.process);

-- name: load_claims
SELECT key, cancel_requested, epoch, writes FROM tasks WHERE active = 1 AND process = :process ORDER BY key;

-- name: release_claims
UPDATE tasks SET process = NULL WHERE key IN (SELECT value FROM json_each(:keys)) AND active = 1 AND process = :process;

-- name: claim
-- A process never takes its own claim for an expired one: it could not renew its lease while another program held the file.
UPDATE tasks SET
    process = :process,
    epoch = epoch + 1,
    writes = 0,
    crashes = crashes + (
        process IS NOT NULL AND coalesce((SELECT suspect = tasks.key FROM processes WHERE processes.process = tasks.process), 1)
    )
WHERE key = :key AND active = 1 AND process IS NOT :process
    AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.process = tasks.process AND expires_at > :now)
RETURNING crashes;

-- name: find_orphans
SELECT key FROM tasks INDEXED BY tasks_active
WHERE active = 1 AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.process = tasks.process AND expires_at > :now)
    AND (:surfaces IS NULL OR json_extract(scope, '$[0]') IN (SELECT value FROM json_each(:surfaces)))
ORDER BY key LIMIT :limit;

-- name: load_records
SELECT kind, name AS record_key, fingerprint, body FROM records WHERE task_key = :key ORDER BY version, n;

-- name: request_cancel
-- A suspended task becomes an orphan, which the next process that looks for one ends.
UPDATE tasks SET cancel_requested = 1, active = 1
WHERE scope = :scope AND wire_id = :wire_id AND retired = 0 AND state IN (SELECT value FROM json_each(:states))
RETURNING key;
