//! Every statement of the store. A list of values comes in as one JSON array, so that each statement is one text.

use std::sync::LazyLock;

/// Columns of a claim `c`, in the order in which `columns` reads them.
macro_rules! claim_columns {
    () => {
        "c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id, c.ttl, c.data, c.alias, c.share, c.labels,
            c.state, c.asserted_at, c.created_at, c.created_revision, c.revision"
    };
}

/// Columns of an owner `o` and of its lease `l`, in the order in which `columns` reads them.
macro_rules! owner_columns {
    () => {
        "o.id, o.name, o.kind, o.uid, o.parent, o.source, o.labels, o.state, o.generation, o.epoch,
            o.created_at, o.asserted_at, o.revision, l.seconds, l.on_expiry, l.grace_seconds, l.expires_at,
            l.expired_at, l.settled, o.external_dns"
    };
}

/// What every page of claims filters by and how it is sorted, whichever index it walks.
macro_rules! claims_of_a_page {
    () => {
        "
            AND (?1 IS NULL OR c.rtype = ?1) AND (?2 IS NULL OR c.state = ?2)
            AND (?4 IS NULL OR c.owner_id = ?4) AND (?5 IS NULL OR c.zone_id = ?5)
            AND (?3 IS NULL OR NOT EXISTS (
                SELECT 1 FROM json_each(?3) AS w WHERE NOT EXISTS (
                    SELECT 1 FROM json_each(c.labels) AS l WHERE l.key = w.value ->> 0 AND l.value = w.value ->> 1)))
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id LIMIT ?11"
    };
}

