//! The claims of an import into a zone that had none: what all of them have in common is there once, and the RRsets
//! are those of the command, so that a large import is held once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::alias_options::AliasOptions;
use super::claim::{Claim, ClaimState};
use super::owner::{Labels, OwnerId, OwnerNumber};
use super::zone::ZoneNumber;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;
use crate::zone::node::RRset;

/// Fresh claims of one zone and owner: held, not shared, without set id and labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// The zone.
    pub zone: ZoneNumber,
    /// Number of the owner.
    pub owner: OwnerNumber,
    /// The owner.
    pub owner_id: OwnerId,
    /// When they are made and asked for.
    pub now: Moment,
    /// The revision that makes them.
    pub revision: u64,
    rrsets: Arc<Vec<(Name, RRset)>>,
    /// Positions in `rrsets` of those that are claims, in canonical order of names, then by type.
    claimed: Vec<u32>,
    /// By position: what the claim has where that is not all the same, as the records in another order.
    sorted: BTreeMap<u32, RRset>,
}

/// One of [`Fresh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshClaim<'a> {
    /// The name.
    pub name: &'a Name,
    /// What is claimed.
    pub rrset: &'a RRset,
}

impl FreshClaim<'_> {
    /// The options of an ALIAS, which a file cannot set.
    pub fn alias(&self) -> Option<AliasOptions> {
        (self.rrset.rtype == Rtype::ALIAS).then(AliasOptions::default)
    }
}

impl Fresh {
    pub(super) fn new(
        (zone, owner, owner_id): (ZoneNumber, OwnerNumber, OwnerId),
        (now, revision): (Moment, u64),
        rrsets: Arc<Vec<(Name, RRset)>>,
    ) -> Fresh {
        let claimed = Vec::with_capacity(rrsets.len());
        Fresh { zone, owner, owner_id, now, revision, rrsets, claimed, sorted: BTreeMap::new() }
    }

    /// Adds the RRset at a position with the records that its claim has, behind those added before.
    pub(super) fn add(&mut self, at: u32, claim: &Claim) {
        self.claimed.push(at);
        let is_same = |rrset: &RRset| rrset.ttl == claim.ttl && rrset.records == claim.records;
        let is_as_given = self.rrsets.get(at as usize).is_some_and(|(_, rrset)| is_same(rrset));
        if !is_as_given {
            let Claim { rtype, ttl, records, .. } = claim;
            self.sorted.insert(at, RRset { rtype: *rtype, ttl: *ttl, records: records.clone() });
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.claimed.is_empty()
    }

    /// The claims in canonical order of names, then by type.
    pub fn claims(&self) -> impl Iterator<Item = FreshClaim<'_>> {
        self.claimed.iter().filter_map(|at| self.at(*at))
    }

    /// The claims name by name, in canonical order.
    pub fn names(&self) -> impl Iterator<Item = (&Name, impl Iterator<Item = FreshClaim<'_>> + Clone)> {
        let name = |at: &u32| self.rrsets.get(*at as usize).map(|(name, _)| name);
        self.claimed
            .chunk_by(move |left, right| name(left) == name(right))
            .filter_map(move |at_name| Some((name(at_name.first()?)?, at_name.iter().filter_map(|at| self.at(*at)))))
    }

    fn at(&self, at: u32) -> Option<FreshClaim<'_>> {
        let (name, rrset) = self.rrsets.get(at as usize)?;
        Some(FreshClaim { name, rrset: self.sorted.get(&at).unwrap_or(rrset) })
    }

    /// One of them by itself.
    pub fn claim(&self, one: FreshClaim<'_>) -> Claim {
        Claim {
            zone: self.zone,
            name: one.name.clone(),
            rtype: one.rrset.rtype,
            owner: self.owner,
            owner_id: self.owner_id.clone(),
            set_id: String::new(),
            ttl: one.rrset.ttl,
            records: one.rrset.records.clone(),
            alias: one.alias(),
            share: false,
            labels: Labels::new(),
            state: ClaimState::Held,
            asserted: self.now,
            created: self.now,
            created_revision: self.revision,
            revision: self.revision,
        }
    }
}
