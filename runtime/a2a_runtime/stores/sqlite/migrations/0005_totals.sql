-- The number of tasks of each scope in each state in which no process runs them; active tasks are few, and counted by their index. The file has one writer,
-- so a total is a row.
CREATE TABLE task_totals (
    scope TEXT NOT NULL,
    state TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_totals_empty ON task_totals (scope, state) WHERE number = 0;

INSERT INTO task_totals (scope, state, number) SELECT scope, state, count(*) FROM tasks WHERE retired = 0 AND active = 0 GROUP BY scope, state;

-- A list of all states merges those of each state, so one index is enough; the one of conversations has the order of their lists.
DROP INDEX tasks_by_status;
DROP INDEX tasks_by_context;
CREATE INDEX tasks_by_context ON tasks (scope, context_id, retired, status_at, key);
