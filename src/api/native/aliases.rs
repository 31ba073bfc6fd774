//! `/v1/alias-targets` and `/v1/aliases/{name}`: targets, their states, and who depends on them (alias.md section 9).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use super::check_rows;
use super::records::zone_filter;
use crate::alias::engine::Refreshed;
use crate::alias::handle::TargetView;
use crate::alias::lookup::Failure;
use crate::alias::references::{DeadInside, RecordKey};
use crate::api::alias_view::{self, Combined, FamilyView, RecordView};
use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, name_of, owner_id};
use crate::api::documents::{AliasRecordDocument, AliasTargetDocument, FamilyDocument, RefreshedDocument};
use crate::api::json::{self, BodyLimit};
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::control::Terms;
use crate::ledger::claim::ClaimState;
use crate::ledger::code::Code;
use crate::ledger::owner::OwnerId;
use crate::store::paging::{Cursor, Page};
use crate::store::rows::{ClaimFilter, ClaimRow, OwnerFilter};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::{AliasEntry, AliasState, Family, Group, Moment, RecordState, TargetKey};
use crate::zone::served::Serving;
use crate::zone::snapshot::Snapshot;

/// Most owners whose claims are read one owner after the other.
const MAX_NARROW: u32 = 200;
/// Names and targets of one request to refresh, at most.
const MAX_REFRESHED: usize = 1_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/alias-targets", Access::Read, list)
            .with(&["state", "owner", "zone", "target", "olderThan", "limit", "continue"])
            .repeating(&["state"]),
        Route::new(Method::GET, "/v1/aliases/{name}", Access::Read, show_one).with(&["zone"]),
        Route::new(Method::POST, "/v1/alias-targets/refresh", Access::Write, refresh).taking(BodyLimit::Small),
    ]
}

/// Target of a row, and the group of upstreams that it is asked of, by number: the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TargetCursor(Name, Option<u8>);

impl TargetCursor {
    fn of(row: &AliasTargetDocument, terms: &Terms) -> Option<TargetCursor> {
        let group = row.upstream_group.as_deref().map(|group| terms.group(Some(group)).0);
        Some(TargetCursor(Name::parse(&row.target).ok()?, group))
    }
}

impl Cursor for TargetCursor {
    const LIST: &'static str = "alias-targets";

    fn parts(&self) -> Vec<String> {
        vec![self.0.to_string(), self.1.map_or_else(String::new, |group| group.to_string())]
    }

    fn read(parts: &[String]) -> Option<TargetCursor> {
        let [target, group] = parts else { return None };
        let group = if group.is_empty() { None } else { Some(group.parse().ok()?) };
        Some(TargetCursor(Name::parse(target).ok()?, group))
    }
}

/// An ALIAS that is served, as it stands.
struct Looked {
    record: AliasRecordDocument,
    view: RecordView,
    since: Option<Moment>,
}

/// Of how many names at most the history is asked for the time since which they are gone.
const MAX_LOOKED_BACK: usize = 1_000;

/// The name of a state; a slip of the pen must not read as "nothing is dead".
fn known_state(text: &str) -> Result<String, Refused> {
    let of_records = [RecordState::NoAddresses, RecordState::Partial].map(|state| state.text());
    let known: Vec<&str> = AliasState::ALL.iter().map(|state| state.text()).chain(of_records).collect();
    if known.contains(&text) {
        return Ok(text.to_owned());
    }
    let detail = format!("`{}` is no state of an ALIAS: expected one of {}", text.escape_debug(), known.join(", "));
    Err(Refused::new(Code::BadRequest, detail))
}

async fn list(call: Call) -> Result<Response, Refused> {
    let states: Vec<String> = call.parameters.all("state").map(known_state).collect::<Result<_, _>>()?;
    let owner = call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?;
    let target = call.parameters.text("target").map(|text| name_of("target", text)).transpose()?;
    let older_than = call.parameters.text("olderThan").map(duration).transpose()?;
    let filter = ClaimFilter { zone: zone_filter(&call)?, ..alias_filter() };
    let filters = match &owner {
        Some(owner) => narrowed(&call, owner, &filter).await?,
        None => vec![filter],
    };
    let (revision, mut looked) = look(&call, &filters).await?;
    if let Some(owner) = &owner {
        let owner = owner.as_str();
        looked.retain(|one| one.record.owner == owner || one.record.parents.iter().any(|parent| parent == owner));
    }
    let now = call.state.clock.now();
    if let Some(age) = older_than {
        looked
            .retain(|one| one.since.is_some_and(|since| u128::from(now.0.saturating_sub(since.0)) >= age.as_millis()));
    }
    let mut rows = grouped(&call, looked).await?;
    rows.retain(|row| {
        let state = |one: &str| {
            row.state.eq_ignore_ascii_case(one)
                || row.records.iter().any(|record| record.state.eq_ignore_ascii_case(one))
        };
        states.is_empty() || states.iter().any(|one| state(one))
    });
    if let Some(target) = target {
        let target = target.to_string();
        rows.retain(|row| row.target == target);
    }
    let terms = &call.state.terms;
    let page = paging::page::<TargetCursor>(&call)?;
    if let Some(after) = &page.after {
        rows.retain(|row| TargetCursor::of(row, terms).is_some_and(|one| one > *after));
    }
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let next = if rows.len() > limit { rows.get(limit - 1).and_then(|row| TargetCursor::of(row, terms)) } else { None };
    rows.truncate(limit);
    paging::shown(revision, rows, next)
}

