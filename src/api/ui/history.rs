//! History: what changed, by whom, with a way back; and record sets that do not come to rest.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::ask::with_parameters;
use super::charts::{Dot, time_line};
use super::frame::{Frame, Visit, quoted};
use super::{Fields, Ui};
use crate::api::documents::{ChangeDocument, ProblemDocument};
use crate::api::findings::FlapDocument;
use crate::api::paging::PageDocument;

/// Newest changes that are shown.
const CHANGES: &str = "200";
/// Flapping record sets that are drawn.
const FLAPS: &str = "20";
/// Changes of a record set that are drawn.
const EVENTS: &str = "400";

/// A change, with both sides as lines.
pub(super) struct Row {
    pub(super) change: ChangeDocument,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
    /// Whether it is the first row shown of its revision.
    pub(super) first: bool,
}

struct Restless {
    flap: FlapDocument,
    dots: Vec<Dot>,
}

#[derive(Template)]
#[template(path = "history.html")]
struct View<'a> {
    f: &'a Frame,
    fields: &'a Fields,
    rows: Vec<Row>,
    flaps: Vec<Restless>,
}

impl View<'_> {
    fn given(&self, field: &str) -> &str {
        self.fields.get(field).map(String::as_str).unwrap_or_default()
    }
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "history", &fields).await;
    let filters: Vec<(&str, &str)> = ["zone", "name", "owner"]
        .into_iter()
        .map(|name| (name, fields.get(name).map(|value| value.trim()).unwrap_or_default()))
        .collect();
    let given = filters.iter().filter(|(_, value)| !value.is_empty());
    let options: Vec<String> = given.map(|(name, value)| format!(" --{name} {}", quoted(value))).collect();
    f.reads(&format!("history{}\ntenured flaps", options.concat()), &with_parameters("/v1/changes", &filters));
    match read(&f, &filters).await {
        Err(problem) => f.failed(&problem),
        Ok((changes, flaps)) => f.show(StatusCode::OK, &View { f: &f, fields: &fields, rows: rows(&changes), flaps }),
    }
}

async fn read(
    f: &Frame,
    filters: &[(&str, &str)],
) -> Result<(Vec<ChangeDocument>, Vec<Restless>), Box<ProblemDocument>> {
    let path = with_parameters("/v1/changes", &[filters, &[("last", CHANGES)]].concat());
    let changes = f.asker.get::<PageDocument<ChangeDocument>>(&path).await?.items;
    let zone = filters.iter().find(|(name, _)| *name == "zone").map_or("", |(_, value)| value);
    let path = with_parameters("/v1/flaps", &[("zone", zone), ("limit", FLAPS)]);
    let mut restless = Vec::new();
    for flap in f.asker.get::<PageDocument<FlapDocument>>(&path).await?.items {
        let of = [("zone", flap.zone.as_str()), ("name", &flap.name), ("last", EVENTS)];
        let events = f.asker.get::<PageDocument<ChangeDocument>>(&with_parameters("/v1/changes", &of)).await?.items;
        let events: Vec<_> = events
            .into_iter()
            .filter(|event| event.rtype == flap.rtype)
            .map(|event| (event.at, !event.before.is_null(), !event.after.is_null(), event.owner))
            .collect();
        restless.push(Restless { dots: time_line(&events), flap });
    }
    Ok((changes, restless))
}

/// Changes, newest first.
pub(super) fn rows(changes: &[ChangeDocument]) -> Vec<Row> {
    let mut changes: Vec<&ChangeDocument> = changes.iter().collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.revision));
    let mut last = None;
    changes
        .into_iter()
        .map(|change| {
            let first = last.replace(change.revision) != Some(change.revision);
            Row { before: side(&change.before), after: side(&change.after), first, change: change.clone() }
        })
        .collect()
}

/// One side of a change as lines: a record as its values with their TTL, anything else as `key: value`.
fn side(value: &Value) -> Vec<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Null => Vec::new(),
        Value::Object(keys) => match keys.get("values").and_then(Value::as_array) {
            Some(values) => {
                let ttl = keys.get("ttl").map(|ttl| format!("{ttl} ")).unwrap_or_default();
                let state = keys.get("state").and_then(Value::as_str).filter(|state| *state != "held");
                let state = state.map(|state| format!(" ({state})")).unwrap_or_default();
                values.iter().map(|value| format!("{ttl}{}{state}", plain(value))).collect()
            }
            None => {
                let given = keys.iter().filter(|(_, value)| !value.is_null());
                given.map(|(key, value)| format!("{key}: {}", plain(value))).collect()
            }
        },
        other => vec![plain(other)],
    }
}
