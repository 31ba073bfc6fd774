//! `zones`: listed, made, shown, changed and deleted; and what stands below one that is not records.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Ask;
use super::answer::{Answer, Failure, shown};
use super::fields::{self, Object};
use super::rrsets::{self, NO_DNSSEC, Reading, Steps};
use super::view::{self, Wanted};
use crate::api::call::blocking;
use crate::ledger::actor::{Actor, Role};
use crate::ledger::code::Code;
use crate::ledger::command::{Act, Command, CreateZone, OpenZone, Patch, ShowZone, Step, Values};
use crate::ledger::report::Refusal;
use crate::ledger::zone::{Presented, ZoneRow};
use crate::store::rows::ClaimFilter;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::content::Zone;
use crate::zone::file::{self, NoInclude};

/// TTL of SOA and NS that the server makes, in seconds.
const MADE_TTL: u32 = 3_600;
/// Longest text that is kept of a zone, in octets.
const MAX_TEXT: usize = 512;
/// Most addresses of primaries.
const MAX_MASTERS: usize = 64;
/// Most foreign claims that are counted when they are in the way.
const MAX_COUNTED: usize = 100_000;

/// The row of a zone, and its content.
async fn found(ask: &Ask, id: &str) -> Result<(ZoneRow, Arc<Zone>), Failure> {
    let name = ask.zone(id)?;
    let zone = ask.state.handle.published().load().zone(&name).cloned().ok_or_else(Failure::not_found)?;
    let row = ask.state.reader.zone(&name).await?.ok_or_else(Failure::not_found)?;
    Ok((row.zone, zone))
}

pub(super) async fn list(ask: &Ask) -> Result<Answer, Failure> {
    let with_keys = ask.flag("dnssec", true)?;
    let snapshot = ask.state.handle.published().get();
    let rows = match ask.parameter("zone") {
        None => ask.state.reader.zones().await?.items,
        Some(text) => match Name::parse(text) {
            Ok(name) => ask.state.reader.zone(&name).await?.into_iter().collect(),
            Err(_) => Vec::new(),
        },
    };
    let is_seen = |row: &ZoneRow| ask.key.actor.limits.admits_zone(&row.name);
    let items: Vec<_> = rows
        .iter()
        .map(|row| &row.zone)
        .filter(|row| is_seen(row))
        .filter_map(|row| {
            let serial = snapshot.zone(&row.name)?.serial().unwrap_or(row.serial);
            Some(view::item(row, serial, with_keys))
        })
        .collect();
    Ok(Answer::json(&items))
}

pub(super) async fn show(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let with_rrsets = ask.flag("rrsets", true)?;
    let counts = ask.flag("record_count", false)?;
    let disabled = ask.flag("include_disabled", true)?;
    let (row, zone) = found(ask, id).await?;
    let mut wanted = Wanted { disabled, ..Wanted::default() };
    if let Some(text) = ask.parameter("rrset_name") {
        wanted.name = Some(fields::canonical(text).map_err(Failure::unprocessable)?);
    }
    if let Some(text) = ask.parameter("rrset_type") {
        let rtype = text.parse().map_err(|_| Failure::unprocessable(format!("{}: unknown type given", shown(text))))?;
        wanted.rtype = Some(rtype);
    }
    let rrsets = if with_rrsets { Some(view::rrsets(ask, &zone, &wanted).await?) } else { None };
    let count = if counts { zone.record_count() } else { 0 };
    let serial = zone.serial().unwrap_or(row.serial);
    let detail = view::detail(&row, serial, rrsets, count);
    blocking(move || Answer::json(&detail)).await.map_err(Failure::of)
}

