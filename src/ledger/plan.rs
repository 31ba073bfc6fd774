//! A plan: what a command decides, as a value that serves dry run, writing, history and response.

use std::collections::BTreeMap;

use super::actor::Actor;
use super::attachment::AttachmentChange;
use super::claim::Claim;
use super::command::{Command, NewToken};
use super::draft::Draft;
use super::fresh::Fresh;
use super::hold::{self, Hold};
use super::lease::{self, Lease};
use super::owner::{Owner, OwnerId, Tombstone};
use super::report::{Refusal, Report};
use super::scope::{Ledger, NameKey};
use super::sweep::{self, SweepChange};
use super::zone::{ZoneNumber, ZoneRow};
use super::{
    adjusting, endpoints, import, letting_go, opening, owning, patch, quarantine, tokens, transfer, undo, write, zones,
};
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// A claim before and after; one of the two at least, and of the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimChange {
    /// None if it is new.
    pub before: Option<Claim>,
    /// None if it is gone.
    pub after: Option<Claim>,
}

impl ClaimChange {
    /// The claim that says which one it is.
    pub fn either(&self) -> &Claim {
        self.after.as_ref().or(self.before.as_ref()).expect("a change has a before or an after")
    }
}

/// An owner before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerChange {
    /// None if it is new.
    pub before: Option<Owner>,
    /// None if it is gone.
    pub after: Option<Owner>,
}

impl OwnerChange {
    /// Whether only times, generation and epoch differ: that is kept, but is no change that counts.
    pub fn is_bookkeeping(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                let (generation, epoch, asserted) = (after.generation, after.epoch, after.asserted);
                // A lease that is renewed in time only ends later.
                let lease = match (&before.lease, &after.lease) {
                    (Some(old), Some(new)) => Some(Lease { expires: new.expires, ..old.clone() }),
                    (old, _) => old.clone(),
                };
                Owner { generation, epoch, asserted, lease, revision: after.revision, ..before.clone() } == *after
            }
            (None, _) | (_, None) => false,
        }
    }
}

/// A zone before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneChange {
    /// It is new.
    Created(ZoneRow),
    /// Its keys changed.
    Updated(ZoneRow),
    /// It goes with all claims in it.
    Deleted(ZoneRow),
}

/// A token that comes or goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenChange {
    /// It is new.
    Created(Box<NewToken>),
    /// It is gone.
    Deleted(String),
}

/// A hold before and after; one of the two at least, and of one owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldChange {
    /// None if the owner had none.
    pub before: Option<Hold>,
    /// None if it has none then.
    pub after: Option<Hold>,
}

/// How a plan stands in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    /// A row for each claim.
    PerClaim,
    /// One row for an import into this zone, with the number of claims written and deleted.
    Import {
        /// The apex.
        zone: Name,
        /// Whose claims.
        owner: OwnerId,
        /// Claims written.
        written: u64,
        /// Claims deleted.
        deleted: u64,
    },
}

/// The decided effects of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the caller is told; its serials are known after assembly.
    pub report: Report,
    /// Claims that change, in canonical order of zone, name, type.
    pub claims: Vec<ClaimChange>,
    /// Claims of a zone that had none but the server's: in place of `claims`, so that a large import is held once.
    pub fresh: Option<Fresh>,
    /// Claims that are as wished already: only when they were last asked for changes.
    pub asserted: Vec<Claim>,
    /// Names of which the served content may change; what is there then is in `ledger`.
    pub names: Vec<NameKey>,
    /// Owners that change, by number.
    pub owners: Vec<OwnerChange>,
    /// Tombstones that are put up.
    pub tombstones: Vec<Tombstone>,
    /// Zones that change.
    pub zones: Vec<ZoneChange>,
    /// SOA serials that the caller asked for, by zone.
    pub serials: BTreeMap<ZoneNumber, u32>,
    /// A token that changes.
    pub token: Option<TokenChange>,
    /// A hold that changes.
    pub hold: Option<HoldChange>,
    /// A sweep that is made or undone.
    pub sweep: Option<SweepChange>,
    /// Tombstones that are taken down, by owner and uid.
    pub unburied: Vec<(OwnerId, Option<String>)>,
    /// What owners keep beside their claims, where that changes.
    pub attachments: Vec<AttachmentChange>,
    /// Serials that are to be reached by the next change, by zone: kept, and no change by themselves.
    pub floors: BTreeMap<ZoneNumber, u32>,
    /// Form of the history.
    pub history: History,
    /// The ledger as it is then.
    pub ledger: Ledger,
}

impl Plan {
    /// Whether there is nothing at all to write, not even a time.
    pub fn is_empty(&self) -> bool {
        self.is_assertion() && self.asserted.is_empty()
    }

    /// Whether all that there is to write is that claims were asked for again.
    pub fn is_assertion(&self) -> bool {
        !self.report.changed && self.owners.is_empty() && self.tombstones.is_empty() && self.floors.is_empty()
    }
}

/// Decides what comes of a command, given what the store holds of all that it can touch.
pub fn plan(ledger: Ledger, command: &Command, actor: &Actor, now: Moment) -> Result<Plan, Refusal> {
    let mut draft = Draft::new(ledger, now);
    match command {
        Command::CreateZone(create) => zones::create(&mut draft, actor, create)?,
        Command::UpdateZone(update) => zones::update(&mut draft, actor, update)?,
        Command::DeleteZone(zone) => zones::delete(&mut draft, actor, zone)?,
        Command::ImportZone(file) => import::import(&mut draft, actor, file)?,
        Command::Apply(apply) => write::apply(&mut draft, actor, apply)?,
        Command::Change(change) => write::change(&mut draft, actor, change)?,
        Command::Revert(changes) => write::revert(&mut draft, actor, changes)?,
        Command::ChangeEndpoints(asked) => endpoints::change(&mut draft, actor, asked)?,
        Command::AdjustEndpoints(asked) => adjusting::adjust(&mut draft, actor, asked)?,
        Command::OpenZone(open) => opening::open(&mut draft, actor, open)?,
        Command::ShowZone(show) => opening::show(&mut draft, actor, show)?,
        Command::Patch(asked) => patch::patch(&mut draft, actor, asked)?,
        Command::Lapse(asked) => quarantine::lapse(&mut draft, asked),
        Command::PutOwner(put) => owning::put(&mut draft, actor, put)?,
        Command::DeleteOwner(delete) => letting_go::delete_owner(&mut draft, actor, delete)?,
        Command::Transfer(asked) => transfer::transfer(&mut draft, actor, asked)?,
        Command::DecideHold(asked) => hold::decide(&mut draft, actor, asked)?,
        Command::RenewLeases(owners) => lease::renew(&mut draft, actor, owners)?,
        Command::EndLease(asked) => lease::end(&mut draft, actor, asked)?,
        Command::Purge(due) => quarantine::purge(&mut draft, actor, due)?,
        Command::Sweep(asked) => sweep::sweep(&mut draft, actor, asked)?,
        Command::UndoSweep(id) => undo::undo(&mut draft, actor, *id)?,
        Command::CreateToken(token) => tokens::create(&mut draft, actor, token)?,
        Command::DeleteToken(id) => tokens::delete(&mut draft, actor, id)?,
    }
    Ok(draft.finish())
}
