-- Push configurations and the outbox of their deliveries.

-- name: lock_task
-- The transaction is the only writer already.
SELECT key FROM tasks WHERE scope = :scope AND wire_id = :wire_id AND retired = 0;

-- name: put_config
INSERT INTO push_configs (task_key, config_id, dialect, body) VALUES (:key, :config_id, :dialect, :body)
ON CONFLICT (task_key, config_id) DO UPDATE SET dialect = excluded.dialect, body = excluded.body, failed_at = NULL, failure = NULL;

-- name: count_other_configs
SELECT count(*) AS number FROM push_configs WHERE task_key = :key AND config_id <> :config_id;

-- name: load_config
-- This and the next two return a row of NULLs for a task without such a configuration, and no row without the task.
SELECT push_configs.config_id, push_configs.body
FROM tasks LEFT JOIN push_configs ON push_configs.task_key = tasks.key AND push_configs.config_id = :config_id
WHERE tasks.scope = :scope AND tasks.wire_id = :wire_id AND tasks.retired = 0;

-- name: list_configs
SELECT push_configs.config_id, push_configs.body
FROM tasks LEFT JOIN push_configs ON push_configs.task_key = tasks.key AND push_configs.config_id > :after
WHERE tasks.scope = :scope AND tasks.wire_id = :wire_id AND tasks.retired = 0
ORDER BY push_configs.config_id LIMIT :limit;

-- name: list_failed_configs
SELECT push_configs.config_id, push_configs.failed_at, push_configs.failure
FROM tasks LEFT JOIN push_configs ON push_configs.task_key = tasks.key AND push_configs.failed_at IS NOT NULL
WHERE tasks.scope = :scope AND tasks.wire_id = :wire_id AND tasks.retired = 0;

-- name: delete_config
DELETE FROM push_configs WHERE task_key = :key AND config_id = :config_id RETURNING config_id;

-- name: post_event
-- In the transaction of the event, for every configuration that the task has now and that has not failed.
INSERT INTO outbox (task_key, config_id, seq)
SELECT task_key, config_id, ? FROM push_configs WHERE task_key = ? AND failed_at IS NULL ORDER BY config_id;

-- name: claim_due
-- The first of each configuration only: events are delivered in order, and one that fails delays only those after it.
UPDATE outbox SET attempts = attempts + 1, next_at = :until
WHERE id IN (
    SELECT due.id FROM outbox AS due
    WHERE
        due.next_at <= :now
        AND NOT EXISTS (
            SELECT 1 FROM outbox AS earlier
            WHERE earlier.task_key = due.task_key AND earlier.config_id = due.config_id AND earlier.seq < due.seq
        )
        AND (
            :surfaces IS NULL
            OR (SELECT json_extract(tasks.scope, '$[0]') FROM tasks WHERE tasks.key = due.task_key) IN (SELECT value FROM json_each(:surfaces))
        )
    ORDER BY due.next_at, due.id LIMIT :limit
)
RETURNING
    id, attempts, task_key AS key, seq,
    (SELECT body FROM push_configs AS config WHERE config.task_key = outbox.task_key AND config.config_id = outbox.config_id) AS config,
    (SELECT dialect FROM push_configs AS config WHERE config.task_key = outbox.task_key AND config.config_id = outbox.config_id) AS dialect,
    (SELECT state FROM events WHERE events.task_key = outbox.task_key AND events.seq = outbox.seq) AS state,
    (SELECT body FROM events WHERE events.task_key = outbox.task_key AND events.seq = outbox.seq) AS body,
    (SELECT mark FROM events WHERE events.task_key = outbox.task_key AND events.seq = outbox.seq) AS mark;

-- name: mark_delivered
-- Only the last claimer may do so.
DELETE FROM outbox WHERE id = :id AND attempts = :attempts RETURNING id;

-- name: retry
UPDATE outbox SET next_at = :due_at WHERE id = :id AND attempts = :attempts RETURNING id;

-- name: mark_config_failed
UPDATE push_configs SET failed_at = :now, failure = :reason
WHERE (task_key, config_id) = (SELECT task_key, config_id FROM outbox WHERE id = :id AND attempts = :attempts);

-- name: drop_deliveries
DELETE FROM outbox WHERE (task_key, config_id) = (SELECT task_key, config_id FROM outbox WHERE id = :id AND attempts = :attempts) RETURNING id;

-- name: find_delivery
SELECT id FROM outbox WHERE task_key = :key LIMIT 1;

-- name: count_deliveries
SELECT count(*) AS number FROM outbox;
