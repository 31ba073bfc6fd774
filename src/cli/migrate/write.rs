//! Writes a zone by the native API: as an import, whose claims are of `zone:<zone>`, or as claims of a given owner. A second
//! run finds everything as it is, and changes nothing.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::{Value, json};

use super::super::client::{Body, Client, path};
use super::super::failure::Failure;
use super::report::{Finding, Migration, Outcome, What};
use super::{Common, Taken};
use crate::api::documents::{List, RecordDocument, ReportDocument, ZoneDocument};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::presentation::rdata_to_text;
use crate::wire::rdata::canonical;
use crate::zone::file::{self, WriteOptions, ZoneFile};
use crate::zone::node::RRset;

/// Record sets in one change; the API takes 100,000.
const CHUNK: usize = 20_000;

/// Writes a zone, and notes what was refused.
pub(super) async fn zone(
    taken: &Taken,
    common: &Common,
    client: &Client,
    into: &mut Migration,
) -> Result<Outcome, Failure> {
    let existing = find(client, &taken.origin).await?;
    match &common.owner {
        None => import(taken, existing.is_some(), common, client, into).await,
        Some(owner) => claim(taken, existing, owner, common, client, into).await,
    }
}

/// The zone, if the server has it.
async fn find(client: &Client, zone: &Name) -> Result<Option<ZoneDocument>, Failure> {
    match client.get(&path(&["v1", "zones", &zone.to_string()]), &[]).await {
        Ok(zone) => Ok(Some(zone)),
        Err(Failure::Problem(problem)) if problem.status == 404 => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn import(
    taken: &Taken,
    is_there: bool,
    common: &Common,
    client: &Client,
    into: &mut Migration,
) -> Result<Outcome, Failure> {
    let file = ZoneFile { origin: taken.origin.clone(), rrsets: taken.rrsets.clone(), warnings: Vec::new() };
    let mut text = String::new();
    // A String takes everything.
    let _ = file::write_file(&mut text, &file, WriteOptions::default());
    let deletes = common.max_deletes.map(|count| count.to_string());
    let mut query: Vec<(&str, &str)> = Vec::new();
    if common.dry_run {
        query.push(("dryRun", "true"));
    }
    if let Some(count) = &deletes {
        query.push(("maxDeletes", count));
    }
    let path = path(&["v1", "zones", &taken.origin.to_string(), "zonefile"]);
    let (_, report): (_, ReportDocument) = client.write(Method::PUT, &path, &query, Body::ZoneFile(text)).await?;
    note_refused(&taken.origin, &report, into);
    Ok(outcome(is_there, changes(&report)))
}

async fn claim(
    taken: &Taken,
    existing: Option<ZoneDocument>,
    owner: &str,
    common: &Common,
    client: &Client,
    into: &mut Migration,
) -> Result<Outcome, Failure> {
    let zone = taken.origin.to_string();
    if existing.is_none() {
        let body = json!({"owner": owner});
        let query: &[(&str, &str)] = if common.dry_run { &[("dryRun", "true")] } else { &[] };
        client.send(Method::PUT, &path(&["v1", "zones", &zone]), query, Body::Json(body)).await?;
        if common.dry_run {
            // The records cannot be tried on a zone that is not there.
            return Ok(Outcome::Created);
        }
    }
    let gone = match &existing {
        Some(_) => unlisted(taken, owner, client).await?,
        None => Vec::new(),
    };
    let mut query: Vec<(&str, &str)> = Vec::new();
    if common.dry_run {
        query.push(("dryRun", "true"));
    }
    check_deletes(&taken.origin, &gone, common.max_deletes)?;
    let path = path(&["v1", "owners", owner, "records"]);
    let mut gone = Some(gone);
    let mut changed = 0;
    for chunk in taken.rrsets.chunks(CHUNK) {
        let upsert: Vec<Value> = chunk.iter().map(|(name, rrset)| record(&zone, name, rrset)).collect();
        // A type that takes another's place must find that gone.
        let body = json!({"upsert": upsert, "delete": gone.take().unwrap_or_default()});
        let (_, report): (_, ReportDocument) = client.write(Method::PATCH, &path, &query, Body::Json(body)).await?;
        note_refused(&taken.origin, &report, into);
        changed += changes(&report);
    }
    Ok(outcome(existing.is_some(), changed))
}

/// The brake of an apply, which a change does not have.
fn check_deletes(zone: &Name, gone: &[Value], most: Option<u64>) -> Result<(), Failure> {
    let most = most.unwrap_or(10);
    if gone.len() as u64 <= most {
        return Ok(());
    }
    let count = gone.len();
    Err(Failure::Failed {
        what: format!("{zone}: {count} record sets of an earlier run are gone from the source"),
        advice: Some(format!("if they are to go here too: add --max-deletes {count}")),
    })
}

fn outcome(is_there: bool, changed: u64) -> Outcome {
    match (is_there, changed) {
        (false, _) => Outcome::Created,
        (true, 0) => Outcome::Unchanged,
        (true, _) => Outcome::Updated,
    }
}

fn changes(report: &ReportDocument) -> u64 {
    report.summary.created + report.summary.updated + report.summary.deleted
}

fn record(zone: &str, name: &Name, rrset: &RRset) -> Value {
    let values: Vec<String> = rrset.records.iter().map(|wire| rdata_to_text(rrset.rtype, wire)).collect();
    json!({"zone": zone, "name": name.to_string(), "type": rrset.rtype.to_string(), "ttl": rrset.ttl, "values": values})
}

/// What the owner has in the zone and the source has not.
async fn unlisted(taken: &Taken, owner: &str, client: &Client) -> Result<Vec<Value>, Failure> {
    let zone = taken.origin.to_string();
    let there: List<RecordDocument> = client.get_all("/v1/records", &[("zone", &zone), ("owner", owner)]).await?;
    let key = |name: &Name, rtype: Rtype| (canonical(Rtype::CNAME, name.as_wire()), rtype);
    let listed: HashSet<(Vec<u8>, Rtype)> = taken.rrsets.iter().map(|(name, rrset)| key(name, rrset.rtype)).collect();
    let is_listed = |record: &RecordDocument| match (Name::parse(&record.name), record.rtype.parse()) {
        (Ok(name), Ok(rtype)) => listed.contains(&key(&name, rtype)),
        (Err(_), _) | (_, Err(_)) => true,
    };
    Ok(there
        .items
        .iter()
        .filter(|record| !is_listed(record))
        .map(|record| json!({"zone": zone, "name": record.name, "type": record.rtype, "setId": record.set_id}))
        .collect())
}

fn note_refused(zone: &Name, report: &ReportDocument, into: &mut Migration) {
    for item in report.results.iter().filter(|item| item.code.is_some()) {
        let mut reason = item.detail.clone().unwrap_or_else(|| item.outcome.clone());
        if let Some(holder) = &item.holder {
            reason.push_str(&format!("; held by {}", holder.owner));
        }
        into.findings.push(Finding::of(zone, &item.name, &item.rtype, What::Refused, reason));
    }
    for warning in &report.warnings {
        let reason = warning.detail.clone();
        into.findings.push(Finding::of(zone, &warning.name, &warning.rtype, What::Odd, reason));
    }
}
