-- The first schema. Forward only: a released file is never edited, a later one changes the schema.
--
-- Bodies are canonical JSON as bytes (BLOB), never parsed by the database. Times are milliseconds since 1970. A scope is the JSON list of surface, tenant and owner.
-- Keys are UUIDs of version 7: rows are written where the last ones were, at the end of the tree.

-- One row for each task. `active`: a process runs it, or should. `ended_at`: set with its terminal state. `retired`: a newer task has its wire id.
CREATE TABLE tasks (
    key TEXT NOT NULL PRIMARY KEY,
    scope TEXT NOT NULL,
    wire_id TEXT NOT NULL,
    retired INTEGER NOT NULL DEFAULT 0,
    context_id TEXT NOT NULL,
    skill TEXT NOT NULL,
    dialect TEXT NOT NULL,
    state TEXT NOT NULL,
    active INTEGER NOT NULL,
    status_at INTEGER NOT NULL,
    ended_at INTEGER,
    status BLOB NOT NULL,
    metadata BLOB NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    last_seq INTEGER NOT NULL DEFAULT 1,
    epoch INTEGER NOT NULL,
    process TEXT,
    cancel_requested INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tasks_by_wire_id ON tasks (scope, wire_id) WHERE retired = 0;
CREATE INDEX tasks_by_status ON tasks (scope, status_at, key) WHERE retired = 0;
CREATE INDEX tasks_by_state ON tasks (scope, state, status_at, key) WHERE retired = 0;
CREATE INDEX tasks_by_context ON tasks (scope, context_id);
CREATE INDEX tasks_active ON tasks (process) WHERE active = 1;
CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE messages (
    task_key TEXT NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task_key, version, n)
) STRICT, WITHOUT ROWID;

-- Appending to an artifact adds a row and rewrites none. `place` is the position of the artifact in its task: the same for all its chunks.
CREATE TABLE chunks (
    task_key TEXT NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    artifact_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    place INTEGER NOT NULL,
    facts BLOB NOT NULL,
    parts BLOB NOT NULL,
    PRIMARY KEY (task_key, artifact_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    task_key TEXT NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    state TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task_key, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
    task_key TEXT NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    n INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task_key, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE promises (
    scope TEXT NOT NULL,
    context_id TEXT NOT NULL,
    name TEXT NOT NULL,
    task_key TEXT NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    request_hash BLOB NOT NULL,
    PRIMARY KEY (scope, context_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX promises_by_task ON promises (task_key);

CREATE TABLE push_configs (
    task_key TEXT NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    config_id TEXT NOT NULL,
    dialect TEXT NOT NULL,
    body BLOB NOT NULL,
    failed_at INTEGER, -- no deliveries since then
    failure TEXT,
    PRIMARY KEY (task_key, config_id)
) STRICT, WITHOUT ROWID;

-- Rows are numbered in the order of their events; a number is never reused, because it identifies the delivery of an outcome.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_key TEXT NOT NULL,
    config_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (task_key, config_id, seq),
    FOREIGN KEY (task_key, config_id) REFERENCES push_configs (task_key, config_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX outbox_due ON outbox (next_at, id);

CREATE TABLE contexts (
    scope TEXT NOT NULL,
    context_id TEXT NOT NULL,
    data BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (scope, context_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX contexts_by_age ON contexts (updated_at);

-- Messages that outlived their tasks, moved here by the cleanup.
CREATE TABLE turns (
    scope TEXT NOT NULL,
    context_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    task_key TEXT NOT NULL,
    version INTEGER NOT NULL,
    n INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (scope, context_id, at, task_key, version, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX turns_by_age ON turns (at);

CREATE TABLE processes (
    process TEXT NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
