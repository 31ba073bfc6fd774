//! A zone from all its names in canonical order: each node is packed once, with its children known, and hashed once.

use super::content::Zone;
use super::node::{Node, Packing, RRset, RRsetRef};
use crate::wire::name::Name;

/// A zone that is being built. Names may come in any order; what is out of order goes the way of [`Zone::set`].
#[derive(Debug)]
pub struct Bulk {
    zone: Zone,
    /// The name put last and those above it, from the apex down: what may still get children.
    open: Vec<Open>,
    closed: Vec<(u64, Node)>,
    /// Buffers of nodes that are closed.
    rooms: Vec<Vec<u8>>,
    /// Names that came out of order, with what stands there.
    late: Vec<(Name, Vec<RRset>)>,
}

#[derive(Debug)]
struct Open {
    packing: Packing,
    hash: u64,
    labels: usize,
    children: u32,
    wildcard_below: bool,
}

impl Bulk {
    /// Begins with a zone that has no records yet.
    pub fn new(zone: Zone) -> Bulk {
        let hash = zone.key().hash(zone.apex().as_wire());
        let labels = zone.apex_labels();
        let packing = Packing::new(Vec::new(), zone.apex().as_wire(), labels);
        let apex = Open { packing, hash, labels, children: 0, wildcard_below: false };
        Bulk { zone, open: vec![apex], closed: Vec::new(), rooms: Vec::new(), late: Vec::new() }
    }

