-- Tasks that workers run have a queue. Other processes look for orphans among the rest, however many tasks wait in queues.

-- step
ALTER TABLE a2a_tasks ADD COLUMN IF NOT EXISTS queue text;

-- step: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS a2a_tasks_orphans ON a2a_tasks (key) WHERE is_active AND queue IS NULL;
