//! What an external-dns client desires, before it asks for changes: wishes that another owner stands against wait, those
//! that the token does not admit are kept from the client, and what is desired is noted.

use std::collections::HashSet;

use super::actor::Actor;
use super::claim::{Claim, ClaimState};
use super::command::{BadWish, OnConflict, OwnerKeys, Wish};
use super::draft::Draft;
use super::endpoints::{adoptable, check_limits, claim_of};
use super::entitlement;
use super::external_dns::{ASSERT_STEP, AdjustEndpoints, DoorUse, LAPSE, presented};
use super::hold;
use super::owner::OwnerNumber;
use super::owning::{self, Extent};
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::rules::{self, Obstacle, Occluded};
use super::scope::NameKey;
use super::write;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Name, type in the protocol, set id.
type Key<'a> = (&'a Name, Rtype, &'a str);

/// Plans [`super::command::Command::AdjustEndpoints`].
pub(super) fn adjust(draft: &mut Draft, actor: &Actor, asked: &AdjustEndpoints) -> Result<(), Refusal> {
    let is_known = draft.ledger.owner(&asked.owner).is_some_and(|owner| owner.external_dns.is_some());
    let owner = match draft.ledger.owner(&asked.owner).map(|owner| owner.number).filter(|_| is_known) {
        // Nothing of the owner is written then, so that an unchanged cycle writes nothing.
        Some(number) => {
            entitlement::check_owner(&draft.ledger, actor, &asked.owner, None)?;
            number
        }
        None => {
            let keys = OwnerKeys { external_dns: Some(DoorUse::default()), ..OwnerKeys::default() };
            owning::prepare(draft, actor, &asked.owner, &keys, Extent::Part, None)?
        }
    };
    let listed: HashSet<Key<'_>> = asked.wishes.iter().filter_map(key).collect();
    for wish in &asked.wishes {
        let (outcome, problem) = verdict(draft, actor, owner, asked, wish, &listed);
        draft.report_item(item(asked, wish, outcome, problem));
    }
    lapse(draft, owner, &listed);
    hold::forget(draft, owner, |one| listed.contains(&(&one.name, presented(one.rtype), one.set_id.as_str())));
    draft.mark_written(owner);
    Ok(())
}

fn key(wish: &Result<Wish, BadWish>) -> Option<Key<'_>> {
    match wish {
        Ok(wish) => Some((&wish.name, presented(wish.rtype), wish.set_id.as_str())),
        Err(bad) => bad.key.as_ref().map(|(name, rtype)| (name, presented(*rtype), "")),
    }
}

fn item(asked: &AdjustEndpoints, wish: &Result<Wish, BadWish>, outcome: ItemOutcome, problem: Option<Problem>) -> Item {
    let (name, rtype, set_id) = match wish {
        // The client's own text is at hand for what is as it should be.
        Ok(_) if outcome == ItemOutcome::Unchanged => Default::default(),
        Ok(wish) => (wish.name.to_string(), wish.rtype.to_string(), wish.set_id.clone()),
        Err(bad) => (bad.name.clone(), bad.rtype.clone(), String::new()),
    };
    Item { zone: None, name, rtype, set_id, owner: asked.owner.clone(), outcome, problem, promoted: None }
}

fn verdict(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    asked: &AdjustEndpoints,
    wish: &Result<Wish, BadWish>,
    listed: &HashSet<Key<'_>>,
) -> (ItemOutcome, Option<Problem>) {
    const PASSES: (ItemOutcome, Option<Problem>) = (ItemOutcome::Unchanged, None);
    let Some((name, rtype, set_id)) = key(wish) else { return PASSES };
    let Some(zone) = draft.ledger.zone_of(name).cloned() else {
        let problem = write::zone_of(&draft.ledger, None, name).err();
        return (ItemOutcome::Invalid, problem);
    };
    let key = NameKey { zone: zone.number, name: name.clone() };
    let own: Vec<&Claim> = draft.claims(&key).iter().filter(|one| one.owner == owner && one.is_held()).collect();
    if let Some(held) = own.iter().find(|one| presented(one.rtype) == rtype && one.set_id == set_id) {
        if held.asserted.0.saturating_add(ASSERT_STEP) <= draft.now.0 {
            let held = Claim::clone(held);
            draft.asserted.push(held);
        }
        return PASSES;
    }
    if own.iter().any(|one| !listed.contains(&(name, presented(one.rtype), one.set_id.as_str()))) {
        return PASSES;
    }
    if let Err((outcome, problem)) = check_limits(&draft.ledger, actor, &zone, name, rtype)
        && outcome == ItemOutcome::Invalid
    {
        return (outcome, Some(problem));
    }
    let Ok(wish) = wish else { return PASSES };
    let claim = claim_of(draft, &zone, owner, wish);
    let at_name = draft.claims(&key).to_vec();
    if adoptable(draft, &at_name, &claim, asked.adopting).is_some() {
        return PASSES;
    }
    match rules::judge(&draft.ledger, &zone, &claim, Occluded::Refused) {
        Ok(_) | Err(Obstacle::Standing(_) | Obstacle::Invalid(_)) => PASSES,
        Err(Obstacle::Conflict(problem)) => match asked.on_conflict {
            OnConflict::Reject => PASSES,
            OnConflict::Queue => {
                queue(draft, claim, &at_name);
                (ItemOutcome::Queued, Some(problem))
            }
        },
    }
}

/// Notes a wish that waits; one that waited so is left in peace until its time is to be written.
fn queue(draft: &mut Draft, wish: Claim, at_name: &[Claim]) {
    let existing = at_name.iter().find(|one| rules::is_same_claim(one, &wish)).cloned();
    let waits_so = existing.as_ref().is_some_and(|old| old.state == ClaimState::Queued && old.is_like(&wish));
    let is_fresh = existing.as_ref().is_some_and(|old| old.asserted.0.saturating_add(ASSERT_STEP) > draft.now.0);
    if !(waits_so && is_fresh) {
        write::put(draft, wish, existing, ClaimState::Queued);
    }
}

/// Takes out wishes that wait and were not listed for long: nobody wants them any more.
fn lapse(draft: &mut Draft, owner: OwnerNumber, listed: &HashSet<Key<'_>>) {
    let now = draft.now;
    let is_over = |one: &&Claim| {
        one.owner == owner
            && one.state == ClaimState::Queued
            && one.asserted.0.saturating_add(LAPSE) <= now.0
            && !listed.contains(&(&one.name, presented(one.rtype), one.set_id.as_str()))
    };
    let over: Vec<Claim> = draft.ledger.claims.values().flatten().filter(is_over).cloned().collect();
    for claim in over {
        draft.remove_claim(&claim);
    }
}
