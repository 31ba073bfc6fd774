//! `/v1/transfers`: claims change hands (ownership.md section 3.3).

use axum::http::Method;
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use super::write::status_of;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, name_of, owner_id};
use crate::api::json::{self, BodyLimit};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::{Command, Transfer};
use crate::ledger::report::Report;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/v1/transfers", Access::Write, transfer)
            .with(&["dryRun", "targetCheck", "wait", "refs"])
            .taking(BodyLimit::Small),
    ]
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Transfer)]
pub(super) struct TransferFields {
    from: String,
    to: String,
    #[serde(default, rename = "match", deserialize_with = "json::object")]
    matching: MatchFields,
    expected_revision: Option<u64>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = TransferMatch)]
pub(super) struct MatchFields {
    zone: Option<String>,
    name: Option<String>,
    #[serde(rename = "type")]
    rtype: Option<String>,
}

impl TransferFields {
    fn read(self) -> Result<Transfer, Refused> {
        let zone = self.matching.zone.as_deref().map(|text| name_of("match.zone", text)).transpose()?;
        let name = match (self.matching.name.as_deref(), &zone) {
            (None, _) => None,
            (Some(text), None) => Some(name_of("match.name", text)?),
            (Some(text), Some(zone)) => Some(Name::parse_in(text, zone).map_err(|error| {
                let shown: String = text.chars().take(100).collect();
                Refused::bad_request(format!("match.name, `{}`, is no domain name: {error}", shown.escape_debug()))
            })?),
        };
        let rtype =
            self.matching.rtype.as_deref().map(|text| {
                text.parse::<Rtype>().map_err(|error| Refused::bad_request(format!("match.type: {error}")))
            });
        Ok(Transfer {
            from: owner_id("from", &self.from)?,
            to: owner_id("to", &self.to)?,
            zone,
            name,
            rtype: rtype.transpose()?,
            if_revision: self.expected_revision,
        })
    }
}

async fn transfer(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let fields: TransferFields = json::read(&call.body())?;
    let command = fields.read()?;
    let to = command.to.clone();
    let (owner, dry_run) = (to.as_str().to_owned(), call.dry_run()?);
    let shape = move |report: &Report| (status_of(report), show::report(report, Some(&to), dry_run));
    call.answer(Command::Transfer(command), &owner, "", shape).await
}
