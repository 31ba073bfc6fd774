//! Writes of records: apply, change, and one record set (ownership.md sections 3.1, 3.2).

use std::collections::BTreeMap;

use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::fields::{self, OwnerFields, RecordFields, on_conflict};
use super::target_check;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, document};
use crate::api::documents::SourceDocument;
use crate::api::json::{self, BodyLimit, unique_map};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::{Apply, Change, Command, Going, RecordName};
use crate::ledger::limits::MAX_RECORDS;
use crate::ledger::owner::OwnerId;
use crate::ledger::report::Report;
use crate::ledger::wish;
use crate::zone::node::MAX_RECORDS as MAX_VALUES;

pub(super) fn routes() -> Vec<Route> {
    const APPLY: &[&str] = &["prune", "atomic", "onConflict", "maxDeletes", "dryRun", "targetCheck", "wait", "refs"];
    const CHANGE: &[&str] = &["atomic", "onConflict", "dryRun", "targetCheck", "wait", "refs"];
    const PUT: &[&str] = &["setId", "zone", "onConflict", "dryRun", "targetCheck", "wait", "refs"];
    const DELETE: &[&str] = &["setId", "zone", "quarantine", "dryRun", "targetCheck", "wait", "refs"];
    const RECORDS: &str = "/v1/owners/{owner}/records";
    const RECORD: &str = "/v1/owners/{owner}/records/{name}/{type}";
    vec![
        Route::new(Method::PUT, RECORDS, Access::Write, apply).with(APPLY).taking(BodyLimit::Records),
        Route::new(Method::PATCH, RECORDS, Access::Write, change).with(CHANGE).taking(BodyLimit::Records),
        Route::new(Method::PUT, RECORD, Access::Write, put).with(PUT).taking(BodyLimit::Small),
        Route::new(Method::DELETE, RECORD, Access::Write, delete).with(DELETE),
    ]
}

