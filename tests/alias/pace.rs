//! When targets are asked that nobody asks for, that many ask for, and that were known before the start; and how much
//! of it an owner may have.

use std::sync::Arc;

use tenured::alias::engine::{Action, Engine, Event, MAX_IN_FLIGHT, Settings};
use tenured::alias::lookup::{Answer, Lookup, Outcome, Report, Upstream};
use tenured::alias::pace::Pace;
use tenured::alias::slot::Want;
use tenured::wire::name::Name;
use tenured::zone::addresses::Addresses;
use tenured::zone::alias::{AliasEntry, AliasState, Family, FamilyAnswer, Group, Moment, RecordState, TargetKey};
use tenured::zone::policy::Hold;

use crate::timeline::{TARGET, Timeline, Traffic, WANT, address, name_error, no_data, target};

const NOW: Moment = Moment(1_790_000_000_000);

fn idle() -> Timeline {
    let mut time = Timeline::new(2);
    time.traffic = Traffic::None;
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, no_data());
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(100);
    time
}

#[test]
fn what_nobody_asks_for_is_looked_at_every_five_minutes() {
    let mut time = idle();
    time.pass(3_600_000);
    let asked = time.asked_since(1_000, Family::A);
    assert!((11..=13).contains(&asked.len()), "{asked:?}");
    let gaps: Vec<u64> = asked.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| (270_000..=331_000).contains(gap)), "{gaps:?}");
    assert!(gaps.windows(2).any(|pair| pair[0] != pair[1]), "not all at the same distance: {gaps:?}");
}

#[test]
fn a_query_makes_an_idle_target_fresh_and_keeps_it_so_while_queries_come() {
    let mut time = idle();
    time.pass(120_000);
    assert_eq!(time.says(Family::A), "stale 1 addresses 30");
    // The query gets the stale answer, and tells the engine.
    let before = time.elapsed();
    time.entry().asked.note(Family::A, time.now);
    time.event(Event::Hint(target(TARGET)));
    time.pass(50);
    assert_eq!(time.asked_since(before, Family::A).len(), 1);
    assert_eq!(time.says(Family::A), "1 addresses 59");
    time.traffic = Traffic::Steady;
    time.pass(600_000);
    let asked = time.asked_since(before, Family::A).len();
    assert!((9..=11).contains(&asked), "{asked}");
    // Once they stop, it is left alone again.
    time.traffic = Traffic::None;
    let stopped = time.elapsed();
    time.pass(1_200_000);
    let asked = time.asked_since(stopped, Family::A).len();
    assert!(asked <= 8, "{asked}");
}

#[test]
fn a_target_is_asked_as_often_as_the_record_that_holds_it_shortest_wants() {
    let mut time = Timeline::new(1);
    time.all_say(Family::A, address(600));
    time.all_say(Family::Aaaa, no_data());
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(100);
    let short = Want { owner: 2, hold: Hold { min: 5, max: 20 } };
    time.event(Event::Wanted(target(TARGET), short));
    time.pass(100_000);
    let asked = time.asked_since(0, Family::A).len();
    assert!((5..=6).contains(&asked), "{asked}");
    time.event(Event::Unwanted(target(TARGET), short));
    let alone = time.elapsed();
    time.pass(300_000);
    let asked = time.asked_since(alone, Family::A).len();
    assert!(asked <= 1, "{asked}");
}

#[test]
fn the_history_gets_one_row_for_a_target_that_dies_and_one_for_its_return() {
    let mut time = Timeline::new(2);
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, no_data());
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(50_000);
    assert_eq!(time.transitions, [], "that a new target is found is no news");
    time.all_say(Family::A, name_error());
    time.all_say(Family::Aaaa, name_error());
    time.pass(120_000);
    let told: Vec<_> = time.transitions.iter().map(|one| (one.from, one.to, one.count)).collect();
    let dead = RecordState::Is(AliasState::TargetNxdomain);
    assert_eq!(told, [(RecordState::Resolved, dead, 1)], "the suspicion is none");
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, no_data());
    time.pass(200_000);
    assert_eq!(time.transitions.last().map(|one| (one.from, one.to)), Some((dead, RecordState::Resolved)));
}

fn numbered(number: usize, group: Group) -> TargetKey {
    TargetKey { name: Name::parse(&format!("host-{number}.proxy.test.")).expect("a name"), group }
}

fn lookups(engine: &mut Engine, now: Moment) -> Vec<Lookup> {
    let mut actions = Vec::new();
    engine.actions(now, &mut actions);
    let lookup = |action| match action {
        Action::Lookup(lookup) => Some(lookup),
        Action::Publish(_) => None,
    };
    actions.into_iter().filter_map(lookup).collect()
}

fn engine(in_flight: usize, pace: Pace) -> Engine {
    Engine::new(Settings { upstreams: vec![1], in_flight, pace, seed: 3 })
}

fn of(owner: u32) -> Want {
    Want { owner, hold: Hold::default() }
}

#[test]
fn an_owner_with_many_targets_does_not_keep_those_of_another_waiting() {
    let mut engine = engine(10, Pace::default());
    for number in 0..1_000 {
        engine.step(Event::Wanted(numbered(number, Group::DEFAULT), of(1)), NOW);
    }
    let first = lookups(&mut engine, NOW);
    assert_eq!(first.len(), 10);
    engine.step(Event::Wanted(numbered(5_000, Group::DEFAULT), of(2)), NOW);
    let done = |lookup: &Lookup| Report {
        target: lookup.target.clone(),
        family: lookup.family,
        ticket: lookup.ticket,
        answer: Answer::direct(Some(Upstream(0)), Outcome::NoData { ttl: Some(60) }),
    };
    for lookup in first.iter().take(4) {
        engine.step(Event::Done(done(lookup)), NOW);
    }
    let next = lookups(&mut engine, NOW);
    let late = numbered(5_000, Group::DEFAULT);
    assert_eq!(next.iter().filter(|lookup| lookup.target == late).count(), 2, "both families: {next:?}");
}

