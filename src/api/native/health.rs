//! `/livez`, `/readyz`, `/startupz`, `/version`: no token (operations.md section 3).

use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;

use crate::api::auth::Access;
use crate::api::call::{Call, Route, document};
use crate::api::documents::VersionDocument;
use crate::api::problem::Refused;
use crate::api::readiness::{Phase, STORE_ALARM, UNREADABLE_ALARM};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/livez", Access::Public, live),
        Route::new(Method::GET, "/readyz", Access::Public, ready).with(&["verbose"]),
        Route::new(Method::GET, "/startupz", Access::Public, started),
        Route::new(Method::GET, "/version", Access::Public, version),
    ]
}

async fn live(_: Call) -> Result<Response, Refused> {
    Ok(text(StatusCode::OK, "ok\n".to_owned()))
}

async fn ready(call: Call) -> Result<Response, Refused> {
    let readiness = &call.state.readiness;
    let (status, word) = match readiness.phase() {
        Phase::Ready => (StatusCode::OK, "ready"),
        Phase::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting"),
        Phase::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
    };
    let mut out = format!("{word}\n");
    if call.parameters.flag("verbose", false)? {
        for (stage, reached) in readiness.stages() {
            out.push_str(&format!("{} {}\n", if reached { "[+]" } else { "[-]" }, stage.text()));
        }
        // Nobody may have asked since it can be read again.
        if readiness.is_on(UNREADABLE_ALARM) && call.state.reader.token("").await.is_ok() {
            call.state.reader.suspect(false);
            readiness.tell(UNREADABLE_ALARM, None);
        }
        let alarms = readiness.alarms();
        if alarms.iter().any(|(alarm, _)| alarm == STORE_ALARM || alarm == UNREADABLE_ALARM) {
            out.push_str("degraded: names are answered, writes are refused\n");
        }
        for (alarm, sentence) in alarms {
            out.push_str(&format!("[!] {}: {}\n", alarm.escape_debug(), sentence.escape_debug()));
        }
        for note in readiness.notes() {
            out.push_str(&format!("[i] {}\n", note.escape_debug()));
        }
        let snapshot = call.state.handle.published().get();
        let (zones, records) = (snapshot.zone_count(), snapshot.record_count());
        out.push_str(&format!("revision {} with {zones} zones and {records} records\n", snapshot.revision));
    }
    Ok(text(status, out))
}

async fn started(call: Call) -> Result<Response, Refused> {
    Ok(match call.state.readiness.phase() {
        Phase::Ready | Phase::Stopping => text(StatusCode::OK, "started\n".to_owned()),
        Phase::Starting => text(StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()),
    })
}

async fn version(_: Call) -> Result<Response, Refused> {
    let shown = VersionDocument { name: "tenured".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    document(StatusCode::OK, &shown)
}

fn text(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
