//! What is asked, known and served as time passes.

use tenured::alias::engine::{Action, Engine, Event, MAX_IN_FLIGHT, Settings};
use tenured::alias::lookup::{Answer, Failure, Outcome, Report};
use tenured::wire::codes::ExtendedError;
use tenured::zone::alias::{AliasState, Family, Moment, RecordState};
use tenured::zone::policy::Hold;
use tenured::zone::served::Served;

use crate::timeline::{TARGET, Timeline, WANT, address, name_error, no_data, target, v6_address};

fn addresses(ttl: u32, stale: bool) -> (Vec<u8>, u32, bool) {
    (vec![192, 0, 2, 10], ttl, stale)
}

fn shown(served: Served<'_>) -> (Vec<u8>, u32, bool) {
    match served {
        Served::Addresses { addresses, ttl, stale } => {
            (addresses.iter(Family::A).flatten().copied().collect(), ttl, stale)
        }
        other => panic!("no addresses: {other:?}"),
    }
}

/// Two upstreams, an A of 60 s, no AAAA, resolved at the start.
fn healthy(upstreams: u8) -> Timeline {
    let mut time = Timeline::new(upstreams);
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, no_data());
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(100);
    time
}

#[test]
fn the_incident_a_target_is_torn_down_and_its_alias_left_behind() {
    let mut time = healthy(2);
    assert_eq!(shown(time.dig(Family::A)), addresses(59, false));
    assert_eq!(time.dig(Family::Aaaa), Served::NoData { soa_cap: 300, error: None });

    // The target is torn down. Until the refresh nothing changes.
    time.all_say(Family::A, name_error());
    time.all_say(Family::Aaaa, name_error());
    time.pass(55_000);
    assert!(matches!(time.dig(Family::A), Served::Addresses { stale: false, .. }));

    // The first server says NXDOMAIN; the second is slow.
    time.says.remove(&(1, Family::A));
    time.says.remove(&(1, Family::Aaaa));
    time.pass(8_000);
    assert_eq!(time.state(Family::A), AliasState::Suspect);
    assert_eq!(shown(time.dig(Family::A)), addresses(30, true));

    // The second confirms.
    time.all_say(Family::A, name_error());
    time.all_say(Family::Aaaa, name_error());
    time.pass(10_000);
    assert!(time.asked_since(60_000, Family::A).iter().any(|(_, upstream)| *upstream == 1));
    let dead = Served::NoData { soa_cap: 60, error: Some((ExtendedError::OTHER, "alias target does not exist")) };
    assert_eq!(time.dig(Family::A), dead);
    assert_eq!(time.dig(Family::Aaaa), dead);
    assert_eq!(time.entry().state(), RecordState::Is(AliasState::TargetNxdomain));
    let since = time.family(Family::A).since;

    // It stays so, whatever fails meanwhile.
    time.pass(70_000);
    time.says.clear();
    time.pass(300_000);
    assert_eq!(time.dig(Family::A), dead);
    assert_eq!(time.family(Family::A).since, since);

    // The target comes back.
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, no_data());
    time.pass(80_000);
    assert_eq!(time.entry().state(), RecordState::Resolved);
    assert!(matches!(time.dig(Family::A), Served::Addresses { stale: false, .. }));
}

#[test]
fn a_record_that_goes_takes_its_lookups_with_it_and_soon_its_entry() {
    let mut time = healthy(2);
    time.event(Event::Unwanted(target(TARGET), WANT));
    let gone = time.elapsed();
    time.pass(59_000);
    assert!(time.table.entry(&target(TARGET)).is_some());
    time.pass(2_000);
    assert!(time.table.is_empty());
    assert!(time.engine.is_empty());
    time.pass(600_000);
    assert!(time.asked_since(gone, Family::A).is_empty());
}

#[test]
fn a_record_that_comes_back_in_time_finds_its_entry_warm() {
    let mut time = healthy(1);
    time.event(Event::Unwanted(target(TARGET), WANT));
    time.pass(30_000);
    time.event(Event::Wanted(target(TARGET), WANT));
    assert!(matches!(time.dig(Family::A), Served::Addresses { stale: false, .. }));
    time.pass(90_000);
    assert!(matches!(time.dig(Family::A), Served::Addresses { stale: false, .. }));
}

