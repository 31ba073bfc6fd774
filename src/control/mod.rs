//! The one way to change anything: commands go in by the [`Handle`], and are durable and served when they come back.

pub mod assemble;
mod assertions;
pub mod check;
mod controller;
pub mod dangling;
pub mod dead_targets;
pub mod handle;
pub mod keys;
pub mod load;
mod loops;
mod measures;
pub mod once;
pub mod refused;
pub mod schedule;
mod targets;
pub mod terms;

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};

pub use handle::{Conditions, Handle, Request};
pub use measures::Measures;
pub use terms::Terms;

use crate::clock::Clock;
use crate::ledger::actor::{Actor, Role, TokenLimits};
use crate::ledger::command::{Command, NewToken};
use crate::ledger::plan::plan;
use crate::ledger::scope::Scope;
use crate::store::load::{Alarms, Reading};
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
    /// Ends when all handles are gone and everything asked before is answered: then the store is closed and unlocked.
    pub task: tokio::task::JoinHandle<()>,
}

/// Opens the store, loads and publishes what it holds, and starts the controller on a thread of its own, driven by the
/// current runtime.
pub async fn start(options: Options) -> Result<Started, StoreError> {
    let Options { database, clock, key, trust, terms } = options;
    let mut writer = Writer::open(&database).await?;
    let mut alarms = Alarms::default();
    if writer.revision() == 0 {
        make_first_token(&mut writer, &database, &clock).await?;
    }
    let mut snapshot = load::load(&mut writer, key, &terms, Reading::Paged, &mut alarms).await?;
    load::targets(&mut writer, &mut snapshot, &terms, clock.now()).await?;
    let (revisions, revision) = watch::channel(snapshot.revision);
    let snapshots = SnapshotWriter::new(snapshot);
    let (inbox, jobs) = mpsc::channel(controller::INBOX);
    let (alias, updates) = mpsc::channel(controller::ALIAS_INBOX);
    let stop = Arc::new(Notify::new());
    let (fault, fault_seen) = watch::channel(None);
    let measures = Measures::new();
    let handle = Handle {
        published: snapshots.published(),
        revision,
        inbox,
        alias,
        stop: stop.clone(),
        fault: fault_seen,
        measures: measures.clone(),
    };
    let controller = controller::Controller {
        writer,
        snapshots,
        clock,
        inbox: jobs,
        alias: updates,
        revision: revisions,
        trust,
        terms,
        fault,
        stop,
        retired: None,
        unsaved: targets::Unsaved::default(),
        measures,
        refused: refused::Memory::default(),
        assertions: assertions::Assertions::default(),
    };
    let runtime = tokio::runtime::Handle::current();
    // Planning and assembling a large zone takes a while, which must not hold up a thread of the runtime.
    let task = tokio::task::spawn_blocking(move || runtime.block_on(controller.run()));
    Ok(Started { handle, reader: Reader::open(&database), alarms: alarms.into_sentences(), task })
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
