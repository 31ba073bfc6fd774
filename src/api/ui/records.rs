//! Records with their owners, and the form that edits one.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::with_parameters;
use super::forms::{Place, places};
use super::frame::{Frame, Visit, quoted};
use super::{Fields, Ui};
use crate::api::documents::RecordDocument;
use crate::api::paging::PageDocument;

/// Parameters of the API that the form has.
const FILTERS: [&str; 5] = ["zone", "name", "type", "owner", "state"];
const STATES: [&str; 3] = ["held", "queued", "quarantined"];

#[derive(Template)]
#[template(path = "records.html")]
struct View<'a> {
    f: &'a Frame,
    fields: &'a Fields,
    states: &'a [&'a str],
    records: Vec<(RecordDocument, Place)>,
    next: String,
}

impl View<'_> {
    fn given(&self, field: &str) -> &str {
        self.fields.get(field).map(String::as_str).unwrap_or_default()
    }
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "records", &fields).await;
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let filters: Vec<(&str, &str)> = FILTERS.iter().map(|name| (*name, given(name))).collect();
    let options: Vec<String> = filters
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!(" --{name} {}", quoted(value)))
        .collect();
    f.reads(&format!("record list{}", options.concat()), &with_parameters("/v1/records", &filters));
    let with = |path: &str, more: &[(&str, &str)]| with_parameters(path, &[filters.as_slice(), more].concat());
    let path = with("/v1/records", &[("limit", "100"), ("continue", given("continue"))]);
    match f.asker.get::<PageDocument<RecordDocument>>(&path).await {
        Err(problem) => f.failed(&problem),
        Ok(page) => {
            let next = page.next.map(|next| with("/ui/records", &[("continue", &next)])).unwrap_or_default();
            let records = places(page.items);
            f.show(StatusCode::OK, &View { f: &f, fields: &fields, states: &STATES, records, next })
        }
    }
}

#[derive(Template)]
#[template(path = "edit.html")]
struct Edit<'a> {
    f: &'a Frame,
    record: RecordDocument,
    /// Whether it is there, or is to be made.
    known: bool,
}

/// The form.
pub(super) async fn edit(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "records", &fields).await;
    if !f.may_write() {
        return f.sign_in("Sign in with a token that may write.", StatusCode::FORBIDDEN);
    }
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let filters =
        [("zone", given("zone")), ("name", given("name")), ("type", given("type")), ("owner", given("owner"))];
    f.reads(
        &format!("record list --name {} --type {}", quoted(given("name")), quoted(given("type"))),
        &with_parameters("/v1/records", &filters),
    );
    let mut known = None;
    if filters.iter().all(|(_, value)| !value.is_empty()) {
        match current(&f, &fields).await {
            Ok(record) => known = record,
            Err(problem) => return f.failed(&problem),
        }
    }
    let (is_known, record) = (known.is_some(), known.unwrap_or_else(|| fresh(&fields)));
    f.show(StatusCode::OK, &Edit { f: &f, record, known: is_known })
}

fn fresh(fields: &Fields) -> RecordDocument {
    let given = |name: &str| fields.get(name).cloned().unwrap_or_default();
    RecordDocument {
        zone: given("zone"),
        name: given("name"),
        rtype: given("type"),
        owner: given("owner"),
        ttl: 300,
        ..RecordDocument::default()
    }
}

/// The claim that a form is about, if it is there.
pub(super) async fn current(
    f: &Frame,
    fields: &Fields,
) -> Result<Option<RecordDocument>, Box<crate::api::documents::ProblemDocument>> {
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let filters =
        [("zone", given("zone")), ("name", given("name")), ("type", given("type")), ("owner", given("owner"))];
    let page = f.asker.get::<PageDocument<RecordDocument>>(&with_parameters("/v1/records", &filters)).await?;
    let set_id = Some(given("setId")).filter(|id| !id.is_empty());
    Ok(page.items.into_iter().find(|record| record.set_id.as_deref() == set_id))
}
