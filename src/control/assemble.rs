//! What is served of claims: the held claims at a name as RRsets, and plans as changes of zones. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::check;
use super::terms::Terms;
use crate::ledger::alias_options::{GroupName, StaticMode};
use crate::ledger::claim::Claim;
use crate::ledger::fresh::Fresh;
use crate::ledger::owner::OwnerNumber;
use crate::ledger::plan::{Plan, ZoneChange};
use crate::ledger::report::Problem;
use crate::ledger::scope::{Ledger, NameKey};
use crate::ledger::wish::sort_records;
use crate::ledger::zone::{ZoneNumber, ZoneRow};
use crate::wire::codes::Rtype;
use crate::wire::name::{HashKey, Name};
use crate::zone::alias::{AliasRecord, AliasRef, AliasState, AliasTable, Group, Moment, RecordState, TargetKey};
use crate::zone::bulk::Bulk;
use crate::zone::content::Zone;
use crate::zone::lent::LENT_SECONDS;
use crate::zone::node::{Node, RRset};
use crate::zone::policy::Policy;
use crate::zone::serial;
use crate::zone::snapshot::Snapshot;

/// The RRsets of the held claims at a name of a zone, by type. `chain` gives an owner and those above it, by number.
pub fn rrsets(claims: &[Claim], zone: &ZoneRow, terms: &Terms, chain: impl Fn(OwnerNumber) -> Vec<u32>) -> Vec<RRset> {
    let serial = zone.serial;
    let mut by_type: BTreeMap<Rtype, RRset> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| claim.is_held()) {
        let records = match claim.rtype {
            Rtype::ALIAS => alias_records(claim, claims, zone, terms, &chain),
            Rtype::SOA => soa_records(claim, serial),
            _ => claim.records.clone(),
        };
        match by_type.get_mut(&claim.rtype) {
            None => {
                by_type.insert(claim.rtype, RRset { rtype: claim.rtype, ttl: claim.ttl, records });
            }
            Some(union) => {
                union.ttl = union.ttl.min(claim.ttl);
                union.records.extend(records);
                sort_records(claim.rtype, &mut union.records);
            }
        }
    }
    by_type.into_values().collect()
}

fn soa_records(claim: &Claim, serial: u32) -> Vec<Vec<u8>> {
    let mut records = claim.records.clone();
    for soa in &mut records {
        serial::replace(soa, serial);
    }
    records
}

/// The one published record of an ALIAS: a family that a static RRset of its owner replaces is left to that.
fn alias_records(
    claim: &Claim,
    at_name: &[Claim],
    zone: &ZoneRow,
    terms: &Terms,
    chain: impl Fn(OwnerNumber) -> Vec<u32>,
) -> Vec<Vec<u8>> {
    let options = claim.alias.unwrap_or_default();
    let is_replaced = |family: Rtype| match options.static_mode {
        StaticMode::Reject | StaticMode::Fallback => false,
        StaticMode::Override => at_name.iter().any(|other| other.is_held() && other.rtype == family),
    };
    let own = options.upstream_group.as_ref().map(GroupName::as_str);
    let record = |target: &Vec<u8>| AliasRecord {
        target: target.clone(),
        a: options.a && !is_replaced(Rtype::A),
        aaaa: options.aaaa && !is_replaced(Rtype::AAAA),
        group: terms.group(own.or(zone.upstream_group.as_deref())),
        inherited: own.is_none(),
        policy: Policy { internal: terms.internal(options.policy.internal), ..options.policy },
        owners: chain(claim.owner),
    };
    claim.records.iter().map(|target| record(target).encode()).collect()
}

/// Has the ALIAS records of a zone that name no group of their own ask the zone's.
fn set_group(zone: &mut Zone, group: Group) {
    let aliases: Vec<Node> = zone.aliases().iter().cloned().collect();
    for node in aliases {
        let mut rrsets: Vec<RRset> = node.rrsets().map(|rrset| rrset.to_owned()).collect();
        let mut is_changed = false;
        for record in rrsets.iter_mut().filter(|rrset| rrset.rtype == Rtype::ALIAS).flat_map(|one| &mut one.records) {
            is_changed |= AliasRecord::regroup(record, group);
        }
        if is_changed && let Ok(name) = Name::from_wire(node.name()) {
            zone.set(&name, &rrsets);
        }
    }
}

/// An owner and those above it, by number, of a ledger.
fn chain_of(ledger: &Ledger, owner: OwnerNumber) -> Vec<u32> {
    std::iter::once(owner.0).chain(ledger.above(owner).into_iter().map(|above| above.number.0)).collect()
}