macro_rules! statements {
    ($($name:ident = $text:expr;)*) => {
        $(pub(super) const $name: &str = $text;)*

        /// All of them, for the test that each fits the schema.
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

// Columns of a claim, an owner and a zone stand in one order everywhere: `rows_of` reads them by number.
statements! {
    BEGIN = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    READ_META = "SELECT revision, next_owner, next_zone, identity FROM meta";
    COPY_INTO = "VACUUM INTO ?1";
    INTEGRITY = "PRAGMA integrity_check(1)";
    NEWEST_MIGRATION = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations";
    FORGET_PAGES = "PRAGMA shrink_memory";
    TOUCH_META = "UPDATE meta SET revision = revision";
    WRITE_META = "UPDATE meta SET revision = ?1, next_owner = ?2, next_zone = ?3";

    OWNERS_BY_NAME = concat!("
        WITH RECURSIVE wanted (id) AS (
            SELECT o.id FROM json_each(?1) AS j CROSS JOIN owner AS o ON o.name = j.value
            UNION
            SELECT o.parent FROM wanted AS w JOIN owner AS o ON o.id = w.id WHERE o.parent IS NOT NULL)
        SELECT ", owner_columns!(), "
        FROM wanted AS w CROSS JOIN owner AS o ON o.id = w.id
            LEFT JOIN lease AS l ON l.owner_id = o.id");
    OWNERS_BY_ID = concat!("
        WITH RECURSIVE wanted (id) AS (
            SELECT j.value FROM json_each(?1) AS j
            UNION
            SELECT o.parent FROM wanted AS w JOIN owner AS o ON o.id = w.id WHERE o.parent IS NOT NULL)
        SELECT ", owner_columns!(), "
        FROM wanted AS w CROSS JOIN owner AS o ON o.id = w.id
            LEFT JOIN lease AS l ON l.owner_id = o.id");
    SUBTREE = "
        WITH RECURSIVE below (id) AS (
            SELECT ?1
            UNION
            SELECT o.id FROM below AS b JOIN owner AS o ON o.parent = b.id)
        SELECT id FROM below";
    ALL_OWNERS = concat!("
        SELECT ", owner_columns!(), "
        FROM owner AS o LEFT JOIN lease AS l ON l.owner_id = o.id ORDER BY o.name");
    OWNER_STATES = "SELECT state, count(*) FROM owner GROUP BY state";
    OWNER_COUNTS = "SELECT owner_id, state, count(*) FROM claim GROUP BY owner_id, state";
    OWNER_COUNTS_OF = "SELECT owner_id, state, count(*) FROM claim WHERE owner_id = ?1 GROUP BY owner_id, state";
    CHILDREN = "SELECT parent, count(*) FROM owner WHERE parent IS NOT NULL GROUP BY parent";
    CHILDREN_OF = "SELECT parent, count(*) FROM owner WHERE parent = ?1 GROUP BY parent";
    TOMBSTONES = "
        SELECT t.name, t.uid, t.epoch, t.at, t.revision
        FROM json_each(?1) AS j CROSS JOIN tombstone AS t ON t.name = j.value";
    WRITE_TOMBSTONE = "
        INSERT OR REPLACE INTO tombstone (name, uid, epoch, at, revision) VALUES (?1, ?2, ?3, ?4, ?5)";
    WRITE_OWNER = "
        INSERT INTO owner (id, name, kind, uid, parent, source, labels, state, generation, epoch,
            created_at, asserted_at, revision, external_dns)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
        ON CONFLICT (id) DO UPDATE SET kind = ?3, uid = ?4, parent = ?5, source = ?6, labels = ?7, state = ?8,
            generation = ?9, epoch = ?10, asserted_at = ?12, revision = ?13, external_dns = ?14";
    DELETE_OWNER = "DELETE FROM owner WHERE id = ?1";

    ZONES_BY_NAME = "
        SELECT z.id, z.name, z.owner_id, o.name, z.serial, z.default_ttl, z.nameservers, z.contact, z.upstream_group,
            z.created_at, z.revision, z.presented, z.serial_floor
        FROM json_each(?1) AS j CROSS JOIN zone AS z ON z.name = j.value CROSS JOIN owner AS o ON o.id = z.owner_id";
    ZONES_BY_ID = "
        SELECT z.id, z.name, z.owner_id, o.name, z.serial, z.default_ttl, z.nameservers, z.contact, z.upstream_group,
            z.created_at, z.revision, z.presented, z.serial_floor
        FROM json_each(?1) AS j CROSS JOIN zone AS z ON z.id = j.value CROSS JOIN owner AS o ON o.id = z.owner_id";
    ZONES_BELOW = "
        SELECT z.id, z.name, z.owner_id, o.name, z.serial, z.default_ttl, z.nameservers, z.contact, z.upstream_group,
            z.created_at, z.revision, z.presented, z.serial_floor
        FROM zone AS z CROSS JOIN owner AS o ON o.id = z.owner_id
        WHERE substr(z.name, -length(?1)) = ?1";
    ALL_ZONES = "
        SELECT z.id, z.name, z.owner_id, o.name, z.serial, z.default_ttl, z.nameservers, z.contact, z.upstream_group,
            z.created_at, z.revision, z.presented, z.serial_floor
        FROM zone AS z LEFT JOIN owner AS o ON o.id = z.owner_id ORDER BY z.id";
    ZONES_OF_CLAIMS = "
        SELECT DISTINCT c.zone_id FROM json_each(?1) AS j CROSS JOIN claim AS c ON c.owner_id = j.value";
    ZONES_OWNED = "SELECT z.id FROM json_each(?1) AS j CROSS JOIN zone AS z ON z.owner_id = j.value";
    WRITE_ZONE = "
        INSERT INTO zone (id, name, owner_id, serial, default_ttl, nameservers, contact, upstream_group, created_at,
            revision, presented)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        ON CONFLICT (id) DO UPDATE SET owner_id = ?3, serial = ?4, default_ttl = ?5, nameservers = ?6, contact = ?7,
            upstream_group = ?8, revision = ?10, presented = ?11";
    WRITE_FLOOR = "UPDATE zone SET serial_floor = ?2 WHERE id = ?1";
    WRITE_SERIAL = "UPDATE zone SET serial = ?2, revision = ?3 WHERE id = ?1";
    DELETE_ZONE = "DELETE FROM zone WHERE id = ?1";

    CLAIMS_AT = concat!("
        SELECT ", claim_columns!(), "
        FROM json_each(?2) AS j CROSS JOIN claim AS c ON c.zone_id = ?1 AND c.name_key = unhex(j.value)");
    CLAIMS_AT_PACKED = "
        SELECT count(*), CAST(group_concat(p.row, '') AS BLOB) FROM (
            SELECT concat_ws(' ', c.zone_id, c.rtype, c.owner_id, c.ttl, c.state, c.share, c.asserted_at, c.created_at,
                c.created_revision, c.revision, octet_length(c.name_key), octet_length(c.set_id),
                octet_length(c.data), ifnull(octet_length(c.alias), -1), ifnull(octet_length(c.labels), -1),
                c.name_key, c.set_id, c.data, c.alias, c.labels) AS row
            FROM json_each(?2) AS j CROSS JOIN claim AS c ON c.zone_id = ?1 AND c.name_key = unhex(j.value)) AS p";
    CLAIMS_WITH_PACKED = "
        SELECT count(*), CAST(group_concat(p.row, '') AS BLOB) FROM (
            SELECT concat_ws(' ', c.zone_id, c.rtype, c.owner_id, c.ttl, c.state, c.share, c.asserted_at, c.created_at,
                c.created_revision, c.revision, octet_length(c.name_key), octet_length(c.set_id),
                octet_length(c.data), ifnull(octet_length(c.alias), -1), ifnull(octet_length(c.labels), -1),
                c.name_key, c.set_id, c.data, c.alias, c.labels) AS row
            FROM (SELECT DISTINCT m.zone_id, m.name_key FROM claim AS m
                  WHERE m.owner_id = ?1 AND (m.zone_id, m.name_key) > (?2, ?3)
                  ORDER BY m.zone_id, m.name_key LIMIT ?4) AS n
                CROSS JOIN claim AS c ON c.zone_id = n.zone_id AND c.name_key = n.name_key) AS p";
    CLAIMS_WITH = concat!("
        SELECT ", claim_columns!(), "
        FROM (SELECT DISTINCT m.zone_id, m.name_key
              FROM json_each(?1) AS j CROSS JOIN claim AS m ON m.owner_id = j.value) AS n
            CROSS JOIN claim AS c ON c.zone_id = n.zone_id AND c.name_key = n.name_key");
    ALIASES_WITH = concat!("
        SELECT ", claim_columns!(), "
        FROM (SELECT DISTINCT m.zone_id, m.name_key
              FROM json_each(?1) AS j CROSS JOIN claim AS m ON m.owner_id = j.value AND m.rtype = 65401) AS n
            CROSS JOIN claim AS c ON c.zone_id = n.zone_id AND c.name_key = n.name_key");
    REDIRECTIONS_AT = concat!("
        SELECT ", claim_columns!(), "
        FROM json_each(?2) AS j
            CROSS JOIN claim AS c ON c.zone_id = ?1 AND c.name_key = unhex(j.value) AND c.rtype IN (2, 39)
        WHERE c.state = 'held'");
    CLAIMS_BELOW = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE c.zone_id = ?1 AND c.name_key > ?2 AND c.name_key < ?3 AND c.state = 'held'
        ORDER BY c.name_key
        LIMIT ?4");
    CLAIMS_BETWEEN = "
        SELECT c.zone_id, c.name_key, c.rtype, c.owner_id, c.ttl, c.data, c.alias, c.state
        FROM claim AS c
        WHERE (c.zone_id, c.name_key) > (?1, ?2) AND (c.zone_id, c.name_key) <= (?3, ?4)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id";
    PAGE_END = "
        SELECT c.zone_id, c.name_key FROM claim AS c
        WHERE (c.zone_id, c.name_key) > (?1, ?2)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id
        LIMIT 1 OFFSET ?3";
    PAGE = "
        SELECT count(*), CAST(group_concat(p.row, '') AS BLOB) FROM (
            SELECT concat_ws(' ', c.zone_id, c.rtype, c.owner_id, c.ttl, c.state, octet_length(c.name_key),
                octet_length(c.data), ifnull(octet_length(c.alias), -1), c.name_key, c.data, c.alias) AS row
            FROM claim AS c
            WHERE (c.zone_id, c.name_key) > (?1, ?2) AND (c.zone_id, c.name_key) <= (?3, ?4)
            ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id) AS p";
    CLAIMS_LISTED = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE (?1 IS NULL OR c.rtype = ?1) AND (?2 IS NULL OR c.state = ?2)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id");
    CLAIMS_OF_ZONE = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE c.zone_id = ?1 AND (?2 IS NULL OR c.rtype = ?2) AND (?3 IS NULL OR c.state = ?3)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id");
    CLAIMS_OF_OWNER = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE c.owner_id = ?1 AND (?2 IS NULL OR c.rtype = ?2) AND (?3 IS NULL OR c.state = ?3)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id");
    CLAIMS_OF_OTHERS = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c WHERE c.zone_id = ?1 AND c.owner_id NOT IN (?2, ?3)");
    CLAIMS_GOING = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c WHERE c.zone_id = ?1 AND (?2 IS NULL OR c.owner_id = ?2)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id LIMIT ?3");
    COUNT_OWNED = "SELECT count(*) FROM claim WHERE owner_id = ?1 AND state <> 'quarantined'";
    COUNT_GOING = "SELECT count(*) FROM claim WHERE zone_id = ?1";
    CLAIMANTS = "SELECT DISTINCT owner_id FROM claim WHERE zone_id = ?1";
    WRITE_CLAIM = "
        INSERT OR REPLACE INTO claim (zone_id, name_key, rtype, owner_id, set_id, ttl, data, alias, share, labels,
            state, asserted_at, created_at, created_revision, revision)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    // A claim that is held and not shared, without set id and labels.
    WRITE_PLAIN = "
        INSERT OR REPLACE INTO claim (zone_id, name_key, rtype, owner_id, set_id, ttl, data, alias, share, labels,
            state, asserted_at, created_at, created_revision, revision)
        VALUES (?1, ?2, ?3, ?4, '', ?5, ?6, ?7, 0, NULL, 'held', ?8, ?9, ?10, ?11)";
    ASSERT_CLAIMS = "
        UPDATE claim SET asserted_at = ?2
        WHERE (zone_id, name_key, rtype, owner_id, set_id) IN (
            SELECT j.value ->> 0, unhex(j.value ->> 1), j.value ->> 2, j.value ->> 3, j.value ->> 4
            FROM json_each(?1) AS j)";
    DELETE_CLAIMS = "
        DELETE FROM claim
        WHERE (zone_id, name_key, rtype, owner_id, set_id) IN (
            SELECT j.value ->> 0, unhex(j.value ->> 1), j.value ->> 2, j.value ->> 3, j.value ->> 4
            FROM json_each(?1) AS j)";
    DELETE_CLAIMS_OF_ZONE = "DELETE FROM claim WHERE zone_id = ?1";

    ALIAS_TARGETS = "
        SELECT upstream_group, target, family, state, since, addresses, chain, ttl, highest_ttl, last_ok_at, fetched_at,
            changed_at, failures, error, upstream, names, takeover_risk
        FROM alias_target";
    WRITE_ALIAS_TARGET = "
        INSERT OR REPLACE INTO alias_target (upstream_group, target, family, state, since, addresses, chain, ttl,
            highest_ttl, last_ok_at, fetched_at, changed_at, failures, error, upstream, names, takeover_risk)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    DELETE_ALIAS_TARGET = "DELETE FROM alias_target WHERE upstream_group = ?1 AND target = ?2";
    OWNER_ID = "SELECT name FROM owner WHERE id = ?1";

    WRITE_CHANGE = "
        INSERT INTO change (revision, item, at, actor, owner, request_id, door, zone, name, rtype, before, after)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    CHANGES = "
        SELECT revision, at, actor, owner, request_id, door, zone, name, rtype, before, after, item
        FROM change
        WHERE revision > ?1 AND (?2 IS NULL OR zone = ?2) AND (?3 IS NULL OR name = ?3)
            AND (?4 IS NULL OR owner = ?4) AND (?5 IS NULL OR actor = ?5)
        ORDER BY revision DESC, item DESC LIMIT ?6";
    LAST_CHANGE_AT = "SELECT MAX(at) FROM change WHERE name = ?1";
    CHANGES_OF_NAME = "
        SELECT revision, at, actor, owner, request_id, door, zone, name, rtype, before, after, item
        FROM change
        WHERE name = ?3 AND revision > ?1 AND (?2 IS NULL OR zone = ?2)
            AND (?4 IS NULL OR owner = ?4) AND (?5 IS NULL OR actor = ?5)
        ORDER BY revision DESC, item DESC LIMIT ?6";

    HOLDS = "
        SELECT h.id, h.owner_id, o.name, h.since, h.claims, h.deletes
        FROM hold AS h CROSS JOIN owner AS o ON o.id = h.owner_id
        WHERE ?1 IS NULL OR o.name = ?1
        ORDER BY h.id";
    HOLD = "
        SELECT h.id, h.owner_id, o.name, h.since, h.claims, h.deletes
        FROM hold AS h CROSS JOIN owner AS o ON o.id = h.owner_id WHERE h.id = ?1";
    HOLD_OF = "
        SELECT h.id, h.owner_id, o.name, h.since, h.claims, h.deletes
        FROM hold AS h CROSS JOIN owner AS o ON o.id = h.owner_id WHERE h.owner_id = ?1";
    WRITE_HOLD = "INSERT INTO hold (id, owner_id, since, claims, deletes) VALUES (?1, ?2, ?3, ?4, ?5)";
    DELETE_HOLD = "DELETE FROM hold WHERE owner_id = ?1";

    SWEEPS = "
        SELECT s.id, s.scope, s.parents, s.mode, s.as_of, s.at, s.actor, s.state, s.taken
        FROM sweep AS s WHERE s.at >= ?1 ORDER BY s.id DESC";
    SWEEP = "
        SELECT s.id, s.scope, s.parents, s.mode, s.as_of, s.at, s.actor, s.state, s.taken
        FROM sweep AS s WHERE s.id = ?1";
    SWEPT = "SELECT w.owner, w.parents, w.records, w.before FROM swept AS w WHERE w.sweep_id = ?1 ORDER BY w.item";
    WRITE_SWEEP = "
        INSERT INTO sweep (id, scope, parents, mode, as_of, at, actor, state, taken)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    WRITE_SWEPT = "
        INSERT INTO swept (sweep_id, item, owner, parents, records, before) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    MOVE_SWEEP = "UPDATE sweep SET state = ?2 WHERE id = ?1";
    TRIM_SWEEPS = "
        DELETE FROM sweep WHERE at < ?1 OR id IN (
            SELECT n.id FROM (SELECT s.id, s.taken = 0 AS idle,
                    row_number() OVER (PARTITION BY s.taken = 0 ORDER BY s.id DESC) AS place,
                    sum(s.taken) OVER (ORDER BY s.id DESC) AS total
                FROM sweep AS s WHERE s.at >= ?1) AS n
            WHERE (n.idle AND n.place > ?3) OR (NOT n.idle AND (n.place > ?2 OR (n.total > ?4 AND n.place > 1))))";
    UNBURY = "DELETE FROM tombstone WHERE name = ?1 AND uid = ?2";

    ONCE = "SELECT print, status, body FROM once WHERE token = ?1 AND key = ?2 AND at >= ?3";
    WRITE_ONCE = "
        INSERT OR REPLACE INTO once (token, key, print, status, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    TRIM_ONCE = "
        DELETE FROM once WHERE id <= (SELECT max(id) FROM once) + 1 - ?3
            OR id IN (SELECT o.id FROM once AS o WHERE o.at < ?1 ORDER BY o.at LIMIT ?2)";

    WRITE_TARGETS = "
        INSERT OR REPLACE INTO target (target_key, zone_id, name_key, rtype, owner_id, set_id)
        SELECT unhex(j.value ->> 0), j.value ->> 1, unhex(j.value ->> 2), j.value ->> 3, j.value ->> 4, j.value ->> 5
        FROM json_each(?1) AS j";
    DELETE_TARGETS = "
        DELETE FROM target
        WHERE (target_key, zone_id, name_key, rtype, owner_id, set_id) IN (
            SELECT unhex(j.value ->> 0), j.value ->> 1, unhex(j.value ->> 2), j.value ->> 3, j.value ->> 4,
                j.value ->> 5
            FROM json_each(?1) AS j)";
    CLAIMS_WITH_TARGETS = "
        SELECT c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id, c.data
        FROM claim AS c
        WHERE (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id) > (?1, ?2, ?3, ?4, ?5) AND c.zone_id <= ?6
            AND c.rtype IN (2, 5, 15, 33, 64, 65, 65401)
        ORDER BY c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id
        LIMIT ?7";
    TARGETS_FILLED = "SELECT is_filled FROM target_state";
    NOTE_TARGETS_FILLED = "UPDATE target_state SET is_filled = 1";
    REFERENCES_TO = "
        SELECT t.target_key, t.zone_id, t.name_key, t.rtype, t.owner_id, t.set_id, z.name, o.name
        FROM json_each(?1) AS j CROSS JOIN target AS t ON t.target_key = unhex(j.value)
            CROSS JOIN claim AS c ON (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id)
                = (t.zone_id, t.name_key, t.rtype, t.owner_id, t.set_id) AND c.state = 'held'
            CROSS JOIN zone AS z ON z.id = t.zone_id
            CROSS JOIN owner AS o ON o.id = t.owner_id
        LIMIT ?2";
    REFERENCES_BELOW = "
        SELECT t.target_key, t.zone_id, t.name_key, t.rtype, t.owner_id, t.set_id, z.name, o.name
        FROM target AS t
            CROSS JOIN claim AS c ON (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id)
                = (t.zone_id, t.name_key, t.rtype, t.owner_id, t.set_id) AND c.state = 'held'
            CROSS JOIN zone AS z ON z.id = t.zone_id
            CROSS JOIN owner AS o ON o.id = t.owner_id
        WHERE t.target_key > ?1 AND t.target_key < ?2
        LIMIT ?3";

    QUARANTINE = "
        INSERT OR REPLACE INTO quarantine (zone_id, name_key, rtype, owner_id, set_id, until_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    END_QUARANTINE = "
        DELETE FROM quarantine WHERE zone_id = ?1 AND name_key = ?2 AND rtype = ?3 AND owner_id = ?4 AND set_id = ?5";
    END_QUARANTINE_OF_ZONE = "DELETE FROM quarantine WHERE zone_id = ?1";
    QUARANTINE_DUE = "
        SELECT o.name, z.name, c.name_key, c.rtype, c.set_id, c.revision
        FROM (SELECT q.zone_id, q.name_key, q.rtype, q.owner_id, q.set_id
              FROM quarantine AS q WHERE q.until_at <= ?1 ORDER BY q.until_at LIMIT ?2) AS d
            CROSS JOIN claim AS c ON (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id)
                = (d.zone_id, d.name_key, d.rtype, d.owner_id, d.set_id)
            CROSS JOIN zone AS z ON z.id = c.zone_id
            CROSS JOIN owner AS o ON o.id = c.owner_id
        ORDER BY o.id";
    OWNERS_GONE = "
        SELECT o.name FROM owner AS o
        WHERE o.state = 'deleting'
            AND NOT EXISTS (SELECT 1 FROM claim AS c WHERE c.owner_id = o.id)
            AND NOT EXISTS (SELECT 1 FROM owner AS b WHERE b.parent = o.id)
        LIMIT ?1";

    WRITE_LEASE = "
        INSERT OR REPLACE INTO lease (owner_id, seconds, on_expiry, grace_seconds, expires_at, expired_at, settled)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    DELETE_LEASE = "DELETE FROM lease WHERE owner_id = ?1";
    LEASES_DUE = "
        SELECT o.name, l.expires_at FROM lease AS l CROSS JOIN owner AS o ON o.id = l.owner_id
        WHERE l.expired_at IS NULL AND l.expires_at <= ?1 ORDER BY l.expires_at LIMIT ?2";
    LEASES_OVER = "
        SELECT o.name, l.expired_at FROM lease AS l CROSS JOIN owner AS o ON o.id = l.owner_id
        WHERE l.expired_at IS NOT NULL AND l.settled = 0 AND l.on_expiry <> 'report'
            AND l.expired_at + l.grace_seconds * 1000 <= ?1
        ORDER BY l.expired_at LIMIT ?2";
    // Pages: the key of the row before comes in, and one row too many goes out if there are more.
    CLAIM_PAGE = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id) > (?6, ?7, ?8, ?9, ?10)
", claims_of_a_page!());
    QUEUED_PAGE = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE c.state = 'queued' AND (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id) > (?6, ?7, ?8, ?9, ?10)
", claims_of_a_page!());
    CLAIM_PAGE_OF_ZONE = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE c.zone_id = ?5 AND (c.name_key, c.rtype, c.owner_id, c.set_id) > (?7, ?8, ?9, ?10)
", claims_of_a_page!());
    CLAIM_PAGE_OF_OWNER = concat!("
        SELECT ", claim_columns!(), "
        FROM claim AS c
        WHERE c.owner_id = ?4 AND (c.zone_id, c.name_key, c.rtype, c.set_id) > (?6, ?7, ?8, ?10)
", claims_of_a_page!());
    CLAIM_PAGE_AT = concat!("
        SELECT ", claim_columns!(), "
        FROM json_each(?12) AS j
            CROSS JOIN claim AS c ON c.zone_id = j.value ->> 0 AND c.name_key = unhex(j.value ->> 1)
        WHERE (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id) > (?6, ?7, ?8, ?9, ?10)
", claims_of_a_page!());
    OWNER_PAGE = concat!("
        SELECT ", owner_columns!(), "
        FROM owner AS o LEFT JOIN lease AS l ON l.owner_id = o.id
        WHERE o.name > ?1 AND (?2 IS NULL OR o.parent = ?2) AND (?3 IS NULL OR o.state = ?3)
            AND (?4 IS NULL OR o.source ->> 'cluster' = ?4)
        ORDER BY o.name LIMIT ?5");
    CHILDREN_OF_THESE = "
        SELECT o.parent, count(*) FROM json_each(?1) AS j CROSS JOIN owner AS o ON o.parent = j.value
        GROUP BY o.parent";
    CLAIMS_OF_THESE_COUNTED = "
        SELECT c.owner_id, c.state, count(*) FROM json_each(?1) AS j CROSS JOIN claim AS c ON c.owner_id = j.value
        GROUP BY c.owner_id, c.state";
    ZONE_PAGE = "
        SELECT z.id, z.name, z.owner_id, o.name, z.serial, z.default_ttl, z.nameservers, z.contact, z.upstream_group,
            z.created_at, z.revision, z.presented, z.serial_floor
        FROM zone AS z CROSS JOIN owner AS o ON o.id = z.owner_id
        WHERE z.name > ?1 AND (?2 IS NULL OR o.name = ?2)
        ORDER BY z.name LIMIT ?3";
    TOKEN_PAGE = "
        SELECT id, name, role, owner, hash, limits, created_at, expires_at, door, settings FROM token
        WHERE (created_at, id) > (?1, ?2)
        ORDER BY created_at, id LIMIT ?3";
    CHANGE_PAGE = "
        SELECT revision, at, actor, owner, request_id, door, zone, name, rtype, before, after, item
        FROM change
        WHERE (revision, item) > (?1, ?2) AND (?3 IS NULL OR zone = ?3) AND (?4 IS NULL OR name = ?4)
            AND (?5 IS NULL OR owner = ?5) AND (?6 IS NULL OR actor = ?6)
        ORDER BY revision, item LIMIT ?7";
    CHANGE_PAGE_OF_NAME = "
        SELECT revision, at, actor, owner, request_id, door, zone, name, rtype, before, after, item
        FROM change
        WHERE name = ?4 AND (revision, item) > (?1, ?2) AND (?3 IS NULL OR zone = ?3)
            AND (?5 IS NULL OR owner = ?5) AND (?6 IS NULL OR actor = ?6)
        ORDER BY revision, item LIMIT ?7";

    REFUSED_PAGE = "
        SELECT name, rtype, zone, owner, set_id, data, holder, code, door, since FROM refused
        WHERE (name, rtype, zone, owner, set_id) > (?1, ?2, ?3, ?4, ?5) AND (?7 IS NULL OR zone = ?7)
            AND (?8 IS NULL OR owner = ?8)
        ORDER BY name, rtype, zone, owner, set_id LIMIT ?6";
    WRITE_REFUSED = "
        INSERT OR REPLACE INTO refused (name, rtype, zone, owner, set_id, data, holder, code, door, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    DELETE_REFUSED = "
        DELETE FROM refused WHERE name = ?1 AND rtype = ?2 AND zone = ?3 AND owner = ?4 AND set_id = ?5";
    RESTLESS_PAGE = "
        SELECT name, rtype, zone FROM (
            SELECT name, rtype, zone FROM change ORDER BY revision DESC, item DESC LIMIT ?1)
        WHERE name <> '' AND rtype NOT IN ('zone', 'zonefile', 'owner', 'token') AND (?7 IS NULL OR zone = ?7)
        GROUP BY name, rtype, zone
        HAVING count(*) >= ?2 AND (name, rtype, zone) > (?3, ?4, ?5)
        ORDER BY name, rtype, zone LIMIT ?6";
    COUNT_HISTORY = "UPDATE history SET entries = entries + ?1";
    HISTORY_EXTENT = "SELECT entries, (SELECT at FROM change ORDER BY revision, item LIMIT 1) FROM history";
    HISTORY_TRIMMED = "SELECT trimmed FROM history";
    TRIM_HISTORY = "
        DELETE FROM change WHERE (revision, item) IN (
            SELECT revision, item FROM (SELECT revision, item, at FROM change ORDER BY revision, item LIMIT ?1)
            WHERE at < ?2)
        RETURNING revision";
    NOTE_TRIMMED = "UPDATE history SET entries = entries - ?1, trimmed = max(trimmed, ?2)";

    TOKEN = "SELECT id, name, role, owner, hash, limits, created_at, expires_at, door, settings FROM token WHERE id = ?1";
    TOKENS = "SELECT id, name, role, owner, hash, limits, created_at, expires_at, door, settings FROM token ORDER BY created_at, id";
    TOKEN_BY_HASH = "
        SELECT id, name, role, owner, hash, limits, created_at, expires_at, door, settings FROM token
        WHERE hash = ?1";
    WRITE_TOKEN = "
        INSERT INTO token (id, name, role, owner, hash, limits, created_at, expires_at, door, settings)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

    ATTACHMENTS_AT = "
        SELECT a.name_key, a.rtype, a.content
        FROM json_each(?2) AS j CROSS JOIN attachment AS a ON a.zone_id = ?1 AND a.name_key = unhex(j.value)
        WHERE a.owner_id = ?3";
    ATTACHMENTS_OF_ZONE = "
        SELECT a.name_key, a.rtype, a.content, a.owner_id FROM attachment AS a WHERE a.zone_id = ?1";
    WRITE_ATTACHMENT = "
        INSERT OR REPLACE INTO attachment (zone_id, name_key, rtype, owner_id, content) VALUES (?1, ?2, ?3, ?4, ?5)";
    DELETE_ATTACHMENT = "
        DELETE FROM attachment WHERE zone_id = ?1 AND name_key = ?2 AND rtype = ?3 AND owner_id = ?4";
    DELETE_ATTACHMENTS = "
        DELETE FROM attachment
        WHERE (zone_id, name_key, rtype, owner_id) IN (
            SELECT j.value ->> 0, unhex(j.value ->> 1), j.value ->> 2, j.value ->> 3 FROM json_each(?1) AS j)";
    COUNT_CLAIMS_OF = "SELECT count(*) FROM claim WHERE owner_id = ?1 AND state = 'held'";

    COUNT_CLAIMS_IN = "SELECT count(*) FROM claim WHERE owner_id = ?1 AND zone_id = ?2 AND state = 'held'";
    MARK_UNCONFIRMED = "
        INSERT OR REPLACE INTO unconfirmed (zone_id, name_key, rtype, owner_id, set_id, began, since)
        SELECT c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id, ?3, ?4 FROM claim AS c
        WHERE c.owner_id = ?1 AND c.zone_id = ?2 AND c.state = 'held' AND c.asserted_at < ?3
            AND NOT EXISTS (
                SELECT 1 FROM unconfirmed AS u
                WHERE (u.zone_id, u.name_key, u.rtype, u.owner_id, u.set_id)
                    = (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id) AND c.asserted_at < u.began)";
    FORGET_CONFIRMED = "
        DELETE FROM unconfirmed AS u
        WHERE u.owner_id = ?1 AND u.zone_id = ?2 AND NOT EXISTS (
            SELECT 1 FROM claim AS c
            WHERE (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id)
                = (u.zone_id, u.name_key, u.rtype, u.owner_id, u.set_id)
                AND c.state = 'held' AND c.asserted_at < u.began)";
    UNCONFIRMED_OF = "
        SELECT u.zone_id, u.name_key, u.rtype, u.set_id, u.since, z.name
        FROM unconfirmed AS u CROSS JOIN owner AS o ON o.id = u.owner_id CROSS JOIN zone AS z ON z.id = u.zone_id
            CROSS JOIN claim AS c ON (c.zone_id, c.name_key, c.rtype, c.owner_id, c.set_id)
                = (u.zone_id, u.name_key, u.rtype, u.owner_id, u.set_id)
        WHERE o.name = ?1 AND c.state = 'held' AND c.asserted_at < u.began";
    DELETE_TOKEN = "DELETE FROM token WHERE id = ?1";
}

/// Rows of one [`WRITE_PLAINS`], [`WRITE_CLAIMS`] or [`WRITE_CHANGES`].
pub(super) const ROWS: usize = 200;

/// [`WRITE_PLAIN`] for [`ROWS`] claims.
///
/// No parameter has a number in statements of many rows: the driver looks up the name of each one, and SQLite looks
/// through all names for it, which took more time than all else that writing is.
pub(super) static WRITE_PLAINS: LazyLock<String> =
    LazyLock::new(|| many(WRITE_CLAIM, "(?, ?, ?, ?, '', ?, ?, ?, 0, NULL, 'held', ?, ?, ?, ?)"));

/// [`WRITE_CLAIM`] for [`ROWS`] claims.
pub(super) static WRITE_CLAIMS: LazyLock<String> =
    LazyLock::new(|| many(WRITE_CLAIM, &format!("({})", ["?"; 15].join(", "))));

/// [`WRITE_CHANGE`] for [`ROWS`] changes of one command: its revision, time, actor, request and door, and for each change
/// its number, owner, zone, name, type, and how it was before and after.
pub(super) static WRITE_CHANGES: LazyLock<String> = LazyLock::new(|| {
    let head = WRITE_CHANGE.find("VALUES").map_or(WRITE_CHANGE, |at| &WRITE_CHANGE[..at]);
    let rows = vec!["(?, ?, ?, ?, ?, ?, ?)"; ROWS].join(", ");
    format!(
        "WITH command (revision, at, actor, request_id, door) AS (VALUES (?, ?, ?, ?, ?)),
            row (item, owner, zone, name, rtype, before, after) AS (VALUES {rows})
        {head} SELECT c.revision, r.item, c.at, c.actor, r.owner, c.request_id, c.door, r.zone, r.name, r.rtype,
            r.before, r.after
        FROM command AS c CROSS JOIN row AS r"
    )
});

/// An INSERT of [`ROWS`] rows of this form.
fn many(one: &str, row: &str) -> String {
    let head = one.find("VALUES").map_or(one, |at| &one[..at]);
    format!("{head} VALUES {}", vec![row; ROWS].join(", "))
}

#[cfg(test)]
mod tests {
    use sqlx::{Executor, Row, SqlSafeStr};

    #[tokio::test]
    async fn every_statement_fits_the_schema_and_none_scans_a_large_table_by_accident() {
        let directory = tempfile::tempdir().expect("a directory");
        let database = directory.path().join("t.db");
        let _lock = super::super::open::lock(&database).expect("the lock");
        let mut connection = super::super::open::connect_writer(&database).await.expect("a store");
        for text in [&super::WRITE_PLAINS, &super::WRITE_CLAIMS, &super::WRITE_CHANGES] {
            (&mut connection).prepare(text.as_str().into_sql_str()).await.expect("a statement of many rows");
        }
        for (name, text) in super::ALL {
            (&mut connection).prepare((*text).into_sql_str()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let whole = [
                "ALL_",
                "CLAIMS_LISTED",
                "HOLDS",
                "OWNER_COUNTS",
                "OWNER_STATES",
                "ZONES_BELOW",
                "CHILDREN",
                "TOKENS",
                "READ_META",
                "COPY_INTO",
                "INTEGRITY",
                "NEWEST_MIGRATION",
                "FORGET_PAGES",
                "TOUCH_META",
                "WRITE_META",
                "SUBTREE",
            ];
            if whole.iter().any(|prefix| name.starts_with(prefix)) || !text.contains(' ') {
                continue;
            }
            let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}"));
            if ["BEGIN IMMEDIATE"].contains(text) {
                continue;
            }
            let steps =
                sqlx::query(explain).fetch_all(&mut connection).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            for step in steps {
                let detail: String = step.get(3);
                for table in ["claim", "c", "m", "o", "z", "owner", "zone"] {
                    assert_ne!(detail, format!("SCAN {table}"), "{name}");
                }
            }
        }
    }
}
