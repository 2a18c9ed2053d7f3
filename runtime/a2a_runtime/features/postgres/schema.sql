-- Version of the schema.

-- name: try_lock
-- One upgrade at a time; released with the connection. The number is arbitrary and the same in every release. An upgrade that waited within a statement
-- would have a snapshot, and an index that another one builds concurrently waits for all snapshots.
SELECT pg_try_advisory_lock(4107310021)

-- name: limit_lock_waits
-- A statement that waits for a lock makes all statements behind it wait too.
SET LOCAL lock_timeout = '2s'

-- name: create_version_table
CREATE TABLE IF NOT EXISTS a2a_schema (
    version    integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
)

-- name: version
SELECT coalesce(max(version), 0) AS version FROM a2a_schema

-- name: applied
INSERT INTO a2a_schema (version) VALUES ($1)

-- name: invalid_indexes
-- What a concurrent build leaves behind if it is interrupted.
SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE NOT i.indisvalid AND c.relname LIKE 'a2a\_%' AND pg_table_is_visible(c.oid)

-- name: blocking
-- Transactions that have locks on our tables.
SELECT DISTINCT a.pid, a.state, coalesce(a.application_name, '') AS name
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND c.relname LIKE 'a2a\_%' AND a.pid <> pg_backend_pid() AND a.xact_start < now() - interval '2 seconds'

-- name: clock
SELECT extract(epoch FROM clock_timestamp())::float8
