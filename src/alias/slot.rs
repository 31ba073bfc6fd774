//! All that the engine keeps of one target. Pure.

use std::sync::Arc;

use super::probe::{Due, Probe, Sibling};
use crate::zone::alias::{AliasEntry, AliasState, Family, FamilyAnswer, Moment, RecordState};
use crate::zone::policy::Hold;

/// How long a target counts as asked for, at least, in seconds.
const ASKED_FOR: u32 = 60;

/// What a record wants of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// Who holds the record, by the number in the store.
    pub owner: u32,
    /// How long addresses are held.
    pub hold: Hold,
}

/// How it stands with a target, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStatus {
    /// What is published.
    pub entry: Arc<AliasEntry>,
    /// How many ALIAS records lead to it.
    pub records: u32,
    /// The lookups of A.
    pub a: ProbeStatus,
    /// The lookups of AAAA.
    pub aaaa: ProbeStatus,
}

/// How it stands with the lookups of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeStatus {
    /// When it is asked next; none while a lookup is in flight, or while it waits for its turn.
    pub next_refresh: Option<Moment>,
    /// How long the last lookup took, in milliseconds.
    pub took: Option<u32>,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) entry: Arc<AliasEntry>,
    pub(super) probes: [Probe; 2],
    /// What records want, those of the oldest first, each with how many want it.
    pub(super) wants: Vec<(Want, u32)>,
    pub(super) interest: Interest,
    /// When it is forgotten, while no record leads to it.
    pub(super) forget: Option<Moment>,
    /// The state that was told last.
    pub(super) told: RecordState,
}

/// For whom a target is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Records lead to it.
    Records,
    /// Queries asked for it.
    Queries,
    /// Nobody: it is not asked any more, and soon forgotten.
    Nobody,
}

impl Slot {
    pub(super) fn new(entry: Arc<AliasEntry>) -> Slot {
        let told = entry.state();
        let (probes, wants) = (Default::default(), Vec::new());
        Slot { entry, probes, wants, interest: Interest::Nobody, forget: None, told }
    }

    pub(super) fn records(&self) -> u32 {
        self.wants.iter().map(|(_, count)| count).sum()
    }

    /// Who pays for its lookups: the owner of the oldest record.
    pub(super) fn owner(&self) -> u32 {
        self.wants.first().map_or(0, |(want, _)| want.owner)
    }

    pub(super) fn want(&mut self, want: Want) {
        match self.wants.iter_mut().find(|(one, _)| *one == want) {
            Some((_, count)) => *count += 1,
            None => {
                // One is what most have.
                self.wants.reserve_exact(1);
                self.wants.push((want, 1));
            }
        }
    }

    pub(super) fn let_go(&mut self, want: Want) {
        let Some(at) = self.wants.iter().position(|(one, _)| *one == want) else { return };
        self.wants[at].1 -= 1;
        if self.wants[at].1 == 0 {
            self.wants.remove(at);
        }
    }

    /// When the last good answer of a family expires for the first of the records.
    pub(super) fn expires(&self, family: Family) -> Moment {
        let answer = self.entry.family(family);
        let first = self.wants.iter().map(|(want, _)| answer.expires(want.hold)).min();
        first.unwrap_or_else(|| answer.expires(Hold::default()))
    }

    /// `T̂` in seconds, for the record that holds the longest.
    pub(super) fn longest_hold(&self, family: Family) -> u32 {
        let answer = self.entry.family(family);
        let longest = self.wants.iter().map(|(want, _)| answer.longest_hold(want.hold)).max();
        longest.unwrap_or_else(|| answer.longest_hold(Hold::default()))
    }

    /// Whether queries ask for a family these days.
    pub(super) fn is_hot(&self, family: Family, now: Moment) -> bool {
        let within = self.longest_hold(family).saturating_mul(3).max(ASKED_FOR);
        self.entry.asked.at(family).is_some_and(|asked| asked.plus_seconds(within.saturating_add(1)) > now)
    }

    /// Changes a family and what is published of it.
    pub(super) fn change<R>(&mut self, family: Family, change: impl FnOnce(&mut Probe, &mut FamilyAnswer) -> R) -> R {
        change(&mut self.probes[at(family)], Arc::make_mut(&mut self.entry).family_mut(family))
    }

    /// How the other family sees this one.
    pub(super) fn sibling(&self, family: Family) -> Sibling {
        let answer = self.entry.family(family);
        Sibling { state: answer.state, checked: answer.checked, in_flight: self.probes[at(family)].flight.is_some() }
    }

    /// Whether something is being found out, so that the state as a whole is not what it will be in a moment.
    pub(super) fn is_unsettled(&self) -> bool {
        Family::BOTH
            .iter()
            .any(|family| matches!(self.entry.family(*family).state, AliasState::Pending | AliasState::Suspect))
    }

    /// Whether a lookup is on its way, or begins as soon as its turn comes.
    pub(super) fn is_being_asked(&self) -> bool {
        self.probes.iter().any(|probe| probe.flight.is_some() || matches!(probe.due, Some(Due::Pending(_))))
    }

    pub(super) fn takeover_risk(&self) -> bool {
        self.entry.takeover_risk()
    }

    pub(super) fn status(&self) -> TargetStatus {
        let probe = |family: Family| {
            let probe = &self.probes[at(family)];
            ProbeStatus { next_refresh: probe.due.and_then(Due::at), took: probe.took }
        };
        TargetStatus {
            entry: self.entry.clone(),
            records: self.records(),
            a: probe(Family::A),
            aaaa: probe(Family::Aaaa),
        }
    }
}

impl Due {
    /// When, if that is not a matter of turns.
    pub(super) fn at(self) -> Option<Moment> {
        match self {
            Due::Pending(_) => None,
            Due::Refresh(at) | Due::Probe(at) => Some(at),
        }
    }

    /// What is pending is due whatever the clock says.
    pub(super) fn is_reached(self, now: Moment) -> bool {
        self.at().is_none_or(|at| at <= now)
    }
}

/// The place of a family among a slot's probes.
pub(super) fn at(family: Family) -> usize {
    match family {
        Family::A => 0,
        Family::Aaaa => 1,
    }
}
