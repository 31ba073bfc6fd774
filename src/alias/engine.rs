//! The ALIAS engine: which targets are asked when, and what is published of them. Pure: events and the time go in,
//! actions come out; chance comes from a seed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZeroU64;
use std::sync::Arc;

use super::lookup::{Answer, Failure, Lookup, Outcome, Report};
use super::pace::{Accounts, Pace};
use super::probe::{Again, Due, Next, Other, Terms};
use super::slot::{Interest, Slot, TargetStatus, Want, at};
use crate::wire::name::Name;
use crate::zone::alias::{
    AliasBatch, AliasEntry, AliasState, Family, Group, LastLookup, Moment, RecordState, TargetKey, Transition,
};

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
/// After how many milliseconds, or up to twice as many, a lookup is tried again that its owner had no room for.
const ROOM_AGAIN: u64 = 500;
/// After how many seconds without ALIAS a target is forgotten.
pub const FORGET_AFTER: u32 = 60;

/// What the engine is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One more ALIAS record leads to this target.
    Wanted(TargetKey, Want),
    /// One less does.
    Unwanted(TargetKey, Want),
    /// This was known before the start.
    Restored(Arc<AliasEntry>),
    /// A query asked for this target and found nothing of it, or nothing fresh.
    Hint(TargetKey),
    /// Somebody wants this target asked now.
    Refresh(TargetKey),
    /// Zones with these apexes came, went or changed hands: chains through them may lead elsewhere.
    Moved(HashSet<Name>),
    /// A lookup is over.
    Done(Report),
}

/// What the engine wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make this lookup and report.
    Lookup(Lookup),
    /// Put this into the next Snapshot. Its transitions are without the records that lead to the targets.
    Publish(AliasBatch),
}

/// What the engine starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of upstreams of each group, by [`Group`].
    pub upstreams: Vec<usize>,
    /// Most lookups in flight, [`MAX_IN_FLIGHT`] or less.
    pub in_flight: usize,
    /// How fast lookups may follow one another.
    pub pace: Pace,
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

/// Whether something of a target is being found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing is.
    Yes,
    /// Something is: a family is pending or suspect.
    Not,
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
    /// Those that are asked whatever queries do.
    probes: BTreeSet<(Due, u32, Family)>,
    /// Targets to forget.
    forgets: BTreeSet<(Moment, u32)>,
    accounts: Accounts,
    /// When the next of those is asked that were known before the start and have expired.
    catches_up: Moment,
    in_flight: usize,
    hinted: usize,
    next_ticket: u64,
    changed: BTreeSet<u32>,
    removed: Vec<TargetKey>,
    settled_pending: bool,
    coalesced: u64,
    /// What the last lookup of all told: most are like it.
    latest_lookup: Arc<LastLookup>,
    published: Option<Moment>,
    /// The latest time seen.
    latest: Moment,
}

impl Engine {
    /// Knows no target.
    pub fn new(settings: Settings) -> Engine {
        Engine {
            chance: settings.seed,
            settings,
            index: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            due: BTreeSet::new(),
            probes: BTreeSet::new(),
            accounts: Accounts::default(),
            catches_up: Moment(0),
            forgets: BTreeSet::new(),
            in_flight: 0,
            hinted: 0,
            next_ticket: 0,
            changed: BTreeSet::new(),
            removed: Vec::new(),
            settled_pending: false,
            coalesced: 0,
            latest_lookup: Arc::default(),
            published: None,
            latest: Moment(0),
        }
    }

