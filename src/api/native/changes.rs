//! `/v1/changes`: the history as a list (ownership.md section 4).

use axum::http::Method;
use axum::response::Response;

use super::follow::{self, Form};
use super::records::{name_filter, zone_filter};
use super::revert::compacted;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, owner_id};
use crate::api::documents::ChangeDocument;
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::store::paging::ChangeCursor;
use crate::store::rows::{ChangeFilter, ChangeRow};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/changes", Access::Read, list)
            .with(&["since", "zone", "name", "owner", "actor", "last", "limit", "continue"]),
    ]
}

async fn list(call: Call) -> Result<Response, Refused> {
    let zone = zone_filter(&call)?;
    let mut filter = ChangeFilter {
        since: call.parameters.number("since")?,
        name: name_filter(&call, zone.as_ref())?,
        zone,
        owner: call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?,
        actor: call.parameters.text("actor").map(str::to_owned),
        limit: None,
    };
    let trimmed = call.state.reader.trimmed().await?;
    let given = follow::last_event(&call.headers)?.or_else(|| filter.since.map(ChangeCursor::after));
    if given.is_some_and(|given| given.revision < trimmed) {
        return Err(compacted(trimmed));
    }
    match follow::form(&call.headers) {
        Form::Json => {}
        Form::Lines => return follow::start(call, filter, given.unwrap_or_default(), Form::Lines),
        Form::Events => {
            let now = ChangeCursor::after(call.state.reader.revision().await?);
            return follow::start(call, filter, given.unwrap_or(now), Form::Events);
        }
    }
    let mut page = paging::page::<ChangeCursor>(&call)?;
    if let Some(last) = call.parameters.number("last")? {
        let last = u32::try_from(last).ok().filter(|last| (1..=paging::MAX_LIMIT).contains(last));
        let detail = || Refused::bad_request(format!("last is from 1 to {}", paging::MAX_LIMIT));
        filter.limit = Some(last.ok_or_else(detail)?);
        let listing = call.state.reader.changes(&filter).await?;
        let items: Vec<ChangeDocument> = listing.items.iter().map(shown).collect();
        return paging::shown(listing.revision, items, None::<ChangeCursor>);
    }
    page.after = page.after.or_else(|| filter.since.map(ChangeCursor::after));
    let listing = call.state.reader.change_page(&filter, &page).await?;
    let items: Vec<ChangeDocument> = listing.items.iter().map(shown).collect();
    paging::shown(listing.revision, items, listing.next)
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
