//! Apply and change: what an owner wishes for, placed among what is there (ownership.md sections 3.1 and 3.2).

use std::collections::HashSet;

use super::actor::{Actor, Door, Role};
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::command::{Apply, BadWish, Change, Going, OnConflict, RecordName, Wish};
use super::draft::Draft;
use super::entitlement;
use super::hold;
use super::limits::MAX_RECORDS;
use super::owner::{OwnerId, OwnerNumber};
use super::owning::{self, Extent};
use super::quarantine;
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::rules::{self, Obstacle, Occluded};
use super::scope::{Ledger, NameKey, is_redirection};
use super::zone::{ZoneNumber, ZoneRow};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::serial;

/// Deletes that always pass the brake.
const BRAKE_FREE: u64 = 10;
/// Share of an owner's claims, in per cent, that passes the brake.
const BRAKE_PER_CENT: u64 = 30;

/// How a set is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) atomic: bool,
    pub(super) on_conflict: OnConflict,
    pub(super) occluded: Occluded,
}

/// A wish with its zone, ready to be placed.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) claim: Claim,
    /// Whether it stands at the apex of its zone.
    pub(super) at_apex: bool,
    /// Of an SOA: the serial it was written with.
    pub(super) serial: Option<u32>,
}

/// What has been decided for one asked record.
pub(super) type Decision = (Item, Option<NameKey>);

/// Plans [`super::command::Command::Apply`].
pub(super) fn apply(draft: &mut Draft, actor: &Actor, apply: &Apply) -> Result<(), Refusal> {
    check_count(apply.records.len())?;
    check_door(draft, actor, &apply.owner)?;
    let owner = owning::prepare(draft, actor, &apply.owner, &apply.keys, Extent::Full, apply.if_revision)?;
    let manner = Manner { atomic: apply.atomic, on_conflict: apply.on_conflict, occluded: Occluded::Refused };
    let wishes: Vec<Asked<'_>> = apply.records.iter().map(Asked::of).collect();
    let prune = if apply.prune { Deletes::Unlisted(apply.max_deletes) } else { Deletes::None };
    write(draft, actor, owner, &wishes, prune, manner)
}

/// Plans [`super::command::Command::Change`].
pub(super) fn change(draft: &mut Draft, actor: &Actor, change: &Change) -> Result<(), Refusal> {
    check_count(change.upsert.len() + change.delete.len())?;
    check_door(draft, actor, &change.owner)?;
    let is_known = draft.ledger.owner(&change.owner).is_some();
    let manner = Manner { atomic: change.atomic, on_conflict: change.on_conflict, occluded: Occluded::Refused };
    let wishes: Vec<Asked<'_>> = change.upsert.iter().map(Asked::of).collect();
    if !is_known && change.upsert.is_empty() {
        // Nothing to delete, and no reason to make the owner; who may not ask is told so all the same.
        entitlement::check_owner(&draft.ledger, actor, &change.owner, change.keys.parent.as_ref())?;
        for record in &change.delete {
            delete_named(draft, actor, &change.owner, None, (record, change.going));
        }
        return finish(draft, manner);
    }
    let owner = owning::prepare(draft, actor, &change.owner, &change.keys, Extent::Part, change.if_revision)?;
    write(draft, actor, owner, &wishes, Deletes::Listed(&change.owner, &change.delete, change.going), manner)
}

/// Plans [`super::command::Command::Revert`]: what goes, goes first, so that what it had taken the place of fits again.
pub(super) fn revert(draft: &mut Draft, actor: &Actor, changes: &[Change]) -> Result<(), Refusal> {
    check_count(changes.iter().map(|one| one.upsert.len() + one.delete.len()).sum())?;
    for one in changes.iter().filter(|one| !one.delete.is_empty()) {
        change(draft, actor, &Change { upsert: Vec::new(), ..one.clone() })?;
    }
    for one in changes.iter().filter(|one| !one.upsert.is_empty()) {
        change(draft, actor, &Change { delete: Vec::new(), ..one.clone() })?;
    }
    Ok(())
}

