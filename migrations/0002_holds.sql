-- Deletes that the brake holds: one row for an owner, replaced by its next apply.
CREATE TABLE hold (
    -- The revision that made it.
    id INTEGER PRIMARY KEY,
    owner_id INTEGER NOT NULL UNIQUE REFERENCES owner (id) ON DELETE CASCADE,
    since INTEGER NOT NULL,
    -- How many claims the owner had.
    claims INTEGER NOT NULL,
    -- [[zone, name, type number, set id], …]
    deletes TEXT NOT NULL
) STRICT;
