-- Lists of tasks, newest status first, and their totals. A page costs its length, in a file of any size. The tasks of some skills may be hidden from
-- the reader; where that would be all that is read from a task beyond its index, it is a statement of its own.

-- name: page_of_state
-- Of one state; a list of all states merges these.
SELECT key, status_at FROM tasks INDEXED BY tasks_by_state
WHERE scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest AND (status_at, key) < (:at, :key)
ORDER BY status_at DESC, key DESC LIMIT :limit;

-- name: page_of_visible_state
SELECT key, status_at FROM tasks INDEXED BY tasks_by_state
WHERE
    scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest AND (status_at, key) < (:at, :key)
    AND skill NOT IN (SELECT value FROM json_each(:hidden))
ORDER BY status_at DESC, key DESC LIMIT :limit;

-- name: page_of_context
SELECT key, status_at FROM tasks INDEXED BY tasks_by_context
WHERE
    scope = :scope AND context_id = :context_id AND retired = 0 AND (:state IS NULL OR state = :state)
    AND status_at >= :oldest AND (status_at, key) < (:at, :key) AND skill NOT IN (SELECT value FROM json_each(:hidden))
ORDER BY status_at DESC, key DESC LIMIT :limit;

-- name: page_of_state_by_creation
-- The tasks of a state are read from its index and sorted.
SELECT key, status_at FROM tasks INDEXED BY tasks_by_state
WHERE
    scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest AND key < :key
    AND skill NOT IN (SELECT value FROM json_each(:hidden))
ORDER BY key DESC LIMIT :limit;

-- name: page_of_context_by_creation
SELECT key, status_at FROM tasks INDEXED BY tasks_by_context
WHERE
    scope = :scope AND context_id = :context_id AND retired = 0 AND (:state IS NULL OR state = :state)
    AND status_at >= :oldest AND key < :key AND skill NOT IN (SELECT value FROM json_each(:hidden))
ORDER BY key DESC LIMIT :limit;

-- name: total_of_state
SELECT coalesce(sum(number), 0) FROM task_totals WHERE scope = :scope AND state = :state;

-- name: count_of_state
SELECT count(*) FROM tasks INDEXED BY tasks_by_state WHERE scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest;

-- name: count_of_visible_state
SELECT count(*) FROM tasks INDEXED BY tasks_by_state
WHERE
    scope = :scope AND retired = 0 AND state = :state AND status_at >= :oldest
    AND skill NOT IN (SELECT value FROM json_each(:hidden));

-- name: count_of_context
SELECT count(*) FROM tasks INDEXED BY tasks_by_context
WHERE
    scope = :scope AND context_id = :context_id AND retired = 0 AND (:state IS NULL OR state = :state)
    AND status_at >= :oldest AND skill NOT IN (SELECT value FROM json_each(:hidden));

-- name: add_to_total
INSERT INTO task_totals (scope, state, number) VALUES (?, ?, ?) ON CONFLICT (scope, state) DO UPDATE SET number = number + excluded.number;

-- name: remove_from_totals
-- Before these tasks are deleted. By state: a suspended task whose cancellation is requested is active, and is kept in the total of its state.
INSERT INTO task_totals (scope, state, number)
SELECT scope, state, -count(*) FROM tasks WHERE key IN (SELECT value FROM json_each(:keys)) AND retired = 0 AND state NOT IN (SELECT value FROM json_each(:active))
GROUP BY scope, state
ON CONFLICT (scope, state) DO UPDATE SET number = number + excluded.number;

-- name: delete_empty_totals
DELETE FROM task_totals WHERE number = 0;

-- name: delete_totals
-- Of a scope without tasks.
DELETE FROM task_totals WHERE scope = :scope AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.scope = task_totals.scope);

-- name: correct_totals
-- One row for each total that was wrong.
INSERT INTO task_totals (scope, state, number)
SELECT scope, state, sum(number) FROM (
    SELECT scope, state, count(*) AS number FROM tasks
    WHERE retired = 0 AND state NOT IN (SELECT value FROM json_each(:active)) GROUP BY scope, state
    UNION ALL
    SELECT scope, state, -number FROM task_totals
)
WHERE true GROUP BY scope, state HAVING sum(number) <> 0
ON CONFLICT (scope, state) DO UPDATE SET number = number + excluded.number
RETURNING scope, state;
