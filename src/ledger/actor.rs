//! Who asks: a token's role and limits, and the door it came by (ownership.md section 5).

use std::fmt;

use super::external_dns::DoorTerms;
use super::owner::OwnerId;
use crate::wire::codes::Rtype;
use crate::wire::name::{Name, NameError};

/// What a token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// Write for this owner and its descendants.
    Owner(OwnerId),
    /// Nothing but read.
    Read,
}

/// The API that a command came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `/v1`.
    Native,
    /// The PowerDNS door.
    PowerDns,
    /// The external-dns door.
    ExternalDns,
    /// A zone file, by the API or at the start.
    ZoneFile,
    /// The server itself.
    Server,
}

impl Door {
    /// All doors.
    pub const ALL: [Door; 5] = [Door::Native, Door::PowerDns, Door::ExternalDns, Door::ZoneFile, Door::Server];

    /// The word in the history.
    pub fn text(self) -> &'static str {
        match self {
            Door::Native => "native",
            Door::PowerDns => "powerdns",
            Door::ExternalDns => "externaldns",
            Door::ZoneFile => "zonefile",
            Door::Server => "server",
        }
    }
}

/// A limit on names: a name with all below it, or only what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameLimit {
    /// `example.com`: itself and below.
    AtOrBelow(Name),
    /// `.example.com`: below.
    Below(Name),
}

impl NameLimit {
    /// Reads `example.com` or `.example.com`.
    pub fn parse(text: &str) -> Result<NameLimit, NameError> {
        match text.strip_prefix('.') {
            Some("") | None => Name::parse(text).map(NameLimit::AtOrBelow),
            Some(below) => Name::parse(below).map(NameLimit::Below),
        }
    }

    /// Whether it lets `name` through.
    pub fn admits(&self, name: &Name) -> bool {
        match self {
            NameLimit::AtOrBelow(top) => name.is_at_or_below(top),
            NameLimit::Below(top) => name != top && name.is_at_or_below(top),
        }
    }
}

impl fmt::Display for NameLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameLimit::AtOrBelow(name) => write!(f, "{name}"),
            NameLimit::Below(name) => write!(f, ".{name}"),
        }
    }
}

/// Optional limits of a token; an empty list limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenLimits {
    /// Globs over apexes in presentation form: `*` stands for any octets.
    pub zones: Vec<String>,
    /// Names.
    pub names: Vec<NameLimit>,
    /// Types.
    pub types: Vec<Rtype>,
    /// The door that it opens.
    pub door: TokenDoor,
}

/// The door that a token opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenDoor {
    /// `/v1` alone.
    #[default]
    Native,
    /// The external-dns door, on these terms; `/v1`, too.
    ExternalDns(DoorTerms),
}

impl TokenLimits {
    /// Whether the token may see and write this zone at all.
    pub fn admits_zone(&self, apex: &Name) -> bool {
        let text = apex.to_string();
        self.zones.is_empty() || self.zones.iter().any(|glob| super::entitlement::matches_glob(glob, &text))
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Id of the token, or `system:tenured`.
    pub token: String,
    /// Its role.
    pub role: Role,
    /// Its limits.
    pub limits: TokenLimits,
    /// The door.
    pub door: Door,
}

impl Actor {
    /// The server itself, at its start.
    pub fn server() -> Actor {
        Actor {
            token: super::owner::SYSTEM_OWNER.to_owned(),
            role: Role::Admin,
            limits: TokenLimits::default(),
            door: Door::Server,
        }
    }
}
