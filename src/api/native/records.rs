//! `/v1/records` and `/v1/owners/{owner}/records`: claims as they stand (ownership.md section 4).

use axum::http::Method;
use axum::response::Response;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, name_of, owner_id};
use crate::api::documents::RecordDocument;
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::claim::ClaimState;
use crate::ledger::owner::OwnerId;
use crate::store::rows::ClaimFilter;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/records", Access::Read, list)
            .with(&["zone", "name", "type", "owner", "state", "labels", "limit", "continue"]),
        Route::new(Method::GET, "/v1/owners/{owner}/records", Access::Read, of_owner)
            .with(&["zone", "name", "type", "state", "labels", "limit", "continue"]),
    ]
}

/// The name of `?name=`, relative to `?zone=` if that is there.
pub(super) fn name_filter(call: &Call, zone: Option<&Name>) -> Result<Option<Name>, Refused> {
    let Some(text) = call.parameters.text("name") else { return Ok(None) };
    match zone {
        None => name_of("name", text).map(Some),
        Some(zone) => Name::parse_in(text, zone)
            .map(Some)
            .map_err(|error| Refused::bad_request(format!("name is no domain name: {error}"))),
    }
}

/// `?zone=`.
pub(super) fn zone_filter(call: &Call) -> Result<Option<Name>, Refused> {
    call.parameters.text("zone").map(|text| name_of("zone", text)).transpose()
}

async fn list(call: Call) -> Result<Response, Refused> {
    let owner = call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?;
    claims(call, owner).await
}

async fn of_owner(call: Call) -> Result<Response, Refused> {
    let owner = call.owner()?;
    if call.state.reader.owner(&owner).await?.is_none() {
        return Err(super::owners::no_owner(&owner));
    }
    claims(call, Some(owner)).await
}

async fn claims(call: Call, owner: Option<OwnerId>) -> Result<Response, Refused> {
    let zone = zone_filter(&call)?;
    let rtype = call
        .parameters
        .text("type")
        .map(|text| text.parse::<Rtype>().map_err(|error| Refused::bad_request(format!("type: {error}"))));
    let state = call.parameters.text("state").map(|text| {
        ClaimState::from_text(text).ok_or_else(|| {
            let known: Vec<&str> = ClaimState::ALL.iter().map(|state| state.text()).collect();
            Refused::bad_request(format!("state is one of {}, not `{}`", known.join(", "), text.escape_debug()))
        })
    });
    let labels = labels(call.parameters.text("labels").unwrap_or_default())?;
    let filter = ClaimFilter {
        name: name_filter(&call, zone.as_ref())?,
        zone,
        rtype: rtype.transpose()?,
        owner,
        state: state.transpose()?,
        labels,
    };
    let listing = call.state.reader.claim_page(&filter, &paging::page(&call)?).await?;
    let snapshot = call.state.handle.published().get();
    blocking(move || {
        let items: Vec<RecordDocument> = listing
            .items
            .iter()
            .map(|row| show::record(row, snapshot.zone(&row.zone).and_then(|zone| zone.serial())))
            .collect();
        paging::shown(listing.revision, items, listing.next)
    })
    .await?
}

/// `key=value,key=value`.
fn labels(text: &str) -> Result<Vec<(String, String)>, Refused> {
    text.split(',')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            pair.split_once('=')
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .ok_or_else(|| Refused::bad_request("labels is a list like `key=value,other=value`"))
        })
        .collect()
}
