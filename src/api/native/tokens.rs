//! `/v1/tokens`: made, listed and deleted by `admin`; the text is shown once (ownership.md section 5).

use std::time::{Duration, SystemTime};

use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::door_terms::{self, TermFields};
use crate::api::auth::Access;
use crate::api::call::{Call, Route, document, name_of, owner_id};
use crate::api::documents::TokenDocument;
use crate::api::externaldns::{DOOR_OWNER, is_door_owner};
use crate::api::json::{self, BodyLimit};
use crate::api::keys::{KeyDocument, OnlyDocument};
use crate::api::paging;
use crate::api::problem::Refused;
use crate::api::show;
use crate::ledger::actor::{Door, NameLimit, Role, TokenDoor, TokenLimits};
use crate::ledger::code::Code;
use crate::ledger::command::{Command, NewToken};
use crate::ledger::key::KeySettings;
use crate::ledger::limits::{MAX_LABELS, MAX_TEXT};
use crate::ledger::report::ItemOutcome;
use crate::store::token;
use crate::wire::codes::Rtype;
use crate::zone::alias::Moment;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/v1/tokens", Access::Admin, list).with(&["limit", "continue"]),
        Route::new(Method::POST, "/v1/tokens", Access::Admin, create).with(&["dryRun"]).taking(BodyLimit::Small),
        // Any token may look at itself: the command line asks so for whom it writes.
        Route::new(Method::GET, "/v1/tokens/{id}", Access::Read, show_one),
        Route::new(Method::DELETE, "/v1/tokens/{id}", Access::Admin, delete).with(&["dryRun"]),
    ]
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = TokenCreate)]
pub(super) struct CreateFields {
    name: String,
    role: Option<String>,
    owner: Option<String>,
    #[serde(default)]
    zones: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    types: Vec<String>,
    expires_at: Option<String>,
    /// `native`, `powerdns` for a key of the PowerDNS door, `externaldns` for a client of that one; the fields below are of
    /// those two.
    door: Option<String>,
    /// A secret that clients have already; without one, one is made.
    secret: Option<String>,
    profile: Option<String>,
    view: Option<String>,
    conflicts: Option<String>,
    queue: Option<bool>,
    supersede: Option<bool>,
    wave: Option<bool>,
    /// Of a key true or false; of an external-dns client false, or `{"min", "percent", "last"}`.
    brake: Option<Value>,
    echo_written: Option<bool>,
    share: Option<bool>,
    takeover: Option<bool>,
    read_only: Option<bool>,
    hide_holder: Option<bool>,
    #[serde(default, deserialize_with = "json::optional_object")]
    only: Option<OnlyDocument>,
    on_unconfirmed: Option<String>,
    grace_seconds: Option<u32>,
    /// Of an external-dns client `queue` (the default) or `reject`.
    on_conflict: Option<String>,
    adopt_equal: Option<bool>,
    ttl_min: Option<u32>,
    ttl_max: Option<u32>,
}

impl CreateFields {
    fn key(&self) -> KeyDocument {
        KeyDocument {
            profile: self.profile.clone(),
            view: self.view.clone(),
            conflicts: self.conflicts.clone(),
            queue: self.queue,
            supersede: self.supersede,
            wave: self.wave,
            brake: self.brake.as_ref().and_then(Value::as_bool),
            echo_written: self.echo_written,
            share: self.share,
            takeover: self.takeover,
            read_only: self.read_only,
            hide_holder: self.hide_holder,
            only: self.only.clone(),
            on_unconfirmed: self.on_unconfirmed.clone(),
            grace_seconds: self.grace_seconds,
        }
    }

    /// What is said of a key; none if it is no key.
    fn settings(&self) -> Result<Option<Box<KeySettings>>, Refused> {
        match self.door.as_deref() {
            None | Some("native") => {
                let has_more = self.secret.is_some() || self.brake.is_some();
                if self.key() != KeyDocument::default() || has_more || self.has_terms() {
                    return Err(Refused::bad_request("profile, view and the like are for a key: add `door: powerdns`"));
                }
                Ok(None)
            }
            Some(show::POWERDNS) => {
                if self.has_terms() || self.brake.as_ref().is_some_and(|brake| !brake.is_boolean()) {
                    return Err(Refused::bad_request(
                        "onConflict, adoptEqual, ttlMin and ttlMax are for `door: externaldns`",
                    ));
                }
                let key = self.key().settings().map_err(Refused::bad_request)?;
                Ok(Some(Box::new(key)))
            }
            Some(word) if word == Door::ExternalDns.text() => {
                let shared = KeyDocument { share: self.share, brake: self.key().brake, ..KeyDocument::default() };
                if self.key() != shared || self.secret.is_some() {
                    return Err(Refused::bad_request("profile, view, secret and the like are for `door: powerdns`"));
                }
                Ok(None)
            }
            Some(other) => {
                let other: String = other.chars().take(64).collect();
                Err(Refused::bad_request(format!(
                    "door is native, powerdns or externaldns, not `{}`",
                    other.escape_debug()
                )))
            }
        }
    }

