//! The start: what is served, the store or the last-good file, and what becomes of a server whose store cannot be read.
//! A store that is missing is never replaced by an empty one while there is a file that tells what it held.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::controller::{Controller, unavailable};
use super::last_good::{self, Search};
use super::{Options, Parts, load, make_first_token};
use crate::store::load::{Alarms, Reading};
use crate::store::rows::ChangeFilter;
use crate::store::{Reader, StoreError, Writer};
use crate::zone::kept::Kept;
use crate::zone::snapshot::Snapshot;

/// How often a store that cannot be read is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// A zone that has lost more than one in so many of its records without a word in the history is not believed.
const LOST: u64 = 5;

/// An open store, and what is to be served of it.
pub(super) struct Opened {
    pub(super) writer: Writer,
    pub(super) snapshot: Snapshot,
    pub(super) alarms: Alarms,
}

/// Why a store is not open.
pub(super) enum Closed {
    /// Nothing can be served, or somebody must do something first.
    Fatal(StoreError),
    /// It may come back by itself.
    Wait(String),
    /// It is older than what was served; only a restart with the word of an operator takes it.
    Older(String),
}

/// Opens the store and reads it, unless the last-good file is to be served instead.
pub(super) async fn open(options: &Options, kept: Option<&Kept>) -> Result<Opened, Closed> {
    let database = &options.database;
    if kept.is_some() && is_missing(database) {
        return Err(Closed::Wait(format!("the store {} is gone: put it back", database.display())));
    }
    let wait = |error: StoreError| match error {
        StoreError::InUse { .. } | StoreError::Newer(_) | StoreError::OldSqlite(_) | StoreError::Random(_) => {
            Closed::Fatal(error)
        }
        StoreError::Moved(_) | StoreError::File(..) | StoreError::Database(_) | StoreError::Migration(_) => {
            if kept.is_some() { Closed::Wait(error.at(database)) } else { Closed::Fatal(error) }
        }
    };
    let mut writer = Writer::open(database).await.map_err(wait)?;
    let kept = match kept {
        Some(kept) if kept.identity != writer.identity() => {
            tracing::warn!("the last-good file is of another store, and is set aside");
            last_good::set_aside(database);
            None
        }
        Some(kept) if writer.revision() < kept.snapshot.revision && !options.accept_older_store => {
            let (own, served) = (writer.revision(), kept.snapshot.revision);
            // Another process may open it, as to look what happened.
            let _ = writer.close().await;
            return Err(Closed::Older(format!(
                "the store {} is at revision {own} and was served at revision {served}: restore the newer one, or start with \
                 --accept-older-store to take this one",
                database.display()
            )));
        }
        Some(kept) if writer.revision() < kept.snapshot.revision => None,
        other => other,
    };
    if writer.revision() == 0 {
        make_first_token(&mut writer, database, &options.clock).await.map_err(wait)?;
    }
    let mut alarms = Alarms::default();
    let mut snapshot =
        load::load(&mut writer, options.key, &options.terms, Reading::Paged, &mut alarms).await.map_err(wait)?;
    load::targets(&mut writer, &mut snapshot, &options.terms, options.clock.now()).await.map_err(wait)?;
    if let Some(kept) = kept {
        prove(&mut snapshot, kept, database, &mut alarms).await;
    }
    Ok(Opened { writer, snapshot, alarms })
}

