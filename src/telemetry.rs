//! The log: one line per event of the control plane, never one per query.

use std::io::IsTerminal as _;

use crate::config::LogFormat;

/// Starts printing log lines on standard error. A second call changes nothing.
pub fn start(format: LogFormat) {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).with_ansi(colours);
    // An earlier subscriber, as tests may have one, stays.
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(builder.finish()),
        LogFormat::Json => tracing::subscriber::set_global_default(builder.json().finish()),
    };
}
