//! The command line: `serve` is the server, all else is a client of the API or works on files (operations.md section 1).
//! Data goes to stdout, messages to stderr; exit codes are those of `failure::Failure`.

mod alias;
mod apply;
mod backup;
mod client;
mod completion;
mod config;
mod diff;
mod door_client;
mod explain;
mod failure;
mod findings;
mod follow;
mod history;
mod hold;
mod manual;
mod migrate;
mod output;
mod owner;
mod record;
mod report;
mod revert;
mod status;
mod sweep;
mod token;
mod webhook_proxy;
mod zone;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{Config, PlaceFlags, ServeFlags, Settings};
use client::{Client, ClientFlags};
use failure::Failure;
use output::Format;

/// An authoritative DNS server in which every record has an owner.
#[derive(Debug, Parser)]
#[command(name = "tenured", version, max_term_width = 100, propagate_version = false)]
struct Arguments {
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    client: ClientFlags,
    /// Form of the output
    #[arg(short = 'o', long = "output", global = true, value_enum, default_value_t, value_name = "FORM")]
    format: Format,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server
    Serve(ServeFlags),
    /// Zones: list, create, show, delete, import, export, check
    #[command(subcommand)]
    Zone(zone::Command),
    /// Records: list, set, delete
    #[command(subcommand)]
    Record(record::Command),
    /// Make the records of a file the full set of an owner
    Apply(apply::Flags),
    /// What apply would change: exits with 0 if nothing, 1 if something, 2 on an error
    Diff(diff::Flags),
    /// Owners: list, show, client, tree, delete, transfer, renew
    #[command(subcommand)]
    Owner(owner::Command),
    /// Deletes that the brake holds: list, approve, discard
    #[command(subcommand)]
    Hold(hold::Command),
    /// ALIAS records and the state of their targets: list, show, refresh, check
    #[command(subcommand)]
    Alias(alias::Command),
    /// Why a name answers what it answers
    Explain(explain::Flags),
    /// API tokens: create, list, delete
    #[command(subcommand)]
    Token(token::Command),
    /// What changed, when and by whom
    History(history::Flags),
    /// Records that nobody may own any more
    Orphans(findings::OrphanFlags),
    /// List, put aside or delete what nobody owns any more; undo that
    Sweep(sweep::Flags),
    /// Who wants what another holds: refused and queued records
    Conflicts,
    /// Record sets that do not come to rest: who writes them, and in which rhythm
    Flaps,
    /// Undo what a revision changed
    Revert(revert::Flags),
    /// Take zones over from another server, and compare the answers: powerdns, zonefiles
    #[command(subcommand)]
    Migrate(migrate::Command),
    /// The configuration: check, show, reload
    #[command(subcommand)]
    Config(config::Command),
    /// The sidecar of external-dns: forwards its calls and keeps it alive while the server is away
    WebhookProxy(webhook_proxy::Flags),
    /// Copy the store into a new file, while a server may write to it
    Backup {
        /// The file; it must not be there yet
        file: std::path::PathBuf,
    },
    /// Put a copy made by `backup` in the place of the store; no server may have it open
    Restore {
        /// The copy
        file: std::path::PathBuf,
    },
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Manual {
        /// The folder
        folder: std::path::PathBuf,
    },
    /// A script for completion of commands and flags: bash, zsh, fish
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: completion::Shell,
    },
    /// Whether the server is ready, and what is wrong with it
    Health,
    /// The version of this program, and of the server if one answers
    Version,
}

/// Runs the program with the arguments and the environment of the process.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are no errors: clap prints those to stdout and says 0.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { place, client, format, command } = arguments;
    let environment =
        || std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    if let Command::Serve(flags) = command {
        let settings = Settings::load(&place, &flags, environment());
        let settings = settings.map_err(|error| Failure::Usage(error.to_string()))?;
        return crate::app::serve(settings, place, flags).map_err(Failure::failed);
    }
    if let Command::Config(command) = &command
        && let Some(done) = config::run_here(command, &place, environment(), format)
    {
        return done;
    }
    if let Command::Zone(zone::Command::Check(flags)) = &command {
        return zone::check(flags, format);
    }
    if let Command::Manual { folder } = &command {
        return manual::write(folder);
    }
    if let Command::Completion { shell } = command {
        return completion::run(shell);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the program could not start: {error}")))?;
    runtime.block_on(async move {
        match &command {
            Command::Backup { file } => return backup::backup(file, &place, environment(), format).await,
            Command::Restore { file } => return backup::restore(file, &place, environment(), format).await,
            _ => {}
        }
        if let Command::WebhookProxy(flags) = command {
            let (url, token_file) = client.place(environment());
            return webhook_proxy::run(flags, url, token_file).await;
        }
        let client = Client::new(&client, &place, environment())?;
        match command {
            // These were done above.
            Command::Serve(_)
            | Command::Completion { .. }
            | Command::Manual { .. }
            | Command::Backup { .. }
            | Command::WebhookProxy(_)
            | Command::Restore { .. } => Ok(()),
            Command::Zone(command) => zone::run(command, &client, format).await,
            Command::Record(command) => record::run(command, &client, format).await,
            Command::Apply(flags) => apply::run(flags, &client, format).await,
            Command::Diff(flags) => diff::run(flags, &client, format).await,
            Command::Owner(command) => owner::run(command, &client, format).await,
            Command::Hold(command) => hold::run(command, &client, format).await,
            Command::Alias(command) => alias::run(command, &client, format).await,
            Command::Explain(flags) => explain::run(flags, &client, format).await,
            Command::Token(command) => token::run(command, &client, format).await,
            Command::History(flags) => history::run(flags, &client, format).await,
            Command::Orphans(flags) => findings::orphans(&flags, &client, format).await,
            Command::Sweep(flags) => sweep::run(flags, &client, format).await,
            Command::Conflicts => findings::conflicts(&client, format).await,
            Command::Flaps => findings::flaps(&client, format).await,
            Command::Revert(flags) => revert::run(flags, &client, format).await,
            Command::Migrate(command) => {
                let config = Config::load(&place, &ServeFlags::default(), environment())
                    .map_err(|error| Failure::Usage(error.to_string()))?;
                migrate::run(command, &client, &config, format).await
            }
            Command::Config(_) => config::reload(&client, format).await,
            Command::Health => status::health(&client).await,
            Command::Version => status::version(&client, format).await,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn addresses_of_serve_are_read_or_refused() {
        let read = |arguments: &[&str]| Arguments::try_parse_from([&["tenured", "serve"], arguments].concat());
        let read_well = read(&["--dns", "192.0.2.1:53", "--dns", "[2001:db8::1]:53", "--upstream", "192.0.2.53"]);
        let Ok(Arguments { command: Command::Serve(flags), .. }) = read_well else { panic!("no flags") };
        assert_eq!((flags.dns.len(), flags.upstreams[0].port()), (2, 53));
        assert!(read(&["--http", "nowhere"]).is_err());
        assert!(read(&["--udp-threads", "0"]).is_err());
    }
}
