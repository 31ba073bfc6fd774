//! RRsets that do not come to rest, found in their history (ownership.md section 4): what goes to and fro, what two
//! owners or tokens write in turn, and what is written again without change. Pure.

use std::collections::BTreeMap;

use crate::zone::alias::Moment;

/// Returns to a former value before an RRset counts as flapping: A→B→A→B→A→B→A, three turns.
pub const TURNS: usize = 3;
/// A gap between two events that is over so many times the median ends a run: what stopped long ago is not one rhythm
/// with what begins now.
const LONGEST_GAP: u64 = 10;

/// One change of an RRset, as history has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Moment,
    /// Token id.
    pub actor: String,
    /// Whose claim.
    pub owner: String,
    /// The claim before, in a form that is equal if the claims are; none if it was not there.
    pub before: Option<String>,
    /// The claim after.
    pub after: Option<String>,
}

/// How an RRset flaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// It goes to and fro between values, or comes and goes.
    Toggle,
    /// Two or more owners or tokens write it in turn.
    Contested,
    /// It is deleted and made again as it was, by one writer, at once.
    Rewrite,
}

impl Pattern {
    /// The word in the API.
    pub fn text(self) -> &'static str {
        match self {
            Pattern::Toggle => "toggle",
            Pattern::Contested => "contested",
            Pattern::Rewrite => "rewrite",
        }
    }
}

/// A flapping RRset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flap {
    /// How.
    pub pattern: Pattern,
    /// Tokens that write it, each with the owner it writes for, by first appearance.
    pub actors: Vec<(String, String)>,
    /// Turns: how often it came back to a former value.
    pub count: usize,
    /// Seconds from one turn to the next, the median; none if they have no rhythm.
    pub period_seconds: Option<u64>,
    /// When the run began.
    pub since: Moment,
    /// When it last turned.
    pub last: Moment,
    /// Which part of the claim differs: `presence`, or the keys that do, as `values`, `ttl`; empty for a rewrite.
    pub field: String,
}

/// Within this time a claim that goes and comes back as it was is one rewrite.
const AT_ONCE: u64 = 5_000;

/// Looks at the history of one name and type, oldest first. `differing` names the keys in which two claims differ.
pub fn detect(events: &[Event], differing: impl Fn(&str, &str) -> String) -> Option<Flap> {
    let events = last_run(events);
    let states = states(events);
    let turns: Vec<usize> = turns(&states);
    if turns.len() < TURNS {
        return None;
    }
    let (first, last) = (events.first()?, events.last()?);
    let mut actors: Vec<(String, String)> = Vec::new();
    for event in events {
        let one = (event.actor.clone(), event.owner.clone());
        if !actors.contains(&one) {
            actors.push(one);
        }
    }
    let at: Vec<u64> = turns.iter().filter_map(|turn| events.get(*turn)).map(|event| event.at.0).collect();
    let is_rewrite = actors.len() == 1
        && events.chunks_exact(2).all(|pair| {
            pair[0].after.is_none() && pair[0].before == pair[1].after && pair[1].at.0 - pair[0].at.0 <= AT_ONCE
        });
    let pattern = match (is_rewrite, actors.len()) {
        (true, _) => Pattern::Rewrite,
        (false, 0 | 1) => Pattern::Toggle,
        (false, _) => Pattern::Contested,
    };
    let differs = events.iter().rev().find_map(|event| match (&event.before, &event.after) {
        (Some(before), Some(after)) => Some(differing(before, after)),
        (None, _) | (_, None) => None,
    });
    let field = match pattern {
        Pattern::Rewrite => String::new(),
        Pattern::Toggle | Pattern::Contested => differs.unwrap_or_else(|| "presence".to_owned()),
    };
    let (since, last) = (first.at, last.at);
    Some(Flap { pattern, actors, count: turns.len(), period_seconds: period(&at), since, last, field })
}

/// The events after the last gap that is no part of the rhythm.
fn last_run(events: &[Event]) -> &[Event] {
    let gaps: Vec<u64> = events.windows(2).map(|pair| pair[1].at.0.saturating_sub(pair[0].at.0)).collect();
    // Two events of a turn may be close to each other: the longer gaps make the rhythm.
    let mut sorted = gaps.clone();
    sorted.sort_unstable();
    let usual = sorted.get(sorted.len() * 3 / 4).copied().unwrap_or(0).max(1_000);
    let start = gaps.iter().rposition(|gap| *gap > usual.saturating_mul(LONGEST_GAP)).map_or(0, |at| at + 1);
    &events[start..]
}

/// What the RRset was after each event: the claim of each owner. The first entry is what it was before all of them.
fn states(events: &[Event]) -> Vec<BTreeMap<&str, &str>> {
    let mut now: BTreeMap<&str, &str> = BTreeMap::new();
    for event in events.iter().rev() {
        match &event.before {
            Some(before) => drop(now.insert(&event.owner, before)),
            None => drop(now.remove(event.owner.as_str())),
        }
    }
    let mut states = vec![now.clone()];
    for event in events {
        match &event.after {
            Some(after) => drop(now.insert(&event.owner, after)),
            None => drop(now.remove(event.owner.as_str())),
        }
        states.push(now.clone());
    }
    states
}

/// Numbers of the events that bring back a state that was there before and had been left since.
fn turns(states: &[BTreeMap<&str, &str>]) -> Vec<usize> {
    let mut turns = Vec::new();
    let mut start = 0;
    for at in 1..states.len() {
        let came_back = (start..at.saturating_sub(1)).any(|one| states[one] == states[at]);
        if came_back && states[at - 1] != states[at] {
            turns.push(at - 1);
            // The next turn is one that begins here, so that A→B→A is one and not two.
            start = at;
        }
    }
    turns
}

