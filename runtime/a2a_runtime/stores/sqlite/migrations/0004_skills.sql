-- The skills that wrote what a conversation keeps, and those that the caller of a task may not use: JSON lists. NULL in rows from before: unknown, or none.
ALTER TABLE turns ADD COLUMN skill TEXT;
ALTER TABLE contexts ADD COLUMN skills TEXT;
ALTER TABLE tasks ADD COLUMN hidden_skills TEXT;
