//! Documents of what is found to be odd (ownership.md section 4). Keys and times as in `documents`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::documents::{ItemDocument, PromotedDocument, SummaryDocument};

/// A token, and the owner that it writes for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorDocument {
    /// Token id.
    pub token: String,
    /// The owner.
    pub owner: String,
}

/// An RRset that does not come to rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlapDocument {
    /// Apex of the zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// `toggle`, `contested`, `rewrite`.
    pub pattern: String,
    /// Who writes it.
    pub actors: Vec<ActorDocument>,
    /// How often it came back to a former value.
    pub count: u64,
    /// From one turn to the next; null if there is no rhythm.
    pub period_seconds: Option<u64>,
    /// When it began.
    pub since: String,
    /// What differs: `presence`, or keys as `values`, `ttl`; empty for a rewrite.
    pub field: String,
}

/// A claim that is refused or waits because of another owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictDocument {
    /// Apex of the zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// What is wanted.
    pub values: Vec<String>,
    /// Who wants it.
    pub owner: String,
    /// Who stands in the way; null if nobody does any more.
    pub holder: Option<String>,
    /// Why: a code of conflicts.
    pub code: String,
    /// `refused` or `queued`.
    pub state: String,
    /// Since when.
    pub since: String,
    /// By which door a refused one came; null for a queued one.
    pub door: Option<String>,
}

/// A record that nobody may own any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrphanDocument {
    /// `ownerExpired`, `ownerUnconfirmed`, `targetNxdomain`, `unclaimed`.
    pub reason: String,
    /// Apex of the zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// The owner.
    pub owner: String,
    /// The owners above it, nearest first.
    pub parents: Vec<String>,
    /// Since when.
    pub since: String,
    /// When its owner last asked for it.
    pub asserted_at: String,
}

/// Whether this node serves a revision of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PropagationDocument {
    /// Apex of the zone.
    pub zone: String,
    /// The revision asked for.
    pub revision: u64,
    /// The revision that is served.
    pub served_revision: u64,
    /// Serial of the zone as served.
    pub serial: Option<u32>,
    /// Whether what was asked for is served.
    pub served: bool,
}

/// A record set that points at nothing since a write, or would (ownership.md section 3.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DanglingDocument {
    /// Apex of its zone.
    pub zone: String,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Its set id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_id: Option<String>,
    /// Its owner.
    pub owner: String,
    /// The name that it points at.
    pub target: String,
}

/// An owner that a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateDocument {
    /// The owner.
    pub owner: String,
    /// The owners above it, nearest first.
    pub parents: Vec<String>,
    /// How many records it had; what was in quarantine already does not count.
    pub records: u64,
}

/// What came of a sweep (ownership.md section 3.4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweepDocument {
    /// Its id, for `/undo`; a dry run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `report`, `quarantine` or `delete`.
    pub mode: String,
    /// The revision.
    pub revision: u64,
    /// True if nothing was done and this is what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// What it found and, but for `report`, took; each owner after those above it.
    pub candidates: Vec<CandidateDocument>,
    /// Records by outcome.
    pub summary: SummaryDocument,
    /// How many owners were deleted.
    pub owners_deleted: u64,
    /// Records that the token may not touch; their owners were spared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<ItemDocument>,
    /// Owners of `live` that are not in scope, the first 100: a slip of the pen would be among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Record sets that point at nothing now, the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangling: Vec<DanglingDocument>,
    /// Whether there are more of those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_dangling: bool,
    /// Claims that moved up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<PromotedDocument>,
    /// New serials by zone.
    #[serde(default)]
    pub serials: BTreeMap<String, u32>,
}

/// A sweep as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SweepRowDocument {
    /// Its id.
    pub id: String,
    /// The owner below which it looked.
    pub scope: String,
    /// `report`, `quarantine` or `delete`.
    pub mode: String,
    /// Owners that wrote after this revision were spared.
    pub as_of_revision: u64,
    /// When.
    pub at: String,
    /// Id of the token that asked.
    pub actor: String,
    /// `done`, `partlyUndone` or `undone`.
    pub state: String,
    /// How many records it took.
    pub records: u64,
    /// What it found; a list leaves it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CandidateDocument>,
}
