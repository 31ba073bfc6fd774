//! The way of every request: route, token, parameters, body, deadline, answer, and the log line of a write.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, RawPathParams, Request as HttpRequest};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tracing::Instrument as _;

use super::ApiState;
use super::auth::{self, Access};
use super::bodies::{Bodies, BodyLimit, Held};
use super::failures::{Failures, Peer};
use super::json::Parameters;
use super::pace::Pace;
use super::problem::Refused;
use super::readiness::UNREADABLE_ALARM;
use crate::control::dangling::Refs;
use crate::control::once::{self, MAX_KEY, Once, Shape};
use crate::control::{Conditions, Request};
use crate::ledger::actor::Actor;
use crate::ledger::code::Code;
use crate::ledger::command::Command;
use crate::ledger::owner::OwnerId;
use crate::ledger::report::{ItemOutcome, Report};
use crate::store::Reader;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Time for a request.
pub const MAX_REQUEST_TIME: Duration = Duration::from_secs(30);
/// Time for a zone file.
pub const MAX_IMPORT_TIME: Duration = Duration::from_secs(600);
/// Longest path with its parameters, in octets.
pub const MAX_URL: usize = 8 * 1024;
/// Longest request id that is taken from the caller, in octets.
pub const MAX_REQUEST_ID: usize = 128;
/// Most zones that the log line of a write names.
const MAX_LOGGED_ZONES: usize = 10;
/// Header of a request that is done once.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Header of the request id.
pub const REQUEST_ID: &str = "x-request-id";

type Outcome = Result<Response, Refused>;
type Action = Arc<dyn Fn(Call) -> Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync>;

/// One route: what it is, what it asks of its caller, and what it takes.
#[derive(Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{…}` for what is captured.
    pub path: &'static str,
    /// What it asks of its caller.
    pub access: Access,
    /// Parameters it knows.
    pub parameters: &'static [&'static str],
    /// Parameters of those that may stand several times.
    pub repeated: &'static [&'static str],
    /// How large its body may be.
    pub body: BodyLimit,
    action: Action,
}

impl Route {
    /// A route without parameters and body.
    pub fn new<F, R>(method: Method, path: &'static str, access: Access, action: F) -> Route
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        Route {
            method,
            path,
            access,
            parameters: &[],
            repeated: &[],
            body: BodyLimit::Nothing,
            action: Arc::new(move |call| Box::pin(action(call))),
        }
    }

