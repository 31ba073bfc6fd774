//! The ALIAS engine: which targets are asked when, and what is published of them. Pure: events and the time go in,
//! actions come out; chance comes from a seed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::addresses::Internal;
use super::lookup::{Answer, Failure, Lookup, Outcome, Report, Upstream};
use super::probe::{Again, Due, LastError, Next, Other, Probe, Sibling, Terms};
use crate::wire::name::Name;
use crate::zone::alias::{AliasBatch, AliasEntry, AliasState, Family, FamilyAnswer, Moment, TargetKey};

/// Most lookups in flight (alias.md section 3.6).
pub const MAX_IN_FLIGHT: usize = 4_096;
/// Most targets that are known from hints alone.
pub const MAX_HINTED: usize = 16_384;
/// Shortest time between two lookups of one entry, in milliseconds; confirmations of NXDOMAIN are exempt.
pub const SAME_ENTRY_APART: u64 = 2_000;
/// Shortest time between two batches, in milliseconds, unless one settles a Pending entry.
pub const BATCHES_APART: u64 = 50;
/// By how much the clock must go back, in milliseconds, for all targets to be asked anew.
pub const CLOCK_SET_BACK: u64 = 10_000;
/// Within how many milliseconds they then are.
const ASKED_ANEW_WITHIN: u64 = 60_000;
/// After how many seconds without ALIAS a target is forgotten.
pub const FORGET_AFTER: u32 = 60;

/// What the engine is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One more ALIAS record leads to this target.
    Wanted(TargetKey),
    /// One less does.
    Unwanted(TargetKey),
    /// A query asked for this target and found nothing of it, or nothing fresh.
    Hint(TargetKey),
    /// Somebody wants this target asked now.
    Refresh(TargetKey),
    /// A lookup is over.
    Done(Report),
}

/// What the engine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make this lookup and report.
    Lookup(Lookup),
    /// Put this into the next Snapshot.
    Publish(AliasBatch),
}

/// What the engine starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of upstreams.
    pub upstreams: usize,
    /// Most lookups in flight, [`MAX_IN_FLIGHT`] or less.
    pub in_flight: usize,
    /// Whether internal addresses are served.
    pub internal: Internal,
    /// Where chance begins.
    pub seed: u64,
}

/// What became of the wish to have a target asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// A lookup is scheduled.
    Accepted,
    /// One is in flight or scheduled already.
    Coalesced,
    /// There is no such target.
    Unknown,
}

/// How it stands with a target, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStatus {
    /// What is published.
    pub entry: Arc<AliasEntry>,
    /// How many ALIAS records lead to it.
    pub records: u32,
    /// The names that CNAMEs led to from the target in the last answer, that of A if it had any.
    pub chain: Vec<Name>,
    /// The lookups of A.
    pub a: ProbeStatus,
    /// The lookups of AAAA.
    pub aaaa: ProbeStatus,
}

/// How it stands with the lookups of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeStatus {
    /// When it is asked next; none while a lookup is in flight.
    pub next_refresh: Option<Moment>,
    /// What the last lookup brought, if it was no answer.
    pub last_error: Option<LastError>,
    /// Who answered last.
    pub upstream: Option<Upstream>,
}

/// The state machine; see the module.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    chance: u64,
    index: HashMap<TargetKey, u32>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Families to ask: those of which nothing is known first, then by time.
    due: BTreeSet<(Due, u32, Family)>,
    /// Targets to forget.
    forgets: BTreeSet<(Moment, u32)>,
    in_flight: usize,
    hinted: usize,
    next_ticket: u64,
    changed: BTreeSet<u32>,
    removed: Vec<TargetKey>,
    settled_pending: bool,
    published: Option<Moment>,
    /// The latest time seen.
    latest: Moment,
}

#[derive(Debug)]
struct Slot {
    entry: Arc<AliasEntry>,
    probes: [Probe; 2],
    records: u32,
    interest: Interest,
    /// When it is forgotten, while no record leads to it.
    forget: Option<Moment>,
}

/// For whom a target is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interest {
    /// Records lead to it.
    Records,
    /// Queries asked for it.
    Queries,
    /// Nobody: it is not asked any more, and soon forgotten.
    Nobody,
}

impl Engine {
    /// Knows no target.
    pub fn new(settings: Settings) -> Engine {
        Engine {
            settings,
            chance: settings.seed,
            index: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            due: BTreeSet::new(),
            forgets: BTreeSet::new(),
            in_flight: 0,
            hinted: 0,
            next_ticket: 0,
            changed: BTreeSet::new(),
            removed: Vec::new(),
            settled_pending: false,
            published: None,
            latest: Moment(0),
        }
    }

