//! The addresses of an ALIAS at the time of a query: from hosted zones, or from what is known of its target upstream.

use std::sync::Arc;

use super::Patience;
use super::sections::Answer;
use crate::wire::codes::{ExtendedError, Rtype};
use crate::wire::name::Name;
use crate::zone::addresses::Chosen;
use crate::zone::alias::{AliasEntry, AliasRef, AliasState, Family, Group, TargetKey};
use crate::zone::lent::{LENT_SECONDS, Lent, lent};
use crate::zone::node::{Node, RRsetRef};
use crate::zone::policy::Policy;
use crate::zone::reach::{Place, Reach, reach};
use crate::zone::served::{
    CHAIN_TOO_LONG, Known, LOOP, NOT_READY, STALE, Served, Serving, absent, deferral_expired, served,
};
use crate::zone::walk::WalkEnd;

/// Longest TTL of the SOA in an answer without addresses (alias.md section 5).
pub(super) const NO_DATA: u32 = 300;

/// Why an answer is not what it would be, with a text that does not name the target.
pub(super) type Reason = (ExtendedError, &'static str);

/// Addresses to write, wherever they come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Addresses<'a> {
    /// An RRset of a hosted zone.
    Hosted(RRsetRef<'a>),
    /// Of a target outside.
    Resolved(Chosen<'a>),
}

impl<'a> Addresses<'a> {
    /// How many.
    #[inline]
    pub(super) fn count(self) -> usize {
        match self {
            Addresses::Hosted(rrset) => usize::from(rrset.count),
            Addresses::Resolved(chosen) => chosen.count(),
        }
    }

    /// The RDATA of one.
    #[inline]
    pub(super) fn get(self, family: Family, index: usize) -> Option<&'a [u8]> {
        match self {
            Addresses::Hosted(rrset) => rrset.records().nth(index),
            Addresses::Resolved(chosen) => chosen.get(family, index),
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

impl Flattened<'_> {
    /// In a word.
    #[inline]
    pub(super) fn serving(&self) -> Serving {
        match self {
            Flattened::Addresses { error: None, .. } => Serving::Fresh,
            Flattened::Addresses { error: Some(STALE), .. } => Serving::Stale,
            Flattened::Addresses { error: Some(_), .. } => Serving::Fallback,
            Flattened::NoData { .. } => Serving::NoData,
            Flattened::ServFail { error: NOT_READY } | Flattened::Pending(_) => Serving::Pending,
            Flattened::ServFail { .. } => Serving::ServFail,
        }
    }
}

/// Why addresses are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// They are what is asked: the target counts as asked for.
    Asked,
    /// They go beside what is asked: no lookup comes of it (alias.md sections 6.5 and 6.9).
    Beside,
}

/// An ALIAS that is being flattened.
#[derive(Clone, Copy)]
struct Record<'a> {
    node: &'a Node,
    ttl: u32,
    policy: Policy,
    family: Family,
    purpose: Purpose,
}

impl<'a> Answer<'a, '_> {
    /// What the ALIAS at `node` has of a family now; none if it is not flattened for that. Overwrites `names.target`.
    #[inline]
    pub(super) fn flattened(&mut self, node: &'a Node, family: Family, purpose: Purpose) -> Option<Flattened<'a>> {
        let rrset = node.rrset(Rtype::ALIAS)?;
        let alias = AliasRef::decode(rrset.first()).filter(|alias| alias.has(family))?;
        let record = Record { node, ttl: rrset.ttl, policy: alias.policy(), family, purpose };
        let place = Place { zone: self.zone, node, alias };
        match reach(self.snapshot, &self.rules.trust, place, family, &mut self.names.target) {
            Reach::Outside { entry, ttl } => Some(self.outside(record, place, entry, ttl)),
            Reach::Inside(end) => Some(inside(record, end)),
            Reach::Unknown => Some(self.unknown(record, place)),
        }
    }

    /// What the target before has, while nothing is known of this one.
    #[cold]
    fn lent(&mut self, record: Record<'a>, place: Place<'a>) -> Option<Flattened<'a>> {
        let family = record.family;
        let now = self.request.now;
        let lent = lent(self.snapshot, &self.rules.trust, place, family, now, &mut self.names.target);
        let addresses = match lent {
            Some(Lent::Hosted(rrset)) => Addresses::Hosted(rrset),
            Some(Lent::Resolved(chosen)) => Addresses::Resolved(chosen),
            Some(Lent::NoData) => return Some(Flattened::NoData { soa_cap: LENT_SECONDS, error: Some(STALE) }),
            None => {
                // The scratch is to have the target that is waited for.
                reach(self.snapshot, &self.rules.trust, place, family, &mut self.names.target);
                return None;
            }
        };
        Some(Flattened::Addresses { addresses, ttl: record.ttl.min(LENT_SECONDS), error: Some(STALE) })
    }

    /// Nothing is known of the target in the scratch, not even that it is being asked for.
    #[cold]
    fn unknown(&mut self, record: Record<'a>, place: Place<'a>) -> Flattened<'a> {
        if let Some(lent) = self.lent(record, place) {
            return lent;
        }
        let group = place.alias.group();
        match self.request.patience {
            Patience::Wait => Flattened::Pending(key(self.names.target.wire(), group)),
            Patience::Ended => Flattened::ServFail { error: NOT_READY },
        }
    }

    /// What is known of the entry; `chain_ttl` is the lowest TTL of the hosted steps to its target.
    #[inline]
    fn outside(
        &mut self,
        record: Record<'a>,
        place: Place<'a>,
        entry: &'a Arc<AliasEntry>,
        chain_ttl: u32,
    ) -> Flattened<'a> {
        let Record { family, ref policy, .. } = record;
        let now = self.request.now;
        let known = Known { family, own: entry.family(family), other: entry.family(family.other()) };
        if record.purpose == Purpose::Asked {
            entry.asked.note(family, now);
            if now >= known.own.expires(policy.hold) {
                self.overdue(known, entry);
            }
        }
        let mut found = served(known, record.ttl.min(chain_ttl), now, policy);
        if found == Served::Pending {
            if let Some(lent) = self.lent(record, place) {
                return lent;
            }
            if self.request.patience == Patience::Wait {
                return Flattened::Pending(entry.target.clone());
            }
            found = deferral_expired(known, now, policy);
        }
        written(record, found)
    }

    /// Has the edge tell the engine that somebody asks for what has expired; what fails is asked again anyway.
    #[cold]
    fn overdue(&mut self, known: Known<'_>, entry: &'a Arc<AliasEntry>) {
        let is_good = matches!(known.own.state, AliasState::Resolved | AliasState::NoData | AliasState::Filtered);
        if is_good && entry.asked.wants_hint(known.family, self.request.now) {
            self.names.overdue = Some(entry.clone());
        }
    }
}