async fn show_one(call: Call) -> Result<Response, Refused> {
    let name = name_of("the name in the path", call.part("name"))?;
    let filter = ClaimFilter { zone: zone_filter(&call)?, name: Some(name.clone()), ..alias_filter() };
    let (_, looked) = look(&call, &[filter]).await?;
    let rows = grouped(&call, looked).await?;
    let row = rows.into_iter().next().ok_or_else(|| {
        Refused::not_found(format!(
            "no ALIAS is served at {name}: GET /v1/records?name={name} shows what is claimed there"
        ))
    })?;
    document(StatusCode::OK, &row)
}

/// Which targets are asked now.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = AliasRefresh)]
pub(super) struct RefreshFields {
    /// Names of ALIAS records.
    #[serde(default)]
    names: Vec<String>,
    /// Names of targets.
    #[serde(default)]
    targets: Vec<String>,
}

async fn refresh(call: Call) -> Result<Response, Refused> {
    let fields: RefreshFields = json::read(&call.body())?;
    if fields.names.is_empty() && fields.targets.is_empty() {
        return Err(Refused::bad_request("names or targets say what is asked anew"));
    }
    if fields.names.len() + fields.targets.len() > MAX_REFRESHED {
        return Err(Refused::new(Code::LimitExceeded, format!("at most {MAX_REFRESHED} names and targets at a time")));
    }
    let mut keys: BTreeSet<TargetKey> = BTreeSet::new();
    for text in &fields.names {
        let name = name_of("names", text)?;
        let filter = ClaimFilter { name: Some(name.clone()), ..alias_filter() };
        let (_, looked) = look(&call, &[filter]).await?;
        if looked.is_empty() {
            return Err(Refused::not_found(format!("no ALIAS is served at {name}")));
        }
        for view in looked.into_iter().map(|one| one.view).filter(|view| view.external) {
            keys.insert(TargetKey { name: view.end, group: view.group });
        }
    }
    for text in &fields.targets {
        let name = name_of("targets", text)?;
        for number in 0..call.state.terms.groups.len() {
            let group = Group(u8::try_from(number).unwrap_or(u8::MAX));
            keys.insert(TargetKey { name: name.clone(), group });
        }
    }
    let Some(handle) = &call.state.alias else {
        return Err(Refused::new(Code::StorageUnavailable, "targets are not looked up here"));
    };
    let stopping = |_| Refused::new(Code::StorageUnavailable, "the server is stopping: try again later");
    let refreshed = handle.refresh(keys.into_iter().collect()).await.map_err(stopping)?;
    let count = |wanted: Refreshed| refreshed.iter().filter(|one| **one == wanted).count() as u64;
    let answer = RefreshedDocument { accepted: count(Refreshed::Accepted), coalesced: count(Refreshed::Coalesced) };
    document(StatusCode::ACCEPTED, &answer)
}

fn alias_filter() -> ClaimFilter {
    ClaimFilter { rtype: Some(Rtype::ALIAS), state: Some(ClaimState::Held), ..ClaimFilter::default() }
}

/// `30m`, `24h`, `7d`.
pub(super) fn duration(text: &str) -> Result<Duration, Refused> {
    humantime::parse_duration(text).map_err(|_| Refused::bad_request("olderThan is a time like 30m, 24h or 7d"))
}

/// A filter for an owner and for each one below it, so that only their claims are read; the one filter for all claims if
/// they are so many that it is read faster.
async fn narrowed(call: &Call, owner: &OwnerId, filter: &ClaimFilter) -> Result<Vec<ClaimFilter>, Refused> {
    let mut all = vec![owner.clone()];
    let mut next = 0;
    while let Some(parent) = all.get(next).cloned() {
        next += 1;
        let below = OwnerFilter { parent: Some(parent), ..OwnerFilter::default() };
        let page = call.state.reader.owner_page(&below, &Page { limit: MAX_NARROW, after: None }).await?;
        all.extend(page.items.into_iter().map(|child| child.owner.id));
        if all.len() >= MAX_NARROW as usize {
            return Ok(vec![filter.clone()]);
        }
    }
    Ok(all.into_iter().map(|owner| ClaimFilter { owner: Some(owner), ..filter.clone() }).collect())
}

