//! Claims: one owner's wish for one RRset (ownership.md section 1).

use super::alias_options::AliasOptions;
use super::owner::{Labels, OwnerId, OwnerNumber};
use super::wish::same_records;
use super::zone::ZoneNumber;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// How it stands with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimState {
    /// It is served.
    Held,
    /// It waits until the holder lets go.
    Queued,
    /// It is kept, neither served nor in anybody's way.
    Quarantined,
}

impl ClaimState {
    /// All states.
    pub const ALL: [ClaimState; 3] = [ClaimState::Held, ClaimState::Queued, ClaimState::Quarantined];

    /// The word in API and store.
    pub fn text(self) -> &'static str {
        match self {
            ClaimState::Held => "held",
            ClaimState::Queued => "queued",
            ClaimState::Quarantined => "quarantined",
        }
    }

    /// Reads [`ClaimState::text`].
    pub fn from_text(text: &str) -> Option<ClaimState> {
        ClaimState::ALL.into_iter().find(|state| state.text() == text)
    }
}

/// A claim; unique by zone, name, type, owner and set id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The zone.
    pub zone: ZoneNumber,
    /// The name, at or below the zone's apex.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// Number of the owner.
    pub owner: OwnerNumber,
    /// The owner.
    pub owner_id: OwnerId,
    /// Tells several claims of one owner for one RRset apart; empty if there is one.
    pub set_id: String,
    /// Seconds.
    pub ttl: u32,
    /// RDATA, uncompressed, at least one, without repeats, sorted by canonical form; of an ALIAS its target alone, of
    /// an SOA with serial 0, since the zone has the serial.
    pub records: Vec<Vec<u8>>,
    /// Options of an ALIAS; none for all other types.
    pub alias: Option<AliasOptions>,
    /// Whether it may stand beside other owners' claims of the RRset.
    pub share: bool,
    /// Labels.
    pub labels: Labels,
    /// Its state.
    pub state: ClaimState,
    /// When the owner last asked for it.
    pub asserted: Moment,
    /// When it was made.
    pub created: Moment,
    /// The revision that made it: the order of a queue.
    pub created_revision: u64,
    /// The revision that last changed it.
    pub revision: u64,
}

impl Claim {
    /// Whether it is served.
    pub fn is_held(&self) -> bool {
        self.state == ClaimState::Held
    }

    /// Whether `other` wishes for the same, whoever asked for it and when.
    pub fn is_like(&self, other: &Claim) -> bool {
        self.ttl == other.ttl
            && self.share == other.share
            && self.alias == other.alias
            && self.labels == other.labels
            && same_records(self.rtype, &self.records, &other.records)
    }
}
