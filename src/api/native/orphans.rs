//! `/v1/orphans`: records that nobody may own any more (ownership.md section 3.4): those whose target is gone, those of
//! owners that expired, and, only when asked for, those that an import left to its zone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use axum::http::Method;
use axum::response::Response;

use super::aliases::{dead_inside, duration, record_key};
use super::records::zone_filter;
use crate::alias::references::RecordKey;
use crate::api::alias_view;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, owner_id};
use crate::api::findings::OrphanDocument;
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::claim::ClaimState;
use crate::ledger::owner::OwnerState;
use crate::store::paging::{ClaimCursor, Cursor, Page};
use crate::store::rows::{ClaimFilter, ClaimRow, OwnerSummary};
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{AliasState, Moment};
use crate::zone::content::Lookup;
use crate::zone::snapshot::Snapshot;

/// Reads of a page of claims for one page of orphans; a page may so be short and still not be the last.
const READS: usize = 20;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/orphans", Access::Read, list)
            .with(&["reason", "owner", "zone", "olderThan", "limit", "continue"])
            .repeating(&["reason"]),
    ]
}

/// Why a record is an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// Its owner's lease ran out.
    OwnerExpired,
    /// What its client calls for passed it by.
    OwnerUnconfirmed,
    /// What it points at is not there.
    TargetNxdomain,
    /// It was imported, and no owner has claimed it since.
    Unclaimed,
}

impl Reason {
    const ALL: [Reason; 4] =
        [Reason::OwnerExpired, Reason::OwnerUnconfirmed, Reason::TargetNxdomain, Reason::Unclaimed];

    fn text(self) -> &'static str {
        match self {
            Reason::OwnerExpired => "ownerExpired",
            Reason::OwnerUnconfirmed => "ownerUnconfirmed",
            Reason::TargetNxdomain => "targetNxdomain",
            Reason::Unclaimed => "unclaimed",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place(ClaimCursor);

impl Cursor for Place {
    const LIST: &'static str = "orphans";

    fn parts(&self) -> Vec<String> {
        self.0.parts()
    }

    fn read(parts: &[String]) -> Option<Place> {
        ClaimCursor::read(parts).map(Place)
    }
}

async fn list(call: Call) -> Result<Response, Refused> {
    let mut reasons = Vec::new();
    for text in call.parameters.all("reason") {
        reasons.push(Reason::ALL.into_iter().find(|reason| reason.text() == text).ok_or_else(|| {
            let known = Reason::ALL.map(Reason::text).join(", ");
            Refused::bad_request(format!("reason is one of {known}, not `{}`", text.escape_debug()))
        })?);
    }
    if reasons.is_empty() {
        reasons = vec![Reason::OwnerExpired, Reason::OwnerUnconfirmed, Reason::TargetNxdomain];
    }
    let filter = ClaimFilter {
        zone: zone_filter(&call)?,
        owner: call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?,
        state: Some(ClaimState::Held),
        ..ClaimFilter::default()
    };
    let age = call.parameters.text("olderThan").map(duration).transpose()?;
    let now = call.state.clock.now();
    let page = paging::page::<Place>(&call)?;
    let wanted = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let snapshot = call.state.handle.published().get();
    let dead = dead_inside(&call).await;
    let mut owners = Owners::default();
    let (mut items, mut after, mut revision) = (Vec::new(), page.after.map(|place| place.0), 0);
    for _ in 0..READS {
        let limit = u32::try_from(wanted - items.len()).unwrap_or(page.limit);
        let read = call.state.reader.claim_page(&filter, &Page { limit, after }).await?;
        revision = read.revision;
        for row in &read.items {
            let known = owners.of(&call, row).await?;
            let owner = known.owner.as_ref();
            let Some((reason, since)) = reason_of(&call, (&snapshot, &dead), row, known, now) else { continue };
            let old = age.is_none_or(|age| u128::from(now.0.saturating_sub(since.0)) >= age.as_millis());
            if old && reasons.contains(&reason) {
                items.push(shown(row, owner, reason, since));
            }
        }
        after = read.next;
        if after.is_none() || items.len() >= wanted {
            break;
        }
    }
    paging::shown(revision, items, after.map(Place))
}

/// Owners of the rows of one request.
#[derive(Default)]
struct Owners(HashMap<u32, Known>);

/// What is known of an owner.
struct Known {
    owner: Option<OwnerSummary>,
    /// Its claims that a wave passed by: name, type, set id and zone, each with since when.
    unconfirmed: HashMap<(Name, Rtype, String, Name), Moment>,
}

impl Known {
    async fn of(call: &Call, row: &ClaimRow) -> Result<Known, Refused> {
        let id = &row.claim.owner_id;
        let marks = call.state.reader.unconfirmed(id).await?;
        let unconfirmed =
            marks.into_iter().map(|one| ((one.name, one.rtype, one.set_id, one.zone), one.since)).collect();
        Ok(Known { owner: call.state.reader.owner(id).await?, unconfirmed })
    }

    fn unconfirmed(&self, row: &ClaimRow) -> Option<Moment> {
        let claim = &row.claim;
        self.unconfirmed.get(&(claim.name.clone(), claim.rtype, claim.set_id.clone(), row.zone.clone())).copied()
    }
}

impl Owners {
    async fn of(&mut self, call: &Call, row: &ClaimRow) -> Result<&Known, Refused> {
        match self.0.entry(row.claim.owner.0) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(Known::of(call, row).await?)),
        }
    }
}

