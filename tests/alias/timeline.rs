//! A clock that is turned by hand, upstreams that say what the test tells them, and the table that is published.

use std::collections::BTreeMap;

use tenured::alias::engine::{Action, Engine, Event, MAX_IN_FLIGHT, Settings};
use tenured::alias::lookup::{Answer, Ask, Failure, Lookup, Outcome, Report, Upstream};
use tenured::alias::pace::Pace;
use tenured::alias::slot::Want;
use tenured::wire::name::{HashKey, Name};
use tenured::zone::alias::{AliasEntry, AliasState, AliasTable, Family, FamilyAnswer, Moment, TargetKey, Transition};
use tenured::zone::policy::{Hold, Policy};
use tenured::zone::served::{Known, Served, served};

/// Milliseconds that every upstream takes.
pub(crate) const LATENCY: u64 = 10;
pub(crate) const TARGET: &str = "edge-7f3a.proxy.test.";

pub(crate) struct Timeline {
    pub(crate) engine: Engine,
    pub(crate) start: Moment,
    pub(crate) now: Moment,
    pub(crate) table: AliasTable,
    /// What each upstream says of a family of any target; nothing means that it never answers.
    pub(crate) says: BTreeMap<(u8, Family), Outcome>,
    upstreams: u8,
    flying: Vec<(Moment, Lookup, Upstream)>,
    /// Every lookup: milliseconds since the start, family, upstream.
    pub(crate) asked: Vec<(u64, Family, u8)>,
    pub(crate) batches: usize,
    /// What became of targets.
    pub(crate) transitions: Vec<Transition>,
    /// Whether queries ask for the target all the time.
    pub(crate) traffic: Traffic,
}

/// What queries do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    Steady,
    None,
}

/// A record with default options.
pub(crate) const WANT: Want = Want { owner: 1, hold: Hold { min: 5, max: 3_600 } };

impl Timeline {
    pub(crate) fn new(upstreams: u8) -> Timeline {
        let start = Moment(1_790_000_000_000);
        let settings = Settings {
            upstreams: vec![usize::from(upstreams)],
            in_flight: MAX_IN_FLIGHT,
            pace: Pace::default(),
            seed: 7,
        };
        Timeline {
            engine: Engine::new(settings),
            start,
            now: start,
            table: AliasTable::new(HashKey::new(1, 2)),
            says: BTreeMap::new(),
            upstreams,
            flying: Vec::new(),
            asked: Vec::new(),
            batches: 0,
            transitions: Vec::new(),
            traffic: Traffic::Steady,
        }
    }

    /// Has every upstream say this of a family.
    pub(crate) fn all_say(&mut self, family: Family, outcome: Outcome) {
        for upstream in 0..self.upstreams {
            self.says.insert((upstream, family), outcome.clone());
        }
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.engine.step(event, self.now);
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            let mut actions = Vec::new();
            self.engine.actions(self.now, &mut actions);
            for action in actions {
                match action {
                    Action::Lookup(lookup) => self.fly(lookup),
                    Action::Publish(batch) => {
                        self.batches += 1;
                        self.transitions.extend(batch.transitions.iter().cloned());
                        self.table.apply(batch);
                    }
                }
            }
            let Some(at) = self.flying.iter().position(|(when, _, _)| *when <= self.now) else { return };
            let (_, lookup, upstream) = self.flying.remove(at);
            let outcome = self.says.get(&(upstream.0, lookup.family)).cloned();
            let outcome = outcome.unwrap_or(Outcome::Failed(Failure::Timeout));
            self.engine.step(
                Event::Done(Report {
                    target: lookup.target,
                    family: lookup.family,
                    ticket: lookup.ticket,
                    answer: Answer::direct(Some(upstream), outcome),
                }),
                self.now,
            );
        }
    }

    fn fly(&mut self, lookup: Lookup) {
        let upstream = match lookup.ask {
            Ask::Any => Upstream(0),
            Ask::OtherThan(first) => Upstream((first.0 + 1) % self.upstreams),
        };
        let takes = if self.says.contains_key(&(upstream.0, lookup.family)) { LATENCY } else { 3_000 };
        self.asked.push((self.now.0 - self.start.0, lookup.family, upstream.0));
        self.flying.push((Moment(self.now.0 + takes), lookup, upstream));
    }

    /// Lets so many milliseconds pass, event by event.
    pub(crate) fn pass(&mut self, milliseconds: u64) {
        let end = Moment(self.now.0 + milliseconds);
        loop {
            let lands = self.flying.iter().map(|(when, _, _)| *when).min();
            let next = [lands, self.engine.next_wakeup()].into_iter().flatten().min();
            match next {
                Some(next) if next <= end => {
                    self.now = self.now.max(next);
                    self.query();
                }
                Some(_) | None => break,
            }
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    fn query(&self) {
        if self.traffic == Traffic::Steady {
            for entry in self.table.iter() {
                Family::BOTH.iter().for_each(|family| entry.asked.note(*family, self.now));
            }
        }
    }

    pub(crate) fn entry(&self) -> &AliasEntry {
        self.table.entry(&target(TARGET)).expect("the target is in the table")
    }

    pub(crate) fn family(&self, family: Family) -> &FamilyAnswer {
        self.entry().family(family)
    }

    pub(crate) fn state(&self, family: Family) -> AliasState {
        self.family(family).state
    }

    /// What a query gets through an ALIAS of 300 s with default options.
    pub(crate) fn dig(&self, family: Family) -> Served<'_> {
        self.dig_with(family, &Policy::default())
    }

    /// What a query gets through an ALIAS of 300 s with this policy.
    pub(crate) fn dig_with(&self, family: Family, policy: &Policy) -> Served<'_> {
        let entry = self.entry();
        let known = Known { family, own: entry.family(family), other: entry.family(family.other()) };
        served(known, 300, self.now, policy)
    }

    /// What is served, in short: addresses and TTL, `stale` before it if it is.
    pub(crate) fn says(&self, family: Family) -> String {
        match self.dig(family) {
            Served::Addresses { addresses, ttl, stale } => {
                format!("{}{} addresses {ttl}", if stale { "stale " } else { "" }, addresses.count())
            }
            Served::NoData { soa_cap, error } => {
                format!("nodata {soa_cap} {}", error.map_or(String::new(), |(code, _)| code.0.to_string()))
            }
            Served::Fallback { cap, .. } => format!("fallback {cap}"),
            Served::ServFail { error } => format!("servfail {}", error.0.0),
            Served::Pending => "pending".to_owned(),
        }
    }

    /// How often a family was asked since a moment, given in milliseconds since the start.
    pub(crate) fn asked_since(&self, since: u64, family: Family) -> Vec<(u64, u8)> {
        self.asked.iter().filter(|one| one.0 >= since && one.1 == family).map(|one| (one.0, one.2)).collect()
    }

    pub(crate) fn elapsed(&self) -> u64 {
        self.now.0 - self.start.0
    }
}

pub(crate) fn target(text: &str) -> TargetKey {
    TargetKey::of(Name::parse(text).expect("a name"))
}

pub(crate) fn address(ttl: u32) -> Outcome {
    Outcome::Addresses { octets: vec![192, 0, 2, 10], ttl }
}

pub(crate) fn v6_address(ttl: u32) -> Outcome {
    Outcome::Addresses { octets: "2001:db8::10".parse::<std::net::Ipv6Addr>().expect("one").octets().to_vec(), ttl }
}

pub(crate) fn no_data() -> Outcome {
    Outcome::NoData { ttl: Some(900) }
}

pub(crate) fn name_error() -> Outcome {
    Outcome::NameError { ttl: Some(60) }
}
