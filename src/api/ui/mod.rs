//! The page that people look at, at `/ui`: rendered on the server, of what the API answers to the same caller. It has no
//! data and no rights of its own: each view asks the routes of `/v1` within the process, with the token of the session,
//! and a write is a request to them that is shown as a dry run first. It works without JavaScript.

mod alias;
mod ask;
mod assets;
mod charts;
mod explain;
mod findings;
mod forms;
mod frame;
mod history;
mod live;
mod orders;
mod overview;
mod owners;
mod rates;
mod records;
mod session;
mod top;
mod writes;
mod zones;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};

use super::ApiState;
use frame::{Frame, Visit};
use rates::Rates;

/// What a page may load: what this server serves, and nothing inline.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the views share.
#[derive(Clone)]
struct Ui {
    /// The routes of the API.
    api: Router,
    /// The rooms behind it.
    state: ApiState,
    /// Rates of the last minutes.
    rates: Arc<Rates>,
}

/// The parameters of a view, those of its forms too.
type Fields = HashMap<String, String>;

/// Adds the page to the routes that it shows.
pub(super) fn add_to(router: Router, state: &ApiState) -> Router {
    let ui = Ui { api: router.clone(), state: state.clone(), rates: Rates::start(state) };
    let pages = Router::new()
        .route("/ui", get(explain::view))
        .route("/ui/", get(explain::view))
        .route("/ui/overview", get(overview::view))
        .route("/ui/live", get(live::stream))
        .route("/ui/zones", get(zones::view))
        .route("/ui/records", get(records::view))
        .route("/ui/records/edit", get(records::edit))
        .route("/ui/owners", get(owners::view))
        .route("/ui/findings", get(findings::view))
        .route("/ui/alias", get(alias::view))
        .route("/ui/history", get(history::view))
        .route("/ui/plan", post(writes::plan))
        .route("/ui/do", post(writes::carry_out))
        .route("/ui/sign-in", get(session::form).post(session::sign_in))
        .route("/ui/sign-out", post(session::sign_out))
        .route("/ui/assets/{name}", get(assets::asset))
        .route("/ui/{*rest}", get(nothing))
        .with_state(ui)
        .layer(middleware::from_fn(with_policy));
    router.route("/", get(front)).merge(pages)
}

async fn front() -> Response {
    frame::redirect("/ui")
}

async fn nothing(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let frame = Frame::of(&ui, &visit, "none", &fields).await;
    frame.problem(StatusCode::NOT_FOUND, "There is no such view.")
}

async fn with_policy(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // `no-referrer` would make browsers hide where a form comes from, which is how a forged one is told.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