pub(super) async fn create(ask: &Ask) -> Result<Answer, Failure> {
    ask.check_writes()?;
    let object = fields::object(&ask.body)?;
    let unprocessable = |error: String| Failure::unprocessable(error);
    let text = fields::text(&object, "name").map_err(unprocessable)?;
    let apex = fields::name(text).map_err(unprocessable)?;
    if !ask.key.actor.limits.admits_zone(&apex) {
        return Err(Failure::forbidden());
    }
    let kind = kind(fields::text(&object, "kind").map_err(unprocessable)?)?;
    check_later(&object)?;
    if ask.state.handle.published().load().zone(&apex).is_some() {
        return Err(Failure::new(409, "Conflict"));
    }
    let presented = presented(&object, Presented { kind, ..Presented::default() })?;
    let with_rrsets = ask.flag("rrsets", true)?;
    let (body, key, zone) = (ask.body.clone(), Arc::clone(&ask.key), apex.clone());
    let read = blocking(move || contents(&body, &zone, &key.settings)).await.map_err(Failure::of)?;
    let Contents { steps, nameservers } = read?;
    let serial = object.get("serial").and_then(fields::number).and_then(|serial| u32::try_from(serial).ok());
    let create = CreateZone {
        nameservers: (!nameservers.is_empty()).then_some(nameservers).or_else(|| configured(ask)),
        contact: Some(format!("hostmaster@{}", apex.to_string().trim_end_matches('.'))),
        default_ttl: Some(MADE_TTL),
        owner: Some(ask.key.owner.clone()),
        ..CreateZone::new(apex.clone())
    };
    let patch = Patch {
        zone: apex.clone(),
        owner: ask.key.owner.clone(),
        key: Arc::clone(&ask.key.settings),
        steps: Arc::new(steps),
    };
    let open = OpenZone { create, presented, serial: serial.filter(|serial| *serial > 0), patch };
    match ask.submit(Command::OpenZone(open), &apex).await {
        Ok(_) => {}
        Err(refusal) => return Err(refused(ask, &refusal)),
    }
    let (row, zone) = found(ask, &fields::zone_id(&apex)).await?;
    let wanted = Wanted { disabled: true, ..Wanted::default() };
    let rrsets = if with_rrsets { Some(view::rrsets(ask, &zone, &wanted).await?) } else { None };
    let serial = zone.serial().unwrap_or(row.serial);
    Ok(Answer::with(201, &view::detail(&row, serial, rrsets, 0)))
}

fn configured(ask: &Ask) -> Option<Vec<Name>> {
    Some(ask.state.defaults.nameservers.clone()).filter(|names| !names.is_empty())
}

/// A whole request that was refused, each RRset with its own words.
fn refused(ask: &Ask, refusal: &Refusal) -> Failure {
    let items: Vec<_> = refusal.items.iter().collect();
    super::patch::failure(
        &crate::ledger::key::KeySettings {
            conflicts: crate::ledger::key::Conflicts::Reject,
            ..(*ask.key.settings).clone()
        },
        &items,
    )
    .unwrap_or_else(|| Failure::of_refusal(refusal))
}

/// What a new zone begins with.
#[derive(Debug, Default)]
struct Contents {
    steps: Steps,
    nameservers: Vec<Name>,
}

fn contents(body: &[u8], apex: &Name, key: &crate::ledger::key::KeySettings) -> Result<Contents, Failure> {
    let object = fields::object(body)?;
    let unprocessable = |error: String| Failure::unprocessable(error);
    let mut nameservers = Vec::new();
    for value in fields::list(&object, "nameservers").map_err(unprocessable)?.into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        let name = Some(text).filter(|text| text.ends_with('.')).and_then(|text| Name::parse(text).ok());
        nameservers.push(
            name.ok_or_else(|| Failure::unprocessable(format!("Nameserver is not canonical: '{}'", shown(text))))?,
        );
    }
    let rrsets = fields::list(&object, "rrsets").map_err(unprocessable)?.filter(|list| !list.is_empty());
    let text = match object.get("zone") {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    let steps = match (rrsets, text) {
        (Some(_), Some(_)) => {
            return Err(Failure::unprocessable("You cannot give rrsets AND zone data as text"));
        }
        (Some(list), None) => rrsets::read(list, Reading { apex, key, has_changetype: false })?,
        (None, Some(text)) => of_text(text, apex)?,
        (None, None) => Vec::new(),
    };
    let is_ns = |step: &Step| step.rtype == Rtype::NS && step.name == *apex;
    if !nameservers.is_empty() && steps.iter().flatten().any(is_ns) {
        return Err(Failure::unprocessable("Nameservers list MUST NOT be mixed with zone-level NS in rrsets"));
    }
    Ok(Contents { steps, nameservers })
}

