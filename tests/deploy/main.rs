//! What stands in `deploy/` is held against the server: names of metrics, alarms and keys.

#[path = "../support/dns.rs"]
#[allow(dead_code, reason = "the server's support asks by it")]
mod dns;
mod monitoring;
mod packaging;
#[path = "../support/server.rs"]
#[allow(dead_code, reason = "other test programs use more of it")]
mod server;

use std::path::{Path, PathBuf};

/// A file of the repository.
pub(crate) fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// Its text.
pub(crate) fn text(below: &str) -> String {
    std::fs::read_to_string(path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
}
