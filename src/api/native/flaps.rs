//! `/v1/flaps`: RRsets that do not come to rest (ownership.md section 4).

use axum::http::Method;
use axum::response::Response;
use serde_json::Value;

use super::records::zone_filter;
use crate::api::auth::Access;
use crate::api::call::{Call, Route};
use crate::api::findings::{ActorDocument, FlapDocument};
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::flaps::{self, Event};
use crate::store::Reader;
use crate::store::rows::ChangeFilter;
use crate::wire::name::Name;

/// Newest changes of a name that are looked at.
const EVENTS: u32 = 400;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::GET, "/v1/flaps", Access::Read, list).with(&["zone", "limit", "continue"])]
}

async fn list(call: Call) -> Result<Response, Refused> {
    let zone = zone_filter(&call)?;
    let page = call.state.reader.restless_page(zone.as_ref(), &paging::page(&call)?).await?;
    // What the doors saw of their clients stands before what the history tells, once.
    let is_first = call.parameters.text("continue").is_none();
    let mut items = if is_first { of_doors(&call, zone.as_ref()) } else { Vec::new() };
    for row in &page.items {
        if let (Ok(zone), Ok(name)) = (Name::parse(&row.zone), Name::parse(&row.name)) {
            items.extend(flap(&call.state.reader, &zone, &name, &row.rtype).await?);
        }
    }
    paging::shown(page.revision, items, page.next)
}

/// Records that clients of the external-dns door write again and again, without effect or in turn.
fn of_doors(call: &Call, zone: Option<&Name>) -> Vec<FlapDocument> {
    let snapshot = call.state.handle.published().get();
    let restless = call.state.external_dns.restless(call.state.clock.now());
    let shown = restless.into_iter().filter_map(|one| {
        let name = Name::parse(&one.name).ok()?;
        let apex = snapshot.zone_of(&name)?.apex().clone();
        zone.is_none_or(|zone| *zone == apex).then(|| FlapDocument {
            zone: apex.to_string(),
            name: one.name,
            rtype: one.rtype,
            pattern: one.pattern.to_owned(),
            actors: one
                .actors
                .into_iter()
                .map(|token| ActorDocument { token, owner: one.owner.as_str().to_owned() })
                .collect(),
            count: one.count,
            period_seconds: one.period_seconds,
            since: show::moment(one.since),
            field: one.field,
        })
    });
    shown.collect()
}

/// How an RRset flaps, if it does.
pub(super) async fn flap(
    reader: &Reader,
    zone: &Name,
    name: &Name,
    rtype: &str,
) -> Result<Option<FlapDocument>, Refused> {
    let filter = ChangeFilter {
        zone: Some(zone.clone()),
        name: Some(name.clone()),
        limit: Some(EVENTS),
        ..ChangeFilter::default()
    };
    let rows = reader.changes(&filter).await?.items;
    let events: Vec<Event> = rows
        .into_iter()
        .filter(|row| row.rtype == rtype)
        .map(|row| Event { at: row.at, actor: row.actor, owner: row.owner, before: row.before, after: row.after })
        .collect();
    Ok(flaps::detect(&events, differing).map(|flap| FlapDocument {
        zone: zone.to_string(),
        name: name.to_string(),
        rtype: rtype.to_owned(),
        pattern: flap.pattern.text().to_owned(),
        actors: flap.actors.into_iter().map(|(token, owner)| ActorDocument { token, owner }).collect(),
        count: flap.count as u64,
        period_seconds: flap.period_seconds,
        since: show::moment(flap.since),
        field: flap.field,
    }))
}

/// Keys in which two claims of the history differ.
fn differing(before: &str, after: &str) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (before, after) = (read(before), read(after));
    let keys = ["data", "ttl", "state", "alias", "labels", "share"];
    let differ: Vec<&str> = keys.into_iter().filter(|key| before.get(key) != after.get(key)).collect();
    differ.join(", ").replace("data", "values")
}
