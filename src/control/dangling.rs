//! What would point at nothing after a command: held records whose target is gone or has no data for them any more
//! (ownership.md section 3.4, alias.md section 2). It is judged on what is published before and after, so that a
//! wildcard, a CNAME in place of addresses, or both ends going at once are seen as they are. Only what goes is looked
//! at: a command that takes nothing away costs nothing here.
//!
//! Not looked for are names that a new zone takes out of the one above it, and what a parent zone delegates elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ledger::claim::Claim;
use crate::ledger::code::Code;
use crate::ledger::command::Command;
use crate::ledger::plan::{Plan, ZoneChange};
use crate::ledger::report::{Dangling, Problem};
use crate::ledger::scope::NameKey;
use crate::store::targets::{Reference, targets};
use crate::store::{StoreError, Writer};
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::content::Lookup;
use crate::zone::node::Node;
use crate::zone::snapshot::Snapshot;

/// Most records that a response lists; of more it says so.
pub const MAX_DANGLING: usize = 1_000;
/// Most references that are looked at for one subtree, or one thousand names.
const MAX_CANDIDATES: u32 = 10_000;
/// How far a chain of records that point at one another is followed.
const MAX_ROUNDS: usize = 16;

/// What `refs=` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refs {
    /// What would point at nothing is listed.
    #[default]
    Report,
    /// What others point at stays: of an apply, a change and an import item by item, of all else the command is refused.
    Block,
}

/// What a plan takes away.
#[derive(Debug, Default)]
pub(super) struct Losses {
    names: BTreeSet<Name>,
    /// Names below which all may have changed: those of a wildcard, a DNAME or a zone that goes.
    tops: BTreeSet<Name>,
}

impl Losses {
    pub(super) fn of(plan: &Plan) -> Losses {
        let mut losses = Losses::default();
        let is_held = |claim: &Option<Claim>| claim.as_ref().is_some_and(Claim::is_held);
        for change in plan.claims.iter().filter(|change| is_held(&change.before) && !is_held(&change.after)) {
            let one = change.either();
            if one.name.is_wildcard() {
                losses.tops.extend(one.name.parent());
            }
            if one.rtype == Rtype::DNAME {
                losses.tops.insert(one.name.clone());
            }
            losses.names.insert(one.name.clone());
        }
        for change in &plan.zones {
            match change {
                ZoneChange::Deleted(zone) => {
                    losses.names.insert(zone.name.clone());
                    losses.tops.insert(zone.name.clone());
                }
                ZoneChange::Created(_) | ZoneChange::Updated(_) => {}
            }
        }
        losses
    }

    fn has(&self, name: &Name) -> bool {
        self.names.contains(name) || name.ancestors().skip(1).any(|above| self.tops.contains(&above))
    }
}

/// What a plan leaves pointing at nothing: one row for each record set and target.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) rows: Vec<Dangling>,
    /// Whether there are more than these.
    pub(super) more: bool,
}

/// Looks for what a plan leaves pointing at nothing. `before` is what is published, `after` what would be.
pub(super) async fn find(
    writer: &mut Writer,
    (before, after): (&Snapshot, &Snapshot),
    plan: &Plan,
) -> Result<Found, StoreError> {
    let losses = Losses::of(plan);
    let mut found = Found::default();
    if losses.names.is_empty() {
        return Ok(found);
    }
    let mut judge = Judge { before, after, scratch: HashedName::empty() };
    let gone = gone_zones(plan);
    let mut seen = HashSet::new();
    let (mut names, mut tops): (Vec<Name>, Vec<Name>) =
        (losses.names.iter().cloned().collect(), losses.tops.iter().cloned().collect());
    for round in 0..MAX_ROUNDS {
        let stored = writer.references(&names, &tops, MAX_CANDIDATES).await?;
        found.more |= stored.len() >= MAX_CANDIDATES as usize;
        let stored = stored.into_iter().filter(|one| !gone.contains(&one.apex) && stands(plan, one)).map(row);
        let is_wanted = |target: &Name| {
            if round == 0 { losses.has(target) } else { names.contains(target) }
        };
        let mut next = Vec::new();
        for one in stored.chain(written(plan, &is_wanted)) {
            // What points at a record that points at nothing now does so, too.
            let dangles = round > 0 || judge.dangles(&one.target, one.rtype);
            if !dangles
                || !seen.insert((
                    one.zone.clone(),
                    one.name.clone(),
                    one.rtype,
                    one.set_id.clone(),
                    one.owner.clone(),
                    one.target.clone(),
                ))
            {
                continue;
            }
            if matches!(one.rtype, Rtype::CNAME | Rtype::ALIAS) && !judge.has_addresses(&one.name) {
                next.push(one.name.clone());
            }
            if found.rows.len() >= MAX_DANGLING {
                found.more = true;
                return Ok(found);
            }
            found.rows.push(one);
        }
        if next.is_empty() {
            break;
        }
        (names, tops) = (next, Vec::new());
    }
    Ok(found)
}

fn gone_zones(plan: &Plan) -> HashSet<Name> {
    let gone = plan.zones.iter().filter_map(|change| match change {
        ZoneChange::Deleted(zone) => Some(zone.name.clone()),
        ZoneChange::Created(_) | ZoneChange::Updated(_) => None,
    });
    gone.collect()
}

