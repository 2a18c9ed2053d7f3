-- Windowed counters by the digest of caller and operation.
CREATE TABLE counts (
    key TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX counts_by_end ON counts (until);
