//! `/v1/leases/renew`: many owners renew in one call (ownership.md section 3.3).

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, owner_id};
use crate::api::documents::{RenewedDocument, RenewedLeases};
use crate::api::json::{self, BodyLimit};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::Command;
use crate::ledger::owner::OwnerId;
use crate::ledger::report::Report;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/v1/leases/renew", Access::Write, renew)
            .with(&["dryRun", "targetCheck", "wait", "refs"])
            .taking(BodyLimit::Small),
    ]
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = LeaseRenewal)]
pub(super) struct RenewFields {
    owners: Vec<String>,
}

async fn renew(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let fields: RenewFields = json::read(&call.body())?;
    let owners: Vec<OwnerId> = fields.owners.iter().map(|text| owner_id("owners", text)).collect::<Result<_, _>>()?;
    let dry_run = call.dry_run()?;
    call.answer(Command::RenewLeases(owners), "", "", move |report| (StatusCode::OK, shown(report, dry_run))).await
}

fn shown(report: &Report, dry_run: bool) -> RenewedLeases {
    let renewed = report.renewed.iter().map(|(owner, expires)| RenewedDocument {
        owner: owner.as_str().to_owned(),
        expires_at: show::moment(*expires),
    });
    RenewedLeases {
        revision: report.revision,
        dry_run,
        renewed: renewed.collect(),
        unknown: show::owner_ids(&report.unknown),
    }
}
