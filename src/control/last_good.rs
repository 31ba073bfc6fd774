//! The last-good file beside the store, `<database>.snapshot`, and the one before it, `.snapshot.1`: what a server answers
//! from when its store cannot be read. Written by a task of its own; a failed write is an alarm, never a failed command.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::terms::Terms;
use crate::clock::Clock;
use crate::store::open::beside;
use crate::wire::name::HashKey;
use crate::zone::alias::Moment;
use crate::zone::kept::{self, Head, Kept};
use crate::zone::published::Published;
use crate::zone::snapshot::Snapshot;

/// How often it is looked whether something changed.
const TURN: Duration = Duration::from_secs(1);
/// It is written when nothing changed for so long,
const QUIET: Duration = Duration::from_secs(10);
/// and at the latest so long after the first change that it does not have.
const LATEST: Duration = Duration::from_secs(300);
/// After a failure it is tried again so much later.
const AGAIN: Duration = Duration::from_secs(5);
/// Octets that are gathered before they are written.
const BUFFER: usize = 1024 * 1024;

/// How it stands with the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastGood {
    /// Its octets; 0 before the first one of this process.
    pub octets: u64,
    /// When it was written; none before the first one.
    pub written: Option<Moment>,
    /// Since when something is published that it does not have; none if it has all.
    pub behind: Option<Moment>,
    /// Why the last write failed, if it did.
    pub failure: Option<String>,
}

/// What is found at a start.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) kept: Option<Kept>,
    /// Sentences about files that are there and of no use.
    pub(super) unfit: Vec<String>,
}

/// Looks for a file that reads, the newer one first.
pub(super) fn search(database: &Path, key: HashKey, terms: &Terms) -> Search {
    let mut found = Search::default();
    for suffix in [".snapshot", ".snapshot.1"] {
        let path = beside(database, suffix);
        let octets = match std::fs::read(&path) {
            Ok(octets) => octets,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                found.unfit.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        match kept::read(&octets, key, |group| terms.group(Some(group))) {
            Ok(kept) => {
                found.kept = Some(kept);
                return found;
            }
            Err(unfit) => found.unfit.push(format!("{}: {}", path.display(), unfit.text())),
        }
    }
    found
}

/// Puts files of another store out of the way, without deleting anything but what was put there before.
pub(super) fn set_aside(database: &Path) {
    for suffix in [".snapshot", ".snapshot.1"] {
        let aside = beside(database, &format!("{suffix}.aside"));
        // Where there is none, there is nothing to keep.
        let _ = std::fs::rename(beside(database, suffix), aside);
    }
}

/// What the task needs.
pub(super) struct Saver {
    pub(super) database: PathBuf,
    pub(super) published: Published,
    /// Ends when the controller does.
    pub(super) revisions: watch::Receiver<u64>,
    pub(super) identity: watch::Receiver<String>,
    pub(super) terms: Arc<Terms>,
    pub(super) clock: Clock,
    pub(super) state: watch::Sender<LastGood>,
}

impl Saver {
    /// Writes whenever it is time, and once more when the controller ends. `saved` is what the file has already.
    pub(super) async fn run(mut self, mut saved: Option<Arc<Snapshot>>) {
        let mut turns = tokio::time::interval(TURN);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = self.published.get();
        let (mut changed, mut first) = (Instant::now() - QUIET, None);
        let mut earliest = Instant::now();
        loop {
            let ends = tokio::select! {
                _ = turns.tick() => false,
                // Wakes for each commit, which the next turn looks at.
                over = async { while self.revisions.changed().await.is_ok() {} } => { let () = over; true }
            };
            let now = Instant::now();
            let current = self.published.get();
            if !Arc::ptr_eq(&seen, &current) {
                (seen, changed) = (current.clone(), now);
            }
            if saved.as_ref().is_some_and(|saved| Arc::ptr_eq(saved, &current)) {
                if ends {
                    return;
                }
                continue;
            }
            if first.is_none() {
                let since = self.clock.now();
                self.state.send_modify(|state| state.behind = Some(since));
            }
            let since = *first.get_or_insert(now);
            if ends || (now >= earliest && (now - changed >= QUIET || now - since >= LATEST)) {
                if self.save(&current).await {
                    (saved, first) = (Some(current), None);
                } else {
                    earliest = now + AGAIN;
                }
            }
            if ends {
                return;
            }
        }
    }

    async fn save(&self, snapshot: &Arc<Snapshot>) -> bool {
        let now = self.clock.now();
        let identity = self.identity.borrow().clone();
        let (database, terms, snapshot) = (self.database.clone(), self.terms.clone(), snapshot.clone());
        let head =
            move || write(&database, &snapshot, Head { identity: &identity, written: now, groups: terms.groups() });
        let written = tokio::task::spawn_blocking(head).await;
        let written = written.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        self.state.send_modify(|state| match &written {
            Ok(octets) => *state = LastGood { octets: *octets, written: Some(now), behind: None, failure: None },
            Err(error) => state.failure = Some(error.to_string()),
        });
        written.is_ok()
    }
}

/// Writes a file beside the last one, makes it durable, and puts it in its place.
fn write(database: &Path, snapshot: &Snapshot, head: Head<'_>) -> std::io::Result<u64> {
    let [path, former, unfinished] =
        [".snapshot", ".snapshot.1", ".snapshot.new"].map(|suffix| beside(database, suffix));
    let mut make = OpenOptions::new();
    let file = make.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let octets = kept::write(snapshot, head, &mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    match std::fs::rename(&path, &former) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    std::fs::rename(&unfinished, &path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(octets)
}
