//! `/v1/conflicts`: who wants what, who holds it, since when (ownership.md section 4).

use axum::http::Method;
use axum::response::Response;

use super::records::zone_filter;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, owner_id};
use crate::api::findings::ConflictDocument;
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::claim::ClaimState;
use crate::ledger::code::Code;
use crate::ledger::owner::OwnerId;
use crate::store::paging::{ClaimCursor, Cursor, Page};
use crate::store::refused::{RefusedKey, RefusedRow};
use crate::store::rows::{ClaimFilter, ClaimRow};
use crate::wire::codes::Rtype;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::GET, "/v1/conflicts", Access::Read, list).with(&["zone", "owner", "limit", "continue"])]
}

/// The queued ones come first, then the refused ones.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Queued(ClaimCursor),
    Refused(RefusedKey),
}

impl Cursor for Place {
    const LIST: &'static str = "conflicts";

    fn parts(&self) -> Vec<String> {
        let (state, parts) = match self {
            Place::Queued(cursor) => ("queued", cursor.parts()),
            Place::Refused(cursor) => ("refused", cursor.parts()),
        };
        [vec![state.to_owned()], parts].concat()
    }

    fn read(parts: &[String]) -> Option<Place> {
        match parts.split_first() {
            Some((state, parts)) if state == "queued" => ClaimCursor::read(parts).map(Place::Queued),
            Some((state, parts)) if state == "refused" => RefusedKey::read(parts).map(Place::Refused),
            Some(_) | None => None,
        }
    }
}

async fn list(call: Call) -> Result<Response, Refused> {
    let zone = zone_filter(&call)?;
    let owner = call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?;
    let page = paging::page::<Place>(&call)?;
    let (queued_after, refused_after) = match page.after {
        None => (Some(None), None),
        Some(Place::Queued(cursor)) => (Some(Some(cursor)), None),
        Some(Place::Refused(cursor)) => (None, Some(cursor)),
    };
    let (mut items, mut next, mut revision) = (Vec::new(), None, None);
    if let Some(after) = queued_after {
        let filter = ClaimFilter {
            zone: zone.clone(),
            owner: owner.clone(),
            state: Some(ClaimState::Queued),
            ..ClaimFilter::default()
        };
        let queued = call.state.reader.claim_page(&filter, &Page { limit: page.limit, after }).await?;
        for row in &queued.items {
            items.push(waiting(&call, row).await?);
        }
        revision = Some(queued.revision);
        next = queued.next.map(Place::Queued);
    }
    let room = page.limit - u32::try_from(items.len()).unwrap_or(page.limit).min(page.limit);
    // A page that the queued ones fill goes on with the first refused one.
    let full = next.is_none() && room == 0;
    if next.is_none() {
        let rest = Page { limit: room.max(1), after: refused_after };
        let zone = zone.map(|zone| zone.to_string());
        let refused =
            call.state.reader.refused_page(zone.as_deref(), owner.as_ref().map(OwnerId::as_str), &rest).await?;
        revision = revision.or(Some(refused.revision));
        if full {
            next = (!refused.items.is_empty()).then(|| Place::Refused(RefusedKey::default()));
        } else {
            items.extend(refused.items.into_iter().map(shown));
            next = refused.next.map(Place::Refused);
        }
    }
    paging::shown(revision.unwrap_or_default(), items, next)
}

fn shown(row: RefusedRow) -> ConflictDocument {
    ConflictDocument {
        zone: row.key.zone,
        name: row.key.name,
        rtype: row.key.rtype,
        values: row.values,
        owner: row.key.owner,
        holder: Some(row.holder),
        code: row.code,
        state: "refused".to_owned(),
        since: show::moment(row.since),
        door: Some(row.door),
    }
}

async fn waiting(call: &Call, row: &ClaimRow) -> Result<ConflictDocument, Refused> {
    let claim = &row.claim;
    let filter = ClaimFilter {
        zone: Some(row.zone.clone()),
        name: Some(claim.name.clone()),
        state: Some(ClaimState::Held),
        ..ClaimFilter::default()
    };
    let held = call.state.reader.claims(&filter).await?.items;
    let mut others = held.iter().filter(|one| one.claim.owner != claim.owner);
    let same = others.clone().find(|one| one.claim.rtype == claim.rtype);
    let exclusive = |rtype: Rtype| rtype == Rtype::CNAME || rtype == Rtype::ALIAS;
    let other = same.or_else(|| others.find(|one| exclusive(one.claim.rtype) || exclusive(claim.rtype)));
    let code = match other {
        Some(one) if one.claim.rtype == claim.rtype => Code::OwnedByOther,
        Some(one) if one.claim.rtype == Rtype::CNAME || claim.rtype == Rtype::CNAME => Code::CnameExclusive,
        Some(_) => Code::AliasExclusive,
        None => Code::OwnedByOther,
    };
    Ok(ConflictDocument {
        zone: row.zone.to_string(),
        name: claim.name.to_string(),
        rtype: claim.rtype.to_string(),
        values: show::values(claim.rtype, &claim.records),
        owner: claim.owner_id.as_str().to_owned(),
        holder: other.map(|one| one.claim.owner_id.as_str().to_owned()),
        code: code.text().to_owned(),
        state: "queued".to_owned(),
        since: show::moment(claim.created),
        door: None,
    })
}
