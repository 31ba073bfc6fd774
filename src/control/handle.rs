//! What the other rooms hold of the controller.

use std::sync::Arc;

use tokio::sync::watch;

use crate::ledger::actor::Actor;
use crate::ledger::command::Command;
use crate::ledger::report::{Refusal, Report};
use crate::zone::alias::{AliasEntry, TargetKey};
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

/// Sends commands to the controller. Clones send to the same.
#[derive(Clone, Debug)]
pub struct Handle {
    published: Published,
    revision: watch::Receiver<u64>,
}

impl Handle {
    /// Plans and does a command. When it comes back with a report, it is durable and served; with a refusal, nothing
    /// of it is in effect. `storage_unavailable` if the inbox is full or the store does not take it.
    pub async fn submit(&self, _request: Request) -> Result<Report, Refusal> {
        unimplemented!()
    }

    /// What is served.
    pub fn published(&self) -> Published {
        self.published.clone()
    }

    /// Wakes whenever a commit was published, with its revision.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.clone()
    }

    /// Publishes what the ALIAS engine learnt: entries put in and targets forgotten. False when the controller is gone.
    pub async fn publish_alias(&self, _entries: Vec<Arc<AliasEntry>>, _removed: Vec<TargetKey>) -> bool {
        unimplemented!()
    }
}
