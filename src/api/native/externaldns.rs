//! `/v1/owners/{owner}/externaldns` and `/v1/plans`: what the external-dns door knows of its clients, and what its
//! plan-only URL would have done.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::owners::no_owner;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, owner_id};
use crate::api::documents::{ItemDocument, List, SummaryDocument};
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

/// An owner as the external-dns door knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DoorStatus)]
pub(super) struct StatusDocument {
    /// The owner.
    pub(super) owner: String,
    /// The client's `--txt-owner-id`; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) txt_owner_id: Option<String>,
    /// What the client says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<String>,
    /// Which one of several it says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instance: Option<String>,
    /// When each call last came.
    pub(super) calls: CallsDocument,
    /// What the last change came to; absent if none came since the server started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_change: Option<PostDocument>,
    /// Ids of what is on hold.
    pub(super) holds: Vec<String>,
    /// Records that wait for another owner, the first ones.
    pub(super) queued: Vec<WaitingDocument>,
}

/// When each call last came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DoorCalls)]
pub(super) struct CallsDocument {
    /// `GET /`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) negotiate: Option<String>,
    /// `GET /records`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) records: Option<String>,
    /// `POST /adjustendpoints`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) adjust: Option<String>,
    /// `POST /records`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<String>,
}

/// What a change came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DoorChange)]
pub(super) struct PostDocument {
    /// When.
    pub(super) at: String,
    /// The revision then.
    pub(super) revision: u64,
    /// Records by outcome.
    pub(super) summary: SummaryDocument,
    /// Records that are not in effect, the first ones.
    pub(super) refused: Vec<ItemDocument>,
    /// Whether there were more.
    pub(super) more: bool,
}

/// A record that waits for another owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Waiting)]
pub(super) struct WaitingDocument {
    /// The name.
    pub(super) name: String,
    /// The type.
    #[serde(rename = "type")]
    pub(super) rtype: String,
    /// Since when.
    pub(super) since: String,
}

/// What the plan-only URL would have done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DoorPlan)]
pub(super) struct PlanDocument {
    /// Whose.
    pub(super) owner: String,
    /// When.
    pub(super) at: String,
    /// The revision it was planned on.
    pub(super) revision: u64,
    /// Records by outcome.
    pub(super) summary: SummaryDocument,
    /// What would become of each record, the first ones.
    pub(super) results: Vec<ItemDocument>,
    /// Whether there were more.
    pub(super) more: bool,
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
