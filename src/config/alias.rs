//! Section `alias` of the configuration: how ALIAS targets are resolved.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::layer::{NameText, dns_addresses};
use super::read::Wrong;
use crate::wire::name::Name;

/// The group that is asked where none is named.
const DEFAULT_GROUP: &str = "default";
/// Groups of upstreams beside that one, at most.
const MAX_GROUPS: usize = 63;
/// Octets in the name of a group, at most.
const MAX_GROUP_NAME: usize = 31;
/// Servers of a group, at most (alias.md section 3.3).
const MAX_SERVERS: usize = 8;
/// Lookups in flight, at most and by default (alias.md section 3.6).
const LOOKUPS: u32 = 4_096;
/// Seconds between two looks at a target that nobody asks for, by default.
const PROBE_INTERVAL: u32 = 300;
/// Lookups of one owner by default: in a second, and at once.
const OWNER_RATE: u32 = 10_000;
const OWNER_BURST: u32 = 50_000;
/// External targets of one zone by default.
const MAX_TARGETS: u32 = 100_000;
/// Highest rates and numbers.
const MAX_RATE: u32 = 10_000_000;

/// How ALIAS targets are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Servers of the group `default`; none means those of the system without our own listeners.
    pub upstreams: Option<Vec<SocketAddr>>,
    /// Servers of the other groups (`alias.upstream.<group>.servers`), by name.
    pub groups: BTreeMap<String, Vec<SocketAddr>>,
    /// Suffixes of targets that owners may or may not point to (`alias.owners."<owner>"`).
    pub owners: BTreeMap<String, Targets>,
    /// Seconds between two looks at a target that nobody asks for, 60 to 3,600.
    pub probe_interval: u32,
    /// Lookups in flight, 1 to 4,096.
    pub lookups: usize,
    /// Lookups a second of one owner.
    pub owner_rate: u32,
    /// Lookups of one owner at once.
    pub owner_burst: u32,
    /// External targets of one zone.
    pub max_targets: usize,
    /// What goes with an extended error.
    pub ede_text: EdeText,
    /// Whether a query for TYPE65401 gets the record.
    pub expose_type: bool,
    /// Hosted zones that every ALIAS may enter.
    pub trusted_zones: Vec<Name>,
    /// Whether every ALIAS may enter every hosted zone.
    pub trust_all_zones: bool,
    /// Whether internal addresses of targets are served.
    pub allow_private_targets: bool,
}

/// Suffixes of targets that an owner, and those below it, may or may not point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Only at or below one of these, if there are any.
    pub allow: Vec<Name>,
    /// Not at or below any of these.
    pub deny: Vec<Name>,
}

/// What goes with the extended error of an ALIAS (RFC 8914).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdeText {
    /// The code alone.
    None,
    /// A text that does not name the target.
    #[default]
    Status,
    /// That, and the name of the target.
    Target,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AliasLayer {
    #[serde(deserialize_with = "dns_addresses")]
    pub(super) upstreams: Option<Vec<SocketAddr>>,
    pub(super) trusted_zones: Option<Vec<NameText>>,
    pub(super) trust_all_zones: Option<bool>,
    pub(super) allow_private_targets: Option<bool>,
    pub(super) upstream: Option<BTreeMap<String, UpstreamLayer>>,
    pub(super) owners: Option<BTreeMap<String, TargetsLayer>>,
    pub(super) probe_interval: Option<u32>,
    pub(super) lookups: Option<u32>,
    pub(super) owner_rate: Option<u32>,
    pub(super) owner_burst: Option<u32>,
    pub(super) max_targets: Option<u32>,
    pub(super) ede_text: Option<EdeText>,
    pub(super) expose_type: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpstreamLayer {
    #[serde(deserialize_with = "dns_addresses")]
    pub(super) servers: Option<Vec<SocketAddr>>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TargetsLayer {
    allow: Vec<NameText>,
    deny: Vec<NameText>,
}

impl AliasLayer {
    /// The section, its values within bounds.
    pub(super) fn read(self) -> Result<Alias, Wrong> {
        let layer = self;
        let names = |texts: Vec<NameText>| texts.into_iter().map(|text| text.0).collect();
        let wrong = |key: &[&str], sentence: String| Err(Wrong::new(&[&["alias"], key].concat(), sentence));
        let mut groups = BTreeMap::new();
        for (group, servers) in layer.upstream.unwrap_or_default() {
            let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
            if group.is_empty() || group.len() > MAX_GROUP_NAME || !group.bytes().all(is_plain) {
                return wrong(&["upstream", &group], "a group has 1 to 31 letters, digits, - and _".to_owned());
            }
            let servers = servers.servers.unwrap_or_default();
            if servers.len() > MAX_SERVERS {
                return wrong(&["upstream", &group, "servers"], format!("at most {MAX_SERVERS} addresses"));
            }
            groups.insert(group, servers);
        }
        if groups.len() > MAX_GROUPS {
            return wrong(&["upstream"], format!("at most {MAX_GROUPS} groups"));
        }
        let upstreams = match (layer.upstreams, groups.remove(DEFAULT_GROUP)) {
            (Some(_), Some(_)) => {
                let sentence = "it says the same thing as alias.upstreams: leave one out".to_owned();
                return wrong(&["upstream", DEFAULT_GROUP], sentence);
            }
            (given, default) => given.or(default),
        };
        if upstreams.as_ref().is_some_and(|upstreams| upstreams.len() > MAX_SERVERS) {
            return wrong(&["upstreams"], format!("at most {MAX_SERVERS} addresses"));
        }
        let mut owners = BTreeMap::new();
        for (owner, lists) in layer.owners.unwrap_or_default() {
            owners.insert(owner, Targets { allow: names(lists.allow), deny: names(lists.deny) });
        }
        let bounded = |key: &str, given: Option<u32>, usual: u32, least: u32, most: u32| {
            let number = given.unwrap_or(usual);
            let bounds = || Wrong::new(&["alias", key], format!("from {least} to {most}, not {number}"));
            if (least..=most).contains(&number) { Ok(number) } else { Err(bounds()) }
        };
        Ok(Alias {
            upstreams,
            groups,
            owners,
            trusted_zones: names(layer.trusted_zones.unwrap_or_default()),
            trust_all_zones: layer.trust_all_zones.unwrap_or(false),
            allow_private_targets: layer.allow_private_targets.unwrap_or(false),
            probe_interval: bounded("probe_interval", layer.probe_interval, PROBE_INTERVAL, 60, 3_600)?,
            lookups: bounded("lookups", layer.lookups, LOOKUPS, 1, LOOKUPS)? as usize,
            owner_rate: bounded("owner_rate", layer.owner_rate, OWNER_RATE, 1, MAX_RATE)?,
            owner_burst: bounded("owner_burst", layer.owner_burst, OWNER_BURST, 1, MAX_RATE)?,
            max_targets: bounded("max_targets", layer.max_targets, MAX_TARGETS, 1, MAX_RATE)? as usize,
            ede_text: layer.ede_text.unwrap_or_default(),
            expose_type: layer.expose_type.unwrap_or(false),
        })
    }
}
