-- How a connection is set up, and how calls are put together into transactions.

-- name: journal_mode
-- Readers see the last commit while a writer works.
PRAGMA journal_mode = WAL;

-- name: synchronous
-- What was acknowledged survives a power failure. Under load, writes that share a commit share its cost.
PRAGMA synchronous = FULL;

-- name: foreign_keys
-- What hangs on a task goes with it.
PRAGMA foreign_keys = ON;

-- name: read_only
PRAGMA query_only = ON;

-- name: schema_version
PRAGMA user_version;

-- name: holds_tables
SELECT count(*) FROM sqlite_schema;

-- name: begin_write
-- At once as a writer: a transaction that only becomes one later may find that another process was faster, and then all is lost.
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
