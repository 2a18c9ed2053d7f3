-- Pages of tasks, newest status first: one statement for each index. The state of tasks of a conversation is checked row by row, because conversations are short.

-- name: page_of_all
SELECT * FROM tasks
WHERE scope = :scope AND retired = 0 AND status_at >= :oldest AND (status_at, key) < (:at, :key)
ORDER BY status_at DESC, key DESC LIMIT :limit;

-- name: count_of_all
SELECT count(*) FROM tasks WHERE scope = :scope AND retired = 0 AND status_at >= :oldest;

-- name: page_of_state
SELECT * FROM tasks
WHERE scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest AND (status_at, key) < (:at, :key)
ORDER BY status_at DESC, key DESC LIMIT :limit;

-- name: count_of_state
SELECT count(*) FROM tasks WHERE scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest;

-- name: page_of_context
SELECT * FROM tasks INDEXED BY tasks_by_context
WHERE
    scope = :scope AND context_id = :context_id AND retired = 0 AND (:state IS NULL OR state = :state)
    AND status_at >= :oldest AND (status_at, key) < (:at, :key)
ORDER BY status_at DESC, key DESC LIMIT :limit;

-- name: count_of_context
SELECT count(*) FROM tasks INDEXED BY tasks_by_context
WHERE scope = :scope AND context_id = :context_id AND retired = 0 AND (:state IS NULL OR state = :state) AND status_at >= :oldest;
