//! `tenured config …`: what the server would be told, where each value comes from, and a running server that reads it again.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Body, Client};
use super::failure::Failure;
use super::output::{self, Format};
use crate::api::reload::ReloadDocument;
use crate::config::{PlaceFlags, ServeFlags, Settings};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Whether file, environment and flags are in order: exits with 0, or with 2 and what is wrong where
    Check(Box<ServeFlags>),
    /// All keys with their values and where each comes from; secrets are not shown
    Show(Box<ServeFlags>),
    /// Have the running server read its configuration again; shows what changed
    Reload,
}

/// Runs what needs no server; none for what does.
pub(super) fn run_here(
    command: &Command,
    place: &PlaceFlags,
    environment: impl Iterator<Item = (String, String)>,
    format: Format,
) -> Option<Result<(), Failure>> {
    match command {
        Command::Check(flags) => Some(check(place, flags, environment)),
        Command::Show(flags) => Some(show(place, flags, environment, format)),
        Command::Reload => None,
    }
}

fn check(
    place: &PlaceFlags,
    flags: &ServeFlags,
    environment: impl Iterator<Item = (String, String)>,
) -> Result<(), Failure> {
    let settings = Settings::load(place, flags, environment).map_err(|error| Failure::Usage(error.to_string()))?;
    crate::app::check(&settings.config).map_err(Failure::Usage)?;
    output::print("the configuration is in order\n")
}

fn show(
    place: &PlaceFlags,
    flags: &ServeFlags,
    environment: impl Iterator<Item = (String, String)>,
    format: Format,
) -> Result<(), Failure> {
    let settings = Settings::load(place, flags, environment).map_err(|error| Failure::Usage(error.to_string()))?;
    let entries = settings.entries();
    match format {
        Format::Json => {
            let shown =
                entries.iter().map(|entry| json!({"key": entry.key, "value": entry.shown(), "source": entry.source}));
            output::print_json(&shown.collect::<Vec<Value>>())
        }
        Format::Name => output::print_names(entries.iter().map(|entry| entry.key.as_str())),
        Format::Table => {
            let mut text = String::new();
            for entry in entries {
                text.push_str(&format!("{} = {}  # {}\n", entry.key, entry.shown(), entry.source));
            }
            for key in settings.unset() {
                text.push_str(&format!("# {key} is not set\n"));
            }
            output::print(&text)
        }
    }
}

/// Has the server read it again.
pub(super) async fn reload(client: &Client, format: Format) -> Result<(), Failure> {
    let (_, shown): (_, ReloadDocument) = client.write(Method::POST, "/v1/config/reload", &[], Body::Nothing).await?;
    match format {
        Format::Json => output::print_json(&shown),
        Format::Name => output::print_names(shown.changes.iter().map(|change| change.key.as_str())),
        Format::Table => {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            let row = |change: &crate::api::reload::ChangedKeyDocument| {
                vec![change.key.clone(), value(&change.before), value(&change.after), change.effect.clone()]
            };
            let rows = shown.changes.iter().map(row).collect();
            output::print_table(&["KEY", "BEFORE", "AFTER", "EFFECT"], rows, "nothing changed")
        }
    }
}