#[test]
fn an_owner_over_its_rate_is_told_so_and_others_are_not() {
    let pace = Pace { owner_rate: 10, owner_burst: 20, ..Pace::default() };
    let mut engine = engine(MAX_IN_FLIGHT, pace);
    for number in 0..100 {
        engine.step(Event::Wanted(numbered(number, Group::DEFAULT), of(1)), NOW);
    }
    engine.step(Event::Wanted(numbered(5_000, Group::DEFAULT), of(2)), NOW);
    let made = lookups(&mut engine, NOW);
    let late = numbered(5_000, Group::DEFAULT);
    assert_eq!(made.len(), 22);
    assert_eq!(made.iter().filter(|lookup| lookup.target == late).count(), 2);
    let limited =
        |engine: &Engine| engine.statuses().filter(|status| status.entry.a.state == AliasState::RateLimited).count();
    assert_eq!(limited(&engine), 90);
    // They come to it at the rate.
    let mut all = 0;
    for second in 1..=10 {
        all += lookups(&mut engine, NOW.plus_seconds(second)).len();
    }
    assert!((80..=110).contains(&all), "{all}");
}

#[test]
fn a_group_without_upstreams_resolves_nothing_and_leaves_others_alone() {
    let mut engine =
        Engine::new(Settings { upstreams: vec![1, 0], in_flight: MAX_IN_FLIGHT, pace: Pace::default(), seed: 3 });
    for group in [Group::DEFAULT, Group(1), Group::UNKNOWN] {
        engine.step(Event::Wanted(numbered(1, group), of(1)), NOW);
    }
    let made = lookups(&mut engine, NOW);
    assert!(made.len() == 2 && made.iter().all(|lookup| lookup.target.group == Group::DEFAULT), "{made:?}");
    for group in [Group(1), Group::UNKNOWN] {
        let status = engine.status(&numbered(1, group)).expect("it is known");
        assert_eq!(status.entry.state(), RecordState::Is(AliasState::NoResolver));
    }
}

/// Known before the start: fetched so many seconds ago with 60 s.
fn known(number: usize, age: u64) -> Arc<AliasEntry> {
    let fetched = Moment(NOW.0 - age * 1_000);
    let answer = FamilyAnswer {
        state: AliasState::Resolved,
        addresses: Addresses::new(&[192, 0, 2, 10], Family::A),
        last_ok: Some(fetched),
        checked: Some(fetched),
        ttl: 60,
        highest_ttl: 60,
        ..FamilyAnswer::pending(fetched)
    };
    let mut entry = AliasEntry::pending(numbered(number, Group::DEFAULT), fetched);
    entry.a = answer.clone();
    entry.aaaa = FamilyAnswer { state: AliasState::NoData, addresses: Addresses::default(), ..answer };
    Arc::new(entry)
}

#[test]
fn after_a_restart_what_nobody_asks_for_is_refreshed_two_hundred_a_second() {
    let mut engine = engine(MAX_IN_FLIGHT, Pace::default());
    for number in 0..1_000 {
        engine.step(Event::Restored(known(number, 3_600)), NOW);
        engine.step(Event::Wanted(numbered(number, Group::DEFAULT), of(1)), NOW);
    }
    assert_eq!(lookups(&mut engine, NOW), [], "they are served stale meanwhile");
    let mut counts = Vec::new();
    for second in 1..=10 {
        counts.push(lookups(&mut engine, NOW.plus_seconds(second)).len());
    }
    assert_eq!(counts, [200; 10]);
    // One that a query meets goes first.
    let mut engine = self::engine(MAX_IN_FLIGHT, Pace::default());
    for number in 0..1_000 {
        let entry = known(number, 3_600);
        engine.step(Event::Restored(entry.clone()), NOW);
        engine.step(Event::Wanted(numbered(number, Group::DEFAULT), of(1)), NOW);
        if number == 999 {
            entry.asked.note(Family::A, NOW);
        }
    }
    engine.step(Event::Hint(numbered(999, Group::DEFAULT)), NOW);
    let first = lookups(&mut engine, NOW);
    assert_eq!(first.iter().map(|lookup| &lookup.target).collect::<Vec<_>>(), [&numbered(999, Group::DEFAULT)]);
}

#[test]
fn what_was_known_before_the_start_keeps_its_time_and_is_not_asked_before_it_is_over() {
    let mut engine = engine(MAX_IN_FLIGHT, Pace::default());
    engine.step(Event::Restored(known(1, 10)), NOW);
    engine.step(Event::Wanted(numbered(1, Group::DEFAULT), of(1)), NOW);
    assert_eq!(lookups(&mut engine, NOW), []);
    let entry = engine.status(&numbered(1, Group::DEFAULT)).expect("it is known").entry;
    assert_eq!(entry.a.expires(Hold::default()), NOW.plus_seconds(50));
    // What no record leads to goes after a minute.
    let mut engine = self::engine(MAX_IN_FLIGHT, Pace::default());
    engine.step(Event::Restored(known(1, 10)), NOW);
    assert_eq!(lookups(&mut engine, NOW.plus_seconds(59)), []);
    assert_eq!(engine.len(), 1);
    assert_eq!(lookups(&mut engine, NOW.plus_seconds(61)), []);
    assert!(engine.is_empty());
}
