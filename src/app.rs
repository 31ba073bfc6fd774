//! Wiring of the server.

use crate::config::Config;

/// Runs the server until it is told to end.
pub fn serve(_config: Config) -> Result<(), String> {
    Err("this build has no server yet".to_owned())
}
