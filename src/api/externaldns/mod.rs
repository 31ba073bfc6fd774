//! The external-dns door: the webhook provider protocol, one owner for each URL. A stock client owns its records here
//! out of band; what it would write beside them to remember is absorbed.

mod adjust;
mod base64;
mod canonical;
mod change;
mod credential;
mod failure;
mod memory;
mod negotiate;
mod records;
mod registry;
mod shown;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use flate2::Compression;
use flate2::write::GzEncoder;
use tracing::Instrument as _;

use super::ApiState;
use super::bodies::BodyLimit;
use super::call::{Gates, RequestId};
use super::failures::Peer;
use crate::control::Request as Asked;
use crate::ledger::command::{Command, OwnerKeys, PutOwner};
use crate::ledger::external_dns::DoorUse;
use crate::ledger::report::{Refusal, Report};
use credential::Client;
use failure::Failure;
pub use memory::{CallTimes, Memory, OwnerMemory, PlanRow, PostRow, RefusedRecord};
pub use wire::MAX_ENDPOINTS;

/// Beginning of the owner ids of this door.
pub const DOOR_OWNER: &str = "externaldns:";
/// The media type of the protocol, octet for octet.
pub const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";
/// Our own deadline, within the 15 s of the client.
pub const MAX_TIME: Duration = Duration::from_secs(12);
/// An answer that is larger is told of: clients after v0.22 refuse it.
pub const LARGE_ANSWER: usize = 32 * 1024 * 1024;
/// Longest owner in a URL, in octets.
const MAX_OWNER: usize = 63;
/// An answer below this is not worth compressing, in octets.
const MIN_COMPRESSED: usize = 1_024;

/// Whether a text can be the owner in a URL: 1 to 63 of `a-z`, `0-9` and `-`.
pub fn is_door_owner(text: &str) -> bool {
    let fits = |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-';
    (1..=MAX_OWNER).contains(&text.len()) && text.bytes().all(fits)
}

/// A call of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoorCall {
    /// `GET /`.
    Negotiate,
    /// `GET /records`.
    Records,
    /// `POST /adjustendpoints`.
    Adjust,
    /// `POST /records`.
    Change,
}

impl DoorCall {
    /// All calls.
    pub const ALL: [DoorCall; 4] = [DoorCall::Negotiate, DoorCall::Records, DoorCall::Adjust, DoorCall::Change];

    /// The word in metrics and status.
    pub fn text(self) -> &'static str {
        match self {
            DoorCall::Negotiate => "negotiate",
            DoorCall::Records => "records",
            DoorCall::Adjust => "adjust",
            DoorCall::Change => "change",
        }
    }
}

/// Whether a URL changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// It does.
    Real,
    /// It only plans.
    Plan,
}

/// What stands below the base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Base,
    Records,
    Adjust,
}

/// A request that was let in.
struct Call {
    state: ApiState,
    client: Client,
    extent: Extent,
    request_id: String,
    body: Bytes,
}

impl Call {
    /// Does a command in the name of the client.
    async fn submit(&self, command: Command) -> Result<Report, Refusal> {
        let actor = self.client.actor.clone();
        let request = Asked { command, actor, dry_run: self.is_dry(), request_id: self.request_id.clone() };
        self.state.handle.submit(request).await
    }

    fn is_dry(&self) -> bool {
        self.extent == Extent::Plan
    }
}

/// Adds the door to a router.
pub(super) fn add_to(router: Router, state: &ApiState, gates: &Gates) -> Router {
    let paths = [
        ("/externaldns/{owner}", Extent::Real, Place::Base),
        ("/externaldns/{owner}/", Extent::Real, Place::Base),
        ("/externaldns/{owner}/records", Extent::Real, Place::Records),
        ("/externaldns/{owner}/adjustendpoints", Extent::Real, Place::Adjust),
        ("/externaldns/{owner}/plan", Extent::Plan, Place::Base),
        ("/externaldns/{owner}/plan/", Extent::Plan, Place::Base),
        ("/externaldns/{owner}/plan/records", Extent::Plan, Place::Records),
        ("/externaldns/{owner}/plan/adjustendpoints", Extent::Plan, Place::Adjust),
    ];
    paths.into_iter().fold(router, |router, (path, extent, place)| {
        let (state, gates) = (state.clone(), gates.clone());
        let handler = move |Extension(id): Extension<RequestId>, Path(owner): Path<String>, request: Request| {
            let (state, gates) = (state.clone(), gates.clone());
            async move { answer(state, gates, id, (owner, extent, place), request).await }
        };
        router.route(path, any(handler))
    })
}

