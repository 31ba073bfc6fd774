//! One RRset of a patch among what is there: letting go, placing, and what gives way to what.

use super::alias_options::{AliasOptions, StaticMode};
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::command::Values;
use super::draft::Draft;
use super::entitlement;
use super::key::{Conflicts, View};
use super::patch::{Frame, Slot, own_claim};
use super::report::{Item, ItemOutcome, Problem};
use super::rules::{self, Obstacle, Occluded};
use super::scope::Ledger;
use super::wish;
use super::write;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::serial;

/// What came of an RRset.
type Done = (ItemOutcome, Option<Problem>);

/// Most holders that one wish of a key with `takeover` takes over.
const MAX_TAKEOVERS: usize = 64;

/// The held claims of an RRset that others have; of SOA and NS at the apex not those of the server.
pub(super) fn foreign<'a>(draft: &'a Draft, frame: &Frame<'_>, name: &Name, rtype: Rtype) -> Vec<&'a Claim> {
    let is_others =
        |one: &&Claim| one.rtype == rtype && one.owner != frame.owner && one.is_held() && !one.owner_id.is_system();
    draft.claims(&frame.at(name)).iter().filter(is_others).collect()
}

/// That a claim stands in the way, and whose it is.
pub(super) fn in_the_way(ledger: &Ledger, other: &Claim) -> Problem {
    Problem {
        code: Code::OwnedByOther,
        detail: format!("{} {} is held by {}", other.name, other.rtype, other.owner_id),
        holder: Some(ledger.holder_of(other)),
        path: Box::default(),
    }
}

/// Whether the owner's claim of type `old` gives way to its claim of type `new`.
fn gives_way(old: Rtype, new: Rtype) -> bool {
    match new {
        Rtype::CNAME => matches!(old, Rtype::A | Rtype::AAAA | Rtype::ALIAS),
        Rtype::A | Rtype::AAAA | Rtype::ALIAS => old == Rtype::CNAME,
        _ => false,
    }
}

/// Ends the owner's claims of an RRset.
pub(super) fn let_go(draft: &mut Draft, frame: &Frame<'_>, slot: &Slot) -> Done {
    let own_of = |draft: &Draft, rtype: Rtype| -> Vec<Claim> {
        let claims = draft.claims(&frame.at(&slot.name));
        claims.iter().filter(|one| one.owner == frame.owner && one.rtype == rtype).cloned().collect()
    };
    let mut going = own_of(draft, slot.rtype);
    // A client that reads an ALIAS back as CNAME deletes it as one.
    let is_rewritten = frame.written.contains(&(slot.name.clone(), Rtype::ALIAS));
    if going.is_empty() && slot.rtype == Rtype::CNAME && frame.key.supersede && !is_rewritten {
        going = own_of(draft, Rtype::ALIAS);
    }
    if going.is_empty() {
        let other = foreign(draft, frame, &slot.name, slot.rtype).into_iter().next().cloned();
        return match other {
            Some(other) if frame.key.view == View::All => {
                (ItemOutcome::Conflict, Some(in_the_way(&draft.ledger, &other)))
            }
            Some(_) | None => (ItemOutcome::Unchanged, None),
        };
    }
    if let Some(problem) = blocked_swap(draft, frame, slot) {
        return (ItemOutcome::Conflict, Some(problem));
    }
    for claim in &going {
        draft.remove_claim(claim);
    }
    (ItemOutcome::Deleted, None)
}

/// Why the old answer stays: the owner waits for another type at the name, which another owner is in the way of. Only of
/// keys whose requests never fail: the client has sent the delete behind the write that was refused.
fn blocked_swap(draft: &Draft, frame: &Frame<'_>, slot: &Slot) -> Option<Problem> {
    if frame.key.conflicts != Conflicts::Quiet {
        return None;
    }
    let at_name = draft.claims(&frame.at(&slot.name));
    own_claim(draft, frame, &slot.name, slot.rtype).filter(|own| own.is_held())?;
    let waiting = at_name.iter().find(|one| {
        one.owner == frame.owner
            && one.state == ClaimState::Queued
            && one.rtype != slot.rtype
            && (one.rtype == Rtype::CNAME || slot.rtype == Rtype::CNAME || gives_way(slot.rtype, one.rtype))
    })?;
    let blocker = at_name.iter().find(|one| one.is_held() && one.owner != frame.owner)?;
    Some(Problem {
        code: Code::SwapRefused,
        detail: format!(
            "{} {} stays until {} {} can take its place: {} holds {} there",
            slot.name, slot.rtype, waiting.name, waiting.rtype, blocker.owner_id, blocker.rtype
        ),
        holder: Some(draft.ledger.holder_of(blocker)),
        path: Box::default(),
    })
}

