-- The store: zones, owners, claims, history, tokens. Times are milliseconds since 1970 UTC; order is by revision.

CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- Of the last command that changed something.
    revision INTEGER NOT NULL CHECK (revision >= 0),
    -- Random, made with the store, so that two stores are told apart.
    identity TEXT NOT NULL,
    -- Numbers are never given twice.
    next_owner INTEGER NOT NULL CHECK (next_owner BETWEEN 1 AND 4294967295),
    next_zone INTEGER NOT NULL CHECK (next_zone BETWEEN 1 AND 4294967295)
) STRICT;

INSERT INTO meta VALUES (1, 0, lower(hex(randomblob(16))), 2, 1);

CREATE TABLE owner (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 4294967295),
    name TEXT NOT NULL UNIQUE,
    kind TEXT,
    uid TEXT,
    parent INTEGER REFERENCES owner (id) DEFERRABLE INITIALLY DEFERRED,
    source TEXT,
    labels TEXT,
    state TEXT NOT NULL,
    generation INTEGER,
    epoch INTEGER,
    created_at INTEGER NOT NULL,
    asserted_at INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;

CREATE INDEX owner_by_parent ON owner (parent) WHERE parent IS NOT NULL;

-- What the server itself holds: SOA and NS that nobody else does.
INSERT INTO owner (id, name, kind, state, created_at, asserted_at, revision)
VALUES (1, 'system:tenured', 'System', 'active', 0, 0, 0);

-- Deleted owners. An owner without uid has an empty one here.
CREATE TABLE tombstone (
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    epoch INTEGER,
    at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (name, uid)
) STRICT, WITHOUT ROWID;

CREATE TABLE zone (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 4294967295),
    -- The apex in presentation form, lower case, with the final dot.
    name TEXT NOT NULL UNIQUE,
    owner_id INTEGER NOT NULL REFERENCES owner (id) DEFERRABLE INITIALLY DEFERRED,
    serial INTEGER NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
    default_ttl INTEGER NOT NULL CHECK (default_ttl BETWEEN 0 AND 2147483647),
    nameservers TEXT NOT NULL,
    contact TEXT NOT NULL,
    upstream_group TEXT,
    created_at INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;

CREATE INDEX zone_by_owner ON zone (owner_id);

CREATE TABLE claim (
    zone_id INTEGER NOT NULL REFERENCES zone (id),
    -- Labels from the apex down, so that octet order is canonical order and a subtree is a range.
    name_key BLOB NOT NULL,
    rtype INTEGER NOT NULL CHECK (rtype BETWEEN 1 AND 65535),
    owner_id INTEGER NOT NULL REFERENCES owner (id),
    set_id TEXT NOT NULL,
    ttl INTEGER NOT NULL CHECK (ttl BETWEEN 0 AND 2147483647),
    -- Each record as its length, 16 bits little-endian, and its RDATA.
    data BLOB NOT NULL,
    -- Options of an ALIAS, JSON.
    alias TEXT,
    share INTEGER NOT NULL CHECK (share IN (0, 1)),
    labels TEXT,
    state TEXT NOT NULL,
    asserted_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_revision INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (zone_id, name_key, rtype, owner_id, set_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_by_owner ON claim (owner_id);

-- The history. Names are kept as text, so that it outlives what it tells of.
CREATE TABLE change (
    revision INTEGER NOT NULL,
    item INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    owner TEXT NOT NULL,
    request_id TEXT NOT NULL,
    door TEXT NOT NULL,
    zone TEXT NOT NULL,
    name TEXT NOT NULL,
    rtype TEXT NOT NULL,
    before TEXT,
    after TEXT,
    PRIMARY KEY (revision, item)
) STRICT, WITHOUT ROWID;

CREATE INDEX change_by_name ON change (name, rtype);

CREATE TABLE token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- Root owner of the role owner.
    owner TEXT,
    -- SHA-256 of the secret.
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    limits TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
