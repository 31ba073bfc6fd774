//! HTTP: the native API under `/v1` and the health routes. Thin: it reads requests into commands and filters, and
//! shows what comes back. The table of routes says what each asks of its caller.

mod alias_view;
pub mod auth;
pub mod bodies;
pub mod call;
pub mod documents;
pub mod doh;
pub mod door_documents;
mod explained;
pub mod externaldns;
pub mod failures;
pub mod findings;
pub mod json;
pub mod keys;
pub mod listen;
pub mod native;
pub mod pace;
pub mod paging;
mod patience;
pub mod powerdns;
pub mod problem;
pub mod readiness;
pub mod reload;
pub mod show;
mod token_documents;
mod ui;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use crate::alias::handle::AliasHandle;
use crate::clock::Clock;
use crate::control::{Handle, Terms};
use crate::ledger::code::Code;
use crate::net::{Counters, Sampler};
use crate::store::Reader;
use crate::wire::name::Name;
use crate::zone::walk::Trust;
use call::{MAX_REQUEST_ID, MAX_URL, REQUEST_ID, RequestId};
pub use listen::{serve, serve_by};
use problem::Refused;
pub use readiness::{Phase, Readiness, STORE_ALARM, Stage};
pub use reload::Reloader;

/// What the API takes for keys that a request leaves out.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// Our own name servers (`dns.nameservers`), for zones made without any.
    pub nameservers: Vec<Name>,
}

/// The rooms behind the API. Clones share them.
#[derive(Clone, Debug)]
pub struct ApiState {
    /// For commands.
    pub handle: Handle,
    /// For reads.
    pub reader: Reader,
    /// For the state of ALIAS targets; without it only what is published of them is shown.
    pub alias: Option<AliasHandle>,
    /// What the configuration says about ALIAS records.
    pub terms: Arc<Terms>,
    /// Which hosted zones an ALIAS may enter, as the query path has it.
    pub trust: Arc<Trust>,
    /// The time.
    pub clock: Clock,
    /// What requests leave out.
    pub defaults: Defaults,
    /// What the health routes show.
    pub readiness: Readiness,
    /// Counters of the DNS sockets.
    pub counters: Arc<Counters>,
    /// What the external-dns door remembers of its clients.
    pub external_dns: externaldns::SharedMemory,
    /// ALIAS records by their state, for the metrics.
    pub record_states: native::RecordStates,
    /// What only a whole server has.
    pub server: Server,
}

/// What only a whole server has, and what its metrics show of it. Nothing of it is there in a part of one.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Reads the configuration again.
    pub reloader: Option<Reloader>,
    /// The sampled query log.
    pub sampler: Option<Sampler>,
}

/// Which routes a listener has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// All but those of [`Part::Admin`].
    Api,
    /// Health, metrics and version: those that need no token.
    Admin,
}

/// All routes of the API on one router, for [`serve`].
pub fn router(state: ApiState) -> Router {
    router_of(state, Part::All)
}

/// The routes of a part.
pub fn router_of(state: ApiState, part: Part) -> Router {
    let gates = call::Gates::default();
    let mut router = Router::new();
    let belongs = |route: &call::Route| match part {
        Part::All => true,
        Part::Api => !native::is_admin(route.path),
        Part::Admin => native::is_admin(route.path),
    };
    for route in native::routes().into_iter().filter(belongs) {
        router = route.add_to(router, &state, &gates);
    }
    router = powerdns::add_to(router, &state, &gates);
    router = match part {
        Part::All | Part::Api => ui::add_to(externaldns::add_to(router, &state, &gates), &state),
        Part::Admin => router,
    };
    router
        .fallback(|| async { Refused::no_route() })
        .method_not_allowed_fallback(|| async { Refused::wrong_method() })
        .layer(middleware::from_fn(with_request_id))
}

/// Gives each request an id, its own if that is fit for a log, and echoes it.
async fn with_request_id(mut request: Request, next: Next) -> Response {
    let given =
        request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|id| {
            !id.is_empty() && id.len() <= MAX_REQUEST_ID && id.bytes().all(|octet| octet.is_ascii_graphic())
        });
    let id = given.map_or_else(new_request_id, str::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let length = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let mut response = if length > MAX_URL {
        let detail = format!("the path with its parameters is over {MAX_URL} octets");
        Refused::new(Code::BadRequest, detail).into_response()
    } else {
        next.run(request).await
    };
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    protect(response.headers_mut());
    response
}

/// Headers of every response: it is what its media type says, is framed by nobody, is sent nowhere, and is kept by
/// nobody unless it says so itself. A page sets its own policy.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

fn new_request_id() -> String {
    let mut octets = [0_u8; 8];
    // Without random numbers requests still work; they share an id.
    let _ = getrandom::fill(&mut octets);
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