/// Makes the owner's claim of an RRset these values. What gave way to it is reported too.
pub(super) fn place(draft: &mut Draft, frame: &Frame<'_>, slot: &Slot, values: &Values, items: &mut Vec<Item>) -> Done {
    if let Some(problem) = not_allowed(draft, frame, slot) {
        let outcome = if problem.holder.is_some() { ItemOutcome::Conflict } else { ItemOutcome::Invalid };
        return (outcome, Some(problem));
    }
    let existing = own_claim(draft, frame, &slot.name, slot.rtype).cloned();
    let mut claim = draft.new_claim(&frame.zone, &slot.name, slot.rtype, frame.owner);
    claim.ttl = values.ttl;
    claim.records.clone_from(&values.records);
    claim.share = frame.key.shares(&slot.name, slot.rtype) || existing.as_ref().is_some_and(|old| old.share);
    if let Some(old) = &existing {
        claim.labels.clone_from(&old.labels);
    }
    if slot.rtype == Rtype::ALIAS {
        let usual = AliasOptions { static_mode: StaticMode::Override, ..AliasOptions::default() };
        claim.alias = Some(existing.as_ref().and_then(|old| old.alias).unwrap_or(usual));
    }
    if let Err(problem) = keep_foreign_values(draft, frame, &mut claim, existing.as_ref()) {
        return (ItemOutcome::Conflict, Some(problem));
    }
    let serial = write::take_serial(&mut claim);
    if claim.records.is_empty() {
        return match existing {
            None => (ItemOutcome::Unchanged, None),
            Some(old) => {
                draft.remove_claim(&old);
                (ItemOutcome::Deleted, None)
            }
        };
    }
    let done = put_in(draft, frame, claim, existing, items);
    if let Some(serial) = serial.filter(|_| !done.0.is_refused()) {
        note_floor(draft, frame, serial);
    }
    done
}

/// A submitted serial that is newer than all before it is one that the next change reaches.
fn note_floor(draft: &mut Draft, frame: &Frame<'_>, serial: u32) {
    let is_above = frame.zone.serial_floor.is_none_or(|floor| serial::is_newer(serial, floor));
    if serial::is_newer(serial, frame.zone.serial) && is_above {
        draft.floors.insert(frame.zone.number, serial);
        if let Some(zone) = draft.ledger.zones.get_mut(&frame.zone.number) {
            zone.serial_floor = Some(serial);
        }
    }
}

fn not_allowed(draft: &Draft, frame: &Frame<'_>, slot: &Slot) -> Option<Problem> {
    let Slot { name, rtype, .. } = slot;
    let refused = |problem: Problem| Problem { detail: "not allowed for this key".to_owned(), ..problem };
    if let Err(problem) = entitlement::check_limits(frame.actor, &frame.zone, name, *rtype) {
        return Some(refused(problem));
    }
    let problem = entitlement::check_record(&draft.ledger, frame.actor, &frame.zone, name, *rtype).err()?;
    // At the apex there is always somebody who has it, and that one is named.
    let holder = draft.claims(&frame.at(name)).iter().find(|one| one.rtype == *rtype && one.is_held());
    Some(holder.map_or_else(|| refused(problem), |holder| in_the_way(&draft.ledger, holder)))
}

/// Beside others' shared claims: a client that sees all values and sends them all keeps each with its owner; one that
/// leaves another's value out would take it away, which it may not.
fn keep_foreign_values(
    draft: &Draft,
    frame: &Frame<'_>,
    claim: &mut Claim,
    existing: Option<&Claim>,
) -> Result<(), Problem> {
    if frame.key.view == View::Own || !claim.share {
        return Ok(());
    }
    let rtype = claim.rtype;
    let is = |left: &Vec<u8>, right: &Vec<u8>| {
        wish::same_records(rtype, std::slice::from_ref(left), std::slice::from_ref(right))
    };
    let others = foreign(draft, frame, &claim.name, rtype);
    if others.iter().any(|other| !other.share) {
        return Ok(());
    }
    for other in others {
        for value in &other.records {
            let is_own = existing.is_some_and(|own| own.records.iter().any(|one| is(one, value)));
            if !is_own && !claim.records.iter().any(|one| is(one, value)) {
                return Err(in_the_way(&draft.ledger, other));
            }
            if !is_own {
                claim.records.retain(|one| !is(one, value));
            }
        }
    }
    Ok(())
}