/// An owner whose records a client of the external-dns door sees as its own is written by that door alone: the client
/// would delete what it did not ask for.
fn check_door(draft: &Draft, actor: &Actor, owner: &OwnerId) -> Result<(), Problem> {
    let is_used = draft.ledger.owner(owner).is_some_and(|owner| owner.external_dns.is_some());
    let may = match (&actor.role, actor.door) {
        (Role::Admin, _) | (Role::Owner(_) | Role::Read, Door::ExternalDns) => true,
        (Role::Owner(_) | Role::Read, Door::Native | Door::PowerDns | Door::ZoneFile | Door::Server) => !is_used,
    };
    if may {
        return Ok(());
    }
    let detail =
        format!("{owner} belongs to an external-dns client, which would delete what it did not ask for itself");
    Err(Problem::new(Code::Forbidden, detail))
}

pub(super) fn check_count(records: usize) -> Result<(), Problem> {
    if records <= MAX_RECORDS {
        return Ok(());
    }
    Err(Problem::new(Code::LimitExceeded, format!("one request has at most {MAX_RECORDS} records, not {records}")))
}

/// An asked record, read or not.
pub(super) enum Asked<'a> {
    Wish(&'a Wish),
    Bad(&'a BadWish),
}

impl<'a> Asked<'a> {
    pub(super) fn of(wish: &'a Result<Wish, BadWish>) -> Asked<'a> {
        match wish {
            Ok(wish) => Asked::Wish(wish),
            Err(bad) => Asked::Bad(bad),
        }
    }
}

/// What goes.
pub(super) enum Deletes<'a> {
    None,
    /// What the owner claims and did not list, up to so many or what the brake lets through.
    Unlisted(Option<u64>),
    /// What is named.
    Listed(&'a OwnerId, &'a [RecordName], Going),
}

/// Places an owner's wishes and deletes what goes. Deletes come first, so that types can be swapped at a name.
pub(super) fn write(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    asked: &[Asked<'_>],
    deletes: Deletes<'_>,
    manner: Manner,
) -> Result<(), Refusal> {
    let mut touched: Vec<NameKey> = Vec::new();
    let mut listed = Listed::default();
    let mut decisions: Vec<Option<Decision>> = Vec::with_capacity(asked.len());
    let mut candidates: Vec<Option<Candidate>> = Vec::with_capacity(asked.len());
    for one in asked {
        match resolve(draft, actor, owner, one, &mut listed) {
            Ok(candidate) => {
                decisions.push(None);
                candidates.push(Some(candidate));
            }
            Err(item) => {
                decisions.push(Some((item, None)));
                candidates.push(None);
            }
        }
    }
    let before = draft.report.results.len();
    match deletes {
        Deletes::None => {}
        Deletes::Unlisted(most) => prune(draft, actor, owner, &listed, most, &mut touched),
        Deletes::Listed(id, records, going) => {
            for record in records {
                touched.extend(delete_named(draft, actor, id, Some(owner), (record, going)));
            }
        }
    }
    let deleted = draft.report.results.split_off(before);
    // Cuts and DNAMEs first, and of those the upper ones: what is listed below them is judged by them, whatever the
    // order of the list.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|at| match &candidates[*at] {
        Some(one) if is_redirection(one.claim.rtype, one.at_apex) => one.claim.name.label_count(),
        Some(_) | None => usize::MAX,
    });
    for at in order {
        if let Some(candidate) = candidates[at].take() {
            decisions[at] = Some(place(draft, candidate, manner));
        }
    }
    for (item, key) in decisions.into_iter().flatten() {
        draft.report_item(item);
        touched.extend(key);
    }
    // They were counted when they were reported first.
    draft.report.results.extend(deleted);
    draft.settle_all(touched);
    draft.mark_written(owner);
    finish(draft, manner)
}

pub(super) fn finish(draft: &mut Draft, manner: Manner) -> Result<(), Refusal> {
    if !manner.atomic {
        return Ok(());
    }
    // Who asks to be queued has what it asked for when it is.
    let is_refused = |item: &&Item| item.outcome.is_refused() && item.outcome != ItemOutcome::Queued;
    let items: Vec<Item> = draft.report.results.iter().filter(is_refused).cloned().collect();
    match items.iter().find_map(|item| item.problem.clone()) {
        None => Ok(()),
        Some(problem) => Err(Refusal { items, ..problem.into() }),
    }
}

