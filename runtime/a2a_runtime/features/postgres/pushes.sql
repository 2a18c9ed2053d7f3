-- Push configurations and the outbox of their deliveries.

-- name: put_config
-- The task counts its configurations, so that a change that has not seen this one is sent again. Its row is locked: the others are all visible.
WITH config AS (
    INSERT INTO a2a_push_configs (task, config_id, dialect, body) VALUES (:key, :config_id, :dialect, :body)
    ON CONFLICT (task, config_id) DO UPDATE SET dialect = excluded.dialect, body = excluded.body, failed_at = NULL, failure = NULL
)
UPDATE a2a_tasks SET push_configs = 1 + ({count_others}) WHERE key = :key

-- name: count_others
SELECT count(*) FROM a2a_push_configs WHERE task = :key AND config_id <> :config_id

-- name: count_other_configs
SELECT ({count_others}) AS number

-- name: delete_config
WITH deleted AS (
    DELETE FROM a2a_push_configs WHERE task = :key AND config_id = :config_id RETURNING config_id
), counted AS (
    UPDATE a2a_tasks SET push_configs = ({count_others}) WHERE key = :key
)
SELECT config_id FROM deleted

-- name: load_config
-- This and the next two return a row of NULLs for a task without such a configuration, and no row without the task.
SELECT c.config_id, c.body
FROM a2a_tasks t LEFT JOIN a2a_push_configs c ON c.task = t.key AND c.config_id = :config_id
WHERE t.wire_id = :wire_id AND t.scope IS NOT DISTINCT FROM :scope AND t.is_latest

-- name: list_configs
SELECT c.config_id, c.body
FROM a2a_tasks t LEFT JOIN a2a_push_configs c ON c.task = t.key AND c.config_id > :after
WHERE t.wire_id = :wire_id AND t.scope IS NOT DISTINCT FROM :scope AND t.is_latest ORDER BY c.config_id LIMIT :limit

-- name: list_failed_configs
SELECT c.config_id, c.failed_at, c.failure
FROM a2a_tasks t LEFT JOIN a2a_push_configs c ON c.task = t.key AND c.failed_at IS NOT NULL
WHERE t.wire_id = :wire_id AND t.scope IS NOT DISTINCT FROM :scope AND t.is_latest

-- name: claim_due
-- The first of each configuration only, and none that another process is claiming. It is not due again before :until.
WITH first AS (
    SELECT o.id FROM a2a_outbox o
    WHERE o.due_at <= :now
        AND NOT EXISTS (SELECT FROM a2a_outbox before WHERE before.task = o.task AND before.config_id = o.config_id AND before.seq < o.seq)
        AND (:surfaces::text[] IS NULL OR EXISTS (SELECT FROM a2a_tasks t WHERE t.key = o.task AND t.scope::json ->> 0 = ANY (:surfaces::text[])))
    ORDER BY o.due_at, o.id LIMIT :limit FOR UPDATE OF o SKIP LOCKED
), taken AS (
    UPDATE a2a_outbox o SET attempts = attempts + 1, due_at = :until FROM first WHERE o.id = first.id
    RETURNING o.id, o.task, o.config_id, o.seq, o.attempts
)
SELECT taken.id, taken.attempts, taken.task AS key, config.body AS config, config.dialect, event.seq, event.state, event.body, event.mark
FROM taken
    JOIN a2a_push_configs config ON config.task = taken.task AND config.config_id = taken.config_id
    JOIN a2a_events event ON event.task = taken.task AND event.seq = taken.seq

-- name: mark_delivered
-- Only the last claimer may do so.
DELETE FROM a2a_outbox WHERE id = :id AND attempts = :attempts RETURNING id

-- name: retry
-- Those behind it are postponed as well: else every search for due deliveries would go through all of them.
WITH late AS (
    SELECT task, config_id FROM a2a_outbox WHERE id = :id AND attempts = :attempts
), waiting AS (
    UPDATE a2a_outbox o SET due_at = greatest(o.due_at, :due_at) FROM late WHERE o.task = late.task AND o.config_id = late.config_id AND o.id <> :id
)
UPDATE a2a_outbox SET due_at = :due_at WHERE id = :id AND attempts = :attempts RETURNING id

-- name: mark_config_failed
UPDATE a2a_push_configs c SET failed_at = :now, failure = :reason FROM a2a_outbox o
WHERE o.id = :id AND o.attempts = :attempts AND c.task = o.task AND c.config_id = o.config_id

-- name: drop_deliveries
-- An event that another process is just writing may still become due; then it is tried, and given up, once more.
DELETE FROM a2a_outbox o USING a2a_outbox first
WHERE first.id = :id AND first.attempts = :attempts AND o.task = first.task AND o.config_id = first.config_id RETURNING o.id

-- name: find_delivery
SELECT id FROM a2a_outbox WHERE task = :key LIMIT 1

-- name: count_deliveries
SELECT count(*) AS number FROM a2a_outbox
