//! From `Authorization: Bearer` to an [`Actor`] (ownership.md section 5, reliability.md section 8).

use axum::http::{HeaderMap, header};

use super::problem::Refused;
use crate::ledger::actor::{Actor, Door, Role, TokenLimits};
use crate::ledger::code::Code;
use crate::store::{Reader, token};
use crate::zone::alias::Moment;

/// Longest token text that is looked at, in octets.
const MAX_TOKEN: usize = 256;

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// No token.
    Public,
    /// Any token.
    Read,
    /// A token that may write; the ledger judges for whom.
    Write,
    /// The role `admin`.
    Admin,
}

/// Who a public route is called by: nobody in particular, who may not write.
pub fn nobody() -> Actor {
    Actor { token: String::new(), role: Role::Read, limits: TokenLimits::default(), door: Door::Native }
}

/// Put on a request by the page, for a visitor without a token who may look: no client can set it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor;

/// The actor of a request, if its token admits it to the route.
pub async fn admit(headers: &HeaderMap, reader: &Reader, now: Moment, access: Access) -> Result<Actor, Refused> {
    if access == Access::Public {
        return Ok(nobody());
    }
    let actor = actor(headers, reader, now).await?;
    match (access, &actor.role) {
        (Access::Public | Access::Read, _)
        | (Access::Write, Role::Admin | Role::Owner(_))
        | (Access::Admin, Role::Admin) => Ok(actor),
        (Access::Write, Role::Read) => {
            Err(Refused::new(Code::Forbidden, "this token can only read: use one of role owner or admin"))
        }
        (Access::Admin, Role::Owner(_) | Role::Read) => {
            Err(Refused::new(Code::Forbidden, "only a token of role admin may do this"))
        }
    }
}

/// Whether a request was refused because of a token that it brought.
pub fn was_wrong(headers: &HeaderMap, refused: &Refused) -> bool {
    headers.contains_key(header::AUTHORIZATION) && refused.document().status == Code::Unauthorized.http_status()
}

async fn actor(headers: &HeaderMap, reader: &Reader, now: Moment) -> Result<Actor, Refused> {
    let Some(text) = bearer(headers) else {
        return Err(Refused::new(
            Code::Unauthorized,
            "this needs a token: send `Authorization: Bearer tnd_…`; the first one is in the token file beside the store",
        ));
    };
    // A text that is no token, an unknown id, a wrong secret and an expired token take the same way to the same answer.
    let (id, secret) = token::split(text).filter(|_| text.len() <= MAX_TOKEN).unwrap_or(("", ""));
    let row = reader.token(id).await?;
    let stored = row.as_ref().map_or([0; 32], |row| row.hash);
    let right = token::matches(secret, &stored);
    match row {
        // A key of another door is none here.
        Some(row) if right && row.key.is_none() && row.expires.is_none_or(|expires| now < expires) => {
            Ok(Actor { token: row.id, role: row.role, limits: row.limits, door: Door::Native })
        }
        Some(_) | None => Err(Refused::new(Code::Unauthorized, "this token is unknown, wrong or expired: use another")),
    }
}

/// The token's text; the scheme is case-insensitive (RFC 9110 section 11.1). Several headers are none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let value = all.next()?.to_str().ok()?;
    if all.next().is_some() {
        return None;
    }
    let (scheme, text) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_token_is_read_from_one_bearer_header() {
        let mut headers = HeaderMap::new();
        assert_eq!(bearer(&headers), None);
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("bEaReR tnd_a_b"));
        assert_eq!(bearer(&headers), Some("tnd_a_b"));
        headers.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer tnd_c_d"));
        assert_eq!(bearer(&headers), None, "two headers could be read in two ways");
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Basic abc"));
        assert_eq!(bearer(&headers), None);
    }
}