/// Keys of the asked records: what is listed is not pruned, even if it is refused.
#[derive(Default)]
struct Listed {
    claims: HashSet<(ZoneNumber, Name, Rtype, String)>,
    /// Of records that could not be read; in whatever zone and set.
    unread: HashSet<(Name, Rtype)>,
}

impl Listed {
    fn has(&self, claim: &Claim) -> bool {
        self.unread.contains(&(claim.name.clone(), claim.rtype))
            || self.claims.contains(&(claim.zone, claim.name.clone(), claim.rtype, claim.set_id.clone()))
    }
}

fn resolve(
    draft: &Draft,
    actor: &Actor,
    owner: OwnerNumber,
    asked: &Asked<'_>,
    listed: &mut Listed,
) -> Result<Candidate, Item> {
    let owner_id = draft.ledger.owners.get(&owner).map_or_else(OwnerId::system, |owner| owner.id.clone());
    let item = |name: String, rtype: String, set_id: &str, zone: Option<Name>, problem: Problem| Item {
        zone,
        name,
        rtype,
        set_id: set_id.to_owned(),
        owner: owner_id.clone(),
        outcome: ItemOutcome::Invalid,
        problem: Some(problem),
        promoted: None,
    };
    let wish = match asked {
        Asked::Wish(wish) => wish,
        Asked::Bad(bad) => {
            listed.unread.extend(bad.key.clone());
            return Err(item(bad.name.clone(), bad.rtype.clone(), "", None, bad.problem.clone()));
        }
    };
    let refuse = |zone: Option<Name>, problem: Problem| {
        item(wish.name.to_string(), wish.rtype.to_string(), &wish.set_id, zone, problem)
    };
    let zone = match zone_of(&draft.ledger, wish.zone.as_ref(), &wish.name) {
        Ok(zone) => zone,
        Err(problem) => {
            listed.unread.insert((wish.name.clone(), wish.rtype));
            return Err(refuse(None, problem));
        }
    };
    if !listed.claims.insert((zone.number, wish.name.clone(), wish.rtype, wish.set_id.clone())) {
        return Err(refuse(Some(zone.name.clone()), listed_twice(&wish.name, wish.rtype)));
    }
    entitlement::check_record(&draft.ledger, actor, zone, &wish.name, wish.rtype)
        .map_err(|problem| refuse(Some(zone.name.clone()), problem))?;
    let mut claim = claim_of(draft, zone, owner, wish);
    let serial = take_serial(&mut claim);
    Ok(Candidate { at_apex: claim.name == zone.name, claim, serial })
}

/// The claim that a wish asks for.
pub(super) fn claim_of(draft: &Draft, zone: &ZoneRow, owner: OwnerNumber, wish: &Wish) -> Claim {
    let mut claim = draft.new_claim(zone, &wish.name, wish.rtype, owner);
    claim.set_id.clone_from(&wish.set_id);
    claim.ttl = wish.ttl.unwrap_or(zone.default_ttl);
    claim.records.clone_from(&wish.records);
    claim.alias = wish.alias;
    claim.share = wish.share;
    claim.labels.clone_from(&wish.labels);
    claim
}

pub(super) fn listed_twice(name: &Name, rtype: Rtype) -> Problem {
    Problem::new(Code::InvalidRecord, format!("{name} {rtype} is listed twice: put all its values into one"))
}

/// The serial of an SOA, which the zone keeps and the claim does not.
pub(super) fn take_serial(claim: &mut Claim) -> Option<u32> {
    if claim.rtype != Rtype::SOA {
        return None;
    }
    claim.records.first_mut().and_then(|soa| serial::replace(soa, 0))
}

pub(super) fn zone_of<'a>(ledger: &'a Ledger, asked: Option<&Name>, name: &Name) -> Result<&'a ZoneRow, Problem> {
    match asked {
        Some(apex) => match ledger.zone(apex) {
            Some(zone) if name.is_at_or_below(apex) => Ok(zone),
            Some(_) => Err(Problem::new(Code::NameOutOfZone, format!("{name} is not in the zone {apex}"))),
            None => Err(Problem::new(Code::NameOutOfZone, format!("there is no zone {apex} here: make it first"))),
        },
        None => ledger.zone_of(name).ok_or_else(|| {
            Problem::new(Code::NameOutOfZone, format!("{name} is in no zone of this server: make the zone first"))
        }),
    }
}

