//! Options of an ALIAS claim (alias.md section 1): their defaults, bounds and words, and the form in which they are kept.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::zone::policy::{Hold, Internal, OnFailure, OnNxdomain, Policy, TtlMode};

/// Bounds of `ttlPolicy.minSeconds`.
pub const MIN_SECONDS: (u64, u64) = (2, 3_600);
/// Highest `ttlPolicy.maxSeconds`.
pub const MAX_SECONDS: u64 = 86_400;
/// Bounds of `maxAddresses`.
pub const ADDRESSES: (u64, u64) = (1, 64);
/// Highest `maxStaleSeconds`.
pub const MAX_STALE: u64 = 604_800;
/// Bounds of `quarantineAfterSeconds`.
pub const QUARANTINE_AFTER: (u64, u64) = (86_400, 7_776_000);

/// What stands beside an ALIAS of the same owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaticMode {
    /// A and AAAA of an enabled family are refused.
    #[default]
    Reject,
    /// A static RRset replaces the ALIAS for its family.
    Override,
    /// A static RRset is served where a policy says `fallback`.
    Fallback,
}

impl StaticMode {
    /// All modes.
    pub const ALL: [StaticMode; 3] = [StaticMode::Reject, StaticMode::Override, StaticMode::Fallback];

    /// The word in JSON.
    pub fn text(self) -> &'static str {
        match self {
            StaticMode::Reject => "reject",
            StaticMode::Override => "override",
            StaticMode::Fallback => "fallback",
        }
    }
}

/// Name of an upstream group: 1 to 31 letters, digits, `-` and `_`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName {
    octets: [u8; 31],
    length: u8,
}

impl GroupName {
    /// Reads a name; none if it is no such name.
    pub fn new(text: &str) -> Option<GroupName> {
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        let mut octets = [0; 31];
        if text.is_empty() || !text.bytes().all(is_plain) {
            return None;
        }
        octets.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(GroupName { octets, length: u8::try_from(text.len()).ok()? })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.octets[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Options of an ALIAS; the default is that of every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub struct AliasOptions {
    /// Whether A is flattened.
    pub a: bool,
    /// Whether AAAA is flattened.
    pub aaaa: bool,
    /// What stands beside it.
    pub static_mode: StaticMode,
    /// How it is served, `allowPrivate` as asked for.
    pub policy: Policy,
    /// With `onNxdomain: quarantine`, after so many seconds.
    pub quarantine_after: u32,
    /// Who is asked for the target; none takes the zone's group.
    pub upstream_group: Option<GroupName>,
}

impl Default for AliasOptions {
    fn default() -> AliasOptions {
        AliasOptions {
            a: true,
            aaaa: true,
            static_mode: StaticMode::Reject,
            policy: Policy::default(),
            quarantine_after: 604_800,
            upstream_group: None,
        }
    }
}

impl AliasOptions {
    /// Whether a policy says `fallback`.
    pub fn wants_fallback(&self) -> bool {
        self.policy.on_nxdomain == OnNxdomain::Fallback || self.policy.on_failure == OnFailure::Fallback
    }
}

/// The options as they are kept: what is as by default is left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kept {
    a: Option<bool>,
    aaaa: Option<bool>,
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    static_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_seconds: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_addresses: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_nxdomain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_stale_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantine_after_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_private: Option<bool>,
}

impl From<AliasOptions> for Kept {
    fn from(options: AliasOptions) -> Kept {
        fn unless<T: PartialEq>(value: T, default: T) -> Option<T> {
            (value != default).then_some(value)
        }
        let (policy, usual) = (options.policy, Policy::default());
        let word = |word: &'static str, usual: &'static str| unless(word, usual).map(str::to_owned);
        Kept {
            a: Some(options.a),
            aaaa: Some(options.aaaa),
            static_mode: Some(options.static_mode.text().to_owned()),
            ttl_mode: word(policy.ttl.text(), usual.ttl.text()),
            min_seconds: unless(policy.hold.min, usual.hold.min),
            max_seconds: unless(policy.hold.max, usual.hold.max),
            max_addresses: unless(policy.max_addresses, usual.max_addresses),
            on_nxdomain: word(policy.on_nxdomain.text(), usual.on_nxdomain.text()),
            on_failure: word(policy.on_failure.text(), usual.on_failure.text()),
            max_stale_seconds: unless(policy.max_stale_seconds, usual.max_stale_seconds),
            quarantine_after_seconds: unless(options.quarantine_after, AliasOptions::default().quarantine_after),
            upstream_group: options.upstream_group.map(|group| group.as_str().to_owned()),
            allow_private: (policy.internal == Internal::Kept).then_some(true),
        }
    }
}

/// The option of this word; the error says which there are.
pub fn word<T: Copy>(all: &[T], text: fn(T) -> &'static str, given: &str) -> Result<T, String> {
    all.iter().copied().find(|one| text(*one) == given).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| text(*one)).collect();
        format!("one of {}, not `{}`", known.join(", "), given.escape_debug())
    })
}

