//! What a query gets while the target that an ALIAS was just given is being resolved: for some seconds, what the target
//! before it had (alias.md section 2, *Target change*). Pure, without allocation.

use std::sync::Arc;

use super::addresses::Chosen;
use super::alias::{AliasEntry, AliasRef, Family, Moment};
use super::node::RRsetRef;
use super::reach::{Place, Reach, reach};
use super::served::{Known, Served, served};
use super::snapshot::Snapshot;
use super::walk::{Trust, WalkEnd};
use crate::wire::hashed::HashedName;

/// For how many seconds the target before is served.
pub const LENT_SECONDS: u32 = 5;

/// What the target before has.
#[derive(Clone, Copy, Debug)]
pub enum Lent<'a> {
    /// An RRset of a hosted zone.
    Hosted(RRsetRef<'a>),
    /// Addresses of a target outside.
    Resolved(Chosen<'a>),
    /// No addresses of the family.
    NoData,
}

/// What the target before lends to the ALIAS at `place` for a family; none if there was none, its time is over, or it
/// has nothing itself. `scratch` is overwritten.
#[cold]
pub fn lent<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    place: Place<'a>,
    family: Family,
    now: Moment,
    scratch: &mut HashedName,
) -> Option<Lent<'a>> {
    let target = place.alias.previous(now)?;
    let alias = place.alias.towards(target);
    match reach(snapshot, trust, Place { alias, ..place }, family, scratch) {
        Reach::Inside(WalkEnd::Addresses { rrset, .. }) => Some(Lent::Hosted(rrset)),
        Reach::Inside(WalkEnd::NoData) => Some(Lent::NoData),
        Reach::Outside { entry, .. } => of_entry(entry, alias, family, now),
        Reach::Inside(WalkEnd::NameError | WalkEnd::Loop | WalkEnd::ChainTooLong | WalkEnd::External { .. })
        | Reach::Unknown => None,
    }
}

fn of_entry<'a>(entry: &'a Arc<AliasEntry>, alias: AliasRef<'_>, family: Family, now: Moment) -> Option<Lent<'a>> {
    let known = Known { family, own: entry.family(family), other: entry.family(family.other()) };
    match served(known, LENT_SECONDS, now, &alias.policy()) {
        Served::Addresses { addresses, .. } => Some(Lent::Resolved(addresses)),
        Served::NoData { error: None, .. } => Some(Lent::NoData),
        Served::NoData { error: Some(_), .. } | Served::Fallback { .. } | Served::ServFail { .. } | Served::Pending => {
            None
        }
    }
}
