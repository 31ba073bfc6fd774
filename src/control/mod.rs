//! The one way to change anything: commands go in by the [`Handle`], and are durable and served when they come back.

pub mod assemble;
mod assertions;
pub mod check;
mod controller;
pub mod dangling;
pub mod dead_targets;
pub mod handle;
pub mod keys;
mod last_good;
pub mod load;
mod loops;
mod measures;
pub mod once;
pub mod refused;
pub mod schedule;
mod start;
mod targets;
pub mod terms;

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};

pub use handle::{Conditions, Handle, Request};
pub use last_good::LastGood;
pub use measures::Measures;
pub use terms::Terms;

use controller::Controller;
use last_good::Saver;
use start::{Closed, Opened, Tries};

use crate::clock::Clock;
use crate::ledger::actor::{Actor, Role, TokenLimits};
use crate::ledger::command::{Command, NewToken};
use crate::ledger::plan::plan;
use crate::ledger::scope::Scope;
use crate::store::writer::Origin;
use crate::store::{Reader, StoreError, Writer, open, token};
use crate::wire::name::HashKey;
use crate::zone::published::SnapshotWriter;
use crate::zone::walk::Trust;

/// What the controller starts with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The database file; made, with mode 0600, if it is not there. Its lock file is `<database>.lock`, the first
    /// token is written to `<database>.token`.
    pub database: PathBuf,
    /// The clock of commands.
    pub clock: Clock,
    /// Key of the published Snapshot's hashes.
    pub key: HashKey,
    /// Hosted zones that every ALIAS may enter: a loop through them is refused.
    pub trust: Trust,
    /// What the configuration says about ALIAS records.
    pub terms: Arc<Terms>,
    /// Whether a store is taken that is older than what was served last.
    pub accept_older_store: bool,
}

/// The running controller.
#[derive(Debug)]
pub struct Started {
    /// For commands.
    pub handle: Handle,
    /// For reads.
    pub reader: Reader,
    /// Sentences about rows of the store that could not be read and are not served.
    pub alarms: Vec<String>,
    /// Whether the store is served, or the last-good file.
    pub serves: Serves,
    /// Ends when all handles are gone and everything asked before is answered: then the store is closed and unlocked.
    pub task: tokio::task::JoinHandle<()>,
    /// Ends behind `task`, when the last-good file has all that is published.
    pub saver: tokio::task::JoinHandle<()>,
}

/// What is served at a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// What the store holds.
    Store,
    /// The last-good file, until the store can be read; commands are refused.
    LastGood,
}

/// All of the controller but the store.
struct Parts {
    snapshots: SnapshotWriter,
    inbox: mpsc::Receiver<controller::Job>,
    alias: mpsc::Receiver<controller::AliasUpdate>,
    revision: watch::Sender<u64>,
    identity: watch::Sender<String>,
    stop: Arc<Notify>,
    fault: watch::Sender<Option<String>>,
    measures: Measures,
}

/// Opens the store, loads and publishes what it holds, and starts the controller on a thread of its own, driven by the
/// current runtime. A store that cannot be read is waited for, if there is a last-good file to answer from.
pub async fn start(options: Options) -> Result<Started, StoreError> {
    let kept = start::search(&options).await.kept;
    let opened = match (start::open(&options, kept.as_ref()).await, kept) {
        (Ok(opened), kept) => Ok((opened, kept)),
        (Err(Closed::Wait(why)), Some(kept)) => Err((kept, why, Tries::Again)),
        (Err(Closed::Older(why)), Some(kept)) => Err((kept, why, Tries::No)),
        (Err(Closed::Fatal(error)), _) => return Err(error),
        // Only a file that is there is waited with.
        (Err(Closed::Wait(why) | Closed::Older(why)), None) => {
            return Err(StoreError::File(options.database, std::io::Error::other(why)));
        }
    };
    let (snapshot, identity) = match &opened {
        Ok((opened, _)) => (opened.snapshot.clone(), opened.writer.identity().to_owned()),
        Err((kept, ..)) => (kept.snapshot.clone(), kept.identity.clone()),
    };
    let (revisions, revision) = watch::channel(snapshot.revision);
    let (identities, identity) = watch::channel(identity);
    let snapshots = SnapshotWriter::new(snapshot);
    let (inbox, jobs) = mpsc::channel(controller::INBOX);
    let (alias, updates) = mpsc::channel(controller::ALIAS_INBOX);
    let stop = Arc::new(Notify::new());
    let why = opened.as_ref().err().map(|(_, why, _)| why.clone());
    let (fault, fault_seen) = watch::channel(why);
    let (last_good, last_good_seen) = watch::channel(LastGood::default());
    let measures = Measures::new();
    let handle = Handle {
        published: snapshots.published(),
        revision: revision.clone(),
        inbox,
        alias,
        stop: stop.clone(),
        fault: fault_seen,
        last_good: last_good_seen,
        measures: measures.clone(),
    };
    let saver = Saver {
        database: options.database.clone(),
        published: snapshots.published(),
        revisions: revision,
        identity,
        terms: options.terms.clone(),
        clock: options.clock.clone(),
        state: last_good,
    };
    let parts = Parts {
        snapshots,
        inbox: jobs,
        alias: updates,
        revision: revisions,
        identity: identities,
        stop,
        fault,
        measures,
    };
    let reader = Reader::open(&options.database);
    let runtime = tokio::runtime::Handle::current();
    // Planning and assembling a large zone takes a while, which must not hold up a thread of the runtime.
    Ok(match opened {
        Ok((Opened { writer, alarms, .. }, _)) => {
            let controller = Controller::new(writer, parts, &options);
            let saver = tokio::spawn(saver.run(None));
            let task = tokio::task::spawn_blocking(move || runtime.block_on(controller.run()));
            let alarms = alarms.into_sentences();
            Started { handle, reader, alarms, serves: Serves::Store, task, saver }
        }
        Err((kept, why, tries)) => {
            let saved = saver.published.get();
            let saver = tokio::spawn(saver.run(Some(saved)));
            let waits = move || runtime.block_on(start::wait(parts, options, kept, why, tries));
            let task = tokio::task::spawn_blocking(waits);
            Started { handle, reader, alarms: vec![], serves: Serves::LastGood, task, saver }
        }
    })
}

/// The `admin` token of the first start, in a file that only its user can read. The file is written first: a token
/// in the store that nobody knows would be the end of the story.
async fn make_first_token(writer: &mut Writer, database: &Path, clock: &Clock) -> Result<(), StoreError> {
    let minted = token::mint()?;
    let path = open::beside(database, ".token");
    write_secret(&path, &minted.text).map_err(|error| StoreError::File(path, error))?;
    let command = Command::CreateToken(NewToken {
        id: minted.id,
        name: "first start".to_owned(),
        role: Role::Admin,
        limits: TokenLimits::default(),
        hash: minted.hash,
        expires: None,
        key: None,
    });
    let actor = Actor::server();
    writer.begin().await?;
    let ledger = writer.ledger(&Scope::of(&command, &actor, &|_| None)).await?;
    // A new id is free, and the server may do this: there is nothing to refuse.
    if let Ok(plan) = plan(ledger, &command, &actor, clock.now()) {
        writer.write(&plan, &[], Origin { actor: &actor, request_id: "", now: clock.now() }).await?;
    }
    writer.commit().await
}

fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // One that was there may have had another mode.
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")?;
    file.sync_all()
}