fn put_in(draft: &mut Draft, frame: &Frame<'_>, claim: Claim, existing: Option<Claim>, items: &mut Vec<Item>) -> Done {
    if existing.as_ref().is_some_and(|old| old.is_held() && old.is_like(&claim)) {
        return (ItemOutcome::Unchanged, None);
    }
    let key = frame.at(&claim.name);
    let before = draft.claims(&key).to_vec();
    let mut gone = Vec::new();
    for _ in 0..MAX_TAKEOVERS {
        supersede(draft, frame, &claim, &mut gone);
        match rules::judge(&draft.ledger, &frame.zone, &claim, Occluded::Refused) {
            Ok(fit) => {
                for taken in &fit.takes_over {
                    draft.remove_claim(taken);
                }
                let outcome = if existing.is_some() { ItemOutcome::Updated } else { ItemOutcome::Created };
                for old in gone {
                    items.push(frame.item(&old.name, old.rtype, (ItemOutcome::Deleted, None)));
                }
                put(draft, claim, ClaimState::Held);
                return (outcome, None);
            }
            Err(Obstacle::Conflict(problem)) if frame.key.takeover && take_over(draft, frame, &claim, &problem) => {}
            Err(Obstacle::Conflict(problem)) => {
                draft.claims_mut(&key).clone_from(&before);
                return wait(draft, frame, claim, existing.as_ref(), problem);
            }
            Err(Obstacle::Standing(problem)) => {
                draft.claims_mut(&key).clone_from(&before);
                let blocks = problem.holder.as_ref().and_then(|holder| holder.rtype);
                // A claim of one's own that a later delete takes away is waited for, too.
                if !frame.key.supersede && matches!(blocks, Some(Rtype::CNAME | Rtype::ALIAS)) {
                    return wait(draft, frame, claim, existing.as_ref(), problem);
                }
                return (ItemOutcome::Conflict, Some(problem));
            }
            Err(Obstacle::Invalid(problem)) => {
                draft.claims_mut(&key).clone_from(&before);
                return (ItemOutcome::Invalid, Some(problem));
            }
        }
    }
    draft.claims_mut(&key).clone_from(&before);
    let detail = format!("over {MAX_TAKEOVERS} claims stand in its way");
    (ItemOutcome::Invalid, Some(Problem::new(Code::LimitExceeded, detail)))
}

/// Takes out what of the owner's own gives way to the claim, but for what the same request writes.
fn supersede(draft: &mut Draft, frame: &Frame<'_>, claim: &Claim, gone: &mut Vec<Claim>) {
    if !frame.key.supersede {
        return;
    }
    let at_name = draft.claims(&frame.at(&claim.name));
    let old: Vec<Claim> = at_name
        .iter()
        .filter(|one| one.owner == frame.owner && one.is_held() && gives_way(one.rtype, claim.rtype))
        .filter(|one| !frame.written.contains(&(one.name.clone(), one.rtype)))
        .cloned()
        .collect();
    for one in old {
        draft.remove_claim(&one);
        gone.push(one);
    }
}

/// Has the owner who stands in the way hand over what it holds there: the RRset itself goes to the new values, others of
/// its claims change hands. False if there is nothing to take.
fn take_over(draft: &mut Draft, frame: &Frame<'_>, claim: &Claim, problem: &Problem) -> bool {
    let Some(holder) = &problem.holder else { return false };
    let key = frame.at(&claim.name);
    let is_meant = |one: &&Claim| {
        one.owner_id == holder.owner && one.is_held() && holder.rtype.is_none_or(|rtype| rtype == one.rtype)
    };
    let Some(taken) = draft.claims(&key).iter().find(is_meant).cloned() else { return false };
    if taken.owner == frame.owner || taken.owner_id.is_system() {
        return false;
    }
    draft.remove_claim(&taken);
    draft.mark_changed(taken.owner);
    if taken.rtype != claim.rtype {
        let revision = draft.revision();
        draft.put_claim(Claim {
            owner: frame.owner,
            owner_id: frame.owner_id.clone(),
            asserted: draft.now,
            revision,
            ..taken
        });
    }
    true
}

/// A wish that is refused waits, if the key has it so and the owner does not hold the RRset already.
fn wait(draft: &mut Draft, frame: &Frame<'_>, claim: Claim, existing: Option<&Claim>, problem: Problem) -> Done {
    if frame.key.queue && !existing.is_some_and(Claim::is_held) {
        put(draft, claim, ClaimState::Queued);
        return (ItemOutcome::Queued, Some(problem));
    }
    (ItemOutcome::Conflict, Some(problem))
}

/// Puts a claim in, in a state; one that is as it was stays so, and its place in a queue too.
pub(super) fn put(draft: &mut Draft, claim: Claim, state: ClaimState) {
    let key = super::scope::NameKey { zone: claim.zone, name: claim.name.clone() };
    match draft.claims(&key).iter().find(|one| rules::is_same_claim(one, &claim)).cloned() {
        None => draft.put_claim(Claim { state, ..claim }),
        Some(old) if old.state == state && old.is_like(&claim) => {}
        Some(old) => {
            let created = old.created;
            let is_back = old.state == ClaimState::Quarantined;
            let created_revision = if is_back { claim.created_revision } else { old.created_revision };
            draft.put_claim(Claim { state, created, created_revision, ..claim });
        }
    }
}
