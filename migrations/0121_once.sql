-- Responses to POST requests that came with an Idempotency-Key: for 24 hours, of a bounded number.
CREATE TABLE once (
    -- Rises with each row, so that the oldest rows are those with the lowest numbers.
    id INTEGER PRIMARY KEY,
    token TEXT NOT NULL,
    key TEXT NOT NULL,
    -- SHA-256 of the request.
    print BLOB NOT NULL CHECK (length(print) = 32),
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (token, key)
) STRICT;

CREATE INDEX once_by_time ON once (at);
