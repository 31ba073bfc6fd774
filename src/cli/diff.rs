//! `tenured diff`: what `apply` would change, record by record. It asks for a dry run, and for what the owner has now.

use std::path::PathBuf;

use clap::Args;
use reqwest::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use super::apply;
use super::client::{Body, Client, path};
use super::failure::{Failure, holder_text};
use super::output::{self, Format};
use crate::api::documents::{HolderDocument, ItemDocument, List, RecordDocument, ReportDocument};
use crate::telemetry::note;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// File of YAML or JSON as for apply, or - for stdin
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    file: PathBuf,
    /// The owner of documents that name none
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Keep records of the owner that the file does not have
    #[arg(long)]
    no_prune: bool,
}

/// TTL and values on one side of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Side {
    /// Seconds; null is the zone's default.
    ttl: Option<u64>,
    values: Vec<String>,
}

/// One record that an apply would change, or that it would not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    /// The outcome that the apply would have.
    outcome: String,
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_id: Option<String>,
    before: Option<Side>,
    after: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<HolderDocument>,
}

/// All differences of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct OwnerDifferences {
    owner: String,
    differences: Vec<Difference>,
}

/// Exits with 0 if there is no difference, with 1 if there are some, and with 2 on any error.
pub(super) async fn run(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    let all = compare(&flags, client).await.map_err(Failure::of_diff)?;
    let differences = || all.iter().flat_map(|one| &one.differences);
    let printed = match format {
        Format::Json => output::print_json(&all),
        Format::Name => output::print_names(differences().map(|one| one.name.as_str())),
        Format::Table => output::print(&output::clean(&all.iter().map(text).collect::<String>())),
    };
    printed.map_err(Failure::of_diff)?;
    if differences().next().is_some() {
        return Err(Failure::Differs);
    }
    note!("no difference");
    Ok(())
}

async fn compare(flags: &Flags, client: &Client) -> Result<Vec<OwnerDifferences>, Failure> {
    let mut query = vec![("dryRun", "true")];
    if flags.no_prune {
        query.push(("prune", "false"));
    }
    let mut all = Vec::new();
    for (owner, body) in apply::read(&flags.file, flags.owner.as_deref())? {
        let path = path(&["v1", "owners", &owner, "records"]);
        let wanted = body.clone();
        let (_, report): (_, ReportDocument) =
            client.write(Method::PUT, &path, &query, Body::Json(Value::Object(body))).await?;
        let now = match client.get_all(&path, &[]).await {
            Ok(list) => list,
            // An owner that is not there has nothing.
            Err(Failure::Problem(problem)) if problem.status == 404 => List::<RecordDocument>::default(),
            Err(failure) => return Err(failure),
        };
        let changed = report.results.iter().filter(|item| item.outcome != "unchanged");
        let differences = changed.map(|item| difference(item, &now.items, &wanted)).collect();
        all.push(OwnerDifferences { owner, differences });
    }
    Ok(all)
}

fn difference(item: &ItemDocument, now: &[RecordDocument], wanted: &Map<String, Value>) -> Difference {
    let is_it = |record: &&RecordDocument| {
        record.name == item.name
            && record.rtype == item.rtype
            && record.set_id == item.set_id
            && item.zone.as_ref().is_none_or(|zone| *zone == record.zone)
    };
    let before =
        now.iter().find(is_it).map(|record| Side { ttl: Some(record.ttl.into()), values: record.values.clone() });
    let records = wanted.get("records").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let after = records.iter().find(|record| is_meant(record, item)).map(|record| Side {
        ttl: record["ttl"].as_u64(),
        values: record["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    });
    Difference {
        outcome: item.outcome.clone(),
        name: item.name.clone(),
        rtype: item.rtype.clone(),
        set_id: item.set_id.clone(),
        before,
        after,
        code: item.code.clone(),
        detail: item.detail.clone(),
        holder: item.holder.clone(),
    }
}

/// Whether a record of the file is the one of an item, however its name is spelt.
fn is_meant(record: &Value, item: &ItemDocument) -> bool {
    let text = |key: &str| record[key].as_str();
    let name = match (text("name"), text("zone").and_then(|zone| Name::parse(zone).ok())) {
        (Some(name), Some(zone)) => Name::parse_in(name, &zone).ok(),
        (Some(name), None) => Name::parse(name).ok(),
        (None, _) => None,
    };
    // What is no name or type comes back as it was given.
    let same_name = name.map_or_else(|| text("name") == Some(&item.name), |name| name.to_string() == item.name);
    let rtype = text("type").and_then(|rtype| rtype.parse::<Rtype>().ok());
    let same_type = rtype.map_or_else(|| text("type") == Some(&item.rtype), |rtype| rtype.to_string() == item.rtype);
    same_name && same_type && text("setId") == item.set_id.as_deref()
}

/// `+` created, `-` deleted, `~` updated with both sides, `!` what it would not get, with the reason.
fn text(owner: &OwnerDifferences) -> String {
    if owner.differences.is_empty() {
        return String::new();
    }
    let mut out = format!("owner {}\n", owner.owner);
    for one in &owner.differences {
        let key = match &one.set_id {
            Some(set_id) => format!("{} {} ({set_id})", one.name, one.rtype),
            None => format!("{} {}", one.name, one.rtype),
        };
        let side = |side: &Option<Side>| side.as_ref().map(side_text).unwrap_or_default();
        match one.outcome.as_str() {
            "created" => out.push_str(&format!("+ {key} {}\n", side(&one.after))),
            "deleted" => out.push_str(&format!("- {key} {}\n", side(&one.before))),
            "updated" => {
                out.push_str(&format!("~ {key}\n"));
                let same_ttl = |before: &Side, after: &Side| after.ttl.is_none_or(|ttl| before.ttl == Some(ttl));
                match (&one.before, &one.after) {
                    (Some(before), Some(after)) if before.values == after.values && same_ttl(before, after) => {
                        out.push_str("    its labels or options\n");
                    }
                    (_, _) => out.push_str(&format!("    - {}\n    + {}\n", side(&one.before), side(&one.after))),
                }
            }
            other => {
                let why = one.holder.as_ref().map(holder_text).or_else(|| one.detail.clone()).unwrap_or_default();
                out.push_str(&format!("! {key} {other}: {why}\n"));
            }
        }
    }
    out
}

fn side_text(side: &Side) -> String {
    let ttl = side.ttl.map_or_else(|| "default".to_owned(), |ttl| ttl.to_string());
    format!("{ttl} {}", side.values.join(" "))
}