    /// With parameters.
    #[must_use]
    pub fn with(mut self, parameters: &'static [&'static str]) -> Route {
        self.parameters = parameters;
        self
    }

    /// With parameters that may stand several times.
    #[must_use]
    pub fn repeating(mut self, repeated: &'static [&'static str]) -> Route {
        self.repeated = repeated;
        self
    }

    /// With a body.
    #[must_use]
    pub fn taking(mut self, body: BodyLimit) -> Route {
        self.body = body;
        self
    }

    fn time(&self) -> Duration {
        if self.body == BodyLimit::ZoneFile { MAX_IMPORT_TIME } else { MAX_REQUEST_TIME }
    }

    /// Adds the route to a router.
    pub fn add_to(self, router: Router, state: &ApiState, gates: &Gates) -> Router {
        let filter = MethodFilter::try_from(self.method.clone()).expect("the routes use the methods that axum routes");
        let (path, route) = (self.path, Arc::new(self));
        let (state, gates) = (state.clone(), gates.clone());
        let handler = move |Extension(id): Extension<RequestId>, parameters: Captured, request: HttpRequest| {
            let (route, state, gates) = (Arc::clone(&route), state.clone(), gates.clone());
            async move { route.answer(state, gates, id, parameters, request).await }
        };
        router.route(path, on(filter, handler))
    }

    async fn answer(
        self: Arc<Self>,
        state: ApiState,
        gates: Gates,
        id: RequestId,
        captured: Captured,
        request: HttpRequest,
    ) -> Response {
        let time = self.time();
        let span = tracing::Span::current();
        // A task of its own: a panic becomes an answer, and a caller who hangs up does not stop half-way a write.
        let task = tokio::spawn(async move { self.call(state, gates, id, captured, request).await }.instrument(span));
        let abort = task.abort_handle();
        match tokio::time::timeout(time, task).await {
            Ok(Ok(Ok(response))) => response,
            Ok(Ok(Err(refused))) => refused.into_response(),
            Ok(Err(_)) => Refused::internal().into_response(),
            Err(_) => {
                abort.abort();
                Refused::timed_out(time.as_secs()).into_response()
            }
        }
    }

    async fn call(
        &self,
        state: ApiState,
        gates: Gates,
        id: RequestId,
        captured: Captured,
        request: HttpRequest,
    ) -> Outcome {
        let (parts, body) = request.into_parts();
        let now = state.clock.now();
        let looks = self.access == Access::Read && parts.extensions.get::<auth::Visitor>().is_some();
        let access = if looks { Access::Public } else { self.access };
        let admitted = auth::admit(&parts.headers, &state.reader, now, access).await;
        note_store(&state, access, &admitted);
        let actor = match admitted {
            Ok(actor) => actor,
            // Without the address of a client there is no listener of ours in front, and nobody to count.
            Err(refused) => match parts.extensions.get::<Peer>() {
                Some(peer) if auth::was_wrong(&parts.headers, &refused) => {
                    return Err(gates.failures.judge(*peer, now, refused));
                }
                Some(_) | None => return Err(refused),
            },
        };
        if self.access != Access::Public {
            gates.pace.judge(&actor.token)?;
        }
        let path = captured.0?;
        let parameters = Parameters::read(parts.uri.query().unwrap_or_default(), self.parameters, self.repeated)?;
        let body = gates.bodies.read(&parts.headers, body, self.body).await?;
        let known = parts.headers.get(header::IF_NONE_MATCH).cloned();
        let mut repeat = None;
        if self.method == Method::POST && !parameters.flag("dryRun", false)? {
            repeat = Repeat::of(&parts, &body.octets)?;
        }
        let (store, clock, token) = (state.reader.clone(), state.clock.clone(), actor.token.clone());
        if let Some(repeat) = &repeat
            && let Some(response) = repeat.answered(&store, &token, clock.now()).await?
        {
            return response;
        }
        let sent = repeat.clone();
        let call = Call { state, actor, request_id: id.0, path, parameters, headers: parts.headers, body, repeat };
        let refused = match (self.action)(call).await {
            Ok(response) => return Ok(not_modified(response, known.as_ref())),
            Err(refused) => refused,
        };
        // The same request may have come twice at once: then one of the two finds the response of the other.
        match sent {
            Some(sent) => sent.answered(&store, &token, clock.now()).await?.unwrap_or(Err(refused)),
            None => Err(refused),
        }
    }
}

/// Begins an alarm when the store could not even tell whose token it is, and ends it when it can.
fn note_store(state: &ApiState, access: Access, admitted: &Result<Actor, Refused>) {
    let readiness = &state.readiness;
    let is_out = match admitted {
        Ok(_) => false,
        Err(refused) => refused.document().status == Code::StorageUnavailable.http_status(),
    };
    if access != Access::Public && is_out != readiness.is_on(UNREADABLE_ALARM) {
        let sentence = "the store cannot be read, names are answered as before: the log says why; put its file in order, or \
                        restore a backup";
        state.reader.suspect(is_out);
        readiness.tell(UNREADABLE_ALARM, is_out.then(|| sentence.to_owned()));
    }
}

/// The `Idempotency-Key` of a POST, with what tells its request from others: method, path with parameters, and body.
#[derive(Clone, Debug)]
struct Repeat {
    key: String,
    print: [u8; 32],
}

impl Repeat {
    fn of(parts: &axum::http::request::Parts, body: &[u8]) -> Result<Option<Repeat>, Refused> {
        let mut keys = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(key) = keys.next() else { return Ok(None) };
        let key = key.to_str().ok().filter(|key| (1..=MAX_KEY).contains(&key.len()));
        let (Some(key), None) = (key, keys.next()) else {
            let detail = format!("Idempotency-Key is one text of 1 to {MAX_KEY} visible ASCII characters");
            return Err(Refused::bad_request(detail));
        };
        let mut digest = Sha256::new();
        for part in [parts.method.as_str(), parts.uri.path(), parts.uri.query().unwrap_or_default()] {
            digest.update(part);
            digest.update([0]);
        }
        digest.update(body);
        Ok(Some(Repeat { key: key.to_owned(), print: digest.finalize().into() }))
    }

