//! Commands on zones (ownership.md section 3.5).

use super::actor::{Actor, Role};
use super::code::Code;
use super::command::{CreateZone, UpdateZone};
use super::draft::Draft;
use super::entitlement;
use super::limits::{MAX_TEXT, MAX_TTL, MAX_ZONES};
use super::owner::OwnerId;
use super::owning;
use super::plan::ZoneChange;
use super::report::{ItemOutcome, Problem, Refusal};
use super::wish;
use super::zone::{Presented, ZoneNumber, ZoneRow};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::serial;

/// Seconds of records that give no TTL, in a zone that gives none.
pub const DEFAULT_TTL: u32 = 300;
/// Refresh, retry, expire and minimum of the server's own SOA, in seconds.
pub const SOA_TIMES: [u32; 4] = [10_800, 3_600, 604_800, 3_600];

/// Plans [`super::command::Command::CreateZone`].
pub(super) fn create(draft: &mut Draft, actor: &Actor, create: &CreateZone) -> Result<(), Refusal> {
    let wanted = Keys::of(actor, create)?;
    if let Some(zone) = draft.ledger.zone(&create.name) {
        let is_same = wanted.owner == zone.owner
            && wanted.nameservers == zone.nameservers
            && wanted.contact == zone.contact
            && wanted.default_ttl == zone.default_ttl
            && wanted.upstream_group == zone.upstream_group;
        if is_same && entitlement::is_entitled(&draft.ledger, actor, zone.owner_number) {
            draft.report.subject = Some(ItemOutcome::Unchanged);
            return Ok(());
        }
        return Err(Problem {
            code: Code::ZoneExists,
            detail: format!("the zone {} exists and belongs to {}", zone.name, zone.owner),
            holder: Some(draft.ledger.holder(zone.owner_number, &zone.owner, zone.created)),
            path: Box::default(),
        }
        .into());
    }
    make(draft, actor, &create.name, wanted, None)?;
    draft.report.subject = Some(ItemOutcome::Created);
    Ok(())
}

/// A new zone's keys with their defaults.
pub(super) struct Keys {
    owner: OwnerId,
    nameservers: Vec<Name>,
    contact: String,
    default_ttl: u32,
    upstream_group: Option<String>,
}

impl Keys {
    pub(super) fn of(actor: &Actor, create: &CreateZone) -> Result<Keys, Problem> {
        let nameservers = match &create.nameservers {
            Some(names) if names.is_empty() => {
                return Err(Problem::new(Code::BadRequest, "a zone has at least one name server"));
            }
            Some(names) => names.clone(),
            None => vec![create.name.child(b"ns1").map_err(|error| {
                Problem::new(Code::BadRequest, format!("name `nameservers`, for ns1.{}: {error}", create.name))
            })?],
        };
        let contact = match &create.contact {
            Some(contact) => contact.clone(),
            None => format!("hostmaster@{}", create.name.to_string().trim_end_matches('.')),
        };
        let default_ttl = create.default_ttl.unwrap_or(DEFAULT_TTL);
        check_keys(Some(default_ttl), create.upstream_group.as_deref())?;
        mailbox(&contact)?;
        Ok(Keys {
            owner: create.owner.clone().unwrap_or_else(|| default_owner(actor, &create.name)),
            nameservers,
            contact,
            default_ttl,
            upstream_group: create.upstream_group.clone(),
        })
    }
}

fn default_owner(actor: &Actor, apex: &Name) -> OwnerId {
    match &actor.role {
        Role::Owner(root) => root.clone(),
        Role::Admin | Role::Read => OwnerId::of_zone(apex),
    }
}

fn check_keys(default_ttl: Option<u32>, upstream_group: Option<&str>) -> Result<(), Problem> {
    if default_ttl.is_some_and(|ttl| ttl > MAX_TTL) {
        return Err(Problem::new(Code::TtlOutOfRange, format!("a TTL is at most {MAX_TTL} seconds")));
    }
    if upstream_group.is_some_and(|group| group.len() > MAX_TEXT) {
        return Err(Problem::new(Code::LimitExceeded, format!("upstreamGroup has at most {MAX_TEXT} octets")));
    }
    Ok(())
}

