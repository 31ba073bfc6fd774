//! The naive model that plans are held against: written by itself, slow, and plain.

use std::collections::BTreeMap;

use tenured::wire::codes::Rtype;

use crate::steps::{Asked, NAMES, Served, Step, name, owner_id, wish};

/// The model: a flat list, and each rule as a sentence over it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    claims: Vec<ModelClaim>,
    /// By owner, the one above it.
    parents: BTreeMap<u8, u8>,
    clock: u64,
}

#[derive(Clone, Debug)]
struct ModelClaim {
    owner: u8,
    asked: Asked,
    held: bool,
    since: u64,
}

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
                let is_listed = |one: &Asked| asked.iter().any(|wish| (wish.name, wish.rtype) == (one.name, one.rtype));
                self.claims.retain(|one| one.owner != *owner || is_listed(&one.asked));
                let hides = |one: &Asked| matches!(one.rtype, Rtype::NS | Rtype::DNAME);
                let mut order: Vec<&Asked> = asked.iter().collect();
                order.sort_by_key(|one| if hides(one) { name(one.name).label_count() } else { usize::MAX });
                for one in order {
                    self.write(*owner, one, *queue);
                }
            }
            Step::Put { owner, asked, queue } => self.write(*owner, asked, *queue),
            // What is in quarantine is as if it were not there.
            Step::Delete { owner, name, rtype } | Step::Quarantine { owner, name, rtype } => {
                self.claims.retain(|one| (one.owner, one.asked.name, one.asked.rtype) != (*owner, *name, *rtype));
            }
            Step::DeleteOwner { owner } => {
                let gone = self.tree(*owner);
                self.claims.retain(|one| !gone.contains(&one.owner));
                self.parents.retain(|owner, _| !gone.contains(owner));
            }
            Step::Move { owner, parent } => {
                self.parents.insert(*owner, *parent);
            }
        }
        // Where a holder let go or changed, who waits moves up.
        for at in 0..NAMES.len() {
            let held = |claims: &[ModelClaim]| -> Vec<(u8, Asked)> {
                let here = claims.iter().filter(|one| one.held && one.asked.name == at);
                here.map(|one| (one.owner, one.asked.clone())).collect()
            };
            let now = held(&self.claims);
            if held(&before).iter().any(|old| !now.contains(old)) {
                self.promote(at);
            }
        }
    }

    /// An owner and all below it.
    pub(crate) fn tree(&self, top: u8) -> Vec<u8> {
        let is_below = |owner: &u8| {
            std::iter::successors(Some(*owner), |one| self.parents.get(one).copied()).any(|one| one == top)
        };
        (0..4_u8).filter(is_below).collect()
    }

    /// Whether a step would put an owner below itself, which is refused as a whole.
    pub(crate) fn refuses(&self, step: &Step) -> bool {
        match step {
            Step::Move { owner, parent } => self.tree(*owner).contains(parent),
            Step::Apply { .. } | Step::Put { .. } | Step::Delete { .. } => false,
            Step::Quarantine { .. } | Step::DeleteOwner { .. } => false,
        }
    }

    fn promote(&mut self, at: usize) {
        let mut waiting: Vec<ModelClaim> =
            self.claims.iter().filter(|one| !one.held && one.asked.name == at).cloned().collect();
        waiting.sort_by_key(|one| (one.since, one.asked.rtype));
        for one in waiting {
            if matches!(self.judge(one.owner, &one.asked, true), Verdict::Fits) {
                self.entry(one.owner, &one.asked).expect("it waits").held = true;
            }
        }
    }

    fn entry(&mut self, owner: u8, asked: &Asked) -> Option<&mut ModelClaim> {
        let key = (owner, asked.name, asked.rtype);
        self.claims.iter_mut().find(|one| (one.owner, one.asked.name, one.asked.rtype) == key)
    }

    fn write(&mut self, owner: u8, asked: &Asked, queue: bool) {
        if self.entry(owner, asked).is_some_and(|old| old.held && old.asked == *asked) {
            return;
        }
        let verdict = self.judge(owner, asked, queue);
        let since = self.clock;
        match (verdict, self.entry(owner, asked)) {
            (Verdict::Refused, _) => {}
            (Verdict::Waits, Some(old)) if old.held => {}
            (Verdict::Fits, Some(old)) => (old.asked, old.held) = (asked.clone(), true),
            (Verdict::Waits, Some(old)) => old.asked = asked.clone(),
            (verdict, None) => {
                let held = matches!(verdict, Verdict::Fits);
                self.claims.push(ModelClaim { owner, asked: asked.clone(), held, since });
            }
        }
    }

    fn judge(&self, owner: u8, asked: &Asked, queue: bool) -> Verdict {
        let is_self =
            |one: &&ModelClaim| (one.owner, one.asked.name, one.asked.rtype) == (owner, asked.name, asked.rtype);
        let held: Vec<&ModelClaim> = self.claims.iter().filter(|one| one.held && !is_self(one)).collect();
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
        self.claims.iter().filter(|one| one.held).map(text).collect()
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
