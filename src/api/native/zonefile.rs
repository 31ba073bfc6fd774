//! `/v1/zones/{zone}/zonefile`: import as the full set of `zone:<zone>`, export of what is served.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Method, header};
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
use crate::zone::file::{self, AliasForm, Finding, NoInclude, WriteOptions};
use crate::zone::flat::flattened;

pub(super) fn routes() -> Vec<Route> {
    const IMPORT: &[&str] =
        &["prune", "atomic", "onConflict", "maxDeletes", "dryRun", "owner", "targetCheck", "wait", "refs"];
    vec![
        Route::new(Method::PUT, "/v1/zones/{zone}/zonefile", Access::Write, import)
            .with(IMPORT)
            .taking(BodyLimit::ZoneFile),
        Route::new(Method::GET, "/v1/zones/{zone}/zonefile", Access::Read, export).with(&["alias"]),
    ]
}

/// Media type of a zone file (RFC 4027).
const TEXT_DNS: &str = "text/dns";

/// The zone of a text, or a problem that names each line at fault.
async fn import(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let origin = call.zone()?;
    let media = call.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or(TEXT_DNS);
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !matches!(
        media.as_str(),
        TEXT_DNS | "text/plain" | "application/octet-stream" | "application/x-www-form-urlencoded"
    ) {
        return Err(Refused::bad_request(format!(
            "the body is a zone file of type {TEXT_DNS}, not {}",
            media.escape_debug()
        )));
    }
    let (body, apex) = (call.body(), origin.clone());
    let read = blocking(move || file::read(&body, "body", Some(&apex), &mut NoInclude)).await?;
    let zone = read.map_err(|findings| faulty(&findings))?;
    if zone.origin != origin {
        return Err(Refused::new(
            Code::NameOutOfZone,
            format!("the file is of the zone {}, and the path names {origin}: put it under its own name", zone.origin),
        ));
    }
    let owner = OwnerId::of_zone(&origin);
    let command = ImportZone {
        origin: zone.origin,
        rrsets: Arc::new(zone.rrsets),
        owner: call.parameters.text("owner").map(|text| owner_id("owner", text)).transpose()?,
        prune: call.parameters.flag("prune", true)?,
        atomic: call.parameters.flag("atomic", false)?,
        on_conflict: on_conflict(&call)?,
        max_deletes: call.parameters.number("maxDeletes")?,
    };
    let mut call = call;
    call.actor.door = Door::ZoneFile;
    let report = call.submit(Command::ImportZone(command), owner.as_str(), &origin.to_string()).await?;
    let mut shown = show::report(&report, Some(&owner), call.dry_run()?);
    shown.file_warnings = zone.warnings.iter().map(finding).collect();
    document(status_of(&report), &shown)
}

fn finding(finding: &Finding) -> ErrorDocument {
    ErrorDocument {
        pointer: None,
        line: Some(finding.line),
        code: Code::InvalidRecord.text().to_owned(),
        detail: finding.text.clone(),
    }
}

fn faulty(findings: &[Finding]) -> Refused {
    let first = findings.first().map_or_else(String::new, |first| format!(" line {}: {}", first.line, first.text));
    let count = match findings.len() {
        1 => "1 line".to_owned(),
        more => format!("{more} lines"),
    };
    Refused::new(
        Code::InvalidRecord,
        format!("{count} of the zone file cannot be read, and nothing was imported;{first}"),
    )
    .with_errors(findings.iter().map(finding).collect())
}

/// The zone as it is served now, as a file.
async fn export(call: Call) -> Result<Response, Refused> {
    let name = call.zone()?;
    let aliases = match call.parameters.text("alias") {
        None | Some("alias") => Some(AliasForm::Alias),
        Some("aname") => Some(AliasForm::Aname),
        Some("generic") => Some(AliasForm::Generic),
        // Without any.
        Some("addresses") => None,
        Some(other) => {
            let detail = format!("alias is alias, aname, generic or addresses, not `{}`", other.escape_debug());
            return Err(Refused::bad_request(detail));
        }
    };
    let snapshot = call.state.handle.published().get();
    let zone = Arc::clone(snapshot.zone(&name).ok_or_else(|| Refused::not_found(format!("there is no zone {name}")))?);
    let (trust, now) = (call.state.trust.clone(), call.state.clock.now());
    let text = blocking(move || {
        let mut text = String::new();
        // Only the text could fail, and a String takes all.
        let _ = match aliases {
            Some(aliases) => file::write(&mut text, &zone, WriteOptions { aliases }),
            None => file::write(&mut text, &flattened(&snapshot, &trust, &zone, now), WriteOptions::default()),
        };
        text
    })
    .await?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/dns; charset=us-ascii"));
    Ok(response)
}
