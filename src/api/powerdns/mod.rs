//! The PowerDNS door: `/api/v1` in the dialect of PowerDNS 5.1, for controllers that speak it, with the guarantees of the
//! ledger behind it. A key is checked before anything else of a request is looked at; then one table says which path goes
//! where. Thin: requests become commands, and what comes back becomes PowerDNS's words.

mod answer;
mod content;
mod export;
mod fields;
mod key;
mod patch;
mod rrsets;
mod search;
mod server;
mod view;
mod zones;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Extension, Request as HttpRequest};
use axum::http::{HeaderMap, Method, header};
use axum::response::Response;
use axum::routing::any;
use percent_encoding::percent_decode_str;

use super::ApiState;
use super::bodies::BodyLimit;
use super::call::{Gates, MAX_REQUEST_TIME, RequestId};
use super::failures::Peer;
use crate::control::Request;
use crate::ledger::command::Command;
use crate::ledger::report::{Refusal, Report};
use crate::wire::name::Name;
use answer::{Answer, Failure};
use key::Key;

/// Time for a request that brings a whole zone.
const MAX_TIME: Duration = MAX_REQUEST_TIME.saturating_mul(4);
/// Most parts of a path.
const MAX_PARTS: usize = 16;

/// The door's routes, added to a router.
pub fn add_to(router: Router, state: &ApiState, gates: &Gates) -> Router {
    let (state, gates, since) = (state.clone(), gates.clone(), Instant::now());
    let handler = move |Extension(id): Extension<RequestId>, request: HttpRequest| {
        let (state, gates) = (state.clone(), gates.clone());
        async move {
            let packs = answer::packs(request.headers());
            // A task of its own: a panic becomes an answer, and a client that hangs up leaves no write half done.
            let task = tokio::spawn(enter((state, gates, since), id, request));
            let abort = task.abort_handle();
            let answer = match tokio::time::timeout(MAX_TIME, task).await {
                Ok(Ok(Ok(answer))) => answer,
                Ok(Ok(Err(failure))) => failure.into_answer(),
                Ok(Err(_)) => Failure::new(500, "Internal Server Error").into_answer(),
                Err(_) => {
                    abort.abort();
                    Failure::new(504, "Gateway Timeout").into_answer()
                }
            };
            answer.into_response(packs).await
        }
    };
    ["/api", "/api/", "/api/{*rest}"].into_iter().fold(router, |router, path| router.route(path, any(handler.clone())))
}

/// A request that was let in.
pub(super) struct Ask {
    state: ApiState,
    key: Arc<Key>,
    request_id: String,
    headers: HeaderMap,
    /// Parameters of the query, decoded.
    parameters: Vec<(String, String)>,
    body: Bytes,
    /// When the server began to listen.
    since: Instant,
}

impl Ask {
    /// The last parameter of a name.
    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is `true` or `false`.
    fn flag(&self, name: &str, usual: bool) -> Result<bool, Failure> {
        match self.parameter(name) {
            None => Ok(usual),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => {
                let shown: String = other.chars().take(128).collect();
                Err(Failure::unprocessable(format!("'{name}' request parameter value '{shown}' is not supported")))
            }
        }
    }

    /// Refuses keys that only read.
    fn check_writes(&self) -> Result<(), Failure> {
        if self.key.settings.read_only { Err(Failure::forbidden()) } else { Ok(()) }
    }

    /// The zone of an id, if the key may see it; one that is not there is none either way.
    fn zone(&self, id: &str) -> Result<Name, Failure> {
        let name = fields::zone_of_id(id).ok_or_else(Failure::not_found)?;
        let is_there = self.state.handle.published().load().zone(&name).is_some();
        if is_there && self.key.actor.limits.admits_zone(&name) { Ok(name) } else { Err(Failure::not_found()) }
    }

    /// Does a command, and writes the log line of it.
    async fn submit(&self, command: Command, zone: &Name) -> Result<Report, Refusal> {
        let actor = self.key.actor.clone();
        self.submit_as(command, zone, actor).await
    }

    async fn submit_as(
        &self,
        command: Command,
        zone: &Name,
        actor: crate::ledger::actor::Actor,
    ) -> Result<Report, Refusal> {
        let request = Request { command, actor, dry_run: false, request_id: self.request_id.clone() };
        let outcome = self.state.handle.submit(request).await;
        let (token, owner, id) = (&self.key.actor.token, self.key.owner.as_str(), &self.request_id);
        match &outcome {
            Ok(report) => tracing::info!(
                %token, owner = ?owner, request = ?id, %zone, revision = report.revision, changed = report.changed,
                items = report.results.len(), refused = report.summary.has_refused(), "write by the PowerDNS door"
            ),
            Err(refusal) => tracing::info!(
                %token, owner = ?owner, request = ?id, %zone, code = refusal.code().text(),
                "write by the PowerDNS door refused"
            ),
        }
        outcome
    }
}

