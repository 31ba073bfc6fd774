-- What is known of external ALIAS targets, so that a restart answers at once. Times are milliseconds since 1970 UTC.
CREATE TABLE alias_target (
    upstream_group TEXT NOT NULL,
    -- Presentation form, lower case, with the final dot.
    target TEXT NOT NULL,
    -- A, AAAA
    family TEXT NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    -- Of the last good answer, in network order, one after another; empty for NODATA.
    addresses BLOB NOT NULL,
    -- Names of the chain from the first on that lies in a zone of the store, JSON; NULL if none does.
    chain TEXT,
    ttl INTEGER NOT NULL CHECK (ttl BETWEEN 0 AND 4294967295),
    highest_ttl INTEGER NOT NULL CHECK (highest_ttl BETWEEN 0 AND 4294967295),
    -- When the last good answer was fetched; NULL if there never was one.
    last_ok_at INTEGER,
    -- When it was last asked.
    fetched_at INTEGER,
    -- When the addresses last became others.
    changed_at INTEGER,
    PRIMARY KEY (upstream_group, target, family)
) STRICT, WITHOUT ROWID;
