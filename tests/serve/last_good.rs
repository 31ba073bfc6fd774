//! Static stability: which of the store and the last-good file counts at a start, row by row of the table in
//! docs/operations.md, and that a server whose store is away answers, says so, and heals by itself.

use std::path::{Path, PathBuf};

use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::server::{Server, eventually, run, sample_zones};

/// A folder with a store and a last-good file of `www.example.com` at 192.0.2.1 and 192.0.2.2.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn path(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("tenured.db{suffix}"))
    }

    fn start(&self, arguments: &[&str]) -> Server {
        Server::start(self.folder.path(), arguments)
    }

    /// Takes the store away, to a place outside.
    fn take_store(&self) -> tempfile::TempDir {
        let away = tempfile::tempdir().expect("a folder");
        for suffix in ["", "-wal", "-shm"] {
            let (from, to) = (self.path(suffix), away.path().join(format!("tenured.db{suffix}")));
            if from.exists() {
                std::fs::copy(&from, to).expect("a copy");
                std::fs::remove_file(from).expect("it goes");
            }
        }
        away
    }

    fn put_store(&self, away: &Path) {
        for suffix in ["-wal", "-shm", ""] {
            let from = away.join(format!("tenured.db{suffix}"));
            if from.exists() {
                std::fs::copy(from, self.path(suffix)).expect("a copy");
            }
        }
    }

    /// Statements on the store while no server has it.
    fn sql(&self, statements: &'static [&'static str]) {
        let path = self.path("");
        run(async move {
            let mut connection = SqliteConnectOptions::new().filename(path).connect().await.expect("a connection");
            for statement in statements {
                sqlx::query(*statement).execute(&mut connection).await.expect("a statement");
            }
        });
    }
}

fn set(server: &Server, address: &str) -> u16 {
    let body = json!({"ttl": 60, "values": [address]});
    server.api("PUT", "/v1/owners/team-a/records/last.example.com./A", Some(body)).0
}

fn last(server: &Server) -> Vec<String> {
    server.ask("last.example.com", "A").data().into_iter().map(str::to_owned).collect()
}

/// Two revisions; the last-good file has the second.
fn place() -> Place {
    let place = Place { folder: tempfile::tempdir().expect("a folder") };
    let server = place.start(&["--zones", &sample_zones().display().to_string()]);
    assert!(matches!(set(&server, "192.0.2.1"), 200 | 201));
    server.interrupt();
    std::fs::copy(place.path(""), place.path(".old")).expect("a backup");
    let server = place.start(&[]);
    assert!(matches!(set(&server, "192.0.2.2"), 200 | 201));
    server.interrupt();
    assert!(place.path(".snapshot").exists() && place.path(".snapshot.1").exists());
    place
}

/// It answers from the file, says that it is degraded, and refuses writes.
fn is_degraded(server: &Server, why: &str) {
    assert_eq!(last(server), ["192.0.2.2"]);
    let ready = server.ready();
    assert!(ready.starts_with("ready\n") && ready.contains("degraded"), "{ready}");
    assert!(ready.contains("[!] store_unavailable") && ready.contains(why), "{ready}");
    assert!(server.greeting.iter().any(|line| line.contains("the last-good file")), "{:?}", server.greeting);
}

#[test]
fn a_store_that_is_readable_and_not_older_counts() {
    let place = place();
    let server = place.start(&[]);
    assert_eq!(last(&server), ["192.0.2.2"]);
    assert!(!server.ready().contains("[!]"), "{}", server.ready());
    assert!(matches!(set(&server, "192.0.2.3"), 200 | 201));
    server.kill();
    // Killed before the file has it: the store is newer, and counts.
    let server = place.start(&[]);
    assert_eq!(last(&server), ["192.0.2.3"]);
}

#[test]
fn an_older_store_is_not_taken_without_the_word_of_an_operator() {
    let place = place();
    assert!(!place.path("-wal").exists(), "a server that ends in order leaves one file");
    std::fs::copy(place.path(".old"), place.path("")).expect("the backup");
    let server = place.start(&[]);
    is_degraded(&server, "--accept-older-store");
    assert_eq!(set(&server, "192.0.2.3"), 503);
    server.interrupt();
    let server = place.start(&["--accept-older-store"]);
    assert_eq!(last(&server), ["192.0.2.1"]);
    assert!(matches!(set(&server, "192.0.2.3"), 200 | 201));
    server.interrupt();
    let server = place.start(&[]);
    assert_eq!(last(&server), ["192.0.2.3"], "and then it is the store like any other");
}

#[test]
fn another_store_counts_and_the_file_is_set_aside() {
    let place = place();
    let other = Place { folder: tempfile::tempdir().expect("a folder") };
    other.start(&[]).interrupt();
    place.take_store();
    place.put_store(other.folder.path());
    std::fs::copy(other.path(".token"), place.path(".token")).expect("its token");
    let server = place.start(&[]);
    assert_eq!(server.ask("last.example.com", "A").rcode, "REFUSED");
    assert!(place.path(".snapshot.aside").exists());
}

