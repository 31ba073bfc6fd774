//! What an owner keeps at an RRset beside its claim: values that are disabled, comments, and how values were spelled.
//! Nothing of it is served, and nothing of it stands in anybody's way.

use serde::{Deserialize, Serialize};

use super::owner::OwnerNumber;
use super::scope::NameKey;
use crate::wire::codes::Rtype;

/// Which RRset, and whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AttachmentKey {
    /// Zone and name.
    pub at: NameKey,
    /// The type.
    pub rtype: Rtype,
    /// The owner.
    pub owner: OwnerNumber,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attachment {
    /// RDATA of values that are there and not served.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<Vec<u8>>,
    /// TTL of the RRset, in seconds, if it has no value that is served.
    pub ttl: u32,
    /// Comments, by content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
    /// RDATA and how it was written, where that is not the canonical form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<(Vec<u8>, String)>,
}

impl Attachment {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.disabled.is_empty() && self.comments.is_empty() && self.written.is_empty()
    }
}

/// A comment at an RRset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// The text.
    pub content: String,
    /// Who says so.
    pub account: String,
    /// Seconds since 1970 UTC.
    pub modified: u64,
}

/// An attachment before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentChange {
    /// Which.
    pub key: AttachmentKey,
    /// As it is then; empty if it is gone.
    pub after: Attachment,
}
