//! `/v1/owners/{owner}/externaldns` and `/v1/plans`: what the external-dns door knows of its clients, and what its
//! plan-only URL would have done.

use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::owners::no_owner;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, owner_id};
use crate::api::documents::List;
use crate::api::door_documents::{CallsDocument, PlanDocument, PostDocument, StatusDocument, WaitingDocument};
use crate::api::externaldns::{DoorCall, OwnerMemory};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::claim::ClaimState;
use crate::ledger::owner::OwnerId;
use crate::store::paging::Page;
use crate::store::rows::ClaimFilter;

/// Waiting wishes that are listed.
const MAX_QUEUED: u32 = 1_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/owners/{owner}/externaldns", Access::Read, show_one),
        Route::new(Method::GET, "/v1/plans", Access::Read, plans).with(&["owner"]),
    ]
}

async fn show_one(call: Call) -> Result<Response, Refused> {
    let id = call.owner()?;
    let (owner, _) = call.state.reader.door_owner(&id).await?;
    let owner = owner.ok_or_else(|| no_owner(&id))?;
    let Some(door) = owner.external_dns else {
        return Err(Refused::not_found(format!("{id} is not used by the external-dns door")));
    };
    let memory = call.state.external_dns.of(&id).unwrap_or_default();
    let (holds, queued) = (holds(&call, &id).await?, queued(&call, &id).await?);
    let OwnerMemory { agent, instance, calls, post, .. } = memory;
    let last = |one| calls.last(one).map(show::moment);
    let shown = StatusDocument {
        owner: id.to_string(),
        txt_owner_id: door.txt_owner_id,
        client: agent,
        instance,
        calls: CallsDocument {
            negotiate: last(DoorCall::Negotiate),
            records: last(DoorCall::Records),
            adjust: last(DoorCall::Adjust),
            change: last(DoorCall::Change),
        },
        last_change: post.map(|post| PostDocument {
            at: show::moment(post.at),
            revision: post.revision,
            summary: post.summary,
            refused: post.refused,
            more: post.more,
        }),
        holds,
        queued,
    };
    document(StatusCode::OK, &shown)
}

async fn holds(call: &Call, owner: &OwnerId) -> Result<Vec<String>, Refused> {
    Ok(call.state.reader.holds(Some(owner)).await?.items.iter().map(|hold| hold.word()).collect())
}

async fn queued(call: &Call, owner: &OwnerId) -> Result<Vec<WaitingDocument>, Refused> {
    let filter = ClaimFilter { owner: Some(owner.clone()), state: Some(ClaimState::Queued), ..ClaimFilter::default() };
    let rows = call.state.reader.claim_page(&filter, &Page { limit: MAX_QUEUED, after: None }).await?;
    let waiting = rows.items.iter().map(|row| WaitingDocument {
        name: row.claim.name.to_string(),
        rtype: row.claim.rtype.to_string(),
        since: show::moment(row.claim.created),
    });
    Ok(waiting.collect())
}

async fn plans(call: Call) -> Result<Response, Refused> {
    let owner = call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?;
    let plans = call.state.external_dns.plans(owner.as_ref(), call.state.clock.now());
    let items = plans.into_iter().map(|plan| PlanDocument {
        owner: plan.owner.to_string(),
        at: show::moment(plan.at),
        revision: plan.revision,
        summary: plan.summary,
        results: plan.results,
        more: plan.more,
    });
    let revision = call.state.reader.revision().await?;
    document(StatusCode::OK, &List { revision, items: items.collect::<Vec<_>>() })
}