#[test]
fn a_store_that_is_gone_is_waited_for_and_never_replaced_by_an_empty_one() {
    let place = place();
    let away = place.take_store();
    let server = place.start(&["--zones", &sample_zones().display().to_string()]);
    is_degraded(&server, "is gone");
    assert_eq!(set(&server, "192.0.2.3"), 503);
    assert!(!place.path("").exists(), "an empty store was made");
    place.put_store(away.path());
    eventually(15, "writes", || set(&server, "192.0.2.3"), |status| matches!(status, 200 | 201));
    assert_eq!(last(&server), ["192.0.2.3"]);
    eventually(5, "no alarm", || server.ready(), |text| !text.contains("[!]") && !text.contains("degraded"));
}

#[test]
fn a_store_that_is_empty_corrupt_or_locked_is_waited_for() {
    let place = place();
    let away = place.take_store();
    for (what, octets) in [("empty", vec![]), ("garbage", vec![0x5A; 40_000])] {
        std::fs::write(place.path(""), &octets).expect("a file");
        let server = place.start(&[]);
        is_degraded(&server, if octets.is_empty() { "is gone" } else { "store" });
        assert_eq!(set(&server, "192.0.2.3"), 503, "{what}");
        server.interrupt();
        assert_eq!(std::fs::read(place.path("")).expect("the file"), octets, "{what}: it was written");
    }
    place.put_store(away.path());
    let path = place.path("");
    let (locked, unlock) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let holder = std::thread::spawn(move || {
        run(async move {
            let mut connection = SqliteConnectOptions::new().filename(path).connect().await.expect("a connection");
            sqlx::query("PRAGMA locking_mode = EXCLUSIVE").execute(&mut connection).await.expect("a pragma");
            sqlx::query("BEGIN EXCLUSIVE").execute(&mut connection).await.expect("the lock");
            locked.0.send(()).expect("the test waits");
            // Until the test has seen what it wants to see.
            let _ = unlock.1.recv();
            sqlx::query("ROLLBACK").execute(&mut connection).await.expect("the end of the lock");
        });
    });
    locked.1.recv().expect("the lock");
    let server = place.start(&[]);
    is_degraded(&server, "locked");
    unlock.0.send(()).expect("the holder waits");
    holder.join().expect("the holder ends");
    eventually(20, "writes", || set(&server, "192.0.2.3"), |status| matches!(status, 200 | 201));
}

#[test]
fn a_zone_whose_rows_are_lost_is_served_as_it_was_and_the_rest_from_the_store() {
    let place = place();
    place.sql(&["DELETE FROM claim WHERE zone_id = (SELECT id FROM zone WHERE name = 'example.com.')"]);
    let server = place.start(&[]);
    assert_eq!(last(&server), ["192.0.2.2"]);
    assert_eq!(server.ask("example.com", "SOA").rcode, "NOERROR");
    assert!(server.ready().contains("without a word in its history"), "{}", server.ready());
    assert!(server.api("GET", "/v1/zones", None).0 == 200);
}

#[test]
fn a_broken_file_gives_way_to_the_one_before_and_both_to_the_store() {
    let place = place();
    let flip = |suffix: &str| {
        let mut octets = std::fs::read(place.path(suffix)).expect("the file");
        let middle = octets.len() / 2;
        octets[middle] ^= 1;
        std::fs::write(place.path(suffix), octets).expect("the file");
    };
    flip(".snapshot");
    let away = place.take_store();
    let server = place.start(&[]);
    assert_eq!(last(&server), ["192.0.2.1"], "the one before");
    server.kill();
    place.put_store(away.path());
    flip(".snapshot.1");
    let server = place.start(&[]);
    assert_eq!(last(&server), ["192.0.2.2"], "the store");
    assert!(matches!(set(&server, "192.0.2.3"), 200 | 201));
}

#[test]
fn the_file_is_written_while_the_server_runs_and_its_failure_is_an_alarm_and_no_failed_command() {
    let place = place();
    let server = place.start(&[]);
    assert!(matches!(set(&server, "192.0.2.4"), 200 | 201));
    let octets = || super::metrics::sample(&server, "tenured_last_good_bytes");
    eventually(30, "the file", octets, |octets| *octets > 100.0);
    assert_eq!(super::metrics::sample(&server, "tenured_last_good_age_seconds"), 0.0);
    // A folder in the way of the unfinished file, which even root cannot write through.
    std::fs::create_dir(place.path(".snapshot.new")).expect("a folder");
    assert!(matches!(set(&server, "192.0.2.5"), 200 | 201));
    eventually(30, "the alarm", || server.ready(), |text| text.contains("[!] last_good"));
    assert!(matches!(set(&server, "192.0.2.6"), 200 | 201));
    std::fs::remove_dir(place.path(".snapshot.new")).expect("it goes");
    eventually(30, "no alarm", || server.ready(), |text| !text.contains("[!]"));
}
