//! Zones as the ledger sees them: who owns one, its serial and its defaults.

use serde::{Deserialize, Serialize};

use super::owner::{OwnerId, OwnerNumber};
use crate::wire::name::Name;
use crate::zone::alias::Moment;
use crate::zone::serial::{self, Steps};

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
    /// What the PowerDNS door shows of it.
    pub presented: Presented,
    /// A serial that was asked for and is not reached yet.
    pub serial_floor: Option<u32>,
    /// When it was made.
    pub created: Moment,
    /// The revision that last changed it or what it serves.
    pub revision: u64,
}

impl ZoneRow {
    /// The serial of its next change.
    pub fn next_serial(&self, now: Moment) -> u32 {
        serial::next_by(self.presented.steps(), self.serial, self.serial_floor, now)
    }
}

/// Keys of a zone that the PowerDNS door keeps and shows. Of them only `soa_edit_api` does something: it says how the
/// serial rises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Presented {
    /// `Native` or `Master`.
    pub kind: String,
    /// Free text.
    pub account: String,
    /// Free text.
    pub soa_edit: String,
    /// See [`Presented::steps`].
    pub soa_edit_api: String,
    /// Nothing ever needs it.
    pub api_rectify: bool,
    /// Addresses of primaries, as given.
    pub masters: Vec<String>,
}

impl Default for Presented {
    fn default() -> Presented {
        Presented {
            kind: "Native".to_owned(),
            account: String::new(),
            soa_edit: String::new(),
            soa_edit_api: "DEFAULT".to_owned(),
            api_rectify: false,
            masters: Vec::new(),
        }
    }
}

impl Presented {
    /// How the serial rises.
    pub fn steps(&self) -> Steps {
        match self.soa_edit_api.to_ascii_uppercase().as_str() {
            "INCREASE" | "" => Steps::One,
            "EPOCH" => Steps::Epoch,
            _ => Steps::Day,
        }
    }
}
