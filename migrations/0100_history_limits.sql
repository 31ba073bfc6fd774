-- How much history there is, so that its limits cost no counting.
CREATE TABLE history (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- Rows of `change`.
    entries INTEGER NOT NULL CHECK (entries >= 0),
    -- The newest revision of which rows were trimmed; 0 if none were.
    trimmed INTEGER NOT NULL CHECK (trimmed >= 0)
) STRICT;

INSERT INTO history VALUES (1, (SELECT count(*) FROM change), 0);
