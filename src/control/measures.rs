//! How long the controller's steps take, in seconds, for `/metrics` (operations.md section 3).

use std::time::Instant;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// Histograms of the controller. Clones share them.
#[derive(Clone, Debug)]
pub struct Measures {
    /// COMMIT of a transaction, successful or not: 250 µs to 8 s, since a disk may do either.
    pub commit: Histogram,
    /// The swap of a Snapshot, with the end of the one before the last: 1 µs to 260 ms.
    pub publish: Histogram,
}

impl Measures {
    pub(super) fn new() -> Measures {
        Measures {
            commit: Histogram::new(exponential_buckets(0.000_25, 2.0, 16)),
            publish: Histogram::new(exponential_buckets(0.000_001, 4.0, 10)),
        }
    }
}

/// Notes the time since `started`.
pub(super) fn observe(histogram: &Histogram, started: Instant) {
    histogram.observe(started.elapsed().as_secs_f64());
}