/// A zone's part of an assembled plan.
#[derive(Debug)]
struct Draft<'a> {
    row: &'a ZoneRow,
    /// Names and what stands there then.
    names: Vec<(Name, Vec<RRset>)>,
}

/// Zones whose served content a plan changes, each with its serial then.
pub type Served = Vec<(ZoneNumber, u32)>;

/// Puts a plan's effects into `snapshot`; on a refusal `snapshot` is as before. The report gets its serials.
pub fn assemble(snapshot: &mut Snapshot, plan: &mut Plan, terms: &Terms, now: Moment) -> Result<Served, Problem> {
    let drafts = draft(plan, terms);
    for draft in drafts.values() {
        for (name, rrsets) in &draft.names {
            check::name(name, rrsets, *name == draft.row.name)?;
        }
    }
    let key = snapshot.key();
    let mut fresh = match plan.fresh.as_ref().filter(|fresh| !fresh.is_empty()) {
        Some(fresh) => built(plan, fresh, key, terms)?.map(|zone| (fresh.zone, zone)),
        None => None,
    };
    let mut created: BTreeSet<ZoneNumber> = BTreeSet::new();
    for change in &plan.zones {
        match change {
            ZoneChange::Created(row) => {
                created.insert(row.number);
                let zone = match fresh.take_if(|(number, _)| *number == row.number) {
                    Some((_, zone)) => zone,
                    None => Zone::new(row.name.clone(), key, row.owner_number.0),
                };
                snapshot.put_zone(Arc::new(zone));
            }
            ZoneChange::Updated(row) => with_zone(snapshot, &row.name, |zone| {
                zone.set_owner(row.owner_number.0);
                set_group(zone, terms.group(row.upstream_group.as_deref()));
            }),
            ZoneChange::Deleted(row) => {
                snapshot.remove_zone(&row.name);
            }
        }
    }
    let mut served = Served::new();
    let mut serials = Vec::new();
    for (number, draft) in drafts {
        let asked = plan.serials.get(&number).copied();
        let is_new = created.contains(&number);
        let old = draft.row.serial;
        let mut serial = None;
        let known = snapshot.alias.clone();
        with_zone(snapshot, &draft.row.name, |zone| {
            let mut is_changed = is_new || asked.is_some();
            for (name, mut rrsets) in draft.names {
                lend(zone.node(&name), &mut rrsets, &known, now);
                is_changed |= !is_served_so(zone.node(&name), &rrsets);
                zone.set(&name, &rrsets);
            }
            if is_changed {
                let new = if is_new { old } else { asked.unwrap_or_else(|| draft.row.next_serial(now)) };
                set_serial(zone, new);
                serial = Some(new);
            }
        });
        if let Some(serial) = serial {
            serials.push((draft.row.name.clone(), serial));
            served.push((number, serial));
        }
    }
    snapshot.revision = plan.ledger.revision;
    plan.report.serials = serials;
    Ok(served)
}

/// The new zone that a plan's fresh claims are in, with them and without its apex.
///
/// It is built by a thread of its own for the sake of memory: what the allocator gives that thread it keeps apart from
/// the plan, which is freed at once and would otherwise leave its pages full of holes between the nodes that stay.
fn built(plan: &Plan, fresh: &Fresh, key: HashKey, terms: &Terms) -> Result<Option<Zone>, Problem> {
    let Some(row) = plan.ledger.zones.get(&fresh.zone) else { return Ok(None) };
    let build = || {
        let mut bulk = Bulk::new(Zone::new(row.name.clone(), key, row.owner_number.0));
        for (name, at_name) in fresh.names() {
            let has_alias = at_name.clone().any(|one| one.rrset.rtype == Rtype::ALIAS);
            let rrsets: Vec<RRset> = if has_alias {
                let claims: Vec<Claim> = at_name.map(|one| fresh.claim(one)).collect();
                rrsets(&claims, row, terms, |owner| chain_of(&plan.ledger, owner))
            } else {
                // One claim of each type, by type: they are published as they are.
                at_name.map(|one| one.rrset.clone()).collect()
            };
            check::name(name, &rrsets, false)?;
            bulk.put_owned(name, &rrsets);
        }
        Ok(bulk.finish())
    };
    let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
        Ok(zone) => zone,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, build) {
        Ok(thread) => join(thread),
        // Without a thread it takes more memory, and that is all.
        Err(_) => build(),
    })
    .map(Some)
}