    /// Takes an event in. What follows from it is in the next [`Engine::actions`].
    pub fn step(&mut self, event: Event, now: Moment) {
        match event {
            Event::Wanted(target, want) => self.wanted(target, want, now),
            Event::Unwanted(target, want) => self.unwanted(&target, want, now),
            Event::Restored(entry) => self.restored(entry, now),
            Event::Moved(apexes) => self.moved(&apexes, now),
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
            && let Some((due, slot, family)) = self.first_due()
            && due.is_reached(now)
        {
            self.take_turn(due, slot, family, now, out);
        }
        if self.publishes_at().is_some_and(|at| at <= now) {
            out.push(Action::Publish(self.batch(now)));
        }
    }

    /// When [`Engine::actions`] has something to do next, if no event comes before.
    pub fn next_wakeup(&self) -> Option<Moment> {
        let asks = if self.in_flight < self.settings.in_flight {
            self.first_due().map(|(due, _, _)| due.at().unwrap_or(Moment(0)))
        } else {
            None
        };
        let forgets = self.forgets.first().map(|(at, _)| *at);
        [asks, forgets, self.publishes_at()].into_iter().flatten().min()
    }

    /// What is due first; among what is due at the same time, what queries may want.
    fn first_due(&self) -> Option<(Due, u32, Family)> {
        match (self.due.first().copied(), self.probes.first().copied()) {
            (Some(due), Some(probe)) if probe.0.at() < due.0.at() => Some(probe),
            (Some(due), _) => Some(due),
            (None, probe) => probe,
        }
    }

    /// Asks for a family that is due, or puts it off: nobody wants it now, or nobody may ask.
    fn take_turn(&mut self, due: Due, slot: u32, family: Family, now: Moment, out: &mut Vec<Action>) {
        let one = self.slot(slot);
        if self.upstreams(one.entry.target.group) == 0 {
            self.unasked(slot, family, Failure::NoResolver, now);
            self.schedule(slot, family, None);
            return;
        }
        let answer = one.entry.family(family);
        let good = matches!(answer.state, AliasState::Resolved | AliasState::NoData | AliasState::Filtered);
        let owner = one.owner();
        if let Due::Refresh(_) = due
            && good
            && !one.is_hot(family, now)
        {
            let probes_at = self.probes_at(slot, family);
            if probes_at > now {
                self.schedule(slot, family, Some(Due::Probe(probes_at)));
                return;
            }
        }
        if !self.accounts.admit(owner, now, self.settings.pace) {
            let one = self.slot(slot);
            if good && now < one.expires(family) {
                let later = now.0.saturating_add(ROOM_AGAIN + self.random(ROOM_AGAIN));
                self.schedule(slot, family, Some(Due::Probe(Moment(later))));
            } else {
                self.unasked(slot, family, Failure::RateLimited, now);
            }
            return;
        }
        if let Due::Pending(turn) = due {
            self.accounts.goes(turn);
        }
        out.extend(self.begin(slot, family, now).map(Action::Lookup));
    }

    /// When a family that nobody asks for is looked at: some time after its last lookup, a tenth more or less.
    fn probes_at(&mut self, slot: u32, family: Family) -> Moment {
        let interval = u64::from(self.settings.pace.probe_interval) * 1_000;
        let swing = self.random(interval / 5);
        let one = self.slot(slot);
        let checked = one.entry.family(family).checked.unwrap_or(Moment(0));
        let at = Moment(checked.0.saturating_add(interval - interval / 10 + swing));
        at.max(one.expires(family))
    }

    fn upstreams(&self, group: Group) -> usize {
        self.settings.upstreams.get(usize::from(group.0)).copied().unwrap_or(0)
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
        self.coalesced += u64::from(refreshed == Refreshed::Coalesced);
        refreshed
    }

    /// How many wishes for a lookup another one has served, which was on its way or about to begin.
    pub fn coalesced(&self) -> u64 {
        self.coalesced
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

    /// What is published of a target, and whether it is being found out.
    pub fn known(&self, target: &TargetKey) -> Option<(&AliasEntry, Settled)> {
        let slot = self.slot(*self.index.get(target)?);
        Some((&slot.entry, if slot.is_unsettled() { Settled::Not } else { Settled::Yes }))
    }

    /// How it stands with all targets, in no order.
    pub fn statuses(&self) -> impl Iterator<Item = TargetStatus> + '_ {
        self.slots.iter().flatten().map(Slot::status)
    }

    fn wanted(&mut self, target: TargetKey, want: Want, now: Moment) {
        let slot = self.find_or_add(target, now);
        let before = self.slot(slot).expires(Family::A).min(self.slot(slot).expires(Family::Aaaa));
        self.slot_mut(slot).want(want);
        self.forget_at(slot, None);
        self.take_interest(slot, Interest::Records, now);
        // A record that holds for a shorter time makes its target due earlier.
        let after = self.slot(slot).expires(Family::A).min(self.slot(slot).expires(Family::Aaaa));
        if after < before {
            for family in Family::BOTH {
                self.due_at_expiry(slot, family, now);
            }
        }
    }

    fn due_at_expiry(&mut self, slot: u32, family: Family, now: Moment) {
        let one = self.slot(slot);
        let state = one.entry.family(family).state;
        let good = matches!(state, AliasState::Resolved | AliasState::NoData | AliasState::Filtered);
        if good && one.probes[at(family)].flight.is_none() {
            let when = one.expires(family).max(now);
            self.bring_forward_to(slot, family, when);
        }
    }

    fn unwanted(&mut self, target: &TargetKey, want: Want, now: Moment) {
        let Some(&slot) = self.index.get(target) else { return };
        let one = self.slot_mut(slot);
        one.let_go(want);
        if !one.wants.is_empty() {
            return;
        }
        one.interest = Interest::Nobody;
        for family in Family::BOTH {
            self.schedule(slot, family, None);
        }
        self.forget_at(slot, Some(now.plus_seconds(FORGET_AFTER)));
    }

    /// Takes in what was known before the start; it is forgotten like anything else that no record leads to.
    fn restored(&mut self, entry: Arc<AliasEntry>, now: Moment) {
        if self.index.contains_key(&entry.target) {
            return;
        }
        let slot = self.add(entry);
        for family in Family::BOTH {
            let one = self.slot_mut(slot);
            let ttl = one.entry.family(family).highest_ttl;
            one.probes[at(family)].remember(ttl);
            one.probes[at(family)].failures = one.entry.family(family).lookup.as_ref().map_or(0, |last| last.failures);
        }
        self.forget_at(slot, Some(now.plus_seconds(FORGET_AFTER)));
    }

    fn moved(&mut self, apexes: &HashSet<Name>, now: Moment) {
        let touched = |slot: &Slot| {
            let chains = Family::BOTH.iter().flat_map(|family| slot.entry.family(*family).chain());
            chains.into_iter().any(|name| name.ancestors().any(|above| apexes.contains(&above)))
        };
        let slots: Vec<u32> = (0_u32..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.as_ref().is_some_and(touched))
            .map(|(number, _)| number)
            .collect();
        for slot in slots {
            for family in Family::BOTH {
                self.bring_forward(slot, family, Other::Soon, now);
            }
        }
    }

    /// Has a target asked again that nobody cared for any more, or that was only just known.
    fn take_interest(&mut self, slot: u32, interest: Interest, now: Moment) {
        let before = std::mem::replace(&mut self.slot_mut(slot).interest, interest);
        if before != Interest::Nobody {
            return;
        }
        for family in Family::BOTH {
            let one = self.slot(slot);
            if one.probes[at(family)].flight.is_some() {
                continue;
            }
            let expires = one.expires(family);
            let asked = one.probes[at(family)].asked;
            let due = match one.entry.family(family).state {
                AliasState::Pending => self.pending(slot, now),
                AliasState::Resolved | AliasState::NoData | AliasState::Filtered if expires > now => {
                    Due::Refresh(expires)
                }
                AliasState::Resolved
                | AliasState::NoData
                | AliasState::Filtered
                | AliasState::Suspect
                | AliasState::TargetNxdomain
                | AliasState::Timeout
                | AliasState::ServFail
                | AliasState::Refused
                | AliasState::Network
                | AliasState::NoResolver
                | AliasState::RateLimited
                | AliasState::Loop
                | AliasState::ChainTooLong => match asked {
                    // Known before the start: one after another, unless queries ask for it.
                    Moment(0) => Due::Probe(self.catch_up(now)),
                    asked => Due::Probe(Moment(asked.0.saturating_add(SAME_ENTRY_APART)).max(now)),
                },
            };
            self.schedule(slot, family, Some(due));
        }
    }

    fn pending(&mut self, slot: u32, now: Moment) -> Due {
        let owner = self.slot(slot).owner();
        Due::Pending(self.accounts.turn(owner, now, self.settings.pace))
    }

    fn catch_up(&mut self, now: Moment) -> Moment {
        let apart = 1_000 / u64::from(self.settings.pace.catching_up.clamp(1, 1_000));
        self.catches_up = Moment(self.catches_up.max(now).0.saturating_add(apart));
        self.catches_up
    }

    fn hint(&mut self, target: TargetKey, now: Moment) {
        if !self.index.contains_key(&target) && self.hinted >= MAX_HINTED {
            return;
        }
        let slot = self.find_or_add(target, now);
        self.coalesced += u64::from(self.slot(slot).is_being_asked());
        if self.slot(slot).wants.is_empty() {
            self.forget_at(slot, Some(now.plus_seconds(FORGET_AFTER)));
            self.take_interest(slot, Interest::Queries, now);
        }
        for family in Family::BOTH {
            let one = self.slot(slot);
            let state = one.entry.family(family).state;
            let good = matches!(state, AliasState::Resolved | AliasState::NoData | AliasState::Filtered);
            if good && one.expires(family) <= now && one.is_hot(family, now) {
                self.bring_forward(slot, family, Other::Soon, now);
            }
        }
    }

    fn done(&mut self, report: Report, now: Moment) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let Report { target, family, ticket, answer } = report;
        let Some(&slot) = self.index.get(&target) else { return };
        // A target that was forgotten and came back has another lookup in flight.
        if self.slot(slot).probes[at(family)].flight != NonZeroU64::new(ticket) {
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
        let terms = Terms { upstreams: self.upstreams(self.slot(slot).entry.target.group) };
        let sibling = self.slot(slot).sibling(family.other());
        let was_pending = self.slot(slot).entry.family(family).state == AliasState::Pending;
        let mut latest = self.latest_lookup.clone();
        let next = self
            .slot_mut(slot)
            .change(family, |probe, answer| probe.hear(answer, (family, sibling), heard, now, terms, &mut latest));
        self.latest_lookup = latest;
        self.settled_pending |= was_pending;
        self.follow(slot, family, next, now);
    }

    /// No lookup is made for this reason.
    fn unasked(&mut self, slot: u32, family: Family, failure: Failure, now: Moment) {
        self.schedule(slot, family, None);
        self.hear(slot, family, Answer::direct(None, Outcome::Failed(failure)), now);
    }

    /// Publishes what a transition changed, and schedules what it asks for.
    fn follow(&mut self, slot: u32, family: Family, next: Next, now: Moment) {
        self.changed.insert(slot);
        let when = next.again.map(|again| match again {
            Again::AtOnce => now,
            // Just after expiry, when a caching upstream gives its full TTL again.
            Again::Expiry => {
                let one = self.slot(slot);
                let most = match one.entry.family(family).state {
                    AliasState::NoData => 2_000,
                    _ => (u64::from(one.longest_hold(family)) * 100).min(2_000),
                };
                let earliest = Moment(now.0.saturating_add(SAME_ENTRY_APART));
                let expires = one.expires(family).max(earliest);
                Moment(expires.0.saturating_add(self.random(most)))
            }
            Again::After { at, jitter } => {
                let earliest = Moment(now.0.saturating_add(SAME_ENTRY_APART));
                Moment(at.max(earliest).0.saturating_add(self.random(jitter)))
            }
            Again::WithRoom => Moment(now.0.saturating_add(ROOM_AGAIN + self.random(ROOM_AGAIN))),
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
        if probe.flight.is_some() || self.upstreams(self.slot(slot).entry.target.group) == 0 {
            return;
        }
        let when = match how {
            Other::Soon => now.max(Moment(probe.asked.0.saturating_add(SAME_ENTRY_APART))),
            Other::AtOnce | Other::Left => now,
        };
        self.bring_forward_to(slot, family, when);
    }

    fn bring_forward_to(&mut self, slot: u32, family: Family, when: Moment) {
        let is_earlier = match self.slot(slot).probes[at(family)].due {
            None => true,
            Some(Due::Pending(_)) => false,
            Some(Due::Refresh(at) | Due::Probe(at)) => at > when,
        };
        if is_earlier {
            self.schedule(slot, family, Some(Due::Probe(when)));
        }
    }

    fn begin(&mut self, slot: u32, family: Family, now: Moment) -> Option<Lookup> {
        self.schedule(slot, family, None);
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        let one = self.slots.get_mut(slot as usize)?.as_mut()?;
        let probe = &mut one.probes[at(family)];
        probe.due = None;
        probe.asked = now;
        probe.flight = NonZeroU64::new(ticket);
        self.in_flight += 1;
        Some(Lookup { target: one.entry.target.clone(), family, ask: probe.ask(now), ticket })
    }

    fn schedule(&mut self, slot: u32, family: Family, due: Option<Due>) {
        let one = self.slot_mut(slot);
        let due = due.filter(|_| one.interest != Interest::Nobody);
        let old = std::mem::replace(&mut one.probes[at(family)].due, due);
        if let Some(old) = old {
            self.queue(old).remove(&(old, slot, family));
        }
        if let Some(due) = due {
            self.queue(due).insert((due, slot, family));
        }
    }

    fn queue(&mut self, due: Due) -> &mut BTreeSet<(Due, u32, Family)> {
        match due {
            Due::Pending(_) | Due::Refresh(_) => &mut self.due,
            Due::Probe(_) => &mut self.probes,
        }
    }

    fn find_or_add(&mut self, target: TargetKey, now: Moment) -> u32 {
        if let Some(&slot) = self.index.get(&target) {
            return slot;
        }
        let slot = self.add(Arc::new(AliasEntry::pending(target, now)));
        self.changed.insert(slot);
        slot
    }

    fn add(&mut self, entry: Arc<AliasEntry>) -> u32 {
        let target = entry.target.clone();
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                u32::try_from(self.slots.len() - 1).expect("targets are fewer than names fit in memory")
            }
        };
        self.slots[slot as usize] = Some(Slot::new(entry));
        self.index.insert(target, slot);
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
        let all = self.due.iter().chain(&self.probes);
        let waiting: Vec<(u32, Family)> = all.map(|(_, slot, family)| (*slot, *family)).collect();
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
        let transitions = changed.iter().filter_map(|slot| self.transition(*slot, now)).collect();
        let put = changed.into_iter().map(|slot| self.slot(slot).entry.clone()).collect();
        AliasBatch { put, removed: std::mem::take(&mut self.removed), transitions, ..AliasBatch::default() }
    }

    /// What there is to tell of a target: not what is being found out, nor that a new one has been found.
    fn transition(&mut self, slot: u32, now: Moment) -> Option<Transition> {
        let one = self.slot_mut(slot);
        if one.is_unsettled() {
            return None;
        }
        let to = one.entry.state();
        let from = std::mem::replace(&mut one.told, to);
        let is_new = from == RecordState::Is(AliasState::Pending);
        let is_well = matches!(to, RecordState::Resolved | RecordState::NoAddresses);
        (from != to && !(is_new && is_well)).then(|| Transition {
            target: one.entry.target.clone(),
            from,
            to,
            at: now,
            takeover_risk: one.takeover_risk(),
            dependents: Vec::new(),
            count: u64::from(one.records()),
        })
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
