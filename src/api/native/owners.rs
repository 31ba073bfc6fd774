//! `/v1/owners` (ownership.md sections 3.3, 4).

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use super::fields::OwnerFields;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, document, owner_id};
use crate::api::documents::{DoorUseDocument, OwnerDocument, SourceDocument};
use crate::api::json::{self, BodyLimit, unique_map};
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::{Command, DeleteOwner, Fate, OwnerKeys, PutOwner};
use crate::ledger::external_dns::DoorUse;
use crate::ledger::lease::{LeaseKeys, OnExpiry};
use crate::ledger::owner::{OwnerId, OwnerState};
use crate::ledger::report::ItemOutcome;
use crate::store::rows::OwnerFilter;

pub(super) fn routes() -> Vec<Route> {
    const OWNER: &str = "/v1/owners/{owner}";
    vec![
        Route::new(Method::GET, "/v1/owners", Access::Read, list).with(&[
            "parent",
            "state",
            "source.cluster",
            "limit",
            "continue",
        ]),
        Route::new(Method::GET, OWNER, Access::Read, show_one),
        Route::new(Method::PUT, OWNER, Access::Write, put)
            .with(&["dryRun", "targetCheck", "wait", "refs"])
            .taking(BodyLimit::Small),
        Route::new(Method::DELETE, OWNER, Access::Write, delete).with(&[
            "cascade",
            "quarantine",
            "records",
            "to",
            "uid",
            "epoch",
            "dryRun",
            "targetCheck",
            "wait",
            "refs",
        ]),
    ]
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = OwnerWrite)]
pub(super) struct PutFields {
    generation: Option<u64>,
    epoch: Option<u64>,
    uid: Option<String>,
    kind: Option<String>,
    parent: Option<String>,
    #[serde(default, deserialize_with = "unique_map")]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "json::optional_object")]
    source: Option<SourceDocument>,
    lease_seconds: Option<u64>,
    on_expiry: Option<String>,
    grace_seconds: Option<u64>,
    /// The client of the external-dns door.
    #[serde(default, deserialize_with = "json::optional_object")]
    external_dns: Option<DoorUseDocument>,
}

fn door_use(given: DoorUseDocument) -> Result<DoorUse, Refused> {
    if given.txt_owner_id.as_deref().is_some_and(|text| !DoorUse::is_fit(text)) {
        return Err(Refused::bad_request(
            "externalDns.txtOwnerId is a text of 1 to 512 octets without control characters",
        ));
    }
    Ok(DoorUse { txt_owner_id: given.txt_owner_id })
}

pub(super) fn no_owner(owner: &OwnerId) -> Refused {
    Refused::not_found(format!("there is no owner {}: its first write makes it", owner.as_str()))
}

async fn list(call: Call) -> Result<Response, Refused> {
    let state = call.parameters.text("state").map(|text| {
        OwnerState::from_text(text).ok_or_else(|| {
            let known: Vec<&str> = OwnerState::ALL.iter().map(|state| state.text()).collect();
            Refused::bad_request(format!("state is one of {}, not `{}`", known.join(", "), text.escape_debug()))
        })
    });
    let filter = OwnerFilter {
        parent: call.parameters.text("parent").map(|text| owner_id("parent", text)).transpose()?,
        state: state.transpose()?,
        cluster: call.parameters.text("source.cluster").map(str::to_owned),
    };
    let listing = call.state.reader.owner_page(&filter, &paging::page(&call)?).await?;
    blocking(move || {
        let items: Vec<OwnerDocument> = listing.items.iter().map(show::owner).collect();
        paging::shown(listing.revision, items, listing.next)
    })
    .await?
}

async fn show_one(call: Call) -> Result<Response, Refused> {
    let owner = call.owner()?;
    let row = call.state.reader.owner(&owner).await?.ok_or_else(|| no_owner(&owner))?;
    document(StatusCode::OK, &show::owner(&row))
}

async fn put(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let owner = call.owner()?;
    let fields: PutFields = json::read(&call.body())?;
    let lease = LeaseKeys {
        seconds: fields.lease_seconds,
        on_expiry: fields.on_expiry.as_deref().map(on_expiry).transpose()?,
        grace: fields.grace_seconds,
    };
    let keys = OwnerFields {
        generation: fields.generation,
        epoch: fields.epoch,
        uid: fields.uid,
        kind: fields.kind,
        parent: fields.parent,
        labels: fields.labels,
        source: fields.source,
    }
    .read()?;
    let keys = OwnerKeys { lease, external_dns: fields.external_dns.map(door_use).transpose()?, ..keys };
    let report = call.submit(Command::PutOwner(PutOwner { owner: owner.clone(), keys }), owner.as_str(), "").await?;
    let status = if report.subject == Some(ItemOutcome::Created) { StatusCode::CREATED } else { StatusCode::OK };
    if call.dry_run()? {
        return document(status, &show::report(&report, Some(&owner), true));
    }
    let row = call.state.reader.owner(&owner).await?.ok_or_else(|| no_owner(&owner))?;
    let mut shown = show::owner(&row);
    shown.outcome = report.subject.map(|outcome| outcome.text().to_owned());
    document(status, &shown)
}

async fn delete(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let owner = call.owner()?;
    let command = DeleteOwner {
        owner: owner.clone(),
        cascade: call.parameters.flag("cascade", false)?,
        epoch: call.parameters.number("epoch")?,
        uid: call.parameters.text("uid").map(str::to_owned),
        records: fate(&call)?,
    };
    let report = call.submit(Command::DeleteOwner(command), owner.as_str(), "").await?;
    document(StatusCode::OK, &show::deleted(&report, call.dry_run()?))
}

/// What becomes of the records of an owner that goes: `records=release&to=<owner>`, else they go, too.
fn fate(call: &Call) -> Result<Fate, Refused> {
    if call.parameters.flag("quarantine", false)? {
        return match (call.parameters.text("records"), call.parameters.text("to")) {
            (None, None) => Ok(Fate::Quarantined),
            _ => Err(Refused::bad_request("records are put into quarantine or given to another owner: choose one")),
        };
    }
    match (call.parameters.text("records"), call.parameters.text("to")) {
        (None | Some("delete"), None) => Ok(Fate::Deleted),
        (Some("release"), Some(to)) => Ok(Fate::Released(owner_id("to", to)?)),
        (Some("release"), None) => Err(Refused::bad_request("records=release needs to=<owner>: who has them then")),
        (None | Some("delete"), Some(_)) => Err(Refused::bad_request("`to` goes with records=release")),
        (Some(other), _) => {
            Err(Refused::bad_request(format!("records is delete or release, not `{}`", other.escape_debug())))
        }
    }
}

fn on_expiry(text: &str) -> Result<OnExpiry, Refused> {
    OnExpiry::from_text(text).ok_or_else(|| {
        Refused::bad_request(format!("onExpiry is report, quarantine or delete, not `{}`", text.escape_debug()))
    })
}
