//! `tenured hold …`: deletes that the brake keeps back.

use clap::Subcommand;
use reqwest::Method;

use super::client::{Body, Client, path};
use super::failure::Failure;
use super::output::{self, Format};
use super::report;
use crate::api::documents::{HoldDocument, List, ReportDocument};

/// Names that the table shows of a hold; `-o json` has all.
const SHOWN: usize = 3;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the deletes on hold
    List {
        /// Only of this owner
        #[arg(long, value_name = "ID")]
        owner: Option<String>,
    },
    /// Delete what is on hold
    Approve {
        /// Its id
        id: String,
        /// Show what would go, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Forget the hold; the records stay
    Discard {
        /// Its id
        id: String,
    },
}

pub(super) async fn run(command: Command, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Command::List { owner } => {
            let query: Vec<(&str, &str)> = owner.as_deref().map(|owner| ("owner", owner)).into_iter().collect();
            let list: List<HoldDocument> = client.get("/v1/holds", &query).await?;
            print(&list, format)
        }
        Command::Approve { id, dry_run } => {
            let query: &[(&str, &str)] = if dry_run { &[("dryRun", "true")] } else { &[] };
            decide(client, &path(&["v1", "holds", &id, "approve"]), query, format).await
        }
        Command::Discard { id } => decide(client, &path(&["v1", "holds", &id, "discard"]), &[], format).await,
    }
}

async fn decide(client: &Client, path: &str, query: &[(&str, &str)], format: Format) -> Result<(), Failure> {
    let (status, done): (_, ReportDocument) = client.write(Method::POST, path, query, Body::Nothing).await?;
    report::print(status, &done, format)
}

fn print(list: &List<HoldDocument>, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(list),
        Format::Name => output::print_names(list.items.iter().map(|hold| hold.id.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|hold| {
                let mut names: Vec<String> =
                    hold.deletes.iter().take(SHOWN).map(|one| format!("{} {}", one.name, one.rtype)).collect();
                if hold.deletes.len() > SHOWN {
                    names.push("…".to_owned());
                }
                let count = format!("{} of {}", hold.deletes.len(), hold.claims);
                vec![hold.id.clone(), hold.owner.clone(), hold.since.clone(), count, names.join(", ")]
            });
            output::print_table(&["HOLD", "OWNER", "SINCE", "DELETES", "RECORDS"], rows.collect(), "nothing is on hold")
        }
    }
}
