//! Claims that were asked for again as they are. That is no change: it is written some seconds later, many at a time, so a
//! client that sends all it wants every minute costs the disk nothing. Of keys that ask for it, waves are looked for.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use super::controller::Controller;
use crate::ledger::claim::Claim;
use crate::ledger::plan::Plan;
use crate::ledger::wave::{Closed, Waves};
use crate::store::writer::Assertion;
use crate::store::{StoreError, Writer};
use crate::zone::alias::Moment;

/// After so many milliseconds assertions are written: within ten seconds of the first.
const WRITTEN_AFTER: u64 = 5_000;
/// Assertions that wait, at most; more are written with the next commit.
const MAX_PENDING: usize = 200_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Assertions {
    pending: BTreeSet<Assertion>,
    /// Written in the open transaction.
    in_flight: BTreeSet<Assertion>,
    first: Option<Moment>,
    latest: Moment,
    waves: Waves,
}

fn assertion(plan: &Plan, claim: &Claim) -> Option<Assertion> {
    let zone = plan.ledger.zones.get(&claim.zone)?;
    Some(Assertion {
        zone: claim.zone,
        key: claim.name.sort_key(&zone.name)?,
        rtype: claim.rtype,
        owner: claim.owner,
        set_id: claim.set_id.clone(),
    })
}

impl Assertions {
    /// Notes what a plan asserts, to be written later.
    pub(super) fn defer(&mut self, plan: &Plan, now: Moment) {
        if plan.asserted.is_empty() {
            return;
        }
        self.first.get_or_insert(now);
        self.latest = self.latest.max(now);
        self.pending.extend(plan.asserted.iter().filter_map(|claim| assertion(plan, claim)));
    }

    /// Follows what a plan asserts, for waves.
    pub(super) fn follow(&mut self, plan: &Plan, now: Moment) {
        for claim in plan.asserted.iter().filter(|claim| claim.is_held()) {
            let mut hasher = DefaultHasher::new();
            (claim.name.as_wire(), claim.rtype, &claim.set_id).hash(&mut hasher);
            self.waves.assert((claim.owner, claim.zone), hasher.finish(), now);
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn is_due(&self, now: Moment) -> bool {
        let is_late = self.first.is_some_and(|first| now.0.saturating_sub(first.0) >= WRITTEN_AFTER);
        is_late || self.pending.len() >= MAX_PENDING
    }

    /// Writes all in the open transaction.
    pub(super) async fn write(&mut self, writer: &mut Writer) -> Result<(), StoreError> {
        self.in_flight.append(&mut self.pending);
        let all: Vec<Assertion> = self.in_flight.iter().cloned().collect();
        writer.assert(&all, self.latest).await
    }

    /// The transaction was committed, or not: then what it had is pending again.
    pub(super) fn settle(&mut self, is_committed: bool) {
        let written = std::mem::take(&mut self.in_flight);
        if !is_committed {
            self.pending.extend(written);
        } else if self.pending.is_empty() {
            self.first = None;
        }
    }
}

impl Controller {
    /// Writes assertions that are due, and marks what waves passed by. What fails is tried again at the next turn.
    pub(super) async fn look_for_waves(&mut self) {
        let now = self.clock.now();
        if self.assertions.is_due(now)
            && let Err(error) = self.save_assertions().await
        {
            tracing::warn!(%error, "assertions are not written");
        }
        for field in self.assertions.waves.to_weigh(now) {
            match self.writer.count_in(field).await {
                Ok(claims) => self.assertions.waves.weigh(field, claims),
                Err(error) => tracing::warn!(%error, "claims are not counted"),
            }
        }
        for closed in self.assertions.waves.close(now) {
            tracing::info!(owner = closed.field.0.0, zone = closed.field.1.0, "a re-assertion wave is over");
            if let Err(error) = self.mark(&closed, now).await {
                tracing::warn!(%error, "what a wave passed by is not marked");
                self.writer.rollback().await;
                self.assertions.settle(false);
            }
        }
    }

    async fn mark(&mut self, closed: &Closed, now: Moment) -> Result<(), StoreError> {
        self.writer.begin().await?;
        self.assertions.write(&mut self.writer).await?;
        self.writer.mark_unconfirmed(closed, now).await?;
        self.writer.commit().await?;
        self.assertions.settle(true);
        Ok(())
    }

    /// Writes all assertions that wait.
    pub(super) async fn save_assertions(&mut self) -> Result<(), StoreError> {
        if !self.assertions.is_pending() {
            return Ok(());
        }
        let written = async {
            self.writer.begin().await?;
            self.assertions.write(&mut self.writer).await?;
            self.writer.commit().await
        }
        .await;
        if written.is_err() {
            self.writer.rollback().await;
        }
        self.assertions.settle(written.is_ok());
        written
    }
}
