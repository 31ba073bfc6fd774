//! A zone with its ALIAS records replaced by what they come to now, for those who take it elsewhere (alias.md section 1,
//! *Zone files*). Pure.

use super::alias::{AliasRef, Family, Moment};
use super::content::Zone;
use super::node::{Node, RRset};
use super::reach::{Place, Reach, reach};
use super::served::{Known, Served, served};
use super::snapshot::Snapshot;
use super::walk::{Trust, WalkEnd};
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;

/// `zone` of `snapshot` with A and AAAA in the place of each ALIAS, as a query would get them at `now`; a family that has
/// no addresses now is left out. The serial is as it was: this is what is served.
pub fn flattened(snapshot: &Snapshot, trust: &Trust, zone: &Zone, now: Moment) -> Zone {
    let mut flat = zone.clone();
    for node in zone.aliases().iter() {
        if let Ok(name) = Name::from_wire(node.name()) {
            flat.set(&name, &rrsets(snapshot, trust, zone, node, now));
        }
    }
    flat
}

fn rrsets(snapshot: &Snapshot, trust: &Trust, zone: &Zone, node: &Node, now: Moment) -> Vec<RRset> {
    let alias = node.rrset(Rtype::ALIAS).and_then(|rrset| Some((rrset.ttl, AliasRef::decode(rrset.first())?)));
    let is_replaced = |rtype: Rtype| {
        rtype == Rtype::ALIAS
            || alias.is_some_and(|(_, alias)| Family::BOTH.iter().any(|one| one.rtype() == rtype && alias.has(*one)))
    };
    let mut rrsets: Vec<RRset> =
        node.rrsets().filter(|rrset| !is_replaced(rrset.rtype)).map(|rrset| rrset.to_owned()).collect();
    let Some((ttl, alias)) = alias else { return rrsets };
    let mut scratch = HashedName::empty();
    for family in Family::BOTH.into_iter().filter(|family| alias.has(*family)) {
        let place = Place { zone, node, alias };
        let found = match reach(snapshot, trust, place, family, &mut scratch) {
            Reach::Inside(WalkEnd::Addresses { rrset, ttl: chain }) => {
                Some(RRset { ttl: ttl.min(chain), ..rrset.to_owned() })
            }
            Reach::Outside { entry, ttl: chain } => {
                let known = Known { family, own: entry.family(family), other: entry.family(family.other()) };
                match served(known, ttl.min(chain), now, &alias.policy()) {
                    Served::Addresses { addresses, ttl, .. } => {
                        let records = addresses.iter(family).map(<[u8]>::to_vec).collect();
                        Some(RRset { rtype: family.rtype(), ttl, records })
                    }
                    Served::Fallback { cap, .. } => {
                        let beside = node.rrset(family.rtype()).map(|rrset| rrset.to_owned());
                        beside.map(|rrset| RRset { ttl: rrset.ttl.min(cap), ..rrset })
                    }
                    Served::NoData { .. } | Served::ServFail { .. } | Served::Pending => None,
                }
            }
            Reach::Inside(WalkEnd::NoData | WalkEnd::NameError | WalkEnd::Loop)
            | Reach::Inside(WalkEnd::ChainTooLong | WalkEnd::External { .. })
            | Reach::Unknown => None,
        };
        rrsets.extend(found);
    }
    rrsets.sort_by_key(|rrset| rrset.rtype);
    rrsets
}
