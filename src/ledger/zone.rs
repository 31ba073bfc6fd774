//! Zones as the ledger sees them: who owns one, its serial and its defaults.

use super::owner::{OwnerId, OwnerNumber};
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// A zone's number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneNumber(pub u32);

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneRow {
    /// Its number.
    pub number: ZoneNumber,
    /// The apex.
    pub name: Name,
    /// Number of its owner.
    pub owner_number: OwnerNumber,
    /// Its owner.
    pub owner: OwnerId,
    /// SOA serial as served.
    pub serial: u32,
    /// TTL in seconds of records that give none.
    pub default_ttl: u32,
    /// Name servers as asked for when the zone was made, for the comparison of an identical request.
    pub nameservers: Vec<Name>,
    /// Contact as an e-mail address, as asked for.
    pub contact: String,
    /// Upstream group of its ALIAS records (alias.md section 3.3).
    pub upstream_group: Option<String>,
    /// When it was made.
    pub created: Moment,
    /// The revision that last changed it or what it serves.
    pub revision: u64,
}
