//! `GET /`: the names that the client may ask for. It is what the token says, not which zones there are: the client reads
//! it once, and zones may come later.

use super::Call;
use super::failure::Failure;
use super::wire::Filter;
use crate::ledger::actor::NameLimit;

pub(super) fn answer(call: &Call) -> Result<Vec<u8>, Failure> {
    let plain = |limit: &NameLimit| limit.to_string().trim_end_matches('.').to_owned();
    let include = call.client.actor.limits.names.iter().map(plain).collect();
    serde_json::to_vec(&Filter { include }).map_err(|_| Failure::Internal)
}
