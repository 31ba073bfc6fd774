//! The naive model that plans are held against: written by itself, slow, and plain.

use std::collections::{BTreeMap, BTreeSet};

use tenured::ledger::lease::OnExpiry;
use tenured::ledger::sweep::SweepMode;
use tenured::wire::codes::Rtype;

use crate::steps::{Asked, NAMES, Served, Step, name, owner_id, wish};

/// The model: a flat list, and each rule as a sentence over it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    claims: Vec<ModelClaim>,
    /// Owners that are there.
    owners: BTreeSet<u8>,
    /// By owner, the one above it.
    parents: BTreeMap<u8, u8>,
    /// When an owner was last deleted, unless it was brought back from that.
    deleted: BTreeMap<u8, u64>,
    leases: BTreeMap<u8, (OnExpiry, Stage)>,
    sweeps: Vec<ModelSweep>,
    clock: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Held,
    Waits,
    /// In quarantine; by the sweep of this time, and untouched since.
    Aside(Option<u64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    Expired,
    Settled,
}

#[derive(Clone, Debug)]
struct ModelClaim {
    owner: u8,
    asked: Asked,
    state: State,
    since: u64,
}

#[derive(Clone, Debug)]
struct ModelSweep {
    at: u64,
    top: u8,
    mode: SweepMode,
    is_undone: bool,
    /// Each with the owner above it and its lease.
    owners: Vec<(u8, u8, Option<OnExpiry>)>,
    claims: Vec<ModelClaim>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fits,
    Waits,
    Refused,
}

impl Model {
    pub(crate) fn step(&mut self, step: &Step) {
        self.clock += 1;
        let before = self.claims.clone();
        match step {
            Step::Apply { owner, asked, queue } => {
                self.lives(*owner);
                let is_listed = |one: &Asked| asked.iter().any(|wish| (wish.name, wish.rtype) == (one.name, one.rtype));
                let is_aside = |one: &ModelClaim| matches!(one.state, State::Aside(_));
                self.claims.retain(|one| one.owner != *owner || is_listed(&one.asked) || is_aside(one));
                let hides = |one: &Asked| matches!(one.rtype, Rtype::NS | Rtype::DNAME);
                let mut order: Vec<&Asked> = asked.iter().collect();
                order.sort_by_key(|one| if hides(one) { name(one.name).label_count() } else { usize::MAX });
                for one in order {
                    self.write(*owner, one, *queue);
                }
            }
            Step::Put { owner, asked, queue } => {
                self.lives(*owner);
                self.write(*owner, asked, *queue);
            }
            Step::Delete { owner, name, rtype } => {
                if self.owners.contains(owner) {
                    self.lives(*owner);
                }
                self.claims.retain(|one| (one.owner, one.asked.name, one.asked.rtype) != (*owner, *name, *rtype));
            }
            Step::Quarantine { owner, name, rtype } => {
                if self.owners.contains(owner) {
                    self.lives(*owner);
                }
                for one in &mut self.claims {
                    if (one.owner, one.asked.name, one.asked.rtype) == (*owner, *name, *rtype) {
                        put_aside(one, None);
                    }
                }
            }
            Step::DeleteOwner { owner } => {
                let gone = self.tree(*owner);
                self.claims.retain(|one| !gone.contains(&one.owner));
                gone.into_iter().for_each(|owner| self.delete(owner));
            }
            Step::Move { owner, parent } => {
                self.lives(*owner);
                self.owners.insert(*parent);
                self.parents.insert(*owner, *parent);
            }
            Step::Transfer { from, to, name } => {
                let moving = |one: &&mut ModelClaim| one.owner == *from && one.asked.name == *name;
                let mut some = false;
                for one in self.claims.iter_mut().filter(moving) {
                    some = true;
                    one.owner = *to;
                    if matches!(one.state, State::Aside(_)) {
                        one.state = State::Aside(None);
                    }
                }
                if some {
                    self.lives(*to);
                }
            }
            Step::Lease { owner, policy } => {
                self.owners.insert(*owner);
                self.leases.insert(*owner, (*policy, Stage::Running));
            }
            Step::Expire { owner } => {
                if let Some((_, stage @ Stage::Running)) = self.leases.get_mut(owner) {
                    *stage = Stage::Expired;
                }
            }
            Step::RunPolicy { owner } => self.run_policy(*owner),
            Step::Sweep { top, live, mode } => self.sweep(*top, live, *mode),
            Step::Undo { back } => self.undo(self.sweeps.len() - 1 - back),
        }
        // Where a holder let go or changed, who waits moves up.
        for at in 0..NAMES.len() {
            let held = |claims: &[ModelClaim]| -> Vec<(u8, Asked)> {
                let here = claims.iter().filter(|one| one.state == State::Held && one.asked.name == at);
                here.map(|one| (one.owner, one.asked.clone())).collect()
            };
            let now = held(&self.claims);
            if !matches!(step, Step::Transfer { .. }) && held(&before).iter().any(|old| !now.contains(old)) {
                self.promote(at);
            }
        }
    }

