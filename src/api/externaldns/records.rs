//! `GET /records`: exactly what the owner holds, at one revision, and nothing of anybody else.

use super::Call;
use super::failure::Failure;
use super::shown;
use super::wire::Endpoint;
use crate::api::call::blocking;
use crate::ledger::claim::ClaimState;
use crate::store::rows::ClaimFilter;

pub(super) async fn answer(call: &Call) -> Result<Vec<u8>, Failure> {
    let filter =
        ClaimFilter { owner: Some(call.client.owner.clone()), state: Some(ClaimState::Held), ..ClaimFilter::default() };
    let listing = call.state.reader.claims(&filter).await?;
    let txt_owner = call.client.txt_owner().to_owned();
    let written = blocking(move || {
        let endpoints: Vec<Endpoint> =
            listing.items.iter().map(|row| shown::endpoint(&row.claim, &txt_owner)).collect();
        serde_json::to_vec(&endpoints)
    });
    written.await.map_err(|_| Failure::Internal)?.map_err(|_| Failure::Internal)
}