/// The median time between turns in seconds, if half of the gaps are within a tenth of it.
fn period(at: &[u64]) -> Option<u64> {
    let mut gaps: Vec<u64> = at.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    let median = *gaps.get(gaps.len() / 2)?;
    let steady = gaps.iter().filter(|gap| gap.abs_diff(median) <= (median / 10).max(1_000)).count();
    (median >= 1_000 && steady * 2 >= gaps.len()).then_some((median + 500) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(seconds: u64, actor: &str, owner: &str, before: Option<&str>, after: Option<&str>) -> Event {
        let text = |one: Option<&str>| one.map(str::to_owned);
        Event {
            at: Moment(seconds * 1_000),
            actor: actor.to_owned(),
            owner: owner.to_owned(),
            before: text(before),
            after: text(after),
        }
    }

    fn found(events: &[Event]) -> Option<Flap> {
        detect(events, |_, _| "values".to_owned())
    }

    /// One actor deletes at the start of each period, the other makes it again 20 s later.
    fn delete_and_recreate(turns: u64, period: u64) -> Vec<Event> {
        let mut events = vec![event(0, "maker", "team-a", None, Some("x"))];
        for turn in 1..=turns {
            events.push(event(turn * period, "sweeper", "team-a", Some("x"), None));
            events.push(event(turn * period + 20, "maker", "team-a", None, Some("x")));
        }
        events
    }

    #[test]
    fn a_loop_that_deletes_and_recreates_is_found_within_three_turns_with_rhythm_and_actors() {
        assert_eq!(found(&delete_and_recreate(2, 600)), None);
        let flap = found(&delete_and_recreate(3, 600)).expect("three turns");
        assert_eq!((flap.pattern, flap.count, flap.period_seconds), (Pattern::Contested, 3, Some(600)));
        assert_eq!(
            flap.actors,
            [("maker", "team-a"), ("sweeper", "team-a")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!((flap.since, flap.field.as_str()), (Moment(0), "presence"));
    }

    #[test]
    fn what_grows_or_changes_once_or_in_one_direction_is_no_flap() {
        let name = |at: u64| format!("v{at}");
        let mut events = vec![event(0, "a", "o", None, Some("v0"))];
        events.extend((1..50).map(|at| event(at * 60, "a", "o", Some(&name(at - 1)), Some(&name(at)))));
        assert_eq!(found(&events), None);
        assert_eq!(found(&[]), None);
        assert_eq!(found(&events[..1]), None);
    }

    #[test]
    fn values_that_go_to_and_fro_are_a_toggle_and_say_which_field() {
        let mut events = vec![event(0, "a", "o", None, Some("x"))];
        for at in 1..=6 {
            let (before, after) = if at % 2 == 1 { ("x", "y") } else { ("y", "x") };
            events.push(event(at * 30, "a", "o", Some(before), Some(after)));
        }
        let flap = found(&events).expect("it toggles");
        assert_eq!((flap.pattern, flap.period_seconds, flap.field.as_str()), (Pattern::Toggle, Some(60), "values"));
    }

    #[test]
    fn deleting_and_making_at_once_is_a_rewrite() {
        let mut events = Vec::new();
        for at in 1..=4 {
            events.push(event(at * 60, "a", "o", Some("x"), None));
            events.push(event(at * 60 + 1, "a", "o", None, Some("x")));
        }
        let flap = found(&events).expect("it is rewritten");
        assert_eq!((flap.pattern, flap.count, flap.period_seconds), (Pattern::Rewrite, 4, Some(60)));
        assert_eq!(flap.field, "");
    }

    #[test]
    fn what_stopped_long_ago_is_not_one_run_with_what_happens_now() {
        let mut events = delete_and_recreate(3, 600);
        events.push(event(600_000, "maker", "team-a", Some("x"), Some("y")));
        assert_eq!(found(&events), None);
    }

    proptest! {
        #[test]
        fn every_steady_loop_of_two_is_reported_with_its_rhythm(turns in 3..40_u64, period in 60..100_000_u64) {
            let flap = found(&delete_and_recreate(turns, period)).expect("a loop");
            prop_assert_eq!(flap.count as u64, turns);
            prop_assert_eq!(flap.period_seconds, Some(period));
            prop_assert_eq!(flap.actors.len(), 2);
        }

        #[test]
        fn any_history_has_no_more_turns_than_events(
            raw in proptest::collection::vec((0..5_000_u64, 0..3_u8, 0..2_u8, proptest::option::of(0..4_u8)), 0..60),
        ) {
            let mut at = 0;
            let mut now: BTreeMap<u8, Option<u8>> = BTreeMap::new();
            let events: Vec<Event> = raw
                .into_iter()
                .map(|(gap, actor, owner, after)| {
                    at += gap;
                    let text = |value: Option<u8>| value.map(|value| value.to_string());
                    let before = now.insert(owner, after).flatten();
                    Event {
                        at: Moment(at * 1_000),
                        actor: actor.to_string(),
                        owner: owner.to_string(),
                        before: text(before),
                        after: text(after),
                    }
                })
                .collect();
            if let Some(flap) = found(&events) {
                prop_assert!(flap.count >= TURNS && flap.count * 2 <= events.len());
                prop_assert!(flap.since <= flap.last && !flap.actors.is_empty());
            }
        }
    }
}