pub(super) fn place(draft: &mut Draft, candidate: Candidate, manner: Manner) -> Decision {
    let Candidate { claim: wish, serial, .. } = candidate;
    let zone = draft.ledger.zones.get(&wish.zone);
    let mut item = Item {
        zone: zone.map(|zone| zone.name.clone()),
        name: wish.name.to_string(),
        rtype: wish.rtype.to_string(),
        set_id: wish.set_id.clone(),
        owner: wish.owner_id.clone(),
        outcome: ItemOutcome::Unchanged,
        problem: None,
        promoted: None,
    };
    let Some(zone) = zone else { return (item, None) };
    let key = NameKey { zone: zone.number, name: wish.name.clone() };
    let existing = draft.claims(&key).iter().find(|one| rules::is_same_claim(one, &wish)).cloned();
    let raises = serial.is_some_and(|serial| serial::is_newer(serial, zone.serial));
    let is_held_so = existing.as_ref().is_some_and(|old| old.is_held() && old.is_like(&wish));
    let (outcome, problem) = if is_held_so && !raises {
        draft.asserted.extend(existing);
        (ItemOutcome::Unchanged, None)
    } else {
        match rules::judge(&draft.ledger, zone, &wish, manner.occluded) {
            Ok(fit) => {
                for taken in &fit.takes_over {
                    draft.remove_claim(taken);
                }
                if let Some(cut) = &fit.occluded_by {
                    draft.warn(&wish, "occluded", format!("it is hidden by the zone cut at {cut}"));
                }
                if raises && let Some(serial) = serial {
                    draft.serials.insert(wish.zone, serial);
                }
                let outcome = if existing.is_some() { ItemOutcome::Updated } else { ItemOutcome::Created };
                put(draft, wish, existing, ClaimState::Held);
                (outcome, None)
            }
            Err(Obstacle::Conflict(problem)) => {
                let holds = existing.as_ref().is_some_and(Claim::is_held);
                if manner.on_conflict == OnConflict::Queue && !holds {
                    put(draft, wish, existing, ClaimState::Queued);
                    (ItemOutcome::Queued, Some(problem))
                } else {
                    (ItemOutcome::Conflict, Some(problem))
                }
            }
            Err(Obstacle::Standing(problem)) => (ItemOutcome::Conflict, Some(problem)),
            Err(Obstacle::Invalid(problem)) => (ItemOutcome::Invalid, Some(problem)),
        }
    };
    (item.outcome, item.problem) = (outcome, problem);
    (item, Some(key))
}

/// Puts a wish in, in a state; one that is as it was is only noted.
pub(super) fn put(draft: &mut Draft, wish: Claim, existing: Option<Claim>, state: ClaimState) {
    match existing {
        None => draft.put_claim(Claim { state, ..wish }),
        Some(old) if old.state == state && old.is_like(&wish) => draft.asserted.push(old),
        Some(old) => {
            let created = old.created;
            // Who comes back from quarantine waits behind those who are there.
            let is_back = old.state == ClaimState::Quarantined;
            let created_revision = if is_back { wish.created_revision } else { old.created_revision };
            draft.put_claim(Claim { state, created, created_revision, ..wish });
        }
    }
}

/// How many of so many claims the brake lets go at once, or the caller does.
pub(super) fn let_through(total: u64, most: Option<u64>) -> u64 {
    BRAKE_FREE.max(total * BRAKE_PER_CENT / 100).max(most.unwrap_or(0))
}

