//! What holds of the engine whatever happens, in whatever order.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use tenured::alias::engine::{Action, Engine, Event, MAX_IN_FLIGHT, Settings};
use tenured::alias::lookup::{Answer, Failure, Lookup, Outcome, Report, Upstream};
use tenured::alias::pace::Pace;
use tenured::alias::slot::Want;
use tenured::wire::name::HashKey;
use tenured::zone::alias::{AliasState, AliasTable, Family, Moment, TargetKey};
use tenured::zone::policy::Hold;

use crate::timeline::{address, name_error, no_data, target};

#[derive(Clone, Debug)]
enum Happens {
    Wanted(u8),
    Unwanted(u8),
    Hint(u8),
    Refresh(u8),
    /// The lookup in flight of this place, counted around, brings this.
    Lands(u8, u8, Outcome),
    Passes(u32),
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        (0..100_000_u32).prop_map(address),
        Just(no_data()),
        Just(Outcome::NoData { ttl: None }),
        Just(name_error()),
        Just(name_error()),
        Just(Outcome::Loop),
        Just(Outcome::ChainTooLong),
        Just(Outcome::Addresses { octets: vec![10, 0, 0, 1], ttl: 60 }),
        Just(Outcome::Addresses { octets: vec![], ttl: 60 }),
        Just(Outcome::Failed(Failure::Timeout)),
        Just(Outcome::Failed(Failure::ServFail)),
    ]
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        2 => (0..4_u8).prop_map(Happens::Wanted),
        2 => (0..4_u8).prop_map(Happens::Unwanted),
        1 => (0..4_u8).prop_map(Happens::Hint),
        1 => (0..4_u8).prop_map(Happens::Refresh),
        8 => (any::<u8>(), 0..3_u8, outcome()).prop_map(|(place, by, outcome)| Happens::Lands(place, by, outcome)),
        4 => (0..90_000_u32).prop_map(Happens::Passes),
    ]
}

const WANT: Want = Want { owner: 1, hold: Hold { min: 5, max: 3_600 } };

fn numbered(number: u8) -> TargetKey {
    target(&format!("host-{number}.proxy.test."))
}

struct World {
    engine: Engine,
    now: Moment,
    flying: Vec<Lookup>,
    table: AliasTable,
    records: HashMap<TargetKey, u32>,
}

impl World {
    fn new(upstreams: usize) -> World {
        World {
            engine: Engine::new(Settings {
                upstreams: vec![upstreams],
                in_flight: MAX_IN_FLIGHT,
                pace: Pace::default(),
                seed: 11,
            }),
            now: Moment(1_790_000_000_000),
            flying: Vec::new(),
            table: AliasTable::new(HashKey::new(1, 2)),
            records: HashMap::new(),
        }
    }

    fn run(&mut self) {
        let mut actions = Vec::new();
        self.engine.actions(self.now, &mut actions);
        for action in actions {
            match action {
                Action::Lookup(lookup) => self.flying.push(lookup),
                Action::Publish(batch) => self.table.apply(batch),
            }
        }
    }

    fn step(&mut self, event: Event) {
        self.engine.step(event, self.now);
        self.run();
    }

    fn land(&mut self, place: usize, upstream: Upstream, outcome: Outcome) {
        if self.flying.is_empty() {
            return;
        }
        let Lookup { target, family, ticket, .. } = self.flying.remove(place % self.flying.len());
        let outcome = match (outcome, family) {
            (Outcome::Addresses { octets, ttl }, Family::Aaaa) => {
                let longer = |one: &[u8]| [&[0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0], one].concat();
                Outcome::Addresses { octets: octets.chunks(4).flat_map(longer).collect(), ttl }
            }
            (outcome, _) => outcome,
        };
        self.step(Event::Done(Report { target, family, ticket, answer: Answer::direct(Some(upstream), outcome) }));
    }

    fn happen(&mut self, what: Happens) {
        match what {
            Happens::Wanted(number) => {
                *self.records.entry(numbered(number)).or_default() += 1;
                self.step(Event::Wanted(numbered(number), WANT));
            }
            Happens::Unwanted(number) => {
                // Records only go that came.
                let Some(records) = self.records.get_mut(&numbered(number)).filter(|records| **records > 0) else {
                    return;
                };
                *records -= 1;
                self.step(Event::Unwanted(numbered(number), WANT));
            }
            Happens::Hint(number) => self.step(Event::Hint(numbered(number))),
            Happens::Refresh(number) => self.step(Event::Refresh(numbered(number))),
            Happens::Lands(place, by, outcome) => self.land(usize::from(place), Upstream(by), outcome),
            Happens::Passes(milliseconds) => {
                self.now = Moment(self.now.0 + u64::from(milliseconds));
                self.run();
            }
        }
    }

    /// Lets time pass while queries ask for all targets and every lookup brings this.
    fn settle(&mut self, seconds: u32, outcome: &Outcome) {
        let end = self.now.plus_seconds(seconds);
        loop {
            for entry in self.table.iter() {
                Family::BOTH.iter().for_each(|family| entry.asked.note(*family, self.now));
            }
            while !self.flying.is_empty() {
                self.land(0, Upstream(0), outcome.clone());
            }
            match self.engine.next_wakeup() {
                Some(next) if next <= end => self.now = self.now.max(next),
                Some(_) | None => break,
            }
            self.run();
        }
        self.now = end;
        self.run();
    }
}

proptest! {
    #[test]
    fn whatever_happens_one_lookup_is_in_flight_and_every_target_comes_to_rest(
        upstreams in 1..3_usize,
        story in proptest::collection::vec(happens(), 0..120),
    ) {
        let mut world = World::new(upstreams);
        for what in story {
            world.happen(what);
            // A target that was forgotten and came back may have an old lookup on its way, but is told apart by ticket.
            let tickets: HashSet<u64> = world.flying.iter().map(|one| one.ticket).collect();
            prop_assert_eq!(tickets.len(), world.flying.len());
            for number in 0..4 {
                let status = world.engine.status(&numbered(number));
                if world.records.get(&numbered(number)).is_some_and(|records| *records > 0) {
                    prop_assert_eq!(status.map(|one| one.records), world.records.get(&numbered(number)).copied());
                }
            }
        }
        // Once upstreams are well, so is every target that a record leads to, within the longest hold.
        world.settle(3_700, &address(60));
        for (target, records) in &world.records {
            let entry = world.table.entry(target);
            if *records > 0 {
                for family in Family::BOTH {
                    prop_assert_eq!(entry.map(|one| one.family(family).state), Some(AliasState::Resolved));
                    prop_assert!(entry.is_some_and(|one| one.family(family).expires(Hold::default()).plus_seconds(5) > world.now));
                }
            } else {
                prop_assert!(entry.is_none());
            }
        }
        // Once it is gone for all of them, all are known to be dead.
        world.settle(700, &name_error());
        prop_assert!(world.table.iter().all(|entry| entry.a.state == AliasState::TargetNxdomain
            && entry.aaaa.state == AliasState::TargetNxdomain));
        // And once no record is left, nothing is.
        for (target, records) in world.records.clone() {
            for _ in 0..records {
                world.step(Event::Unwanted(target.clone(), WANT));
            }
        }
        world.settle(61, &name_error());
        prop_assert!(world.table.is_empty() && world.engine.is_empty());
        prop_assert_eq!(world.engine.next_wakeup(), None);
    }
}
