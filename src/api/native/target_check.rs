//! `targetCheck` and `wait`: what is found out about the targets of a write before it is committed, and how long its
//! reply waits for them (alias.md section 2).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::timeout;

use crate::alias::handle::Known;
use crate::api::call::Call;
use crate::api::documents::WarningDocument;
use crate::api::problem::Refused;
use crate::ledger::alias_options::StaticMode;
use crate::ledger::code::Code;
use crate::ledger::command::{Command, Wish};
use crate::ledger::owner::OwnerId;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{AliasRecord, AliasRef, AliasState, Family, TargetKey};
use crate::zone::walk::{WalkEnd, walk};

/// How long all targets of a request are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// `targetCheck`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// No lookup is made.
    Off,
    /// What is wrong is said.
    Warn,
    /// A target without addresses is refused.
    Require,
}

/// A target of a write, and what its record wants of it.
struct Target {
    name: Name,
    target: Name,
    families: Vec<Family>,
    at: At,
}

/// Where a target is.
enum At {
    /// In a hosted zone, which has or has not what is wanted.
    Inside(Inside),
    /// Outside.
    Outside(TargetKey),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Addresses,
    NoData,
    Missing,
}

/// Looks at the targets of a command's ALIAS records, for as long as the request says. Gives back the warnings, and the
/// targets outside.
pub(super) async fn check(
    call: &Call,
    command: &Command,
    owner: &OwnerId,
) -> Result<(Vec<WarningDocument>, Vec<TargetKey>), Refused> {
    let check = match call.parameters.text("targetCheck") {
        Some("off") => Check::Off,
        Some("require") => Check::Require,
        Some(_) | None => Check::Warn,
    };
    let wishes: Vec<&Wish> = match command {
        Command::Apply(apply) => apply.records.iter().flatten().collect(),
        Command::Change(change) => change.upsert.iter().flatten().collect(),
        _ => Vec::new(),
    };
    let aliases: Vec<&Wish> = wishes.into_iter().filter(|wish| wish.rtype == Rtype::ALIAS).collect();
    if aliases.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let targets = targets(call, &aliases, owner).await?;
    let outside: Vec<TargetKey> = targets
        .iter()
        .filter_map(|one| match &one.at {
            At::Outside(key) => Some(key.clone()),
            At::Inside(_) => None,
        })
        .collect();
    if check == Check::Off || call.dry_run()? {
        return Ok((Vec::new(), outside));
    }
    let known = settled(call, &outside).await;
    let mut warnings = beside(call, &aliases);
    for target in &targets {
        let Some((code, detail)) = finding(target, &known) else { continue };
        if check == Check::Require && code != "single_label_target" {
            let detail = format!("{detail}; with targetCheck=require that is refused");
            let refused = Refused::new(Code::AliasTargetUnresolvable, detail);
            return Err(refused.about(target.name.to_string(), Rtype::ALIAS.to_string()));
        }
        let (name, rtype) = (target.name.to_string(), Rtype::ALIAS.to_string());
        warnings.push(WarningDocument { name, rtype, code: code.to_owned(), detail });
    }
    Ok((warnings, outside))
}

/// What stands, or does not stand, beside ALIAS records, where their options make that worth a word.
fn beside(call: &Call, aliases: &[&Wish]) -> Vec<WarningDocument> {
    let snapshot = call.state.handle.published().get();
    let mut warnings = Vec::new();
    for wish in aliases {
        let zone = snapshot.zone_of(&wish.name);
        let node = zone.and_then(|zone| zone.node(&wish.name));
        let is_there = |family: Family| node.is_some_and(|node| node.rrset(family.rtype()).is_some());
        let there: Vec<String> =
            Family::BOTH.iter().filter(|one| is_there(**one)).map(|one| one.rtype().to_string()).collect();
        let name = &wish.name;
        let (code, detail) = match wish.alias.unwrap_or_default().static_mode {
            StaticMode::Override if !there.is_empty() => {
                ("static_overrides_alias", format!("{name} has {}, which goes before the ALIAS", there.join(" and ")))
            }
            StaticMode::Fallback if there.is_empty() => {
                ("fallback_empty", format!("{name} has neither A nor AAAA that it could fall back to"))
            }
            StaticMode::Reject | StaticMode::Override | StaticMode::Fallback => continue,
        };
        let (name, rtype) = (name.to_string(), Rtype::ALIAS.to_string());
        warnings.push(WarningDocument { name, rtype, code: code.to_owned(), detail });
    }
    warnings
}

/// With `wait=resolved`, waits for targets after the commit.
pub(super) async fn wait(call: &Call, targets: &[TargetKey]) {
    if call.parameters.text("wait") == Some("resolved") {
        settled(call, targets).await;
    }
}