/// A zone file as steps.
fn of_text(text: &str, apex: &Name) -> Result<Steps, Failure> {
    let zone = file::read(text.as_bytes(), "zone", Some(apex), &mut NoInclude).map_err(|findings| {
        let first = findings.first().map_or_else(String::new, |first| format!("line {}: {}", first.line, first.text));
        Failure::unprocessable(format!("Unable to parse zone data: {first}"))
    })?;
    if zone.origin != *apex {
        return Err(Failure::unprocessable(format!("The zone data is of {}, not of {apex}", zone.origin)));
    }
    let step = |(name, rrset): (Name, crate::zone::node::RRset)| {
        let values = Values { ttl: rrset.ttl, records: rrset.records, ..Values::default() };
        Ok(Step { name, rtype: rrset.rtype, act: Act::Replace { values: Some(values), comments: None } })
    };
    Ok(zone.rrsets.into_iter().map(step).collect())
}

/// The kind of a zone; another text is as none.
fn kind(text: &str) -> Result<String, Failure> {
    let kind = match text.to_ascii_lowercase().as_str() {
        "master" | "primary" => "Master",
        later @ ("slave" | "secondary" | "producer" | "consumer") => {
            let mut word = later.to_owned();
            word[..1].make_ascii_uppercase();
            return Err(Failure::unprocessable(format!("Zone kind '{word}' is not available on this server yet")));
        }
        _ => "Native",
    };
    Ok(kind.to_owned())
}

/// Refuses what is asked of a zone and not there yet.
fn check_later(object: &Object) -> Result<(), Failure> {
    let asks_for = |key: &str| match object.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    };
    if asks_for("dnssec") || asks_for("nsec3param") || asks_for("nsec3narrow") || asks_for("presigned") {
        return Err(Failure::unprocessable(NO_DNSSEC));
    }
    if asks_for("master_tsig_key_ids") || asks_for("slave_tsig_key_ids") {
        return Err(Failure::unprocessable("TSIG keys are not available on this server yet"));
    }
    if asks_for("catalog") {
        return Err(Failure::unprocessable("Zone kind 'Producer' is not available on this server yet"));
    }
    Ok(())
}

/// Keys that are kept and shown; absent ones stay.
fn presented(object: &Object, before: Presented) -> Result<Presented, Failure> {
    let text = |key: &str, usual: &str| {
        let text = fields::text_or(object, key, usual).map_err(Failure::unprocessable)?;
        if text.len() > MAX_TEXT {
            return Err(Failure::unprocessable(format!("Key '{key}' has at most {MAX_TEXT} octets")));
        }
        Ok(text)
    };
    let masters = match fields::list(object, "masters").map_err(Failure::unprocessable)? {
        None => before.masters.clone(),
        Some(list) => {
            let one = |value: &Value| value.as_str().filter(|text| text.len() <= MAX_TEXT).map(str::to_owned);
            let masters: Option<Vec<String>> = list.iter().take(MAX_MASTERS + 1).map(one).collect();
            masters
                .filter(|masters| masters.len() <= MAX_MASTERS)
                .ok_or_else(|| Failure::unprocessable("Key 'masters' is not an Array of addresses"))?
        }
    };
    Ok(Presented {
        account: text("account", &before.account)?,
        soa_edit: text("soa_edit", &before.soa_edit)?,
        soa_edit_api: text("soa_edit_api", &before.soa_edit_api)?,
        api_rectify: fields::flag(object, "api_rectify", before.api_rectify).map_err(Failure::unprocessable)?,
        kind: before.kind,
        masters,
    })
}

pub(super) async fn put(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let (row, _) = found(ask, id).await?;
    ask.check_writes()?;
    if row.owner != ask.key.owner {
        return Err(Failure::forbidden());
    }
    let object = fields::object(&ask.body)?;
    check_later(&object)?;
    if fields::list(&object, "rrsets").is_ok_and(|list| list.is_some()) {
        let what = "Replacing all RRsets by PUT is not available on this server yet";
        return Err(Failure::unprocessable(what));
    }
    let kind = match object.get("kind") {
        Some(Value::String(text)) => kind(text)?,
        _ => row.presented.kind.clone(),
    };
    let presented = presented(&object, Presented { kind, ..row.presented })?;
    let command = Command::ShowZone(ShowZone { name: row.name.clone(), presented });
    ask.submit(command, &row.name).await.map_err(|refusal| Failure::of_refusal(&refusal))?;
    Ok(Answer::nothing())
}

