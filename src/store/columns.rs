//! Rows of the tables as values. What does not parse says what is wrong, in a sentence.

use std::collections::BTreeMap;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::codec;
use crate::ledger::actor::Role;
use crate::ledger::alias_options::AliasOptions;
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::owner::{Labels, Owner, OwnerId, OwnerNumber, OwnerState};
use crate::ledger::zone::{ZoneNumber, ZoneRow};
use crate::store::rows::TokenRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Why a row cannot be used.
pub(super) type Broken = String;

fn broken(what: impl std::fmt::Display) -> Broken {
    what.to_string()
}

pub(super) fn number<T: TryFrom<i64>>(row: &SqliteRow, at: usize, what: &str) -> Result<T, Broken> {
    let value: i64 = row.try_get(at).map_err(broken)?;
    T::try_from(value).map_err(|_| format!("{what} {value} is out of range"))
}

pub(super) fn optional_number<T: TryFrom<i64>>(row: &SqliteRow, at: usize, what: &str) -> Result<Option<T>, Broken> {
    let value: Option<i64> = row.try_get(at).map_err(broken)?;
    value.map(|value| T::try_from(value).map_err(|_| format!("{what} {value} is out of range"))).transpose()
}

pub(super) fn moment(row: &SqliteRow, at: usize) -> Result<Moment, Broken> {
    number(row, at, "the time").map(Moment)
}

pub(super) fn text(row: &SqliteRow, at: usize) -> Result<String, Broken> {
    row.try_get(at).map_err(broken)
}

pub(super) fn optional_text(row: &SqliteRow, at: usize) -> Result<Option<String>, Broken> {
    row.try_get(at).map_err(broken)
}

/// The apex of each zone, by number.
pub(super) type Apexes = BTreeMap<ZoneNumber, Name>;

/// What every reading of a claim begins with: zone, name, type and owner, in the first four columns.
fn claim_key(row: &SqliteRow, apexes: &Apexes) -> Result<(ZoneNumber, Name, Rtype, OwnerNumber), Broken> {
    let zone = ZoneNumber(number(row, 0, "the zone")?);
    let apex = apexes.get(&zone).ok_or_else(|| format!("there is no zone {}", zone.0))?;
    let key: &[u8] = row.try_get(1).map_err(broken)?;
    let name = Name::from_sort_key(apex, key).map_err(|_| broken("its name is not one"))?;
    Ok((zone, name, Rtype(number(row, 2, "the type")?), OwnerNumber(number(row, 3, "the owner")?)))
}

fn records(row: &SqliteRow, at: usize, rtype: Rtype) -> Result<Vec<Vec<u8>>, Broken> {
    let data: &[u8] = row.try_get(at).map_err(broken)?;
    let records = codec::unpack(rtype, data).ok_or_else(|| format!("its data are not records of type {rtype}"))?;
    if rtype.is_singleton() && records.len() > 1 {
        return Err(format!("there is more than one {rtype}"));
    }
    Ok(records)
}

fn alias_options(row: &SqliteRow, at: usize, rtype: Rtype) -> Result<Option<AliasOptions>, Broken> {
    let text: Option<&str> = row.try_get(at).map_err(broken)?;
    if rtype != Rtype::ALIAS {
        return Ok(None);
    }
    match text {
        None => Ok(Some(AliasOptions::default())),
        Some(text) => codec::from_json(text).map(Some).ok_or_else(|| broken("its options of ALIAS do not parse")),
    }
}

fn claim_state(row: &SqliteRow, at: usize) -> Result<ClaimState, Broken> {
    let state: &str = row.try_get(at).map_err(broken)?;
    ClaimState::from_text(state).ok_or_else(|| format!("its state {} is unknown", state.escape_debug()))
}

/// A claim; its owner's id is filled in later.
pub(super) fn claim(row: &SqliteRow, apexes: &Apexes) -> Result<Claim, Broken> {
    let (zone, name, rtype, owner) = claim_key(row, apexes)?;
    let labels: Option<&str> = row.try_get(9).map_err(broken)?;
    Ok(Claim {
        zone,
        name,
        rtype,
        owner,
        owner_id: OwnerId::system(),
        set_id: text(row, 4)?,
        ttl: number(row, 5, "the TTL")?,
        records: records(row, 6, rtype)?,
        alias: alias_options(row, 7, rtype)?,
        share: number::<i64>(row, 8, "share")? != 0,
        labels: codec::labels_from(labels),
        state: claim_state(row, 10)?,
        asserted: moment(row, 11)?,
        created: moment(row, 12)?,
        created_revision: number(row, 13, "the revision")?,
        revision: number(row, 14, "the revision")?,
    })
}

