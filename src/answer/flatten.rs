//! The addresses of an ALIAS at the time of a query: from hosted zones, or from what is known of its target upstream.

use super::Patience;
use super::sections::Answer;
use crate::wire::codes::{ExtendedError, Rtype};
use crate::wire::name::Name;
use crate::zone::alias::{AliasRef, Family, TargetKey};
use crate::zone::node::{Node, RRsetRef};
use crate::zone::served::{NOT_READY, Policy, Served, deferral_expired, served};
use crate::zone::walk::{WalkEnd, walk};

/// Longest TTL of the SOA in an answer without addresses (alias.md section 5).
const NO_DATA: u32 = 300;
const DEAD_TARGET: u32 = 60;

/// Why an answer is not what it would be, with a text that does not name the target.
pub(super) type Reason = (ExtendedError, &'static str);

/// Addresses to write, wherever they come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Addresses<'a> {
    /// An RRset of a hosted zone.
    Hosted(RRsetRef<'a>),
    /// Addresses in network order one after another.
    Resolved(&'a [u8]),
}

impl<'a> Addresses<'a> {
    /// How many.
    pub(super) fn count(self, family: Family) -> usize {
        match self {
            Addresses::Hosted(rrset) => usize::from(rrset.count),
            Addresses::Resolved(octets) => octets.len() / family.octets(),
        }
    }

    /// The RDATA of one.
    #[inline]
    pub(super) fn get(self, family: Family, index: usize) -> Option<&'a [u8]> {
        match self {
            Addresses::Hosted(rrset) => rrset.records().nth(index),
            Addresses::Resolved(octets) => octets.chunks_exact(family.octets()).nth(index),
        }
    }
}

/// What an ALIAS comes to.
#[derive(Clone, Debug)]
pub(super) enum Flattened<'a> {
    /// Addresses with their TTL in seconds.
    Addresses { addresses: Addresses<'a>, ttl: u32, error: Option<Reason> },
    /// NODATA, the SOA's TTL at most so many seconds.
    NoData { soa_cap: u32, error: Option<Reason> },
    /// SERVFAIL.
    ServFail { error: Reason },
    /// The target was never resolved, and the query can wait for it.
    Pending(TargetKey),
}

impl<'a> Answer<'a, '_> {
    /// What the ALIAS at `node` has of a family now. Overwrites `names.target`.
    pub(super) fn flattened(&mut self, node: &'a Node, family: Family) -> Flattened<'a> {
        const NOTHING: Flattened<'static> = Flattened::NoData { soa_cap: NO_DATA, error: None };
        let Some(record) = node.rrset(Rtype::ALIAS) else { return NOTHING };
        let Some(alias) = AliasRef::decode(record.first()).filter(|alias| alias.has(family)) else { return NOTHING };
        let snapshot = self.snapshot;
        let target = &mut self.names.target;
        let dead = |text| Flattened::NoData { soa_cap: DEAD_TARGET, error: Some((ExtendedError::OTHER, text)) };
        match walk(snapshot, &self.rules.trust, self.zone, alias, family, target) {
            WalkEnd::Addresses { rrset, ttl } => {
                Flattened::Addresses { addresses: Addresses::Hosted(rrset), ttl: ttl.min(record.ttl), error: None }
            }
            WalkEnd::NoData => NOTHING,
            WalkEnd::NameError => dead("alias target does not exist"),
            WalkEnd::Loop => dead("Loop"),
            WalkEnd::ChainTooLong => dead("ChainTooLong"),
            WalkEnd::External { ttl } => {
                let Some(entry) = snapshot.alias.get(target.hash(target.labels()), target.wire()) else {
                    return match self.request.patience {
                        Patience::Wait => Flattened::Pending(key(target.wire())),
                        Patience::Ended => Flattened::ServFail { error: NOT_READY },
                    };
                };
                let (own, other) = (entry.family(family), entry.family(family.other()));
                let (now, policy) = (self.request.now, Policy::default());
                let mut known = served(own, other, record.ttl.min(ttl), now, &policy);
                if known == Served::Pending && self.request.patience == Patience::Ended {
                    known = deferral_expired(other, now, &policy);
                }
                match known {
                    Served::Addresses { octets, ttl, stale } => Flattened::Addresses {
                        addresses: Addresses::Resolved(octets),
                        ttl,
                        error: stale.then_some((ExtendedError::STALE_ANSWER, "")),
                    },
                    Served::NoData { soa_cap, error } => Flattened::NoData { soa_cap, error },
                    Served::ServFail { error } => Flattened::ServFail { error },
                    Served::Pending => Flattened::Pending(key(target.wire())),
                }
            }
        }
    }
}

/// The target as a key. This allocates, once for a target that nobody has asked for before.
#[cold]
fn key(wire: &[u8]) -> TargetKey {
    TargetKey(Name::from_wire(wire).unwrap_or_else(|_| Name::root()))
}
