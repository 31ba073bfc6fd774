//! `tenured alias …`.

use std::collections::BTreeMap;

use clap::Subcommand;
use reqwest::Method;
use serde_json::json;

use super::client::{Body, Client, path};
use super::failure::Failure;
use super::output::{self, Format};
use crate::api::documents::{AliasTargetDocument, AliasVerdictDocument, FamilyDocument, List, RefreshedDocument};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List ALIAS records with the state of their targets
    List {
        /// Only in this state, as TargetNXDomain; may repeat
        #[arg(long, value_name = "STATE")]
        state: Vec<String>,
        /// Only of this owner and those below it
        #[arg(long, value_name = "ID")]
        owner: Option<String>,
        /// Only of this zone
        #[arg(long, value_name = "ZONE")]
        zone: Option<String>,
        /// Only those in their state for longer, as 24h
        #[arg(long, value_name = "TIME")]
        older_than: Option<String>,
    },
    /// Show one ALIAS record
    Show {
        /// Its name
        name: String,
    },
    /// Have targets looked up now
    Refresh {
        /// Names of ALIAS records
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// A target, whatever leads to it; may repeat
        #[arg(long, value_name = "NAME")]
        target: Vec<String>,
    },
    /// Look a target up as an ALIAS would, and write nothing
    Check {
        /// Name of the ALIAS record
        name: String,
        /// The target
        target: String,
        /// Whose record it would be
        #[arg(long, value_name = "ID")]
        owner: Option<String>,
    },
}

pub(super) async fn run(command: Command, client: &Client, format: Format) -> Result<(), Failure> {
    match command {
        Command::List { state, owner, zone, older_than } => {
            let mut query: Vec<(&str, &str)> = state.iter().map(|state| ("state", state.as_str())).collect();
            query.extend(owner.as_deref().map(|owner| ("owner", owner)));
            query.extend(zone.as_deref().map(|zone| ("zone", zone)));
            query.extend(older_than.as_deref().map(|time| ("olderThan", time)));
            let list: List<AliasTargetDocument> = client.get_all("/v1/alias-targets", &query).await?;
            print_list(&list, format)
        }
        Command::Show { name } => {
            let row: AliasTargetDocument = client.get(&path(&["v1", "aliases", &name]), &[]).await?;
            show(&row, format)
        }
        Command::Refresh { names, target } => {
            let body = Body::Json(json!({"names": names, "targets": target}));
            let (_, done): (_, RefreshedDocument) =
                client.write(Method::POST, "/v1/alias-targets/refresh", &[], body).await?;
            match format {
                Format::Json => output::print_json(&done),
                Format::Name | Format::Table => output::print_pairs(&[
                    ("accepted", done.accepted.to_string()),
                    ("coalesced", done.coalesced.to_string()),
                ]),
            }
        }
        Command::Check { name, target, owner } => {
            let body = Body::Json(json!({"name": name, "type": "ALIAS", "values": [target], "owner": owner}));
            let (_, verdict): (_, AliasVerdictDocument) =
                client.write(Method::POST, "/v1/aliases/dry-run", &[], body).await?;
            print_verdict(&verdict, format)
        }
    }
}

fn print_list(list: &List<AliasTargetDocument>, format: Format) -> Result<(), Failure> {
    let records = || list.items.iter().flat_map(|row| row.records.iter().map(move |record| (row, record)));
    match format {
        Format::Json => output::print_json(list),
        Format::Name => output::print_names(records().map(|(_, record)| record.name.as_str())),
        Format::Table => {
            let rows = records().map(|(row, record)| {
                vec![
                    record.name.clone(),
                    row.target.clone(),
                    record.state.clone(),
                    record.since.clone().unwrap_or_default(),
                    record.serving.clone(),
                    record.owner.clone(),
                ]
            });
            let headings = ["NAME", "TARGET", "STATE", "SINCE", "SERVING", "OWNER"];
            output::print_table(&headings, rows.collect(), "there are no such ALIAS records")
        }
    }
}

fn families(families: &BTreeMap<String, FamilyDocument>) -> String {
    let line = |(family, known): (&String, &FamilyDocument)| match known.addresses.as_slice() {
        [] => format!("{family}: {}", known.state),
        addresses => format!("{family}: {}: {}", known.state, addresses.join(" ")),
    };
    families.iter().map(line).collect::<Vec<String>>().join("\n")
}

fn print_verdict(verdict: &AliasVerdictDocument, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(verdict),
        Format::Name => output::print(&format!("{}\n", verdict.verdict)),
        Format::Table => {
            let errors = verdict.errors.iter().map(|error| format!("{}: {}", error.code, error.detail));
            let warnings = verdict.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.detail));
            output::print_pairs(&[
                ("verdict", verdict.verdict.clone()),
                ("errors", errors.collect::<Vec<String>>().join("\n")),
                ("path", verdict.path.join("\n")),
                ("warnings", warnings.collect::<Vec<String>>().join("\n")),
                ("leads to", verdict.leads_to.clone()),
                ("state", verdict.state.clone()),
                ("serving", format!("{}, TTL {} s", verdict.serving, verdict.effective_ttl_seconds)),
                ("ttl limited by", verdict.ttl_limited_by.clone()),
                ("families", families(&verdict.families)),
            ])
        }
    }
}

fn show(row: &AliasTargetDocument, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::print_json(row),
        Format::Name => output::print_names(row.records.iter().map(|record| record.name.as_str())),
        Format::Table => {
            for record in &row.records {
                let ends = if row.target == record.target { String::new() } else { row.target.clone() };
                let source = match &row.upstream_group {
                    Some(group) => format!("upstream group {group}"),
                    None => "a zone of this server".to_owned(),
                };
                output::print_pairs(&[
                    ("name", record.name.clone()),
                    ("target", record.target.clone()),
                    ("leads to", ends),
                    ("resolved by", source),
                    ("state", record.state.clone()),
                    ("since", record.since.clone().unwrap_or_default()),
                    ("serving", format!("{}, TTL {} s", record.serving, record.effective_ttl_seconds)),
                    ("ttl limited by", record.ttl_limited_by.clone()),
                    ("stale until", record.stale_until.clone().unwrap_or_default()),
                    ("families", families(&record.families)),
                    (
                        "takeover risk",
                        if row.takeover_risk { "yes: the domain may be free".to_owned() } else { String::new() },
                    ),
                    ("last ok", row.last_ok_at.clone().unwrap_or_default()),
                    ("last checked", row.checked_at.clone().unwrap_or_default()),
                    ("next check", row.next_refresh_at.clone().unwrap_or_default()),
                    ("last error", row.last_error.clone().unwrap_or_default()),
                    ("seen from", row.vantage.clone().unwrap_or_default()),
                    ("owner", record.owner.clone()),
                    ("belongs to", record.parents.join("\n")),
                ])?;
            }
            Ok(())
        }
    }
}
