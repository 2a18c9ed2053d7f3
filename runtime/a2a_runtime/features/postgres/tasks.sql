-- Tasks and their events.
--
-- One statement for each call, with every rule about changes in its WHERE: no row means that nothing was written, and a second read finds the reason.
-- `{name}` includes another section.
--
-- `IS NOT DISTINCT FROM` where a task is searched by its key: with `=` the planner may take the index on the scope while the table is new, and scan all
-- tasks of a caller for each write, as long as the plan is cached.

-- name: create_plain_task
-- A task without an idempotency key, a webhook, a job and a wire id of its client, which is nearly every one: a quarter less work (measured).
WITH task AS (
    INSERT INTO a2a_tasks ({new_columns}) SELECT {new_values}
    RETURNING key, scope, context_id, state
), {first_rows}
SELECT count(*) AS tasks FROM task

-- name: create_task
WITH {created}
SELECT count(*) AS tasks FROM task

-- name: create_deferred_task
-- The same with a job for workers, by the function of their engine. Only one job of a task waits at a time (its queueing lock).
WITH {created}, job AS MATERIALIZED (
    SELECT procrastinate_defer_jobs_v1(ARRAY[ROW($26::text, $27::text, $28::integer, NULL, key::text, jsonb_build_object('task', key), NULL)::procrastinate_job_to_defer_v1]) FROM task
)
SELECT count(*) AS tasks, (SELECT count(*) FROM job) AS jobs FROM task

-- name: new_columns
key, scope, wire_id, context_id, skill, dialect, state, state_before, is_active, status, status_at, metadata, epoch, process, hidden_skills, mark

-- name: new_values
$1, $2, $3, $4, $5, $6, $7, $7, true, $8, $9, $10, CASE WHEN $11::text IS NULL THEN 0 ELSE 1 END, $11, $14, $19::bigint

-- name: first_rows
message AS (
    INSERT INTO a2a_messages (task, scope, context_id, said_at, body)
    SELECT key, scope, context_id, $9, $12 FROM task
), event AS (
    INSERT INTO a2a_events (task, seq, state, body, mark)
    SELECT key, 1, state, $13, $19::bigint FROM task
), record AS (
    INSERT INTO a2a_records (task, kind, record_key, place, fingerprint, body)
    SELECT key, $15, $16, 0, $17, $18 FROM task WHERE $15::text IS NOT NULL
)

-- name: created
-- An idempotency key that exists prevents everything else. A task that ended before $20 releases its wire id first; a wire id in use violates its index.
promise AS (
    INSERT INTO a2a_promises (scope, context_id, promise_key, request_hash, task)
    SELECT $2, $21, $22, $23, $1 WHERE $22::text IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING task
), older AS (
    UPDATE a2a_tasks SET is_latest = false
    WHERE wire_id = $3 AND scope IS NOT DISTINCT FROM $2 AND is_latest AND ended_at <= $20 AND ($22::text IS NULL OR EXISTS (SELECT FROM promise))
    RETURNING key, state
), delta AS (
    INSERT INTO a2a_task_deltas (scope, state, number) SELECT $2, state, -1 FROM older
), task AS (
    INSERT INTO a2a_tasks ({new_columns}, push_configs, queue)
    SELECT {new_values}, CASE WHEN $24::text IS NULL THEN 0 ELSE 1 END, $26
    FROM (SELECT count(*) FROM older) AS after_the_older
    WHERE $22::text IS NULL OR EXISTS (SELECT FROM promise)
    RETURNING key, scope, context_id, state
), {first_rows}, config AS (
    INSERT INTO a2a_push_configs (task, config_id, dialect, body)
    SELECT key, $24, $6, $25 FROM task WHERE $24::text IS NOT NULL
    RETURNING task, config_id
), delivery AS (
    INSERT INTO a2a_outbox (task, config_id, seq, due_at)
    SELECT task, config_id, 1, $9 FROM config
)

-- name: lock_scope
-- Until the end of the transaction.
SELECT pg_advisory_xact_lock(hashtextextended($1, 0))

-- name: count_open
SELECT count(*) FROM a2a_tasks WHERE scope = $1 AND is_latest AND state = ANY ($2::text[])

-- name: find_promise
SELECT t.key, t.wire_id, t.version, t.state, t.last_seq, p.request_hash
FROM a2a_promises p JOIN a2a_tasks t ON t.key = p.task
WHERE p.scope = $1 AND p.context_id = $2 AND p.promise_key = $3

