-- The tables of the first version.
--
-- Times are milliseconds since 1970, as the wire carries them. JSON is bytea and not jsonb: jsonb sorts keys and cannot keep every number.
-- A scope is surface, tenant and owner as one text, the first column of every key that clients can use.

CREATE TABLE a2a_tasks (
    key              uuid PRIMARY KEY,                -- of version 7, so that the index grows at one end
    scope            text NOT NULL,
    wire_id          text NOT NULL,
    is_latest        boolean NOT NULL DEFAULT true,   -- false: its client has used the wire id again
    context_id       text NOT NULL,
    skill            text NOT NULL,
    dialect          text NOT NULL,
    state            text NOT NULL,
    state_before     text NOT NULL,                   -- before the last write, which RETURNING cannot give otherwise
    is_active        boolean NOT NULL,                -- a process runs it, or should
    status           bytea NOT NULL,
    status_at        bigint NOT NULL,
    metadata         bytea NOT NULL,
    version          integer NOT NULL DEFAULT 1,
    last_seq         integer NOT NULL DEFAULT 1,
    epoch            integer NOT NULL DEFAULT 0,
    process          text,
    cancel_requested boolean NOT NULL DEFAULT false,
    push_configs     integer NOT NULL DEFAULT 0,      -- their number
    ended_at         bigint
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX a2a_tasks_wire_id ON a2a_tasks (scope, wire_id) WHERE is_latest;
CREATE INDEX a2a_tasks_page ON a2a_tasks (scope, status_at DESC, key DESC);
CREATE INDEX a2a_tasks_context_page ON a2a_tasks (scope, context_id, status_at DESC, key DESC);
CREATE INDEX a2a_tasks_active ON a2a_tasks (process, key) WHERE is_active;
CREATE INDEX a2a_tasks_ended ON a2a_tasks (ended_at) WHERE ended_at IS NOT NULL;

-- Most writes add messages, chunks and events. They have no foreign key, whose check would cost a fifth of a write (measured). Every insert and every
-- deletion locks the row of the task first, so nothing is left behind.

-- A message may outlive its task, because conversations have a retention time of their own; then it has no task.
CREATE TABLE a2a_messages (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,   -- grows within a task, under the lock of its row
    task       uuid,
    scope      text NOT NULL,
    context_id text NOT NULL,
    said_at    bigint NOT NULL,
    body       bytea NOT NULL
);

CREATE INDEX a2a_messages_history ON a2a_messages (task, id);
CREATE INDEX a2a_messages_conversation ON a2a_messages (scope, context_id, said_at DESC, id DESC);
CREATE INDEX a2a_messages_left ON a2a_messages (said_at) WHERE task IS NULL;

-- An artifact consists of its chunks from the last one that replaces. Chunks are only added: a statement that replaces may not yet see a chunk that
-- another writer has just appended. The place is the version of the task after the write, and the number of the chunk within the write.
CREATE TABLE a2a_chunks (
    task        uuid NOT NULL,
    place       bigint NOT NULL,
    artifact_id text NOT NULL,
    replaces    boolean NOT NULL,
    facts       bytea NOT NULL,
    parts       bytea NOT NULL,
    PRIMARY KEY (task, place)
);

CREATE TABLE a2a_events (
    task  uuid NOT NULL,
    seq   integer NOT NULL,
    state text NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (task, seq)
);

CREATE TABLE a2a_records (
    task        uuid NOT NULL REFERENCES a2a_tasks ON DELETE CASCADE,
    kind        text NOT NULL,
    record_key  text NOT NULL,
    place       bigint NOT NULL,
    fingerprint text NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (task, kind, record_key)
);

CREATE TABLE a2a_promises (
    scope        text NOT NULL,
    context_id   text NOT NULL,     -- as given by the client, or empty
    promise_key  text NOT NULL,
    request_hash bytea NOT NULL,
    task         uuid NOT NULL REFERENCES a2a_tasks ON DELETE CASCADE,
    PRIMARY KEY (scope, context_id, promise_key)
);

CREATE INDEX a2a_promises_task ON a2a_promises (task);

CREATE TABLE a2a_push_configs (
    task      uuid NOT NULL REFERENCES a2a_tasks ON DELETE CASCADE,
    config_id text NOT NULL COLLATE "C",
    dialect   text NOT NULL,
    body      bytea NOT NULL,
    failed_at bigint,           -- no deliveries since then
    failure   text,
    PRIMARY KEY (task, config_id)
);

CREATE TABLE a2a_outbox (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task      uuid NOT NULL,
    config_id text NOT NULL COLLATE "C",
    seq       integer NOT NULL,
    attempts  integer NOT NULL DEFAULT 0,
    due_at    bigint NOT NULL,
    UNIQUE (task, config_id, seq),
    FOREIGN KEY (task, config_id) REFERENCES a2a_push_configs ON DELETE CASCADE
);

CREATE INDEX a2a_outbox_due ON a2a_outbox (due_at, id);

CREATE TABLE a2a_contexts (
    scope      text NOT NULL,
    context_id text NOT NULL,
    data       bytea NOT NULL,
    changed_at bigint NOT NULL,
    PRIMARY KEY (scope, context_id)
);

CREATE TABLE a2a_processes (
    process     text PRIMARY KEY,
    lease_until bigint NOT NULL
);
