//! What is done by the clock: ending leases, and purging what was long enough in quarantine. All times stand in the
//! store, so a restart loses none; every step is a command of the server itself and checks again what it was planned
//! for.

use std::time::{Duration, Instant};

use super::handle::{Handle, Request};
use super::{dead_targets, keys};
use crate::clock::Clock;
use crate::ledger::actor::Actor;
use crate::ledger::command::{Command, LeaseStep};
use crate::ledger::owner::OwnerId;
use crate::store::Reader;
use crate::zone::alias::Moment;
use crate::zone::walk::Trust;

/// How often the clock is looked at.
pub const TURN: Duration = Duration::from_secs(1);

/// After so many turns ALIAS records with dead targets are looked through: what is due counts in days.
const DEAD_TARGETS_EVERY: u32 = 60;
/// Milliseconds that the wall clock may be ahead without having jumped.
const TOLERATED: u64 = 5_000;
/// After this time a clock that jumped ahead is believed: owners had the time to renew by it.
const BELIEVED: Duration = Duration::from_secs(3_600);

/// The time that both clocks agree on: a wall clock that jumps ahead makes nothing due by itself.
#[derive(Clone, Debug)]
pub struct Steady {
    clock: Clock,
    started: Moment,
    since: Instant,
    /// Since when the wall clock is ahead.
    ahead: Option<Instant>,
}

impl Steady {
    /// From now on.
    pub fn new(clock: Clock) -> Steady {
        Steady { started: clock.now(), clock, since: Instant::now(), ahead: None }
    }

    /// The wall clock, but not further than the time that passed since the start; one that stays ahead for
    /// an hour is right.
    pub fn now(&mut self) -> Moment {
        let passed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (wall, steady) = (self.clock.now(), Moment(self.started.0.saturating_add(passed)));
        if wall.0 <= steady.0.saturating_add(TOLERATED) {
            self.ahead = None;
        } else if self.ahead.get_or_insert_with(Instant::now).elapsed() >= BELIEVED {
            *self = Steady::new(self.clock.clone());
            return wall;
        }
        wall.min(steady)
    }
}

/// Turns until the process ends.
pub async fn run(handle: Handle, reader: Reader, clock: Clock, trust: Trust) {
    let mut steady = Steady::new(clock);
    let mut turns = 0_u32;
    loop {
        let now = steady.now();
        turn(&handle, &reader, now).await;
        if turns.is_multiple_of(DEAD_TARGETS_EVERY) {
            dead_targets::turn(&handle, &reader, &trust, now).await;
            keys::turn(&handle, &reader, now).await;
        }
        turns = turns.wrapping_add(1);
        tokio::time::sleep(TURN).await;
    }
}

/// Does what is due at `now`. What fails is due again at the next turn.
pub async fn turn(handle: &Handle, reader: &Reader, now: Moment) {
    let (leases, purges) = match (reader.leases_due(now).await, reader.quarantine_due(now).await) {
        (Ok(leases), Ok(purges)) => (leases, purges),
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "the store does not say what is due");
            return;
        }
    };
    for step in leases {
        let owner = step.owner.clone();
        let what = match step.step {
            LeaseStep::Expire { .. } => "the lease ran out",
            LeaseStep::RunPolicy { .. } => "the grace of the lease is over",
        };
        submit(handle, Command::EndLease(step), &owner, what).await;
    }
    for purge in purges {
        let owner = purge.owner.clone();
        submit(handle, Command::Purge(purge), &owner, "quarantine is over").await;
    }
}

async fn submit(handle: &Handle, command: Command, owner: &OwnerId, what: &'static str) {
    let request = Request { command, actor: Actor::server(), dry_run: false, request_id: String::new() };
    match handle.submit(request).await {
        Ok(report) => tracing::info!(owner = ?owner.as_str(), records = report.results.len(), what, "by the clock"),
        Err(refusal) => tracing::warn!(owner = ?owner.as_str(), code = %refusal.code(), what, "not done by the clock"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_makes_nothing_due() {
        let clock = Clock::manual(Moment(1_000_000));
        let mut steady = Steady::new(clock.clone());
        clock.advance(10 * 365 * 24 * 60 * 60 * 1_000);
        assert!(steady.now().0 < 1_000_000 + 60_000);
    }
}
