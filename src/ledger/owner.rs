//! Owners: the resources that own records, and the forest they form (ownership.md section 1).

use super::external_dns::DoorUse;
use super::lease::Lease;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::limits::MAX_OWNER_ID;
use crate::zone::alias::Moment;

/// The owner of what the server itself put into a zone: SOA and NS that nobody else holds.
pub const SYSTEM_OWNER: &str = "system:tenured";

/// Name of an owner: opaque UTF-8, 1 to 512 octets, no control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId(Arc<str>);

/// Why a text is no owner id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerIdError {
    /// It is empty.
    Empty,
    /// It has over 512 octets.
    Long,
    /// It has a control character.
    Control,
}

impl fmt::Display for OwnerIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OwnerIdError::Empty => "an owner id cannot be empty",
            OwnerIdError::Long => "an owner id cannot be longer than 512 octets",
            OwnerIdError::Control => "an owner id cannot have control characters",
        })
    }
}

impl std::error::Error for OwnerIdError {}

impl OwnerId {
    /// Takes a text as it is.
    pub fn new(text: &str) -> Result<OwnerId, OwnerIdError> {
        match text {
            "" => Err(OwnerIdError::Empty),
            long if long.len() > MAX_OWNER_ID => Err(OwnerIdError::Long),
            text if text.chars().any(char::is_control) => Err(OwnerIdError::Control),
            text => Ok(OwnerId(text.into())),
        }
    }

    /// The server itself.
    pub fn system() -> OwnerId {
        OwnerId(SYSTEM_OWNER.into())
    }

    /// The owner of what is imported into a zone: `zone:` and the apex.
    pub fn of_zone(apex: &crate::wire::name::Name) -> OwnerId {
        let text = format!("zone:{apex}");
        if text.len() <= MAX_OWNER_ID {
            return OwnerId(text.into());
        }
        // Escapes can make 255 octets of name 1,004 octets of text. The labels' octets in hexadecimal fit: one length
        // octet and the root at least are left out.
        let labels: Vec<String> =
            apex.labels().map(|label| label.iter().map(|octet| format!("{octet:02x}")).collect()).collect();
        let mut hexadecimal = labels.concat();
        hexadecimal.truncate(MAX_OWNER_ID - "zone:".len());
        OwnerId(format!("zone:{hexadecimal}").into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the id is one of those that only the server and `admin` give out: `system:…` and `zone:…`.
    pub fn is_reserved(&self) -> bool {
        self.0.starts_with("system:") || self.0.starts_with("zone:")
    }

    /// Whether this is the owner of an import: `zone:…`.
    pub fn is_zone(&self) -> bool {
        self.0.starts_with("zone:")
    }

    /// Whether this is [`OwnerId::system`].
    pub fn is_system(&self) -> bool {
        *self.0 == *SYSTEM_OWNER
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An owner's number in the store; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerNumber(pub u32);

/// Labels of owners and claims.
pub type Labels = BTreeMap<String, String>;

/// What an owner is a projection of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// The cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The namespace in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The kind of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Where an owner is in its life. A deleted owner is a [`Tombstone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// It lives.
    Active,
    /// Its lease ran out.
    Expired,
    /// It is being deleted.
    Deleting,
}

impl OwnerState {
    /// All states.
    pub const ALL: [OwnerState; 3] = [OwnerState::Active, OwnerState::Expired, OwnerState::Deleting];

    /// The word in API and store.
    pub fn text(self) -> &'static str {
        match self {
            OwnerState::Active => "active",
            OwnerState::Expired => "expired",
            OwnerState::Deleting => "deleting",
        }
    }

    /// Reads [`OwnerState::text`].
    pub fn from_text(text: &str) -> Option<OwnerState> {
        OwnerState::ALL.into_iter().find(|state| state.text() == text)
    }
}

/// An owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its number.
    pub number: OwnerNumber,
    /// Its name.
    pub id: OwnerId,
    /// Kind of the resource, for people.
    pub kind: Option<String>,
    /// Its incarnation.
    pub uid: Option<String>,
    /// The owner above it.
    pub parent: Option<OwnerNumber>,
    /// What it is a projection of.
    pub source: Option<Source>,
    /// Labels.
    pub labels: Labels,
    /// Its state.
    pub state: OwnerState,
    /// Highest generation applied in this incarnation.
    pub generation: Option<u64>,
    /// Highest epoch seen.
    pub epoch: Option<u64>,
    /// When it was made.
    pub created: Moment,
    /// When it last wrote.
    pub asserted: Moment,
    /// The revision that last changed it.
    pub revision: u64,
    /// Its lease.
    pub lease: Option<Lease>,
    /// Its use of the external-dns door; none if it is not used there.
    pub external_dns: Option<DoorUse>,
}

/// What is kept of a deleted owner, so that late writes of the same incarnation, or of an old epoch, find out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Name of the owner.
    pub owner: OwnerId,
    /// The incarnation that is gone; none if it had no uid.
    pub uid: Option<String>,
    /// Highest epoch it had seen.
    pub epoch: Option<u64>,
    /// When it went.
    pub at: Moment,
    /// The revision that took it.
    pub revision: u64,
}
