//! Undoing a sweep: each owner and each claim that it took comes back as it was, unless something else has its place
//! since, or its owner decided otherwise (ownership.md section 3.4).

use super::actor::{Actor, Role};
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::draft::Draft;
use super::entitlement;
use super::lease::{Lease, LeaseStage};
use super::limits::MAX_DEPTH;
use super::owner::{Owner, OwnerId, OwnerNumber, OwnerState};
use super::owning;
use super::plan::ZoneChange;
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::rules::{self, Obstacle, Occluded};
use super::scope::{NameKey, is_redirection};
use super::sweep::{SweepChange, SweepMode, SweepState, Swept, SweptOwner};

/// Plans [`super::command::Command::UndoSweep`]. What the owner wrote since is `unchanged`, what another holds now is
/// `conflict` and names the holder; a repeat tries those again.
pub(super) fn undo(draft: &mut Draft, actor: &Actor, id: u64) -> Result<(), Refusal> {
    entitlement::check_writes(actor)?;
    let Some(swept) = draft.ledger.sweep.take().filter(|swept| swept.id == id) else {
        let detail = format!("there is no sweep {}: one is kept for 7 days", Swept::word(id));
        return Err(Refusal::new(Code::NotFound, detail));
    };
    check_may(draft, actor, &swept)?;
    draft.report.subject = Some(ItemOutcome::Unchanged);
    if swept.mode == SweepMode::Report || swept.state == SweepState::Undone {
        return Ok(());
    }
    let mut claims: Vec<(OwnerNumber, &Claim)> = Vec::new();
    for one in &swept.owners {
        match bring_back(draft, actor, &swept, one) {
            Ok(number) => claims.extend(one.claims.iter().map(|claim| (number, claim))),
            Err(problem) => one
                .claims
                .iter()
                .for_each(|claim| draft.report_claim(claim, ItemOutcome::Conflict, Some(problem.clone()))),
        }
    }
    // Cuts and DNAMEs first, the upper ones before; those that waited last, in the order of the queue.
    claims.sort_by_key(|(_, claim)| {
        let at_apex = draft.ledger.zones.get(&claim.zone).is_some_and(|zone| zone.name == claim.name);
        let hides = is_redirection(claim.rtype, at_apex);
        let waited = (claim.state == ClaimState::Queued).then_some(claim.created_revision);
        (waited, if hides { claim.name.label_count() } else { usize::MAX }, claim.created_revision)
    });
    let mut touched = Vec::new();
    for (number, claim) in claims {
        touched.extend(restore(draft, actor, &swept, number, claim));
    }
    draft.settle_all(touched);
    let after = if draft.report.summary.has_refused() { SweepState::PartlyUndone } else { SweepState::Undone };
    if after != swept.state {
        draft.sweep = Some(SweepChange::Moved { id, scope: swept.scope, before: swept.state, after });
        draft.report.subject = Some(ItemOutcome::Updated);
    }
    Ok(())
}

/// Who may sweep below the scope may undo it. If the scope itself is gone, who could when the sweep was made.
fn check_may(draft: &Draft, actor: &Actor, swept: &Swept) -> Result<(), Problem> {
    let Role::Owner(root) = &actor.role else { return Ok(()) };
    let may = match draft.ledger.owner(&swept.scope) {
        Some(scope) => entitlement::is_entitled(&draft.ledger, actor, scope.number),
        None => *root == swept.scope || swept.parents.contains(root),
    };
    if may {
        return Ok(());
    }
    let detail =
        format!("this token writes for {root} and its descendants, and the sweep was made for {}", swept.scope);
    Err(Problem::new(Code::Forbidden, detail))
}

/// The owner as it was, or the one that has its id now if that is the same incarnation.
fn bring_back(draft: &mut Draft, actor: &Actor, swept: &Swept, one: &SweptOwner) -> Result<OwnerNumber, Problem> {
    let old = &one.owner;
    entitlement::check_owner(&draft.ledger, actor, &old.id, None)?;
    let existing = draft.ledger.owner(&old.id).cloned();
    if let Some(now) = existing.filter(|now| now.number == old.number) {
        if now.state == OwnerState::Deleting {
            draft.mark_changed(now.number);
            if let Some(owner) = draft.owner_mut(now.number) {
                owner.state = old.state;
            }
        }
        return Ok(now.number);
    }
    let later = draft.ledger.tombstones.iter().find(|gone| gone.owner == old.id && gone.uid == old.uid);
    if let Some(gone) = later.filter(|gone| gone.revision > swept.id) {
        let detail = format!("{} was deleted again at revision {}, after the sweep", old.id, gone.revision);
        return Err(Problem::new(Code::OwnerGone, detail));
    }
    if let Some(now) = draft.ledger.owner(&old.id) {
        if now.uid.is_some() && old.uid.is_some() && now.uid != old.uid {
            let detail = format!("{} has another uid now: that incarnation says what it has", old.id);
            return Err(Problem::new(Code::OwnerIncarnation, detail));
        }
        let number = now.number;
        draft.unbury(&old.id, old.uid.as_deref());
        give_zones_back(draft, one, number);
        return Ok(number);
    }
    let parent = parent_for(draft, actor, swept, one);
    let number = draft.ensure_owner(&old.id, parent);
    let lease = old.lease.clone().map(|lease| Lease {
        expires: crate::zone::alias::Moment(draft.now.0.saturating_add(lease.seconds.saturating_mul(1_000))),
        stage: LeaseStage::Running,
        ..lease
    });
    if let Some(owner) = draft.owner_mut(number) {
        *owner = Owner {
            number,
            parent: owner.parent,
            state: OwnerState::Active,
            asserted: owner.asserted,
            revision: owner.revision,
            lease,
            ..old.clone()
        };
    }
    draft.unbury(&old.id, old.uid.as_deref());
    give_zones_back(draft, one, number);
    Ok(number)
}

