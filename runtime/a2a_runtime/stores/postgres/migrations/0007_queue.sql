-- Tasks that workers run have a queue. Other processes look for orphans among the rest, however many tasks wait in queues.
ALTER TABLE a2a_tasks ADD COLUMN queue text;
CREATE INDEX a2a_tasks_orphans ON a2a_tasks (key) WHERE is_active AND queue IS NULL;
