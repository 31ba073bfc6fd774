//! How values stand in columns, both ways.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ledger::actor::{NameLimit, TokenDoor, TokenLimits};
use crate::ledger::alias_options::AliasOptions;
use crate::ledger::claim::Claim;
use crate::ledger::command::OnConflict;
use crate::ledger::external_dns::{Adopting, Brake, DoorTerms, DoorUse, Sharing};
use crate::ledger::key::{KeyFields, KeySettings};
use crate::ledger::owner::{Labels, Owner};
use crate::ledger::zone::ZoneRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;

/// Records as one value: each as its length, 16 bits little-endian, and its RDATA.
pub(super) fn pack(records: &[Vec<u8>]) -> Vec<u8> {
    let mut data = Vec::with_capacity(records.iter().map(|record| 2 + record.len()).sum());
    for record in records {
        // RDATA of over 65,535 octets does not pass the limits of an RRset.
        let length = u16::try_from(record.len()).unwrap_or(u16::MAX);
        data.extend_from_slice(&length.to_le_bytes());
        data.extend_from_slice(&record[..usize::from(length)]);
    }
    data
}

/// Reads [`pack`]; none if the data are not whole records of this type, or no record at all.
pub(super) fn unpack(rtype: Rtype, mut data: &[u8]) -> Option<Vec<Vec<u8>>> {
    let known = if rtype == Rtype::ALIAS { Rtype::CNAME } else { rtype };
    let mut records = Vec::new();
    while let Some((length, rest)) = data.split_first_chunk::<2>() {
        let (record, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        if !rdata::is_well_formed(known, record) {
            return None;
        }
        records.push(record.to_vec());
        data = rest;
    }
    (data.is_empty() && !records.is_empty()).then_some(records)
}

pub(super) fn hexadecimal(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(2 * octets.len());
    for octet in octets {
        text.push(char::from(DIGITS[usize::from(octet >> 4)]));
        text.push(char::from(DIGITS[usize::from(octet & 15)]));
    }
    text
}

/// A JSON text, or nothing for an empty value.
pub(super) fn json<T: Serialize>(value: &T) -> Option<String> {
    serde_json::to_string(value).ok()
}

pub(super) fn from_json<T: for<'a> Deserialize<'a>>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

pub(super) fn labels(labels: &Labels) -> Option<String> {
    if labels.is_empty() { None } else { json(labels) }
}

/// Labels that do not parse are none: they decide nothing.
pub(super) fn labels_from(text: Option<&str>) -> Labels {
    text.and_then(from_json).unwrap_or_default()
}

/// Options of an ALIAS.
pub(super) fn alias_options_from(text: &str) -> Option<AliasOptions> {
    from_json(text)
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    state: &'static str,
    ttl: u32,
    data: String,
    #[serde(rename = "setId", skip_serializing_if = "str::is_empty")]
    set_id: &'a str,
    #[serde(skip_serializing_if = "is_unset")]
    share: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<AliasOptions>,
    #[serde(skip_serializing_if = "Labels::is_empty")]
    labels: &'a Labels,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_unset(flag: &bool) -> bool {
    !*flag
}

/// A claim in the history.
pub(super) fn claim_json(claim: &Claim) -> String {
    let Claim { ttl, set_id, share, alias, labels, .. } = claim;
    let data = hexadecimal(&pack(&claim.records));
    let claim = ClaimJson { state: claim.state.text(), ttl: *ttl, data, set_id, share: *share, alias: *alias, labels };
    json(&claim).unwrap_or_default()
}

/// An owner in the history.
pub(super) fn owner_json(owner: &Owner, parent: Option<&str>) -> String {
    let mut map = Map::new();
    map.insert("state".to_owned(), owner.state.text().into());
    for (key, value) in [("kind", owner.kind.as_deref()), ("uid", owner.uid.as_deref()), ("parent", parent)] {
        if let Some(value) = value {
            map.insert(key.to_owned(), value.into());
        }
    }
    if let Some(lease) = &owner.lease {
        map.insert("leaseSeconds".to_owned(), lease.seconds.into());
        map.insert("onExpiry".to_owned(), lease.on_expiry.text().into());
        map.insert("graceSeconds".to_owned(), lease.grace.into());
    }
    if let Some(door) = &owner.external_dns {
        map.insert("externalDns".to_owned(), serde_json::json!({ "txtOwnerId": door.txt_owner_id }));
    }
    if !owner.labels.is_empty() {
        map.insert("labels".to_owned(), serde_json::to_value(&owner.labels).unwrap_or_default());
    }
    if let Some(source) = &owner.source {
        map.insert("source".to_owned(), serde_json::to_value(source).unwrap_or_default());
    }
    Value::Object(map).to_string()
}

/// A zone in the history, as it goes with so many claims.
pub(super) fn zone_json_with_count(zone: &ZoneRow, claims: u64) -> String {
    let mut map = zone_map(zone);
    map.insert("records".to_owned(), claims.into());
    Value::Object(map).to_string()
}

/// A zone in the history.
pub(super) fn zone_json(zone: &ZoneRow) -> String {
    Value::Object(zone_map(zone)).to_string()
}

fn zone_map(zone: &ZoneRow) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("owner".to_owned(), zone.owner.as_str().into());
    map.insert("defaultTtl".to_owned(), zone.default_ttl.into());
    map.insert("contact".to_owned(), zone.contact.clone().into());
    map.insert("nameservers".to_owned(), names(&zone.nameservers).into());
    if let Some(group) = &zone.upstream_group {
        map.insert("upstreamGroup".to_owned(), group.clone().into());
    }
    map
}