/// Deletes what the owner claims and did not list, unless the brake holds it (ownership.md section 3.1).
fn prune(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    listed: &Listed,
    most: Option<u64>,
    touched: &mut Vec<NameKey>,
) {
    // What is in quarantine is not there any more, and stays until its time is over.
    let is_there = |claim: &&Claim| claim.owner == owner && claim.state != ClaimState::Quarantined;
    let own = || draft.ledger.claims.values().flatten().filter(is_there);
    let total = own().count() as u64;
    let mut going: Vec<Claim> = own().filter(|claim| !listed.has(claim)).cloned().collect();
    going.sort_by_cached_key(|claim| {
        let zone = draft.ledger.zones.get(&claim.zone);
        (claim.zone, zone.and_then(|zone| claim.name.sort_key(&zone.name)), claim.rtype, claim.set_id.clone())
    });
    let free = let_through(total, most);
    let count = going.len() as u64;
    let mut held = Vec::new();
    for claim in going {
        let forbidden = draft
            .ledger
            .zones
            .get(&claim.zone)
            .and_then(|zone| entitlement::check_record(&draft.ledger, actor, zone, &claim.name, claim.rtype).err());
        let kept = draft.ledger.kept.get(&claim.name).filter(|_| claim.is_held()).cloned();
        if let Some(problem) = forbidden {
            draft.report_claim(&claim, ItemOutcome::Invalid, Some(problem));
        } else if let Some(problem) = kept.filter(|_| count <= free) {
            draft.report_claim(&claim, ItemOutcome::Conflict, Some(problem));
        } else if count > free {
            let detail =
                format!("{count} of {total} records would go at once: repeat with maxDeletes={count} if that is meant");
            draft.report_claim(&claim, ItemOutcome::Held, Some(Problem::new(Code::DeleteGuard, detail)));
            held.push(claim);
        } else {
            draft.remove_claim(&claim);
            draft.report_claim(&claim, ItemOutcome::Deleted, None);
            touched.push(NameKey { zone: claim.zone, name: claim.name });
        }
    }
    hold::replace(draft, owner, total, &held);
}

/// Deletes the owner's claims of a name and type. One that is not there is as it should be, unless another owner
/// holds it.
fn delete_named(
    draft: &mut Draft,
    actor: &Actor,
    owner_id: &OwnerId,
    owner: Option<OwnerNumber>,
    (record, fate): (&RecordName, Going),
) -> Option<NameKey> {
    let item = |zone: Option<Name>, outcome: ItemOutcome, problem: Option<Problem>| Item {
        zone,
        name: record.name.to_string(),
        rtype: record.rtype.to_string(),
        set_id: record.set_id.clone().unwrap_or_default(),
        owner: owner_id.clone(),
        outcome,
        problem,
        promoted: None,
    };
    let zone = match zone_of(&draft.ledger, record.zone.as_ref(), &record.name) {
        Ok(zone) => zone.clone(),
        Err(problem) => {
            draft.report_item(item(None, ItemOutcome::Invalid, Some(problem)));
            return None;
        }
    };
    if let Err(problem) = entitlement::check_record(&draft.ledger, actor, &zone, &record.name, record.rtype) {
        draft.report_item(item(Some(zone.name), ItemOutcome::Invalid, Some(problem)));
        return None;
    }
    let key = NameKey { zone: zone.number, name: record.name.clone() };
    let at_type: Vec<Claim> = draft.claims(&key).iter().filter(|one| one.rtype == record.rtype).cloned().collect();
    let is_meant =
        |one: &&Claim| Some(one.owner) == owner && record.set_id.as_ref().is_none_or(|set_id| *set_id == one.set_id);
    let going: Vec<Claim> = at_type.iter().filter(is_meant).cloned().collect();
    for claim in &going {
        if let Some(problem) = draft.ledger.kept.get(&claim.name).filter(|_| claim.is_held()).cloned() {
            draft.report_claim(claim, ItemOutcome::Conflict, Some(problem));
            continue;
        }
        match fate {
            Going::Deleted => {
                draft.remove_claim(claim);
                draft.report_claim(claim, ItemOutcome::Deleted, None);
            }
            Going::Quarantined if claim.state == ClaimState::Quarantined => {
                draft.report_claim(claim, ItemOutcome::Unchanged, None);
            }
            Going::Quarantined => {
                quarantine::put_aside(draft, claim);
            }
        }
    }
    if !going.is_empty() {
        return Some(key);
    }
    let holder = at_type.iter().find(|one| one.is_held() && Some(one.owner) != owner);
    let problem = holder.map(|other| Problem {
        code: Code::OwnedByOther,
        detail: format!(
            "{} {} is held by {}, and {owner_id} has no claim there",
            other.name, other.rtype, other.owner_id
        ),
        holder: Some(draft.ledger.holder(other.owner, &other.owner_id, other.created)),
        path: Box::default(),
    });
    let outcome = if problem.is_some() { ItemOutcome::Conflict } else { ItemOutcome::Unchanged };
    draft.report_item(item(Some(zone.name), outcome, problem));
    None
}
