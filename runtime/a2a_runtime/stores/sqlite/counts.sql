-- How often somebody has asked lately.

-- name: count
-- One statement, so that no two who ask at once are counted as one.
INSERT INTO counts (key, number, until) VALUES (:key, 1, :until)
ON CONFLICT (key) DO UPDATE SET
    number = CASE WHEN until <= :now THEN 1 ELSE number + 1 END,
    until = CASE WHEN until <= :now THEN excluded.until ELSE until END
RETURNING number, until;

-- name: end_old_counts
DELETE FROM counts WHERE until <= :now;