/// Whether a stored reference is there after the plan; what the plan did not read it did not change.
fn stands(plan: &Plan, one: &Reference) -> bool {
    let key = NameKey { zone: one.zone, name: one.name.clone() };
    let Some(claims) = plan.ledger.claims.get(&key) else { return true };
    let is_it = |claim: &&Claim| claim.owner == one.owner && claim.rtype == one.rtype && claim.set_id == one.set_id;
    claims.iter().find(is_it).is_some_and(|claim| claim.is_held() && targets(claim).contains(&one.target))
}

fn row(one: Reference) -> Dangling {
    let Reference { target, apex, name, rtype, owner_id, set_id, .. } = one;
    Dangling { zone: apex, name, rtype, set_id, owner: owner_id, target }
}

/// References that the plan itself writes.
fn written(plan: &Plan, is_wanted: &impl Fn(&Name) -> bool) -> Vec<Dangling> {
    let new = plan.claims.iter().filter_map(|change| change.after.as_ref()).filter(|claim| claim.is_held());
    let mut rows = Vec::new();
    for claim in new {
        let Some(zone) = plan.ledger.zones.get(&claim.zone) else { continue };
        for target in targets(claim).into_iter().filter(is_wanted) {
            rows.push(Dangling {
                zone: zone.name.clone(),
                name: claim.name.clone(),
                rtype: claim.rtype,
                set_id: claim.set_id.clone(),
                owner: claim.owner_id.clone(),
                target,
            });
        }
    }
    rows
}

struct Judge<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    scratch: HashedName,
}

impl Judge<'_> {
    /// Whether a reference of this type led somewhere before, and does not now.
    fn dangles(&mut self, target: &Name, rtype: Rtype) -> bool {
        reaches(self.before, target, rtype, &mut self.scratch) && !reaches(self.after, target, rtype, &mut self.scratch)
    }

    fn has_addresses(&self, name: &Name) -> bool {
        let zone = self.after.zone_of(name);
        let node = zone.and_then(|zone| zone.node(name));
        node.is_some_and(|node| [Rtype::A, Rtype::AAAA].into_iter().any(|rtype| node.rrset(rtype).is_some()))
    }
}

/// Whether a name here has what a record of this type points at it for: a CNAME any data, all others addresses or what
/// leads to them. What is delegated is taken to be there, but not for an NS, which needs its glue here.
fn reaches(snapshot: &Snapshot, target: &Name, rtype: Rtype, scratch: &mut HashedName) -> bool {
    let Some(zone) = snapshot.zone_of(target) else { return false };
    let serves = |node: &Node| match rtype {
        Rtype::CNAME => !node.is_empty(),
        _ => [Rtype::A, Rtype::AAAA, Rtype::CNAME, Rtype::ALIAS].into_iter().any(|one| node.rrset(one).is_some()),
    };
    if zone.node(target).is_some_and(serves) {
        return true;
    }
    scratch.load(snapshot.key(), target.as_wire());
    match zone.lookup(scratch, false) {
        Lookup::Exact(node) | Lookup::Wildcard(node) => serves(node),
        Lookup::Dname(_) => true,
        Lookup::Cut(_) => rtype != Rtype::NS,
        Lookup::NoName => false,
    }
}

/// Names that stay because others point at them, each with why.
pub(super) type Kept = HashMap<Name, Problem>;

/// Adds the names that a plan takes away and others point at to those that stay. False if there are no new ones, or the
/// command cannot do without a part of it: then it is refused as a whole.
pub(super) fn keep(kept: &mut Kept, command: &Command, plan: &Plan, found: &Found) -> bool {
    match command {
        Command::Apply(_) | Command::Change(_) | Command::ImportZone(_) | Command::ChangeEndpoints(_) => {}
        Command::CreateZone(_)
        | Command::UpdateZone(_)
        | Command::DeleteZone(_)
        | Command::Revert(_)
        | Command::AdjustEndpoints(_)
        | Command::PutOwner(_)
        | Command::DeleteOwner(_)
        | Command::Transfer(_)
        | Command::DecideHold(_)
        | Command::RenewLeases(_)
        | Command::EndLease(_)
        | Command::Purge(_)
        | Command::Sweep(_)
        | Command::UndoSweep(_)
        | Command::OpenZone(_)
        | Command::ShowZone(_)
        | Command::Patch(_)
        | Command::Lapse(_)
        | Command::CreateToken(_)
        | Command::DeleteToken(_) => return false,
    }
    let losses = Losses::of(plan);
    let before = kept.len();
    for name in &losses.names {
        let is_meant = |one: &&Dangling| {
            one.target == *name
                || (name.is_wildcard() && name.parent().is_some_and(|parent| one.target.is_at_or_below(&parent)))
                || (losses.tops.contains(name) && one.target.is_at_or_below(name))
        };
        let pointing: Vec<&Dangling> = found.rows.iter().filter(is_meant).collect();
        if !pointing.is_empty() {
            kept.insert(name.clone(), problem(&pointing, found.more));
        }
    }
    kept.len() > before
}

/// Why something stays that others point at.
pub(super) fn problem(pointing: &[&Dangling], more: bool) -> Problem {
    let first = pointing.first().map_or_else(String::new, |one| {
        format!("{} {} of {} points at {}", one.name, one.rtype, one.owner, one.target)
    });
    let others = match (pointing.len().saturating_sub(1), more) {
        (0, false) => String::new(),
        (count, false) => format!(", and {count} more like it"),
        (_, true) => ", and many more like it".to_owned(),
    };
    let detail = format!("{first}{others}: change those first, or leave out refs=block");
    Problem::new(Code::ReferencedBy, detail)
}
