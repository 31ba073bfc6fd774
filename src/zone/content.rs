//! A zone's content: nodes by name, changed name by name, and the lookup of RFC 1034 section 4.3.2.

use super::node::{Flags, Node, RRset};
use super::table::Table;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::{HashKey, Name};

/// How many of something stand at each depth, so that only depths that have one are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    mask: u128,
    counts: Vec<(u8, u32)>,
}

impl Depths {
    /// One more at names of so many labels.
    pub fn add(&mut self, labels: usize) {
        self.mask |= 1 << labels;
        match self.counts.iter_mut().find(|(depth, _)| usize::from(*depth) == labels) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((labels as u8, 1)),
        }
    }

    /// One less there.
    pub fn remove(&mut self, labels: usize) {
        if let Some(at) = self.counts.iter().position(|(depth, _)| usize::from(*depth) == labels) {
            self.counts[at].1 -= 1;
            if self.counts[at].1 == 0 {
                self.counts.swap_remove(at);
                self.mask &= !(1 << labels);
            }
        }
    }

    /// The depths from `first` to `last` that have one, lowest first, as a bit mask by number of labels.
    #[inline]
    pub fn between(&self, first: usize, last: usize) -> u128 {
        let up_to_last = u128::MAX >> (127 - last.min(127));
        self.mask & up_to_last & (u128::MAX << first)
    }
}

