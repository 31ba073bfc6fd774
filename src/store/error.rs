//! What can go wrong with the store, and what the caller can do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why the store did not do what it was asked for.
#[derive(Debug)]
pub enum StoreError {
    /// Another process has the store open.
    InUse {
        /// The database.
        path: PathBuf,
        /// The process id that the first one left in the lock file, if it can be read.
        process: Option<u32>,
    },
    /// The file was written by a newer version of the program.
    Newer(PathBuf),
    /// The file was deleted or replaced while the server had it open.
    Moved(PathBuf),
    /// The SQLite library is older than 3.51.3 and may corrupt the file.
    OldSqlite(String),
    /// A file beside the database (lock, token) could not be written or read.
    File(PathBuf, std::io::Error),
    /// The database is locked, full, corrupt or gone.
    Database(sqlx::Error),
    /// A migration failed.
    Migration(sqlx::migrate::MigrateError),
    /// The operating system gave no random numbers.
    Random(getrandom::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::InUse { path, process: Some(process) } => {
                write!(f, "the store {} is in use by process {process}: stop that one first", path.display())
            }
            StoreError::InUse { path, process: None } => {
                write!(f, "the store {} is in use by another process: stop that one first", path.display())
            }
            StoreError::Newer(path) => write!(
                f,
                "the store {} was written by a newer tenured: install that version, or restore the backup it made",
                path.display()
            ),
            StoreError::Moved(path) => write!(
                f,
                "the store {} was deleted or replaced while it was open: put the file back, or restart the server with the \
                 one that is there",
                path.display()
            ),
            StoreError::OldSqlite(version) => {
                write!(
                    f,
                    "SQLite {version} can corrupt a store: 3.51.3 or newer is needed, so build with the bundled one"
                )
            }
            StoreError::File(path, error) => write!(f, "{}: {error}", path.display()),
            StoreError::Database(error) => write!(f, "the store cannot be used: {error}"),
            StoreError::Migration(error) => write!(f, "the store cannot be brought up to date: {error}"),
            StoreError::Random(error) => write!(f, "no random numbers from the operating system: {error}"),
        }
    }
}

impl StoreError {
    /// The sentence with the path of the database, which most causes do not name: for the operator, not for the API.
    pub fn at(&self, database: &Path) -> String {
        match self {
            StoreError::InUse { .. } | StoreError::Newer(_) | StoreError::Moved(_) | StoreError::File(_, _) => {
                self.to_string()
            }
            StoreError::OldSqlite(_) | StoreError::Database(_) | StoreError::Migration(_) | StoreError::Random(_) => {
                format!("{}: {self}", database.display())
            }
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::File(_, error) => Some(error),
            StoreError::Database(error) => Some(error),
            StoreError::Migration(error) => Some(error),
            StoreError::InUse { .. }
            | StoreError::Newer(_)
            | StoreError::Moved(_)
            | StoreError::OldSqlite(_)
            | StoreError::Random(_) => None,
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> StoreError {
        StoreError::Database(error)
    }
}