#[test]
fn one_nxdomain_changes_no_answer_and_a_second_server_that_disagrees_ends_the_doubt() {
    let mut time = healthy(2);
    time.says.insert((0, Family::A), name_error());
    time.pass(65_000);
    assert_eq!(time.state(Family::A), AliasState::Resolved);
    assert!(matches!(time.dig(Family::A), Served::Addresses { stale: false, .. }));
    let asked = time.asked_since(50_000, Family::A);
    assert_eq!(asked.iter().map(|(_, upstream)| *upstream).collect::<Vec<_>>(), [0, 1]);
    assert!(asked[1].0 - asked[0].0 < 100, "the other server is asked at once");
}

#[test]
fn the_only_server_is_asked_again_after_thirty_seconds_before_it_is_believed() {
    let mut time = healthy(1);
    time.all_say(Family::A, name_error());
    time.all_say(Family::Aaaa, name_error());
    time.pass(63_000);
    assert_eq!(time.state(Family::A), AliasState::Suspect);
    assert_eq!(shown(time.dig(Family::A)), addresses(30, true));
    time.pass(25_000);
    assert_eq!(time.state(Family::A), AliasState::Suspect);
    time.pass(8_000);
    assert_eq!(time.state(Family::A), AliasState::TargetNxdomain);
    let asked = time.asked_since(50_000, Family::A);
    assert!((30_000..30_100).contains(&(asked[1].0 - asked[0].0)), "{asked:?}");
}

#[test]
fn a_failure_leaves_a_doubt_as_it_is() {
    let mut time = healthy(2);
    time.all_say(Family::A, Outcome::Failed(Failure::ServFail));
    time.says.insert((0, Family::A), name_error());
    time.pass(64_000);
    assert_eq!(time.state(Family::A), AliasState::Suspect);
    time.pass(20_000);
    assert_eq!(time.state(Family::A), AliasState::Suspect);
    // Nobody else can tell, so after thirty seconds the first server may confirm itself.
    time.all_say(Family::Aaaa, name_error());
    time.pass(60_000);
    assert_eq!(time.state(Family::A), AliasState::TargetNxdomain);
}

#[test]
fn nxdomain_for_one_family_of_a_name_that_has_the_other_is_no_data() {
    let mut time = Timeline::new(2);
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, name_error());
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(1_000);
    assert_eq!(time.state(Family::A), AliasState::Resolved);
    assert_eq!(time.state(Family::Aaaa), AliasState::NoData);
    time.pass(3_600_000);
    assert_eq!(time.state(Family::A), AliasState::Resolved);
    assert_ne!(time.state(Family::Aaaa), AliasState::TargetNxdomain);
}

#[test]
fn a_target_that_never_existed_is_known_to_be_dead() {
    for upstreams in [1, 2] {
        let mut time = Timeline::new(upstreams);
        time.all_say(Family::A, name_error());
        time.all_say(Family::Aaaa, name_error());
        time.event(Event::Wanted(target(TARGET), WANT));
        time.pass(100);
        assert!(matches!(time.dig(Family::A), Served::NoData { error: Some(_), .. }), "{upstreams}");
        time.pass(32_000);
        assert_eq!(time.entry().state(), RecordState::Is(AliasState::TargetNxdomain), "{upstreams}");
    }
}

#[test]
fn upstreams_killed_the_last_answer_is_served_for_a_day_and_then_no_longer() {
    let mut time = healthy(2);
    time.says.clear();
    time.pass(70_000);
    assert_eq!(time.state(Family::A), AliasState::Timeout);
    for _ in 0..287 {
        time.pass(300_000);
        assert_eq!(shown(time.dig(Family::A)), addresses(30, true));
    }
    time.pass(600_000);
    assert!(
        matches!(time.dig(Family::A), Served::ServFail { error } if error.0 == ExtendedError::NO_REACHABLE_AUTHORITY)
    );
}

#[test]
fn failing_lookups_back_off_to_a_minute() {
    let mut time = Timeline::new(1);
    time.all_say(Family::A, Outcome::Failed(Failure::Refused));
    time.all_say(Family::Aaaa, no_data());
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(600_000);
    let asked = time.asked_since(0, Family::A);
    for (pair, seconds) in asked.windows(2).zip([2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]) {
        let waited = (pair[1].0 - pair[0].0) as f64 / 1_000.0;
        assert!((seconds * 0.75..=seconds * 1.25 + 0.1).contains(&waited), "{waited} for {seconds}");
    }
    assert!(asked.len() < 17);
    assert!(matches!(time.dig(Family::A), Served::ServFail { .. }));
    assert_eq!(time.state(Family::A), AliasState::Refused);
}

