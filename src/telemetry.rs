//! The log: one line per event of the control plane, never one per query.

use std::io::IsTerminal as _;

use crate::config::LogFormat;

/// `println!` that does not mind when nobody reads: a closed pipe or a full disk must end no server and no command whose
/// work is done.
macro_rules! out {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout().lock(), $($part)*);
    }};
}

/// [`out`] on standard error: what is said beside the data.
macro_rules! note {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($part)*);
    }};
}

pub(crate) use {note, out};

/// Starts printing log lines on standard error. A second call changes nothing.
pub fn start(format: LogFormat) {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(colours)
        .log_internal_errors(false);
    // An earlier subscriber, as tests may have one, stays.
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(builder.finish()),
        LogFormat::Json => tracing::subscriber::set_global_default(builder.json().finish()),
    };
}
