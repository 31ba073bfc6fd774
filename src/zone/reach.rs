//! What an ALIAS record reaches: the end of its walk through hosted zones, or what is known of a target outside, whose
//! chain may come back into hosted zones (alias.md sections 3.1 and 3.4). No allocation, no lock.

use std::sync::Arc;

use super::alias::{AliasEntry, AliasRef, Family};
use super::content::Zone;
use super::node::Node;
use super::snapshot::Snapshot;
use super::walk::{Trust, WalkEnd, walk, walk_from};
use crate::wire::hashed::HashedName;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub enum Reach<'a> {
    /// The hosted zones say what there is; never [`WalkEnd::External`].
    Inside(WalkEnd<'a>),
    /// A target outside of which something is known, or is being found out.
    Outside {
        /// What is known.
        entry: &'a Arc<AliasEntry>,
        /// Lowest TTL in seconds of the hosted steps to it, `u32::MAX` if there was none.
        ttl: u32,
    },
    /// A target outside that nobody has asked for; its name is in the scratch.
    Unknown,
}

/// Where an ALIAS stands.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its zone.
    pub zone: &'a Zone,
    /// Its node.
    pub node: &'a Node,
    /// The record.
    pub alias: AliasRef<'a>,
}

/// Follows an ALIAS for a family. `scratch` ends up holding the name at which the walk ended.
#[inline]
pub fn reach<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    place: Place<'a>,
    family: Family,
    scratch: &mut HashedName,
) -> Reach<'a> {
    let end = walk(snapshot, trust, place.zone, place.alias, family, scratch);
    let WalkEnd::External { ttl } = end else { return Reach::Inside(end) };
    let group = place.alias.group();
    match snapshot.alias.get(scratch.hash(scratch.labels()), scratch.wire(), group) {
        Some(entry) if entry.family(family).crossing.is_some() => {
            across(snapshot, trust, place, family, (entry, ttl), scratch)
        }
        Some(entry) => Reach::Outside { entry, ttl },
        None => Reach::Unknown,
    }
}

/// The target's chain comes through hosted zones: at the first that is trusted the walk goes on in the server. Once
/// only, since a chain that leaves and comes back again and again belongs to nobody.
#[cold]
fn across<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    place: Place<'a>,
    family: Family,
    (entry, chain_ttl): (&'a Arc<AliasEntry>, u32),
    scratch: &mut HashedName,
) -> Reach<'a> {
    for name in entry.family(family).crossing.as_deref().unwrap_or_default() {
        if !scratch.load(snapshot.key(), name.as_wire()) {
            continue;
        }
        let zone = snapshot.find_zone(scratch, false);
        if !zone.is_some_and(|zone| trust.admits(zone, place.zone, place.alias)) {
            continue;
        }
        if name.as_wire() == place.node.name() {
            return Reach::Inside(WalkEnd::Loop);
        }
        let end = walk_from(snapshot, trust, (place.zone, place.alias), name, family, scratch);
        let WalkEnd::External { ttl } = end else { return Reach::Inside(end) };
        if scratch.wire() == entry.target.name.as_wire() {
            return Reach::Inside(WalkEnd::Loop);
        }
        let group = place.alias.group();
        return match snapshot.alias.get(scratch.hash(scratch.labels()), scratch.wire(), group) {
            Some(entry) => Reach::Outside { entry, ttl: ttl.min(chain_ttl) },
            None => Reach::Unknown,
        };
    }
    scratch.load(snapshot.key(), entry.target.name.as_wire());
    Reach::Outside { entry, ttl: chain_ttl }
}
