//! Copies of the store: one taken while writers write, the way back, one before a migration, and a store that is too new.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::json;
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::server::{Server, run};

fn write(server: &Server, number: u32) -> u16 {
    let body = json!({"ttl": 60, "values": [number.to_string()]});
    server.api("PUT", "/v1/owners/team-a/records/count.example.com./TXT", Some(body)).0
}

fn number(server: &Server) -> u32 {
    let reply = server.ask("count.example.com", "TXT");
    reply.data().first().and_then(|text| text.trim_matches('"').parse().ok()).unwrap_or(0)
}

#[test]
fn a_backup_while_writing_is_whole_and_restores_to_a_moment_between() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU32::new(0));
    let (before, out) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for count in 1.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                assert_eq!(write(&server, count), 200);
                acknowledged.store(count, Ordering::Relaxed);
            }
        });
        while acknowledged.load(Ordering::Relaxed) < 20 {
            std::thread::yield_now();
        }
        let before = acknowledged.load(Ordering::Relaxed);
        let out = server.command(&["backup", "copy.db"]);
        stop.store(true, Ordering::Relaxed);
        (before, out)
    });
    assert!(out.status.success(), "{out:?}");
    let after = acknowledged.load(Ordering::Relaxed);
    let copy = folder.path().join("copy.db");
    let mode = std::os::unix::fs::PermissionsExt::mode(&copy.metadata().expect("the copy").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let again = server.command(&["backup", "copy.db"]);
    assert!(!again.status.success(), "a copy takes nobody's place");
    let busy = server.command(&["restore", "copy.db"]);
    assert!(!busy.status.success() && String::from_utf8_lossy(&busy.stderr).contains("in use"), "{busy:?}");
    server.interrupt();
    let restored = super::server::tenured(folder.path(), &["restore", "copy.db"]);
    assert!(restored.status.success(), "{restored:?}");
    assert!(folder.path().join("tenured.db.before-restore").exists());
    let server = Server::start(folder.path(), &["--accept-older-store"]);
    assert!((before..=after).contains(&number(&server)), "{before} {} {after}", number(&server));
    assert_eq!(write(&server, 5_000), 200);
    std::fs::write(&copy, "no database").expect("a file");
    server.interrupt();
    assert!(!super::server::tenured(folder.path(), &["restore", "copy.db"]).status.success());
    assert_eq!(number(&Server::start(folder.path(), &[])), 5_000, "what is no copy changes nothing");
}

fn connect(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).create_if_missing(true)
}

/// A store as the version before the newest migration left it.
fn older_store(folder: &Path) -> PathBuf {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(migrations).expect("migrations").flatten().map(|one| one.path()).collect();
    files.sort();
    files.pop();
    let (older, path) = (folder.join("older"), folder.join("tenured.db"));
    std::fs::create_dir(&older).expect("a folder");
    for file in files {
        std::fs::copy(&file, older.join(file.file_name().expect("a name"))).expect("a copy");
    }
    let database = path.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let mut connection = connect(&database).connect().await.expect("a store");
        Migrator::new(older).await.expect("migrations").run(&mut connection).await.expect("they run");
        connection.close().await.expect("it closes");
    });
    path
}

#[test]
fn an_older_store_is_copied_and_brought_up_to_date_and_its_version_can_go_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = older_store(folder.path());
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    assert_eq!(write(&server, 7), 200);
    server.interrupt();
    let copies: Vec<PathBuf> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .flatten()
        .map(|one| one.path())
        .filter(|path| path.to_string_lossy().contains("tenured.db.before-"))
        .collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    let versions = Arc::new(std::sync::Mutex::new(Vec::new()));
    for file in [path, copies[0].clone()] {
        let versions = versions.clone();
        run(async move {
            let mut connection = connect(&file).connect().await.expect("a store");
            let newest: i64 = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
                .fetch_one(&mut connection)
                .await
                .expect("a number");
            versions.lock().expect("a list").push(newest);
        });
    }
    let versions = versions.lock().expect("a list").clone();
    assert!(versions[1] < versions[0], "{versions:?}");
}

#[test]
fn a_newer_store_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    Server::start(folder.path(), &[]).interrupt();
    let path = folder.path().join("tenured.db");
    run(async move {
        let mut connection = connect(&path).connect().await.expect("a store");
        let row = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                   VALUES (99999, 'of a later version', 1, x'00', 0)";
        sqlx::query(row).execute(&mut connection).await.expect("a row");
        connection.close().await.expect("it closes");
    });
    let refused = Server::try_start(folder.path(), &[]).err().expect("it does not start");
    assert!(refused.contains("newer tenured") && refused.contains("backup"), "{refused}");
}
