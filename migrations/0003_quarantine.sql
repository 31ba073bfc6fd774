-- Until when quarantined claims are kept; a claim that is restored or deleted has no row here.
CREATE TABLE quarantine (
    zone_id INTEGER NOT NULL,
    name_key BLOB NOT NULL,
    rtype INTEGER NOT NULL,
    owner_id INTEGER NOT NULL,
    set_id TEXT NOT NULL,
    until_at INTEGER NOT NULL,
    PRIMARY KEY (zone_id, name_key, rtype, owner_id, set_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX quarantine_by_end ON quarantine (until_at);

CREATE INDEX owner_going ON owner (id) WHERE state = 'deleting';
