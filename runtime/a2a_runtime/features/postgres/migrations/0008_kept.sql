-- Messages that outlived their tasks, by conversation: the cleanup counts those of each conversation that loses a task. They have a skill of their own,
-- which tells them from all others. With `task IS NULL` the planner would read `a2a_messages_left`, that is all of them, for each conversation, as long as
-- its statistics know of none.

-- step: concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS a2a_messages_kept ON a2a_messages (scope, context_id, said_at DESC, id DESC) WHERE skill IS NOT NULL;
