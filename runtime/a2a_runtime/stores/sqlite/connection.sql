-- Settings of a connection, and transactions.

-- name: journal_mode
-- Readers see the last commit during a write.
PRAGMA journal_mode = WAL;

-- name: synchronous_full
-- Acknowledged writes survive a power failure. Under load, writes that share a commit share its cost.
PRAGMA synchronous = FULL;

-- name: synchronous_normal
-- The log is synchronized before a checkpoint only: the last commits before a power failure are lost, the file stays whole.
PRAGMA synchronous = NORMAL;

-- name: foreign_keys
-- Everything that belongs to a task is deleted with it.
PRAGMA foreign_keys = ON;

-- name: read_only
PRAGMA query_only = ON;

-- name: schema_version
PRAGMA user_version;

-- name: holds_tables
SELECT count(*) FROM sqlite_schema;

-- name: quick_check
PRAGMA quick_check;

-- name: vacuum
VACUUM;

-- name: truncate_log
PRAGMA wal_checkpoint (TRUNCATE);

-- name: begin_write
-- As a writer from the start: a transaction that becomes one later fails if another process has written in the meantime.
BEGIN IMMEDIATE;

-- name: begin_read
BEGIN;

-- name: commit
COMMIT;

-- name: roll_back
ROLLBACK;

-- name: begin_call
SAVEPOINT call;

-- name: end_call
RELEASE call;

-- name: undo_call
ROLLBACK TO call;
