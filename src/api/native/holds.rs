//! `/v1/holds`: deletes that the brake keeps back (ownership.md section 3.1, external-dns.md section 11).

use axum::http::{Method, StatusCode};
use axum::response::Response;

use super::write::status_of;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, blocking, document, owner_id};
use crate::api::documents::{HoldDocument, List, RecordKeyDocument};
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::command::{Command, DecideHold, HoldDecision};
use crate::ledger::hold::Hold;
use crate::ledger::report::Report;

pub(super) fn routes() -> Vec<Route> {
    const WRITE: &[&str] = &["dryRun", "targetCheck", "wait", "refs"];
    vec![
        Route::new(Method::GET, "/v1/holds", Access::Read, list).with(&["owner"]),
        Route::new(Method::POST, "/v1/holds/{id}/approve", Access::Write, approve).with(WRITE),
        Route::new(Method::POST, "/v1/holds/{id}/discard", Access::Write, discard).with(WRITE),
    ]
}

async fn list(call: Call) -> Result<Response, Refused> {
    let owner = call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?;
    let listing = call.state.reader.holds(owner.as_ref()).await?;
    blocking(move || {
        let items: Vec<HoldDocument> = listing.items.iter().map(shown).collect();
        document(StatusCode::OK, &List { revision: listing.revision, items })
    })
    .await?
}

fn shown(hold: &Hold) -> HoldDocument {
    let key = |one: &crate::ledger::hold::HeldDelete| RecordKeyDocument {
        name: one.name.to_string(),
        rtype: one.rtype.to_string(),
    };
    HoldDocument {
        id: hold.word(),
        owner: hold.owner_id.as_str().to_owned(),
        since: show::moment(hold.since),
        claims: hold.claims,
        deletes: hold.deletes.iter().map(key).collect(),
    }
}

async fn approve(call: Call) -> Result<Response, Refused> {
    decide(call, HoldDecision::Approve).await
}

async fn discard(call: Call) -> Result<Response, Refused> {
    decide(call, HoldDecision::Discard).await
}

async fn decide(call: Call, decision: HoldDecision) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let word = call.part("id");
    let id =
        Hold::id_of(word).ok_or_else(|| Refused::not_found(format!("there is no hold {}", word.escape_debug())))?;
    let dry_run = call.dry_run()?;
    let shape = move |report: &Report| (status_of(report), show::report(report, None, dry_run));
    call.answer(Command::DecideHold(DecideHold { id, decision }), "", "", shape).await
}