/// Zone by zone, the names that may change with their RRsets, in the ledger as it is after the plan.
fn draft<'a>(plan: &'a Plan, terms: &Terms) -> BTreeMap<ZoneNumber, Draft<'a>> {
    let ledger = &plan.ledger;
    let gone: BTreeSet<ZoneNumber> = plan
        .zones
        .iter()
        .filter_map(|change| match change {
            ZoneChange::Deleted(row) => Some(row.number),
            ZoneChange::Created(_) | ZoneChange::Updated(_) => None,
        })
        .collect();
    let mut drafts: BTreeMap<ZoneNumber, Draft<'_>> = BTreeMap::new();
    let mut add = |zone: ZoneNumber, name: &Name, claims: &[Claim]| {
        let Some(row) = ledger.zones.get(&zone).filter(|_| !gone.contains(&zone)) else { return };
        let rrsets = rrsets(claims, row, terms, |owner| chain_of(ledger, owner));
        drafts.entry(zone).or_insert_with(|| Draft { row, names: Vec::new() }).names.push((name.clone(), rrsets));
    };
    for NameKey { zone, name } in &plan.names {
        let key = NameKey { zone: *zone, name: name.clone() };
        add(*zone, name, ledger.claims.get(&key).map_or(&[][..], Vec::as_slice));
    }
    for zone in plan.serials.keys() {
        if let Some(row) = ledger.zones.get(zone) {
            drafts.entry(*zone).or_insert_with(|| Draft { row, names: Vec::new() });
        }
    }
    drafts
}

/// Changes a zone of the snapshot; without a copy of its top if nobody else has it.
fn with_zone(snapshot: &mut Snapshot, apex: &Name, change: impl FnOnce(&mut Zone)) {
    let Some(zone) = snapshot.remove_zone(apex) else { return };
    let mut zone = Arc::unwrap_or_clone(zone);
    change(&mut zone);
    snapshot.put_zone(Arc::new(zone));
}

/// Whether a name is served with these RRsets already. The owners in an ALIAS are not part of what is served.
fn is_served_so(node: Option<&Node>, rrsets: &[RRset]) -> bool {
    let Some(node) = node else { return rrsets.is_empty() };
    let mut old = node.rrsets();
    for rrset in rrsets {
        let Some(before) = old.next() else { return false };
        if before.rtype != rrset.rtype || before.ttl != rrset.ttl || usize::from(before.count) != rrset.records.len() {
            return false;
        }
        let same = before.records().zip(&rrset.records).all(|(before, after)| match rrset.rtype {
            Rtype::ALIAS => served_alias(before) == served_alias(after),
            _ => before == after.as_slice(),
        });
        if !same {
            return false;
        }
    }
    old.next().is_none()
}

/// What is served of a published ALIAS.
fn served_alias(rdata: &[u8]) -> Option<impl PartialEq> {
    AliasRef::decode(rdata).map(AliasRef::served)
}

/// Has an ALIAS that gets another target keep the one before for some seconds, in case nothing is known of the new one
/// yet (alias.md section 2, *Target change*).
fn lend(before: Option<&Node>, rrsets: &mut [RRset], known: &AliasTable, now: Moment) {
    let Some(before) = before.and_then(|node| node.rrset(Rtype::ALIAS)) else { return };
    let Some(before) = AliasRef::decode(before.first()) else { return };
    for record in rrsets.iter_mut().filter(|one| one.rtype == Rtype::ALIAS).flat_map(|one| &mut one.records) {
        let Some(after) = AliasRef::decode(record) else { continue };
        let lent = before.lends().filter(|(until, _)| now < *until);
        let lent = if after.target.eq_ignore_ascii_case(before.target) {
            lent
        } else if is_pending(before, known) {
            // That one has nothing to lend, but may have borrowed itself.
            lent.filter(|(_, target)| !target.eq_ignore_ascii_case(after.target))
        } else {
            Some((now.plus_seconds(LENT_SECONDS), before.target))
        };
        if let Some((until, target)) = lent {
            *record = after.encode_with(until, target);
        }
    }
}

/// Whether the target of an ALIAS is one outside of which nothing is known yet.
fn is_pending(alias: AliasRef<'_>, known: &AliasTable) -> bool {
    let Ok(name) = Name::from_wire(alias.target) else { return true };
    let entry = known.entry(&TargetKey { name, group: alias.group() });
    entry.is_some_and(|entry| entry.state() == RecordState::Is(AliasState::Pending))
}

fn set_serial(zone: &mut Zone, new: u32) {
    let apex = zone.apex().clone();
    let mut rrsets: Vec<RRset> = zone.apex_node().rrsets().map(|rrset| rrset.to_owned()).collect();
    for rrset in rrsets.iter_mut().filter(|rrset| rrset.rtype == Rtype::SOA) {
        for soa in &mut rrset.records {
            serial::replace(soa, new);
        }
    }
    zone.set(&apex, &rrsets);
}
