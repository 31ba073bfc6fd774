//! Copies of the store: a consistent one while a server has it open, one before each migration, and the way back.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::error::StoreError;
use super::open::{self, beside};
use super::sql;

/// What a copy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Its octets.
    pub octets: u64,
    /// The revision of the last command that it has.
    pub revision: u64,
}

/// Writes a consistent copy of a store into a file that is not there yet, mode 0600, and checks it. A server may have the
/// store open, and goes on writing.
pub async fn copy(database: &Path, to: &Path) -> Result<Copy, StoreError> {
    let at = |error| StoreError::File(to.to_owned(), error);
    if !database.exists() {
        return Err(StoreError::File(database.to_owned(), io::ErrorKind::NotFound.into()));
    }
    // Made here, so that it never has another mode and takes nobody's place; SQLite fills an empty file.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(at)?;
    let copied = fill(database, to).await;
    if copied.is_err() {
        // What is no copy must not be taken for one.
        let _ = std::fs::remove_file(to);
    }
    copied
}

async fn fill(database: &Path, to: &Path) -> Result<Copy, StoreError> {
    let at = |error| StoreError::File(to.to_owned(), error);
    let mut connection = open::connect_reader(database).await?;
    into(&mut connection, to).await?;
    connection.close().await?;
    let copy = check(to).await?;
    File::open(to).and_then(|file| file.sync_all()).map_err(at)?;
    sync_folder(to).map_err(at)?;
    Ok(copy)
}

/// Copies what a connection sees into an empty file.
pub(super) async fn into(connection: &mut SqliteConnection, to: &Path) -> Result<(), StoreError> {
    let text = to.to_str().ok_or_else(|| {
        StoreError::File(to.to_owned(), io::Error::new(io::ErrorKind::InvalidInput, "its path is no UTF-8"))
    })?;
    sqlx::query(sql::COPY_INTO).bind(text).execute(connection).await?;
    Ok(())
}

/// Whether a file is a whole store of this version or an older one.
pub async fn check(file: &Path) -> Result<Copy, StoreError> {
    let at = |error| StoreError::File(file.to_owned(), error);
    let octets = std::fs::metadata(file).map_err(at)?.len();
    // Immutable: nothing is made beside it, and nobody writes it.
    let options = SqliteConnectOptions::new().filename(file).read_only(true).immutable(true);
    let mut connection = options.connect().await?;
    let said: String = sqlx::query_scalar(sql::INTEGRITY).fetch_one(&mut connection).await?;
    if said != "ok" {
        return Err(StoreError::File(file.to_owned(), io::Error::new(io::ErrorKind::InvalidData, said)));
    }
    let (revision, ..): (i64, i64, i64, String) = sqlx::query_as(sql::READ_META).fetch_one(&mut connection).await?;
    let newest: i64 = sqlx::query_scalar(sql::NEWEST_MIGRATION).fetch_one(&mut connection).await?;
    connection.close().await?;
    if newest > open::newest_migration() {
        return Err(StoreError::Newer(file.to_owned()));
    }
    Ok(Copy { octets, revision: u64::try_from(revision).unwrap_or(0) })
}

/// Puts a copy in the place of a store that no server has open. What was there is kept as `<database>.before-restore`, and
/// given back as a path.
pub async fn restore(from: &Path, database: &Path) -> Result<(Copy, Option<PathBuf>), StoreError> {
    let copy = check(from).await?;
    let at = |error| StoreError::File(database.to_owned(), error);
    let was_there = database.exists();
    let lock = open::lock(database)?;
    let unfinished = beside(database, ".restoring");
    let mut make = OpenOptions::new();
    let mut file = make.write(true).create(true).truncate(true).mode(0o600).open(&unfinished).map_err(at)?;
    io::copy(&mut File::open(from).map_err(at)?, &mut file).map_err(at)?;
    file.sync_all().map_err(at)?;
    let kept = beside(database, ".before-restore");
    for suffix in ["", "-wal", "-shm"] {
        match std::fs::rename(beside(database, suffix), beside(&kept, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(at(error)),
        }
    }
    std::fs::rename(&unfinished, database).map_err(at)?;
    sync_folder(database).map_err(at)?;
    drop(lock);
    if !was_there {
        // The lock made an empty file.
        let _ = std::fs::remove_file(&kept);
    }
    Ok((copy, was_there.then_some(kept)))
}

fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()
}