    /// Takes an event in. What follows from it is in the next [`Engine::actions`].
    pub fn step(&mut self, event: Event, now: Moment) {
        match event {
            Event::Wanted(target) => self.wanted(target, now),
            Event::Unwanted(target) => self.unwanted(&target, now),
            Event::Hint(target) => self.hint(target, now),
            Event::Refresh(target) => {
                self.refresh(&target, now);
            }
            Event::Done(report) => self.done(report, now),
        }
    }

    /// What is to be done by now, put behind what `out` has: lookups, then a batch.
    pub fn actions(&mut self, now: Moment, out: &mut Vec<Action>) {
        self.watch_clock(now);
        self.forget_unwanted(now);
        while self.in_flight < self.settings.in_flight
            && let Some(&(due, slot, family)) = self.due.first()
            && due.is_reached(now)
        {
            if self.settings.upstreams == 0 {
                self.due.remove(&(due, slot, family));
                self.no_resolver(slot, family, now);
            } else if let Some(lookup) = self.begin(due, slot, family, now) {
                out.push(Action::Lookup(lookup));
            }
        }
        if self.publishes_at().is_some_and(|at| at <= now) {
            out.push(Action::Publish(self.batch(now)));
        }
    }

    /// When [`Engine::actions`] has something to do next, if no event comes before.
    pub fn next_wakeup(&self) -> Option<Moment> {
        let asks =
            if self.in_flight < self.settings.in_flight { self.due.first().map(|(due, _, _)| due.at()) } else { None };
        let forgets = self.forgets.first().map(|(at, _)| *at);
        [asks, forgets, self.publishes_at()].into_iter().flatten().min()
    }

    /// Has a target asked now, as far as the time since its last lookup admits.
    pub fn refresh(&mut self, target: &TargetKey, now: Moment) -> Refreshed {
        let Some(&slot) = self.index.get(target) else { return Refreshed::Unknown };
        let mut refreshed = Refreshed::Coalesced;
        for family in Family::BOTH {
            let before = self.slot(slot).probes[at(family)].due;
            self.bring_forward(slot, family, Other::Soon, now);
            if self.slot(slot).probes[at(family)].due != before {
                refreshed = Refreshed::Accepted;
            }
        }
        refreshed
    }

    /// Number of targets.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no target.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// How it stands with a target.
    pub fn status(&self, target: &TargetKey) -> Option<TargetStatus> {
        self.index.get(target).map(|&slot| self.slot(slot).status())
    }

