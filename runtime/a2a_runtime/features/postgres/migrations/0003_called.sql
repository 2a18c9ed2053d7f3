-- Tasks are searched by wire id. While the table is new, an index that begins with the scope looks no better to the planner than those of the lists, and
-- a plan with one of those scans all tasks of a caller for each read, as long as it is cached.
CREATE UNIQUE INDEX a2a_tasks_called ON a2a_tasks (wire_id, scope) WHERE is_latest;
DROP INDEX a2a_tasks_wire_id;
