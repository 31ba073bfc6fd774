//! The walk from an ALIAS's target through hosted zones (alias.md sections 3.1 and 3.2): CNAME, DNAME, wildcards and
//! nested ALIAS, up to addresses, their absence, or a name that only an upstream can answer. No allocation, no lock.

use std::collections::HashSet;

use super::alias::{AliasRef, Family, MAX_STEPS};
use super::content::{Lookup, Zone};
use super::node::{Flags, Node, RRsetRef};
use super::snapshot::Snapshot;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::{MAX_NAME, Name};

/// Hosted zones that every ALIAS may enter, besides those its owners give it (alias.md section 3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Whether every hosted zone may be entered.
    pub all: bool,
    /// Apexes of zones that every ALIAS may enter.
    pub zones: HashSet<Name>,
}

impl Trust {
    /// Whether an ALIAS that stands in the zone `from` may be answered out of `zone`.
    #[inline]
    pub fn admits(&self, zone: &Zone, from: &Zone, alias: AliasRef<'_>) -> bool {
        self.all || zone.apex() == from.apex() || alias.trusts(zone.owner()) || self.zones.contains(zone.apex())
    }
}

/// Where a walk ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd<'a> {
    /// At an RRset of the family. `ttl` is the lowest TTL in seconds of the chain and of the RRset.
    Addresses {
        /// The addresses.
        rrset: RRsetRef<'a>,
        /// Seconds.
        ttl: u32,
    },
    /// At a name without addresses of the family.
    NoData,
    /// At a name that does not exist.
    NameError,
    /// At a name that the walk had met already.
    Loop,
    /// Over [`MAX_STEPS`] steps, or a DNAME made a name of over 255 octets (RFC 6672 section 2.2).
    ChainTooLong,
    /// At a name outside the hosted zones that are trusted, or below a zone cut. The name is the one in the scratch.
    /// `ttl` is the lowest TTL in seconds of the steps up to it, `u32::MAX` if there was none.
    External {
        /// Seconds.
        ttl: u32,
    },
}

/// Walks from the target of `alias`, a record of `from_zone`, for the addresses of one family. The TTL of the ALIAS
/// itself is not looked at. `scratch` ends up holding the name at which the walk ended.
pub fn walk<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    from_zone: &Zone,
    alias: AliasRef<'_>,
    family: Family,
    scratch: &mut HashedName,
) -> WalkEnd<'a> {
    walk_by_steps(snapshot, trust, (from_zone, alias), alias.target, family, scratch, |_, _| {})
}

/// As [`walk`], from another name that the chain of the target came to.
pub fn walk_from<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    (from_zone, alias): (&Zone, AliasRef<'_>),
    start: &Name,
    family: Family,
    scratch: &mut HashedName,
) -> WalkEnd<'a> {
    walk_by_steps(snapshot, trust, (from_zone, alias), start.as_wire(), family, scratch, |_, _| {})
}

/// As [`walk`], and gives the records walked over, in order, as presentation text for people: the ALIAS itself, which
/// stands at `name`, then each CNAME, DNAME and ALIAS with the owner under which it stands (alias.md section 2, `path`).
pub fn trace<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    (from_zone, name): (&Zone, &Name),
    alias: AliasRef<'_>,
    family: Family,
    scratch: &mut HashedName,
) -> (WalkEnd<'a>, Vec<String>) {
    let line = |owner: &[u8], rtype: Rtype, target: &[u8]| {
        let text = |octets: &[u8]| Name::from_wire(octets).map_or_else(|_| "?".to_owned(), |name| name.to_string());
        format!("{} {rtype} {}", text(owner), text(target))
    };
    let mut path = vec![line(name.as_wire(), Rtype::ALIAS, alias.target)];
    let end = walk_by_steps(snapshot, trust, (from_zone, alias), alias.target, family, scratch, |node, rrset| {
        path.push(line(node.name(), rrset.rtype, step_target(rrset)));
    });
    (end, path)
}