// serde cannot flatten and refuse unknown keys at once, so the keys of an owner stand in each body.
macro_rules! with_owner_keys {
    ($(#[$meta:meta])* struct $name:ident { $($field:tt)* }) => {
        #[derive(Debug, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $(#[$meta])*
        pub(super) struct $name {
            generation: Option<u64>,
            epoch: Option<u64>,
            uid: Option<String>,
            kind: Option<String>,
            parent: Option<String>,
            #[serde(default, deserialize_with = "unique_map")]
            labels: Option<BTreeMap<String, String>>,
            #[serde(default, deserialize_with = "json::optional_object")]
            source: Option<SourceDocument>,
            $($field)*
        }

        impl $name {
            fn owner_fields(&mut self) -> OwnerFields {
                OwnerFields {
                    generation: self.generation,
                    epoch: self.epoch,
                    uid: self.uid.take(),
                    kind: self.kind.take(),
                    parent: self.parent.take(),
                    labels: self.labels.take(),
                    source: self.source.take(),
                }
            }
        }
    };
}

with_owner_keys! {
    #[schema(as = Apply)]
    struct ApplyFields {
        #[serde(deserialize_with = "json::objects::<MAX_RECORDS, _, _>")]
        records: Vec<RecordFields>,
    }
}

with_owner_keys! {
    #[schema(as = RecordsChange)]
    struct ChangeFields {
        #[serde(default, deserialize_with = "json::objects::<MAX_RECORDS, _, _>")]
        upsert: Vec<RecordFields>,
        #[serde(default, deserialize_with = "json::objects::<MAX_RECORDS, _, _>")]
        delete: Vec<DeleteFields>,
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RecordName)]
pub(super) struct DeleteFields {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    zone: Option<String>,
    set_id: Option<String>,
}

/// One record set: name and type stand in the path, so `labels` are the record's.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RecordPut)]
pub(super) struct PutFields {
    #[serde(deserialize_with = "json::list::<MAX_VALUES, _, _>")]
    values: Vec<String>,
    zone: Option<String>,
    ttl: Option<i64>,
    set_id: Option<String>,
    #[serde(default)]
    share: bool,
    #[serde(default, deserialize_with = "unique_map")]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "unique_map")]
    alias: Option<BTreeMap<String, Value>>,
}

async fn apply(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let owner = call.owner()?;
    let body = call.body();
    let (keys, records) = blocking(move || {
        let mut fields: ApplyFields = json::read(&body)?;
        let keys = fields.owner_fields().read()?;
        Ok::<_, Refused>((keys, fields::records(fields.records)?))
    })
    .await??;
    let mut command = Apply::new(owner.clone(), records);
    command.keys = keys;
    command.prune = call.parameters.flag("prune", true)?;
    command.atomic = call.parameters.flag("atomic", false)?;
    command.on_conflict = on_conflict(&call)?;
    command.max_deletes = call.parameters.number("maxDeletes")?;
    command.if_revision = if_match(&call.headers)?;
    finish(call, Command::Apply(command), owner).await
}

async fn change(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let owner = call.owner()?;
    let body = call.body();
    let (keys, upsert, delete) = blocking(move || {
        let mut fields: ChangeFields = json::read(&body)?;
        let keys = fields.owner_fields().read()?;
        let delete: Result<Vec<RecordName>, Refused> =
            fields.delete.iter().enumerate().map(|(at, one)| record_name(at, one)).collect();
        Ok::<_, Refused>((keys, fields::records(fields.upsert)?, delete?))
    })
    .await??;
    let mut command = Change::delete(owner.clone(), delete);
    command.keys = keys;
    command.upsert = upsert;
    command.atomic = call.parameters.flag("atomic", false)?;
    command.on_conflict = on_conflict(&call)?;
    command.if_revision = if_match(&call.headers)?;
    finish(call, Command::Change(command), owner).await
}

fn record_name(at: usize, fields: &DeleteFields) -> Result<RecordName, Refused> {
    let (zone, name, rtype) =
        wish::read_key(fields.zone.as_deref(), &fields.name, &fields.rtype).map_err(|problem| {
            let error = crate::api::documents::ErrorDocument {
                pointer: Some(format!("/delete/{at}")),
                line: None,
                code: problem.code.text().to_owned(),
                detail: problem.detail.clone(),
            };
            Refused::from(problem).with_errors(vec![error])
        })?;
    Ok(RecordName { zone, name, rtype, set_id: fields.set_id.clone() })
}

async fn put(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let owner = call.owner()?;
    let fields: PutFields = json::read(&call.body())?;
    let (name, rtype) = (call.part("name").to_owned(), call.part("type").to_owned());
    let set_id = match (call.parameters.text("setId"), fields.set_id) {
        (Some(_), Some(_)) => {
            return Err(Refused::bad_request("setId stands in the path and in the body: give it once"));
        }
        (Some(one), None) => Some(one.to_owned()),
        (None, other) => other,
    };
    let zone = match (call.parameters.text("zone"), fields.zone) {
        (Some(_), Some(_)) => {
            return Err(Refused::bad_request("zone stands in the path and in the body: give it once"));
        }
        (Some(one), None) => Some(one.to_owned()),
        (None, other) => other,
    };
    let record = RecordFields {
        name: name.clone(),
        rtype: rtype.clone(),
        values: fields.values,
        zone,
        ttl: fields.ttl,
        set_id,
        share: fields.share,
        labels: fields.labels,
        alias: fields.alias,
    };
    let wish = record.read().map_err(|bad| Refused::from(bad.problem).about(bad.name, bad.rtype))?;
    let mut command = Change::put(owner.clone(), wish);
    command.on_conflict = on_conflict(&call)?;
    command.if_revision = if_match(&call.headers)?;
    finish(call, Command::Change(command), owner).await.map_err(|refused| refused.about(name, rtype))
}

async fn delete(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let owner = call.owner()?;
    let (zone, name, rtype) = wish::read_key(call.parameters.text("zone"), call.part("name"), call.part("type"))?;
    let set_id = call.parameters.text("setId").map(str::to_owned);
    let (shown_name, shown_type) = (name.to_string(), rtype.to_string());
    let mut command = Change::delete(owner.clone(), vec![RecordName { zone, name, rtype, set_id }]);
    command.atomic = true;
    command.going = if call.parameters.flag("quarantine", false)? { Going::Quarantined } else { Going::Deleted };
    command.if_revision = if_match(&call.headers)?;
    finish(call, Command::Change(command), owner).await.map_err(|refused| refused.about(shown_name, shown_type))
}

async fn finish(call: Call, command: Command, owner: OwnerId) -> Result<Response, Refused> {
    let (warnings, targets) = target_check::check(&call, &command, &owner).await?;
    let report = call.submit(command, owner.as_str(), "").await?;
    target_check::wait(&call, &targets).await;
    let mut shown = show::report(&report, Some(&owner), call.dry_run()?);
    shown.warnings.extend(warnings);
    document(status_of(&report), &shown)
}

/// 200: all of it is in effect; 207: some items were refused.
pub(super) fn status_of(report: &Report) -> StatusCode {
    if report.summary.has_refused() { StatusCode::MULTI_STATUS } else { StatusCode::OK }
}

/// `If-Match: "r1200"`: the revision that the caller saw the owner at.
fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Refused> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let revision = value.to_str().ok().and_then(|text| {
        text.trim().strip_prefix("\"r").and_then(|rest| rest.strip_suffix('"')).and_then(|text| text.parse().ok())
    });
    revision.map(Some).ok_or_else(|| {
        Refused::bad_request("If-Match is the `revision` of the owner as you saw it, written like \"r1200\"")
    })
}
