//! Rates of the last ten minutes and the most frequent names that fail: one look at the counters every two seconds, which
//! the query path does not notice.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::top::Top;
use crate::api::ApiState;
use crate::net::{Counters, Failure};
use crate::wire::codes::Rcode;

/// How often the counters are looked at.
pub(super) const PERIOD: Duration = Duration::from_secs(2);
/// Looks that are kept: ten minutes.
pub(super) const LOOKS: usize = 300;
/// Looks after which what was counted of a name is halved: five minutes.
const FADE: usize = 150;

/// Per second, between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rate {
    pub(super) noerror: f64,
    pub(super) nxdomain: f64,
    pub(super) servfail: f64,
    pub(super) other: f64,
    /// Revisions.
    pub(super) writes: f64,
}

impl Rate {
    /// Of all responses.
    pub(super) fn all(&self) -> f64 {
        self.noerror + self.nxdomain + self.servfail + self.other
    }
}

/// Sums at one look.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    noerror: u64,
    nxdomain: u64,
    servfail: u64,
    other: u64,
    revision: u64,
}

#[derive(Debug, Default)]
struct Kept {
    rates: VecDeque<Rate>,
    last: Option<(Instant, Sums)>,
    no_name: Top,
    failed: Top,
    looks: usize,
}

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<Kept>);

impl Rates {
    /// Begins to look, until the last of the views is gone. Outside a runtime nothing is looked at.
    pub(super) fn start(state: &ApiState) -> Arc<Rates> {
        let rates = Arc::new(Rates::default());
        if tokio::runtime::Handle::try_current().is_ok() {
            let kept = Arc::downgrade(&rates);
            tokio::spawn(run(kept, state.counters.clone(), state.handle.clone()));
        }
        rates
    }

    fn look(&self, counters: &Counters, revision: u64) {
        let mut sums = Sums { revision, ..Sums::default() };
        for one in counters.totals().responses {
            match one.rcode {
                Rcode::NOERROR => sums.noerror += one.count,
                Rcode::NXDOMAIN => sums.nxdomain += one.count,
                Rcode::SERVFAIL => sums.servfail += one.count,
                _ => sums.other += one.count,
            }
        }
        let failing = counters.take_failing();
        let at = Instant::now();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (failure, name, weight) in failing {
            match failure {
                Failure::NoName => kept.no_name.add(name, u64::from(weight)),
                Failure::Failed => kept.failed.add(name, u64::from(weight)),
            }
        }
        kept.looks += 1;
        if kept.looks.is_multiple_of(FADE) {
            kept.no_name.fade();
            kept.failed.fade();
        }
        if let Some((before, old)) = kept.last {
            let seconds = (at - before).as_secs_f64().max(0.001);
            let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
            if kept.rates.len() == LOOKS {
                kept.rates.pop_front();
            }
            kept.rates.push_back(Rate {
                noerror: per_second(sums.noerror, old.noerror),
                nxdomain: per_second(sums.nxdomain, old.nxdomain),
                servfail: per_second(sums.servfail, old.servfail),
                other: per_second(sums.other, old.other),
                writes: per_second(sums.revision, old.revision),
            });
        }
        kept.last = Some((at, sums));
    }

    /// The rates, oldest first.
    pub(super) fn rates(&self) -> Vec<Rate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rates.iter().copied().collect()
    }

    /// The most frequent names without an answer, and those at which the server failed.
    pub(super) fn top(&self, most: usize) -> [Vec<(String, u64)>; 2] {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        [kept.no_name.first(most), kept.failed.first(most)]
    }
}

async fn run(rates: Weak<Rates>, counters: Arc<Counters>, handle: crate::control::Handle) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(rates) = rates.upgrade() else { return };
        let revision = *handle.revisions().borrow();
        rates.look(&counters, revision);
    }
}