#[test]
fn families_fail_apart() {
    let mut time = Timeline::new(1);
    time.all_say(Family::A, address(60));
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(100);
    assert_eq!(shown(time.dig(Family::A)), addresses(59, false));
    assert_eq!(time.dig(Family::Aaaa), Served::Pending);
    time.pass(4_000);
    // AAAA times out beside a healthy A: no failure for clients that ask both.
    assert!(matches!(time.dig(Family::Aaaa), Served::NoData { soa_cap: 5, error: Some(_) }));
    assert_eq!(time.entry().state(), RecordState::Partial);
    // Now everything is dead: A is stale, AAAA as before.
    time.says.clear();
    time.pass(120_000);
    assert_eq!(shown(time.dig(Family::A)), addresses(30, true));
    assert!(matches!(time.dig(Family::Aaaa), Served::NoData { soa_cap: 5, error: Some(_) }));
}

#[test]
fn an_entry_is_refreshed_just_after_it_expires() {
    let mut time = healthy(1);
    time.pass(600_000);
    let asked = time.asked_since(0, Family::A);
    assert!((9..=10).contains(&(asked.len() - 1)), "{asked:?}");
    for pair in asked.windows(2) {
        let waited = pair[1].0 - pair[0].0;
        assert!((60_000..=62_100).contains(&waited), "{waited}");
    }
    // NODATA of 900 s is held for the highest negative time of 300.
    assert_eq!(time.asked_since(0, Family::Aaaa).len(), 2);
}

#[test]
fn with_a_target_of_sixty_seconds_no_ttl_below_fifteen_is_served_for_an_hour() {
    let mut time = healthy(1);
    for _ in 0..36_000 {
        time.pass(100);
        match time.dig(Family::A) {
            Served::Addresses { ttl, stale: false, .. } => assert!(ttl >= 15, "{ttl}"),
            found => panic!("{found:?} after {}", time.elapsed()),
        }
    }
}

#[test]
fn holds_are_bounded_and_the_highest_of_eight_is_remembered() {
    let mut time = Timeline::new(1);
    time.all_say(Family::Aaaa, no_data());
    time.all_say(Family::A, address(0));
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(100);
    assert_eq!(time.family(Family::A).longest_hold(Hold::default()), 5);
    time.all_say(Family::A, address(604_800));
    time.pass(7_000);
    assert_eq!(time.family(Family::A).longest_hold(Hold::default()), 3_600);
    time.all_say(Family::A, address(60));
    time.pass(3_610_000 + 5 * 62_000);
    assert_eq!(time.family(Family::A).longest_hold(Hold::default()), 3_600);
    time.pass(240_000);
    assert_eq!(time.family(Family::A).longest_hold(Hold::default()), 60);
}

#[test]
fn one_lookup_of_an_entry_is_in_flight_whoever_asks() {
    let mut time = Timeline::new(1);
    for _ in 0..1_000 {
        time.event(Event::Hint(target(TARGET)));
        time.event(Event::Wanted(target(TARGET), WANT));
        time.event(Event::Refresh(target(TARGET)));
    }
    assert_eq!(time.asked_since(0, Family::A).len(), 1);
    assert_eq!(time.asked_since(0, Family::Aaaa).len(), 1);
}

#[test]
fn the_same_entry_is_not_asked_twice_in_two_seconds_on_request() {
    let mut time = healthy(1);
    time.event(Event::Refresh(target(TARGET)));
    time.pass(1_000);
    time.event(Event::Refresh(target(TARGET)));
    time.pass(5_000);
    let asked = time.asked_since(0, Family::A);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].0 - asked[0].0 >= 2_000);
}

#[test]
fn a_hint_makes_an_entry_that_is_forgotten_a_minute_after_the_last() {
    let mut time = Timeline::new(1);
    time.all_say(Family::A, address(60));
    time.all_say(Family::Aaaa, v6_address(60));
    time.event(Event::Hint(target(TARGET)));
    time.pass(50_000);
    time.event(Event::Hint(target(TARGET)));
    time.pass(50_000);
    assert!(matches!(time.dig(Family::A), Served::Addresses { .. }));
    time.pass(11_000);
    assert!(time.table.is_empty());
}