    /// Puts these RRsets at a name below the apex, which was not put before; at least one, of different types, by type.
    pub fn put(&mut self, name: &Name, rrsets: &[RRsetRef<'_>]) {
        debug_assert!(name.is_at_or_below(self.zone.apex()));
        match self.place(name) {
            Place::Next => {
                let Some(here) = self.open.last_mut() else { return };
                rrsets.iter().for_each(|rrset| here.packing.add(*rrset));
            }
            Place::Late => self.put_late(name.clone(), rrsets.iter().copied().map(RRsetRef::to_owned).collect()),
        }
    }

    /// As [`Bulk::put`].
    pub fn put_owned(&mut self, name: &Name, rrsets: &[RRset]) {
        debug_assert!(name.is_at_or_below(self.zone.apex()));
        match self.place(name) {
            Place::Next => {
                let Some(here) = self.open.last_mut() else { return };
                rrsets.iter().for_each(|rrset| here.packing.add_owned(rrset));
            }
            Place::Late => self.put_late(name.clone(), rrsets.to_vec()),
        }
    }

    /// As [`Zone::set`], after all that is put: for names that are not known to be new.
    pub fn put_late(&mut self, name: Name, rrsets: Vec<RRset>) {
        self.late.push((name, rrsets));
    }

    /// The zone.
    pub fn finish(mut self) -> Zone {
        while let Some(open) = self.open.pop() {
            self.close(open);
        }
        self.zone.take_all(self.closed);
        for (name, rrsets) in &self.late {
            self.zone.set(name, rrsets);
        }
        self.zone
    }

    fn close(&mut self, mut open: Open) {
        self.closed.push((open.hash, open.packing.finish(open.children, open.wildcard_below)));
        self.rooms.push(open.packing.into_room());
    }

    /// Opens the name and those missing above it, if it comes behind all names so far in canonical order.
    fn place(&mut self, name: &Name) -> Place {
        let wire = name.as_wire();
        let (starts, labels) = starts(wire);
        let start_of = |count: usize| usize::from(starts[labels - count]);
        let is_above = |open: &Open| open.labels < labels && wire[start_of(open.labels)..] == *open.packing.name();
        let kept = self.open.iter().rposition(is_above).map_or(0, |at| at + 1);
        if kept == 0 {
            return Place::Late;
        }
        if let Some(sibling) = self.open.get(kept) {
            // Both stand right below one name, so the order of two labels is that of the names.
            let start = start_of(sibling.labels);
            let label = |octets: &[u8], at: usize| octets[at + 1..=at + usize::from(octets[at])].to_vec();
            if label(wire, start) <= label(sibling.packing.name(), 0) {
                return Place::Late;
            }
        }
        while self.open.len() > kept
            && let Some(open) = self.open.pop()
        {
            self.close(open);
        }
        let key = self.zone.key();
        while let Some(parent) = self.open.last_mut()
            && parent.labels < labels
        {
            let own = parent.labels + 1;
            let start = start_of(own);
            parent.children += 1;
            let label = &wire[start..=start + usize::from(wire[start])];
            parent.wildcard_below |= *label == *b"\x01*";
            let hash = key.extend(parent.hash, label);
            let packing = Packing::new(self.rooms.pop().unwrap_or_default(), &wire[start..], own);
            self.open.push(Open { packing, hash, labels: own, children: 0, wildcard_below: false });
        }
        Place::Next
    }
}

enum Place {
    /// The name is open, and the last one.
    Next,
    /// Its place in the order is past.
    Late,
}

/// Where each suffix of a wire name starts, the whole name first, and the number of labels.
fn starts(wire: &[u8]) -> ([u8; 128], usize) {
    let mut starts = [0_u8; 128];
    let mut labels = 0;
    let mut at = 0;
    while let Some(&length) = wire.get(at).filter(|length| **length != 0) {
        starts[labels] = at as u8;
        labels += 1;
        at += 1 + usize::from(length);
    }
    starts[labels] = at as u8;
    (starts, labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::codes::Rtype;
    use crate::wire::name::HashKey;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn nodes(zone: &Zone) -> BTreeMap<Vec<u8>, Node> {
        zone.nodes().map(|node| (node.name().to_vec(), node.clone())).collect()
    }

    proptest! {
        /// However the names come, the zone is the one that [`Zone::set`] makes of them.
        #[test]
        fn a_zone_built_at_once_is_the_zone_built_name_by_name(
            names in proptest::collection::btree_map(
                proptest::collection::vec(prop_oneof!["a", "b", "aa", "\0", r"\*"], 1..5), 0..6_usize, 0..40),
            is_shuffled in any::<bool>(), root in any::<bool>())
        {
            let apex = Name::parse(if root { "." } else { "example." }).expect("a name");
            let key = HashKey::new(1, 2);
            let types = [Rtype::A, Rtype::NS, Rtype::CNAME, Rtype::DNAME, Rtype::ALIAS, Rtype::TXT];
            let packed = b"\x04\0\xc0\0\x02\x01\x04\0\xc0\0\x02\x02";
            let mut all: Vec<(Name, Vec<RRsetRef<'_>>)> = names.iter().map(|(labels, count)| {
                let name = labels.iter().fold(apex.clone(), |name, label| name.child(label.replace('\\', "").as_bytes()).expect("short"));
                let rrset = |rtype: &Rtype| RRsetRef::packed(*rtype, 60, packed).expect("two records");
                (name, types[*count..].iter().take(2).map(rrset).collect())
            }).collect();
            if !is_shuffled {
                all.sort_by(|left, right| left.0.cmp(&right.0));
            }
            let mut bulk = Bulk::new(Zone::new(apex.clone(), key, 7));
            let mut one_by_one = Zone::new(apex.clone(), key, 7);
            for (name, rrsets) in &all {
                bulk.put(name, rrsets);
                one_by_one.set(name, &rrsets.iter().copied().map(RRsetRef::to_owned).collect::<Vec<_>>());
            }
            prop_assert!(is_shuffled || bulk.late.is_empty());
            let at_once = bulk.finish();
            prop_assert_eq!(nodes(&at_once), nodes(&one_by_one));
            prop_assert_eq!(at_once.counted(), one_by_one.counted());
            for node in one_by_one.nodes() {
                let name = Name::from_wire(node.name()).expect("a name");
                prop_assert_eq!(at_once.node(&name), Some(node));
            }
        }
    }
}
