//! From `X-API-Key` to a key: whose claims its writes are, and how it is answered.

use std::sync::Arc;

use axum::http::{HeaderMap, header};

use super::answer::Failure;
use crate::api::problem::Refused;
use crate::ledger::actor::{Actor, Door, Role};
use crate::ledger::code::Code;
use crate::ledger::key::KeySettings;
use crate::ledger::owner::OwnerId;
use crate::store::Reader;
use crate::zone::alias::Moment;

/// Longest key that is looked at, in octets.
const MAX_KEY: usize = 256;
/// The one server there is.
const SERVER: &str = "localhost";

/// A key that was let in.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) actor: Actor,
    pub(super) owner: OwnerId,
    pub(super) settings: Arc<KeySettings>,
}

impl Key {
    pub(super) fn knows_server(&self, id: &str) -> bool {
        id == SERVER
    }
}

/// The key's text: the header of PowerDNS, else a bearer token. Several headers are none.
fn text(headers: &HeaderMap) -> Option<&str> {
    let mut keys = headers.get_all("x-api-key").iter();
    if let Some(key) = keys.next() {
        return key.to_str().ok().filter(|_| keys.next().is_none());
    }
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let value = all.next()?.to_str().ok().filter(|_| all.next().is_none())?;
    let (scheme, text) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(text.trim())
}

/// Whether a request brings a key at all.
pub(super) fn was_given(headers: &HeaderMap) -> bool {
    text(headers).is_some()
}

/// The key of a request; none if it is missing, wrong, expired or of another door.
pub(super) async fn admit(headers: &HeaderMap, reader: &Reader, now: Moment) -> Result<Option<Key>, Failure> {
    let Some(text) = text(headers).filter(|text| !text.is_empty() && text.len() <= MAX_KEY) else { return Ok(None) };
    let Some(row) = reader.token_by_text(text).await? else { return Ok(None) };
    if row.expires.is_some_and(|expires| now >= expires) {
        return Ok(None);
    }
    let (Some(settings), Role::Owner(owner)) = (row.key, row.role) else { return Ok(None) };
    let actor = Actor { token: row.id, role: Role::Owner(owner.clone()), limits: row.limits, door: Door::PowerDns };
    Ok(Some(Key { actor, owner, settings: Arc::from(settings) }))
}

/// What is counted of a wrong key.
pub(super) fn wrong() -> Refused {
    Refused::new(Code::Unauthorized, "Unauthorized")
}

/// The answer to a wrong key: 401, or 429 to who sent many.
pub(super) fn unauthorized(judged: Refused) -> Failure {
    if judged.document().status == Code::Unauthorized.http_status() {
        Failure::unauthorized()
    } else {
        Failure::new(429, "Too Many Requests")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_key_is_read_from_its_header_or_as_a_bearer_token() {
        let mut headers = HeaderMap::new();
        assert_eq!(text(&headers), None);
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer second"));
        assert_eq!(text(&headers), Some("second"));
        headers.insert("x-api-key", HeaderValue::from_static("first"));
        assert_eq!(text(&headers), Some("first"));
        headers.append("x-api-key", HeaderValue::from_static("other"));
        assert_eq!(text(&headers), None, "two headers could be read in two ways");
    }
}
