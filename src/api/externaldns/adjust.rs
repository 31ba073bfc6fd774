//! `POST /adjustendpoints`: all that is desired, in its one form, without what the client may not ask for.

use super::Call;
use super::canonical::{Canonical, canonical};
use super::failure::Failure;
use super::wire::{Endpoint, Listed, MAX_ENDPOINTS};
use crate::api::call::blocking;
use crate::ledger::command::Command;
use crate::ledger::external_dns::AdjustEndpoints;
use crate::ledger::report::ItemOutcome;

pub(super) async fn answer(call: Call) -> Result<Vec<u8>, Failure> {
    let (body, terms, served) = (call.body.clone(), call.client.terms, call.state.handle.published().get());
    let read = blocking(move || {
        let Listed(endpoints) =
            serde_json::from_slice(&body).map_err(|error| Failure::Malformed(format!("the endpoints: {error}")))?;
        check_count(endpoints.len())?;
        let forms = endpoints.into_iter().map(|one| canonical(one, &terms, &served));
        Ok::<Vec<Canonical>, Failure>(forms.collect())
    });
    let found = read.await.map_err(|_| Failure::Internal)??;
    if !found.is_empty() && !call.is_dry() {
        call.state.external_dns.listed(&call.client.owner, call.state.clock.now());
    }
    let (mut endpoints, mut wishes) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
    for one in found {
        endpoints.push(one.endpoint);
        wishes.push(one.wish);
    }
    let command = Command::AdjustEndpoints(AdjustEndpoints {
        owner: call.client.owner.clone(),
        wishes,
        on_conflict: terms.on_conflict,
        adopting: terms.adopting,
    });
    let report = call.submit(command).await.map_err(Failure::Refused)?;
    if report.results.len() != endpoints.len() {
        // Never a list that is shorter by mistake: the client would delete what is not in it.
        return Err(Failure::Internal);
    }
    let kept = endpoints.into_iter().zip(&report.results).filter(|(_, item)| match item.outcome {
        ItemOutcome::Queued | ItemOutcome::Invalid => false,
        ItemOutcome::Created
        | ItemOutcome::Updated
        | ItemOutcome::Unchanged
        | ItemOutcome::Deleted
        | ItemOutcome::Conflict
        | ItemOutcome::Held
        | ItemOutcome::Quarantined
        | ItemOutcome::Absorbed => true,
    });
    let kept: Vec<Endpoint> = kept.map(|(endpoint, _)| endpoint).collect();
    let written = blocking(move || serde_json::to_vec(&kept));
    written.await.map_err(|_| Failure::Internal)?.map_err(|_| Failure::Internal)
}

/// Refuses more endpoints than a call may have.
pub(super) fn check_count(count: usize) -> Result<(), Failure> {
    if count > MAX_ENDPOINTS {
        return Err(Failure::Malformed(format!("a call has at most {MAX_ENDPOINTS} endpoints, not {count}")));
    }
    Ok(())
}