/// What a zone has for a name: the one decision that all answers follow from (answers.md section 6).
#[derive(Clone, Copy, Debug)]
pub enum Lookup<'a> {
    /// The name is there, perhaps as an empty non-terminal.
    Exact(&'a Node),
    /// It is not, and this wildcard is the source of synthesis (RFC 4592 section 3.3.1).
    Wildcard(&'a Node),
    /// The name is at or below this zone cut.
    Cut(&'a Node),
    /// The name is below the owner of this DNAME (RFC 6672 section 2.2).
    Dname(&'a Node),
    /// Nothing is there: NXDOMAIN.
    NoName,
}

/// The published content of a zone. A clone is cheap and shares everything with the original.
#[derive(Clone, Debug)]
pub struct Zone {
    apex: Name,
    apex_labels: usize,
    apex_hash: u64,
    key: HashKey,
    nodes: Table<Node>,
    /// Nodes with an ALIAS, again, so that the ALIAS engine sees what changed without walking the zone.
    aliases: Table<Node>,
    /// Where zone cuts and DNAMEs stand.
    redirections: Depths,
    /// Hashes of the names that have one, and how many: so small in most zones that looking for a cut above a name leaves
    /// the cache alone.
    redirecting: Table<u32>,
    records: u64,
    owner: u32,
}

impl Zone {
    /// A zone without records. `owner` is the store's number of the owner of the zone (alias.md section 3.2).
    pub fn new(apex: Name, key: HashKey, owner: u32) -> Zone {
        let apex_labels = apex.label_count();
        let mut zone = Zone {
            nodes: Table::default(),
            aliases: Table::default(),
            redirections: Depths::default(),
            redirecting: Table::default(),
            records: 0,
            apex_labels,
            apex_hash: key.hash(apex.as_wire()),
            apex,
            key,
            owner,
        };
        let node = Node::new(&zone.apex, &[], 0, false);
        zone.put(node);
        zone
    }

    /// The apex.
    pub fn apex(&self) -> &Name {
        &self.apex
    }

    /// The key of the hashes of its names.
    pub(super) fn key(&self) -> HashKey {
        self.key
    }

    /// Number of labels of the apex.
    #[inline]
    pub fn apex_labels(&self) -> usize {
        self.apex_labels
    }

    /// Number of the owner of the zone in the store.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Sets the owner's number.
    pub fn set_owner(&mut self, owner: u32) {
        self.owner = owner;
    }

    /// Records in all.
    pub fn record_count(&self) -> u64 {
        self.records
    }

    /// All nodes, empty non-terminals included, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// All nodes that have an ALIAS, in no order.
    pub fn aliases(&self) -> &Table<Node> {
        &self.aliases
    }

    /// The node of a name.
    pub fn node(&self, name: &Name) -> Option<&Node> {
        self.get(self.key.hash(name.as_wire()), name.as_wire())
    }

    /// The node of a name, even if a zone cut or a DNAME above hides it: for glue.
    #[inline]
    pub fn occluded(&self, name: &HashedName) -> Option<&Node> {
        self.get_suffix(name, name.labels())
    }

    /// The node at the apex.
    pub fn apex_node(&self) -> &Node {
        self.get(self.apex_hash, self.apex.as_wire()).expect("a zone has a node at its apex")
    }

    /// The serial of the SOA, if there is one.
    pub fn serial(&self) -> Option<u32> {
        let soa = self.apex_node().rrset(Rtype::SOA)?.first();
        let at = soa.len().checked_sub(20)?;
        Some(u32::from_be_bytes(soa[at..at + 4].try_into().ok()?))
    }

    #[inline]
    fn get(&self, hash: u64, wire: &[u8]) -> Option<&Node> {
        self.nodes.get(hash, |node| node.name() == wire)
    }

    /// The node of the suffix of so many labels.
    #[inline]
    fn get_suffix(&self, name: &HashedName, labels: usize) -> Option<&Node> {
        self.get(name.hash(labels), name.suffix(labels))
    }

    /// Looks a name up that is at or below the apex. With `for_ds` a cut at the name itself does not count, since the
    /// parent answers for DS (RFC 4035 section 3.1.4.1).
    #[inline]
    pub fn lookup(&self, name: &HashedName, for_ds: bool) -> Lookup<'_> {
        if let Some(found) = self.redirection(name, for_ds) {
            return found;
        }
        if let Some(node) = self.get_suffix(name, name.labels()) {
            return Lookup::Exact(node);
        }
        for labels in (self.apex_labels..name.labels()).rev() {
            let Some(closest_encloser) = self.get_suffix(name, labels) else { continue };
            if !closest_encloser.flags().has(Flags::WILDCARD_BELOW) {
                return Lookup::NoName;
            }
            let hash = self.key.extend(name.hash(labels), b"\x01*");
            let wildcard = self.nodes.get(hash, |node| {
                node.name().len() == 2 + name.suffix(labels).len()
                    && node.name()[2..] == *name.suffix(labels)
                    && node.name()[..2] == *b"\x01*"
            });
            return wildcard.map_or(Lookup::NoName, Lookup::Wildcard);
        }
        Lookup::NoName
    }

    /// The first cut or DNAME met on the way down from the apex.
    #[inline]
    fn redirection(&self, name: &HashedName, for_ds: bool) -> Option<Lookup<'_>> {
        let mut depths = self.redirections.between(self.apex_labels, name.labels());
        while depths != 0 {
            let labels = depths.trailing_zeros() as usize;
            depths &= depths - 1;
            if self.redirecting.get(name.hash(labels), |_| true).is_none() {
                continue;
            }
            let above = labels < name.labels();
            let Some(node) = self.get_suffix(name, labels) else { continue };
            if node.flags().has(Flags::NS) && labels > self.apex_labels && (above || !for_ds) {
                return Some(Lookup::Cut(node));
            }
            if node.flags().has(Flags::DNAME) && above {
                return Some(Lookup::Dname(node));
            }
        }
        None
    }

    /// Puts these RRsets at a name at or below the apex, in the place of all that stood there; none removes the name.
    pub fn set(&mut self, name: &Name, rrsets: &[RRset]) {
        debug_assert!(name.is_at_or_below(&self.apex));
        let old = self.node(name).cloned();
        let children = old.as_ref().map_or(0, Node::children);
        if let Some(old) = &old {
            self.forget(name, old);
        }
        if rrsets.is_empty() && children == 0 && *name != self.apex {
            if old.is_some() {
                self.take(name);
                self.unlink(name);
            }
            return;
        }
        let wildcard_below = old.as_ref().is_some_and(|node| node.flags().has(Flags::WILDCARD_BELOW));
        let node = Node::new(name, rrsets, children, wildcard_below);
        self.remember(name, &node);
        self.put(node);
        if old.is_none() {
            self.link(name);
        }
    }

    /// All that is counted beside the nodes, for tests that compare zones.
    #[cfg(test)]
    pub(super) fn counted(&self) -> impl PartialEq + std::fmt::Debug {
        let mut redirections = self.redirections.clone();
        redirections.counts.sort_unstable();
        let mut aliases: Vec<Vec<u8>> = self.aliases.iter().map(|node| node.name().to_vec()).collect();
        aliases.sort_unstable();
        let mut redirecting: Vec<u32> = self.redirecting.iter().copied().collect();
        redirecting.sort_unstable();
        (redirections, redirecting, aliases, self.records, self.nodes.len(), self.owner)
    }

    /// Takes all nodes of a zone that has none but its apex, with their hashes; each name once, the apex among them, and
    /// every name between a name and the apex.
    pub(super) fn take_all(&mut self, nodes: Vec<(u64, Node)>) {
        for (hash, node) in &nodes {
            self.count(*hash, node);
        }
        self.nodes = Table::of_distinct(nodes);
    }

    /// Counts a node's records, cuts, DNAMEs and ALIASes in.
    fn remember(&mut self, name: &Name, node: &Node) {
        self.count(self.key.hash(name.as_wire()), node);
    }

    fn count(&mut self, hash: u64, node: &Node) {
        self.records += node.rrsets().map(|one| u64::from(one.count)).sum::<u64>();
        if self.redirects(node) {
            self.redirections.add(node.labels());
            if self.redirecting.update(hash, |_| true, |count| *count += 1).is_none() {
                self.redirecting.insert(hash, 1, |_| true);
            }
        }
        if node.flags().has(Flags::ALIAS) {
            self.aliases.insert(hash, node.clone(), |one| one.name() == node.name());
        }
    }

    /// Counts them out.
    fn forget(&mut self, name: &Name, node: &Node) {
        self.records -= node.rrsets().map(|one| u64::from(one.count)).sum::<u64>();
        let hash = self.key.hash(name.as_wire());
        if self.redirects(node) {
            self.redirections.remove(node.labels());
            let left = self.redirecting.update(
                hash,
                |_| true,
                |count| {
                    *count -= 1;
                    *count
                },
            );
            if left == Some(0) {
                self.redirecting.remove(hash, |_| true);
            }
        }
        if node.flags().has(Flags::ALIAS) {
            self.aliases.remove(hash, |one| one.name() == name.as_wire());
        }
    }

    fn redirects(&self, node: &Node) -> bool {
        node.flags().has(Flags::DNAME) || (node.flags().has(Flags::NS) && node.labels() > self.apex_labels)
    }

    fn put(&mut self, node: Node) {
        let hash = self.key.hash(node.name());
        let wire = node.name().to_vec();
        self.nodes.insert(hash, node, |one| one.name() == wire);
    }

    fn take(&mut self, name: &Name) {
        self.nodes.remove(self.key.hash(name.as_wire()), |one| one.name() == name.as_wire());
    }

    /// Tells the names above that there is one more below, and makes empty non-terminals where none stood.
    fn link(&mut self, name: &Name) {
        let mut below = name.clone();
        while below != self.apex {
            let parent = below.parent().expect("names below the apex have a parent");
            let wildcard = below.is_wildcard().then_some(true);
            if self.change_children(&parent, 1, wildcard).is_some() {
                return;
            }
            self.put(Node::new(&parent, &[], 1, wildcard.is_some()));
            below = parent;
        }
    }

    /// Tells the names above that there is one less below, and removes those that nothing holds any more.
    fn unlink(&mut self, name: &Name) {
        let mut below = name.clone();
        while below != self.apex {
            let parent = below.parent().expect("names below the apex have a parent");
            let left = self.change_children(&parent, -1, below.is_wildcard().then_some(false));
            let empty = self.node(&parent).is_some_and(Node::is_empty);
            if left != Some(0) || !empty || parent == self.apex {
                return;
            }
            self.take(&parent);
            below = parent;
        }
    }

    /// The number of children that the node has then; none if there is no such node.
    fn change_children(&mut self, name: &Name, by: i32, wildcard_below: Option<bool>) -> Option<u32> {
        let wire = name.as_wire();
        self.nodes.update(
            self.key.hash(wire),
            |node| node.name() == wire,
            |node| {
                let children = node.children().saturating_add_signed(by);
                node.set_children(children, wildcard_below);
                children
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn rrset(rtype: Rtype) -> RRset {
        let record = match rtype {
            Rtype::A => vec![192, 0, 2, 1],
            _ => b"\x02ns\0".to_vec(),
        };
        RRset { rtype, ttl: 60, records: vec![record] }
    }

    fn zone() -> Zone {
        Zone::new(Name::parse("example.").expect("a name"), HashKey::new(1, 2), 0)
    }

    fn found(zone: &Zone, text: &str) -> String {
        let mut name = HashedName::empty();
        assert!(name.load(zone.key, Name::parse(text).expect("a name").as_wire()));
        let text = |node: &Node| Name::from_wire(node.name()).expect("a name").to_string();
        match zone.lookup(&name, false) {
            Lookup::Exact(node) => format!("exact {}", text(node)),
            Lookup::Wildcard(node) => format!("wildcard {}", text(node)),
            Lookup::Cut(node) => format!("cut {}", text(node)),
            Lookup::Dname(node) => format!("dname {}", text(node)),
            Lookup::NoName => "no name".to_owned(),
        }
    }

    #[test]
    fn the_example_of_rfc_4592() {
        let mut zone = zone();
        for (name, rtype) in [
            ("*.example", Rtype::A),
            ("sub.*.example", Rtype::A),
            ("host1.example", Rtype::A),
            ("_ssh._tcp.host1.example", Rtype::A),
            ("subdel.example", Rtype::NS),
        ] {
            zone.set(&Name::parse(name).expect("a name"), &[rrset(rtype)]);
        }
        for (asked, wanted) in [
            ("host3.example", "wildcard *.example."),
            ("foo.bar.example", "wildcard *.example."),
            ("host1.example", "exact host1.example."),
            ("sub.*.example", "exact sub.*.example."),
            ("_telnet._tcp.host1.example", "no name"),
            ("host.subdel.example", "cut subdel.example."),
            ("ghost.*.example", "no name"),
            ("_tcp.host1.example", "exact _tcp.host1.example."),
        ] {
            assert_eq!(found(&zone, asked), wanted, "{asked}");
        }
    }

    proptest! {
        /// Whatever is set and removed, a zone holds exactly the names that have records and the names above them.
        #[test]
        fn names_come_and_go_with_their_empty_non_terminals(steps in proptest::collection::vec(
            (proptest::collection::vec(prop_oneof!["a", "b", r"\*"], 0..4), prop_oneof![Just(None), Just(Some(Rtype::A)), Just(Some(Rtype::NS)), Just(Some(Rtype::ALIAS))]), 0..40)) {
            let mut zone = zone();
            let mut model: BTreeMap<Name, Rtype> = BTreeMap::new();
            for (labels, rtype) in steps {
                let name = labels.iter().fold(zone.apex.clone(), |name, label| name.child(label.as_bytes()).expect("short"));
                let before = zone.clone();
                let count = before.nodes().count();
                match rtype {
                    Some(rtype) => { zone.set(&name, &[rrset(rtype)]); model.insert(name.clone(), rtype); }
                    None => { zone.set(&name, &[]); model.remove(&name); }
                }
                prop_assert_eq!(before.nodes().count(), count);
                let mut wanted: Vec<Name> = model.keys().flat_map(|name| name.ancestors().collect::<Vec<_>>())
                    .filter(|name| name.is_at_or_below(&zone.apex)).chain([zone.apex.clone()]).collect();
                wanted.sort();
                wanted.dedup();
                let mut names: Vec<Name> = zone.nodes().map(|node| Name::from_wire(node.name()).expect("a name")).collect();
                names.sort();
                prop_assert_eq!(&names, &wanted);
                for node in zone.nodes() {
                    let name = Name::from_wire(node.name()).expect("a name");
                    let below: Vec<&Name> = wanted.iter().filter(|one| one.parent().as_ref() == Some(&name) && **one != zone.apex).collect();
                    prop_assert_eq!(node.children() as usize, below.len());
                    prop_assert_eq!(node.flags().has(Flags::WILDCARD_BELOW), below.iter().any(|one| one.is_wildcard()));
                }
                prop_assert_eq!(zone.record_count(), model.len() as u64);
                prop_assert_eq!(zone.aliases().len(), model.values().filter(|rtype| **rtype == Rtype::ALIAS).count());
                let cuts = model.iter().filter(|(name, rtype)| **rtype == Rtype::NS && **name != zone.apex).count();
                prop_assert_eq!(zone.redirecting.iter().map(|count| *count as usize).sum::<usize>(), cuts);
                prop_assert_eq!(zone.redirections.counts.iter().map(|(_, count)| *count as usize).sum::<usize>(), cuts);
            }
        }
    }
}
