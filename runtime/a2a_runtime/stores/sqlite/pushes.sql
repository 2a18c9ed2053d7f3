-- Push configurations, and the deliveries that are due for them.

-- name: put_config
INSERT INTO push_configs (task_key, config_id, dialect, body) VALUES (:key, :config_id, :dialect, :body)
ON CONFLICT (task_key, config_id) DO UPDATE SET dialect = excluded.dialect, body = excluded.body, failed_at = NULL, failure = NULL;

-- name: other_configs
SELECT count(*) FROM push_configs WHERE task_key = :key AND config_id <> :config_id;

-- name: load_config
SELECT body FROM push_configs WHERE task_key = :key AND config_id = :config_id;

-- name: page_of_configs
SELECT config_id, body FROM push_configs WHERE task_key = :key AND config_id > :after ORDER BY config_id LIMIT :limit;

-- name: delete_config
DELETE FROM push_configs WHERE task_key = :key AND config_id = :config_id;

-- name: failed_configs
SELECT config_id, failed_at, failure FROM push_configs WHERE task_key = :key AND failed_at IS NOT NULL;

-- name: key_of
SELECT key FROM tasks WHERE scope = :scope AND wire_id = :wire_id AND retired = 0;

-- name: post_event
-- In the transaction of the event, for every configuration that the task has now and that has not failed.
INSERT INTO outbox (task_key, config_id, seq)
SELECT task_key, config_id, ? FROM push_configs WHERE task_key = ? AND failed_at IS NULL ORDER BY config_id;

-- name: due
-- The first of each configuration only: the order of events is kept, and one that fails holds up only what comes after it.
SELECT outbox.id, outbox.task_key, outbox.config_id, outbox.attempts, push_configs.body AS config, push_configs.dialect, events.seq, events.body, events.state
FROM outbox
INNER JOIN push_configs ON push_configs.task_key = outbox.task_key AND push_configs.config_id = outbox.config_id
INNER JOIN events ON events.task_key = outbox.task_key AND events.seq = outbox.seq
WHERE
    outbox.next_at <= :now
    AND NOT EXISTS (
        SELECT 1 FROM outbox AS earlier
        WHERE earlier.task_key = outbox.task_key AND earlier.config_id = outbox.config_id AND earlier.seq < outbox.seq
    )
    AND (
        :surfaces IS NULL
        OR (SELECT json_extract(tasks.scope, '$[0]') FROM tasks WHERE tasks.key = outbox.task_key) IN (SELECT value FROM json_each(:surfaces))
    )
ORDER BY outbox.next_at, outbox.id LIMIT :limit;

-- name: take
UPDATE outbox SET attempts = attempts + 1, next_at = :until WHERE id = :id;

-- name: settle
-- Only by who took it last.
DELETE FROM outbox WHERE id = :id AND attempts = :attempts;

-- name: put_off
UPDATE outbox SET next_at = :until WHERE id = :id AND attempts = :attempts;

-- name: mark_failed
UPDATE push_configs SET failed_at = :at, failure = :reason
WHERE (task_key, config_id) = (SELECT task_key, config_id FROM outbox WHERE id = :id AND attempts = :attempts);

-- name: drop_due
DELETE FROM outbox WHERE (task_key, config_id) = (SELECT task_key, config_id FROM outbox WHERE id = :id AND attempts = :attempts);