    /// The answer if the key was used: the response of the same request, or that it was another one.
    async fn answered(&self, store: &Reader, token: &str, now: Moment) -> Result<Option<Outcome>, Refused> {
        let Some(kept) = store.once(token, &self.key, now).await? else { return Ok(None) };
        if kept.print != self.print {
            return Ok(Some(Err(once::mismatch().into())));
        }
        let status = StatusCode::from_u16(kept.status).map_err(|_| Refused::internal())?;
        let mut response = octets(status, kept.body);
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        Ok(Some(Ok(response)))
    }
}

/// What all requests pass together. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// Room for bodies.
    pub bodies: Bodies,
    /// Wrong tokens by client address.
    pub failures: Failures,
    /// Requests by token.
    pub pace: Pace,
}

/// The id of a request, made or taken over.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// The captured parts of a path, decoded.
struct Captured(Result<Vec<(String, String)>, Refused>);

impl<S: Send + Sync> axum::extract::FromRequestParts<S> for Captured {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        state: &S,
    ) -> Result<Captured, Self::Rejection> {
        Ok(Captured(match RawPathParams::from_request_parts(parts, state).await {
            Ok(params) => Ok(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()),
            Err(_) => Err(Refused::bad_request("the path is no UTF-8 after percent-decoding")),
        }))
    }
}

/// A request that was let in, with all that it brought.
#[derive(Debug)]
pub struct Call {
    /// The rooms behind the API.
    pub state: ApiState,
    /// Who asks.
    pub actor: Actor,
    /// Id of the request.
    pub request_id: String,
    /// Parameters.
    pub parameters: Parameters,
    /// Headers.
    pub headers: HeaderMap,
    path: Vec<(String, String)>,
    body: Held,
    repeat: Option<Repeat>,
}

