//! Who looks at the page. A session is an API token in a cookie that scripts cannot read and other sites cannot send.
//! Without one a visitor may look, but only from this machine, and only by a name that no other site can take: what is
//! served on a network asks for a token, as the API does.

use std::net::IpAddr;

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use super::ask::Asker;
use super::frame::{Frame, Visit, redirect};
use super::{Fields, Ui};
use crate::api::documents::TokenDocument;
use crate::api::failures::Peer;

const COOKIE: &str = "tenured_token";
/// Longest token that is looked at, in octets.
const MAX_TOKEN: usize = 256;

/// What the caller may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Session {
    /// Nothing at all before signing in.
    Nobody,
    /// Look, without a token.
    Visitor,
    /// What the token may.
    Token {
        /// Its name.
        name: String,
        /// Its role.
        role: String,
    },
}

/// The token of the cookie.
pub(super) fn token_of(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|all| all.split(';')).filter_map(|one| one.trim().split_once('='));
    let token = pairs.find(|(name, _)| *name == COOKIE)?.1;
    (token.len() <= MAX_TOKEN && token.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_'))
        .then(|| token.to_owned())
}

/// Whether somebody without a token may look: from this machine, by an address or `localhost` (a name that another site
/// chose could lead here, too), and not through a proxy, behind which anybody may be.
pub(super) fn may_visit(headers: &HeaderMap, peer: Option<Peer>) -> bool {
    let near = peer.is_some_and(|Peer(address)| address.to_canonical().is_loopback());
    let through = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| headers.contains_key(*name));
    near && !through && headers.get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(is_address)
}

fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

/// What a form carries so that no other site can forge it: a hash of the token.
pub(super) fn form_key(token: &str) -> String {
    let digest = Sha256::new().chain_update(b"tenured form\0").chain_update(token).finalize();
    digest[..16].iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Whether a form was sent from a page of this server, as far as the browser says.
pub(super) fn from_here(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let site = text("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
    let host = text("host").unwrap_or_default();
    let origin = text("origin").is_none_or(|origin| {
        origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).is_some_and(|from| from == host)
    });
    site && origin
}

/// Who the asker is by its token; nobody if the token is not taken any more.
pub(super) async fn session(asker: &Asker) -> Session {
    let Some(token) = &asker.token else {
        return if asker.visits { Session::Visitor } else { Session::Nobody };
    };
    let id = token.split('_').nth(1).unwrap_or_default();
    let mut looked = asker.get::<TokenDocument>(&format!("/v1/tokens/{id}")).await;
    if let Ok(token) = &mut looked {
        return Session::Token { name: std::mem::take(&mut token.name), role: std::mem::take(&mut token.role) };
    }
    match looked {
        // A store that cannot be read tells nothing of the token: the view says what is wrong.
        Err(problem) if problem.status >= 500 => Session::Token { name: "token".to_owned(), role: "read".to_owned() },
        Ok(_) | Err(_) => Session::Nobody,
    }
}

/// The form to sign in.
pub(super) async fn form(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    Frame::of(&ui, &visit, "sign-in", &fields).await.sign_in("", StatusCode::OK)
}

/// Takes a token, if the API does.
pub(super) async fn sign_in(State(ui): State<Ui>, visit: Visit, Form(fields): Form<Fields>) -> Response {
    let headers = &visit.headers;
    let mut frame = Frame::bare(&ui, &visit, "sign-in");
    if !from_here(headers) {
        return frame.sign_in("This form came from another site. Sign in here.", StatusCode::FORBIDDEN);
    }
    let token = fields.get("token").map(|token| token.trim().to_owned()).unwrap_or_default();
    let plausible = token.len() <= MAX_TOKEN && token.split('_').count() == 3;
    if !plausible || !token.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_') {
        let detail =
            "That is no token: it looks like tnd_…_…, and the first one is in the token file beside the store.";
        return frame.sign_in(detail, StatusCode::UNAUTHORIZED);
    }
    frame.asker.token = Some(token.clone());
    let id = token.split('_').nth(1).unwrap_or_default();
    if let Err(problem) = frame.asker.send(&Method::GET, &format!("/v1/tokens/{id}"), None).await {
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::UNAUTHORIZED);
        return frame.sign_in(&problem.detail, status);
    }
    let secure = headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let secure = if secure { "; Secure" } else { "" };
    let mut response = redirect("/ui");
    let cookie = format!("{COOKIE}={token}; Path=/ui; HttpOnly; SameSite=Strict{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Forgets the token.
pub(super) async fn sign_out(headers: HeaderMap) -> Response {
    if !from_here(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let mut response = redirect("/ui");
    let cookie = format!("{COOKIE}=; Path=/ui; HttpOnly; SameSite=Strict; Max-Age=0");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_names_that_no_other_site_can_take() {
        for host in ["127.0.0.1:8053", "localhost", "LOCALHOST:1", "[::1]:8053", "127.0.0.1"] {
            assert!(is_address(host), "{host}");
        }
        for host in ["evil.example:8053", "127.0.0.1.evil.example", "", "localhost.evil.example"] {
            assert!(!is_address(host), "{host}");
        }
    }
}
