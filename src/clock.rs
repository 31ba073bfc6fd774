//! What time it is: the system's clock, or one that tests turn by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::zone::alias::Moment;

/// A source of [`Moment`]s. Clones of a manual clock show the same time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system's wall clock.
    System,
    /// A clock that stands still until it is set: milliseconds since 1970.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// A manual clock at `start`.
    pub fn manual(start: Moment) -> Clock {
        Clock::Manual(Arc::new(AtomicU64::new(start.0)))
    }

    /// The time now. Before 1970 it is 1970.
    pub fn now(&self) -> Moment {
        match self {
            Clock::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
            }
            Clock::Manual(milliseconds) => Moment(milliseconds.load(Ordering::Relaxed)),
        }
    }

    /// Sets a manual clock forward; the system's clock is left alone.
    pub fn advance(&self, milliseconds: u64) {
        match self {
            Clock::System => {}
            Clock::Manual(now) => {
                now.fetch_add(milliseconds, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_systems_clock_is_read_anew_each_time() {
        let first = Clock::System.now();
        let start = Instant::now();
        while Clock::System.now() == first {
            assert!(start.elapsed() < Duration::from_millis(100), "a tick at least every 100 ms");
        }
        let manual = Clock::manual(Moment(5));
        manual.clone().advance(7);
        assert_eq!(manual.now(), Moment(12));
    }
}
