//! Documents of tokens, and of the terms of those that open a door.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::keys::KeyDocument;

/// A token without its secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenDocument {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `admin`, `owner`, `read`.
    pub role: String,
    /// The root owner of role `owner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Globs of zones it is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Names it is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Types it is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The door that it opens: `powerdns`, in the place of `/v1`, or `externaldns`, beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<String>,
    /// Of the external-dns door: how clients work with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_dns: Option<DoorTermsDocument>,
    /// Of the PowerDNS door: what a key does there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyDocument>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The whole text; only in the answer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

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