    /// How it stands with all targets, in no order.
    pub fn statuses(&self) -> impl Iterator<Item = TargetStatus> + '_ {
        self.slots.iter().flatten().map(Slot::status)
    }

    fn wanted(&mut self, target: TargetKey, now: Moment) {
        let slot = self.find_or_add(target, now);
        self.slot_mut(slot).records += 1;
        self.forget_at(slot, None);
        self.take_interest(slot, Interest::Records, now);
    }

    fn unwanted(&mut self, target: &TargetKey, now: Moment) {
        let Some(&slot) = self.index.get(target) else { return };
        let one = self.slot_mut(slot);
        one.records = one.records.saturating_sub(1);
        if one.records > 0 {
            return;
        }
        one.interest = Interest::Nobody;
        for family in Family::BOTH {
            self.schedule(slot, family, None);
        }
        self.forget_at(slot, Some(now.plus_seconds(FORGET_AFTER)));
    }

    /// Has a target asked again that nobody cared for any more.
    fn take_interest(&mut self, slot: u32, interest: Interest, now: Moment) {
        let before = std::mem::replace(&mut self.slot_mut(slot).interest, interest);
        if before != Interest::Nobody {
            return;
        }
        for family in Family::BOTH {
            let one = self.slot(slot);
            let answer = one.entry.family(family);
            let due = match answer.state {
                AliasState::Pending => Due::Pending(now),
                AliasState::Resolved | AliasState::NoData => Due::Refresh(answer.expires.max(now)),
                AliasState::Suspect
                | AliasState::TargetNxdomain
                | AliasState::Timeout
                | AliasState::ServFail
                | AliasState::Refused
                | AliasState::Network
                | AliasState::NoResolver
                | AliasState::Loop
                | AliasState::ChainTooLong
                | AliasState::Filtered => Due::Refresh(Moment(now.0.saturating_add(SAME_ENTRY_APART))),
            };
            if one.probes[at(family)].flight.is_none() {
                self.schedule(slot, family, Some(due));
            }
        }
    }

    fn hint(&mut self, target: TargetKey, now: Moment) {
        if !self.index.contains_key(&target) && self.hinted >= MAX_HINTED {
            return;
        }
        let slot = self.find_or_add(target, now);
        if self.slot(slot).records == 0 {
            self.forget_at(slot, Some(now.plus_seconds(FORGET_AFTER)));
            self.take_interest(slot, Interest::Queries, now);
        }
    }

    fn done(&mut self, report: Report, now: Moment) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Report { target, family, ticket, answer } = report;
        let Some(&slot) = self.index.get(&target) else { return };
        // A target that was forgotten and came back has another lookup in flight.
        if self.slot(slot).probes[at(family)].flight != Some(ticket) {
            return;
        }
        self.slot_mut(slot).probes[at(family)].flight = None;
        self.hear(slot, family, answer, now);
        let terms = self.slot(slot).sibling(family);
        let other = family.other();
        let next = self.slot_mut(slot).change(other, |probe, answer| probe.other_settled(answer, terms, now));
        if let Some(next) = next {
            self.follow(slot, other, next, now);
        }
    }

    fn hear(&mut self, slot: u32, family: Family, heard: Answer, now: Moment) {
        let terms = Terms { upstreams: self.settings.upstreams, internal: self.settings.internal };
        let sibling = self.slot(slot).sibling(family.other());
        let was_pending = self.slot(slot).entry.family(family).state == AliasState::Pending;
        let next = self
            .slot_mut(slot)
            .change(family, |probe, answer| probe.hear(answer, (family, sibling), heard, now, terms));
        self.settled_pending |= was_pending;
        self.follow(slot, family, next, now);
    }

    /// Without upstreams every target ends here, and is not asked again.
    fn no_resolver(&mut self, slot: u32, family: Family, now: Moment) {
        self.slot_mut(slot).probes[at(family)].due = None;
        self.hear(slot, family, Answer::direct(None, Outcome::Failed(Failure::NoResolver)), now);
        self.schedule(slot, family, None);
    }

    /// Publishes what a transition changed, and schedules what it asks for.
    fn follow(&mut self, slot: u32, family: Family, next: Next, now: Moment) {
        self.changed.insert(slot);
        let when = next.again.map(|again| match again {
            Again::AtOnce => now,
            Again::After { at, jitter } => {
                let earliest = Moment(now.0.saturating_add(SAME_ENTRY_APART));
                Moment(at.max(earliest).0.saturating_add(self.random(jitter)))
            }
            Again::BackOff { seconds } => {
                let milliseconds = u64::from(seconds) * 1_000;
                let half = self.random(milliseconds / 2);
                Moment(now.0.saturating_add(milliseconds - milliseconds / 4 + half))
            }
        });
        self.schedule(slot, family, when.map(Due::Refresh));
        match next.other {
            Other::Left => {}
            Other::Soon | Other::AtOnce => self.bring_forward(slot, family.other(), next.other, now),
        }
    }

    /// Has a family asked earlier than it would be, unless it is being asked.
    fn bring_forward(&mut self, slot: u32, family: Family, how: Other, now: Moment) {
        let probe = &self.slot(slot).probes[at(family)];
        if probe.flight.is_some() || self.settings.upstreams == 0 {
            return;
        }
        let when = match (how, probe.asked) {
            (Other::Soon, Some(asked)) => now.max(Moment(asked.0.saturating_add(SAME_ENTRY_APART))),
            (Other::Soon, None) | (Other::AtOnce | Other::Left, _) => now,
        };
        self.bring_forward_to(slot, family, when);
    }

    fn bring_forward_to(&mut self, slot: u32, family: Family, when: Moment) {
        if self.slot(slot).probes[at(family)].due.is_none_or(|due| due.at() > when) {
            self.schedule(slot, family, Some(Due::Refresh(when)));
        }
    }

    fn begin(&mut self, due: Due, slot: u32, family: Family, now: Moment) -> Option<Lookup> {
        self.due.remove(&(due, slot, family));
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        let one = self.slots.get_mut(slot as usize)?.as_mut()?;
        let probe = &mut one.probes[at(family)];
        probe.due = None;
        probe.asked = Some(now);
        probe.flight = Some(ticket);
        self.in_flight += 1;
        Some(Lookup { target: one.entry.target.clone(), family, ask: probe.ask(now), ticket })
    }

    fn schedule(&mut self, slot: u32, family: Family, due: Option<Due>) {
        let one = self.slot_mut(slot);
        let due = due.filter(|_| one.interest != Interest::Nobody);
        let old = std::mem::replace(&mut one.probes[at(family)].due, due);
        if let Some(old) = old {
            self.due.remove(&(old, slot, family));
        }
        if let Some(due) = due {
            self.due.insert((due, slot, family));
        }
    }

    fn find_or_add(&mut self, target: TargetKey, now: Moment) -> u32 {
        if let Some(&slot) = self.index.get(&target) {
            return slot;
        }
        let entry = Arc::new(AliasEntry::pending(target.clone(), now));
        let one = Slot { entry, probes: Default::default(), records: 0, interest: Interest::Nobody, forget: None };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                u32::try_from(self.slots.len() - 1).expect("targets are fewer than names fit in memory")
            }
        };
        self.slots[slot as usize] = Some(one);
        self.index.insert(target, slot);
        self.changed.insert(slot);
        slot
    }

    fn forget_at(&mut self, slot: u32, when: Option<Moment>) {
        let old = std::mem::replace(&mut self.slot_mut(slot).forget, when);
        if let Some(old) = old {
            self.forgets.remove(&(old, slot));
            self.hinted -= 1;
        }
        if let Some(when) = when {
            self.forgets.insert((when, slot));
            self.hinted += 1;
        }
    }

    fn forget_unwanted(&mut self, now: Moment) {
        while let Some(&(when, slot)) = self.forgets.first()
            && when <= now
        {
            self.forget_at(slot, None);
            for family in Family::BOTH {
                self.schedule(slot, family, None);
            }
            if let Some(one) = self.slots[slot as usize].take() {
                self.index.remove(&one.entry.target);
                self.removed.push(one.entry.target.clone());
            }
            self.changed.remove(&slot);
            self.free.push(slot);
        }
    }

    /// If the clock was set back, what is due by the old time would be so much too late.
    fn watch_clock(&mut self, now: Moment) {
        if now.0.saturating_add(CLOCK_SET_BACK) >= self.latest.0 {
            self.latest = self.latest.max(now);
            return;
        }
        self.latest = now;
        self.published = None;
        let waiting: Vec<(u32, Family)> = self.due.iter().map(|(_, slot, family)| (*slot, *family)).collect();
        for (slot, family) in waiting {
            let when = Moment(now.0.saturating_add(self.random(ASKED_ANEW_WITHIN)));
            self.bring_forward_to(slot, family, when);
        }
        let forgets: Vec<u32> = self.forgets.iter().map(|(_, slot)| *slot).collect();
        for slot in forgets {
            self.forget_at(slot, Some(now.plus_seconds(FORGET_AFTER)));
        }
    }

    fn publishes_at(&self) -> Option<Moment> {
        if self.changed.is_empty() && self.removed.is_empty() {
            return None;
        }
        Some(match self.published {
            Some(last) if !self.settled_pending => Moment(last.0.saturating_add(BATCHES_APART)),
            Some(_) | None => Moment(0),
        })
    }

    fn batch(&mut self, now: Moment) -> AliasBatch {
        self.published = Some(now);
        self.settled_pending = false;
        let changed = std::mem::take(&mut self.changed);
        let put = changed.into_iter().map(|slot| self.slot(slot).entry.clone()).collect();
        AliasBatch { put, removed: std::mem::take(&mut self.removed) }
    }

    /// A number from 0 to `most`, by SplitMix64.
    fn random(&mut self, most: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.chance;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % (most + 1)
    }

    fn slot(&self, slot: u32) -> &Slot {
        self.slots[slot as usize].as_ref().expect("slots in the index and the timers are taken")
    }

    fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        self.slots[slot as usize].as_mut().expect("slots in the index and the timers are taken")
    }
}