/// What hosted zones say.
fn inside<'a>(record: Record<'a>, end: WalkEnd<'a>) -> Flattened<'a> {
    let served = match end {
        WalkEnd::Addresses { rrset, ttl } => {
            let ttl = ttl.min(record.ttl);
            return Flattened::Addresses { addresses: Addresses::Hosted(rrset), ttl, error: None };
        }
        WalkEnd::NoData => Served::NoData { soa_cap: NO_DATA, error: None },
        WalkEnd::NameError => absent(&record.policy),
        WalkEnd::Loop => LOOP,
        WalkEnd::ChainTooLong | WalkEnd::External { .. } => CHAIN_TOO_LONG,
    };
    written(record, served)
}

/// What is served as it goes into the answer.
#[inline]
fn written<'a>(record: Record<'a>, served: Served<'a>) -> Flattened<'a> {
    match served {
        Served::Addresses { addresses, ttl, stale } => {
            Flattened::Addresses { addresses: Addresses::Resolved(addresses), ttl, error: stale.then_some(STALE) }
        }
        Served::NoData { soa_cap, error } => Flattened::NoData { soa_cap, error },
        Served::Fallback { cap, error } => match record.node.rrset(record.family.rtype()) {
            Some(rrset) => Flattened::Addresses {
                addresses: Addresses::Hosted(rrset),
                ttl: rrset.ttl.min(cap),
                error: Some(error),
            },
            None => Flattened::NoData { soa_cap: cap, error: Some(error) },
        },
        Served::ServFail { error } => Flattened::ServFail { error },
        // Whoever calls has looked at the patience before.
        Served::Pending => Flattened::ServFail { error: NOT_READY },
    }
}

/// The target as a key. This allocates, once for a target that nobody has asked for before.
#[cold]
fn key(wire: &[u8], group: Group) -> TargetKey {
    TargetKey { name: Name::from_wire(wire).unwrap_or_else(|_| Name::root()), group }
}
