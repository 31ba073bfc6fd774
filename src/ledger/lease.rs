//! Leases: an owner that does not write or renew in time is listed as expired and serves on; after a grace its policy
//! runs (ownership.md section 3.3).

use std::collections::HashSet;

use super::actor::Actor;
use super::code::Code;
use super::command::{EndLease, LeaseStep};
use super::draft::Draft;
use super::entitlement;
use super::letting_go;
use super::owner::{OwnerId, OwnerNumber, OwnerState};
use super::quarantine;
use super::report::{ItemOutcome, Problem, Refusal};
use super::scope::Ledger;
use crate::zone::alias::Moment;

/// Longest lease and grace, in seconds: ten years.
pub const MAX_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;
/// Grace in seconds if none is given.
pub const DEFAULT_GRACE: u64 = 3_600;

/// What becomes of an owner when lease and grace are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExpiry {
    /// It is listed as expired.
    #[default]
    Report,
    /// Its records are put into quarantine.
    Quarantine,
    /// It is deleted with its records.
    Delete,
}

impl OnExpiry {
    /// All policies.
    pub const ALL: [OnExpiry; 3] = [OnExpiry::Report, OnExpiry::Quarantine, OnExpiry::Delete];

    /// The word in API and store.
    pub fn text(self) -> &'static str {
        match self {
            OnExpiry::Report => "report",
            OnExpiry::Quarantine => "quarantine",
            OnExpiry::Delete => "delete",
        }
    }

    /// Reads [`OnExpiry::text`].
    pub fn from_text(text: &str) -> Option<OnExpiry> {
        OnExpiry::ALL.into_iter().find(|one| one.text() == text)
    }
}

/// How far a lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStage {
    /// It runs.
    Running,
    /// It was found to have run out then.
    Expired(Moment),
    /// The policy ran; it was found to have run out then.
    Settled(Moment),
}

/// The lease of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// How long a write or a renewal lasts.
    pub seconds: u64,
    /// What becomes of the owner.
    pub on_expiry: OnExpiry,
    /// Seconds between the end and the policy.
    pub grace: u64,
    /// When it ends.
    pub expires: Moment,
    /// How far it is.
    pub stage: LeaseStage,
}

/// Keys of a lease that a write sets; absent ones stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseKeys {
    /// Seconds; 0 takes the lease away.
    pub seconds: Option<u64>,
    /// The policy.
    pub on_expiry: Option<OnExpiry>,
    /// Seconds.
    pub grace: Option<u64>,
}

