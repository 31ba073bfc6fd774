//! Commands on tokens: for `admin` only.

use super::actor::{Actor, Role};
use super::code::Code;
use super::command::NewToken;
use super::draft::Draft;
use super::entitlement;
use super::limits::MAX_TEXT;
use super::plan::TokenChange;
use super::report::{ItemOutcome, Refusal};

pub(super) fn create(draft: &mut Draft, actor: &Actor, token: &NewToken) -> Result<(), Refusal> {
    entitlement::check_admin(actor, "making a token")?;
    if token.name.len() > MAX_TEXT {
        return Err(Refusal::new(Code::LimitExceeded, format!("a token's name has at most {MAX_TEXT} octets")));
    }
    if draft.ledger.token_exists {
        return Err(Refusal::new(Code::BadRequest, format!("there is a token {} already", token.id)));
    }
    match &token.role {
        Role::Owner(root) => {
            draft.ensure_owner(root, None);
        }
        Role::Admin | Role::Read => {}
    }
    draft.token = Some(TokenChange::Created(Box::new(token.clone())));
    draft.report.subject = Some(ItemOutcome::Created);
    Ok(())
}

pub(super) fn delete(draft: &mut Draft, actor: &Actor, id: &str) -> Result<(), Refusal> {
    entitlement::check_admin(actor, "deleting a token")?;
    if !draft.ledger.token_exists {
        return Err(Refusal::new(Code::NotFound, format!("there is no token {}", id.escape_debug())));
    }
    draft.token = Some(TokenChange::Deleted(id.to_owned()));
    draft.report.subject = Some(ItemOutcome::Deleted);
    Ok(())
}
