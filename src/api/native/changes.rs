//! `/v1/changes`: the history as a list (ownership.md section 4).

use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::MAX_CHANGES;
use super::records::{name_filter, zone_filter};
use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, owner_id};
use crate::api::documents::{ChangeDocument, List};
use crate::api::problem::Refused;
use crate::api::show;
use crate::store::rows::{ChangeFilter, ChangeRow};

/// Rows that an answer has if the caller does not say how many.
const DEFAULT_CHANGES: u32 = 1_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/changes", Access::Read, list)
            .with(&["since", "zone", "name", "owner", "actor", "limit"]),
    ]
}

async fn list(call: Call) -> Result<Response, Refused> {
    let zone = zone_filter(&call)?;
    let limit = match call.parameters.number("limit")? {
        None => DEFAULT_CHANGES,
        Some(limit) => u32::try_from(limit)
            .ok()
            .filter(|limit| (1..=MAX_CHANGES).contains(limit))
            .ok_or_else(|| Refused::bad_request(format!("limit is from 1 to {MAX_CHANGES}, not {limit}")))?,
    };
    let filter = ChangeFilter {
        since: call.parameters.number("since")?,
        name: name_filter(&call, zone.as_ref())?,
        zone,
        owner: call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?,
        actor: call.parameters.text("actor").map(str::to_owned),
        limit: Some(limit),
    };
    let listing = call.state.reader.changes(&filter).await?;
    let items: Vec<ChangeDocument> = listing.items.iter().map(shown).collect();
    document(StatusCode::OK, &List { revision: listing.revision, items })
}

pub(super) fn shown(row: &ChangeRow) -> ChangeDocument {
    ChangeDocument {
        revision: row.revision,
        at: show::moment(row.at),
        actor: row.actor.clone(),
        owner: row.owner.clone(),
        request_id: row.request_id.clone(),
        door: row.door.clone(),
        zone: row.zone.clone(),
        name: row.name.clone(),
        rtype: row.rtype.clone(),
        before: show::history(&row.rtype, row.before.as_deref()),
        after: show::history(&row.rtype, row.after.as_deref()),
    }
}
