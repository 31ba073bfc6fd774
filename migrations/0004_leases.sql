-- Leases of owners. Times are milliseconds since 1970 UTC.
CREATE TABLE lease (
    owner_id INTEGER PRIMARY KEY REFERENCES owner (id) ON DELETE CASCADE,
    seconds INTEGER NOT NULL CHECK (seconds > 0),
    -- report, quarantine, delete
    on_expiry TEXT NOT NULL,
    grace_seconds INTEGER NOT NULL CHECK (grace_seconds >= 0),
    expires_at INTEGER NOT NULL,
    -- When it was found to have run out; the grace begins then.
    expired_at INTEGER,
    -- Whether the policy ran.
    settled INTEGER NOT NULL CHECK (settled IN (0, 1))
) STRICT;

CREATE INDEX lease_running ON lease (expires_at) WHERE expired_at IS NULL;
CREATE INDEX lease_in_grace ON lease (expired_at) WHERE expired_at IS NOT NULL AND settled = 0;
