//! How many requests a token may make: 10,000 a second, 20,000 at once. A table of fixed size, so that tokens which share a
//! place share its rate.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::problem::Refused;
use crate::ledger::code::Code;

/// Places of the table.
pub const PLACES: usize = 4_096;
/// Requests of one token in a second.
pub const RATE: u32 = 10_000;
/// Requests of one token at once.
pub const BURST: u32 = 20_000;

/// The table. Clones share it.
#[derive(Clone, Debug)]
pub struct Pace(Arc<Table>);

#[derive(Debug)]
struct Table {
    hasher: RandomState,
    start: Instant,
    /// When the last of the requests that were made is forgotten, in nanoseconds after the start.
    clear_at: Mutex<Vec<u64>>,
}

impl Default for Pace {
    fn default() -> Pace {
        let clear_at = Mutex::new(vec![0; PLACES]);
        Pace(Arc::new(Table { hasher: RandomState::new(), start: Instant::now(), clear_at }))
    }
}

impl Pace {
    /// Counts a request of a token, or refuses it.
    pub fn judge(&self, token: &str) -> Result<(), Refused> {
        self.judge_at(token, self.0.start.elapsed())
    }

    fn judge_at(&self, token: &str, now: Duration) -> Result<(), Refused> {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let each = 1_000_000_000 / u64::from(RATE);
        let at = usize::try_from(self.0.hasher.hash_one(token) % PLACES as u64).unwrap_or_default();
        let mut places = self.0.clear_at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = places.get_mut(at) else { return Ok(()) };
        let used = place.saturating_sub(now);
        if used + each > u64::from(BURST) * each {
            let detail =
                format!("this token made over {RATE} requests a second: put more records into one request, or wait");
            return Err(Refused::new(Code::RateLimited, detail).retry_after(1));
        }
        *place = now + used + each;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_burst_and_then_its_rate_and_others_have_theirs() {
        let pace = Pace::default();
        let passed =
            |token: &str, at: Duration, count: u32| (0..count).filter(|_| pace.judge_at(token, at).is_ok()).count();
        assert_eq!(passed("one", Duration::ZERO, BURST), BURST as usize);
        assert_eq!(passed("one", Duration::ZERO, 1), 0, "one past the limit");
        assert_eq!(passed("another", Duration::ZERO, 10), 10);
        assert_eq!(passed("one", Duration::from_secs(1), BURST), RATE as usize);
        assert_eq!(passed("one", Duration::from_secs(60), BURST), BURST as usize);
    }
}
