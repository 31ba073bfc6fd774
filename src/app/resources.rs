//! Looks after what the machine gives: room on the store's disk, file descriptors, and a clock that goes on evenly. What
//! runs short is an alarm with what to do, and never un-readiness: names are answered as before.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};
use tokio::time::MissedTickBehavior;

use crate::api::Readiness;
use crate::clock::Clock;

/// How often it is looked.
const PERIOD: Duration = Duration::from_secs(5);
/// Less free room than this, or than one part in so many of the disk, is an alarm.
const FREE: u64 = 64 * 1024 * 1024;
const FREE_PART: u64 = 50;
/// An alarm above so many hundredths of the descriptors.
const DESCRIPTORS: u64 = 90;
/// Milliseconds that the wall clock may be off the steady one.
const TOLERATED: u64 = 5_000;
/// A clock that jumped and went on evenly for so long is taken as it is.
const BELIEVED: Duration = Duration::from_secs(3_600);

/// Looks until the server ends. `store` is the database file.
pub(super) fn watch(readiness: Readiness, store: &Path, clock: Clock) {
    let absolute = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
    let folder = absolute.parent().map_or_else(|| PathBuf::from("."), Path::to_owned);
    tokio::spawn(async move {
        let mut drift = Drift::new(clock.now().0, Instant::now());
        let mut turns = tokio::time::interval(PERIOD);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            readiness.tell("disk_space", disk(&folder));
            readiness.tell("file_descriptors", descriptors());
            readiness.tell("clock", drift.look(clock.now().0, Instant::now()));
        }
    });
}

fn disk(folder: &Path) -> Option<String> {
    // A folder that is gone is the store's alarm.
    let disk = rustix::fs::statvfs(folder).ok()?;
    let (free, all) = (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize));
    (free < FREE.min(all / 4) || free < all / FREE_PART).then(|| {
        format!(
            "{} MiB are free on the disk of the store: make room, or writes will be refused; they come back by themselves",
            free / (1024 * 1024)
        )
    })
}

fn descriptors() -> Option<String> {
    let limit = getrlimit(Resource::Nofile).current?;
    let used = match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries.count() as u64,
        // Not even one is left to count them with.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => limit,
        Err(_) => return None,
    };
    (used.saturating_mul(100) >= limit.saturating_mul(DESCRIPTORS)).then(|| {
        format!(
            "{used} of {limit} file descriptors are in use, and new connections wait: raise the limit (LimitNOFILE), or lower \
             dns.tcp_connections"
        )
    })
}

/// How far the wall clock is off the one that only goes on.
struct Drift {
    wall: u64,
    steady: Instant,
    since: Option<Instant>,
}

impl Drift {
    fn new(wall: u64, steady: Instant) -> Drift {
        Drift { wall, steady, since: None }
    }

    fn look(&mut self, wall: u64, steady: Instant) -> Option<String> {
        let passed = u64::try_from((steady - self.steady).as_millis()).unwrap_or(u64::MAX);
        let expected = self.wall.saturating_add(passed);
        let off = wall.abs_diff(expected);
        if off <= TOLERATED {
            // A clock that is slewed is followed, so that small steps never add up.
            *self = Drift::new(wall, steady);
            return None;
        }
        let since = *self.since.get_or_insert(steady);
        if steady - since >= BELIEVED {
            *self = Drift::new(wall, steady);
            return None;
        }
        let way = if wall > expected { "ahead" } else { "back" };
        Some(format!(
            "the clock jumped {way} by {} s: look at the time service; leases and quarantine go by the steady clock for an \
             hour, and then by the new time",
            off / 1_000
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_is_an_alarm_until_it_is_back_or_an_hour_has_passed() {
        const DAY: u64 = 86_400_000;
        let (start, wall) = (Instant::now(), 1_796_083_605_000_u64);
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut drift = Drift::new(wall, start);
        assert_eq!(drift.look(wall + 5_000, at(5)), None);
        assert_eq!(drift.look(wall + 14_900, at(10)), None, "a step that is tolerated");
        for (name, to) in
            [("ahead", wall + DAY), ("ahead", 4_294_967_296_000), ("ahead", 2_147_483_648_000), ("back", wall - DAY)]
        {
            let said = drift.look(to, at(15)).expect("an alarm");
            assert!(said.contains(name), "{said}");
        }
        assert_eq!(drift.look(wall + 25_000, at(20)), None, "it is back");
        assert!(drift.look(wall + DAY, at(25)).is_some());
        assert!(drift.look(wall + DAY + 3_000_000, at(3_025)).is_some());
        assert_eq!(drift.look(wall + DAY + 3_600_000, at(3_625)), None, "it is believed");
        assert_eq!(drift.look(wall + DAY + 3_605_000, at(3_630)), None);
    }
}
