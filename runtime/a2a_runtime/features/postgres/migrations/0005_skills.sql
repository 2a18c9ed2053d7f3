-- The skills that wrote what a conversation keeps, and those that the caller of a task may not use (a JSON list). A message of a task has the skill of its
-- task. NULL in rows from before, and in those of processes of the version before: unknown, or none.
ALTER TABLE a2a_messages ADD COLUMN skill text;
ALTER TABLE a2a_contexts ADD COLUMN skills text[];
ALTER TABLE a2a_tasks ADD COLUMN hidden_skills text;
