-- Windowed counters.

-- name: count
-- One statement, so that concurrent calls get different numbers, in this process or in another one.
INSERT INTO a2a_counts AS c (key, number, until) VALUES (:key, 1, :until)
ON CONFLICT (key) DO UPDATE SET
    number = CASE WHEN c.until <= :now THEN 1 ELSE c.number + 1 END,
    until = CASE WHEN c.until <= :now THEN excluded.until ELSE c.until END
RETURNING number, until

-- name: delete_old_counts
DELETE FROM a2a_counts WHERE until <= :now