-- name: update_plain_task
-- A change without messages, records, an idempotency key and a job, of a task without webhooks: a third less work (measured).
WITH task AS (
    UPDATE a2a_tasks t SET {new_head} WHERE {is_allowed} AND push_configs = 0
    RETURNING {changed_head}
), {changed_rows}
SELECT {update_result} FROM (SELECT) AS one LEFT JOIN task ON true

-- name: update_task
WITH {updated}
SELECT {update_result} FROM (SELECT) AS one LEFT JOIN task ON true

-- name: update_deferred_task
-- The same with a job for workers, if the task is active and no process runs it. Reading the jobs runs the function.
WITH {updated}, job AS MATERIALIZED (
    SELECT procrastinate_defer_jobs_v1(ARRAY[ROW($30::text, $31::text, $32::integer, NULL, key::text, jsonb_build_object('task', key), CASE WHEN $33::float8 > 0 THEN clock_timestamp() + $33 * interval '1 second' END)::procrastinate_job_to_defer_v1])
    FROM task WHERE is_active AND process IS NULL AND NOT EXISTS (SELECT FROM procrastinate_jobs j WHERE j.queueing_lock = task.key::text AND j.status = 'todo')
)
SELECT {update_result}, (SELECT count(*) FROM job) AS jobs FROM (SELECT) AS one LEFT JOIN task ON true

-- name: update_result
task.version, task.state, task.state_before, task.last_seq, task.had_ended

-- name: new_head
-- $9 true if the task ends, $10 true if a process must run it from now on (NULL: unchanged). A task whose cancellation is requested stays active until it
-- ends: one that is suspended becomes an orphan, which the next process that looks for one ends.
version = version + 1,
writes = coalesce($20, writes),
mark = CASE WHEN ended_at IS NULL AND $17::bytea[] IS NOT NULL THEN $21::bigint ELSE mark END,
last_seq = last_seq + CASE WHEN ended_at IS NULL THEN coalesce(cardinality($17::bytea[]), 0) ELSE 0 END,
state_before = state,
state = coalesce($3, state),
is_active = coalesce($10, is_active) OR (cancel_requested AND NOT $9 AND ended_at IS NULL),
status = coalesce($4, status),
status_at = CASE WHEN $3 IS NULL THEN status_at ELSE $5 END,
metadata = coalesce($12, metadata),
process = CASE WHEN $9 OR $11 THEN NULL ELSE process END,
ended_at = CASE WHEN $9 THEN $5 ELSE ended_at END

-- name: is_allowed
-- $6 the allowed states before, with spaces between: the driver takes long for the values of an array. $20 the number of the write in its run.
key = $1 AND scope IS NOT DISTINCT FROM $2
AND ($6::text IS NULL OR state = ANY (string_to_array($6, ' ')))
AND ($3::text IS NULL OR status_at <= $5::bigint)
AND ($7::integer IS NULL OR version = $7)
AND ($8::integer IS NULL OR epoch = $8 AND process = coalesce($19::text, process) AND writes = coalesce($20::integer - 1, writes))

-- name: changed_head
key, scope, context_id, version, state, state_before, is_active, process, last_seq, (version::bigint << 16) AS place, ended_at IS NOT NULL AND NOT $9 AS had_ended

-- name: changed_rows
chunk AS (
    INSERT INTO a2a_chunks (task, place, artifact_id, replaces, facts, parts)
    SELECT key, place + n, c.artifact_id, c.replaces, c.facts, c.parts
    FROM task, unnest($13::text[], $14::boolean[], $15::bytea[], $16::bytea[]) WITH ORDINALITY AS c (artifact_id, replaces, facts, parts, n)
), event AS (
    INSERT INTO a2a_events (task, seq, state, body, mark)
    SELECT key, last_seq - cardinality($17::bytea[]) + n, coalesce(e.state, state_before), e.body, $21::bigint
    FROM task, unnest($17::bytea[], $18::text[]) WITH ORDINALITY AS e (body, state, n)
    WHERE NOT had_ended
    RETURNING task, seq
), delta AS (
    INSERT INTO a2a_task_deltas (scope, state, number)
    SELECT scope, moved.state, moved.number FROM task, LATERAL (VALUES (task.state, 1), (task.state_before, -1)) AS moved (state, number)
    WHERE task.state <> task.state_before AND moved.state NOT IN ({active_states})
)