    /// An owner that writes is there, and its lease runs anew.
    fn lives(&mut self, owner: u8) {
        self.owners.insert(owner);
        if let Some((_, stage)) = self.leases.get_mut(&owner) {
            *stage = Stage::Running;
        }
    }

    fn delete(&mut self, owner: u8) {
        if self.owners.remove(&owner) {
            self.deleted.insert(owner, self.clock);
        }
        self.parents.remove(&owner);
        self.leases.remove(&owner);
    }

    fn run_policy(&mut self, top: u8) {
        let Some((policy, stage @ Stage::Expired)) = self.leases.get_mut(&top) else { return };
        *stage = Stage::Settled;
        let policy = *policy;
        // Who has a lease of its own, or stands below such a one, does not live by this one.
        let lives_by_it = |owner: &u8| {
            let mut chain = std::iter::successors(Some(*owner), |one| self.parents.get(one).copied());
            chain.by_ref().take_while(|one| *one != top).all(|one| !self.leases.contains_key(&one))
        };
        let covered: Vec<u8> = self.tree(top).into_iter().filter(|owner| *owner == top || lives_by_it(owner)).collect();
        match policy {
            OnExpiry::Report => {}
            OnExpiry::Quarantine => {
                self.claims.iter_mut().filter(|one| covered.contains(&one.owner)).for_each(|one| put_aside(one, None));
            }
            OnExpiry::Delete => {
                self.claims.retain(|one| !covered.contains(&one.owner));
                let keeps = |owner: &u8| self.tree(*owner).iter().any(|below| !covered.contains(below));
                let gone: Vec<u8> = covered.iter().copied().filter(|owner| !keeps(owner)).collect();
                gone.into_iter().for_each(|owner| self.delete(owner));
            }
        }
    }

    fn sweep(&mut self, top: u8, live: &[u8], mode: SweepMode) {
        let is_alive = |owner: &u8| self.tree(*owner).iter().any(|below| live.contains(below));
        let found: Vec<u8> = self.tree(top).into_iter().filter(|owner| *owner != top && !is_alive(owner)).collect();
        let at = self.clock;
        let policy = |owner: &u8| self.leases.get(owner).map(|(policy, _)| *policy);
        let owners = found.iter().map(|owner| (*owner, self.parents[owner], policy(owner))).collect();
        let mut claims: Vec<ModelClaim> =
            self.claims.iter().filter(|one| found.contains(&one.owner)).cloned().collect();
        match mode {
            SweepMode::Report => claims.clear(),
            SweepMode::Quarantine => {
                claims.retain(|one| !matches!(one.state, State::Aside(_)));
                self.claims
                    .iter_mut()
                    .filter(|one| found.contains(&one.owner))
                    .for_each(|one| put_aside(one, Some(at)));
            }
            SweepMode::Delete => {
                self.claims.retain(|one| !found.contains(&one.owner));
                found.into_iter().for_each(|owner| self.delete(owner));
            }
        }
        self.sweeps.push(ModelSweep { at, top, mode, is_undone: false, owners, claims });
    }

