-- Windowed counters by the digest of caller and operation. Unlogged: a count costs no write to the log, and a crash of the server resets all counters.
CREATE UNLOGGED TABLE a2a_counts (
    key    text PRIMARY KEY,
    number integer NOT NULL,
    until  bigint NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX a2a_counts_end ON a2a_counts (until);