    /// Whether something is said that only an external-dns client has.
    fn has_terms(&self) -> bool {
        self.on_conflict.is_some() || self.adopt_equal.is_some() || self.ttl_min.is_some() || self.ttl_max.is_some()
    }

    fn is_external_dns(&self) -> bool {
        self.door.as_deref() == Some(Door::ExternalDns.text())
    }

    /// The door whose clients the token lets in.
    fn token_door(&self) -> Result<TokenDoor, Refused> {
        if !self.is_external_dns() {
            return Ok(TokenDoor::Native);
        }
        let fields = TermFields {
            on_conflict: self.on_conflict.as_deref(),
            share: self.share,
            adopt_equal: self.adopt_equal,
            ttl_min: self.ttl_min,
            ttl_max: self.ttl_max,
            brake: self.brake.as_ref(),
        };
        door_terms::terms(&fields).map(TokenDoor::ExternalDns)
    }

    /// A key writes for one owner, which is named after it if nothing else is said.
    fn key_owner(&self) -> String {
        self.owner.clone().unwrap_or_else(|| format!("pdns:{}", self.name))
    }
}

/// Fewest and most octets of a secret that the operator gives.
const SECRET: std::ops::RangeInclusive<usize> = 8..=256;

/// The secret of a new token.
fn secret(fields: &CreateFields) -> Result<token::Minted, Refused> {
    let minted = token::mint()?;
    let Some(given) = &fields.secret else { return Ok(minted) };
    if !SECRET.contains(&given.len()) || !given.bytes().all(|octet| octet.is_ascii_graphic()) {
        let (least, most) = (SECRET.start(), SECRET.end());
        return Err(Refused::bad_request(format!("secret is {least} to {most} visible ASCII characters")));
    }
    Ok(token::Minted { hash: token::hash(given), text: given.clone(), ..minted })
}

async fn list(call: Call) -> Result<Response, Refused> {
    let listing = call.state.reader.token_page(&paging::page(&call)?).await?;
    let items: Vec<TokenDocument> = listing.items.iter().map(show::token).collect();
    paging::shown(listing.revision, items, listing.next)
}

fn no_token() -> Refused {
    Refused::not_found("there is no token with this id: GET /v1/tokens lists them")
}

async fn show_one(call: Call) -> Result<Response, Refused> {
    if call.actor.role != Role::Admin && call.actor.token != call.part("id") {
        return Err(no_token());
    }
    let row = call.state.reader.token(call.part("id")).await?.ok_or_else(no_token)?;
    document(StatusCode::OK, &show::token(&row))
}