fn names(names: &[Name]) -> Vec<String> {
    names.iter().map(Name::to_string).collect()
}

pub(super) fn nameservers(zone: &ZoneRow) -> String {
    Value::from(names(&zone.nameservers)).to_string()
}

pub(super) fn nameservers_from(text: &str) -> Vec<Name> {
    let texts: Vec<String> = from_json(text).unwrap_or_default();
    texts.iter().filter_map(|text| Name::parse(text).ok()).collect()
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Limits {
    zones: Vec<String>,
    names: Vec<String>,
    types: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_dns: Option<Terms>,
}

/// [`DoorTerms`] as they are kept.
#[derive(Serialize, Deserialize)]
struct Terms {
    queue: bool,
    share: bool,
    adopt_equal: bool,
    ttl_min: Option<u32>,
    ttl_max: Option<u32>,
    /// `min`, `percent`, `last`; none if it is off.
    brake: Option<[u64; 3]>,
}

impl From<DoorTerms> for Terms {
    fn from(terms: DoorTerms) -> Terms {
        Terms {
            queue: terms.on_conflict == OnConflict::Queue,
            share: terms.sharing == Sharing::Shared,
            adopt_equal: terms.adopting == Adopting::Equal,
            ttl_min: terms.ttl_min,
            ttl_max: terms.ttl_max,
            brake: match terms.brake {
                Brake::Off => None,
                Brake::On { min, percent, last } => Some([min, percent, last]),
            },
        }
    }
}

impl From<Terms> for DoorTerms {
    fn from(kept: Terms) -> DoorTerms {
        DoorTerms {
            on_conflict: if kept.queue { OnConflict::Queue } else { OnConflict::Reject },
            sharing: if kept.share { Sharing::Shared } else { Sharing::Exclusive },
            adopting: if kept.adopt_equal { Adopting::Equal } else { Adopting::Never },
            ttl_min: kept.ttl_min,
            ttl_max: kept.ttl_max,
            brake: kept.brake.map_or(Brake::Off, |[min, percent, last]| Brake::On { min, percent, last }),
        }
    }
}

/// An owner's use of the external-dns door, of its column.
pub(super) fn door_use(text: &str) -> DoorUse {
    DoorUse { txt_owner_id: (!text.is_empty()).then(|| text.to_owned()) }
}

pub(super) fn limits(limits: &TokenLimits) -> Option<String> {
    json(&Limits {
        zones: limits.zones.clone(),
        names: limits.names.iter().map(NameLimit::to_string).collect(),
        types: limits.types.iter().map(Rtype::to_string).collect(),
        external_dns: match limits.door {
            TokenDoor::Native => None,
            TokenDoor::ExternalDns(terms) => Some(terms.into()),
        },
    })
}

/// None if a limit does not parse: a token must not have more rights because of that.
pub(super) fn limits_from(text: Option<&str>) -> Option<TokenLimits> {
    let Some(text) = text else { return Some(TokenLimits::default()) };
    let limits: Limits = from_json(text)?;
    Some(TokenLimits {
        zones: limits.zones,
        names: limits.names.iter().map(|text| NameLimit::parse(text).ok()).collect::<Option<_>>()?,
        types: limits.types.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?,
        door: limits.external_dns.map_or(TokenDoor::Native, |kept| TokenDoor::ExternalDns(kept.into())),
    })
}

/// What a key does at its door.
pub(super) fn key(key: &KeySettings) -> Option<String> {
    json(&KeyFields::from(key))
}

/// None if the door is unknown or its settings do not parse: a token must not have more rights because of that.
pub(super) fn key_from(word: &str, settings: Option<&str>) -> Option<Option<Box<KeySettings>>> {
    match word {
        "native" => Some(None),
        "powerdns" => {
            let fields: KeyFields = from_json(settings?)?;
            Some(Some(Box::new(KeySettings::try_from(&fields).ok()?)))
        }
        _ => None,
    }
}
