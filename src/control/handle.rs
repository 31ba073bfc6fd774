//! What the other rooms hold of the controller.

use std::sync::Arc;

use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::controller::{AliasUpdate, Job};
use super::dangling::Refs;
use super::last_good::LastGood;
use super::measures::Measures;
use super::once::Once;
use crate::ledger::actor::Actor;
use crate::ledger::code::Code;
use crate::ledger::command::Command;
use crate::ledger::report::{Refusal, Report};
use crate::zone::alias::AliasBatch;
use crate::zone::published::Published;

/// A command with who asks and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked.
    pub command: Command,
    /// Who asks.
    pub actor: Actor,
    /// Whether it is only planned.
    pub dry_run: bool,
    /// Id of the request for the history, empty if there is none.
    pub request_id: String,
}

/// On which conditions a command is taken.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The key of a request that is done once.
    pub once: Option<Once>,
    /// What becomes of a command that would leave others pointing at nothing.
    pub refs: Refs,
}

/// Sends commands to the controller. Clones send to the same.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) published: Published,
    pub(super) revision: watch::Receiver<u64>,
    pub(super) inbox: mpsc::Sender<Job>,
    pub(super) alias: mpsc::Sender<AliasUpdate>,
    pub(super) stop: Arc<Notify>,
    pub(super) fault: watch::Receiver<Option<String>>,
    pub(super) last_good: watch::Receiver<LastGood>,
    pub(super) measures: Measures,
}

impl Handle {
    /// Plans and does a command. When it comes back with a report, it is durable and served; with a refusal, nothing
    /// of it is in effect. `storage_unavailable` if the inbox is full or the store does not take it.
    pub async fn submit(&self, request: Request) -> Result<Report, Refusal> {
        self.submit_on(request, Conditions::default()).await
    }

    /// [`Handle::submit`] on terms of the caller's.
    pub async fn submit_on(&self, request: Request, conditions: Conditions) -> Result<Report, Refusal> {
        let (reply, answer) = oneshot::channel();
        let refuse = |detail: &str| Err(Refusal::new(Code::StorageUnavailable, detail));
        match self.inbox.try_send(Job { request, conditions, reply }) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                return refuse("too many writes wait already: try again later");
            }
            Err(mpsc::error::TrySendError::Closed(_)) => return refuse("the server is stopping: try again later"),
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => refuse("the server stopped before it answered: read again whether the write is in effect"),
        }
    }

    /// What is served.
    pub fn published(&self) -> Published {
        self.published.clone()
    }

    /// Wakes whenever a commit was published, with its revision.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.clone()
    }

    /// How long commits and publications took.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Why the store took no write the last time, if it did not; wakes when that changes.
    pub fn store_fault(&self) -> watch::Receiver<Option<String>> {
        self.fault.clone()
    }

    /// How it stands with the last-good file; wakes when that changes.
    pub fn last_good(&self) -> watch::Receiver<LastGood> {
        self.last_good.clone()
    }

    /// Tells the controller to end once what was asked before is answered; later commands are refused.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Publishes what the ALIAS engine learnt. Comes back when queries see it; false when the controller is gone.
    pub async fn publish_alias(&self, batch: AliasBatch) -> bool {
        let (done, published) = oneshot::channel();
        self.alias.send(AliasUpdate { batch, done }).await.is_ok() && published.await.is_ok()
    }
}
