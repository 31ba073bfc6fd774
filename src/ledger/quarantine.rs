//! Quarantine: claims that are kept for a while, neither served nor in anybody's way (ownership.md section 3.3). Their
//! owner's next write of them restores them; after [`KEPT`] they are purged.

use std::collections::HashSet;

use super::actor::Actor;
use super::claim::{Claim, ClaimState};
use super::command::{Lapse, Purge};
use super::draft::Draft;
use super::entitlement;
use super::letting_go;
use super::owner::{OwnerNumber, OwnerState};
use super::report::{ItemOutcome, Refusal};
use super::scope::NameKey;
use super::transfer;

/// How long a quarantined claim is kept, in milliseconds: 7 days.
pub const KEPT: u64 = 7 * 24 * 60 * 60 * 1_000;

/// Puts a claim aside. The names that were touched are settled by the caller.
pub(super) fn put_aside(draft: &mut Draft, claim: &Claim) -> NameKey {
    let revision = draft.revision();
    draft.put_claim(Claim { state: ClaimState::Quarantined, revision, ..claim.clone() });
    draft.report_claim(claim, ItemOutcome::Quarantined, None);
    NameKey { zone: claim.zone, name: claim.name.clone() }
}

/// Puts all claims of these owners aside.
pub(super) fn put_claims_aside(draft: &mut Draft, owners: &HashSet<OwnerNumber>) {
    let is_meant = |claim: &&Claim| owners.contains(&claim.owner) && claim.state != ClaimState::Quarantined;
    let mut going: Vec<Claim> = draft.ledger.claims.values().flatten().filter(is_meant).cloned().collect();
    transfer::sort(draft, &mut going);
    let touched = going.iter().map(|claim| put_aside(draft, claim)).collect();
    draft.settle_all(touched);
}

/// Puts all claims of these owners aside. The owners are `deleting` until they write again or their claims are purged.
pub(super) fn put_owners_aside(draft: &mut Draft, owners: &HashSet<OwnerNumber>) {
    let before = draft.report.results.len();
    put_claims_aside(draft, owners);
    let is_new = |number: &&OwnerNumber| {
        draft.ledger.owners.get(number).is_some_and(|owner| owner.state != OwnerState::Deleting)
    };
    let changing: Vec<OwnerNumber> = owners.iter().filter(is_new).copied().collect();
    let is_done = changing.is_empty() && draft.report.results.len() == before;
    for number in changing {
        draft.mark_changed(number);
        if let Some(owner) = draft.owner_mut(number) {
            owner.state = OwnerState::Deleting;
        }
    }
    draft.report.subject = Some(if is_done { ItemOutcome::Unchanged } else { ItemOutcome::Quarantined });
}

/// Plans [`super::command::Command::Purge`]: claims that were restored or changed meanwhile stay.
pub(super) fn purge(draft: &mut Draft, actor: &Actor, purge: &Purge) -> Result<(), Refusal> {
    entitlement::check_admin(actor, "purging")?;
    let Some(owner) = draft.ledger.owner(&purge.owner).cloned() else { return Ok(()) };
    for due in &purge.claims {
        let Some(zone) = draft.ledger.zone(&due.zone).map(|zone| zone.number) else { continue };
        let key = NameKey { zone, name: due.name.clone() };
        let is_meant = |one: &&Claim| {
            one.owner == owner.number
                && one.rtype == due.rtype
                && one.set_id == due.set_id
                && one.state == ClaimState::Quarantined
                && one.revision == due.revision
        };
        if let Some(claim) = draft.claims(&key).iter().find(is_meant).cloned() {
            draft.remove_claim(&claim);
            draft.report_claim(&claim, ItemOutcome::Deleted, None);
        }
    }
    let has_claims = draft.ledger.claims.values().flatten().any(|claim| claim.owner == owner.number);
    if owner.state == OwnerState::Deleting && !has_claims && draft.ledger.descendants(owner.number).is_empty() {
        draft.report.owners_deleted.push(owner.id.clone());
        draft.remove_owner(owner.number);
        letting_go::hand_zones_on(draft, None);
    }
    Ok(())
}

/// Plans [`super::command::Command::Lapse`]: what was served, changed or asked for again meanwhile stays.
pub(super) fn lapse(draft: &mut Draft, lapse: &Lapse) {
    let Some(owner) = draft.ledger.owner(&lapse.owner).map(|owner| owner.number) else { return };
    for due in &lapse.claims {
        let Some(zone) = draft.ledger.zone(&due.zone).map(|zone| zone.number) else { continue };
        let key = NameKey { zone, name: due.name.clone() };
        let is_meant = |one: &&Claim| {
            one.owner == owner
                && one.rtype == due.rtype
                && one.set_id == due.set_id
                && one.state == ClaimState::Queued
                && one.revision == due.revision
                && one.asserted < lapse.before
        };
        if let Some(claim) = draft.claims(&key).iter().find(is_meant).cloned() {
            draft.remove_claim(&claim);
            draft.report_claim(&claim, ItemOutcome::Deleted, None);
        }
    }
}
