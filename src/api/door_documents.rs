//! Documents of what the external-dns door knows of its clients.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::documents::{ItemDocument, SummaryDocument};

/// An owner as the external-dns door knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DoorStatus)]
pub struct StatusDocument {
    /// The owner.
    pub owner: String,
    /// The client's `--txt-owner-id`; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txt_owner_id: Option<String>,
    /// What the client says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Which one of several it says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// When each call last came.
    pub calls: CallsDocument,
    /// What the last change came to; absent if none came since the server started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_change: Option<PostDocument>,
    /// Ids of what is on hold.
    pub holds: Vec<String>,
    /// Records that wait for another owner, the first ones.
    pub queued: Vec<WaitingDocument>,
}

/// When each call last came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DoorCalls)]
pub struct CallsDocument {
    /// `GET /`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiate: Option<String>,
    /// `GET /records`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
    /// `POST /adjustendpoints`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adjust: Option<String>,
    /// `POST /records`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// What a change came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DoorChange)]
pub struct PostDocument {
    /// When.
    pub at: String,
    /// The revision then.
    pub revision: u64,
    /// Records by outcome.
    pub summary: SummaryDocument,
    /// Records that are not in effect, the first ones.
    pub refused: Vec<ItemDocument>,
    /// Whether there were more.
    pub more: bool,
}

/// A record that waits for another owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Waiting)]
pub struct WaitingDocument {
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Since when.
    pub since: String,
}

/// What the plan-only URL would have done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DoorPlan)]
pub struct PlanDocument {
    /// Whose.
    pub owner: String,
    /// When.
    pub at: String,
    /// The revision it was planned on.
    pub revision: u64,
    /// Records by outcome.
    pub summary: SummaryDocument,
    /// What would become of each record, the first ones.
    pub results: Vec<ItemDocument>,
    /// Whether there were more.
    pub more: bool,
}
