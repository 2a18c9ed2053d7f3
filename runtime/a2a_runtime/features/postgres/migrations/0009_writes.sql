-- The number of writes of the latest run, which refuses what an earlier state of the database does not have, and what comes late. A mark that is drawn for
-- each write stands with its events, so that a reader notices that the event at its cursor is another one; 0 in rows from before, and then nothing is
-- compared.
ALTER TABLE a2a_tasks ADD COLUMN IF NOT EXISTS writes integer NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS mark bigint NOT NULL DEFAULT 0;
ALTER TABLE a2a_events ADD COLUMN IF NOT EXISTS mark bigint NOT NULL DEFAULT 0;