/// The walk; `each` is called with each node that leads on, and its RRset that does.
#[inline]
fn walk_by_steps<'a>(
    snapshot: &'a Snapshot,
    trust: &Trust,
    (from_zone, alias): (&Zone, AliasRef<'_>),
    start: &[u8],
    family: Family,
    scratch: &mut HashedName,
    mut each: impl FnMut(&Node, RRsetRef<'_>),
) -> WalkEnd<'a> {
    let key = snapshot.key();
    if !scratch.load(key, start) {
        return WalkEnd::NameError;
    }
    let mut ttl = u32::MAX;
    // The keyed hashes of the names met so far: enough to tell a name again, since nobody can choose their collisions.
    let mut met = [0_u64; MAX_STEPS];
    for steps in 0..=MAX_STEPS {
        let hash = scratch.hash(scratch.labels());
        if met[..steps].contains(&hash) {
            return WalkEnd::Loop;
        }
        let Some(zone) = snapshot.find_zone(scratch, false).filter(|zone| trust.admits(zone, from_zone, alias)) else {
            return WalkEnd::External { ttl };
        };
        let (node, step, next) = match zone.lookup(scratch, false) {
            Lookup::Exact(node) | Lookup::Wildcard(node) => match at_node(node, family) {
                AtNode::Addresses(rrset) => return WalkEnd::Addresses { rrset, ttl: ttl.min(rrset.ttl) },
                AtNode::Nothing => return WalkEnd::NoData,
                AtNode::Onward(rrset) => (node, rrset, Next::Name(step_target(rrset))),
            },
            Lookup::Dname(node) => match node.rrset(Rtype::DNAME) {
                Some(rrset) => (node, rrset, Next::Below { owner_labels: node.labels(), target: rrset.first() }),
                None => return WalkEnd::NoData,
            },
            Lookup::Cut(_) => return WalkEnd::External { ttl },
            Lookup::NoName => return WalkEnd::NameError,
        };
        if steps == MAX_STEPS {
            return WalkEnd::ChainTooLong;
        }
        each(node, step);
        met[steps] = hash;
        ttl = ttl.min(step.ttl);
        let loaded = match next {
            Next::Name(target) => scratch.load(key, target),
            Next::Below { owner_labels, target } => {
                let above = scratch.start(owner_labels);
                let mut octets = [0_u8; MAX_NAME];
                let Some(room) = octets.get_mut(..above + target.len()) else { return WalkEnd::ChainTooLong };
                room[..above].copy_from_slice(&scratch.wire()[..above]);
                room[above..].copy_from_slice(target);
                scratch.load(key, &octets)
            }
        };
        if !loaded {
            return WalkEnd::NoData;
        }
    }
    WalkEnd::ChainTooLong
}