    fn undo(&mut self, at: usize) {
        let swept = self.sweeps[at].clone();
        if swept.is_undone || swept.mode == SweepMode::Report {
            return;
        }
        let mut is_whole = true;
        let mut claims = swept.claims.clone();
        for above in self.order(&swept) {
            let (owner, parent, lease) = above;
            let is_there = self.owners.contains(&owner);
            let is_untouched =
                swept.mode == SweepMode::Quarantine && self.deleted.get(&owner).is_none_or(|at| *at < swept.at);
            if !(is_there && is_untouched) && self.deleted.get(&owner).is_some_and(|at| *at > swept.at) {
                // It was deleted once more; that is for good.
                is_whole &= !claims.iter().any(|one| one.owner == owner);
                claims.retain(|one| one.owner != owner);
                continue;
            }
            if !is_there {
                let parent = if self.owners.contains(&parent) { parent } else { swept.top };
                self.owners.extend([owner, parent]);
                self.parents.insert(owner, parent);
                if let Some(policy) = lease {
                    self.leases.insert(owner, (policy, Stage::Running));
                }
            }
            if swept.mode == SweepMode::Delete {
                self.deleted.remove(&owner);
            }
        }
        let hides = |one: &ModelClaim| matches!(one.asked.rtype, Rtype::NS | Rtype::DNAME);
        claims.sort_by_key(|one| {
            let depth = if hides(one) { name(one.asked.name).label_count() } else { usize::MAX };
            (one.state != State::Held, if one.state == State::Waits { one.since } else { 0 }, depth, one.asked.rtype)
        });
        for old in claims {
            let place = self.claims.iter().position(|one| key(one) == key(&old));
            let is_back = match (swept.mode, place) {
                (SweepMode::Delete, place) => place.is_none(),
                (_, Some(place)) => self.claims[place].state == State::Aside(Some(swept.at)),
                (_, None) => false,
            };
            if !is_back {
                continue;
            }
            let verdict = self.judge(old.owner, &old.asked, true);
            let state = match (old.state, verdict) {
                (State::Aside(_), _) => State::Aside(None),
                (_, Verdict::Fits) => State::Held,
                (State::Waits, Verdict::Waits) => State::Waits,
                (_, Verdict::Waits | Verdict::Refused) => {
                    is_whole = false;
                    continue;
                }
            };
            let back = ModelClaim { state, ..old };
            match place {
                Some(place) => self.claims[place] = back,
                None => self.claims.push(back),
            }
        }
        self.sweeps[at].is_undone = is_whole;
    }

    /// Owners of a sweep, each after the one above it.
    fn order(&self, swept: &ModelSweep) -> Vec<(u8, u8, Option<OnExpiry>)> {
        let mut order: Vec<(u8, u8, Option<OnExpiry>)> = Vec::new();
        while order.len() < swept.owners.len() {
            let is_placed =
                |owner: u8| order.iter().any(|one| one.0 == owner) || !swept.owners.iter().any(|one| one.0 == owner);
            let next = swept.owners.iter().find(|one| !order.iter().any(|done| done.0 == one.0) && is_placed(one.1));
            order.push(*next.expect("a forest has an order"));
        }
        order
    }

    /// An owner and all below it.
    pub(crate) fn tree(&self, top: u8) -> Vec<u8> {
        let is_below = |owner: &u8| {
            std::iter::successors(Some(*owner), |one| self.parents.get(one).copied()).any(|one| one == top)
        };
        (0..4_u8).filter(is_below).collect()
    }

    /// Steps that the model says nothing of: two claims of one record set that become one, and an undoing when there
    /// was no sweep.
    pub(crate) fn leaves_out(&self, step: &Step) -> bool {
        match step {
            Step::Transfer { from, to, name } => {
                let at = |owner: u8| {
                    let own = self.claims.iter().filter(move |one| one.owner == owner && one.asked.name == *name);
                    own.map(|one| one.asked.rtype)
                };
                at(*from).any(|rtype| at(*to).any(|other| other == rtype))
            }
            Step::Undo { back } => *back >= self.sweeps.len(),
            Step::Apply { .. }
            | Step::Put { .. }
            | Step::Delete { .. }
            | Step::Quarantine { .. }
            | Step::DeleteOwner { .. }
            | Step::Move { .. }
            | Step::Lease { .. }
            | Step::Expire { .. }
            | Step::RunPolicy { .. }
            | Step::Sweep { .. } => false,
        }
    }

    /// Whether a step is refused as a whole: it would put an owner below itself, or what it names is not there.
    pub(crate) fn refuses(&self, step: &Step) -> bool {
        match step {
            Step::Move { owner, parent } => self.tree(*owner).contains(parent),
            Step::Transfer { from, to, .. } => from == to || !self.owners.contains(from),
            Step::Sweep { top, .. } => !self.owners.contains(top),
            Step::Apply { .. } | Step::Put { .. } | Step::Delete { .. } => false,
            Step::Quarantine { .. } | Step::DeleteOwner { .. } | Step::Undo { .. } => false,
            Step::Lease { .. } | Step::Expire { .. } | Step::RunPolicy { .. } => false,
        }
    }

    fn promote(&mut self, at: usize) {
        let is_waiting = |one: &&ModelClaim| one.state == State::Waits && one.asked.name == at;
        let mut waiting: Vec<ModelClaim> = self.claims.iter().filter(is_waiting).cloned().collect();
        waiting.sort_by_key(|one| (one.since, one.asked.rtype));
        for one in waiting {
            if self.judge(one.owner, &one.asked, true) == Verdict::Fits {
                self.entry(one.owner, &one.asked).expect("it waits").state = State::Held;
            }
        }
    }

