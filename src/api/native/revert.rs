//! `POST /v1/changes/{revision}/revert`: the inverse of a revision as one command (ownership.md section 4).

use std::collections::BTreeMap;

use axum::http::Method;
use axum::response::Response;
use serde_json::Value;

use super::write::status_of;
use crate::api::auth::Access;
use crate::api::call::{Call, Route};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::code::Code;
use crate::ledger::command::{Change, Command, OnConflict, RecordName, Wish};
use crate::ledger::limits::MAX_RECORDS;
use crate::ledger::owner::OwnerId;
use crate::ledger::report::Report;
use crate::store::paging::{ChangeCursor, Page};
use crate::store::rows::{ChangeFilter, ChangeRow};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Rows of one read.
const ROWS: u32 = 5_000;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::POST, "/v1/changes/{revision}/revert", Access::Write, revert).with(&[
        "dryRun",
        "targetCheck",
        "wait",
        "refs",
    ])]
}

/// `410` for a place in the history that is gone.
pub(super) fn compacted(trimmed: u64) -> Refused {
    let detail = format!(
        "the history is kept from revision {} on: read the records as they are now, then follow from there",
        trimmed + 1
    );
    Refused::new(Code::Compacted, detail)
}

async fn revert(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let revision: u64 = call
        .part("revision")
        .parse()
        .map_err(|_| Refused::bad_request("the revision in the path is a whole number: GET /v1/changes lists them"))?;
    let trimmed = call.state.reader.trimmed().await?;
    if revision <= trimmed {
        return Err(compacted(trimmed));
    }
    let rows = rows_of(&call, revision).await?;
    if rows.is_empty() {
        return Err(Refused::not_found(format!(
            "revision {revision} changed nothing: GET /v1/changes lists those that did"
        )));
    }
    // A sweep knows better what it took than its history does.
    let is_sweep = |row: &ChangeRow| row.rtype == "sweep" && row.before.is_none();
    let command =
        if rows.iter().any(is_sweep) { Command::UndoSweep(revision) } else { Command::Revert(inverse(&rows)?) };
    let dry_run = call.dry_run()?;
    call.answer(command, "", "", move |report: &Report| (status_of(report), show::report(report, None, dry_run))).await
}

async fn rows_of(call: &Call, revision: u64) -> Result<Vec<ChangeRow>, Refused> {
    let mut rows: Vec<ChangeRow> = Vec::new();
    let mut after = Some(ChangeCursor::after(revision.saturating_sub(1)));
    while after.is_some() {
        let page = call.state.reader.change_page(&ChangeFilter::default(), &Page { limit: ROWS, after }).await?;
        let read = page.items.len();
        rows.extend(page.items.into_iter().filter(|row| row.revision == revision));
        if rows.len() > MAX_RECORDS {
            let detail = format!("revision {revision} changed over {MAX_RECORDS} records, the most of one request");
            return Err(Refused::new(Code::LimitExceeded, detail));
        }
        after = page.next.filter(|next| next.revision == revision && read > 0);
    }
    Ok(rows)
}

/// What puts each claim back as it was before, owner by owner.
fn inverse(rows: &[ChangeRow]) -> Result<Vec<Change>, Refused> {
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    for row in rows {
        let owner = OwnerId::new(&row.owner).map_err(|_| no_inverse(row))?;
        match row.rtype.as_str() {
            "zone" | "token" | "zonefile" | "sweep" | "hold" => return Err(no_inverse(row)),
            "owner" if row.after.is_none() => {
                // It comes back with its first claim, below the owner that was above it.
                let change = changes.entry(&row.owner).or_insert_with(|| Change::delete(owner, Vec::new()));
                let before: Value =
                    row.before.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
                change.keys.kind = before["kind"].as_str().map(str::to_owned);
                change.keys.parent = before["parent"].as_str().and_then(|parent| OwnerId::new(parent).ok());
            }
            "owner" => {}
            _ => {
                let change = changes.entry(&row.owner).or_insert_with(|| Change::delete(owner, Vec::new()));
                add_claim(change, row).ok_or_else(|| no_inverse(row))?;
            }
        }
    }
    let changes: Vec<Change> =
        changes.into_values().filter(|change| !change.upsert.is_empty() || !change.delete.is_empty()).collect();
    match (changes.is_empty(), rows.first()) {
        (true, Some(row)) => Err(no_inverse(row)),
        (true, None) | (false, _) => Ok(changes),
    }
}

fn no_inverse(row: &ChangeRow) -> Refused {
    let detail = format!(
        "revision {} changed more than records (a row of kind `{}`), which revert does not undo: write what you want instead",
        row.revision,
        row.rtype.escape_debug()
    );
    Refused::bad_request(detail)
}

fn add_claim(change: &mut Change, row: &ChangeRow) -> Option<()> {
    let (zone, name) = (Name::parse(&row.zone).ok()?, Name::parse(&row.name).ok()?);
    let rtype: Rtype = row.rtype.parse().ok()?;
    let parsed = |text: &Option<String>| text.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let set_id = |value: &Value| value["setId"].as_str().unwrap_or_default().to_owned();
    let Some(before) = parsed(&row.before) else {
        let set_id = set_id(&parsed(&row.after)?);
        change.delete.push(RecordName { zone: Some(zone), name, rtype, set_id: Some(set_id) });
        return Some(());
    };
    if before["state"] == "queued" {
        change.on_conflict = OnConflict::Queue;
    }
    change.upsert.push(Ok(Wish {
        zone: Some(zone),
        name,
        rtype,
        set_id: set_id(&before),
        ttl: Some(u32::try_from(before["ttl"].as_u64()?).ok()?),
        records: show::records_of(before["data"].as_str()?)?,
        alias: before.get("alias").and_then(|alias| serde_json::from_value(alias.clone()).ok()),
        share: before["share"].as_bool().unwrap_or(false),
        labels: before.get("labels").and_then(|labels| serde_json::from_value(labels.clone()).ok()).unwrap_or_default(),
    }));
    Some(())
}
