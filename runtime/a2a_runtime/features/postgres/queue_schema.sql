-- The tables of the engine of workers, which come with its package.

-- name: lock
-- One upgrade at a time; released with the transaction.
SELECT pg_advisory_xact_lock(4107310022)

-- name: create_step_table
-- The names of the migrations that the tables of the engine have, by its files.
CREATE TABLE IF NOT EXISTS a2a_queue_steps (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())

-- name: steps
SELECT name FROM a2a_queue_steps

-- name: find_tables
SELECT to_regclass('procrastinate_jobs') IS NOT NULL

-- name: add_step
INSERT INTO a2a_queue_steps (name) VALUES ($1)
