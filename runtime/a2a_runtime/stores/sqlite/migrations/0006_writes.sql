-- The number of writes of the latest run, which refuses what an earlier state of the file does not have, and what comes late. A mark that is drawn for each
-- write stands with its events, so that a reader notices that the event at its cursor is another one; 0 in rows from before, and then nothing is compared.
ALTER TABLE tasks ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
