-- How often somebody has asked lately, by the digest of who and what. Unlogged: after a crash of the server everybody begins anew, and a count costs
-- no write to the log.
CREATE UNLOGGED TABLE a2a_counts (
    key    text PRIMARY KEY,
    number integer NOT NULL,
    until  bigint NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX a2a_counts_end ON a2a_counts (until);