async fn enter(
    (state, gates, since): (ApiState, Gates, Instant),
    id: RequestId,
    request: HttpRequest,
) -> Result<Answer, Failure> {
    let (parts, body) = request.into_parts();
    let now = state.clock.now();
    let key = match key::admit(&parts.headers, &state.reader, now).await? {
        Some(key) => key,
        None => {
            let wrong = parts.extensions.get::<Peer>().filter(|_| key::was_given(&parts.headers));
            return Err(match wrong {
                Some(peer) => key::unauthorized(gates.failures.judge(*peer, now, key::wrong())),
                None => Failure::unauthorized(),
            });
        }
    };
    let held = gates.bodies.read(&parts.headers, body, BodyLimit::Door).await.map_err(Failure::of)?;
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let parameters = parts
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(&key.replace('+', " ")), decode(&value.replace('+', " ")))
        })
        .collect();
    let ask = Ask {
        state,
        key: Arc::new(key),
        request_id: id.0,
        headers: parts.headers,
        parameters,
        body: held.octets.clone(),
        since,
    };
    let path: Vec<String> = parts.uri.path().split('/').skip(1).take(MAX_PARTS + 1).map(decode).collect();
    let answer = route(&ask, &parts.method, &path).await;
    drop(held);
    answer
}

/// One table for all paths.
async fn route(ask: &Ask, method: &Method, path: &[String]) -> Result<Answer, Failure> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    // A slash at the end is no part.
    let parts = match parts.split_last() {
        Some((&"", rest)) => rest,
        _ => &parts[..],
    };
    let (get, post, put) = (*method == Method::GET, *method == Method::POST, *method == Method::PUT);
    let (patch, delete) = (*method == Method::PATCH, *method == Method::DELETE);
    let rest = match parts {
        ["api"] => return only(get, server::api),
        ["api", "v1"] => return only(get, server::version),
        ["api", "v1", "servers"] => return only(get, server::list),
        ["api", "v1", "servers", id, rest @ ..] if ask.key.knows_server(id) => rest,
        _ => return Err(Failure::not_found()),
    };
    match rest {
        [] => only(get, server::one),
        ["config"] => only(get, || server::config(ask)),
        ["config", name] => only(get, || server::setting(ask, name))?,
        ["statistics"] => only(get, || server::statistics(ask))?,
        ["cache", "flush"] => only(put, || server::flush(ask))?,
        ["search-data"] if get => search::search(ask).await,
        ["tsigkeys" | "autoprimaries"] if get => Ok(Answer::json(&serde_json::json!([]))),
        ["tsigkeys"] if post => later(ask, "TSIG keys are not available on this server yet"),
        ["tsigkeys", _] if put || delete => later(ask, "TSIG keys are not available on this server yet"),
        ["autoprimaries"] if post => later(ask, "Zone kind 'Secondary' is not available on this server yet"),
        ["zones"] if get => zones::list(ask).await,
        ["zones"] if post => zones::create(ask).await,
        ["zones", id] if get => zones::show(ask, id).await,
        ["zones", id] if patch => patch::patch(ask, id).await,
        ["zones", id] if put => zones::put(ask, id).await,
        ["zones", id] if delete => zones::delete(ask, id).await,
        ["zones", id, "notify"] if put => zones::notify(ask, id),
        ["zones", id, "rectify"] if put => zones::rectify(ask, id),
        ["zones", id, "axfr-retrieve"] if put => zones::retrieve(ask, id),
        ["zones", id, "export"] if get => export::export(ask, id).await,
        ["zones", id, "metadata"] if get => zones::metadata(ask, id).await,
        ["zones", id, "metadata"] if post => zones::set_metadata(ask, id, None),
        ["zones", id, "metadata", kind] if get => zones::metadata_of(ask, id, kind).await,
        ["zones", id, "metadata", kind] if put || delete => zones::set_metadata(ask, id, Some(kind)),
        ["zones", id, "cryptokeys"] if get => zones::cryptokeys(ask, id),
        ["zones", id, "cryptokeys"] if post => zones::no_keys(ask, id),
        ["zones", id, "cryptokeys", _] if put || delete => zones::no_keys(ask, id),
        ["search-data" | "tsigkeys" | "autoprimaries" | "zones"]
        | ["tsigkeys", _]
        | ["zones", _]
        | ["zones", _, "notify" | "rectify" | "axfr-retrieve" | "export" | "metadata" | "cryptokeys"]
        | ["zones", _, "metadata" | "cryptokeys", _] => Err(Failure::wrong_method()),
        _ => Err(Failure::not_found()),
    }
}

/// A write that is not there yet.
fn later(ask: &Ask, what: &str) -> Result<Answer, Failure> {
    ask.check_writes()?;
    Err(Failure::unprocessable(what))
}

/// The answer if the method is the one of the path.
fn only<T>(is_right: bool, answer: impl FnOnce() -> T) -> Result<T, Failure> {
    if is_right { Ok(answer()) } else { Err(Failure::wrong_method()) }
}

/// The type of the body of a request: nothing depends on it.
pub(super) fn accepts_json(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|text| text.contains("json"))
}

/// What is sent back.
pub(super) type Sent = Response;
