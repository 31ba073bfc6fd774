//! Documents of what is found to be odd (ownership.md section 4). Keys and times as in `documents`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// `ownerExpired`, `targetNxdomain`, `unclaimed`.
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
