//! `POST /v1/aliases/dry-run`: what an ALIAS would come to, looked up and not stored (alias.md section 9).

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::aliases::family;
use super::fields::RecordFields;
use super::target_check;
use crate::api::alias_view;
use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, owner_id};
use crate::api::documents::{AliasVerdictDocument, ErrorDocument};
use crate::api::json::{self, BodyLimit};
use crate::api::problem::Refused;
use crate::control::Request;
use crate::ledger::command::{Change, Command, Wish};
use crate::ledger::owner::OwnerId;
use crate::ledger::report::{Problem, Refusal, Report};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::{AliasRecord, TargetKey};
use crate::zone::node::RRset;
use crate::zone::policy::Policy;
use crate::zone::snapshot::Snapshot;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/v1/aliases/dry-run", Access::Write, run)
            .with(&["targetCheck"])
            .taking(BodyLimit::Small),
    ]
}

async fn run(call: Call) -> Result<Response, Refused> {
    let Trial { owner, fields } = Trial::read(&call.body())?;
    if !fields.rtype.eq_ignore_ascii_case("ALIAS") {
        return Err(Refused::bad_request("only a record of type ALIAS has a target to look up"));
    }
    let wish = match fields.read() {
        Ok(wish) => wish,
        Err(bad) => return document(StatusCode::OK, &refused(&bad.problem)),
    };
    let snapshot = call.state.handle.published().get();
    let owner = match owner {
        Some(owner) => owner,
        None => match snapshot.zone_of(&wish.name) {
            Some(zone) => match call.state.reader.zone(zone.apex()).await? {
                Some(row) => row.zone.owner,
                None => OwnerId::of_zone(zone.apex()),
            },
            None => return Err(Refused::not_found(format!("{} is in no zone of this server", wish.name))),
        },
    };
    let command = Command::Change(Change::put(owner.clone(), wish.clone()));
    let (warnings, targets) = target_check::check(&call, &command, &owner).await?;
    let request = Request { command, actor: call.actor.clone(), dry_run: true, request_id: call.request_id.clone() };
    let outcome = call.state.handle.submit(request).await;
    let owners = target_check::owner_numbers(&call, &owner).await?;
    let mut verdict = judged(&outcome);
    verdict.warnings = warnings;
    look(&call, &wish, &targets, owners, &mut verdict);
    document(StatusCode::OK, &verdict)
}

/// A record and for whom it is tried.
struct Trial {
    owner: Option<OwnerId>,
    fields: RecordFields,
}

impl Trial {
    fn read(body: &[u8]) -> Result<Trial, Refused> {
        let mut body: Map<String, Value> = json::read(body)?;
        let owner = match body.remove("owner") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(owner_id("owner", &text)?),
            Some(_) => return Err(Refused::bad_request("owner is a text")),
        };
        let fields = RecordFields::deserialize(Value::Object(body))
            .map_err(|error| Refused::bad_request(format!("the body is a record, and perhaps its owner: {error}")))?;
        Ok(Trial { owner, fields })
    }
}

/// Whether a body is read, for the document's example.
pub(super) fn reads(text: &str) -> Result<(), String> {
    Trial::read(text.as_bytes()).map(|_| ()).map_err(|refused| refused.document().detail.clone())
}

fn refused(problem: &Problem) -> AliasVerdictDocument {
    AliasVerdictDocument {
        verdict: "refused".to_owned(),
        errors: vec![error(problem)],
        path: problem.path.to_vec(),
        ..AliasVerdictDocument::default()
    }
}

fn error(problem: &Problem) -> ErrorDocument {
    ErrorDocument { pointer: None, line: None, code: problem.code.text().to_owned(), detail: problem.detail.clone() }
}

fn judged(outcome: &Result<Report, Refusal>) -> AliasVerdictDocument {
    match outcome {
        Err(refusal) => {
            let item = refusal.items.iter().find_map(|item| item.problem.as_ref());
            refused(item.unwrap_or(&refusal.problem))
        }
        Ok(report) => match report.results.iter().find_map(|item| item.problem.as_ref()) {
            Some(problem) => refused(problem),
            None => AliasVerdictDocument { verdict: "ok".to_owned(), ..AliasVerdictDocument::default() },
        },
    }
}

/// Puts the record into a copy of what is served, and looks at it there.
fn look(
    call: &Call,
    wish: &Wish,
    targets: &[TargetKey],
    owners: Vec<u32>,
    verdict: &mut AliasVerdictDocument,
) -> Option<()> {
    // Published after the lookups.
    let mut snapshot = Snapshot::clone(&call.state.handle.published().get());
    let mut zone = (**snapshot.zone_of(&wish.name)?).clone();
    let options = wish.alias.unwrap_or_default();
    let terms = &call.state.terms;
    let group = targets.first().map(|target| target.group).unwrap_or_default();
    let record = AliasRecord {
        a: options.a,
        aaaa: options.aaaa,
        group,
        policy: Policy { internal: terms.internal(options.policy.internal), ..options.policy },
        ..AliasRecord::plain(wish.records.first()?.clone(), owners)
    };
    let before = zone.node(&wish.name).map(|node| node.rrsets().map(|rrset| rrset.to_owned()).collect::<Vec<_>>());
    let mut rrsets: Vec<RRset> = before.unwrap_or_default();
    rrsets.retain(|rrset| rrset.rtype != Rtype::ALIAS);
    let ttl = wish.ttl.unwrap_or(DEFAULT_TTL);
    rrsets.push(RRset { rtype: Rtype::ALIAS, ttl, records: vec![record.encode()] });
    rrsets.sort_by_key(|rrset| rrset.rtype);
    zone.set(&wish.name, &rrsets);
    let zone = Arc::new(zone);
    snapshot.put_zone(zone.clone());
    let node = zone.node(&wish.name)?;
    let view = alias_view::view(&snapshot, &call.state.trust, &zone, node, None, call.state.clock.now())?;
    let best = view.best();
    verdict.leads_to = view.end.to_string();
    verdict.upstream_group = if view.external { terms.group_name(group).map(str::to_owned) } else { None };
    verdict.state = view.state().0.text().to_owned();
    verdict.serving = best.map(|best| best.serving.text().to_owned()).unwrap_or_default();
    verdict.effective_ttl_seconds = best.map_or(0, |best| best.ttl);
    verdict.ttl_limited_by = best.map(|best| best.limited_by.text().to_owned()).unwrap_or_default();
    verdict.families = view.families.iter().map(family).collect();
    let entry = snapshot.alias.entry(&TargetKey { name: view.end, group });
    let chain = entry.and_then(|entry| entry.a.crossing.clone().or_else(|| entry.aaaa.crossing.clone()));
    verdict.chain = chain.iter().flat_map(|names| names.iter()).map(Name::to_string).collect();
    Some(())
}

/// TTL of a record that gives none, in seconds, where nothing says otherwise.
const DEFAULT_TTL: u32 = 300;
