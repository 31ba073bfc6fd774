-- The PowerDNS door: keys, what it says of zones, what it keeps beside claims, and claims that a wave passed by.

-- The API that a token is for: native, powerdns.
ALTER TABLE token ADD COLUMN door TEXT NOT NULL DEFAULT 'native';
-- What the door does for it, JSON.
ALTER TABLE token ADD COLUMN settings TEXT;
CREATE INDEX token_by_hash ON token (hash);

-- What the door shows of a zone and does nothing with, and how its serial rises, JSON.
ALTER TABLE zone ADD COLUMN presented TEXT;
-- A serial that was submitted and is not reached yet: the next change takes it at least.
ALTER TABLE zone ADD COLUMN serial_floor INTEGER CHECK (serial_floor BETWEEN 0 AND 4294967295);

-- What an owner keeps at an RRset beside its claim: disabled values, comments, spellings. Without set id.
CREATE TABLE attachment (
    zone_id INTEGER NOT NULL REFERENCES zone (id) ON DELETE CASCADE,
    name_key BLOB NOT NULL,
    rtype INTEGER NOT NULL CHECK (rtype BETWEEN 1 AND 65535),
    owner_id INTEGER NOT NULL REFERENCES owner (id) ON DELETE CASCADE,
    -- JSON.
    content TEXT NOT NULL,
    PRIMARY KEY (zone_id, name_key, rtype, owner_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachment_by_owner ON attachment (owner_id);

-- Claims that a re-assertion wave of their key passed by. One that was asserted since is no longer meant.
CREATE TABLE unconfirmed (
    zone_id INTEGER NOT NULL REFERENCES zone (id) ON DELETE CASCADE,
    name_key BLOB NOT NULL,
    rtype INTEGER NOT NULL,
    owner_id INTEGER NOT NULL REFERENCES owner (id) ON DELETE CASCADE,
    set_id TEXT NOT NULL,
    -- When the wave began, and when it was over.
    began INTEGER NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (zone_id, name_key, rtype, owner_id, set_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX unconfirmed_by_owner ON unconfirmed (owner_id);
