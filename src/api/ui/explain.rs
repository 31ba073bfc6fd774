//! Explain, the front: why a name answers what it answers, who owns it, and what can be done about it.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::with_parameters;
use super::forms::{Place, places};
use super::frame::{Frame, Visit, quoted, status_of};
use super::history::{Row, rows};
use super::{Fields, Ui};
use crate::api::documents::{AliasTargetDocument, ExplanationDocument, ProblemDocument, RecordDocument};
use crate::api::paging::PageDocument;

/// Types that the form offers.
const TYPES: [&str; 13] =
    ["A", "AAAA", "ALIAS", "CNAME", "MX", "NS", "TXT", "SRV", "CAA", "HTTPS", "SVCB", "PTR", "SOA"];

#[derive(Template)]
#[template(path = "explain.html")]
struct View<'a> {
    f: &'a Frame,
    rtype: &'a str,
    types: &'a [&'a str],
    found: Option<&'a Found>,
    wrong: Option<&'a ProblemDocument>,
    /// Zones to begin with.
    zones: Vec<String>,
}

struct Found {
    explanation: ExplanationDocument,
    alias: Option<AliasTargetDocument>,
    records: Vec<(RecordDocument, Place)>,
    changes: Vec<Row>,
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "explain", &fields).await;
    let name = f.searched.trim().to_owned();
    let rtype = fields.get("type").map(|rtype| rtype.trim().to_owned()).unwrap_or_default();
    let path = with_parameters("/v1/explain", &[("name", &name), ("type", &rtype)]);
    f.reads(
        format!("explain {} {rtype}", if name.is_empty() { "NAME".to_owned() } else { quoted(&name) }).trim_end(),
        &path,
    );
    let looked = if name.is_empty() || !f.may_look() { None } else { Some(find(&f, &path).await) };
    let status = match &looked {
        Some(Err(problem)) => status_of(problem),
        Some(Ok(_)) | None => StatusCode::OK,
    };
    let mut zones = Vec::new();
    if looked.is_none() && f.may_look() {
        let first = f.asker.get::<PageDocument<crate::api::documents::ZoneDocument>>("/v1/zones?limit=8").await;
        zones = first.map(|page| page.items.into_iter().map(|zone| zone.name).collect()).unwrap_or_default();
    }
    let found = looked.as_ref().and_then(|looked| looked.as_ref().ok());
    let wrong = looked.as_ref().and_then(|looked| looked.as_ref().err()).map(|problem| problem.as_ref());
    f.show(status, &View { f: &f, rtype: &rtype, types: &TYPES, found, wrong, zones })
}

async fn find(f: &Frame, path: &str) -> Result<Found, Box<ProblemDocument>> {
    let explanation: ExplanationDocument = f.asker.get(path).await?;
    let path = with_parameters("/v1/records", &[("name", &explanation.name), ("limit", "50")]);
    // What the name itself has: the explanation stands without it.
    let records = f.asker.get::<PageDocument<RecordDocument>>(&path).await.map(|page| page.items).unwrap_or_default();
    let alias = if records.iter().any(|record| record.rtype == "ALIAS") {
        f.asker.get(&format!("/v1/aliases/{}", f.enc(&explanation.name))).await.ok()
    } else {
        None
    };
    let changes = rows(&explanation.changes);
    Ok(Found { explanation, alias, records: places(records), changes })
}
