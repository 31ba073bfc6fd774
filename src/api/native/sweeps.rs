//! `/v1/sweeps`: what a mark says nobody owns any more is listed, put into quarantine or deleted, and comes back by
//! `/undo` (ownership.md section 3.4).

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use super::write::status_of;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, document, owner_id};
use crate::api::documents::List;
use crate::api::findings::{CandidateDocument, SweepDocument, SweepRowDocument};
use crate::api::json::{self, BodyLimit};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::{Command, Sweep};
use crate::ledger::owner::OwnerId;
use crate::ledger::report::{Candidate, Report};
use crate::ledger::sweep::{SweepMode, Swept};
use crate::store::sweeps::SweepRow;

pub(super) fn routes() -> Vec<Route> {
    const WRITE: &[&str] = &["dryRun", "targetCheck", "wait", "refs"];
    vec![
        Route::new(Method::POST, "/v1/sweeps", Access::Write, sweep).with(WRITE).taking(BodyLimit::Records),
        Route::new(Method::GET, "/v1/sweeps", Access::Read, list),
        Route::new(Method::GET, "/v1/sweeps/{id}", Access::Read, show_one),
        Route::new(Method::POST, "/v1/sweeps/{id}/undo", Access::Write, undo).with(WRITE),
    ]
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SweepOrder)]
pub(super) struct SweepFields {
    scope: ScopeFields,
    as_of_revision: Option<u64>,
    live: Vec<String>,
    mode: Option<String>,
    max_deletes: Option<u64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SweepScope)]
pub(super) struct ScopeFields {
    owner: String,
}

fn mode_of(text: &str) -> Result<SweepMode, Refused> {
    SweepMode::from_text(text).ok_or_else(|| {
        let shown: String = text.chars().take(100).collect();
        Refused::bad_request(format!("mode is report, quarantine or delete, not `{}`", shown.escape_debug()))
    })
}

async fn sweep(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let body = call.body();
    let command = blocking(move || {
        let fields: SweepFields = json::read(&body)?;
        let live: BTreeSet<OwnerId> =
            fields.live.iter().map(|text| owner_id("live", text)).collect::<Result<_, Refused>>()?;
        Ok::<_, Refused>(Sweep {
            scope: owner_id("scope.owner", &fields.scope.owner)?,
            as_of: fields.as_of_revision,
            live,
            mode: fields.mode.as_deref().map(mode_of).transpose()?.unwrap_or_default(),
            max_deletes: fields.max_deletes,
        })
    })
    .await??;
    let (dry_run, mode, scope) = (call.dry_run()?, command.mode, command.scope.as_str().to_owned());
    let shape = move |report: &Report| (status_of(report), made(report, mode, dry_run));
    call.answer(Command::Sweep(command), &scope, "", shape).await
}

fn made(report: &Report, mode: SweepMode, dry_run: bool) -> SweepDocument {
    SweepDocument {
        id: report.sweep.filter(|_| !dry_run).map(Swept::word),
        mode: mode.text().to_owned(),
        revision: report.revision,
        dry_run,
        candidates: report.candidates.iter().map(candidate).collect(),
        summary: show::summary(&report.summary),
        owners_deleted: report.owners_deleted.len() as u64,
        // What was taken stands with its owners in `candidates`; only what was not is told of by itself.
        refused: report
            .results
            .iter()
            .filter(|one| one.outcome.is_refused())
            .map(|one| show::item(one, None))
            .collect(),
        unknown: show::owner_ids(&report.unknown),
        dangling: show::dangling(&report.dangling),
        more_dangling: report.more_dangling,
        promoted: report.promoted.iter().map(show::promoted).collect(),
        serials: report.serials.iter().map(|(zone, serial)| (zone.to_string(), *serial)).collect(),
    }
}

fn candidate(one: &Candidate) -> CandidateDocument {
    CandidateDocument {
        owner: one.owner.as_str().to_owned(),
        parents: show::owner_ids(&one.parents),
        records: one.records,
    }
}

fn row(row: &SweepRow) -> SweepRowDocument {
    let swept = &row.swept;
    let found = swept.owners.iter().map(|one| CandidateDocument {
        owner: one.owner.id.as_str().to_owned(),
        parents: show::owner_ids(&one.parents),
        records: one.records,
    });
    SweepRowDocument {
        id: Swept::word(swept.id),
        scope: swept.scope.as_str().to_owned(),
        mode: swept.mode.text().to_owned(),
        as_of_revision: swept.as_of,
        at: show::moment(swept.at),
        actor: swept.actor.clone(),
        state: swept.state.text().to_owned(),
        records: row.taken,
        candidates: found.collect(),
    }
}

async fn list(call: Call) -> Result<Response, Refused> {
    let listing = call.state.reader.sweeps(call.state.clock.now()).await?;
    let items: Vec<SweepRowDocument> = listing.items.iter().map(row).collect();
    document(StatusCode::OK, &List { revision: listing.revision, items })
}

fn id_of(call: &Call) -> Result<u64, Refused> {
    let word = call.part("id");
    Swept::id_of(word).ok_or_else(|| no_sweep(word))
}

fn no_sweep(word: &str) -> Refused {
    Refused::not_found(format!("there is no sweep {}: GET /v1/sweeps lists those that are kept", word.escape_debug()))
}

async fn show_one(call: Call) -> Result<Response, Refused> {
    let id = id_of(&call)?;
    let found = call.state.reader.sweep(id).await?.1.ok_or_else(|| no_sweep(call.part("id")))?;
    blocking(move || document(StatusCode::OK, &row(&found))).await?
}

async fn undo(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let (id, dry_run) = (id_of(&call)?, call.dry_run()?);
    let shape = move |report: &Report| (status_of(report), show::report(report, None, dry_run));
    call.answer(Command::UndoSweep(id), "", "", shape).await
}
