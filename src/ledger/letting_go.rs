//! Deleting owners: the whole subtree, with every claim, at once (ownership.md section 3.3).

use std::collections::HashSet;

use super::actor::Actor;
use super::claim::Claim;
use super::code::Code;
use super::command::{DeleteOwner, Fate, OwnerKeys};
use super::draft::Draft;
use super::entitlement;
use super::owner::{OwnerId, OwnerNumber};
use super::owning::{self, Extent};
use super::plan::ZoneChange;
use super::quarantine;
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::scope::NameKey;
use super::transfer;

/// Plans [`super::command::Command::DeleteOwner`].
pub(super) fn delete_owner(draft: &mut Draft, actor: &Actor, delete: &DeleteOwner) -> Result<(), Refusal> {
    entitlement::check_owner(&draft.ledger, actor, &delete.owner, None)?;
    if delete.owner.is_system() {
        return Err(Refusal::new(Code::Forbidden, "system:tenured is the server itself and stays"));
    }
    let existing = draft.ledger.owner(&delete.owner).cloned();
    let keys = OwnerKeys { epoch: delete.epoch, ..OwnerKeys::default() };
    owning::check_keys(&keys)?;
    owning::check_epoch(&draft.ledger, &delete.owner, existing.as_ref(), &keys)?;
    let is_other = |uid: &Option<String>| delete.uid.is_some() && uid.is_some() && *uid != delete.uid;
    let Some(top) = existing.filter(|owner| !is_other(&owner.uid)) else {
        bury_unseen(draft, delete);
        draft.report.subject = Some(ItemOutcome::Unchanged);
        return Ok(());
    };
    let below = draft.ledger.descendants(top.number);
    if !below.is_empty() && !delete.cascade {
        let detail =
            format!("{} has {} owners below it: ask for cascade=true to delete those, too", top.id, below.len());
        return Err(Problem::new(Code::HasChildren, detail).into());
    }
    let all: HashSet<OwnerNumber> = below.iter().copied().chain([top.number]).collect();
    check_limits(draft, actor, &all)?;
    if let Some(epoch) = delete.epoch
        && let Some(owner) = draft.owner_mut(top.number)
    {
        owner.epoch = owner.epoch.max(Some(epoch));
    }
    let heir = match &delete.records {
        Fate::Deleted => {
            delete_claims(draft, &all);
            None
        }
        Fate::Quarantined => {
            quarantine::put_owners_aside(draft, &all);
            return Ok(());
        }
        Fate::Released(to) => Some(release_claims(draft, actor, &all, to)?),
    };
    // Owners like `zone:<zone>` go with their zone: as long as it is there and theirs, they stay, without claims.
    let staying = if heir.is_some() { HashSet::new() } else { of_own_zones(draft, &all) };
    let going: Vec<OwnerNumber> =
        [top.number].into_iter().chain(below).filter(|number| !staying.contains(number)).collect();
    draft.report.owners_deleted =
        going.iter().filter_map(|number| draft.ledger.owners.get(number)).map(|owner| owner.id.clone()).collect();
    for number in going.iter().rev() {
        draft.remove_owner(*number);
    }
    for number in staying {
        set_free(draft, number);
    }
    hand_zones_on(draft, heir);
    draft.report.subject = Some(ItemOutcome::Deleted);
    Ok(())
}

/// Refuses what would let go of a record that the token's limits keep it from.
fn check_limits(draft: &Draft, actor: &Actor, owners: &HashSet<OwnerNumber>) -> Result<(), Problem> {
    for claim in draft.ledger.claims.values().flatten().filter(|claim| owners.contains(&claim.owner)) {
        if let Some(zone) = draft.ledger.zones.get(&claim.zone) {
            entitlement::check_limits(actor, zone, &claim.name, claim.rtype)?;
        }
    }
    Ok(())
}

