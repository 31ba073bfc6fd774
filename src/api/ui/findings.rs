//! Conflicts, orphans and deletes that the brake keeps back, each with what can be done about it.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::with_parameters;
use super::frame::{Frame, Visit, quoted};
use super::{Fields, Ui};
use crate::api::documents::{HoldDocument, List, ProblemDocument};
use crate::api::findings::{ConflictDocument, OrphanDocument};
use crate::api::paging::PageDocument;

const REASONS: [&str; 4] = ["ownerExpired", "ownerUnconfirmed", "targetNxdomain", "unclaimed"];

#[derive(Template)]
#[template(path = "findings.html")]
struct View<'a> {
    f: &'a Frame,
    reasons: &'a [&'a str],
    reason: &'a str,
    conflicts: Vec<ConflictDocument>,
    more_conflicts: String,
    orphans: Vec<OrphanDocument>,
    more_orphans: String,
    holds: Vec<HoldDocument>,
}

/// The view.
pub(super) async fn view(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let mut f = Frame::of(&ui, &visit, "findings", &fields).await;
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let reason = given("reason");
    let option = if reason.is_empty() { String::new() } else { format!(" --reason {}", quoted(reason)) };
    f.reads(&format!("orphans{option}\ntenured conflicts"), &with_parameters("/v1/orphans", &[("reason", reason)]));
    match read(&f, reason, &fields).await {
        Err(problem) => f.failed(&problem),
        Ok((conflicts, orphans, holds)) => {
            let link = |name: &str, next: Option<String>| {
                next.map(|next| with_parameters("/ui/findings", &[("reason", reason), (name, &next)]))
                    .unwrap_or_default()
            };
            let view = View {
                f: &f,
                reasons: &REASONS,
                reason,
                conflicts: conflicts.items,
                more_conflicts: link("conflicts", conflicts.next),
                orphans: orphans.items,
                more_orphans: link("orphans", orphans.next),
                holds,
            };
            f.show(StatusCode::OK, &view)
        }
    }
}

type Read = (PageDocument<ConflictDocument>, PageDocument<OrphanDocument>, Vec<HoldDocument>);

async fn read(f: &Frame, reason: &str, fields: &Fields) -> Result<Read, Box<ProblemDocument>> {
    let after = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
    let path = |path: &str, reason: &str, after: &str| {
        with_parameters(path, &[("reason", reason), ("limit", "100"), ("continue", after)])
    };
    let conflicts = f.asker.get(&path("/v1/conflicts", "", after("conflicts"))).await?;
    let orphans = f.asker.get(&path("/v1/orphans", reason, after("orphans"))).await?;
    let holds = f.asker.get::<List<HoldDocument>>("/v1/holds").await?;
    Ok((conflicts, orphans, holds.items))
}
