-- Version of the schema.

-- name: lock
-- One upgrade at a time; released with the transaction. The number is arbitrary and the same in every release.
SELECT pg_advisory_xact_lock(4107310021)

-- name: create_version_table
CREATE TABLE IF NOT EXISTS a2a_schema (
    version    integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
)

-- name: version
SELECT coalesce(max(version), 0) AS version FROM a2a_schema

-- name: applied
INSERT INTO a2a_schema (version) VALUES ($1)