/// The name that stands for an e-mail address in an SOA (RFC 1035 section 3.3.13); a name is taken as it is.
fn mailbox(contact: &str) -> Result<Name, Problem> {
    let bad = |error: &dyn std::fmt::Display| {
        let shown: String = contact.chars().take(80).collect();
        Problem::new(Code::BadRequest, format!("contact {}: {error}", shown.escape_debug()))
    };
    if contact.len() > MAX_TEXT {
        return Err(bad(&"it is too long"));
    }
    match contact.rsplit_once('@') {
        Some((_, "")) | None => Name::parse(contact).map_err(|error| bad(&error)),
        Some((local, domain)) => {
            let domain = Name::parse(domain).map_err(|error| bad(&error))?;
            domain.child(local.as_bytes()).map_err(|error| bad(&error))
        }
    }
}

/// Makes a zone with the server's own SOA and NS.
pub(super) fn make(
    draft: &mut Draft,
    actor: &Actor,
    apex: &Name,
    keys: Keys,
    first_serial: Option<u32>,
) -> Result<ZoneNumber, Problem> {
    entitlement::check_writes(actor)?;
    entitlement::check_zone_limit(actor, apex)?;
    if actor.role != Role::Admin || !keys.owner.is_zone() {
        entitlement::check_owner(&draft.ledger, actor, &keys.owner, None)?;
    }
    check_around(draft, actor, apex)?;
    if draft.ledger.zone_count >= MAX_ZONES {
        return Err(Problem::new(Code::LimitExceeded, format!("a server has at most {MAX_ZONES} zones")));
    }
    let parent = owning::root_of(draft, actor, &keys.owner);
    let owner_number = draft.ensure_owner(&keys.owner, parent);
    let number = ZoneNumber(draft.ledger.next_zone);
    draft.ledger.next_zone += 1;
    let zone = ZoneRow {
        number,
        name: apex.clone(),
        owner_number,
        owner: keys.owner,
        serial: first_serial.unwrap_or_else(|| serial::first_of_day(draft.now)),
        default_ttl: keys.default_ttl,
        nameservers: keys.nameservers,
        contact: keys.contact,
        upstream_group: keys.upstream_group,
        presented: Presented::default(),
        serial_floor: None,
        created: draft.now,
        revision: draft.revision(),
    };
    draft.ledger.add_zone(zone.clone());
    let system = draft.ensure_owner(&OwnerId::system(), None);
    for rtype in [Rtype::SOA, Rtype::NS] {
        let mut claim = draft.new_claim(&zone, apex, rtype, system);
        claim.records = own_records(&zone, rtype);
        draft.put_claim(claim);
    }
    draft.zones.push(ZoneChange::Created(zone));
    Ok(number)
}

/// The server's own SOA (with serial 0) or NS of a zone, from the keys it was made with.
pub fn own_records(zone: &ZoneRow, rtype: Rtype) -> Vec<Vec<u8>> {
    let fallback = [zone.name.clone()];
    let names = if zone.nameservers.is_empty() { &fallback[..] } else { &zone.nameservers };
    if rtype == Rtype::SOA {
        let mailbox = mailbox(&zone.contact).unwrap_or_else(|_| zone.name.clone());
        return vec![soa_of(&names[0], &mailbox)];
    }
    let mut records = names.iter().map(|name| name.as_wire().to_vec()).collect();
    wish::sort_records(Rtype::NS, &mut records);
    records
}

/// RDATA of an SOA with serial 0 and the server's times.
fn soa_of(primary: &Name, mailbox: &Name) -> Vec<u8> {
    let mut soa = [primary.as_wire(), mailbox.as_wire()].concat();
    for number in [0].iter().chain(&SOA_TIMES) {
        soa.extend_from_slice(&u32::to_be_bytes(*number));
    }
    soa
}

