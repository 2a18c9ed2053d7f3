-- Runs of a task whose process died, and the task in which the event loop of a process stands still.
ALTER TABLE a2a_tasks ADD COLUMN crashes integer NOT NULL DEFAULT 0;
ALTER TABLE a2a_processes ADD COLUMN suspect uuid;
