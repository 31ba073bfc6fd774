//! What the Reader gives out, and what it is asked for.

use crate::ledger::actor::{Role, TokenLimits};
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::key::KeySettings;
use crate::ledger::owner::{Owner, OwnerId, OwnerState};
use crate::ledger::zone::ZoneRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Rows of one kind and the revision at which all of them were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<T> {
    /// The revision.
    pub revision: u64,
    /// The rows.
    pub items: Vec<T>,
}

/// A zone as it is listed. How many records it has, the published zone knows without counting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSummary {
    /// The zone.
    pub zone: ZoneRow,
}

/// Claims of an owner by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// Served.
    pub held: u64,
    /// Waiting.
    pub queued: u64,
    /// Kept aside.
    pub quarantined: u64,
}

/// An owner with what stands around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerSummary {
    /// The owner.
    pub owner: Owner,
    /// The owners above it, nearest first.
    pub parents: Vec<OwnerId>,
    /// How many owners are right below it.
    pub children: u64,
    /// Its claims.
    pub claims: ClaimCounts,
}

/// Which owners; an empty filter means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerFilter {
    /// Those right below this one.
    pub parent: Option<OwnerId>,
    /// In this state.
    pub state: Option<OwnerState>,
    /// Whose source is in this cluster.
    pub cluster: Option<String>,
}

/// A claim with its zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRow {
    /// Apex of the zone.
    pub zone: Name,
    /// The claim.
    pub claim: Claim,
}

/// Which claims; an empty filter means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimFilter {
    /// In this zone.
    pub zone: Option<Name>,
    /// At this name.
    pub name: Option<Name>,
    /// Of this type.
    pub rtype: Option<Rtype>,
    /// Of this owner.
    pub owner: Option<OwnerId>,
    /// In this state.
    pub state: Option<ClaimState>,
    /// With all these labels; looked at by pages alone.
    pub labels: Vec<(String, String)>,
}

/// One change of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    /// The revision of the request it belongs to.
    pub revision: u64,
    /// When.
    pub at: Moment,
    /// Token id.
    pub actor: String,
    /// Whose claim.
    pub owner: String,
    /// Request id, empty if there was none.
    pub request_id: String,
    /// The door's word.
    pub door: String,
    /// The zone's apex; empty for changes that are of no zone.
    pub zone: String,
    /// The name in presentation form.
    pub name: String,
    /// The type in text; of changes that are of no claim `zone`, `owner` or `token`.
    pub rtype: String,
    /// Before, as JSON; none if it was not there. Of a claim: `state`, `ttl`, `data` (hexadecimal, records with
    /// their lengths), `setId`, `share`, `alias`, `labels`.
    pub before: Option<String>,
    /// After, as JSON; none if it is gone.
    pub after: Option<String>,
    /// Number of the row within its revision, from 1.
    pub item: i64,
}

/// Which changes; an empty filter means all, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeFilter {
    /// After this revision.
    pub since: Option<u64>,
    /// In this zone.
    pub zone: Option<Name>,
    /// At this name.
    pub name: Option<Name>,
    /// Of this owner.
    pub owner: Option<OwnerId>,
    /// By this token.
    pub actor: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<u32>,
}

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its limits.
    pub limits: TokenLimits,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// When it was made.
    pub created: Moment,
    /// When it ends.
    pub expires: Option<Moment>,
    /// Of a key of the PowerDNS door, what it does there; it is none of another API then.
    pub key: Option<Box<KeySettings>>,
}
