//! `tenured sweep`: what nobody owns any more is listed, put into quarantine or deleted, and comes back.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::apply::input;
use super::client::{Body, Client, path};
use super::failure::Failure;
use super::output::{self, Format};
use super::report;
use crate::api::documents::{List, ReportDocument};
use crate::api::findings::{SweepDocument, SweepRowDocument};
use crate::telemetry::note;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Flags {
    #[command(subcommand)]
    command: Option<Command>,
    /// What is below this owner is looked at
    #[arg(long, value_name = "OWNER", required = true)]
    scope: Option<String>,
    /// File of the owners that are alive, one a line or a JSON list, or - for stdin
    #[arg(long, value_name = "FILE", required = true)]
    live: Option<PathBuf>,
    /// What becomes of the others
    #[arg(long, default_value = "report", value_parser = ["report", "quarantine", "delete"])]
    mode: String,
    /// Spare who wrote after this revision: the one at which FILE was made
    #[arg(long, value_name = "REVISION")]
    as_of_revision: Option<u64>,
    /// Let so many records go
    #[arg(long, value_name = "N")]
    max_deletes: Option<u64>,
    /// Show what would come of it, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the sweeps of the last 7 days
    List,
    /// Restore what a sweep took
    Undo {
        /// Its id
        id: String,
        /// Show what would come back, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) async fn run(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    match flags.command {
        Some(Command::List) => print_list(&client.get("/v1/sweeps", &[]).await?, format),
        Some(Command::Undo { id, dry_run }) => {
            let path = path(&["v1", "sweeps", &id, "undo"]);
            let (status, done): (_, ReportDocument) =
                client.write(Method::POST, &path, query(dry_run), Body::Nothing).await?;
            report::print(status, &done, format)
        }
        None => sweep(flags, client, format).await,
    }
}

fn query(dry_run: bool) -> &'static [(&'static str, &'static str)] {
    if dry_run { &[("dryRun", "true")] } else { &[] }
}

async fn sweep(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    let (Some(scope), Some(file)) = (flags.scope, flags.live) else {
        return Err(Failure::Usage("a sweep needs --scope OWNER and --live FILE".to_owned()));
    };
    let live = live(&input(&file)?).map_err(|what| Failure::Usage(format!("{}: {what}", file.display())))?;
    let mut body = json!({"scope": {"owner": scope}, "live": live, "mode": flags.mode});
    if let Some(revision) = flags.as_of_revision {
        body["asOfRevision"] = revision.into();
    }
    if let Some(most) = flags.max_deletes {
        body["maxDeletes"] = most.into();
    }
    let (status, done): (_, SweepDocument) =
        client.write(Method::POST, "/v1/sweeps", query(flags.dry_run), Body::Json(body)).await?;
    print(status, &done, format)
}

/// Owners of a text: a JSON list, or one a line. An empty text is refused: it would take everything.
fn live(text: &str) -> Result<Vec<String>, String> {
    if text.trim_start().starts_with('[') {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        return serde_json::from_value(value).map_err(|_| "the list has something else than owners".to_owned());
    }
    let owners: Vec<String> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if owners.is_empty() {
        return Err("it names no owner: if none is alive, say so with []".to_owned());
    }
    Ok(owners)
}

fn print(status: StatusCode, done: &SweepDocument, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(done)?,
        Format::Name => output::print_names(done.candidates.iter().map(|one| one.owner.as_str()))?,
        Format::Table => {
            let rows = done
                .candidates
                .iter()
                .map(|one| vec![one.owner.clone(), one.records.to_string(), one.parents.join(" < ")]);
            output::print_table(&["OWNER", "RECORDS", "PARENTS"], rows.collect(), "nothing that nobody owns")?;
        }
    }
    for item in &done.refused {
        eprint!("{}", output::clean(&report::refused_text(item)));
    }
    report::note_dangling(&done.dangling, done.more_dangling);
    if !done.unknown.is_empty() {
        note!("not in scope, and so without effect in the file: {}", done.unknown.join(", "));
    }
    let records: u64 = done.candidates.iter().map(|one| one.records).sum();
    let what = match (done.dry_run, done.mode.as_str()) {
        (true, mode) => format!("{mode} would take"),
        (false, "quarantine") => "put into quarantine".to_owned(),
        (false, "delete") => "deleted".to_owned(),
        (false, _) => "found".to_owned(),
    };
    note!("{what}: {} owners with {records} records, revision {}", done.candidates.len(), done.revision);
    if let Some(id) = done.id.as_deref().filter(|_| done.mode != "report" && records > 0) {
        note!("undo within 7 days: tenured sweep undo {id}");
    }
    if status == StatusCode::MULTI_STATUS { Err(Failure::Partly) } else { Ok(()) }
}

fn print_list(list: &List<SweepRowDocument>, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(list),
        Format::Name => output::print_names(list.items.iter().map(|one| one.id.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|one| {
                let (id, at, mode, scope) = (&one.id, &one.at, &one.mode, &one.scope);
                vec![id.clone(), at.clone(), mode.clone(), scope.clone(), one.records.to_string(), one.state.clone()]
            });
            let headings = ["SWEEP", "AT", "MODE", "SCOPE", "RECORDS", "STATE"];
            output::print_table(&headings, rows.collect(), "no sweeps in the last 7 days")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_not_taken_for_nobody_alive() {
        assert_eq!(live("a\n b \n\n"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(live(r#" ["a b"]"#), Ok(vec!["a b".to_owned()]));
        assert_eq!(live("[]"), Ok(Vec::new()));
        assert!(live(" \n").is_err() && live("[1]").is_err() && live("[").is_err());
    }
}
