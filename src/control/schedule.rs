//! What is done by the clock: purging what was long enough in quarantine. All times stand in the store, so a restart
//! loses none; every step is a command of the server itself and checks again what it was planned for.

use std::time::{Duration, Instant};

use super::handle::{Handle, Request};
use crate::clock::Clock;
use crate::ledger::actor::Actor;
use crate::ledger::command::Command;
use crate::store::Reader;
use crate::zone::alias::Moment;

/// How often the clock is looked at.
pub const TURN: Duration = Duration::from_secs(10);

/// The time that both clocks agree on: a wall clock that jumps ahead makes nothing due by itself.
#[derive(Clone, Debug)]
pub struct Steady {
    clock: Clock,
    started: Moment,
    since: Instant,
}

impl Steady {
    /// From now on.
    pub fn new(clock: Clock) -> Steady {
        Steady { started: clock.now(), clock, since: Instant::now() }
    }

    /// The wall clock, but not further than the time that passed since the start.
    pub fn now(&self) -> Moment {
        let passed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clock.now().min(Moment(self.started.0.saturating_add(passed)))
    }
}

/// Turns until the process ends.
pub async fn run(handle: Handle, reader: Reader, clock: Clock) {
    let steady = Steady::new(clock);
    loop {
        turn(&handle, &reader, steady.now()).await;
        tokio::time::sleep(TURN).await;
    }
}

/// Does what is due at `now`. What fails is due again at the next turn.
pub async fn turn(handle: &Handle, reader: &Reader, now: Moment) {
    let due = match reader.quarantine_due(now).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "the store does not say what is due");
            return;
        }
    };
    for purge in due {
        let owner = purge.owner.clone();
        let request = Request {
            command: Command::Purge(purge),
            actor: Actor::server(),
            dry_run: false,
            request_id: String::new(),
        };
        match handle.submit(request).await {
            Ok(report) => {
                tracing::info!(owner = ?owner.as_str(), records = report.results.len(), "purged from quarantine");
            }
            Err(refusal) => tracing::warn!(owner = ?owner.as_str(), code = %refusal.code(), "not purged"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_makes_nothing_due() {
        let clock = Clock::manual(Moment(1_000_000));
        let steady = Steady::new(clock.clone());
        clock.advance(10 * 365 * 24 * 60 * 60 * 1_000);
        assert!(steady.now().0 < 1_000_000 + 60_000);
    }
}
