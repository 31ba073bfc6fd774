//! What `/metrics` says about ALIAS (alias.md section 9): targets and records by their state, what queries got, what
//! upstreams said, and who waits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::metrics::Families;
use crate::alias::measures::{Counts, LookupTimes};
use crate::api::ApiState;
use crate::api::alias_view;
use crate::net::Totals;
use crate::zone::alias::{AliasEntry, AliasState, Family, Moment};
use crate::zone::policy::Hold;
use crate::zone::served::GRACE_SECONDS;
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::Trust;

/// How long the engine may take to tell what it counted; that is left out when it takes longer.
const ENGINE_TIME: Duration = Duration::from_secs(1);
/// For how long the states of records are good, at least, and how many times the time that it takes to find them.
const RECORDS_HOLD: (Duration, u32) = (Duration::from_secs(5), 20);

/// Records by their state.
type States = BTreeMap<&'static str, u64>;

/// Records by their state as they were found last: each record has to be walked for it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct RecordStates(Arc<Mutex<Option<Found>>>);

#[derive(Clone, Debug)]
struct Found {
    states: States,
    until: Instant,
}

impl RecordStates {
    async fn get(&self, snapshot: Arc<Snapshot>, trust: Arc<Trust>) -> States {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(Found { states, until }) = known
            && Instant::now() < until
        {
            return states;
        }
        let began = Instant::now();
        // Walking many records takes long enough to be in the way of other requests.
        let found = tokio::task::spawn_blocking(move || of_records(&snapshot, &trust)).await;
        let states = found.unwrap_or_default();
        let hold = RECORDS_HOLD.0.max(began.elapsed() * RECORDS_HOLD.1);
        let found = Found { states: states.clone(), until: Instant::now() + hold };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        states
    }
}

fn of_records(snapshot: &Snapshot, trust: &Trust) -> States {
    let mut states = States::new();
    for zone in snapshot.zones() {
        for node in zone.aliases().iter() {
            if let Some(state) = alias_view::state(snapshot, trust, zone, node) {
                *states.entry(state.text()).or_default() += 1;
            }
        }
    }
    states
}

/// All of it at one moment.
#[derive(Debug)]
pub(super) struct Aliases {
    targets: States,
    records: States,
    hints_dropped: u64,
    counts: Counts,
    times: Option<LookupTimes>,
    /// Seconds.
    stale_age: u64,
}

impl Aliases {
    pub(super) async fn take(state: &ApiState, snapshot: &Arc<Snapshot>) -> Aliases {
        let now = state.clock.now();
        let mut targets = States::new();
        let mut stale_age = 0;
        for entry in snapshot.alias.iter() {
            *targets.entry(entry.state().text()).or_default() += 1;
            stale_age = Family::BOTH.into_iter().map(|family| past(entry, family, now)).fold(stale_age, u64::max);
        }
        let counts = match &state.alias {
            Some(alias) => tokio::time::timeout(ENGINE_TIME, alias.counts()).await.ok().and_then(Result::ok),
            None => None,
        };
        Aliases {
            targets,
            records: state.record_states.get(snapshot.clone(), state.trust.clone()).await,
            hints_dropped: state.alias.as_ref().map_or(0, |alias| alias.hints_dropped()),
            counts: counts.unwrap_or_default(),
            times: state.alias.as_ref().map(|alias| alias.times().clone()),
            stale_age,
        }
    }

    pub(super) fn encode(&self, totals: &Totals, out: &mut Families<'_>) -> fmt::Result {
        let by_state = |states: &States| states.clone().into_iter().map(|(state, count)| ([("state", state)], count));
        let help = "Targets of ALIAS records outside the hosted zones, by state";
        out.gauges("tenured_alias_targets", help, by_state(&self.targets))?;
        out.gauges("tenured_alias_records", "ALIAS records by state", by_state(&self.records))?;
        let answers = totals.flattened.iter().map(|(serving, count)| ([("serving", serving.text())], *count));
        out.counters("tenured_alias_answers", "Responses that depended on an ALIAS, by what was served", answers)?;
        let upstreams: BTreeMap<(String, &str), u64> =
            self.counts.queries.iter().fold(BTreeMap::new(), |mut sums, one| {
                *sums.entry((one.upstream.to_string(), one.said.text())).or_default() += one.count;
                sums
            });
        let queries = upstreams
            .iter()
            .map(|((upstream, said), count)| ([("upstream", upstream.as_str()), ("result", said)], *count));
        out.counters("tenured_alias_upstream_queries", "Queries to upstream resolvers by what they said", queries)?;
        let help = "Wishes for a lookup that one already served which was on its way";
        out.counters("tenured_alias_coalesced", help, [([], self.counts.coalesced)])?;
        let help = "How far past their time addresses are that queries may get";
        out.gauge("tenured_alias_stale_age_seconds", help, self.stale_age)?;
        if let Some(times) = &self.times {
            out.histogram("tenured_alias_refresh_seconds", "Lookups of ALIAS targets", times.histogram())?;
        }
        out.gauge("tenured_alias_deferred", "Queries that wait for an ALIAS target", totals.deferred)?;
        let help = "Queries that waited for an ALIAS target in vain";
        out.counters("tenured_alias_deferred_expired", help, [([], totals.deferred_expired)])?;
        let help = "Hints of new ALIAS targets for which there was no room";
        out.counters("tenured_alias_hints_dropped", help, [([], self.hints_dropped)])
    }
}

/// For how many seconds the addresses of a family have been past their time, with the grace of a refresh; 0 where there
/// are none, or nothing is served of them by default any more.
fn past(entry: &AliasEntry, family: Family, now: Moment) -> u64 {
    let answer = entry.family(family);
    let lives = answer.state == AliasState::Resolved || answer.state.is_failure();
    if answer.addresses.is_empty() || !lives {
        return 0;
    }
    let fresh_until = answer.expires(Hold::default()).plus_seconds(GRACE_SECONDS);
    now.seconds_since(fresh_until)
}