pub(super) async fn delete(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let (row, _) = found(ask, id).await?;
    ask.check_writes()?;
    if row.owner != ask.key.owner {
        return Err(Failure::forbidden());
    }
    // Who takes over may take others' claims along; that the zone is its own was looked at.
    let role = if ask.key.settings.takeover { Role::Admin } else { ask.key.actor.role.clone() };
    let actor = Actor { role, ..ask.key.actor.clone() };
    match ask.submit_as(Command::DeleteZone(row.name.clone()), &row.name, actor).await {
        Ok(_) => Ok(Answer::nothing()),
        Err(refusal) if refusal.code() == Code::OwnedByOther => Err(in_the_way(ask, &row).await?),
        Err(refusal) => Err(Failure::of_refusal(&refusal)),
    }
}

/// Which claims of others live in a zone.
async fn in_the_way(ask: &Ask, row: &ZoneRow) -> Result<Failure, Failure> {
    let filter = ClaimFilter { zone: Some(row.name.clone()), ..ClaimFilter::default() };
    let claims = ask.state.reader.claims(&filter).await?.items;
    let is_foreign = |id: &crate::ledger::owner::OwnerId| *id != ask.key.owner && !id.is_system() && !id.is_zone();
    let foreign: Vec<_> =
        claims.iter().map(|row| &row.claim).filter(|claim| is_foreign(&claim.owner_id)).take(MAX_COUNTED).collect();
    let first = foreign.first().map_or_else(String::new, |claim| {
        let whose = if ask.key.settings.hide_holder {
            "another owner".to_owned()
        } else {
            claim.owner_id.as_str().chars().take(128).collect()
        };
        format!("{} {} owned by {whose}", claim.name, claim.rtype)
    });
    let (zone, count) = (&row.name, foreign.len());
    Ok(Failure::unprocessable(format!("Zone {zone}: Conflicts with pre-existing RRset ({first}; {count} in all)")))
}

pub(super) fn notify(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    ask.zone(id)?;
    Ok(Answer::json(&json!({"result": "Notification queued"})))
}

pub(super) fn rectify(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    ask.zone(id)?;
    Ok(Answer::json(&json!({"result": "Rectified"})))
}

pub(super) fn retrieve(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let zone = ask.zone(id)?;
    let what = format!("Domain '{zone}' is not a secondary domain (or has no primary defined)");
    Err(Failure::unprocessable(what))
}

/// Kinds of metadata of which a zone has a value.
fn metadata_values(row: &ZoneRow, kind: &str) -> Vec<String> {
    let value = match kind {
        "SOA-EDIT-API" => &row.presented.soa_edit_api,
        "SOA-EDIT" => &row.presented.soa_edit,
        _ => return Vec::new(),
    };
    Some(value.clone()).filter(|value| !value.is_empty()).into_iter().collect()
}

fn metadata_document(kind: &str, values: &[String]) -> Value {
    json!({"kind": kind, "metadata": values, "type": "Metadata"})
}

pub(super) async fn metadata(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let (row, _) = found(ask, id).await?;
    let all: Vec<Value> = ["SOA-EDIT", "SOA-EDIT-API"]
        .into_iter()
        .map(|kind| (kind, metadata_values(&row, kind)))
        .filter(|(_, values)| !values.is_empty())
        .map(|(kind, values)| metadata_document(kind, &values))
        .collect();
    Ok(Answer::json(&all))
}

pub(super) async fn metadata_of(ask: &Ask, id: &str, kind: &str) -> Result<Answer, Failure> {
    let (row, _) = found(ask, id).await?;
    let kind = shown(kind);
    Ok(Answer::json(&metadata_document(&kind, &metadata_values(&row, &kind))))
}

pub(super) fn set_metadata(ask: &Ask, id: &str, kind: Option<&str>) -> Result<Answer, Failure> {
    ask.zone(id)?;
    ask.check_writes()?;
    let kind = match kind {
        Some(kind) => kind.to_owned(),
        None => fields::object(&ask.body)?.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    Err(Failure::unprocessable(format!("Unsupported metadata kind '{}'", shown(&kind))))
}

pub(super) fn cryptokeys(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    ask.zone(id)?;
    Ok(Answer::json(&json!([])))
}

pub(super) fn no_keys(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    ask.zone(id)?;
    ask.check_writes()?;
    Err(Failure::unprocessable(NO_DNSSEC))
}
