-- Writes of the release that needed version 5 of the schema: they must work while and after it is upgraded.

-- name: create_task
-- An idempotency key that exists prevents everything else. A task that ended before $14 releases its wire id first; a wire id in use violates its index.
WITH promise AS (
    INSERT INTO a2a_promises (scope, context_id, promise_key, request_hash, task)
    SELECT $2, $15, $16, $17, $1 WHERE $16::text IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING task
), older AS (
    UPDATE a2a_tasks SET is_latest = false
    WHERE wire_id = $3 AND scope IS NOT DISTINCT FROM $2 AND is_latest AND ended_at <= $14 AND ($16::text IS NULL OR EXISTS (SELECT FROM promise))
    RETURNING key
), task AS (
    INSERT INTO a2a_tasks (key, scope, wire_id, context_id, skill, dialect, state, state_before, is_active, status, status_at, metadata, epoch, process, push_configs, hidden_skills)
    SELECT $1, $2, $3, $4, $5, $6, $7, $7, true, $8, $9, $10, CASE WHEN $11::text IS NULL THEN 0 ELSE 1 END, $11, CASE WHEN $18::text IS NULL THEN 0 ELSE 1 END, $24
    FROM (SELECT count(*) FROM older) AS after_the_older
    WHERE $16::text IS NULL OR EXISTS (SELECT FROM promise)
    RETURNING key, scope, context_id, state
), message AS (
    INSERT INTO a2a_messages (task, scope, context_id, said_at, body)
    SELECT key, scope, context_id, $9, $12 FROM task
), event AS (
    INSERT INTO a2a_events (task, seq, state, body)
    SELECT key, 1, state, $13 FROM task
), record AS (
    INSERT INTO a2a_records (task, kind, record_key, place, fingerprint, body)
    SELECT key, $20, $21, 0, $22, $23 FROM task WHERE $20::text IS NOT NULL
), config AS (
    INSERT INTO a2a_push_configs (task, config_id, dialect, body)
    SELECT key, $18, $6, $19 FROM task WHERE $18::text IS NOT NULL
    RETURNING task, config_id
), delivery AS (
    INSERT INTO a2a_outbox (task, config_id, seq, due_at)
    SELECT task, config_id, 1, $9 FROM config
)
SELECT count(*) AS tasks FROM task

-- name: update_task
-- $6 the allowed states before, $9 true if the task ends, $10 true if a process must run it from now on (NULL: unchanged).
-- Push configurations are counted because this statement sees them as of its start, which may be before it got the lock of the row.
WITH task AS (
    UPDATE a2a_tasks t SET
        version = version + 1,
        last_seq = last_seq + CASE WHEN ended_at IS NULL THEN coalesce(cardinality($18::bytea[]), 0) ELSE 0 END,
        state_before = state,
        state = coalesce($3, state),
        is_active = coalesce($10, is_active),
        status = coalesce($4, status),
        status_at = CASE WHEN $3 IS NULL THEN status_at ELSE $5 END,
        metadata = coalesce($12, metadata),
        process = CASE WHEN $9 OR $11 THEN NULL ELSE process END,
        ended_at = CASE WHEN $9 THEN $5 ELSE ended_at END
    WHERE key = $1 AND scope IS NOT DISTINCT FROM $2
        AND ($6::text[] IS NULL OR state = ANY ($6))
        AND ($3::text IS NULL OR status_at <= $5::bigint)
        AND ($7::integer IS NULL OR version = $7)
        AND ($8::integer IS NULL OR epoch = $8 AND process IS NOT NULL)
        AND push_configs = (SELECT count(*) FROM a2a_push_configs c WHERE c.task = $1)
        AND ($25::text IS NULL OR NOT EXISTS (SELECT FROM a2a_promises p WHERE p.scope = $2 AND p.context_id = $24 AND p.promise_key = $25))
    RETURNING t.*, (version::bigint << 16) AS place, ended_at IS NOT NULL AND NOT $9 AS had_ended
), chunk AS (
    INSERT INTO a2a_chunks (task, place, artifact_id, replaces, facts, parts)
    SELECT key, place + n, c.artifact_id, c.replaces, c.facts, c.parts
    FROM task, unnest($13::text[], $14::boolean[], $15::bytea[], $16::bytea[]) WITH ORDINALITY AS c (artifact_id, replaces, facts, parts, n)
), message AS (
    INSERT INTO a2a_messages (task, scope, context_id, said_at, body)
    SELECT key, scope, context_id, $5, m.body FROM task, unnest($17::bytea[]) WITH ORDINALITY AS m (body, n) ORDER BY n
), event AS (
    INSERT INTO a2a_events (task, seq, state, body)
    SELECT key, last_seq - cardinality($18::bytea[]) + n, coalesce(e.state, state_before), e.body
    FROM task, unnest($18::bytea[], $19::text[]) WITH ORDINALITY AS e (body, state, n)
    WHERE NOT had_ended
    RETURNING task, seq
), delivery AS (
    INSERT INTO a2a_outbox (task, config_id, seq, due_at)
    SELECT e.task, c.config_id, e.seq, $5 FROM event e JOIN a2a_push_configs c ON c.task = e.task WHERE c.failed_at IS NULL ORDER BY e.seq
), record AS (
    INSERT INTO a2a_records (task, kind, record_key, place, fingerprint, body)
    SELECT key, r.kind, r.record_key, place + n, r.fingerprint, r.body
    FROM task, unnest($20::text[], $21::text[], $22::text[], $23::bytea[]) WITH ORDINALITY AS r (kind, record_key, fingerprint, body, n)
    ON CONFLICT (task, kind, record_key) DO UPDATE SET place = excluded.place, fingerprint = excluded.fingerprint, body = excluded.body
), promise AS (
    INSERT INTO a2a_promises (scope, context_id, promise_key, request_hash, task)
    SELECT scope, $24, $25, $26, key FROM task WHERE $25::text IS NOT NULL
)
SELECT task.version, task.state, task.state_before, task.last_seq, task.had_ended FROM (SELECT) AS one LEFT JOIN task ON true
