-- The queue of workers: rows of tasks beside those of the engine, which has its own tables and functions.

-- name: queue_functions
-- NULL where the tables of the engine are missing, or too old for the function that this release calls.
SELECT to_regclass('procrastinate_jobs') AS jobs, to_regprocedure('procrastinate_defer_jobs_v1(procrastinate_job_to_defer_v1[])') AS defer, to_regprocedure('procrastinate_retry_job_v2(bigint, timestamptz, integer, varchar, varchar)') AS retry

-- name: is_active
SELECT EXISTS (SELECT FROM a2a_tasks WHERE key = :key AND is_active) AS is_active

-- name: lock_queue
-- One process at a time looks for lost jobs.
SELECT pg_try_advisory_xact_lock(4107310023) AS is_locked

-- name: requeue_lost
-- Creation, answer, handover and retry each put a job into the queue, in the transaction of the task. A job is missing where an operator has deleted
-- it, and where a process has released a claim that it did not run.
WITH lost AS (
    SELECT t.key, skill.queue, skill.priority
    FROM a2a_tasks t
        JOIN unnest(:surfaces::text[], :skills::text[], :queues::text[], :priorities::integer[]) AS skill (surface, id, queue, priority)
            ON skill.id = t.skill AND skill.surface = t.scope::json ->> 0
        LEFT JOIN a2a_processes p ON p.process = t.process
    WHERE t.is_active AND t.queue IS NOT NULL AND (p.lease_until IS NULL OR p.lease_until <= :now)
        AND NOT EXISTS (SELECT FROM procrastinate_jobs j WHERE j.queueing_lock = t.key::text AND j.status = 'todo')
        AND t.key::text NOT IN (SELECT j.queueing_lock FROM procrastinate_jobs j WHERE j.status = 'doing' AND j.queueing_lock IS NOT NULL)
    ORDER BY t.key LIMIT :limit FOR UPDATE OF t SKIP LOCKED
)
SELECT procrastinate_defer_jobs_v1(array_agg(
    ROW(queue, :name::text, priority, NULL, key::text, jsonb_build_object('task', key), NULL)::procrastinate_job_to_defer_v1
)) AS jobs
FROM lost HAVING count(*) > 0

-- name: take_back
UPDATE a2a_tasks t SET queue = NULL
FROM unnest(:surfaces::text[], :skills::text[]) AS skill (surface, id)
WHERE t.is_active AND t.queue IS NOT NULL AND t.skill = skill.id AND t.scope::json ->> 0 = skill.surface
RETURNING t.key
