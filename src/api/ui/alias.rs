//! ALIAS targets: what is known of them, and which records lead there.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::with_parameters;
use super::charts::{Part, bar};
use super::frame::{Frame, Visit, quoted};
use super::overview::is_ill;
use super::{Fields, Ui};
use crate::api::documents::AliasTargetDocument;
use crate::api::paging::PageDocument;

#[derive(Template)]
#[template(path = "alias.html")]
struct View<'a> {
    f: &'a Frame,
    state: &'a str,
    states: Vec<Part>,
    targets: Vec<AliasTargetDocument>,
    next: String,
}

impl View<'_> {
    fn ill(&self, state: &str) -> bool {
        is_ill(state)
    }
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "alias", &fields).await;
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let filters = [("state", given("state")), ("target", given("target"))];
    let option = if given("state").is_empty() { String::new() } else { format!(" --state {}", quoted(given("state"))) };
    f.reads(&format!("alias list{option}"), &with_parameters("/v1/alias-targets", &filters));
    let more = [("limit", "100"), ("continue", given("continue"))];
    let path = with_parameters("/v1/alias-targets", &[filters.as_slice(), &more].concat());
    match f.asker.get::<PageDocument<AliasTargetDocument>>(&path).await {
        Err(problem) => f.failed(&problem),
        Ok(page) => {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for target in &page.items {
                *counts.entry(target.state.clone()).or_default() += 1;
            }
            let next = page.next.map(|next| {
                with_parameters("/ui/alias", &[filters.as_slice(), &[("continue", next.as_str())]].concat())
            });
            let view = View {
                f: &f,
                state: given("state"),
                states: bar(counts.into_iter().collect()),
                targets: page.items,
                next: next.unwrap_or_default(),
            };
            f.show(StatusCode::OK, &view)
        }
    }
}
