//! From the credential of a client to the owner that it works for.

use axum::http::{HeaderMap, header};

use super::failure::Failure;
use super::{DOOR_OWNER, base64, is_door_owner};
use crate::api::ApiState;
use crate::api::call::Gates;
use crate::api::failures::Peer;
use crate::api::problem::Refused;
use crate::ledger::actor::{Actor, Door, Role, TokenDoor};
use crate::ledger::code::Code;
use crate::ledger::external_dns::DoorTerms;
use crate::ledger::owner::{Owner, OwnerId};
use crate::store::token;

/// Longest credential that is looked at, in octets.
const MAX_CREDENTIAL: usize = 1_024;
/// Longest text of a header that is kept of a client, in octets.
const MAX_HEADER: usize = 200;

/// A client that was let in.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// Who writes.
    pub(super) actor: Actor,
    /// For whom.
    pub(super) owner: OwnerId,
    /// The owner, if it is there.
    pub(super) known: Option<Owner>,
    /// The part of the URL, which is the client's own owner id until another is known.
    pub(super) name: String,
    /// How the token works.
    pub(super) terms: DoorTerms,
    /// What the client says it is.
    pub(super) agent: Option<String>,
    /// Which one of several it says it is.
    pub(super) instance: Option<String>,
}

impl Client {
    /// The client's own owner id as it is known.
    pub(super) fn txt_owner(&self) -> &str {
        let known = self.known.as_ref().and_then(|owner| owner.external_dns.as_ref());
        known.and_then(|door| door.txt_owner_id.as_deref()).unwrap_or(&self.name)
    }
}

/// The client of a request.
pub(super) async fn admit(
    state: &ApiState,
    gates: &Gates,
    headers: &HeaderMap,
    name: &str,
    peer: Option<Peer>,
) -> Result<Client, Failure> {
    const NONE: &str = "this needs a token of the external-dns door, as the password of the URL or as a Bearer token";
    const WRONG: &str = "this token is unknown, wrong or expired, or opens another door: use one with door externaldns";
    let Some(text) = credential(headers) else { return Err(Failure::Unauthorized(NONE)) };
    // A text that is no token, an unknown id, a wrong secret and another door take the same way to the same answer.
    let (id, secret) = token::split(&text).unwrap_or(("", ""));
    let row = state.reader.token(id).await?;
    let stored = row.as_ref().map_or([0; 32], |row| row.hash);
    let (right, now) = (token::matches(secret, &stored), state.clock.now());
    let admitted = row.filter(|row| right && row.expires.is_none_or(|expires| now < expires)).and_then(|row| {
        match (row.limits.door, row.role.clone()) {
            (TokenDoor::ExternalDns(terms), Role::Owner(owner)) => Some((row, owner, terms)),
            (TokenDoor::ExternalDns(_) | TokenDoor::Native, _) => None,
        }
    });
    let Some((row, owner, terms)) = admitted else {
        if let Some(peer) = peer {
            // Counted with the wrong tokens of every other path; the client's own answer is the same.
            let _ = gates.failures.judge(peer, now, Refused::new(Code::Unauthorized, WRONG));
        }
        return Err(Failure::Unauthorized(WRONG));
    };
    if !is_door_owner(name) {
        let detail = "the owner in the URL is 1 to 63 of a-z, 0-9 and -";
        return Err(Failure::Forbidden(detail.to_owned()));
    }
    if owner.as_str().strip_prefix(DOOR_OWNER).is_some_and(|own| own != name) {
        let detail = format!("this token is for {owner}, and not for {DOOR_OWNER}{name}");
        return Err(Failure::Forbidden(detail));
    }
    let (known, is_gone) = state.reader.door_owner(&owner).await?;
    if is_gone {
        let detail = format!("{owner} was deleted: PUT /v1/owners/{{ownerId}} makes it again, if that was a mistake");
        return Err(Failure::Forbidden(detail));
    }
    Ok(Client {
        actor: Actor { token: row.id, role: row.role, limits: row.limits, door: Door::ExternalDns },
        owner,
        known,
        name: name.to_owned(),
        terms,
        agent: short(headers, header::USER_AGENT.as_str()),
        instance: short(headers, "x-tenured-instance"),
    })
}

fn short(headers: &HeaderMap, name: &str) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    (!text.is_empty()).then(|| text.chars().take(MAX_HEADER).collect())
}

/// The token of one `Authorization` header: the password of Basic, whatever the user, or Bearer.
fn credential(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let value = all.next()?.to_str().ok().filter(|text| text.len() <= MAX_CREDENTIAL)?;
    if all.next().is_some() {
        return None;
    }
    let (scheme, text) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(text.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(base64::decode(text.trim())?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn of(value: &'static str) -> Option<String> {
        credential(&HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]))
    }

    #[test]
    fn a_token_is_the_password_of_basic_or_a_bearer() {
        assert_eq!(of("Basic cHJvZDp0bmRfYV9i").as_deref(), Some("tnd_a_b"));
        assert_eq!(of("basic OnRuZF9hX2I=").as_deref(), Some("tnd_a_b"), "without a user");
        assert_eq!(of("Bearer tnd_a_b").as_deref(), Some("tnd_a_b"));
        for wrong in ["", "Basic", "Basic cHJvZA==", "Basic !!", "Digest x", "tnd_a_b"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
