//! Manual pages, one for the program and one for each command, made of the same definition as the help.

use std::path::Path;

use clap::{Command, CommandFactory as _};

use super::Arguments;
use super::failure::Failure;

/// Writes `tenured.1`, `tenured-serve.1` and so on into a folder.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = Arguments::command();
    // Global flags reach the commands.
    command.build();
    page(&command, "tenured", folder).map_err(failed)
}

fn page(command: &Command, name: &str, folder: &Path) -> std::io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name).render(&mut text)?;
    std::fs::write(folder.join(format!("{name}.1")), text)?;
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    for inner in shown {
        page(inner, &format!("{name}-{}", inner.get_name()), folder)?;
    }
    Ok(())
}
