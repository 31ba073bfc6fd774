//! Opening the store: its lock, its file, its settings and its migrations.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection, SqlitePool};

use super::error::StoreError;
use super::{backup, sql};

static MIGRATIONS: Migrator = sqlx::migrate!();

/// How long a statement waits for another connection's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Read-only connections at once.
const READERS: u32 = 4;
/// Rows that a statement may be ahead of who reads them.
const ROW_BUFFER: usize = 512;
/// SQLite before this can corrupt a WAL database (reliability.md section 3).
const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

/// Keeps other processes away from the store while it lives.
#[derive(Debug)]
pub(super) struct StoreLock {
    /// The database itself, whatever path led to it.
    _database: File,
    /// The file that tells who has the store.
    _who: File,
}

/// The file that stands beside the database, with a suffix put to its whole name.
pub fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Locks the store for this process. The lock is on the database itself, so that a link to it, or a lock file that
/// somebody took away, opens no second way in; the lock file beside it says which process it is. The database is made,
/// with mode 0600, if it is not there.
pub(super) fn lock(database: &Path) -> Result<StoreLock, StoreError> {
    let mut make = OpenOptions::new();
    // Made here and not by SQLite, so that it never has another mode; SQLite's own files beside it follow.
    let own = make.read(true).write(true).create(true).truncate(false).mode(0o600).open(database);
    let own = own.map_err(|error| StoreError::File(database.to_owned(), error))?;
    let beside_it = |error| StoreError::File(database.to_owned(), error);
    let path = beside(&database.canonicalize().map_err(beside_it)?, ".lock");
    let failed = |error| StoreError::File(path.clone(), error);
    let mut who = OpenOptions::new();
    let mut who = who.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    match own.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // Without its process id the sentence is less exact, and true.
            let process = who.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StoreError::InUse { path: database.to_owned(), process });
        }
        Err(TryLockError::Error(error)) => return Err(beside_it(error)),
    }
    who.set_len(0).map_err(failed)?;
    who.rewind().map_err(failed)?;
    writeln!(who, "{}", std::process::id()).map_err(failed)?;
    Ok(StoreLock { _database: own, _who: who })
}

/// Which file stood at the path of the database when it was opened.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    file: (u64, u64),
}

impl Place {
    pub(super) fn of(database: &Path) -> Result<Place, StoreError> {
        let file = file_at(database).map_err(|error| StoreError::File(database.to_owned(), error))?;
        Ok(Place { path: database.to_owned(), file })
    }

    /// Whether the same file stands there now.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match file_at(&self.path) {
            Ok(file) if file == self.file => Ok(()),
            Ok(_) | Err(_) => Err(StoreError::Moved(self.path.clone())),
        }
    }
}

/// Device and number of a file.
fn file_at(path: &Path) -> std::io::Result<(u64, u64)> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn options(database: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(database)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(200)
        .row_buffer_size(ROW_BUFFER)
        .pragma("mmap_size", "0")
}

/// The one connection that writes, with the schema up to date. The file is made if it is not there.
pub(super) async fn connect_writer(database: &Path) -> Result<SqliteConnection, StoreError> {
    let options = options(database)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", "4000");
    let mut connection = options.connect().await?;
    check_version(&mut connection).await?;
    copy_before_migration(&mut connection, database).await?;
    MIGRATIONS.run(&mut connection).await.map_err(|error| match error {
        MigrateError::VersionMissing(_) | MigrateError::VersionTooNew(..) => StoreError::Newer(database.to_owned()),
        other => StoreError::Migration(other),
    })?;
    Ok(connection)
}

/// The number of the newest migration that this version knows.
pub(super) fn newest_migration() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Copies a store that is about to be migrated, as `<database>.before-<newest migration>`: the version that wrote it can
/// read that one.
async fn copy_before_migration(connection: &mut SqliteConnection, database: &Path) -> Result<(), StoreError> {
    let newest = newest_migration();
    // A store that is just being made has no table of migrations.
    let Ok(own) = sqlx::query_scalar::<_, i64>(sql::NEWEST_MIGRATION).fetch_one(&mut *connection).await else {
        return Ok(());
    };
    let copy = beside(database, &format!(".before-{newest}"));
    if own >= newest || copy.exists() {
        return Ok(());
    }
    let mut make = OpenOptions::new();
    make.write(true).create_new(true).mode(0o600).open(&copy).map_err(|error| StoreError::File(copy.clone(), error))?;
    backup::into(connection, &copy).await?;
    tracing::info!("the store is brought up to date; a copy for the version before is {}", copy.display());
    Ok(())
}

/// A connection that reads a store which others have open.
pub(super) async fn connect_reader(database: &Path) -> Result<SqliteConnection, StoreError> {
    Ok(options(database).read_only(true).pragma("wal_autocheckpoint", "0").connect().await?)
}

/// Connections that only read, and never checkpoint.
///
/// While `suspect` is set each of them is made anew: what it keeps of a file that was broken may outlive the mending.
pub(super) fn reader_pool(database: &Path, suspect: Arc<AtomicBool>) -> SqlitePool {
    let options = options(database).read_only(true).pragma("wal_autocheckpoint", "0").pragma("query_only", "1");
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .before_acquire(move |_connection, _about| {
            let is_good = !suspect.load(Ordering::Relaxed);
            Box::pin(async move { Ok(is_good) })
        })
        .connect_lazy_with(options)
}

async fn check_version(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(connection).await?;
    if is_new_enough(&version) { Ok(()) } else { Err(StoreError::OldSqlite(version)) }
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    // 3.52.0 was withdrawn.
    let version = (next(), next(), next());
    version >= OLDEST_SQLITE && version != (3, 52, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_the_wal_reset_bug_are_refused() {
        for (version, wanted) in
            [("3.51.3", true), ("3.51.2", false), ("3.7.0", false), ("3.52.0", false), ("3.53.1", true), ("4", true)]
        {
            assert_eq!(is_new_enough(version), wanted, "{version}");
        }
    }

    #[test]
    fn a_second_process_is_told_who_has_the_store() {
        let directory = tempfile::tempdir().expect("a directory");
        let database = directory.path().join("t.db");
        let first = lock(&database).expect("the lock");
        let error = lock(&database).expect_err("it is taken").to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        // Neither a link nor a lock file that is gone is a way in.
        for (at, link) in ["symbolic.db", "hard.db"].iter().enumerate() {
            let link = directory.path().join(link);
            match at {
                0 => std::os::unix::fs::symlink(&database, &link).expect("a link"),
                _ => std::fs::hard_link(&database, &link).expect("a link"),
            }
            lock(&link).expect_err("it is taken");
        }
        std::fs::remove_file(beside(&database, ".lock")).expect("the lock file");
        lock(&database).expect_err("it is taken");
        drop(first);
        lock(&database).expect("the lock is free again");
    }
}
