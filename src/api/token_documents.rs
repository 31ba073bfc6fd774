//! Documents of how external-dns clients work with a token and for an owner.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// How external-dns clients work with a token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoorTermsDocument {
    /// `queue` or `reject`: what becomes of a record that another owner holds.
    pub on_conflict: String,
    /// Whether records may stand beside those of other owners.
    pub share: bool,
    /// Whether an equal record that was imported is taken over.
    pub adopt_equal: bool,
    /// Lowest TTL in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_min: Option<u32>,
    /// Highest TTL in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_max: Option<u32>,
    /// The delete brake, `{"min", "percent", "last"}`, or false.
    pub brake: Value,
}

/// An owner's use of the external-dns door.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DoorUseDocument {
    /// The client's `--txt-owner-id`; absent until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txt_owner_id: Option<String>,
}
