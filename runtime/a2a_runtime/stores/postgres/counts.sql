-- How often somebody has asked lately.

-- name: count
-- One statement, so that no two who ask at once, here or at another process, are counted as one.
INSERT INTO a2a_counts AS c (key, number, until) VALUES ($1, 1, $3)
ON CONFLICT (key) DO UPDATE SET
    number = CASE WHEN c.until <= $2 THEN 1 ELSE c.number + 1 END,
    until = CASE WHEN c.until <= $2 THEN excluded.until ELSE c.until END
RETURNING number, until

-- name: sweep_counts
DELETE FROM a2a_counts WHERE until <= $1
