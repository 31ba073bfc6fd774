//! How the other rooms reach the ALIAS actor.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::engine::Refreshed;
use super::measures::{Counts, LookupTimes};
use super::references::{DeadInside, RecordKey};
use super::slot::TargetStatus;
use crate::zone::alias::{AliasState, Family, RecordState, TargetKey};

/// Most hints that wait for the actor (alias.md section 3.6).
pub const MAX_HINTS: usize = 1_024;
/// Most questions that wait for the actor.
pub const MAX_REQUESTS: usize = 64;

/// A target with the records that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetView {
    /// How it stands with the target.
    pub status: TargetStatus,
    /// The records, in canonical order of zones and names.
    pub records: Vec<RecordKey>,
}

/// What is known of a target, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Of both families together.
    pub state: RecordState,
    /// Of A.
    pub a: AliasState,
    /// Of AAAA.
    pub aaaa: AliasState,
}

impl Known {
    /// Of a family.
    pub fn family(&self, family: Family) -> AliasState {
        match family {
            Family::A => self.a,
            Family::Aaaa => self.aaaa,
        }
    }
}

/// When a question about targets is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At once.
    Now,
    /// When none of them is being found out.
    Settled,
}

/// What is asked of the actor.
#[derive(Debug)]
pub(super) enum Request {
    Status { only: Option<TargetKey>, reply: oneshot::Sender<Vec<TargetView>> },
    DeadInside { reply: oneshot::Sender<HashMap<RecordKey, DeadInside>> },
    Known { targets: Vec<TargetKey>, when: When, reply: oneshot::Sender<BTreeMap<TargetKey, Known>> },
    Counts { reply: oneshot::Sender<Counts> },
    Refresh { targets: Vec<TargetKey>, reply: oneshot::Sender<Vec<Refreshed>> },
}

/// The actor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ALIAS engine has ended; the server is going down")
    }
}

impl std::error::Error for Ended {}

/// A line to the actor; clones are the same line.
#[derive(Clone, Debug)]
pub struct AliasHandle {
    hints: mpsc::Sender<TargetKey>,
    requests: mpsc::Sender<Request>,
    dropped: Arc<AtomicU64>,
    times: LookupTimes,
}

impl AliasHandle {
    pub(super) fn new() -> (AliasHandle, mpsc::Receiver<TargetKey>, mpsc::Receiver<Request>) {
        let (hints, hints_in) = mpsc::channel(MAX_HINTS);
        let (requests, requests_in) = mpsc::channel(MAX_REQUESTS);
        let handle = AliasHandle { hints, requests, dropped: Arc::default(), times: LookupTimes::new() };
        (handle, hints_in, requests_in)
    }

    /// Tells the engine that a query asked for a target of which nothing is known. Never waits: if the queue is full
    /// the hint is dropped and counted, and the next query gives it again.
    pub fn hint(&self, target: &TargetKey) {
        // Asked for room first, so that a full queue costs no copy of the name.
        match self.hints.try_reserve() {
            Ok(room) => room.send(target.clone()),
            Err(_) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How many hints were dropped since the start.
    pub fn hints_dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// How long lookups took.
    pub fn times(&self) -> &LookupTimes {
        &self.times
    }

    /// What was counted since the start.
    pub async fn counts(&self) -> Result<Counts, Ended> {
        self.ask(|reply| Request::Counts { reply }).await
    }

    /// How it stands with all targets, in canonical order.
    pub async fn status(&self) -> Result<Vec<TargetView>, Ended> {
        self.ask(|reply| Request::Status { only: None, reply }).await
    }

    /// How it stands with one target; none if no record leads to it and no query asked for it of late.
    pub async fn status_of(&self, target: &TargetKey) -> Result<Option<TargetView>, Ended> {
        let all = self.ask(|reply| Request::Status { only: Some(target.clone()), reply }).await?;
        Ok(all.into_iter().next())
    }

    /// Records whose target a zone here says not to exist.
    pub async fn dead_inside(&self) -> Result<HashMap<RecordKey, DeadInside>, Ended> {
        self.ask(|reply| Request::DeadInside { reply }).await
    }

    /// What is known of targets once none of them is being found out; those that nobody knew are looked up.
    pub async fn settled(&self, targets: Vec<TargetKey>) -> Result<BTreeMap<TargetKey, Known>, Ended> {
        self.ask(|reply| Request::Known { targets, when: When::Settled, reply }).await
    }

    /// What is known of targets now.
    pub async fn known(&self, targets: Vec<TargetKey>) -> Result<BTreeMap<TargetKey, Known>, Ended> {
        self.ask(|reply| Request::Known { targets, when: When::Now, reply }).await
    }

    /// Has targets asked now; one that was asked less than two seconds ago waits until then.
    pub async fn refresh(&self, targets: Vec<TargetKey>) -> Result<Vec<Refreshed>, Ended> {
        self.ask(|reply| Request::Refresh { targets, reply }).await
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Ended> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| Ended)?;
        answer.await.map_err(|_| Ended)
    }
}
