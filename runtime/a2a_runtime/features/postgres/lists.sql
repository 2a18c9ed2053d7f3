-- Lists of tasks, newest status first, and their totals. A page costs its length, in a table of any size. One row more than the page means that there is
-- another page; without tasks there is one row with the total. Each kind of list has a statement, whose cached plan fits its index. The tasks of some
-- skills may be hidden from the reader (the last argument); an expression is compared with them, since the planner knows how few skills there are, expects
-- that next to no task is left, and sorts them all.

-- name: total_of_states
-- Of lists by state ($4): the total of what is kept, if $8; active states ($9) are counted.
total AS (
    SELECT CASE WHEN $8::boolean THEN (
        SELECT coalesce(sum(number), 0)
        FROM (SELECT state, number FROM a2a_task_totals WHERE scope = $3 UNION ALL SELECT state, number FROM a2a_task_deltas WHERE scope = $3) AS kept
        WHERE state = ANY ($4)
    ) + (
        SELECT coalesce(sum(found.number), 0) FROM unnest($9::text[]) AS active (state), LATERAL (
            SELECT count(*) AS number FROM a2a_tasks t WHERE scope = $3 AND t.state = active.state AND is_latest
        ) AS found
    ) END::bigint AS tasks
)

-- name: list_states
-- $4 the states, whose lists are merged.
WITH page AS MATERIALIZED (
    SELECT found.key, found.status_at
    FROM unnest($4::text[]) AS wanted (state), LATERAL (
        SELECT key, status_at FROM a2a_tasks t
        WHERE scope = $3 AND t.state = wanted.state AND is_latest AND status_at >= $5::bigint AND (status_at, key) < ($6::bigint, $7::uuid)
            AND (skill || '') <> ALL ($11::text[])
        ORDER BY status_at DESC, key DESC LIMIT $10
    ) AS found
    ORDER BY found.status_at DESC, found.key DESC LIMIT $10
), {total_of_states}
SELECT total.tasks AS total, {task_columns}
FROM total LEFT JOIN page ON true LEFT JOIN a2a_tasks t ON t.key = page.key {fragments}
ORDER BY page.status_at DESC, page.key DESC

-- name: list_context
WITH page AS MATERIALIZED (
    SELECT key, status_at FROM a2a_tasks
    WHERE
        scope = $3 AND context_id = $4 AND is_latest AND state = ANY ($5::text[]) AND status_at >= $6::bigint
        AND (status_at, key) < ($7::bigint, $8::uuid) AND (skill || '') <> ALL ($10::text[])
    ORDER BY status_at DESC, key DESC LIMIT $9
)
SELECT {task_columns} FROM page JOIN a2a_tasks t ON t.key = page.key {fragments} ORDER BY page.status_at DESC, page.key DESC

-- name: list_states_by_creation
-- Arguments of list_states. The tasks of the scope are read from the index of states and sorted.
WITH page AS MATERIALIZED (
    SELECT key FROM a2a_tasks
    WHERE
        scope = $3 AND state = ANY ($4::text[]) AND is_latest AND status_at >= $5::bigint
        AND $6::bigint IS NOT NULL AND key < $7::uuid AND (skill || '') <> ALL ($11::text[])
    ORDER BY key DESC LIMIT $10
), {total_of_states}
SELECT total.tasks AS total, {task_columns}
FROM total LEFT JOIN page ON true LEFT JOIN a2a_tasks t ON t.key = page.key {fragments}
ORDER BY page.key DESC

-- name: list_context_by_creation
-- Arguments of list_context.
WITH page AS MATERIALIZED (
    SELECT key FROM a2a_tasks
    WHERE
        scope = $3 AND context_id = $4 AND is_latest AND state = ANY ($5::text[]) AND status_at >= $6::bigint
        AND $7::bigint IS NOT NULL AND key < $8::uuid AND (skill || '') <> ALL ($10::text[])
    ORDER BY key DESC LIMIT $9
)
SELECT {task_columns} FROM page JOIN a2a_tasks t ON t.key = page.key {fragments} ORDER BY page.key DESC

-- name: count_states
SELECT coalesce(sum(found.number), 0)::bigint AS total FROM unnest(:states::text[]) AS wanted (state), LATERAL (
    SELECT count(*) AS number FROM a2a_tasks t WHERE scope = :scope AND t.state = wanted.state AND is_latest AND status_at >= :oldest
) AS found

-- name: count_context
SELECT count(*) AS total FROM a2a_tasks
WHERE scope = :scope AND context_id = :context_id AND is_latest AND state = ANY (:states::text[]) AND status_at >= :oldest

-- name: count_visible_states
-- The skill is in no index, so each task is read: only for a reader from whom skills are hidden.
SELECT count(*) AS total FROM a2a_tasks
WHERE scope = :scope AND is_latest AND state = ANY (:states::text[]) AND status_at >= :oldest AND (skill || '') <> ALL (:hidden::text[])

-- name: count_visible_context
-- As above.
SELECT count(*) AS total FROM a2a_tasks
WHERE
    scope = :scope AND context_id = :context_id AND is_latest AND state = ANY (:states::text[]) AND status_at >= :oldest
    AND (skill || '') <> ALL (:hidden::text[])

-- name: remove_from_totals
-- Before these tasks are deleted; their rows are locked. By state: a suspended task whose cancellation is requested is active, and is kept in the total
-- of its state.
INSERT INTO a2a_task_deltas (scope, state, number)
SELECT scope, state, -count(*) FROM a2a_tasks
WHERE key = ANY (:keys::uuid[]) AND is_latest AND state <> ALL (:active::text[]) GROUP BY scope, state

-- name: fold_deltas
-- Only under the lock of the cleanup.
WITH folded AS (
    DELETE FROM a2a_task_deltas WHERE ctid = ANY (ARRAY(SELECT ctid FROM a2a_task_deltas LIMIT :limit)) RETURNING scope, state, number
), total AS (
    INSERT INTO a2a_task_totals AS t (scope, state, number) SELECT scope, state, sum(number) FROM folded GROUP BY scope, state ORDER BY scope, state
    ON CONFLICT (scope, state) DO UPDATE SET number = t.number + excluded.number
)
SELECT count(*) AS folded FROM folded

-- name: delete_empty_totals
DELETE FROM a2a_task_totals WHERE number = 0

-- name: delete_totals
-- Of a scope without tasks, under the lock of the cleanup.
WITH delta AS (
    DELETE FROM a2a_task_deltas WHERE scope = :scope AND NOT EXISTS (SELECT FROM a2a_tasks WHERE scope = :scope)
)
DELETE FROM a2a_task_totals WHERE scope = :scope AND NOT EXISTS (SELECT FROM a2a_tasks WHERE scope = :scope)

-- name: correct_totals
-- One row for each total that was wrong. One statement, so one snapshot; a change that is committed later brings its own difference.
INSERT INTO a2a_task_deltas (scope, state, number)
SELECT scope, state, sum(number) FROM (
    SELECT scope, state, count(*) AS number FROM a2a_tasks WHERE is_latest AND state <> ALL (:active::text[]) GROUP BY scope, state
    UNION ALL SELECT scope, state, -number FROM a2a_task_totals
    UNION ALL SELECT scope, state, -number FROM a2a_task_deltas
) AS found
GROUP BY scope, state HAVING sum(number) <> 0
RETURNING scope, state