impl Call {
    /// A captured part of the path as text.
    pub fn part(&self, name: &str) -> &str {
        self.path.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value.as_str())
    }

    /// The owner of the path.
    pub fn owner(&self) -> Result<OwnerId, Refused> {
        owner_id("the owner in the path", self.part("owner"))
    }

    /// The zone of the path.
    pub fn zone(&self) -> Result<Name, Refused> {
        name_of("the zone in the path", self.part("zone"))
    }

    /// The body.
    pub fn body(&self) -> Bytes {
        self.body.octets.clone()
    }

    /// Whether nothing is to be done, only shown.
    pub fn dry_run(&self) -> Result<bool, Refused> {
        self.parameters.flag("dryRun", false)
    }

    /// Parameters of all writes; those that this version does not act upon are refused, not ignored.
    pub fn check_write_parameters(&self) -> Result<(), Refused> {
        let choice = |name: &str, known: &[&str]| match self.parameters.text(name) {
            Some(value) if !known.contains(&value) => {
                Err(Refused::bad_request(format!("{name} is {}, not `{}`", known.join(" or "), value.escape_debug())))
            }
            Some(_) | None => Ok(()),
        };
        self.dry_run()?;
        choice("targetCheck", &["off", "warn", "require"])?;
        choice("refs", &["report", "block"])?;
        choice("wait", &["none", "resolved"])
    }

    /// Does a command and writes the log line of it. `owner` and `zone` are what the log names.
    pub async fn submit(&self, command: Command, owner: &str, zone: &str) -> Result<Report, Refused> {
        self.submit_on(command, owner, zone, None).await
    }

    /// [`Call::submit`] of a POST: `shape` makes of the report what a repeat with the same `Idempotency-Key` gets.
    pub async fn submit_once<F, D>(
        &self,
        command: Command,
        owner: &str,
        zone: &str,
        shape: F,
    ) -> Result<Report, Refused>
    where
        F: Fn(&Report) -> (StatusCode, D) + Send + Sync + 'static,
        D: Serialize,
    {
        let shape: Shape = Arc::new(move |report| {
            let (status, document) = shape(report);
            Some((status.as_u16(), serde_json::to_vec(&document).ok()?))
        });
        let once = self.repeat.clone().map(|repeat| Once { key: repeat.key, print: repeat.print, shape });
        self.submit_on(command, owner, zone, once).await
    }

    /// [`Call::submit_once`], and the response that `shape` makes.
    pub async fn answer<F, D>(&self, command: Command, owner: &str, zone: &str, shape: F) -> Outcome
    where
        F: Fn(&Report) -> (StatusCode, D) + Clone + Send + Sync + 'static,
        D: Serialize,
    {
        let report = self.submit_once(command, owner, zone, shape.clone()).await?;
        let (status, shown) = shape(&report);
        document(status, &shown)
    }

    async fn submit_on(
        &self,
        command: Command,
        owner: &str,
        zone: &str,
        once: Option<Once>,
    ) -> Result<Report, Refused> {
        let dry_run = self.dry_run()?;
        let refs = if self.parameters.text("refs") == Some("block") { Refs::Block } else { Refs::Report };
        let conditions = Conditions { once, refs };
        let request = Request { command, actor: self.actor.clone(), dry_run, request_id: self.request_id.clone() };
        let outcome = self.state.handle.submit_on(request, conditions).await;
        let (token, id) = (&self.actor.token, &self.request_id);
        match &outcome {
            Ok(report) => {
                let changed: Vec<String> =
                    report.serials.iter().take(MAX_LOGGED_ZONES).map(|(apex, _)| apex.to_string()).collect();
                let zone = if zone.is_empty() { changed.join(" ") } else { zone.to_owned() };
                let count = |outcome| report.summary.count(outcome);
                tracing::info!(
                    %token, owner = ?owner, request = ?id, zone = ?zone, dry_run, revision = report.revision,
                    created = count(ItemOutcome::Created), updated = count(ItemOutcome::Updated),
                    unchanged = count(ItemOutcome::Unchanged), deleted = count(ItemOutcome::Deleted),
                    queued = count(ItemOutcome::Queued), conflict = count(ItemOutcome::Conflict),
                    invalid = count(ItemOutcome::Invalid), held = count(ItemOutcome::Held),
                    "write"
                );
            }
            Err(refusal) => {
                tracing::info!(
                    %token, owner = ?owner, request = ?id, zone = ?zone, dry_run, code = refusal.code().text(),
                    "write refused"
                );
            }
        }
        Ok(outcome?)
    }
}

/// An owner id of a text; `what` says where it stands.
pub fn owner_id(what: &str, text: &str) -> Result<OwnerId, Refused> {
    OwnerId::new(text).map_err(|error| Refused::bad_request(format!("{what}: {error}")))
}

/// A name of a text; `what` says where it stands.
pub fn name_of(what: &str, text: &str) -> Result<Name, Refused> {
    Name::parse(text).map_err(|error| {
        let shown: String = text.chars().take(100).collect();
        Refused::bad_request(format!("{what}, `{}`, is no domain name: {error}", shown.escape_debug()))
    })
}

/// Work that takes a processor for long, off the threads that serve others.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Refused::internal())
}

/// A document with a status; a 200 has a strong ETag of its octets.
pub fn document<T: Serialize>(status: StatusCode, value: &T) -> Outcome {
    let body = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(error = %error, "a document could not be written");
        Refused::internal()
    })?;
    Ok(octets(status, body))
}

/// A response with a body of JSON.
fn octets(status: StatusCode, body: Vec<u8>) -> Response {
    let tag = (status == StatusCode::OK).then(|| {
        let digest = Sha256::digest(&body);
        let tag: String = digest[..16].iter().map(|octet| format!("{octet:02x}")).collect();
        format!("\"{tag}\"")
    });
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// 304 for a response whose ETag the caller has (RFC 9110 section 13.1.2).
fn not_modified(response: Response, known: Option<&HeaderValue>) -> Response {
    let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
    let has = match (tag, known.and_then(|known| known.to_str().ok())) {
        (Some(tag), Some(known)) => {
            known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
        }
        (None, _) | (_, None) => false,
    };
    if !has || response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    parts.headers.remove(header::CONTENT_TYPE);
    Response::from_parts(parts, Body::empty())
}