impl TryFrom<Kept> for AliasOptions {
    type Error = String;

    fn try_from(kept: Kept) -> Result<AliasOptions, String> {
        fn read<T: Copy>(
            all: &[T],
            text: fn(T) -> &'static str,
            given: Option<&String>,
            usual: T,
        ) -> Result<T, String> {
            given.map_or(Ok(usual), |given| word(all, text, given))
        }
        let (usual, hold) = (Policy::default(), Hold::default());
        let group = |text: &String| GroupName::new(text).ok_or_else(|| "no name of a group".to_owned());
        Ok(AliasOptions {
            a: kept.a.unwrap_or(true),
            aaaa: kept.aaaa.unwrap_or(true),
            static_mode: read(&StaticMode::ALL, StaticMode::text, kept.static_mode.as_ref(), StaticMode::Reject)?,
            policy: Policy {
                ttl: read(&TtlMode::ALL, TtlMode::text, kept.ttl_mode.as_ref(), usual.ttl)?,
                hold: Hold { min: kept.min_seconds.unwrap_or(hold.min), max: kept.max_seconds.unwrap_or(hold.max) },
                on_nxdomain: read(&OnNxdomain::ALL, OnNxdomain::text, kept.on_nxdomain.as_ref(), usual.on_nxdomain)?,
                on_failure: read(&OnFailure::ALL, OnFailure::text, kept.on_failure.as_ref(), usual.on_failure)?,
                max_stale_seconds: kept.max_stale_seconds.unwrap_or(usual.max_stale_seconds),
                max_addresses: kept.max_addresses.unwrap_or(usual.max_addresses),
                internal: if kept.allow_private == Some(true) { Internal::Kept } else { Internal::Removed },
            },
            quarantine_after: kept.quarantine_after_seconds.unwrap_or(AliasOptions::default().quarantine_after),
            upstream_group: kept.upstream_group.as_ref().map(group).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_kept_and_old_ones_too() {
        let policy = Policy {
            ttl: TtlMode::Strict,
            hold: Hold { min: 9, max: 99 },
            on_nxdomain: OnNxdomain::Quarantine,
            on_failure: OnFailure::Fallback,
            max_stale_seconds: 0,
            max_addresses: 1,
            internal: Internal::Kept,
        };
        let options = AliasOptions {
            a: false,
            static_mode: StaticMode::Fallback,
            policy,
            quarantine_after: 90_000,
            upstream_group: GroupName::new("inside"),
            ..AliasOptions::default()
        };
        for options in [options, AliasOptions::default()] {
            let text = serde_json::to_string(&options).expect("JSON");
            assert_eq!(serde_json::from_str::<AliasOptions>(&text).expect("options"), options, "{text}");
        }
        let old: AliasOptions =
            serde_json::from_str(r#"{"a":true,"aaaa":false,"static":"override"}"#).expect("options");
        let wanted = AliasOptions { aaaa: false, static_mode: StaticMode::Override, ..AliasOptions::default() };
        assert_eq!(old, wanted);
        assert!(serde_json::from_str::<AliasOptions>(r#"{"onNxdomain":"maybe"}"#).is_err());
    }

    #[test]
    fn names_of_groups_are_short_and_plain() {
        for (text, good) in
            [("default", true), ("in-side_2", true), ("", false), ("a b", false), (&"x".repeat(32), false)]
        {
            assert_eq!(GroupName::new(text).map(|name| name.as_str().to_owned()).is_some(), good, "{text}");
        }
    }
}
