-- Conversations, and what is forgotten.

-- name: load_context
-- Data is as old as its last change; while there are tasks in the conversation it does not age.
SELECT data FROM contexts
WHERE
    scope = :scope AND context_id = :context_id
    AND (updated_at > :recent OR EXISTS (SELECT 1 FROM tasks WHERE tasks.scope = contexts.scope AND tasks.context_id = contexts.context_id));

-- name: put_context
INSERT INTO contexts (scope, context_id, data, updated_at) VALUES (:scope, :context_id, :data, :at)
ON CONFLICT (scope, context_id) DO UPDATE SET data = excluded.data, updated_at = excluded.updated_at;

-- name: conversation
SELECT body FROM (
    SELECT messages.at, messages.task_key, messages.version, messages.n, messages.body
    FROM tasks INNER JOIN messages ON messages.task_key = tasks.key
    WHERE tasks.scope = :scope AND tasks.context_id = :context_id
    UNION ALL
    SELECT at, task_key, version, n, body FROM turns WHERE scope = :scope AND context_id = :context_id
)
WHERE at > :recent
ORDER BY at DESC, task_key DESC, version DESC, n DESC LIMIT :limit;

-- name: delete_tasks_of_context
DELETE FROM tasks WHERE scope = :scope AND context_id = :context_id;

-- name: delete_turns_of_context
DELETE FROM turns WHERE scope = :scope AND context_id = :context_id;

-- name: delete_context
DELETE FROM contexts WHERE scope = :scope AND context_id = :context_id;

-- name: scopes
SELECT scope FROM tasks UNION SELECT scope FROM contexts UNION SELECT scope FROM turns ORDER BY scope;

-- name: delete_tasks_of_scope
DELETE FROM tasks WHERE scope = :scope;

-- name: delete_turns_of_scope
DELETE FROM turns WHERE scope = :scope;

-- name: delete_contexts_of_scope
DELETE FROM contexts WHERE scope = :scope;

-- name: expired
-- Ended long enough ago, and every webhook was called.
SELECT key, scope, context_id FROM tasks
WHERE ended_at <= :ended_by AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task_key = tasks.key)
ORDER BY ended_at LIMIT :limit;

-- name: keep_turns
INSERT INTO turns (scope, context_id, at, task_key, version, n, body)
SELECT :scope, :context_id, at, task_key, version, n, body FROM messages WHERE task_key = :key AND at > :recent;

-- name: trim_turns
-- The newest stay.
DELETE FROM turns
WHERE scope = :scope AND context_id = :context_id AND (at, task_key, version, n) < (
    SELECT at, task_key, version, n FROM turns WHERE scope = :scope AND context_id = :context_id
    ORDER BY at DESC, task_key DESC, version DESC, n DESC LIMIT 1 OFFSET :keep - 1
);

-- name: delete_by_key
DELETE FROM tasks WHERE key = :key;

-- name: delete_old_turns
DELETE FROM turns WHERE at <= :recent;

-- name: delete_old_contexts
DELETE FROM contexts
WHERE updated_at <= :recent AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.scope = contexts.scope AND tasks.context_id = contexts.context_id);
