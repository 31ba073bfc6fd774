//! Writes of the page: first the plan, which is the dry run of the request, then the request itself.

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::ask::Outcome;
use super::frame::{Frame, Visit, status_of};
use super::orders::{Act, Order, order};
use super::records::current;
use super::session::{form_key, from_here};
use super::{Fields, Ui};
use crate::api::documents::{ProblemDocument, RecordDocument};

/// A form, or why it could not be read.
type Sent = Result<Form<Fields>, FormRejection>;

/// A plan that waits for a yes, or what came of it.
#[derive(Template)]
#[template(path = "write.html")]
struct View<'a> {
    f: &'a Frame,
    order: &'a Order,
    stage: Stage,
    /// Hidden fields of the form that says yes.
    fields: Vec<(&'a str, &'a str)>,
    outcome: Outcome,
    problem: Option<&'a ProblemDocument>,
    before: Vec<String>,
    after: Vec<String>,
}

/// Where a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Something is still to be said.
    Asked,
    /// It was tried.
    Planned,
    /// It was done.
    Done,
}

impl View<'_> {
    fn asks(&self) -> bool {
        self.stage == Stage::Asked
    }

    fn plans(&self) -> bool {
        self.stage == Stage::Planned
    }

    fn title(&self) -> &str {
        match (self.stage, self.problem.is_some()) {
            (Stage::Asked, _) => "One thing more",
            (Stage::Planned, false) => "Plan",
            (Stage::Planned, true) => "This would be refused",
            (Stage::Done, false) => "Done",
            (Stage::Done, true) => "Refused",
        }
    }
}

/// Shows what a write would do.
pub(super) async fn plan(State(ui): State<Ui>, visit: Visit, form: Sent) -> Response {
    run(&ui, visit, form, Stage::Planned).await
}

/// Does it.
pub(super) async fn carry_out(State(ui): State<Ui>, visit: Visit, form: Sent) -> Response {
    run(&ui, visit, form, Stage::Done).await
}

async fn run(ui: &Ui, visit: Visit, form: Sent, wanted: Stage) -> Response {
    let mut f = Frame::of(ui, &visit, "write", &Fields::default()).await;
    if !from_here(&visit.headers) {
        return f.problem(StatusCode::FORBIDDEN, "This form came from another site, and was not looked at.");
    }
    let Ok(Form(fields)) = form else {
        return f.problem(StatusCode::BAD_REQUEST, "The form could not be read.");
    };
    let key = f.asker.token.as_deref().map(form_key);
    if !f.may_write() {
        return f.sign_in("Sign in with a token that may write.", StatusCode::FORBIDDEN);
    }
    if key.is_none() || fields.get("key") != key.as_ref() {
        return f.problem(StatusCode::FORBIDDEN, "This form is of another session: open the view anew.");
    }
    let Some(act) = fields.get("act").and_then(|word| Act::of(word)) else {
        return f.problem(StatusCode::BAD_REQUEST, "This form asks for nothing that the page can do.");
    };
    let mut known = None;
    if act == Act::PutRecord {
        match current(&f, &fields).await {
            Ok(record) => known = record,
            Err(problem) => return f.failed(&problem),
        }
    }
    let order = order(act, &fields, known.as_ref());
    let body = order.body.as_ref().map(ToString::to_string);
    f.commands.cli = order.cli.clone();
    f.commands.curl = f.curl(order.method.as_str(), &order.target(false), body.as_deref());
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let stage = if act == Act::TransferRecord && given("to").is_empty() {
        Stage::Asked
    } else if act.has_plan() {
        wanted
    } else {
        Stage::Done
    };
    let answer = match stage {
        Stage::Asked => Ok((StatusCode::OK, serde_json::Value::Null)),
        Stage::Planned => f.asker.send(&order.method, &order.target(true), order.body.as_ref()).await,
        Stage::Done => f.asker.send(&order.method, &order.target(false), order.body.as_ref()).await,
    };
    let hidden = fields.iter().filter(|(name, _)| *name != "key" && *name != "to");
    let mut hidden: Vec<(&str, &str)> = hidden.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    if stage == Stage::Planned {
        hidden.extend(fields.get("to").map(|to| ("to", to.as_str())));
    }
    hidden.sort_unstable();
    let (status, outcome) = match &answer {
        Ok((_, value)) => (StatusCode::OK, Outcome::read(value)),
        Err(problem) => (status_of(problem), Outcome::refused(problem)),
    };
    let (before, after) =
        if act == Act::PutRecord { (lines(known.as_ref()), wished(&fields)) } else { Default::default() };
    let problem = answer.as_ref().err().map(|problem| problem.as_ref());
    let view = View { f: &f, order: &order, stage, fields: hidden, outcome, problem, before, after };
    f.show(status, &view)
}

fn lines(record: Option<&RecordDocument>) -> Vec<String> {
    let of = |record: &RecordDocument| {
        record.values.iter().map(|value| format!("{} {} {value}", record.ttl, record.rtype)).collect()
    };
    record.map(of).unwrap_or_default()
}

fn wished(fields: &Fields) -> Vec<String> {
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let values = given("values").lines().map(str::trim).filter(|line| !line.is_empty());
    values.map(|value| format!("{} {} {value}", given("ttl"), given("type")).trim().to_owned()).collect()
}
