//! `PATCH zones/{id}`: the request that all controllers live by.

use std::collections::HashSet;
use std::sync::Arc;

use super::Ask;
use super::answer::{Answer, Failure};
use super::fields;
use super::rrsets::{self, Reading, Steps};
use crate::api::call::blocking;
use crate::api::show;
use crate::ledger::code::Code;
use crate::ledger::command::{Command, Patch};
use crate::ledger::key::{Conflicts, KeySettings};
use crate::ledger::report::{Item, ItemOutcome, Problem};
use crate::wire::name::Name;

/// Most errors of one answer.
const MAX_ERRORS: usize = 1_000;
/// Longest owner in an error, in characters.
const MAX_OWNER: usize = 128;

pub(super) async fn patch(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let zone = ask.zone(id)?;
    ask.check_writes()?;
    let steps = read(ask, &zone).await?;
    if steps.is_empty() {
        return Ok(Answer::nothing());
    }
    let old = serial(ask, &zone);
    let command = Patch {
        zone: zone.clone(),
        owner: ask.key.owner.clone(),
        key: Arc::clone(&ask.key.settings),
        steps: Arc::new(steps),
    };
    let report = ask.submit(Command::Patch(command), &zone).await.map_err(|refusal| Failure::of_refusal(&refusal))?;
    let key = &ask.key.settings;
    let refused: Vec<&Item> = report.results.iter().filter(|item| item.outcome.is_refused()).collect();
    if let Some(failure) = failure(key, &refused) {
        return Err(failure);
    }
    let answer = Answer::nothing();
    let Some((_, new)) = report.serials.iter().find(|(apex, _)| *apex == zone) else { return Ok(answer) };
    // The serial before is that of the commit, whatever others did since it was looked at.
    let old = old.filter(|old| old != new).unwrap_or_else(|| new.wrapping_sub(1));
    Ok(answer.header("x-pdns-old-serial", old).header("x-pdns-new-serial", new))
}

fn serial(ask: &Ask, zone: &Name) -> Option<u32> {
    ask.state.handle.published().load().zone(zone).and_then(|zone| zone.serial())
}

/// The steps of the body, read off the threads that serve others.
async fn read(ask: &Ask, zone: &Name) -> Result<Steps, Failure> {
    let (body, apex, key) = (ask.body.clone(), zone.clone(), Arc::clone(&ask.key.settings));
    let work = move || {
        let object = fields::object(&body)?;
        let missing = || Failure::unprocessable("No rrsets given in update request");
        let list = fields::list(&object, "rrsets").map_err(|_| missing())?.ok_or_else(missing)?;
        rrsets::read(list, Reading { apex: &apex, key: &key, has_changetype: true })
    };
    if ask.body.len() < SMALL { work() } else { blocking(work).await? }
}

/// Bodies under so many octets are read where they come in.
const SMALL: usize = 16 * 1024;

/// What the client is told of what was refused; none if that is not to be told.
pub(super) fn failure(key: &KeySettings, refused: &[&Item]) -> Option<Failure> {
    let held = refused.iter().find(|item| item.outcome == ItemOutcome::Held);
    if key.conflicts == Conflicts::Quiet {
        // A brake that nobody hears of would be none.
        let detail = held.and_then(|item| item.problem.as_ref()).map(|problem| problem.detail.clone());
        return detail.map(Failure::unprocessable);
    }
    let mut errors: Vec<String> = Vec::new();
    let mut told: HashSet<String> = HashSet::new();
    let mut conflict = None;
    for item in refused {
        let Some(problem) = &item.problem else { continue };
        let error = sentence(key, item, problem);
        if is_conflict(problem.code) && conflict.is_none() {
            conflict = Some(error.clone());
        }
        if errors.len() < MAX_ERRORS && told.insert(error.clone()) {
            errors.push(error);
        }
    }
    (!errors.is_empty()).then(|| Failure::of_all(errors, conflict))
}

fn is_conflict(code: Code) -> bool {
    matches!(code, Code::OwnedByOther | Code::CnameExclusive | Code::AliasExclusive | Code::SwapRefused)
}

/// A refusal in PowerDNS's words.
fn sentence(key: &KeySettings, item: &Item, problem: &Problem) -> String {
    let about = |what: &str| format!("RRset {} IN {}: {what}", item.name, item.rtype);
    match problem.code {
        // Said already as the client is to read it.
        Code::BadRequest | Code::DeleteGuard => problem.detail.clone(),
        code if is_conflict(code) => match &problem.holder {
            None => about("Conflicts with pre-existing RRset"),
            Some(holder) => {
                let rtype = holder.rtype.map_or_else(|| item.rtype.clone(), |rtype| rtype.to_string());
                let who = if key.hide_holder {
                    "another owner".to_owned()
                } else {
                    let owner: String = holder.owner.as_str().chars().take(MAX_OWNER).collect();
                    format!("{owner} since {}", show::moment(holder.since))
                };
                about(&format!("Conflicts with pre-existing RRset ({rtype} owned by {who})"))
            }
        },
        // Its sentence may name who holds.
        _ if key.hide_holder && problem.holder.is_some() => about("Conflicts with records of another owner"),
        _ => about(&problem.detail),
    }
}