/// What is known of targets once all are settled, or the patience is over.
async fn settled(call: &Call, targets: &[TargetKey]) -> BTreeMap<TargetKey, Known> {
    let Some(handle) = call.state.alias.as_ref().filter(|_| !targets.is_empty()) else { return BTreeMap::new() };
    match timeout(PATIENCE, handle.settled(targets.to_vec())).await {
        Ok(known) => known.unwrap_or_default(),
        Err(_elapsed) => handle.known(targets.to_vec()).await.unwrap_or_default(),
    }
}

/// An owner and those above it, by their numbers in the store; none if there is no such owner yet.
pub(super) async fn owner_numbers(call: &Call, owner: &OwnerId) -> Result<Vec<u32>, Refused> {
    let reader = &call.state.reader;
    let mut owners = Vec::new();
    if let Some(found) = reader.owner(owner).await? {
        owners.push(found.owner.number.0);
        for parent in &found.parents {
            owners.extend(reader.owner(parent).await?.map(|parent| parent.owner.number.0));
        }
    }
    Ok(owners)
}

async fn targets(call: &Call, aliases: &[&Wish], owner: &OwnerId) -> Result<Vec<Target>, Refused> {
    let reader = &call.state.reader;
    let owners = owner_numbers(call, owner).await?;
    let snapshot = call.state.handle.published().get();
    let mut groups: BTreeMap<Name, Option<String>> = BTreeMap::new();
    let mut targets = Vec::new();
    for wish in aliases {
        let Some(zone) = snapshot.zone_of(&wish.name) else { continue };
        let options = wish.alias.unwrap_or_default();
        let group = match (&options.upstream_group, groups.get(zone.apex())) {
            (Some(own), _) => Some(own.as_str().to_owned()),
            (None, Some(known)) => known.clone(),
            (None, None) => {
                let row = reader.zone(zone.apex()).await?;
                let group = row.and_then(|row| row.zone.upstream_group);
                groups.insert(zone.apex().clone(), group.clone());
                group
            }
        };
        let (Some(octets), Some(target)) =
            (wish.records.first(), wish.records.first().and_then(|octets| Name::from_wire(octets).ok()))
        else {
            continue;
        };
        let record = AliasRecord::plain(octets.clone(), owners.clone()).encode();
        let Some(alias) = AliasRef::decode(&record) else { continue };
        let flags = [(Family::A, options.a), (Family::Aaaa, options.aaaa)];
        let families: Vec<Family> = flags.into_iter().filter(|(_, is_on)| *is_on).map(|(family, _)| family).collect();
        let mut scratch = HashedName::empty();
        let mut at = Inside::Missing;
        let mut outside = None;
        for family in &families {
            match walk(&snapshot, &call.state.trust, zone, alias, *family, &mut scratch) {
                WalkEnd::Addresses { .. } => at = Inside::Addresses,
                WalkEnd::NoData if at == Inside::Missing => at = Inside::NoData,
                WalkEnd::External { .. } => outside = Name::from_wire(scratch.wire()).ok(),
                WalkEnd::NoData | WalkEnd::NameError | WalkEnd::Loop | WalkEnd::ChainTooLong => {}
            }
        }
        let at = match outside {
            Some(name) => At::Outside(TargetKey { name, group: call.state.terms.group(group.as_deref()) }),
            None => At::Inside(at),
        };
        targets.push(Target { name: wish.name.clone(), target, families, at });
    }
    Ok(targets)
}

/// What is wrong with a target, as a code and a sentence.
fn finding(target: &Target, known: &BTreeMap<TargetKey, Known>) -> Option<(&'static str, String)> {
    let name = &target.target;
    let none = |code, what: &str| Some((code, format!("the target {name} {what}")));
    let key = match &target.at {
        At::Inside(Inside::Addresses) => return single_label(name),
        At::Inside(Inside::NoData) => return none("target_no_addresses", "has no addresses in its zone here"),
        At::Inside(Inside::Missing) => {
            return none("target_missing_in_server", "is in a zone of this server, which does not have it");
        }
        At::Outside(key) => key,
    };
    let known = known.get(key)?;
    let states = target.families.iter().map(|family| known.family(*family));
    let any = |wanted: AliasState| states.clone().any(|state| state == wanted);
    if any(AliasState::Resolved) {
        return single_label(name);
    }
    if any(AliasState::TargetNxdomain) || any(AliasState::Suspect) {
        return none("target_nxdomain", "does not exist (NXDOMAIN)");
    }
    if any(AliasState::NoResolver) {
        return none("no_resolver", "cannot be looked up: no upstream resolver is configured");
    }
    if any(AliasState::Pending) {
        return none("target_pending", "was not answered within 2 s");
    }
    let failed = states.clone().find(|state| state.is_failure());
    match failed {
        Some(state) => none("target_unreachable", &format!("could not be resolved: {}", state.text())),
        None => none("target_no_addresses", &format!("has no address that can be served: {}", known.state.text())),
    }
}

fn single_label(name: &Name) -> Option<(&'static str, String)> {
    let detail = || format!("the target {name} has one label: search lists are not used, so it is a name of the root");
    (name.label_count() == 1).then(|| ("single_label_target", detail()))
}
