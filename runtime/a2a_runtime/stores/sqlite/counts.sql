-- Windowed counters.

-- name: count
-- One statement, so that concurrent calls get different numbers.
INSERT INTO counts (key, number, until) VALUES (:key, 1, :until)
ON CONFLICT (key) DO UPDATE SET
    number = CASE WHEN until <= :now THEN 1 ELSE number + 1 END,
    until = CASE WHEN until <= :now THEN excluded.until ELSE until END
RETURNING number, until;

-- name: delete_old_counts
DELETE FROM counts WHERE until <= :now;