/// Owners of zones that are named after their zone.
fn of_own_zones(draft: &Draft, owners: &HashSet<OwnerNumber>) -> HashSet<OwnerNumber> {
    let zones = draft.ledger.owned_zones.iter().filter_map(|number| draft.ledger.zones.get(number));
    zones
        .filter(|zone| owners.contains(&zone.owner_number) && zone.owner == OwnerId::of_zone(&zone.name))
        .map(|zone| zone.owner_number)
        .collect()
}

/// Takes an owner that stays from below one that goes.
fn set_free(draft: &mut Draft, number: OwnerNumber) {
    let is_below = draft.ledger.owners.get(&number).is_some_and(|owner| owner.parent.is_some());
    if is_below {
        draft.mark_changed(number);
        if let Some(owner) = draft.owner_mut(number) {
            owner.parent = None;
        }
    }
}

/// A delete that comes before the create it belongs to: that create is late already.
fn bury_unseen(draft: &mut Draft, delete: &DeleteOwner) {
    let Some(uid) = &delete.uid else { return };
    let is_buried =
        draft.ledger.tombstones.iter().any(|gone| gone.owner == delete.owner && gone.uid.as_ref() == Some(uid));
    if !is_buried {
        draft.put_tombstone(delete.owner.clone(), Some(uid.clone()), delete.epoch);
    }
}

fn claims_of(draft: &Draft, owners: &HashSet<OwnerNumber>) -> Vec<Claim> {
    draft.ledger.claims.values().flatten().filter(|claim| owners.contains(&claim.owner)).cloned().collect()
}

/// Gives all claims to `to`, or refuses: none of them may be left without an owner.
fn release_claims(
    draft: &mut Draft,
    actor: &Actor,
    owners: &HashSet<OwnerNumber>,
    to: &OwnerId,
) -> Result<OwnerNumber, Refusal> {
    if draft.ledger.owner(to).is_some_and(|heir| owners.contains(&heir.number)) {
        let detail = format!("{to} is deleted itself: its records go to an owner that stays");
        return Err(Refusal::new(Code::BadRequest, detail));
    }
    let heir = owning::prepare(draft, actor, to, &OwnerKeys::default(), Extent::Part, None)?;
    let going = claims_of(draft, owners);
    transfer::hand_over(draft, actor, going, heir);
    let items: Vec<Item> = draft.report.results.iter().filter(|item| item.outcome.is_refused()).cloned().collect();
    match items.iter().find_map(|item| item.problem.clone()) {
        None => Ok(heir),
        Some(problem) => Err(Refusal { items, ..problem.into() }),
    }
}

pub(super) fn delete_claims(draft: &mut Draft, owners: &HashSet<OwnerNumber>) {
    let mut going = claims_of(draft, owners);
    transfer::sort(draft, &mut going);
    let mut touched = Vec::new();
    for claim in going {
        draft.remove_claim(&claim);
        draft.report_claim(&claim, ItemOutcome::Deleted, None);
        touched.push(NameKey { zone: claim.zone, name: claim.name });
    }
    draft.settle_all(touched);
}

/// Zones of deleted owners are served on, and belong to `zone:<zone>` then, or to the heir.
pub(super) fn hand_zones_on(draft: &mut Draft, heir: Option<OwnerNumber>) {
    for number in draft.ledger.owned_zones.clone() {
        let Some(mut zone) = draft.ledger.zones.get(&number).cloned() else { continue };
        if draft.ledger.owners.contains_key(&zone.owner_number) {
            continue;
        }
        let heir = heir.and_then(|number| draft.ledger.owners.get(&number)).map(|heir| heir.id.clone());
        let id = heir.unwrap_or_else(|| OwnerId::of_zone(&zone.name));
        zone.owner_number = draft.ensure_owner(&id, None);
        zone.owner = id;
        zone.revision = draft.revision();
        draft.ledger.add_zone(zone.clone());
        draft.zones.push(ZoneChange::Updated(zone));
    }
}