/// An empty file is as good as none: it would become a store without zones.
fn is_missing(database: &Path) -> bool {
    match std::fs::metadata(database) {
        Ok(metadata) => metadata.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Keeps zones of the last-good file that the store has lost, or lost much of, while its history says nothing of it.
async fn prove(snapshot: &mut Snapshot, kept: &Kept, database: &Path, alarms: &mut Alarms) {
    let reader = Reader::open(database);
    for zone in kept.snapshot.zones() {
        let own = snapshot.zone(zone.apex());
        let has = own.map(|own| own.record_count());
        let had = zone.record_count();
        let lost = had.saturating_sub(has.unwrap_or(0));
        if lost == 0 && has.is_some() {
            continue;
        }
        let filter = ChangeFilter {
            since: Some(kept.snapshot.revision),
            zone: Some(zone.apex().clone()),
            ..ChangeFilter::default()
        };
        // A history that cannot be read says nothing.
        let changes = reader.changes(&filter).await.map(|page| page.items).unwrap_or_default();
        let deletes = changes.iter().filter(|change| change.after.is_none() || change.after != change.before).count();
        let explained = match has {
            None => changes.iter().any(|change| change.rtype == "zone" && change.after.is_none()),
            Some(_) => !changes.is_empty() && (lost <= had / LOST || deletes > 0),
        };
        if explained {
            continue;
        }
        let apex = zone.apex();
        alarms.add(crate::store::load::Subject::Frame, || {
            format!(
                "the store has lost {lost} of the {had} records of the zone {apex} without a word in its history: the zone is \
                 served as it was at revision {}; restore a backup, or write the zone again",
                kept.snapshot.revision
            )
        });
        snapshot.put_zone(zone.clone());
    }
    reader.close().await;
}

/// Serves the last-good file until the store can be read, and then the store. Commands are refused meanwhile.
pub(super) async fn wait(mut parts: Parts, options: Options, kept: Kept, closed: String, tries: Tries) {
    tracing::error!("{closed}; the last-good file of revision {} is served", kept.snapshot.revision);
    parts.fault.send_replace(Some(closed));
    let mut turns = tokio::time::interval(AGAIN);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turns.reset();
    loop {
        tokio::select! {
            biased;
            () = parts.stop.notified() => return,
            Some(update) = parts.alias.recv() => {
                let mut next = Snapshot::clone(&parts.snapshots.published().load());
                next.alias.apply(update.batch);
                parts.snapshots.publish(next);
                let _ = update.done.send(());
            }
            job = parts.inbox.recv() => match job {
                Some(job) => drop(job.reply.send(Err(unavailable()))),
                None => return,
            },
            _ = turns.tick(), if tries == Tries::Again => {
                match open(&options, Some(&kept)).await {
                    Ok(opened) => return resume(parts, options, opened).await,
                    Err(Closed::Wait(why)) | Err(Closed::Older(why)) => {
                        parts.fault.send_replace(Some(why));
                    }
                    Err(Closed::Fatal(error)) => {
                        parts.fault.send_replace(Some(error.at(&options.database)));
                    }
                }
            }
        }
    }
}

/// Whether a store that is not open is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tries {
    Again,
    No,
}

/// Publishes what the store holds, and takes commands from then on.
async fn resume(mut parts: Parts, options: Options, opened: Opened) {
    let Opened { writer, mut snapshot, alarms } = opened;
    for alarm in alarms.into_sentences() {
        tracing::warn!("{alarm}");
    }
    // What was learnt of ALIAS targets meanwhile is newer than what the store has.
    snapshot.alias = parts.snapshots.published().load().alias.clone();
    let revision = snapshot.revision;
    parts.snapshots.publish(snapshot);
    parts.identity.send_replace(writer.identity().to_owned());
    parts.revision.send_replace(revision);
    parts.fault.send_replace(None);
    tracing::info!(revision, "the store can be read again, and is served");
    Controller::new(writer, parts, &options).run().await;
}

/// Looks for the last-good file on a thread that may read files.
pub(super) async fn search(options: &Options) -> Search {
    let (database, key, terms) = (options.database.clone(), options.key, Arc::clone(&options.terms));
    let search = tokio::task::spawn_blocking(move || last_good::search(&database, key, &terms));
    let found = search.await.unwrap_or_default();
    found.unfit.iter().for_each(|sentence| tracing::warn!("a last-good file is of no use: {sentence}"));
    found
}
