-- Conversations, deleting, and what expires.

-- name: load_context
-- Nobody needs the data of a conversation that is old ($3) and has no task any more.
SELECT data FROM a2a_contexts c
WHERE scope = $1 AND context_id = $2
    AND (changed_at > $3 OR EXISTS (SELECT FROM a2a_tasks t WHERE t.scope = c.scope AND t.context_id = c.context_id))

-- name: update_context
INSERT INTO a2a_contexts (scope, context_id, data, changed_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (scope, context_id) DO UPDATE SET data = excluded.data, changed_at = greatest(a2a_contexts.changed_at, excluded.changed_at)

-- name: conversation
SELECT body FROM (
    SELECT id, said_at, body FROM a2a_messages
    WHERE scope = $1 AND context_id = $2 AND said_at > $3 ORDER BY said_at DESC, id DESC LIMIT $4
) AS newest ORDER BY said_at, id

-- name: scopes
SELECT scope FROM a2a_tasks UNION SELECT scope FROM a2a_contexts UNION SELECT scope FROM a2a_messages ORDER BY scope

-- name: lock_task
-- Deleting takes two statements: the second one sees all that was written until the first one had the rows.
SELECT key FROM a2a_tasks WHERE wire_id = $2 AND scope IS NOT DISTINCT FROM $1 AND is_latest FOR UPDATE

-- name: lock_context
-- Of a scope ($1), and of one conversation only unless that is NULL. In the order of the keys, so that two of these never wait for each other.
SELECT key FROM a2a_tasks WHERE scope = $1 AND ($2::text IS NULL OR context_id = $2) ORDER BY key FOR UPDATE

-- name: delete_tasks
WITH message AS (
    DELETE FROM a2a_messages WHERE task = ANY ($1::uuid[])
), chunk AS (
    DELETE FROM a2a_chunks WHERE task = ANY ($1::uuid[])
), event AS (
    DELETE FROM a2a_events WHERE task = ANY ($1::uuid[])
)
DELETE FROM a2a_tasks WHERE key = ANY ($1::uuid[])

-- name: delete_context
-- What is left of it without its tasks.
WITH message AS (
    DELETE FROM a2a_messages WHERE scope = $1 AND ($2::text IS NULL OR context_id = $2) AND task IS NULL
)
DELETE FROM a2a_contexts WHERE scope = $1 AND ($2::text IS NULL OR context_id = $2)

-- name: lock_sweep
-- One process sweeps at a time. The lock goes with the transaction, so a process that hangs keeps it no longer than its connection.
SELECT pg_try_advisory_xact_lock(4107310022)

-- name: lock_ended
SELECT key, scope, context_id FROM a2a_tasks t
WHERE ended_at <= $1 AND NOT EXISTS (SELECT FROM a2a_outbox o WHERE o.task = t.key)
ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED

-- name: sweep_tasks
-- Their messages stay, without a task.
WITH message AS (
    UPDATE a2a_messages SET task = NULL WHERE task = ANY ($1::uuid[])
), chunk AS (
    DELETE FROM a2a_chunks WHERE task = ANY ($1::uuid[])
), event AS (
    DELETE FROM a2a_events WHERE task = ANY ($1::uuid[])
)
DELETE FROM a2a_tasks WHERE key = ANY ($1::uuid[])

-- name: sweep_expired_messages
DELETE FROM a2a_messages WHERE id IN (SELECT id FROM a2a_messages WHERE task IS NULL AND said_at <= $1 ORDER BY said_at LIMIT $2)

-- name: sweep_old_messages
-- Of what outlived its task, a conversation keeps the newest $3.
DELETE FROM a2a_messages WHERE id IN (
    SELECT left_over.id
    FROM unnest($1::text[], $2::text[]) AS swept (scope, context_id), LATERAL (
        SELECT id FROM a2a_messages m
        WHERE m.scope = swept.scope AND m.context_id = swept.context_id AND m.task IS NULL ORDER BY said_at DESC, id DESC OFFSET $3
    ) AS left_over
)

-- name: sweep_contexts
DELETE FROM a2a_contexts c
WHERE changed_at <= $1 AND NOT EXISTS (SELECT FROM a2a_tasks t WHERE t.scope = c.scope AND t.context_id = c.context_id)

-- name: sweep_processes
DELETE FROM a2a_processes WHERE lease_until <= $1
