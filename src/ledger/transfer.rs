//! Transfers: claims change hands, and nothing that is served changes (ownership.md section 3.3).

use super::actor::Actor;
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::command::{OwnerKeys, Transfer};
use super::draft::Draft;
use super::entitlement;
use super::owner::{Owner, OwnerId, OwnerNumber};
use super::owning::{self, Extent};
use super::report::{ItemOutcome, Problem, Refusal};
use super::rules;
use super::scope::NameKey;
use super::wish;

/// Plans [`super::command::Command::Transfer`].
pub(super) fn transfer(draft: &mut Draft, actor: &Actor, transfer: &Transfer) -> Result<(), Refusal> {
    let Transfer { from, to, zone, name, rtype, if_revision } = transfer;
    entitlement::check_owner(&draft.ledger, actor, to, None)?;
    if from == to {
        return Err(Refusal::new(Code::BadRequest, format!("{from} has its records already: name another owner")));
    }
    if from.is_system() {
        let detail = "what the server itself holds is taken over by writing it, and not by a transfer";
        return Err(Refusal::new(Code::Forbidden, detail));
    }
    let Some(source) = draft.ledger.owner(from).cloned() else {
        return Err(Refusal::new(Code::NotFound, format!("there is no owner {from}")));
    };
    if let Some(revision) = if_revision.filter(|revision| source.revision > *revision) {
        let detail = format!("{from} changed at revision {}, after {revision}: read it again", source.revision);
        return Err(Refusal::new(Code::StaleRevision, detail));
    }
    let apex = match zone {
        None => None,
        Some(apex) => match draft.ledger.zone(apex) {
            Some(zone) => Some(zone.number),
            None => return Err(Refusal::new(Code::NotFound, format!("there is no zone {apex}"))),
        },
    };
    let is_meant = |claim: &&Claim| {
        claim.owner == source.number
            && apex.is_none_or(|apex| apex == claim.zone)
            && name.as_ref().is_none_or(|name| *name == claim.name)
            && rtype.is_none_or(|rtype| rtype == claim.rtype)
    };
    let moving: Vec<Claim> = draft.ledger.claims.values().flatten().filter(is_meant).cloned().collect();
    check_source(draft, actor, &source, &moving)?;
    if moving.is_empty() {
        draft.report.subject = Some(ItemOutcome::Unchanged);
        return Ok(());
    }
    let target = owning::prepare(draft, actor, to, &OwnerKeys::default(), Extent::Part, None)?;
    hand_over(draft, actor, moving, target);
    let is_done = draft.report.summary.count(ItemOutcome::Updated) > 0;
    draft.report.subject = Some(if is_done { ItemOutcome::Updated } else { ItemOutcome::Unchanged });
    Ok(())
}

/// Who may write for an owner may give away what it has; an imported record is given away by its zone's owner, too.
fn check_source(draft: &Draft, actor: &Actor, from: &Owner, moving: &[Claim]) -> Result<(), Problem> {
    if entitlement::is_entitled(&draft.ledger, actor, from.number) {
        return Ok(());
    }
    let owns_zone = |claim: &Claim| {
        let zone = draft.ledger.zones.get(&claim.zone);
        zone.is_some_and(|zone| entitlement::is_entitled(&draft.ledger, actor, zone.owner_number))
    };
    if from.id.is_zone() && !moving.is_empty() && moving.iter().all(owns_zone) {
        return Ok(());
    }
    entitlement::check_owner(&draft.ledger, actor, &from.id, None)
}

/// Gives claims to another owner, name by name. At a name where the rules forbid it, all stays as it was.
pub(super) fn hand_over(draft: &mut Draft, actor: &Actor, mut moving: Vec<Claim>, to: OwnerNumber) {
    let Some(to_id) = draft.ledger.owners.get(&to).map(|owner| owner.id.clone()) else { return };
    sort(draft, &mut moving);
    for at_name in moving.chunk_by(|left, right| left.zone == right.zone && left.name == right.name) {
        let Some(first) = at_name.first() else { continue };
        let key = NameKey { zone: first.zone, name: first.name.clone() };
        let before = draft.claims(&key).to_vec();
        let mut moved = Vec::new();
        for claim in at_name {
            let forbidden =
                draft.ledger.zones.get(&claim.zone).and_then(|zone| {
                    entitlement::check_record(&draft.ledger, actor, zone, &claim.name, claim.rtype).err()
                });
            match forbidden {
                Some(problem) => draft.report_claim(claim, ItemOutcome::Invalid, Some(problem)),
                None => moved.push(give(draft, claim, to, &to_id)),
            }
        }
        let problem = moved.iter().filter(|one| one.is_held()).find_map(|one| rules::stands(&draft.ledger, one).err());
        if problem.is_some() {
            *draft.claims_mut(&key) = before;
        }
        let outcome = if problem.is_some() { ItemOutcome::Conflict } else { ItemOutcome::Updated };
        for claim in &moved {
            draft.report_claim(claim, outcome, problem.clone());
        }
        if problem.is_none() {
            for number in at_name.iter().map(|claim| claim.owner).chain([to]) {
                draft.mark_changed(number);
            }
        }
    }
}

/// Moves one claim. Where the new owner has a claim of the same key already, the one that is served decides; two that
/// are served become one of both, with the lower TTL, which is what their union was.
fn give(draft: &mut Draft, claim: &Claim, to: OwnerNumber, to_id: &OwnerId) -> Claim {
    draft.remove_claim(claim);
    let mut given =
        Claim { owner: to, owner_id: to_id.clone(), asserted: draft.now, revision: draft.revision(), ..claim.clone() };
    let key = NameKey { zone: claim.zone, name: claim.name.clone() };
    if let Some(own) = draft.claims(&key).iter().find(|one| rules::is_same_claim(one, &given)).cloned() {
        let rank = |state: ClaimState| match state {
            ClaimState::Held => 2,
            ClaimState::Queued => 1,
            ClaimState::Quarantined => 0,
        };
        if own.is_held() && given.is_held() {
            given.records.extend(own.records);
            wish::sort_records(given.rtype, &mut given.records);
            given.ttl = given.ttl.min(own.ttl);
            given.created = given.created.min(own.created);
        } else if rank(own.state) >= rank(given.state) {
            return own;
        }
    }
    draft.put_claim(given.clone());
    given
}

/// Canonical order of zone, name and type.
pub(super) fn sort(draft: &Draft, claims: &mut [Claim]) {
    claims.sort_by_cached_key(|claim| {
        let zone = draft.ledger.zones.get(&claim.zone);
        let key = zone.and_then(|zone| claim.name.sort_key(&zone.name));
        (claim.zone, key, claim.rtype, claim.owner, claim.set_id.clone())
    });
}