/// The served ALIAS claims of filters, each with what a query would get now.
async fn look(call: &Call, filters: &[ClaimFilter]) -> Result<(u64, Vec<Looked>), Refused> {
    let (mut revision, mut rows) = (u64::MAX, Vec::new());
    for filter in filters {
        let listing = call.state.reader.claims(filter).await?;
        // Of several reads the first: what is newer than that shows again in the next.
        revision = revision.min(listing.revision);
        rows.extend(listing.items);
        check_rows(rows.len(), "zone or owner")?;
    }
    let mut parents: HashMap<OwnerId, Vec<String>> = HashMap::new();
    for row in &rows {
        if !parents.contains_key(&row.claim.owner_id) {
            let owner = call.state.reader.owner(&row.claim.owner_id).await?;
            let above = owner.map(|owner| show::owner_ids(&owner.parents)).unwrap_or_default();
            parents.insert(row.claim.owner_id.clone(), above);
        }
    }
    let dead = dead_inside(call).await;
    let snapshot = call.state.handle.published().get();
    let now = call.state.clock.now();
    let looked = rows.iter().filter_map(|row| {
        let above = parents.get(&row.claim.owner_id).cloned().unwrap_or_default();
        one(call, &snapshot, row, above, &dead, now)
    });
    Ok((revision, looked.collect()))
}

/// Records whose target a zone here says not to exist, and since when: since the last change at that name where the
/// history has one, for the server may have started since.
pub(super) async fn dead_inside(call: &Call) -> HashMap<RecordKey, Moment> {
    // The engine ends before the API does at a stop.
    let dead = match &call.state.alias {
        Some(handle) => handle.dead_inside().await.unwrap_or_default(),
        None => HashMap::new(),
    };
    let mut changed: HashMap<Name, Option<Moment>> = HashMap::new();
    for name in dead.values().map(|one| &one.name) {
        if changed.len() < MAX_LOOKED_BACK && !changed.contains_key(name) {
            // What the history does not tell is as it would be without one.
            changed.insert(name.clone(), call.state.reader.last_change_at(name).await.unwrap_or_default());
        }
    }
    let since = |one: &DeadInside| changed.get(&one.name).copied().flatten().map_or(one.since, |at| at.min(one.since));
    dead.into_iter().map(|(key, one)| (key, since(&one))).collect()
}

/// Where a claim stands, as the engine knows records.
pub(super) fn record_key(row: &ClaimRow) -> RecordKey {
    RecordKey { zone: row.zone.clone(), name: row.claim.name.clone() }
}

/// Who looks at targets, for people: the name of this machine.
fn vantage() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "tenured".to_owned(), |name| name.trim().to_owned())
}

fn one(
    call: &Call,
    snapshot: &Snapshot,
    row: &ClaimRow,
    parents: Vec<String>,
    dead: &HashMap<RecordKey, Moment>,
    now: Moment,
) -> Option<Looked> {
    let zone = snapshot.zone(&row.zone)?;
    let node = zone.node(&row.claim.name)?;
    let view = alias_view::view(snapshot, &call.state.trust, zone, node, dead.get(&record_key(row)).copied(), now)?;
    let (state, since) = view.state();
    let best = view.best();
    let record = AliasRecordDocument {
        zone: row.zone.to_string(),
        name: row.claim.name.to_string(),
        unicode: show::unicode(&row.claim.name),
        target: show::values(Rtype::ALIAS, &row.claim.records).into_iter().next().unwrap_or_default(),
        owner: row.claim.owner_id.as_str().to_owned(),
        parents,
        state: state.text().to_owned(),
        since: since.map(show::moment),
        serving: best.map_or(Serving::NoData, |best| best.serving).text().to_owned(),
        effective_ttl_seconds: best.map_or(0, |best| best.ttl),
        ttl_limited_by: best.map_or("policy", |best| best.limited_by.text()).to_owned(),
        stale_until: best.and_then(|best| best.stale_until).map(show::moment),
        families: view.families.iter().map(family).collect(),
    };
    Some(Looked { record, view, since })
}

fn family_name(family: Family) -> String {
    family.rtype().to_string()
}

pub(super) fn family(view: &FamilyView) -> (String, FamilyDocument) {
    let state = view.state.map_or("Static", |state| state.text()).to_owned();
    let (addresses, last_addresses) = (view.addresses.clone(), view.last_addresses.clone());
    (family_name(view.family), FamilyDocument { state, addresses, last_addresses, ..FamilyDocument::default() })
}