/// What the start needs of a claim to serve it: all else is left empty.
pub(super) fn claim_to_serve(row: &SqliteRow, apexes: &Apexes) -> Result<Claim, Broken> {
    let (zone, name, rtype, owner) = claim_key(row, apexes)?;
    Ok(Claim {
        zone,
        name,
        rtype,
        owner,
        owner_id: OwnerId::system(),
        set_id: String::new(),
        ttl: number(row, 4, "the TTL")?,
        records: records(row, 5, rtype)?,
        alias: alias_options(row, 6, rtype)?,
        share: false,
        labels: Labels::new(),
        state: claim_state(row, 7)?,
        asserted: Moment(0),
        created: Moment(0),
        created_revision: 0,
        revision: 0,
    })
}

pub(super) fn owner(row: &SqliteRow) -> Result<Owner, Broken> {
    let name = text(row, 1)?;
    let id = OwnerId::new(&name).map_err(broken)?;
    let state = text(row, 7)?;
    Ok(Owner {
        number: OwnerNumber(number(row, 0, "the number")?),
        id,
        kind: optional_text(row, 2)?,
        uid: optional_text(row, 3)?,
        parent: optional_number(row, 4, "the parent")?.map(OwnerNumber),
        source: optional_text(row, 5)?.as_deref().and_then(codec::from_json),
        labels: codec::labels_from(optional_text(row, 6)?.as_deref()),
        state: OwnerState::from_text(&state).ok_or_else(|| format!("its state {} is unknown", state.escape_debug()))?,
        generation: optional_number(row, 8, "the generation")?,
        epoch: optional_number(row, 9, "the epoch")?,
        created: moment(row, 10)?,
        asserted: moment(row, 11)?,
        revision: number(row, 12, "the revision")?,
        lease: super::leases::lease(row, 13)?,
        external_dns: optional_text(row, 19)?.as_deref().map(codec::door_use),
    })
}

pub(super) fn zone(row: &SqliteRow) -> Result<ZoneRow, Broken> {
    let name = text(row, 1)?;
    let owner = optional_text(row, 3)?.ok_or_else(|| broken("its owner is not there"))?;
    Ok(ZoneRow {
        number: ZoneNumber(number(row, 0, "the number")?),
        name: Name::parse(&name).map_err(|error| format!("its name: {error}"))?,
        owner_number: OwnerNumber(number(row, 2, "the owner")?),
        owner: OwnerId::new(&owner).map_err(broken)?,
        serial: number(row, 4, "the serial")?,
        default_ttl: number(row, 5, "the default TTL")?,
        nameservers: codec::nameservers_from(&text(row, 6)?),
        contact: text(row, 7)?,
        upstream_group: optional_text(row, 8)?,
        created: moment(row, 9)?,
        revision: number(row, 10, "the revision")?,
        // What does not parse is as for a zone that the door never had.
        presented: optional_text(row, 11)?.as_deref().and_then(codec::from_json).unwrap_or_default(),
        serial_floor: optional_number(row, 12, "the floor of the serial")?,
    })
}

pub(super) fn token(row: &SqliteRow) -> Result<TokenRow, Broken> {
    let role = text(row, 2)?;
    let owner = optional_text(row, 3)?;
    let role = match (role.as_str(), owner) {
        ("admin", None) => Role::Admin,
        ("read", None) => Role::Read,
        ("owner", Some(owner)) => Role::Owner(OwnerId::new(&owner).map_err(broken)?),
        (other, _) => return Err(format!("its role {} is unknown", other.escape_debug())),
    };
    let hash: Vec<u8> = row.try_get(4).map_err(broken)?;
    Ok(TokenRow {
        id: text(row, 0)?,
        name: text(row, 1)?,
        role,
        limits: codec::limits_from(optional_text(row, 5)?.as_deref())
            .ok_or_else(|| broken("its limits do not parse"))?,
        hash: hash.try_into().map_err(|_| broken("its hash has not 32 octets"))?,
        created: moment(row, 6)?,
        expires: optional_number(row, 7, "the end")?.map(Moment),
        key: codec::key_from(&text(row, 8)?, optional_text(row, 9)?.as_deref())
            .ok_or_else(|| broken("its door is unknown, or the settings of it do not parse"))?,
    })
}