impl LeaseKeys {
    /// Whether a lease with these keys could be.
    pub(super) fn check(&self, has_lease: bool) -> Result<(), Problem> {
        if self.seconds.max(self.grace).is_some_and(|seconds| seconds > MAX_SECONDS) {
            let detail = format!("leaseSeconds and graceSeconds are at most {MAX_SECONDS}");
            return Err(Problem::new(Code::LimitExceeded, detail));
        }
        let has_more = self.on_expiry.is_some() || self.grace.is_some();
        match self.seconds {
            None if has_more && !has_lease => {
                Err(Problem::new(Code::BadRequest, "onExpiry and graceSeconds need a lease: give leaseSeconds, too"))
            }
            Some(0) if has_more => {
                Err(Problem::new(Code::BadRequest, "leaseSeconds 0 takes the lease away: nothing goes with it"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The lease after a write with these keys at `now`, which renews it.
    pub(super) fn applied(&self, old: Option<&Lease>, now: Moment) -> Option<Lease> {
        let seconds = self.seconds.or(old.map(|old| old.seconds)).filter(|seconds| *seconds > 0)?;
        Some(Lease {
            seconds,
            on_expiry: self.on_expiry.or(old.map(|old| old.on_expiry)).unwrap_or_default(),
            grace: self.grace.or(old.map(|old| old.grace)).unwrap_or(DEFAULT_GRACE),
            expires: Moment(now.0.saturating_add(seconds * 1_000)),
            stage: LeaseStage::Running,
        })
    }
}

/// Plans [`super::command::Command::RenewLeases`]: each owner and all below it that have a lease.
pub(super) fn renew(draft: &mut Draft, actor: &Actor, owners: &[OwnerId]) -> Result<(), Refusal> {
    entitlement::check_writes(actor)?;
    let mut numbers: Vec<OwnerNumber> = Vec::new();
    for id in owners {
        entitlement::check_owner(&draft.ledger, actor, id, None)?;
        match draft.ledger.owner(id).map(|owner| owner.number) {
            None => draft.report.unknown.push(id.clone()),
            Some(number) => {
                numbers.push(number);
                numbers.extend(draft.ledger.descendants(number));
            }
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    let (now, revision) = (draft.now, draft.revision());
    for number in numbers {
        let Some(owner) = draft.ledger.owners.get(&number) else { continue };
        let Some(lease) = LeaseKeys::default().applied(owner.lease.as_ref(), now) else { continue };
        draft.report.renewed.push((owner.id.clone(), lease.expires));
        let Some(owner) = draft.owner_mut(number) else { continue };
        owner.lease = Some(lease);
        if owner.state == OwnerState::Expired {
            owner.state = OwnerState::Active;
            owner.revision = revision;
        }
    }
    Ok(())
}

/// Plans [`super::command::Command::EndLease`]; nothing if the owner wrote or renewed meanwhile.
pub(super) fn end(draft: &mut Draft, actor: &Actor, asked: &EndLease) -> Result<(), Refusal> {
    entitlement::check_admin(actor, "ending a lease")?;
    let Some(owner) = draft.ledger.owner(&asked.owner).cloned() else { return Ok(()) };
    let Some(lease) = owner.lease.clone() else { return Ok(()) };
    match (asked.step, lease.stage) {
        (LeaseStep::Expire { expires }, LeaseStage::Running) if expires == lease.expires => {
            let stage = LeaseStage::Expired(draft.now);
            draft.mark_changed(owner.number);
            if let Some(owner) = draft.owner_mut(owner.number) {
                owner.state = OwnerState::Expired;
                owner.lease = Some(Lease { stage, ..lease });
            }
        }
        (LeaseStep::RunPolicy { expired }, LeaseStage::Expired(at)) if expired == at => {
            run_policy(draft, owner.number, &lease, at);
        }
        (LeaseStep::Expire { .. } | LeaseStep::RunPolicy { .. }, _) => {}
    }
    Ok(())
}

/// Those below an owner that live by its lease: all but owners with a lease of their own, and what is below those.
fn covered(ledger: &Ledger, top: OwnerNumber) -> Vec<OwnerNumber> {
    let is_covered = |number: &OwnerNumber| {
        let own = ledger.owners.get(number).into_iter();
        own.chain(ledger.above(*number)).take_while(|owner| owner.number != top).all(|owner| owner.lease.is_none())
    };
    ledger.descendants(top).into_iter().filter(is_covered).collect()
}

fn run_policy(draft: &mut Draft, top: OwnerNumber, lease: &Lease, at: Moment) {
    let below = covered(&draft.ledger, top);
    let all: HashSet<OwnerNumber> = below.iter().copied().chain([top]).collect();
    draft.mark_changed(top);
    if let Some(owner) = draft.owner_mut(top) {
        owner.lease = Some(Lease { stage: LeaseStage::Settled(at), ..lease.clone() });
    }
    match lease.on_expiry {
        OnExpiry::Report => {}
        OnExpiry::Quarantine => quarantine::put_claims_aside(draft, &all),
        OnExpiry::Delete => {
            letting_go::delete_claims(draft, &all);
            for number in below.iter().rev().chain([&top]) {
                // What lives below by a lease of its own keeps those above it.
                if draft.ledger.descendants(*number).is_empty()
                    && let Some(owner) = draft.ledger.owners.get(number)
                {
                    draft.report.owners_deleted.push(owner.id.clone());
                    draft.remove_owner(*number);
                }
            }
            letting_go::hand_zones_on(draft, None);
        }
    }
    draft.report.subject = Some(ItemOutcome::Deleted);
}
