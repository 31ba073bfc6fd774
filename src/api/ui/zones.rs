//! Zones: what is hosted, by whom, and in which state.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::with_parameters;
use super::frame::{Frame, Visit};
use super::{Fields, Ui};
use crate::api::documents::ZoneDocument;
use crate::api::paging::PageDocument;

#[derive(Template)]
#[template(path = "zones.html")]
struct View<'a> {
    f: &'a Frame,
    zones: Vec<ZoneDocument>,
    next: String,
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "zones", &fields).await;
    let after = fields.get("continue").map(String::as_str).unwrap_or_default();
    let path = with_parameters("/v1/zones", &[("limit", "200"), ("continue", after)]);
    f.reads("zone list", "/v1/zones");
    match f.asker.get::<PageDocument<ZoneDocument>>(&path).await {
        Err(problem) => f.failed(&problem),
        Ok(page) => {
            let next = page.next.map(|next| with_parameters("/ui/zones", &[("continue", &next)])).unwrap_or_default();
            f.show(StatusCode::OK, &View { f: &f, zones: page.items, next })
        }
    }
}
