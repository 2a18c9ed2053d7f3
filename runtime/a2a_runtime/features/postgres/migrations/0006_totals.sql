-- The number of tasks of each scope in each state in which no process runs them; active tasks are few, and counted by their index.
--
-- A change inserts the difference that it makes, in its own transaction: one row that all callers of a scope update would make their sends wait for each
-- other (5,985 a second become 843, measured). The cleanup adds these rows to the totals. Processes of the version before insert none: after a rolling
-- deployment, `a2a-gen db check` corrects the totals.

-- step: concurrently
-- A list of all states merges those of each state, so one index is enough.
CREATE INDEX CONCURRENTLY IF NOT EXISTS a2a_tasks_state_page ON a2a_tasks (scope, state, status_at DESC, key DESC) WHERE is_latest;

-- step
CREATE TABLE IF NOT EXISTS a2a_task_totals (
    scope  text NOT NULL,
    state  text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (scope, state)
);

CREATE INDEX IF NOT EXISTS a2a_task_totals_empty ON a2a_task_totals (scope, state) WHERE number = 0;

CREATE TABLE IF NOT EXISTS a2a_task_deltas (
    scope  text NOT NULL,
    state  text NOT NULL,
    number bigint NOT NULL
);

CREATE INDEX IF NOT EXISTS a2a_task_deltas_scope ON a2a_task_deltas (scope);

INSERT INTO a2a_task_totals (scope, state, number)
SELECT scope, state, count(*) FROM a2a_tasks WHERE is_latest AND NOT is_active GROUP BY scope, state
ON CONFLICT DO NOTHING;

-- step: concurrently
DROP INDEX CONCURRENTLY IF EXISTS a2a_tasks_page;