/// The owner that was above, if it is there; else the scope, made if need be.
fn parent_for(draft: &mut Draft, actor: &Actor, swept: &Swept, one: &SweptOwner) -> Option<OwnerNumber> {
    let above = one.parents.first().and_then(|id| draft.ledger.owner(id)).map(|above| above.number);
    let fits = |draft: &Draft, number: OwnerNumber| draft.ledger.above(number).len() + 2 <= MAX_DEPTH;
    match above.filter(|number| fits(draft, *number)) {
        Some(number) => Some(number),
        None => {
            let top = owning::root_of(draft, actor, &swept.scope);
            Some(draft.ensure_owner(&swept.scope, top))
        }
    }
}

/// Zones that went to `zone:<zone>` with their owner are its own again.
fn give_zones_back(draft: &mut Draft, one: &SweptOwner, number: OwnerNumber) {
    for zone in &one.zones {
        let Some(mut zone) = draft.ledger.zones.get(zone).cloned() else { continue };
        if zone.owner != OwnerId::of_zone(&zone.name) {
            continue;
        }
        zone.owner_number = number;
        zone.owner = one.owner.id.clone();
        zone.revision = draft.revision();
        draft.ledger.add_zone(zone.clone());
        draft.zones.push(ZoneChange::Updated(zone));
    }
}

fn restore(draft: &mut Draft, actor: &Actor, swept: &Swept, number: OwnerNumber, old: &Claim) -> Option<NameKey> {
    let Some(zone) = draft.ledger.zones.get(&old.zone).cloned() else {
        let detail = format!("the zone of {} is gone: one made anew inherits nothing", old.name);
        let item = Item {
            zone: None,
            name: old.name.to_string(),
            rtype: old.rtype.to_string(),
            set_id: old.set_id.clone(),
            owner: old.owner_id.clone(),
            outcome: ItemOutcome::Invalid,
            problem: Some(Problem::new(Code::NameOutOfZone, detail)),
            promoted: None,
        };
        draft.report_item(item);
        return None;
    };
    if let Err(problem) = entitlement::check_record(&draft.ledger, actor, &zone, &old.name, old.rtype) {
        draft.report_claim(old, ItemOutcome::Invalid, Some(problem));
        return None;
    }
    let key = NameKey { zone: zone.number, name: old.name.clone() };
    let claim = Claim { owner: number, revision: draft.revision(), ..old.clone() };
    let now = draft.claims(&key).iter().find(|one| rules::is_same_claim(one, &claim));
    let outcome = match (swept.mode, now) {
        (SweepMode::Delete, None) => ItemOutcome::Created,
        (SweepMode::Quarantine, Some(now)) if now.state == ClaimState::Quarantined && now.revision == swept.id => {
            ItemOutcome::Updated
        }
        // Its owner wrote or deleted it since, or it is back already.
        (SweepMode::Delete, Some(_)) | (SweepMode::Quarantine, _) | (SweepMode::Report, _) => {
            draft.report_claim(&claim, ItemOutcome::Unchanged, None);
            return None;
        }
    };
    if old.state == ClaimState::Quarantined {
        draft.put_claim(claim.clone());
        draft.report_claim(&claim, outcome, None);
        return None;
    }
    let occluded = if claim.owner_id.is_zone() { Occluded::Kept } else { Occluded::Refused };
    let held = Claim { state: ClaimState::Held, ..claim.clone() };
    match rules::judge(&draft.ledger, &zone, &held, occluded) {
        Ok(fit) => {
            for taken in &fit.takes_over {
                draft.remove_claim(taken);
            }
            draft.put_claim(held.clone());
            draft.report_claim(&held, outcome, None);
        }
        // Who waited then waits again.
        Err(Obstacle::Conflict(_)) if old.state == ClaimState::Queued => {
            draft.put_claim(claim.clone());
            draft.report_claim(&claim, outcome, None);
        }
        Err(Obstacle::Conflict(problem) | Obstacle::Standing(problem)) => {
            draft.report_claim(&claim, ItemOutcome::Conflict, Some(problem));
            return None;
        }
        Err(Obstacle::Invalid(problem)) => {
            draft.report_claim(&claim, ItemOutcome::Invalid, Some(problem));
            return None;
        }
    }
    draft.mark_changed(number);
    Some(key)
}
