//! `/v1/config/reload`: the configuration is read again.

use axum::http::{Method, StatusCode};
use axum::response::Response;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, document};
use crate::api::problem::Refused;
use crate::ledger::code::Code;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(Method::POST, "/v1/config/reload", Access::Admin, reload)]
}

async fn reload(call: Call) -> Result<Response, Refused> {
    let Some(reloader) = &call.state.server.reloader else {
        return Err(Refused::new(Code::NotFound, "this server has no configuration to read again"));
    };
    let shown = reloader.reload().await.map_err(|sentence| {
        // It names files, so the log alone has it; an administrator sees it with `tenured config check`, too.
        tracing::error!("the configuration is not read again: {sentence}");
        Refused::bad_request("the configuration is not in order and nothing changed: the log and `tenured config check` say what is wrong")
    })?;
    document(StatusCode::OK, &shown)
}
