//! The one way to change anything: commands go in by the [`Handle`], and are durable and served when they come back.

pub mod handle;

use std::path::PathBuf;

pub use handle::{Handle, Request};

use crate::clock::Clock;
use crate::store::{Reader, StoreError};
use crate::wire::name::HashKey;

/// What the controller starts with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The database file; made, with mode 0600, if it is not there. Its lock file is `<database>.lock`, the first
    /// token is written to `<database>.token`.
    pub database: PathBuf,
    /// The clock of commands.
    pub clock: Clock,
    /// Key of the published Snapshot's hashes.
    pub key: HashKey,
}

/// The running controller.
#[derive(Debug)]
pub struct Started {
    /// For commands.
    pub handle: Handle,
    /// For reads.
    pub reader: Reader,
    /// Sentences about rows of the store that could not be read and are not served.
    pub alarms: Vec<String>,
    /// Ends when all handles are gone and everything asked before is answered: then the store is closed and unlocked.
    pub task: tokio::task::JoinHandle<()>,
}

/// Opens the store, loads and publishes what it holds, and starts the controller's task on the current runtime.
pub async fn start(_options: Options) -> Result<Started, StoreError> {
    unimplemented!()
}