impl Slot {
    /// Changes a family and what is published of it.
    fn change<R>(&mut self, family: Family, change: impl FnOnce(&mut Probe, &mut FamilyAnswer) -> R) -> R {
        change(&mut self.probes[at(family)], Arc::make_mut(&mut self.entry).family_mut(family))
    }

    /// How the other family sees this one.
    fn sibling(&self, family: Family) -> Sibling {
        let answer = self.entry.family(family);
        Sibling { state: answer.state, checked: answer.checked, in_flight: self.probes[at(family)].flight.is_some() }
    }

    fn status(&self) -> TargetStatus {
        let probe = |family: Family| {
            let probe = &self.probes[at(family)];
            ProbeStatus { next_refresh: probe.due.map(Due::at), last_error: probe.last_error, upstream: probe.upstream }
        };
        let chain = self.probes.iter().map(|one| &one.chain).find(|chain| !chain.is_empty());
        TargetStatus {
            entry: self.entry.clone(),
            records: self.records,
            chain: chain.map_or_else(Vec::new, |chain| chain.to_vec()),
            a: probe(Family::A),
            aaaa: probe(Family::Aaaa),
        }
    }
}

impl Due {
    fn at(self) -> Moment {
        match self {
            Due::Pending(at) | Due::Refresh(at) => at,
        }
    }

    /// What is pending is due whatever the clock says.
    fn is_reached(self, now: Moment) -> bool {
        match self {
            Due::Pending(_) => true,
            Due::Refresh(at) => at <= now,
        }
    }
}

/// The place of a family among a slot's probes.
fn at(family: Family) -> usize {
    match family {
        Family::A => 0,
        Family::Aaaa => 1,
    }
}
