//! `/v1/explain`: why does this name answer what it answers (ownership.md section 4).

use axum::http::{Method, StatusCode};
use axum::response::Response;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, name_of};
use crate::api::documents::{AnswerDocument, ExplanationDocument, HolderDocument, QueuedDocument, StepDocument};
use crate::api::explained::{self, End, Explained};
use crate::api::findings::{FlapDocument, OrphanDocument};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::claim::ClaimState;
use crate::store::rows::{ChangeFilter, ClaimFilter};
use crate::wire::codes::Rtype;
use crate::zone::alias::Moment;
use crate::zone::content::Zone;

/// Changes that an explanation shows.
const CHANGES: u32 = 20;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::GET, "/v1/explain", Access::Read, explain).with(&["name", "type"])]
}

async fn explain(call: Call) -> Result<Response, Refused> {
    let name = call.parameters.text("name").ok_or_else(|| Refused::bad_request("`name` says which name to explain"))?;
    let name = name_of("name", name)?;
    let rtype: Rtype = match call.parameters.text("type") {
        None => Rtype::A,
        Some(text) => text.parse().map_err(|error| Refused::bad_request(format!("type: {error}")))?,
    };
    if rtype.is_meta() {
        return Err(Refused::bad_request(format!("{rtype} is a type of queries alone: ask for one that records have")));
    }
    let snapshot = call.state.handle.published().get();
    let told = explained::explain(&snapshot, &call.state.trust, &name, rtype, call.state.clock.now());
    let (mut holder, mut queued, mut orphan) = (None, Vec::new(), None);
    if let Some((zone, at, decided)) = &told.decided_by {
        let filter = ClaimFilter { zone: Some(zone.clone()), name: Some(at.clone()), ..ClaimFilter::default() };
        for row in call.state.reader.claims(&filter).await?.items {
            let claim = &row.claim;
            match claim.state {
                ClaimState::Held if claim.rtype == *decided && holder.is_none() => {
                    orphan = super::orphans::orphan(&call, &row).await?;
                    let owner = call.state.reader.owner(&claim.owner_id).await?;
                    holder = Some(HolderDocument {
                        owner: claim.owner_id.as_str().to_owned(),
                        kind: owner.as_ref().and_then(|owner| owner.owner.kind.clone()),
                        parents: owner.map(|owner| show::owner_ids(&owner.parents)).unwrap_or_default(),
                        since: show::moment(claim.created),
                    });
                }
                ClaimState::Queued => queued.push(QueuedDocument {
                    owner: claim.owner_id.as_str().to_owned(),
                    rtype: claim.rtype.to_string(),
                    values: show::values(claim.rtype, &claim.records),
                    since: show::moment(claim.created),
                }),
                ClaimState::Held | ClaimState::Quarantined => {}
            }
        }
    }
    let at = told.decided_by.as_ref().map_or(&name, |(_, at, _)| at).clone();
    let filter = ChangeFilter { name: Some(at), limit: Some(CHANGES), ..ChangeFilter::default() };
    let changes = call.state.reader.changes(&filter).await?;
    let flapping = match &told.decided_by {
        Some((zone, at, decided)) => super::flaps::flap(&call.state.reader, zone, at, &decided.to_string()).await?,
        None => match snapshot.zone_of(&name) {
            Some(zone) => super::flaps::flap(&call.state.reader, zone.apex(), &name, &rtype.to_string()).await?,
            None => None,
        },
    };
    let now = call.state.clock.now();
    let negative_until = snapshot.zone_of(&name).and_then(|zone| {
        let negative = Moment(negative_ttl(zone)? * 1_000);
        match told.end {
            End::NameError | End::NoData => {
                let cap = told.negative_cap.map_or(u64::MAX, |seconds| u64::from(seconds) * 1_000);
                Some(Moment(now.0 + negative.0.min(cap)))
            }
            // A resolver may have asked right before the name came.
            _ => changes
                .items
                .iter()
                .filter(|change| !is_held(change.before.as_deref()) && is_held(change.after.as_deref()))
                .map(|change| Moment(change.at.0 + negative.0))
                .max(),
        }
    });
    let shown = ExplanationDocument {
        revision: snapshot.revision,
        name: name.to_string(),
        unicode: show::unicode(&name),
        rtype: rtype.to_string(),
        verdict: verdict(&told, holder.as_ref(), &queued, flapping.as_ref(), orphan.as_ref()),
        steps: told
            .steps
            .iter()
            .map(|step| StepDocument { step: step.step.to_owned(), detail: step.detail.clone() })
            .collect(),
        answer: AnswerDocument { rcode: told.end.rcode().to_owned(), records: told.records },
        holder,
        queued,
        changes: changes.items.iter().map(super::changes::shown).collect(),
        flapping,
        orphan,
        negative_until: negative_until.filter(|until| *until > now).map(show::moment),
    };
    document(StatusCode::OK, &shown)
}

/// Whether a claim of the history was served.
fn is_held(claim: Option<&str>) -> bool {
    let claim = claim.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    claim.is_some_and(|claim| claim["state"] == "held")
}

/// How long resolvers keep a negative answer of a zone, in seconds: the lower of the SOA's TTL and its last field.
fn negative_ttl(zone: &Zone) -> Option<u64> {
    let soa = zone.node(zone.apex())?.rrset(Rtype::SOA)?;
    let minimum = soa.first().last_chunk::<4>()?;
    Some(u64::from(soa.ttl.min(u32::from_be_bytes(*minimum))))
}

/// One sentence: what comes back, why, and whose it is.
fn verdict(
    told: &Explained,
    holder: Option<&HolderDocument>,
    queued: &[QueuedDocument],
    flapping: Option<&FlapDocument>,
    orphan: Option<&OrphanDocument>,
) -> String {
    let answer = match told.end {
        End::Answer => "answers",
        End::NoData => "answers without records (NODATA)",
        End::NameError => "says NXDOMAIN",
        End::Referral => "refers to other name servers",
        End::Outside => "answers with a chain that ends elsewhere",
        End::Chain => "answers with a chain that has no end",
        End::NoZone => "refuses the question",
        End::Failure => "answers SERVFAIL",
    };
    let mut out = format!("the server {answer}: {}", told.verdict);
    if let Some(holder) = holder {
        out.push_str(&format!("; held by {} since {}", holder.owner, holder.since));
    }
    if let Some(first) = queued.first() {
        out.push_str(&format!("; {} waits for it since {}", first.owner, first.since));
    }
    if let Some(orphan) = orphan {
        let chain = [vec![orphan.owner.clone()], orphan.parents.clone()].concat().join(", below ");
        let what = match orphan.reason.as_str() {
            "ownerExpired" => "the lease of its owner ran out",
            "ownerUnconfirmed" => "its owner asked for all its records again, and not for this one",
            _ => "its target is gone",
        };
        out.push_str(&format!(
            "; orphan ({}) since {}: {what}: ask {chain}, or delete the record",
            orphan.reason, orphan.since
        ));
    }
    if let Some(flap) = flapping {
        let rhythm = flap.period_seconds.map_or_else(String::new, |period| format!(" every {period} s"));
        let who: Vec<String> = flap.actors.iter().map(|one| format!("{} for {}", one.token, one.owner)).collect();
        let who = who.join(" and ");
        out.push_str(&format!(
            "; it flaps{rhythm} since {} ({} turns): stop one of its writers: {who}",
            flap.since, flap.count
        ));
    }
    out
}