fn call_of(place: Place, method: &Method) -> Option<DoorCall> {
    match (place, method) {
        (Place::Base, &Method::GET) => Some(DoorCall::Negotiate),
        (Place::Records, &Method::GET) => Some(DoorCall::Records),
        (Place::Records, &Method::POST) => Some(DoorCall::Change),
        (Place::Adjust, &Method::POST) => Some(DoorCall::Adjust),
        (Place::Base | Place::Records | Place::Adjust, _) => None,
    }
}

async fn answer(
    state: ApiState,
    gates: Gates,
    id: RequestId,
    (owner, extent, place): (String, Extent, Place),
    request: Request,
) -> Response {
    let Some(call) = call_of(place, request.method()) else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return response;
    };
    let may_compress = accepts_gzip(request.headers());
    let span = tracing::Span::current();
    let memory = state.external_dns.clone();
    // A task of its own: a panic becomes an answer, and a client that hangs up does not stop a write half-way.
    let work = async move { admit(state, gates, id, (owner, extent, call), request).await };
    let task = tokio::spawn(work.instrument(span));
    let abort = task.abort_handle();
    let done = match tokio::time::timeout(MAX_TIME, task).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Done { owner: None, outcome: Err(Failure::Internal) },
        Err(_) => {
            abort.abort();
            Done { owner: None, outcome: Err(Failure::Late) }
        }
    };
    let response = match done.outcome {
        Ok(body) => success(body, may_compress),
        Err(failure) => failure.response(call),
    };
    if let Some(owner) = done.owner {
        memory.count(&owner, call, response.status().as_u16());
    }
    response
}

/// What a call came to, and whose it was, once that is known.
struct Done {
    owner: Option<crate::ledger::owner::OwnerId>,
    outcome: Result<Option<Vec<u8>>, Failure>,
}

async fn admit(
    state: ApiState,
    gates: Gates,
    id: RequestId,
    (owner, extent, call): (String, Extent, DoorCall),
    request: Request,
) -> Done {
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().copied();
    let client = match credential::admit(&state, &gates, &parts.headers, &owner, peer).await {
        Ok(client) => client,
        Err(failure) => return Done { owner: None, outcome: Err(failure) },
    };
    let owner = client.owner.clone();
    let memory = state.external_dns.clone();
    memory.seen(&owner, call, &client, state.clock.now());
    let outcome = async {
        let limit = match call {
            DoorCall::Negotiate | DoorCall::Records => BodyLimit::Nothing,
            DoorCall::Adjust | DoorCall::Change => BodyLimit::Records,
        };
        let held = gates.bodies.read(&parts.headers, body, limit).await.map_err(Failure::Body)?;
        let call_of = Call { state, client, extent, request_id: id.0, body: held.octets.clone() };
        keep_alive(&call_of).await?;
        match call {
            DoorCall::Negotiate => negotiate::answer(&call_of).map(Some),
            DoorCall::Records => records::answer(&call_of).await.map(Some),
            DoorCall::Adjust => adjust::answer(call_of).await.map(Some),
            DoorCall::Change => change::answer(call_of).await.map(|()| None),
        }
    };
    Done { owner: Some(owner), outcome: outcome.await }
}

/// Makes the owner at its first use, and renews its lease.
async fn keep_alive(call: &Call) -> Result<(), Failure> {
    let is_used = call.client.known.as_ref().is_some_and(|owner| owner.external_dns.is_some());
    let has_lease = call.client.known.as_ref().is_some_and(|owner| owner.lease.is_some());
    if call.is_dry() && !has_lease {
        return Ok(());
    }
    let owner = call.client.owner.clone();
    let command = if !is_used && !call.is_dry() {
        let keys = OwnerKeys { external_dns: Some(DoorUse::default()), ..OwnerKeys::default() };
        Command::PutOwner(PutOwner { owner, keys })
    } else if has_lease {
        Command::RenewLeases(vec![owner])
    } else {
        return Ok(());
    };
    let request =
        Asked { command, actor: call.client.actor.clone(), dry_run: false, request_id: call.request_id.clone() };
    call.state.handle.submit(request).await.map_err(Failure::Refused)?;
    Ok(())
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>() == Ok(0.0)));
        is_gzip && !is_refused
    })
}

/// 200 with a document, or 204 without.
fn success(body: Option<Vec<u8>>, may_compress: bool) -> Response {
    let Some(body) = body else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return response;
    };
    if body.len() > LARGE_ANSWER {
        tracing::warn!(octets = body.len(), "an answer to external-dns is over 32 MiB: versions after v0.22 refuse it");
    }
    let compressed = (may_compress && body.len() >= MIN_COMPRESSED).then(|| compress(&body)).flatten();
    let encoded = compressed.is_some();
    let mut response = Response::new(Body::from(compressed.unwrap_or(body)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    if encoded {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn compress(body: &[u8]) -> Option<Vec<u8>> {
    use std::io::Write as _;
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 8), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// Shared memory of the door, as [`ApiState`] holds it.
pub type SharedMemory = Arc<Memory>;
