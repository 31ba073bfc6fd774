//! `/v1/alias-targets` and `/v1/aliases/{name}`.
use crate::api::call::Route;

pub(super) fn routes() -> Vec<Route> {
    Vec::new()
}
