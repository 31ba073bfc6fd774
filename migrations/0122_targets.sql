-- Which claims name which names: CNAME, ALIAS, MX, SRV, NS, SVCB and HTTPS, in whatever state. It follows from `claim`.
CREATE TABLE target (
    -- Labels from the root down, so that a subtree is a range.
    target_key BLOB NOT NULL,
    zone_id INTEGER NOT NULL,
    name_key BLOB NOT NULL,
    rtype INTEGER NOT NULL,
    owner_id INTEGER NOT NULL,
    set_id TEXT NOT NULL,
    PRIMARY KEY (target_key, zone_id, name_key, rtype, owner_id, set_id)
) STRICT, WITHOUT ROWID;

-- Whether the claims that were there before this table are in it.
CREATE TABLE target_state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    is_filled INTEGER NOT NULL CHECK (is_filled IN (0, 1))
) STRICT;

INSERT INTO target_state VALUES (1, 0);