#[test]
fn loops_and_filtered_addresses_are_states_of_their_own() {
    for (outcome, state) in [
        (Outcome::Loop, AliasState::Loop),
        (Outcome::ChainTooLong, AliasState::ChainTooLong),
        (Outcome::Addresses { octets: vec![10, 0, 0, 1], ttl: 60 }, AliasState::Filtered),
    ] {
        let mut time = healthy(1);
        time.all_say(Family::A, outcome);
        time.pass(65_000);
        assert_eq!(time.state(Family::A), state);
        assert!(matches!(time.dig(Family::A), Served::NoData { soa_cap: 60, error: Some(_) }));
        time.all_say(Family::A, address(60));
        time.pass(65_000);
        assert_eq!(time.state(Family::A), AliasState::Resolved);
    }
}

#[test]
fn without_upstreams_targets_say_so_and_nobody_is_asked() {
    let mut time = Timeline::new(0);
    time.event(Event::Wanted(target(TARGET), WANT));
    time.pass(600_000);
    assert_eq!(time.state(Family::A), AliasState::NoResolver);
    assert!(matches!(time.dig(Family::A), Served::ServFail { error } if error.0 == ExtendedError::INVALID_DATA));
    assert!(time.asked.is_empty());
}

#[test]
fn changes_are_published_in_batches_but_what_a_query_waits_for_at_once() {
    let mut time = Timeline::new(1);
    time.all_say(Family::A, address(5));
    time.all_say(Family::Aaaa, no_data());
    for number in 0..500 {
        time.event(Event::Wanted(target(&format!("host-{number}.proxy.test.")), WANT));
    }
    time.pass(10);
    assert_eq!(time.table.len(), 500);
    assert!(time.table.iter().all(|entry| entry.a.state == AliasState::Resolved));
    // Refreshes of 500 targets within half a second of jitter: no more batches than fit 50 ms apart.
    let before = time.batches;
    time.pass(6_000);
    assert!(time.batches - before <= 21, "{}", time.batches - before);
    assert!(time.table.iter().all(|entry| entry.a.expires(Hold::default()) > time.now));
}

#[test]
fn lookups_in_flight_are_bounded_and_new_targets_go_first() {
    let settings = Settings { upstreams: vec![1], in_flight: MAX_IN_FLIGHT, pace: Default::default(), seed: 1 };
    let mut engine = Engine::new(settings);
    let now = Moment(1_000_000);
    for number in 0..MAX_IN_FLIGHT {
        engine.step(Event::Wanted(target(&format!("host-{number}.proxy.test.")), WANT), now);
    }
    let mut actions = Vec::new();
    engine.actions(now, &mut actions);
    let lookups: Vec<_> = actions
        .into_iter()
        .filter_map(|action| match action {
            Action::Lookup(lookup) => Some(lookup),
            Action::Publish(_) => None,
        })
        .collect();
    assert_eq!(lookups.len(), MAX_IN_FLIGHT);
    let first = lookups[0].clone();
    let report = Report {
        target: first.target.clone(),
        family: first.family,
        ticket: first.ticket,
        answer: Answer::direct(None, address(5)),
    };
    engine.step(Event::Done(report.clone()), now);
    // Said twice, it counts once.
    let later = now.plus_seconds(60);
    let mut actions = Vec::new();
    engine.actions(later, &mut actions);
    let next: Vec<_> = actions.iter().filter(|action| matches!(action, Action::Lookup(_))).collect();
    assert!(matches!(next[..], [Action::Lookup(lookup)] if lookup.target != first.target));
}

#[test]
fn a_clock_that_is_set_back_leaves_no_target_unasked() {
    let mut time = healthy(1);
    time.now = Moment(time.now.0 - 86_400_000);
    time.start = time.now;
    time.asked.clear();
    // The actor looks at the clock once a second.
    time.pass(1_000);
    time.pass(70_000);
    assert!(!time.asked_since(0, Family::A).is_empty());
    assert!(matches!(time.dig(Family::A), Served::Addresses { ttl: 15..=60, stale: false, .. }));
}
