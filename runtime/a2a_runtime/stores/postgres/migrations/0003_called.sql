-- A task is sought by what its client calls it. An index that begins with the scope looks no better to the server than those of the lists do, as long as
-- the table is new, and a plan with one of those walks through all tasks of a caller for each look, for as long as it is cached.
CREATE UNIQUE INDEX a2a_tasks_called ON a2a_tasks (wire_id, scope) WHERE is_latest;
DROP INDEX a2a_tasks_wire_id;
