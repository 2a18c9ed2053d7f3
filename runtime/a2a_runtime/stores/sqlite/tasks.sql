-- Tasks and their events.

-- name: add_task
INSERT INTO tasks (key, scope, wire_id, context_id, skill, dialect, state, active, status_at, status, metadata, epoch, process, hidden_skills, mark)
VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?);

-- name: holder_of_wire_id
SELECT key, state, ended_at FROM tasks WHERE scope = :scope AND wire_id = :wire_id AND retired = 0;

-- name: retire
UPDATE tasks SET retired = 1 WHERE key = :key;

-- name: find_promise
SELECT task_key, request_hash FROM promises WHERE scope = :scope AND context_id = :context_id AND name = :name;

-- name: add_promise
INSERT INTO promises (scope, context_id, name, task_key, request_hash) VALUES (:scope, :context_id, :name, :key, :request_hash);

-- name: load_by_key
SELECT * FROM tasks WHERE key = :key;

-- name: load_by_wire_id
SELECT * FROM tasks WHERE scope = :scope AND wire_id = :wire_id AND retired = 0;

-- name: get_version
SELECT key, version, dialect, ended_at FROM tasks WHERE scope = :scope AND wire_id = :wire_id AND retired = 0;

-- name: load_head
-- The columns that a change needs.
SELECT
    key, wire_id, context_id, state, status_at, metadata, version, last_seq, epoch, process, writes, mark, cancel_requested,
    EXISTS (SELECT 1 FROM push_configs WHERE task_key = tasks.key) AS has_pushes
FROM tasks WHERE key = ? AND scope = ?;

-- name: change_state
UPDATE tasks SET
    state = ?, active = ?, status_at = ?, ended_at = ?, status = ?, process = ?, metadata = ?, version = ?, last_seq = ?, writes = ?, mark = ?
WHERE key = ?;

-- name: change_content
-- Without the columns of the status, so that no index changes.
UPDATE tasks SET metadata = ?, version = ?, last_seq = ?, writes = ?, mark = ? WHERE key = ?;

-- name: release
UPDATE tasks SET process = NULL WHERE key = :key;

-- name: add_message
INSERT INTO messages (task_key, version, n, at, body) VALUES (?, ?, ?, ?, ?);

-- name: add_event
INSERT INTO events (task_key, seq, state, body, mark) VALUES (?, ?, ?, ?, ?);

-- name: add_chunk
-- An artifact keeps its first place, even when it is replaced.
INSERT INTO chunks (task_key, artifact_id, version, place, facts, parts)
SELECT ?, ?, ?, coalesce((SELECT place FROM chunks WHERE task_key = ? AND artifact_id = ? LIMIT 1), ?), ?, ?;

-- name: drop_older_chunks
DELETE FROM chunks WHERE task_key = ? AND artifact_id = ? AND version < ?;

-- name: put_record
INSERT INTO records (task_key, version, n, kind, name, fingerprint, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_key, kind, name) DO UPDATE SET version = excluded.version, n = excluded.n, fingerprint = excluded.fingerprint, body = excluded.body;

-- name: messages_of
-- Newest first; -1 for all.
SELECT body FROM messages WHERE task_key = :key ORDER BY version DESC, n DESC LIMIT :length;

-- name: chunks_of
-- In the order of the primary key: the chunks of an artifact are adjacent.
SELECT artifact_id, place, facts, parts FROM chunks WHERE task_key = :key ORDER BY artifact_id, version;

-- name: read_events
-- At least one row if the task exists, with the mark of the event at the cursor.
SELECT tasks.dialect, tasks.ended_at, tasks.last_seq, events.seq, events.state, events.body, events.mark,
    (SELECT mark FROM events AS cursor WHERE cursor.task_key = :key AND cursor.seq = :after) AS cursor_mark
FROM tasks LEFT JOIN events ON events.task_key = tasks.key AND events.seq > :after
WHERE tasks.key = :key ORDER BY events.seq LIMIT :limit;