/// Where a step leads.
enum Next<'a> {
    /// To this name.
    Name(&'a [u8]),
    /// To the labels of the name above the DNAME's owner, put before the DNAME's target.
    Below { owner_labels: usize, target: &'a [u8] },
}

/// The name that a CNAME, a DNAME or an ALIAS points to.
#[inline]
fn step_target(rrset: RRsetRef<'_>) -> &[u8] {
    let rdata = rrset.first();
    if rrset.rtype == Rtype::ALIAS { AliasRef::decode(rdata).map_or(&[], |alias| alias.target) } else { rdata }
}

/// What a node has for the walk.
enum AtNode<'a> {
    Addresses(RRsetRef<'a>),
    Onward(RRsetRef<'a>),
    Nothing,
}

/// An ALIAS goes before addresses that stand at its name: where they replace it, its family is left out of the published
/// record, and else they are its fallback (alias.md section 1, `static`).
#[inline]
fn at_node(node: &Node, family: Family) -> AtNode<'_> {
    let flags = node.flags();
    if flags.has(Flags::ALIAS)
        && let Some(rrset) = node.rrset(Rtype::ALIAS)
        && let Some(nested) = AliasRef::decode(rrset.first())
        && nested.has(family)
    {
        return AtNode::Onward(rrset);
    }
    if let Some(rrset) = node.rrset(family.rtype()) {
        return AtNode::Addresses(rrset);
    }
    if flags.has(Flags::CNAME)
        && let Some(rrset) = node.rrset(Rtype::CNAME)
    {
        return AtNode::Onward(rrset);
    }
    AtNode::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::name::HashKey;
    use crate::zone::alias::AliasRecord;
    use crate::zone::node::RRset;
    use std::sync::Arc;

    const OWNER: u32 = 7;

    fn name(text: &str) -> Name {
        Name::parse(text).expect("a name")
    }

    /// Lines of name, TTL, type and value: an address for A and AAAA, a name for the others.
    fn zone(apex: &str, owner: u32, lines: &str) -> Arc<Zone> {
        let mut zone = Zone::new(name(apex), key(), owner);
        for line in lines.lines().filter(|line| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let at = name(fields[0]);
            let rtype: Rtype = fields[2].parse().expect("a type");
            let record = match rtype {
                Rtype::A => fields[3].parse::<std::net::Ipv4Addr>().expect("an address").octets().to_vec(),
                Rtype::AAAA => fields[3].parse::<std::net::Ipv6Addr>().expect("an address").octets().to_vec(),
                Rtype::ALIAS => alias(fields[3], &fields[4..]),
                _ => name(fields[3]).as_wire().to_vec(),
            };
            let mut rrsets: Vec<RRset> =
                zone.node(&at).map(|node| node.rrsets().map(RRsetRef::to_owned).collect()).unwrap_or_default();
            rrsets.push(RRset { rtype, ttl: fields[1].parse().expect("seconds"), records: vec![record] });
            zone.set(&at, &rrsets);
        }
        Arc::new(zone)
    }

    fn alias(target: &str, families: &[&str]) -> Vec<u8> {
        let all = families.is_empty();
        let plain = AliasRecord::plain(name(target).as_wire().to_vec(), vec![OWNER, 3]);
        let (a, aaaa) = (all || families.contains(&"A"), all || families.contains(&"AAAA"));
        AliasRecord { a, aaaa, ..plain }.encode()
    }

    fn key() -> HashKey {
        HashKey::new(5, 9)
    }

    fn snapshot(zones: &[Arc<Zone>]) -> Snapshot {
        let mut snapshot = Snapshot::new(key());
        for zone in zones {
            snapshot.put_zone(zone.clone());
        }
        snapshot
    }

    fn walked(snapshot: &Snapshot, trust: &Trust, target: &str, family: Family) -> String {
        let from = snapshot.zone(&name("example.com")).expect("the zone of the ALIAS");
        let rdata = alias(target, &[]);
        let mut scratch = HashedName::empty();
        let alias = AliasRef::decode(&rdata).expect("a record");
        match walk(snapshot, trust, from, alias, family, &mut scratch) {
            WalkEnd::Addresses { rrset, ttl } => format!("{:?} {ttl}", rrset.first()),
            WalkEnd::External { ttl: u32::MAX } => format!("external {}", name_of(&scratch)),
            WalkEnd::External { ttl } => format!("external {} {ttl}", name_of(&scratch)),
            WalkEnd::NoData => "no data".to_owned(),
            WalkEnd::NameError => "name error".to_owned(),
            WalkEnd::Loop => "loop".to_owned(),
            WalkEnd::ChainTooLong => "chain too long".to_owned(),
        }
    }

    fn name_of(scratch: &HashedName) -> Name {
        Name::from_wire(scratch.wire()).expect("a name")
    }

    fn sample() -> Snapshot {
        snapshot(&[zone(
            "example.com",
            1,
            "www.example.com 300 A 192.0.2.1
             v6.example.com 300 AAAA 2001:db8::1
             c1.example.com 200 CNAME c2.example.com
             c2.example.com 400 CNAME www.example.com
             out.example.com 50 CNAME edge.proxy.test
             *.wild.example.com 70 CNAME www.example.com
             old.example.com 90 DNAME new.example.com
             host.new.example.com 120 A 192.0.2.2
             cut.example.com 300 NS ns.cut.example.com
             ns.cut.example.com 300 A 192.0.2.53
             nested.example.com 40 ALIAS www.example.com
             four.example.com 40 ALIAS www.example.com A
             apart.example.com 300 ALIAS outside.test AAAA
             apart.example.com 80 A 192.0.2.9
             a.example.com 300 CNAME b.example.com
             b.example.com 300 ALIAS a.example.com
             *.ring.example.com 300 ALIAS x.ring.example.com
             deep.grow.example.com 300 CNAME deep.grow.example.com
             up.example.com 300 DNAME l.up.example.com",
        )])
    }

    #[test]
    fn a_walk_takes_the_lowest_ttl_and_follows_every_kind_of_step() {
        let snapshot = sample();
        for (target, a, aaaa) in [
            ("www.example.com", "[192, 0, 2, 1] 300", "no data"),
            ("c1.example.com", "[192, 0, 2, 1] 200", "no data"),
            ("WWW.wild.example.com", "[192, 0, 2, 1] 70", "no data"),
            ("host.old.example.com", "[192, 0, 2, 2] 90", "no data"),
            ("gone.old.example.com", "name error", "name error"),
            ("old.example.com", "no data", "no data"),
            ("nested.example.com", "[192, 0, 2, 1] 40", "no data"),
            ("four.example.com", "[192, 0, 2, 1] 40", "no data"),
            ("apart.example.com", "[192, 0, 2, 9] 80", "external outside.test. 300"),
            ("gone.example.com", "name error", "name error"),
            ("new.example.com", "no data", "no data"),
            ("out.example.com", "external edge.proxy.test. 50", "external edge.proxy.test. 50"),
            ("edge.proxy.test", "external edge.proxy.test.", "external edge.proxy.test."),
            ("cut.example.com", "external cut.example.com.", "external cut.example.com."),
            ("ns.cut.example.com", "external ns.cut.example.com.", "external ns.cut.example.com."),
            ("a.example.com", "loop", "loop"),
            ("x.ring.example.com", "loop", "loop"),
            ("deep.grow.example.com", "loop", "loop"),
            ("host.up.example.com", "chain too long", "chain too long"),
        ] {
            assert_eq!(walked(&snapshot, &Trust::default(), target, Family::A), a, "{target} A");
            assert_eq!(walked(&snapshot, &Trust::default(), target, Family::Aaaa), aaaa, "{target} AAAA");
        }
    }

    #[test]
    fn a_nested_alias_lends_its_families() {
        let snapshot = snapshot(&[zone(
            "example.com",
            1,
            "host.example.com 300 AAAA 2001:db8::1
             four.example.com 300 ALIAS host.example.com A
             both.example.com 300 ALIAS host.example.com",
        )]);
        assert_eq!(walked(&snapshot, &Trust::default(), "four.example.com", Family::Aaaa), "no data");
        assert!(walked(&snapshot, &Trust::default(), "both.example.com", Family::Aaaa).starts_with("[32, 1"));
    }

    #[test]
    fn sixteen_steps_are_walked_and_seventeen_are_not() {
        let mut lines = String::from("h0.example.com 300 A 192.0.2.1\n");
        for step in 1..=17 {
            lines.push_str(&format!("h{step}.example.com 300 CNAME h{}.example.com\n", step - 1));
        }
        let snapshot = snapshot(&[zone("example.com", 1, &lines)]);
        assert_eq!(walked(&snapshot, &Trust::default(), "h16.example.com", Family::A), "[192, 0, 2, 1] 300");
        assert_eq!(walked(&snapshot, &Trust::default(), "h17.example.com", Family::A), "chain too long");
    }

    #[test]
    fn a_hosted_zone_is_entered_only_with_trust() {
        let mut zones = vec![
            zone("example.com", 1, "to.example.com 300 CNAME www.bank.test\nout.example.com 300 A 192.0.2.7"),
            zone("bank.test", 66, "www.bank.test 300 A 192.0.2.66"),
        ];
        let hosted = snapshot(&zones);
        let none = Trust::default();
        assert_eq!(walked(&hosted, &none, "www.bank.test", Family::A), "external www.bank.test.");
        assert_eq!(walked(&hosted, &none, "to.example.com", Family::A), "external www.bank.test. 300");
        let all = Trust { all: true, ..Trust::default() };
        let listed = Trust { all: false, zones: HashSet::from([name("bank.test")]) };
        for trust in [all, listed] {
            assert_eq!(walked(&hosted, &trust, "www.bank.test", Family::A), "[192, 0, 2, 66] 300");
        }
        for owner in [OWNER, 3] {
            zones[1] = zone("bank.test", owner, "www.bank.test 300 A 192.0.2.66");
            assert_eq!(walked(&snapshot(&zones), &none, "to.example.com", Family::A), "[192, 0, 2, 66] 300");
        }
        // A zone nearer to the name hides the trusted one above it.
        zones[1] = zone("sub.example.com", 66, "www.sub.example.com 300 A 192.0.2.66");
        assert_eq!(walked(&snapshot(&zones), &none, "www.sub.example.com", Family::A), "external www.sub.example.com.");
    }

    #[test]
    fn a_trace_tells_every_record_of_a_loop() {
        let snapshot = snapshot(&[zone("example.com", 1, "*.example.com 300 CNAME example.com")]);
        let rdata = alias("mail.example.com", &[]);
        let mut with = (**snapshot.zone(&name("example.com")).expect("the zone")).clone();
        with.set(&name("example.com"), &[RRset { rtype: Rtype::ALIAS, ttl: 300, records: vec![rdata.clone()] }]);
        let mut after = snapshot.clone();
        after.put_zone(Arc::new(with.clone()));
        let alias = AliasRef::decode(&rdata).expect("a record");
        let mut scratch = HashedName::empty();
        let at = (&with, &name("example.com"));
        let (end, path) = trace(&after, &Trust::default(), at, alias, Family::A, &mut scratch);
        assert_eq!(end, WalkEnd::Loop);
        let wanted = [
            "example.com. ALIAS mail.example.com.",
            "*.example.com. CNAME example.com.",
            "example.com. ALIAS mail.example.com.",
        ];
        assert_eq!(path, wanted);
    }

    #[test]
    fn a_walk_follows_the_snapshot_it_is_given() {
        let before = sample();
        let mut after = before.clone();
        let mut changed = (**before.zone(&name("example.com")).expect("the zone")).clone();
        changed.set(&name("www.example.com"), &[]);
        after.put_zone(Arc::new(changed));
        assert_eq!(walked(&before, &Trust::default(), "c1.example.com", Family::A), "[192, 0, 2, 1] 200");
        assert_eq!(walked(&after, &Trust::default(), "c1.example.com", Family::A), "name error");
    }
}