fn shown(row: &ClaimRow, owner: Option<&OwnerSummary>, reason: Reason, since: Moment) -> OrphanDocument {
    OrphanDocument {
        reason: reason.text().to_owned(),
        zone: row.zone.to_string(),
        name: row.claim.name.to_string(),
        rtype: row.claim.rtype.to_string(),
        owner: row.claim.owner_id.as_str().to_owned(),
        parents: owner.map(|owner| show::owner_ids(&owner.parents)).unwrap_or_default(),
        since: show::moment(since),
        asserted_at: show::moment(row.claim.asserted),
    }
}

/// How a served claim is an orphan, for an explanation; what an import left to its zone is none unless asked for.
pub(super) async fn orphan(call: &Call, row: &ClaimRow) -> Result<Option<OrphanDocument>, Refused> {
    let snapshot = call.state.handle.published().get();
    let known = Known::of(call, row).await?;
    let dead = dead_inside(call).await;
    let found = reason_of(call, (&snapshot, &dead), row, &known, call.state.clock.now());
    let found = found.filter(|(reason, _)| *reason != Reason::Unclaimed);
    Ok(found.map(|(reason, since)| shown(row, known.owner.as_ref(), reason, since)))
}

/// Why a held claim is an orphan, and since when; the strongest reason.
fn reason_of(
    call: &Call,
    (snapshot, dead): (&Snapshot, &HashMap<RecordKey, Moment>),
    row: &ClaimRow,
    known: &Known,
    now: Moment,
) -> Option<(Reason, Moment)> {
    if let Some(owner) = known.owner.as_ref().filter(|owner| owner.owner.state == OwnerState::Expired) {
        return Some((Reason::OwnerExpired, owner.owner.asserted));
    }
    let unconfirmed = known.unconfirmed(row);
    if let Some(since) =
        unconfirmed.or_else(|| call.state.external_dns.unconfirmed(&row.claim.owner_id, row.claim.asserted, now))
    {
        return Some((Reason::OwnerUnconfirmed, since));
    }
    let since = target_gone(call, (snapshot, dead), row, now);
    since
        .map(|since| (Reason::TargetNxdomain, since))
        .or_else(|| row.claim.owner_id.is_zone().then_some((Reason::Unclaimed, row.claim.created)))
}

/// Since when the target of an ALIAS or CNAME is not there; of a CNAME into a zone here that is not noted, so it is
/// the time of the claim.
fn target_gone(
    call: &Call,
    (snapshot, dead): (&Snapshot, &HashMap<RecordKey, Moment>),
    row: &ClaimRow,
    now: Moment,
) -> Option<Moment> {
    let claim = &row.claim;
    if claim.rtype == Rtype::CNAME {
        let target = Name::from_wire(claim.records.first()?).ok()?;
        let zone = snapshot.zone_of(&target)?;
        let mut hashed = HashedName::empty();
        hashed.load(snapshot.key(), target.as_wire());
        let absent = matches!(zone.lookup(&hashed, false), Lookup::NoName);
        return absent.then_some(claim.created);
    }
    if claim.rtype != Rtype::ALIAS {
        return None;
    }
    let zone = snapshot.zone(&row.zone)?;
    let node = zone.node(&claim.name)?;
    let view = alias_view::view(snapshot, &call.state.trust, zone, node, dead.get(&record_key(row)).copied(), now)?;
    let gone = |state| state == Some(AliasState::TargetNxdomain);
    let family = view.families.iter().find(|family| gone(family.state))?;
    Some(family.since.unwrap_or(claim.created))
}
