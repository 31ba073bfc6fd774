//! Overview: what goes on now, and what is not well. The numbers renew themselves where there is JavaScript.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::de::DeserializeOwned;

use super::charts::{Lines, Part, bar, lines, number};
use super::frame::{Frame, Visit};
use super::rates::Rate;
use super::{Fields, Ui};
use crate::api::documents::{AliasTargetDocument, ProblemDocument};
use crate::api::findings::{ConflictDocument, FlapDocument, OrphanDocument};
use crate::api::paging::PageDocument;

/// Rows of a short list.
const FEW: usize = 8;

/// What renews itself.
#[derive(Template)]
#[template(path = "live.html")]
pub(super) struct Live {
    rate: String,
    writes: String,
    queries: Lines,
    codes: Lines,
    no_name: Vec<(String, u64)>,
    failed: Vec<(String, u64)>,
    zones: usize,
    records: u64,
    revision: u64,
    alarms: Vec<(String, String)>,
}

impl Live {
    /// The numbers now.
    pub(super) fn now(ui: &Ui) -> Live {
        let rates = ui.rates.rates();
        let last = rates.last().copied().unwrap_or_default();
        let minute: Vec<&Rate> = rates.iter().rev().take(30).collect();
        let writes = minute.iter().map(|rate| rate.writes).sum::<f64>() / minute.len().max(1) as f64 * 60.0;
        let snapshot = ui.state.handle.published().get();
        let [no_name, failed] = ui.rates.top(FEW);
        Live {
            rate: number(last.all()),
            writes: number(writes),
            queries: lines(&rates, &[("all", Rate::all)]),
            codes: lines(
                &rates,
                &[
                    ("noerror", |rate| rate.noerror),
                    ("nxdomain", |rate| rate.nxdomain),
                    ("servfail", |rate| rate.servfail),
                    ("other", |rate| rate.other),
                ],
            ),
            no_name,
            failed,
            zones: snapshot.zone_count(),
            records: snapshot.record_count(),
            revision: snapshot.revision,
            alarms: ui.state.readiness.alarms().into_iter().collect(),
        }
    }
}

/// A list of findings, or why it cannot be shown.
enum Section<T> {
    Rows(Vec<T>),
    Wrong(Box<ProblemDocument>),
}

#[derive(Template)]
#[template(path = "overview.html")]
struct View<'a> {
    f: &'a Frame,
    live: &'a Live,
    states: Vec<Part>,
    unhealthy: Section<AliasTargetDocument>,
    conflicts: Section<ConflictDocument>,
    orphans: Section<OrphanDocument>,
    flaps: Section<FlapDocument>,
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "overview", &fields).await;
    f.reads("health", "/metrics");
    let mut states = Vec::new();
    let unhealthy = match few::<AliasTargetDocument>(&f, "/v1/alias-targets?limit=1000").await {
        Section::Wrong(problem) => Section::Wrong(problem),
        Section::Rows(targets) => {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for target in &targets {
                *counts.entry(target.state.clone()).or_default() += 1;
            }
            states = bar(counts.into_iter().collect());
            Section::Rows(targets.into_iter().filter(|one| is_ill(&one.state)).take(FEW).collect())
        }
    };
    let view = View {
        live: &Live::now(&ui),
        states,
        unhealthy,
        conflicts: few(&f, "/v1/conflicts?limit=8").await,
        orphans: few(&f, "/v1/orphans?limit=8").await,
        flaps: few(&f, "/v1/flaps?limit=8").await,
        f: &f,
    };
    f.show(StatusCode::OK, &view)
}

async fn few<T: DeserializeOwned>(f: &Frame, path: &str) -> Section<T> {
    if !f.may_look() {
        return Section::Rows(Vec::new());
    }
    match f.asker.get::<PageDocument<T>>(path).await {
        Ok(page) => Section::Rows(page.items),
        Err(problem) => Section::Wrong(problem),
    }
}

/// Whether a target in a state needs somebody to look at it.
pub(super) fn is_ill(state: &str) -> bool {
    !matches!(state, "Resolved" | "Pending" | "Partial")
}
