-- Push configurations, and the deliveries that are due for them.

-- name: find_task
SELECT key FROM a2a_tasks WHERE wire_id = $2 AND scope IS NOT DISTINCT FROM $1 AND is_latest

-- name: hold_task
-- Whoever changes the configurations of a task holds its row, so that each event of it knows them all.
SELECT key FROM a2a_tasks WHERE wire_id = $2 AND scope IS NOT DISTINCT FROM $1 AND is_latest FOR NO KEY UPDATE

-- name: put_config
INSERT INTO a2a_push_configs (task, config_id, dialect, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (task, config_id) DO UPDATE SET dialect = excluded.dialect, body = excluded.body, failed_at = NULL, failure = NULL

-- name: other_configs
SELECT count(*) FROM a2a_push_configs WHERE task = $1 AND config_id <> $2

-- name: delete_config
DELETE FROM a2a_push_configs WHERE task = $1 AND config_id = $2 RETURNING config_id

-- name: count_configs
UPDATE a2a_tasks SET push_configs = (SELECT count(*) FROM a2a_push_configs WHERE task = $1) WHERE key = $1

-- name: get_config
SELECT body FROM a2a_push_configs WHERE task = $1 AND config_id = $2

-- name: list_configs
SELECT config_id, body FROM a2a_push_configs WHERE task = $1 AND config_id > $2 ORDER BY config_id LIMIT $3

-- name: failures
SELECT config_id, failed_at, failure FROM a2a_push_configs WHERE task = $1 AND failed_at IS NOT NULL

-- name: take_due
-- The first of each configuration only, and none that another process is taking. Until $2 it is not due again.
WITH first AS (
    SELECT o.id FROM a2a_outbox o
    WHERE o.due_at <= $1
        AND NOT EXISTS (SELECT FROM a2a_outbox before WHERE before.task = o.task AND before.config_id = o.config_id AND before.seq < o.seq)
        AND ($4::text[] IS NULL OR EXISTS (SELECT FROM a2a_tasks t WHERE t.key = o.task AND t.scope::json ->> 0 = ANY ($4::text[])))
    ORDER BY o.due_at, o.id LIMIT $3 FOR UPDATE OF o SKIP LOCKED
), taken AS (
    UPDATE a2a_outbox o SET attempts = attempts + 1, due_at = $2 FROM first WHERE o.id = first.id
    RETURNING o.id, o.task, o.config_id, o.seq, o.attempts
)
SELECT taken.id, taken.attempts, taken.task AS key, config.body AS config, config.dialect, event.seq, event.state, event.body
FROM taken
    JOIN a2a_push_configs config ON config.task = taken.task AND config.config_id = taken.config_id
    JOIN a2a_events event ON event.task = taken.task AND event.seq = taken.seq
ORDER BY taken.id

-- name: settle
-- Whose attempt it is not any more, has no say.
DELETE FROM a2a_outbox WHERE id = $1 AND attempts = $2 RETURNING id

-- name: retry
-- What waits behind it is put off as well: else every look for what is due would go through all of it.
WITH late AS (
    SELECT task, config_id FROM a2a_outbox WHERE id = $1 AND attempts = $2
), waiting AS (
    UPDATE a2a_outbox o SET due_at = greatest(o.due_at, $3) FROM late WHERE o.task = late.task AND o.config_id = late.config_id AND o.id <> $1
)
UPDATE a2a_outbox SET due_at = $3 WHERE id = $1 AND attempts = $2 RETURNING id

-- name: give_up
-- An event that another process is just writing may still become due; then it is tried, and given up, once more.
WITH failed AS (
    UPDATE a2a_push_configs c SET failed_at = $3, failure = $4 FROM a2a_outbox o
    WHERE o.id = $1 AND o.attempts = $2 AND c.task = o.task AND c.config_id = o.config_id
    RETURNING c.task, c.config_id
)
DELETE FROM a2a_outbox o USING failed WHERE o.task = failed.task AND o.config_id = failed.config_id RETURNING o.id
