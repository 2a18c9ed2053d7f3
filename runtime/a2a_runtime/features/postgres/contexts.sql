-- Conversations, deletion and the cleanup.

-- name: load_context
-- Data is as old as its last change; while the conversation has tasks it does not expire. Of data without skills (NULL) nobody knows who wrote it.
SELECT data FROM a2a_contexts c
WHERE scope = :scope AND context_id = :context_id AND (cardinality(:hidden::text[]) = 0 OR NOT skills && :hidden::text[])
    AND (changed_at > :cutoff OR EXISTS (SELECT FROM a2a_tasks t WHERE t.scope = c.scope AND t.context_id = c.context_id))

-- name: put_context
-- It remembers all skills that have written to it. No row if a hidden one has.
INSERT INTO a2a_contexts AS c (scope, context_id, data, changed_at, skills) VALUES (:scope, :context_id, :data, :now, :skills::text[])
ON CONFLICT (scope, context_id) DO UPDATE SET
    data = excluded.data,
    changed_at = greatest(c.changed_at, excluded.changed_at),
    skills = CASE WHEN c.skills IS NOT NULL THEN ARRAY(SELECT DISTINCT name FROM unnest(c.skills || excluded.skills) AS name ORDER BY name) END
WHERE cardinality(:hidden::text[]) = 0 OR NOT c.skills && :hidden::text[]
RETURNING 1 AS written

-- name: newest_messages
-- Of a message without a skill (NULL) nobody knows who wrote it.
SELECT body FROM a2a_messages m
WHERE scope = :scope AND context_id = :context_id AND said_at > :cutoff AND (
    cardinality(:hidden::text[]) = 0 OR coalesce(skill, (SELECT t.skill FROM a2a_tasks t WHERE t.key = m.task)) <> ALL (:hidden::text[])
)
ORDER BY said_at DESC, id DESC LIMIT :limit

-- name: list_scopes
SELECT scope FROM a2a_tasks UNION SELECT scope FROM a2a_contexts UNION SELECT scope FROM a2a_messages ORDER BY scope

-- name: lock_task
-- Deletion takes two statements: the second one sees everything that was written before the first one got the lock.
-- A change of push configurations takes the same lock, so that each event of the task sees all of them.
SELECT key FROM a2a_tasks WHERE wire_id = :wire_id AND scope IS NOT DISTINCT FROM :scope AND is_latest FOR UPDATE

-- name: lock_tasks
-- Of one conversation, or of the whole scope when it is NULL. Ordered by key, so that two of these never wait for each other.
SELECT key FROM a2a_tasks WHERE scope = :scope AND (:context_id::text IS NULL OR context_id = :context_id) ORDER BY key FOR UPDATE

-- name: delete_tasks
WITH message AS (
    DELETE FROM a2a_messages WHERE task = ANY (:keys::uuid[])
), chunk AS (
    DELETE FROM a2a_chunks WHERE task = ANY (:keys::uuid[])
), event AS (
    DELETE FROM a2a_events WHERE task = ANY (:keys::uuid[])
)
DELETE FROM a2a_tasks WHERE key = ANY (:keys::uuid[])

-- name: delete_messages
-- Those that outlived their tasks.
DELETE FROM a2a_messages WHERE scope = :scope AND (:context_id::text IS NULL OR context_id = :context_id) AND task IS NULL

-- name: delete_contexts
DELETE FROM a2a_contexts WHERE scope = :scope AND (:context_id::text IS NULL OR context_id = :context_id)

-- name: vacuum
-- Outside of a transaction.
VACUUM (ANALYZE) a2a_tasks, a2a_messages, a2a_chunks, a2a_events, a2a_records, a2a_promises, a2a_push_configs, a2a_outbox, a2a_contexts, a2a_task_totals, a2a_task_deltas

-- name: lock_cleanup
-- One process at a time; no row while another one has the lock. It ends with the transaction, so a process that hangs keeps it no longer than its
-- connection.
SELECT 1 AS locked WHERE pg_try_advisory_xact_lock(4107310022)

-- name: await_cleanup
SELECT pg_advisory_xact_lock(4107310022)

-- name: lock_ended
-- Ended before the cutoff, and without a pending delivery.
SELECT key FROM a2a_tasks t
WHERE ended_at <= :ended_by AND NOT EXISTS (SELECT FROM a2a_outbox o WHERE o.task = t.key)
ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED

-- name: lock_ended_of
-- The same of one dialect, from a time on: what ended before has been seen.
SELECT key, ended_at FROM a2a_tasks t
WHERE ended_at > :after AND ended_at <= :ended_by AND dialect = :dialect AND NOT EXISTS (SELECT FROM a2a_outbox o WHERE o.task = t.key)
ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED

-- name: keep_messages
-- Without a task; :cutoff is not needed here, older ones are deleted by `delete_old_messages`.
UPDATE a2a_messages m SET task = NULL, skill = t.skill FROM a2a_tasks t WHERE t.key = m.task AND m.task = ANY (:keys::uuid[])

-- name: trim_messages
-- Of the messages that outlived their tasks, a conversation keeps the newest. Only they have a skill; see the index `a2a_messages_kept`.
DELETE FROM a2a_messages WHERE id IN (
    SELECT surplus.id
    FROM (SELECT DISTINCT scope, context_id FROM a2a_tasks WHERE key = ANY (:keys::uuid[])) AS ended, LATERAL (
        SELECT id FROM a2a_messages m
        WHERE m.scope = ended.scope AND m.context_id = ended.context_id AND m.skill IS NOT NULL ORDER BY said_at DESC, id DESC OFFSET :keep
    ) AS surplus
)

-- name: delete_old_messages
DELETE FROM a2a_messages WHERE id IN (SELECT id FROM a2a_messages WHERE task IS NULL AND said_at <= :cutoff ORDER BY said_at LIMIT :limit) RETURNING id

-- name: delete_old_contexts
DELETE FROM a2a_contexts WHERE (scope, context_id) IN (
    SELECT scope, context_id FROM a2a_contexts c
    WHERE changed_at <= :cutoff AND NOT EXISTS (SELECT FROM a2a_tasks t WHERE t.scope = c.scope AND t.context_id = c.context_id)
    ORDER BY changed_at LIMIT :limit
)
RETURNING changed_at