async fn create(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let fields: CreateFields = json::read(&call.body())?;
    if fields.name.is_empty() || fields.name.len() > MAX_TEXT || fields.name.chars().any(char::is_control) {
        return Err(Refused::bad_request(format!("name is 1 to {MAX_TEXT} octets without control characters")));
    }
    let key = fields.settings()?;
    let role = match (fields.role.as_deref(), fields.owner.as_deref()) {
        (Some("owner") | None, _) if key.is_some() => Role::Owner(owner_id("owner", &fields.key_owner())?),
        (Some(_), _) if key.is_some() => {
            return Err(Refused::bad_request("a key of a door has the role owner"));
        }
        // A client works for one owner: by default the one that is named as the token is.
        (Some("owner") | None, None) if fields.is_external_dns() => {
            if !is_door_owner(&fields.name) {
                return Err(Refused::bad_request(
                    "a token of a door needs `owner`, or a name of 1 to 63 of a-z, 0-9 and -, which makes externaldns:<name>",
                ));
            }
            Role::Owner(owner_id("owner", &format!("{DOOR_OWNER}{}", fields.name))?)
        }
        (Some("admin" | "read"), _) if fields.is_external_dns() => {
            return Err(Refused::bad_request("a token of a door has the role owner"));
        }
        (Some("owner") | None, Some(owner)) => Role::Owner(owner_id("owner", owner)?),
        (Some("owner") | None, None) => {
            return Err(Refused::bad_request("a token of role owner needs `owner`, the owner it may write for"));
        }
        (Some("admin"), None) => Role::Admin,
        (Some("read"), None) => Role::Read,
        (Some("admin" | "read"), Some(_)) => return Err(Refused::bad_request("only the role owner has `owner`")),
        (Some(other), _) => {
            let other: String = other.chars().take(64).collect();
            let detail = format!("role is admin, owner or read, not `{}`", other.escape_debug());
            return Err(Refused::bad_request(detail));
        }
    };
    let limits = limits(&fields)?;
    let expires = fields.expires_at.as_deref().map(|text| expiry(text, call.state.clock.now())).transpose()?;
    let minted = secret(&fields)?;
    if fields.secret.is_some() && call.state.reader.token_by_text(&minted.text).await?.is_some() {
        return Err(Refused::bad_request("this secret is that of another token already"));
    }
    let new = NewToken { id: minted.id.clone(), name: fields.name, role, limits, hash: minted.hash, expires, key };
    let mut shown = shown(&new);
    if !call.dry_run()? {
        shown.created_at = Some(show::moment(call.state.clock.now()));
    }
    // No secret is ever stored: a repeat gets all but the token itself.
    let kept = shown.clone();
    call.submit_once(Command::CreateToken(new), "", "", move |_| (StatusCode::CREATED, kept.clone())).await?;
    if !call.dry_run()? {
        shown.token = Some(minted.text);
    }
    document(StatusCode::CREATED, &shown)
}

fn shown(new: &NewToken) -> TokenDocument {
    let (role, owner) = show::role(&new.role);
    TokenDocument {
        id: new.id.clone(),
        name: new.name.clone(),
        role: role.to_owned(),
        owner,
        zones: new.limits.zones.clone(),
        names: new.limits.names.iter().map(show::name_limit).collect(),
        types: new.limits.types.iter().map(Rtype::to_string).collect(),
        created_at: None,
        expires_at: new.expires.map(show::moment),
        token: None,
        door: show::door(new.key.is_some(), new.limits.door).map(str::to_owned),
        external_dns: show::door_terms(new.limits.door),
        key: new.key.as_deref().map(KeyDocument::of),
    }
}

fn limits(fields: &CreateFields) -> Result<TokenLimits, Refused> {
    if [fields.zones.len(), fields.names.len(), fields.types.len()].iter().any(|count| *count > MAX_LABELS) {
        return Err(Refused::new(Code::LimitExceeded, format!("a token has at most {MAX_LABELS} limits of a kind")));
    }
    if fields.zones.iter().any(|glob| glob.is_empty() || glob.len() > MAX_TEXT) {
        return Err(Refused::bad_request(format!("a zone limit is 1 to {MAX_TEXT} octets")));
    }
    let names = fields.names.iter().map(|text| match text.strip_prefix('.') {
        Some(rest) if !rest.is_empty() => name_of("a name limit", rest).map(NameLimit::Below),
        Some(_) | None => name_of("a name limit", text).map(NameLimit::AtOrBelow),
    });
    let types = fields
        .types
        .iter()
        .map(|text| text.parse::<Rtype>().map_err(|error| Refused::bad_request(format!("types: {error}"))));
    Ok(TokenLimits {
        zones: fields.zones.clone(),
        names: names.collect::<Result<_, _>>()?,
        types: types.collect::<Result<_, _>>()?,
        door: fields.token_door()?,
    })
}

fn expiry(text: &str, now: Moment) -> Result<Moment, Refused> {
    let time = humantime::parse_rfc3339(text)
        .map_err(|_| Refused::bad_request("expiresAt is a time like 2030-01-31T12:00:00Z"))?;
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let moment = Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    if moment <= now {
        return Err(Refused::bad_request("expiresAt is in the past: the token could not be used"));
    }
    Ok(moment)
}

async fn delete(call: Call) -> Result<Response, Refused> {
    call.check_write_parameters()?;
    let id = call.part("id").to_owned();
    let report = call.submit(Command::DeleteToken(id), "", "").await?;
    if report.subject == Some(ItemOutcome::Unchanged) {
        return Err(no_token());
    }
    document(StatusCode::OK, &show::deleted(&report, call.dry_run()?))
}
