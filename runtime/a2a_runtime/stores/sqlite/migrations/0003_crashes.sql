-- Runs of a task whose process died, and the task in which the event loop of a process stands still.
ALTER TABLE tasks ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE processes ADD COLUMN suspect TEXT;
