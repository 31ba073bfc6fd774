//! `/v1/zones/{zone}/propagation`: whether this node serves a revision (ownership.md section 4).

use std::time::Duration;

use axum::http::{Method, StatusCode};
use axum::response::Response;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, document};
use crate::api::findings::PropagationDocument;
use crate::api::problem::Refused;

/// Longest wait; under the time of a request.
const MAX_WAIT: Duration = Duration::from_secs(25);

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::GET, "/v1/zones/{zone}/propagation", Access::Read, show).with(&["revision", "wait"])]
}

async fn show(call: Call) -> Result<Response, Refused> {
    let name = call.zone()?;
    let published = call.state.handle.published();
    // A zone that is not there does not come with a revision that is waited for: that would be another answer.
    if published.get().zone(&name).is_none() {
        return Err(super::zones::no_zone(&name));
    }
    let wanted = match call.parameters.number("revision")? {
        Some(revision) => revision,
        None => call.state.reader.revision().await?,
    };
    let wait = match call.parameters.text("wait") {
        None => Duration::ZERO,
        Some(text) => humantime::parse_duration(text)
            .ok()
            .filter(|wait| *wait <= MAX_WAIT)
            .ok_or_else(|| Refused::bad_request(format!("wait is a time like 10s, up to {} s", MAX_WAIT.as_secs())))?,
    };
    let mut revisions = call.state.handle.revisions();
    // Too late is no failure: the answer says what is served then. So is a server that stops.
    let _ = tokio::time::timeout(wait, revisions.wait_for(|served| *served >= wanted)).await;
    let snapshot = call.state.handle.published().get();
    let zone = snapshot.zone(&name).ok_or_else(|| super::zones::no_zone(&name))?;
    let shown = PropagationDocument {
        zone: name.to_string(),
        revision: wanted,
        served_revision: snapshot.revision,
        serial: zone.serial(),
        served: snapshot.revision >= wanted,
    };
    document(StatusCode::OK, &shown)
}