    fn entry(&mut self, owner: u8, asked: &Asked) -> Option<&mut ModelClaim> {
        self.claims.iter_mut().find(|one| key(one) == (owner, asked.name, asked.rtype))
    }

    fn write(&mut self, owner: u8, asked: &Asked, queue: bool) {
        if self.entry(owner, asked).is_some_and(|old| old.state == State::Held && old.asked == *asked) {
            return;
        }
        let state = match self.judge(owner, asked, queue) {
            Verdict::Refused => return,
            Verdict::Fits => State::Held,
            Verdict::Waits => State::Waits,
        };
        let since = self.clock;
        match self.entry(owner, asked) {
            Some(old) if old.state == State::Held && state == State::Waits => {}
            Some(old) => {
                if matches!(old.state, State::Aside(_)) {
                    old.since = since;
                }
                (old.asked, old.state) = (asked.clone(), state);
            }
            None => self.claims.push(ModelClaim { owner, asked: asked.clone(), state, since }),
        }
    }

    fn judge(&self, owner: u8, asked: &Asked, queue: bool) -> Verdict {
        let is_self = |one: &&ModelClaim| key(one) == (owner, asked.name, asked.rtype);
        let is_held = |one: &&ModelClaim| one.state == State::Held;
        let held: Vec<&ModelClaim> = self.claims.iter().filter(|one| is_held(one) && !is_self(one)).collect();
        let here: Vec<&&ModelClaim> = held.iter().filter(|one| one.asked.name == asked.name).collect();
        let me = name(asked.name);
        let above = |one: &&&ModelClaim| one.asked.name != asked.name && me.is_at_or_below(&name(one.asked.name));
        let below = |one: &&&ModelClaim| one.asked.name != asked.name && name(one.asked.name).is_at_or_below(&me);
        let address = |one: &Asked| one.rtype == Rtype::A;
        let hidden_by_dname = held.iter().filter(above).any(|one| one.asked.rtype == Rtype::DNAME);
        let hidden_by_cut = held.iter().filter(above).any(|one| one.asked.rtype == Rtype::NS) && !address(asked);
        let at_cut = here.iter().any(|one| one.asked.rtype == Rtype::NS) && !address(asked) && asked.rtype != Rtype::NS;
        let hides = match asked.rtype {
            Rtype::DNAME => held.iter().any(|one| below(&one)),
            Rtype::NS => {
                held.iter().filter(below).any(|one| !address(&one.asked))
                    || here.iter().any(|one| !address(&one.asked) && one.asked.rtype != Rtype::NS)
            }
            _ => false,
        };
        if hidden_by_dname || hidden_by_cut || at_cut || hides {
            return Verdict::Refused;
        }
        // The SOA of the apex never goes, and one's own claim does not go by waiting.
        if (asked.name == 0 && asked.rtype == Rtype::CNAME)
            || here.iter().any(|one| one.owner == owner && clashes(asked, owner, one))
        {
            return Verdict::Refused;
        }
        if here.iter().any(|one| clashes(asked, owner, one)) {
            return if queue { Verdict::Waits } else { Verdict::Refused };
        }
        Verdict::Fits
    }

    pub(crate) fn served(&self) -> Served {
        let text = |one: &ModelClaim| {
            let wish = wish(&one.asked);
            (one.asked.name, one.asked.rtype, owner_id(one.owner).to_string(), wish.records[0].clone())
        };
        self.claims.iter().filter(|one| one.state == State::Held).map(text).collect()
    }
}

fn key(one: &ModelClaim) -> (u8, usize, Rtype) {
    (one.owner, one.asked.name, one.asked.rtype)
}

/// Puts a claim into quarantine; one that is there stays as it is.
fn put_aside(one: &mut ModelClaim, by: Option<u64>) {
    if !matches!(one.state, State::Aside(_)) {
        one.state = State::Aside(by);
    }
}

/// Whether two claims at one name cannot both be held.
fn clashes(asked: &Asked, owner: u8, other: &ModelClaim) -> bool {
    let pair = [asked.rtype, other.asked.rtype];
    if pair[0] == pair[1] {
        return other.owner != owner && !(asked.share && other.asked.share);
    }
    pair.contains(&Rtype::CNAME) || (pair.contains(&Rtype::ALIAS) && pair.contains(&Rtype::A))
}
