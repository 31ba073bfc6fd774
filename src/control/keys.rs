//! What keys of the PowerDNS door have done by the clock: queued wishes lapse that nobody asks for again, and claims that a
//! wave passed by are put aside where the key says so.

use std::collections::BTreeSet;

use super::handle::{Handle, Request};
use crate::ledger::actor::{Actor, Role};
use crate::ledger::claim::ClaimState;
use crate::ledger::command::{Change, Command, DueClaim, Going, Lapse, RecordName};
use crate::ledger::key::OnUnconfirmed;
use crate::ledger::owner::OwnerId;
use crate::store::rows::ClaimFilter;
use crate::store::{Reader, StoreError};
use crate::zone::alias::Moment;

/// A queued wish lapses so many seconds after it was last asked for: controllers ask every ten minutes at most, and
/// nobody asks again for a resource that is gone.
pub const LAPSES_AFTER: u64 = 3_600;
/// Claims of one owner that one turn takes, at most; the others wait for the next.
const MAX_A_TURN: usize = 1_000;

/// Does what is due at `now`. What fails is due again at the next turn.
pub async fn turn(handle: &Handle, reader: &Reader, now: Moment) {
    if let Err(error) = try_turn(handle, reader, now).await {
        tracing::warn!(%error, "the store does not say what keys have due");
    }
}

async fn try_turn(handle: &Handle, reader: &Reader, now: Moment) -> Result<(), StoreError> {
    let mut seen: BTreeSet<OwnerId> = BTreeSet::new();
    for row in reader.tokens().await?.items {
        let (Some(key), Role::Owner(owner)) = (row.key, row.role) else { continue };
        if !seen.insert(owner.clone()) {
            continue;
        }
        lapse(handle, reader, &owner, now).await?;
        if key.on_unconfirmed == OnUnconfirmed::Quarantine {
            quarantine(handle, reader, &owner, Moment(now.0.saturating_sub(u64::from(key.grace_seconds) * 1_000)))
                .await?;
        }
    }
    Ok(())
}

async fn lapse(handle: &Handle, reader: &Reader, owner: &OwnerId, now: Moment) -> Result<(), StoreError> {
    let before = Moment(now.0.saturating_sub(LAPSES_AFTER * 1_000));
    let state = Some(ClaimState::Queued);
    let filter = ClaimFilter { owner: Some(owner.clone()), state, ..ClaimFilter::default() };
    let queued = reader.claims(&filter).await?.items;
    let claims: Vec<DueClaim> = queued
        .into_iter()
        .filter(|row| row.claim.asserted < before)
        .take(MAX_A_TURN)
        .map(|row| DueClaim {
            zone: row.zone,
            name: row.claim.name,
            rtype: row.claim.rtype,
            set_id: row.claim.set_id,
            revision: row.claim.revision,
        })
        .collect();
    if !claims.is_empty() {
        let command = Command::Lapse(Lapse { owner: owner.clone(), before, claims });
        submit(handle, command, owner, "queued wishes lapsed").await;
    }
    Ok(())
}

/// Puts aside what has been unconfirmed since before `due`.
async fn quarantine(handle: &Handle, reader: &Reader, owner: &OwnerId, due: Moment) -> Result<(), StoreError> {
    let marks = reader.unconfirmed(owner).await?;
    let delete: Vec<RecordName> = marks
        .into_iter()
        .filter(|mark| mark.since <= due)
        .take(MAX_A_TURN)
        .map(|mark| RecordName { zone: Some(mark.zone), name: mark.name, rtype: mark.rtype, set_id: Some(mark.set_id) })
        .collect();
    if !delete.is_empty() {
        let change = Change { going: Going::Quarantined, atomic: false, ..Change::delete(owner.clone(), delete) };
        submit(handle, Command::Change(change), owner, "unconfirmed claims are in quarantine").await;
    }
    Ok(())
}

async fn submit(handle: &Handle, command: Command, owner: &OwnerId, what: &'static str) {
    let request = Request { command, actor: Actor::server(), dry_run: false, request_id: String::new() };
    match handle.submit(request).await {
        Ok(report) => tracing::info!(owner = ?owner.as_str(), records = report.results.len(), what, "by the clock"),
        Err(refusal) => tracing::warn!(owner = ?owner.as_str(), code = %refusal.code(), what, "not done by the clock"),
    }
}