/// Records by the name at which their walks end, in canonical order of those.
async fn grouped(call: &Call, looked: Vec<Looked>) -> Result<Vec<AliasTargetDocument>, Refused> {
    let mut groups: BTreeMap<(Name, Option<Group>), Vec<Looked>> = BTreeMap::new();
    for one in looked {
        let group = one.view.external.then_some(one.view.group);
        groups.entry((one.view.end.clone(), group)).or_default().push(one);
    }
    let known: HashMap<TargetKey, TargetView> = match &call.state.alias {
        Some(handle) => {
            // The engine ends before the API does at a stop; what is published is still there.
            let views = handle.status().await.unwrap_or_default();
            views.into_iter().map(|view| (view.status.entry.target.clone(), view)).collect()
        }
        None => HashMap::new(),
    };
    let snapshot = call.state.handle.published().get();
    Ok(groups
        .into_iter()
        .map(|((end, group), records)| {
            if let Some(group) = group {
                let key = TargetKey { name: end, group };
                let status = known.get(&key);
                let entry = status.map(|view| &view.status.entry).or_else(|| snapshot.alias.entry(&key));
                let group = call.state.terms.group_name(group).unwrap_or("unknown");
                outside(group, &key.name, entry.map(AsRef::as_ref), status, records)
            } else {
                inside(&end, records)
            }
        })
        .collect())
}

fn outside(
    group: &str,
    end: &Name,
    entry: Option<&AliasEntry>,
    status: Option<&TargetView>,
    records: Vec<Looked>,
) -> AliasTargetDocument {
    let mut row = AliasTargetDocument {
        target: end.to_string(),
        upstream_group: Some(group.to_owned()),
        state: Combined::of(&[(AliasState::Pending, None)]).text().to_owned(),
        records: records.into_iter().map(|one| one.record).collect(),
        ..AliasTargetDocument::default()
    };
    if let Some(entry) = entry {
        let states = alias_view::states(entry);
        let combined = Combined::of(&states);
        row.state = combined.text().to_owned();
        row.since = alias_view::since(combined, &states).map(show::moment);
        row.last_ok_at = Family::BOTH.iter().filter_map(|one| entry.family(*one).last_ok).max().map(show::moment);
        row.checked_at = Family::BOTH.iter().filter_map(|one| entry.family(*one).checked).max().map(show::moment);
        row.families = Family::BOTH.iter().map(|one| (family_name(*one), known_family(entry, *one))).collect();
        let last = || Family::BOTH.iter().filter_map(|one| entry.family(*one).lookup.as_deref());
        let upstream = last().find_map(|one| one.upstream).map(|address| address.ip().to_string());
        row.vantage = upstream.map(|upstream| format!("{} via {upstream}", vantage()));
        row.addresses_changed_at =
            Family::BOTH.iter().filter_map(|one| entry.family(*one).changed).max().map(show::moment);
        row.chain = entry.chain().iter().map(Name::to_string).collect();
        row.takeover_risk = entry.takeover_risk();
        row.last_error = last().find_map(|one| one.error).map(last_error);
    }
    if let Some(view) = status {
        let probes = [view.status.a, view.status.aaaa];
        for (family, probe) in Family::BOTH.into_iter().zip(probes) {
            if let Some(known) = row.families.get_mut(&family_name(family)) {
                known.rtt_millis = probe.took;
            }
        }
        row.next_refresh_at = probes.iter().filter_map(|probe| probe.next_refresh).min().map(show::moment);
    }
    row
}

fn last_error(error: AliasState) -> String {
    Failure::of(error).map_or_else(|| "NXDOMAIN".to_owned(), |failure| failure.to_string())
}

fn known_family(entry: &AliasEntry, family: Family) -> FamilyDocument {
    let answer = entry.family(family);
    let last = alias_view::texts(family, answer.addresses.octets(family));
    let addresses = if answer.state == AliasState::Resolved { last.clone() } else { Vec::new() };
    FamilyDocument {
        state: answer.state.text().to_owned(),
        addresses,
        last_addresses: last,
        ..FamilyDocument::default()
    }
}

fn inside(end: &Name, records: Vec<Looked>) -> AliasTargetDocument {
    // All of them walk the same zones, so the first that is not static tells the state of the target.
    let lead = records.iter().find(|one| one.view.families.iter().any(|family| family.state.is_some()));
    let (state, since) = lead.map_or((Combined::Static, None), |one| one.view.state());
    let families = lead.map(|one| one.record.families.clone()).unwrap_or_default();
    AliasTargetDocument {
        target: end.to_string(),
        state: state.text().to_owned(),
        since: since.map(show::moment),
        families,
        records: records.into_iter().map(|one| one.record).collect(),
        ..AliasTargetDocument::default()
    }
}
