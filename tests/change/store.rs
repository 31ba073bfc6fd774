//! The store under what goes wrong: crashes, broken rows, a lock, a second process (reliability.md sections 2 and 3).

use tenured::control::{self, Options};
use tenured::ledger::code::Code;
use tenured::store::StoreError;
use tenured::wire::name::HashKey;
use tenured::zone::walk::Trust;

use self::outside::Sql;
use crate::support::{Server, name};

/// Statements on the database file from outside the server.
pub(crate) mod outside {
    use std::path::Path;

    use sqlx::{ConnectOptions, Connection, SqliteConnection};

    pub(crate) struct Sql(SqliteConnection);

    impl Sql {
        pub(crate) async fn open(database: &Path) -> Sql {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(database).foreign_keys(false);
            Sql(options.pragma("ignore_check_constraints", "1").connect().await.expect("the database"))
        }

        pub(crate) async fn run(&mut self, text: &'static str) {
            sqlx::query(text).execute(&mut self.0).await.unwrap_or_else(|error| panic!("{text}: {error}"));
        }

        pub(crate) async fn close(self) {
            self.0.close().await.expect("closing");
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_copy_is_taken_at_any_moment() {
    let server = Server::with_zone().await;
    for number in 0..20 {
        server.put("web", &format!("h{number}.example.com. A 192.0.2.{number}")).await.expect("a write");
        // What kill -9 leaves: the files as they are now, without a checkpoint.
        let copy = tempfile::tempdir().expect("a directory");
        for suffix in ["", "-wal"] {
            let file = format!("tenured.db{suffix}");
            std::fs::copy(server.directory.path().join(&file), copy.path().join(&file)).expect("a copy");
        }
        let after = Server::start_in(copy, server.clock.clone()).await;
        for written in 0..=number {
            assert_eq!(after.values(&format!("h{written}.example.com."), "A"), [format!("192.0.2.{written}")]);
        }
        assert_eq!(after.serial("example.com."), server.serial("example.com."));
        assert_eq!(after.revision(), server.revision());
        after.stop().await;
    }
}

#[tokio::test]
async fn rows_that_cannot_be_read_are_left_out_with_an_alarm() {
    let server = Server::with_zone().await;
    server.create_zone("example.net.").await;
    server
        .apply(
            "web",
            &[
                "www.example.com. A 192.0.2.1",
                "mail.example.com. A 192.0.2.2",
                "a.example.com. A 192.0.2.3",
                "b.example.com. A 192.0.2.4",
                "c.example.com. CNAME x.example.",
                "d.example.com. A 192.0.2.5",
            ],
        )
        .await;
    let database = server.database();
    let (directory, clock) = server.stop().await;
    let mut sql = Sql::open(&database).await;
    sql.run("UPDATE claim SET data = x'0300C00002' WHERE name_key = CAST('mail' || char(0) AS BLOB)").await;
    sql.run("UPDATE claim SET state = 'frozen' WHERE name_key = CAST('a' || char(0) AS BLOB)").await;
    sql.run("UPDATE claim SET name_key = x'6205' WHERE name_key = CAST('b' || char(0) AS BLOB)").await;
    sql.run(
        "INSERT INTO claim SELECT zone_id, name_key, 1, owner_id, set_id, ttl, x'0400C0000201', alias, share, \
         labels, state, asserted_at, created_at, created_revision, revision FROM claim WHERE name_key = \
         CAST('c' || char(0) AS BLOB)",
    )
    .await;
    sql.run("UPDATE claim SET owner_id = 4000000 WHERE name_key = CAST('d' || char(0) AS BLOB)").await;
    sql.run("DELETE FROM claim WHERE rtype = 6 AND zone_id = (SELECT id FROM zone WHERE name = 'example.net.')").await;
    sql.run(
        "INSERT INTO zone (id, name, owner_id, serial, default_ttl, nameservers, contact, upstream_group, created_at, \
         revision) SELECT 77, 'bad..name.', owner_id, serial, default_ttl, nameservers, contact, NULL, \
         created_at, revision FROM zone WHERE name = 'example.com.'",
    )
    .await;
    sql.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) INSERT INTO claim \
         SELECT 77, CAST('x' || i || char(0) AS BLOB), 1, 1, '', 300, x'00', NULL, 0, NULL, 'held', 0, 0, 0, \
         0 FROM n",
    )
    .await;
    sql.close().await;
    // With a last-good file the whole zone would be served from there.
    for file in std::fs::read_dir(directory.path()).expect("the folder").flatten() {
        if file.file_name().to_string_lossy().contains(".snapshot") {
            std::fs::remove_file(file.path()).expect("it goes");
        }
    }
    let server = Server::start_in(directory, clock).await;
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    for lost in ["mail", "a", "b", "c", "d"] {
        assert!(server.served(&format!("{lost}.example.com.")).is_empty(), "{lost}");
    }
    assert_eq!(server.served("example.net.").len(), 2);
    for wanted in [
        "mail.example.com. A",
        "state frozen",
        "owner is not there",
        "bad..name.",
        "example.net. has no SOA",
        "more rows",
    ] {
        assert!(server.alarms.iter().any(|alarm| alarm.contains(wanted)), "{wanted}: {:?}", server.alarms);
    }
    assert!(server.alarms.len() <= 201);
    // The owner's next write puts it right.
    server.apply("web", &["mail.example.com. A 192.0.2.2", "www.example.com. A 192.0.2.1"]).await;
    assert_eq!(server.values("mail.example.com.", "A"), ["192.0.2.2"]);
    server.put("web", "www.example.net. A 192.0.2.7").await.expect("a zone without SOA in the store takes writes");
    server.put("web", "example.net. A 192.0.2.7").await.expect("and gets one again when its apex is written");
    assert!(server.claims_at("example.net.").await.contains(&"example.net. SOA system:tenured held".to_owned()));
}

#[tokio::test]
async fn writes_are_refused_and_answers_go_on_while_the_store_is_locked() {
    let server = Server::with_zone().await;
    server.apply("web", &["www.example.com. A 192.0.2.1"]).await;
    let mut sql = Sql::open(&server.database()).await;
    sql.run("BEGIN EXCLUSIVE").await;
    let refused = server.put("web", "www.example.com. A 192.0.2.2").await.expect_err("the store is locked");
    assert_eq!((refused.code(), refused.code().http_status()), (Code::StorageUnavailable, 503));
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    sql.run("ROLLBACK").await;
    server.put("web", "www.example.com. A 192.0.2.2").await.expect("the lock is gone");
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.2"]);
}

#[tokio::test]
async fn a_second_server_on_the_same_store_is_told_who_is_first() {
    let server = Server::start().await;
    let options = Options {
        database: server.database(),
        clock: server.clock.clone(),
        key: HashKey::new(1, 2),
        trust: Trust::default(),
        terms: Default::default(),
        accept_older_store: false,
    };
    let error = control::start(options).await.expect_err("it is in use");
    assert!(matches!(error, StoreError::InUse { process: Some(process), .. } if process == std::process::id()));
    server.restart().await;
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_with_a_sentence() {
    let server = Server::start().await;
    let database = server.database();
    let (_directory, clock) = server.stop().await;
    let mut sql = Sql::open(&database).await;
    sql.run(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, \
         'later', 1, x'00', 0)",
    )
    .await;
    sql.close().await;
    let error = control::start(Options {
        database,
        clock,
        key: HashKey::new(1, 2),
        trust: Trust::default(),
        terms: Default::default(),
        accept_older_store: false,
    })
    .await
    .expect_err("it is newer");
    assert!(matches!(error, StoreError::Newer(_)), "{error}");
}

#[tokio::test]
async fn names_with_any_octet_pass_through_the_store() {
    let server = Server::with_zone().await;
    let texts = ["'\\\"$\\@\\\\\\;.example.com.", "\\000\\001\\010\\255.example.com.", "..\\047etc.example.com."];
    let odd: Vec<&str> = texts.iter().copied().filter(|text| tenured::wire::name::Name::parse(text).is_ok()).collect();
    assert_eq!(odd.len(), 2);
    for at in &odd {
        server.put("o'; DROP TABLE claim; --", &format!("{at} TXT hello")).await.expect("a write");
    }
    let server = server.restart().await;
    for at in odd {
        assert_eq!(server.values(at, "TXT"), ["\"hello\""]);
        assert_eq!(server.claims_at(at).await, [format!("{} TXT o'; DROP TABLE claim; -- held", name(at))]);
    }
}