-- name: updated
-- Push configurations are counted because this statement sees them as of its start, which may be before it got the lock of the row.
task AS (
    UPDATE a2a_tasks t SET {new_head}, queue = coalesce($30, queue)
    WHERE {is_allowed}
        AND push_configs = (SELECT count(*) FROM a2a_push_configs c WHERE c.task = $1)
        AND ($28::text IS NULL OR NOT EXISTS (SELECT FROM a2a_promises p WHERE p.scope = $2 AND p.context_id = $27 AND p.promise_key = $28))
    RETURNING {changed_head}
), {changed_rows}, message AS (
    INSERT INTO a2a_messages (task, scope, context_id, said_at, body)
    SELECT key, scope, context_id, $5, m.body FROM task, unnest($22::bytea[]) WITH ORDINALITY AS m (body, n) ORDER BY n
), delivery AS (
    INSERT INTO a2a_outbox (task, config_id, seq, due_at)
    SELECT e.task, c.config_id, e.seq, $5 FROM event e JOIN a2a_push_configs c ON c.task = e.task WHERE c.failed_at IS NULL ORDER BY e.seq
), record AS (
    INSERT INTO a2a_records (task, kind, record_key, place, fingerprint, body)
    SELECT key, r.kind, r.record_key, place + n, r.fingerprint, r.body
    FROM task, unnest($23::text[], $24::text[], $25::text[], $26::bytea[]) WITH ORDINALITY AS r (kind, record_key, fingerprint, body, n)
    ON CONFLICT (task, kind, record_key) DO UPDATE SET place = excluded.place, fingerprint = excluded.fingerprint, body = excluded.body
), promise AS (
    INSERT INTO a2a_promises (scope, context_id, promise_key, request_hash, task)
    SELECT scope, $27, $28, $29, key FROM task WHERE $28::text IS NOT NULL
)

-- name: load_head
-- The columns that the rules need, and the immutable names.
SELECT wire_id, context_id, state, version, epoch, process, status_at, writes, last_seq FROM a2a_tasks WHERE key = $1 AND scope IS NOT DISTINCT FROM $2

-- name: lock_metadata
-- Python merges metadata key by key, which keeps key order and long integers; so the row is locked between the read and the write.
SELECT metadata FROM a2a_tasks WHERE key = $1 AND scope IS NOT DISTINCT FROM $2 FOR NO KEY UPDATE

-- name: task_columns
-- A task with its fragments: the last $1 messages (NULL: all), and its artifacts if $2.
t.key, t.scope, t.wire_id, t.context_id, t.skill, t.dialect, t.state, t.version, t.last_seq, t.epoch, t.process, t.cancel_requested,
t.status, t.status_at, t.metadata, t.hidden_skills, t.mark, history.bodies, artifacts.ids, artifacts.facts, artifacts.parts

-- name: fragments
-- An artifact has the place of its first chunk; its content begins at the last chunk that replaces.
LEFT JOIN LATERAL (
    SELECT array_agg(body ORDER BY id) AS bodies
    FROM (SELECT id, body FROM a2a_messages WHERE task = t.key ORDER BY id DESC LIMIT $1::bigint) AS newest
) AS history ON true
LEFT JOIN LATERAL (
    SELECT array_agg(artifact_id ORDER BY first, place) AS ids, array_agg(facts ORDER BY first, place) AS facts, array_agg(parts ORDER BY first, place) AS parts
    FROM (
        SELECT artifact_id, place, facts, parts,
            min(place) OVER (PARTITION BY artifact_id) AS first,
            max(place) FILTER (WHERE replaces) OVER (PARTITION BY artifact_id) AS last_replaced
        FROM a2a_chunks WHERE task = t.key
    ) AS chunk
    WHERE place >= coalesce(last_replaced, 0)
) AS artifacts ON $2::boolean

-- name: load_task
-- One row, even if the task does not exist.
SELECT {task_columns}
FROM (SELECT) AS one LEFT JOIN a2a_tasks t ON t.wire_id = $4 AND t.scope IS NOT DISTINCT FROM $3 AND t.is_latest {fragments}

-- name: load_tasks
SELECT {task_columns} FROM a2a_tasks t {fragments} WHERE t.key = ANY ($3::uuid[])

-- name: get_version
SELECT key, version, dialect, ended_at FROM a2a_tasks WHERE wire_id = :wire_id AND scope IS NOT DISTINCT FROM :scope AND is_latest

-- name: read_events
-- At least one row if the task exists, with the mark of the event at the cursor.
SELECT t.dialect, t.ended_at, t.last_seq, e.seq, e.state, e.body, e.mark,
    (SELECT mark FROM a2a_events c WHERE c.task = :key AND c.seq = :after) AS cursor_mark
FROM a2a_tasks t
    LEFT JOIN LATERAL (SELECT seq, state, body, mark FROM a2a_events WHERE task = t.key AND seq > :after ORDER BY seq LIMIT :limit) AS e ON true
WHERE t.key = :key ORDER BY e.seq
