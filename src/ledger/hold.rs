//! Holds: the deletes that the brake keeps back, until somebody approves or discards them or the owner applies again
//! (ownership.md section 3.1, external-dns.md section 11).

use super::actor::Actor;
use super::claim::Claim;
use super::code::Code;
use super::command::{DecideHold, HoldDecision};
use super::draft::Draft;
use super::entitlement;
use super::owner::{OwnerId, OwnerNumber};
use super::plan::HoldChange;
use super::report::{ItemOutcome, Refusal};
use super::scope::NameKey;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Deletes of one owner that wait for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The revision that made it.
    pub id: u64,
    /// Number of the owner.
    pub owner: OwnerNumber,
    /// The owner.
    pub owner_id: OwnerId,
    /// When it was made.
    pub since: Moment,
    /// How many claims the owner had then.
    pub claims: u64,
    /// What would go, in canonical order.
    pub deletes: Vec<HeldDelete>,
}

/// A claim that would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDelete {
    /// Apex of the zone.
    pub zone: Name,
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// The set id, empty if there is none.
    pub set_id: String,
}

impl Hold {
    /// The word for it in the API: `h` and its number.
    pub fn word(&self) -> String {
        format!("h{}", self.id)
    }

    /// Reads [`Hold::word`].
    pub fn id_of(word: &str) -> Option<u64> {
        word.strip_prefix('h').filter(|number| number.bytes().all(|octet| octet.is_ascii_digit()))?.parse().ok()
    }
}

/// What an apply of the full set left on hold takes the place of what was on hold. The same deletes are the same hold.
pub(super) fn replace(draft: &mut Draft, owner: OwnerNumber, claims: u64, held: &[Claim]) {
    let old = draft.ledger.hold.take().filter(|hold| hold.owner == owner);
    let deletes: Vec<HeldDelete> = held
        .iter()
        .filter_map(|claim| {
            let zone = draft.ledger.zones.get(&claim.zone)?.name.clone();
            Some(HeldDelete { zone, name: claim.name.clone(), rtype: claim.rtype, set_id: claim.set_id.clone() })
        })
        .collect();
    let owner_id = draft.ledger.owners.get(&owner).map_or_else(OwnerId::system, |owner| owner.id.clone());
    match old {
        Some(old) if old.deletes == deletes => draft.ledger.hold = Some(old),
        None if deletes.is_empty() => {}
        Some(old) if deletes.is_empty() => draft.hold = Some(HoldChange { before: Some(old), after: None }),
        before => {
            let hold = Hold { id: draft.revision(), owner, owner_id, since: draft.now, claims, deletes };
            draft.ledger.hold = Some(hold.clone());
            draft.hold = Some(HoldChange { before, after: Some(hold) });
        }
    }
}

/// Takes deletes off the hold of an owner; without any left there is none.
pub(super) fn forget(draft: &mut Draft, owner: OwnerNumber, is_over: impl Fn(&HeldDelete) -> bool) {
    let Some(hold) = draft.ledger.hold.clone().filter(|hold| hold.owner == owner) else { return };
    if !hold.deletes.iter().any(&is_over) {
        return;
    }
    let deletes: Vec<HeldDelete> = hold.deletes.iter().filter(|one| !is_over(one)).cloned().collect();
    // What it was at first: a hold that was changed twice in one command is changed once.
    let before = draft.hold.take().map_or(Some(hold.clone()), |change| change.before);
    let after = (!deletes.is_empty()).then_some(Hold { deletes, ..hold });
    draft.ledger.hold.clone_from(&after);
    draft.hold = Some(HoldChange { before, after });
}

/// Plans [`super::command::Command::DecideHold`].
pub(super) fn decide(draft: &mut Draft, actor: &Actor, asked: &DecideHold) -> Result<(), Refusal> {
    entitlement::check_writes(actor)?;
    let Some(hold) = draft.ledger.hold.take().filter(|hold| hold.id == asked.id) else {
        let detail = format!("there is no hold h{}: the next apply of its owner may have replaced it", asked.id);
        return Err(Refusal::new(Code::NotFound, detail));
    };
    entitlement::check_owner(&draft.ledger, actor, &hold.owner_id, None)?;
    match asked.decision {
        HoldDecision::Approve => approve(draft, actor, &hold),
        HoldDecision::Discard => {}
    }
    draft.mark_written(hold.owner);
    draft.hold = Some(HoldChange { before: Some(hold), after: None });
    draft.report.subject = Some(ItemOutcome::Deleted);
    Ok(())
}

/// Deletes what is on hold, but for what the owner asked for since.
fn approve(draft: &mut Draft, actor: &Actor, hold: &Hold) {
    let mut touched = Vec::new();
    for held in &hold.deletes {
        let Some(zone) = draft.ledger.zone(&held.zone).cloned() else { continue };
        let key = NameKey { zone: zone.number, name: held.name.clone() };
        let is_meant = |one: &&Claim| {
            one.owner == hold.owner
                && one.rtype == held.rtype
                && one.set_id == held.set_id
                && one.revision <= hold.id
                && one.asserted <= hold.since
        };
        let Some(claim) = draft.claims(&key).iter().find(is_meant).cloned() else { continue };
        match entitlement::check_record(&draft.ledger, actor, &zone, &claim.name, claim.rtype) {
            Err(problem) => draft.report_claim(&claim, ItemOutcome::Invalid, Some(problem)),
            Ok(()) => {
                draft.remove_claim(&claim);
                draft.report_claim(&claim, ItemOutcome::Deleted, None);
                touched.push(key);
            }
        }
    }
    draft.settle_all(touched);
}
