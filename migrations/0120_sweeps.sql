-- Sweeps, and what each took, so that it can be undone. Of a bounded number, for 7 days.
CREATE TABLE sweep (
    -- The revision that made it.
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    -- The owners above the scope then, nearest first, JSON.
    parents TEXT NOT NULL,
    -- report, quarantine, delete
    mode TEXT NOT NULL,
    as_of INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    -- done, partlyUndone, undone
    state TEXT NOT NULL,
    -- Claims that it took.
    taken INTEGER NOT NULL CHECK (taken >= 0)
) STRICT;

CREATE TABLE swept (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    -- Order: each owner after those above it.
    item INTEGER NOT NULL,
    owner TEXT NOT NULL,
    -- The owners above it then, nearest first, JSON.
    parents TEXT NOT NULL,
    records INTEGER NOT NULL,
    -- The owner as it was, the claims taken and the zones owned, JSON.
    before TEXT NOT NULL,
    PRIMARY KEY (sweep_id, item)
) STRICT, WITHOUT ROWID;
