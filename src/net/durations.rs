//! How long answers take, measured now and then: one batch in so many, so that the clock is not asked for each query.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// One in so many is measured.
const EVERY: u32 = 64;
/// Upper bounds of the buckets, in nanoseconds; one more is above them all.
const BOUNDS: [u64; 12] =
    [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000, 100_000_000];

/// Whose turn it is to be measured.
#[derive(Debug, Default)]
pub(super) struct Turn(AtomicU32);

impl Turn {
    /// Whether this one is measured. Two threads that count at once may count one.
    #[inline]
    pub(super) fn begins(&self) -> bool {
        let turn = self.0.load(Ordering::Relaxed);
        self.0.store(turn.wrapping_add(1), Ordering::Relaxed);
        turn.is_multiple_of(EVERY)
    }
}

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Durations {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// What was measured, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurationTotals {
    /// All times together, in nanoseconds.
    pub sum: u64,
    /// How many were measured.
    pub count: u64,
    /// Upper bounds in nanoseconds, the last one the highest number, and how many fell between it and the one before.
    pub buckets: Vec<(u64, u64)>,
}

impl Durations {
    /// So many queries were answered in this time, together.
    pub(super) fn observe(&self, time: Duration, queries: u64) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let Some(each) = nanoseconds.checked_div(queries) else { return };
        let place = BOUNDS.iter().position(|bound| each <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[place].fetch_add(queries, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    pub(super) fn totals(&self) -> DurationTotals {
        let counts: Vec<u64> = self.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let bounds = BOUNDS.into_iter().chain([u64::MAX]);
        DurationTotals {
            sum: self.nanoseconds.load(Ordering::Relaxed),
            count: counts.iter().sum(),
            buckets: bounds.zip(counts).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_for_each_of_its_queries_and_one_in_64_is_measured() {
        let durations = Durations::default();
        durations.observe(Duration::from_micros(64), 64);
        durations.observe(Duration::from_secs(9), 1);
        durations.observe(Duration::ZERO, 0);
        let totals = durations.totals();
        assert_eq!((totals.count, totals.buckets[1], totals.buckets[12].1), (65, (1_000, 64), 1));
        let turn = Turn::default();
        assert_eq!((0..640).filter(|_| turn.begins()).count(), 10);
    }
}
