-- Conversations and the cleanup.

-- name: load_context
-- Data is as old as its last change; while the conversation has tasks it does not expire. Of data without skills (NULL) nobody knows who wrote it.
SELECT data FROM contexts
WHERE
    scope = :scope AND context_id = :context_id
    AND (:hidden = '[]' OR (skills IS NOT NULL AND NOT EXISTS (SELECT value FROM json_each(skills) INTERSECT SELECT value FROM json_each(:hidden))))
    AND (updated_at > :cutoff OR EXISTS (SELECT 1 FROM tasks WHERE tasks.scope = contexts.scope AND tasks.context_id = contexts.context_id));

-- name: put_context
-- It remembers all skills that have written to it. No row if a hidden one has.
INSERT INTO contexts (scope, context_id, data, updated_at, skills) VALUES (:scope, :context_id, :data, :now, :skills)
ON CONFLICT (scope, context_id) DO UPDATE SET
    data = excluded.data,
    updated_at = excluded.updated_at,
    skills = CASE WHEN skills IS NOT NULL THEN (
        SELECT json_group_array(value) FROM (SELECT value FROM json_each(skills) UNION SELECT value FROM json_each(excluded.skills))
    ) END
WHERE :hidden = '[]' OR (skills IS NOT NULL AND NOT EXISTS (SELECT value FROM json_each(skills) INTERSECT SELECT value FROM json_each(:hidden)))
RETURNING 1 AS written;

-- name: newest_messages
-- Of a message without a skill (NULL) nobody knows who wrote it.
SELECT body FROM (
    SELECT messages.at, messages.task_key, messages.version, messages.n, messages.body, tasks.skill
    FROM tasks INNER JOIN messages ON messages.task_key = tasks.key
    WHERE tasks.scope = :scope AND tasks.context_id = :context_id
    UNION ALL
    SELECT at, task_key, version, n, body, skill FROM turns WHERE scope = :scope AND context_id = :context_id
)
WHERE at > :cutoff AND (:hidden = '[]' OR skill NOT IN (SELECT value FROM json_each(:hidden)))
ORDER BY at DESC, task_key DESC, version DESC, n DESC LIMIT :limit;

-- name: list_scopes
SELECT scope FROM tasks UNION SELECT scope FROM contexts UNION SELECT scope FROM turns ORDER BY scope;

-- name: lock_tasks
-- Of one conversation, or of the whole scope when it is NULL: every text sorts before a blob, and the range uses the index.
SELECT key FROM tasks WHERE scope = :scope AND context_id BETWEEN coalesce(:context_id, '') AND coalesce(:context_id, x'');

-- name: delete_tasks
DELETE FROM tasks WHERE key IN (SELECT value FROM json_each(:keys));

-- name: delete_messages
DELETE FROM turns WHERE scope = :scope AND context_id BETWEEN coalesce(:context_id, '') AND coalesce(:context_id, x'');

-- name: delete_contexts
DELETE FROM contexts WHERE scope = :scope AND context_id BETWEEN coalesce(:context_id, '') AND coalesce(:context_id, x'');

-- name: lock_cleanup
-- The transaction is the only writer already.
SELECT 1 AS locked;

-- name: await_cleanup
SELECT 1 AS locked;

-- name: lock_ended
-- Ended before the cutoff, and without a pending delivery.
SELECT key FROM tasks
WHERE ended_at <= :ended_by AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task_key = tasks.key)
ORDER BY ended_at LIMIT :limit;

-- name: lock_ended_of
-- The same of one dialect, from a time on: what ended before has been seen.
SELECT key, ended_at FROM tasks
WHERE ended_at > :after AND ended_at <= :ended_by AND dialect = :dialect
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.task_key = tasks.key)
ORDER BY ended_at LIMIT :limit;

-- name: keep_messages
INSERT INTO turns (scope, context_id, at, task_key, version, n, body, skill)
SELECT tasks.scope, tasks.context_id, messages.at, messages.task_key, messages.version, messages.n, messages.body, tasks.skill
FROM tasks INNER JOIN messages ON messages.task_key = tasks.key
WHERE tasks.key IN (SELECT value FROM json_each(:keys)) AND messages.at > :cutoff;

-- name: trim_messages
-- Of the messages that outlived their tasks, a conversation keeps the newest.
DELETE FROM turns WHERE (scope, context_id, at, task_key, version, n) IN (
    SELECT scope, context_id, at, task_key, version, n FROM (
        SELECT
            scope, context_id, at, task_key, version, n,
            row_number() OVER (PARTITION BY scope, context_id ORDER BY at DESC, task_key DESC, version DESC, n DESC) AS place
        FROM turns
        WHERE (scope, context_id) IN (SELECT scope, context_id FROM tasks WHERE key IN (SELECT value FROM json_each(:keys)))
    ) WHERE place > :keep
);

-- name: delete_old_messages
DELETE FROM turns WHERE (scope, context_id, at, task_key, version, n) IN (
    SELECT scope, context_id, at, task_key, version, n FROM turns WHERE at <= :cutoff ORDER BY at LIMIT :limit
)
RETURNING at;

-- name: delete_old_contexts
DELETE FROM contexts WHERE (scope, context_id) IN (
    SELECT scope, context_id FROM contexts
    WHERE updated_at <= :cutoff AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.scope = contexts.scope AND tasks.context_id = contexts.context_id)
    ORDER BY updated_at LIMIT :limit
)
RETURNING updated_at;
