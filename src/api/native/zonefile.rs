//! `/v1/zones/{zone}/zonefile`: import as the full set of `zone:<zone>`, export of what is served.

use axum::http::{Method, StatusCode, header};
use axum::response::Response;

use super::fields::on_conflict;
use super::write::status_of;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, document, owner_id};
use crate::api::documents::ErrorDocument;
use crate::api::json::BodyLimit;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::actor::Door;
use crate::ledger::code::Code;
use crate::ledger::command::{Command, ImportZone};
use crate::ledger::owner::OwnerId;

pub(super) fn routes() -> Vec<Route> {
    const IMPORT: &[&str] =
        &["prune", "atomic", "onConflict", "maxDeletes", "dryRun", "owner", "targetCheck", "wait", "refs"];
    vec![
        Route::new(Method::PUT, "/v1/zones/{zone}/zonefile", Access::Write, import)
            .with(IMPORT)
            .taking(BodyLimit::ZoneFile),
    ]
}