/// A tenant's zone must not take names away from another's, above or below (reliability.md section 5, class 46).
fn check_around(draft: &Draft, actor: &Actor, apex: &Name) -> Result<(), Problem> {
    for zone in &draft.ledger.around {
        if !entitlement::is_entitled(&draft.ledger, actor, zone.owner_number) {
            let detail =
                format!("{apex} would take names out of the zone {} of {}, or stand above it", zone.name, zone.owner);
            return Err(Problem {
                code: Code::Forbidden,
                detail,
                holder: Some(draft.ledger.holder(zone.owner_number, &zone.owner, zone.created)),
                path: Box::default(),
            });
        }
    }
    Ok(())
}

/// The zone, if the actor may change it.
pub(super) fn entitled_zone(draft: &Draft, actor: &Actor, apex: &Name) -> Result<ZoneRow, Problem> {
    entitlement::check_writes(actor)?;
    entitlement::check_zone_limit(actor, apex)?;
    let Some(zone) = draft.ledger.zone(apex) else {
        return Err(Problem::new(Code::NotFound, format!("there is no zone {apex}")));
    };
    if !entitlement::is_entitled(&draft.ledger, actor, zone.owner_number) {
        return Err(Problem {
            code: Code::Forbidden,
            detail: format!("the zone {apex} belongs to {}", zone.owner),
            holder: Some(draft.ledger.holder(zone.owner_number, &zone.owner, zone.created)),
            path: Box::default(),
        });
    }
    Ok(zone.clone())
}

/// Plans [`super::command::Command::UpdateZone`].
pub(super) fn update(draft: &mut Draft, actor: &Actor, update: &UpdateZone) -> Result<(), Refusal> {
    let before = entitled_zone(draft, actor, &update.name)?;
    check_keys(update.default_ttl, update.upstream_group.as_ref().and_then(Option::as_deref))?;
    let mut zone = before.clone();
    if let Some(owner) = &update.owner {
        if !(owner.is_zone() && *owner == OwnerId::of_zone(&zone.name)) {
            entitlement::check_owner(&draft.ledger, actor, owner, None)?;
        }
        let parent = owning::root_of(draft, actor, owner);
        zone.owner_number = draft.ensure_owner(owner, parent);
        zone.owner = owner.clone();
    }
    zone.default_ttl = update.default_ttl.unwrap_or(zone.default_ttl);
    if let Some(group) = &update.upstream_group {
        zone.upstream_group.clone_from(group);
    }
    if zone == before {
        draft.report.subject = Some(ItemOutcome::Unchanged);
        return Ok(());
    }
    zone.revision = draft.revision();
    draft.ledger.add_zone(zone.clone());
    draft.zones.push(ZoneChange::Updated(zone));
    draft.report.subject = Some(ItemOutcome::Updated);
    Ok(())
}

/// Plans [`super::command::Command::DeleteZone`].
pub(super) fn delete(draft: &mut Draft, actor: &Actor, apex: &Name) -> Result<(), Refusal> {
    let zone = entitled_zone(draft, actor, apex)?;
    for number in &draft.ledger.claimants {
        let Some(owner) = draft.ledger.owners.get(number) else { continue };
        let is_zones_own = owner.id.is_system() || owner.id == OwnerId::of_zone(apex);
        if !is_zones_own && !entitlement::is_entitled(&draft.ledger, actor, *number) {
            return Err(Problem {
                code: Code::OwnedByOther,
                detail: format!("{} has records in {apex}: those have to go first", owner.id),
                holder: Some(draft.ledger.holder(*number, &owner.id, owner.created)),
                path: Box::default(),
            }
            .into());
        }
    }
    let listed = std::mem::take(&mut draft.ledger.going);
    let more = draft.ledger.going_count.saturating_sub(listed.len() as u64);
    for claim in &listed {
        draft.report_claim(claim, ItemOutcome::Deleted, None);
    }
    for _ in 0..more {
        draft.report.summary.add(ItemOutcome::Deleted);
    }
    draft.zones.push(ZoneChange::Deleted(zone));
    draft.report.subject = Some(ItemOutcome::Deleted);
    Ok(())
}
