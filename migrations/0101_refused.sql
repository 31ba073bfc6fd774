-- Claims that were refused because another owner stands in the way: who wants what, since when. Of a bounded number.
CREATE TABLE refused (
    owner TEXT NOT NULL,
    zone TEXT NOT NULL,
    name TEXT NOT NULL,
    rtype TEXT NOT NULL,
    set_id TEXT NOT NULL,
    -- Presentation form, JSON.
    data TEXT NOT NULL,
    holder TEXT NOT NULL,
    code TEXT NOT NULL,
    door TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (name, rtype, zone, owner, set_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_queued ON claim (zone_id, name_key) WHERE state = 'queued';
