//! Which ALIAS records lead to which targets outside, kept up from Snapshot to Snapshot in time proportional to what
//! changed. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::engine::Event;
use super::slot::Want;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{AliasRef, Dependent, Family, Moment, TargetKey};
use crate::zone::content::Zone;
use crate::zone::node::Node;
use crate::zone::snapshot::Snapshot;
use crate::zone::table::Table;
use crate::zone::walk::{Trust, WalkEnd, walk};

/// An ALIAS record: the zone it stands in, and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey {
    /// Apex of the zone.
    pub zone: Name,
    /// The name at which it stands.
    pub name: Name,
}

/// All ALIAS records of a Snapshot with their targets outside.
#[derive(Debug, Default)]
pub struct References {
    trust: Trust,
    records: HashMap<Arc<RecordKey>, Record>,
    by_target: HashMap<TargetKey, BTreeSet<Arc<RecordKey>>>,
    /// Records whose target lies in a hosted zone, so that where they lead hangs on that zone.
    inside: HashSet<Arc<RecordKey>>,
    stale: Stale,
}

/// What was there, and what is.
type Change<'a, T> = (Option<&'a T>, Option<&'a T>);

/// Whether the records of `inside` have been walked since hosted zones changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stale {
    #[default]
    Walked,
    ZonesChanged,
}

#[derive(Debug)]
struct Record {
    node: Node,
    /// Where A and AAAA end outside: none, one, or two if they part.
    targets: Vec<TargetKey>,
    want: Want,
    /// Where hosted zones say that a name does not exist to which it leads, and since when that is known.
    dead: Option<DeadInside>,
}

/// The end of a walk that hosted zones say does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadInside {
    /// The name.
    pub name: Name,
    /// Since when this process knows it.
    pub since: Moment,
}

impl References {
    /// Knows no record.
    pub fn new(trust: Trust) -> References {
        References { trust, ..References::default() }
    }

    /// Goes from one Snapshot to the next. Records that are new or changed are walked; those whose target lies in a
    /// hosted zone wait for [`References::walk_inside`]. What came and went is put behind `events`.
    pub fn advance(&mut self, old: &Snapshot, new: &Snapshot, now: Moment, events: &mut Vec<Event>) {
        let mut zones: Vec<Change<'_, Arc<Zone>>> = Vec::new();
        Table::difference(
            old.zone_table(),
            new.zone_table(),
            &|left, right| left.apex() == right.apex(),
            &|left, right| Arc::ptr_eq(left, right),
            &mut |left, right| zones.push((left, right)),
        );
        if zones.is_empty() {
            return;
        }
        self.stale = Stale::ZonesChanged;
        // Zones that came, went or changed hands: names in them may now be hosted, or no longer.
        let mut moved: HashSet<&Name> = HashSet::new();
        for (left, right) in &zones {
            if let Some(zone) = left.or(*right)
                && left.map(|zone| zone.owner()) != right.map(|zone| zone.owner())
            {
                moved.insert(zone.apex());
            }
            self.advance_zone(new, (left.map(AsRef::as_ref), right.map(AsRef::as_ref)), now, events);
        }
        if !moved.is_empty() {
            let touched: Vec<Arc<RecordKey>> = self
                .by_target
                .iter()
                .filter(|(target, _)| target.name.ancestors().any(|name| moved.contains(&name)))
                .flat_map(|(_, records)| records.iter().cloned())
                .collect();
            for record in touched {
                self.walk_again(new, &record, now, events);
            }
            events.push(Event::Moved(moved.into_iter().cloned().collect()));
        }
    }

    /// Walks the records again whose target lies in a hosted zone, if hosted zones changed.
    pub fn walk_inside(&mut self, snapshot: &Snapshot, now: Moment, events: &mut Vec<Event>) {
        if std::mem::take(&mut self.stale) == Stale::Walked {
            return;
        }
        let records: Vec<Arc<RecordKey>> = self.inside.iter().cloned().collect();
        for record in records {
            self.walk_again(snapshot, &record, now, events);
        }
    }

    /// Whether [`References::walk_inside`] has something to do.
    pub fn needs_walk(&self) -> bool {
        self.stale == Stale::ZonesChanged && !self.inside.is_empty()
    }

    /// The records that lead to a target, in canonical order of zones and names.
    pub fn of_target(&self, target: &TargetKey) -> impl Iterator<Item = &RecordKey> {
        self.by_target.get(target).into_iter().flatten().map(AsRef::as_ref)
    }

    /// The first records that lead to a target, at most so many, with their owners.
    pub fn dependents(&self, target: &TargetKey, most: usize) -> Vec<Dependent> {
        let records = self.by_target.get(target).into_iter().flatten().take(most);
        records
            .map(|key| Dependent {
                zone: key.zone.clone(),
                name: key.name.clone(),
                owner: self.records.get(key).map_or(0, |record| record.want.owner),
            })
            .collect()
    }

    /// Records whose target hosted zones say not to exist, each with since when that is known.
    pub fn dead_inside(&self) -> impl Iterator<Item = (&RecordKey, &DeadInside)> {
        self.inside.iter().filter_map(|key| Some((key.as_ref(), self.records.get(key)?.dead.as_ref()?)))
    }

    /// Number of ALIAS records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no ALIAS record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn advance_zone(&mut self, new: &Snapshot, (left, right): Change<'_, Zone>, now: Moment, events: &mut Vec<Event>) {
        let Some(apex) = left.or(right).map(Zone::apex) else { return };
        let none = Table::default();
        let mut changes: Vec<Change<'_, Node>> = Vec::new();
        Table::difference(
            left.map_or(&none, Zone::aliases),
            right.map_or(&none, Zone::aliases),
            &|one, other| one.name() == other.name(),
            &|one, other| one.is_same(other),
            &mut |one, other| changes.push((one, other)),
        );
        for (before, after) in changes {
            let Some(name) = before.or(after).and_then(|node| Name::from_wire(node.name()).ok()) else { continue };
            let record = Arc::new(RecordKey { zone: apex.clone(), name });
            match (after, right) {
                (Some(node), Some(zone)) => self.put(new, (zone, &record), node, now, events),
                (None, _) | (_, None) => self.remove(&record, events),
            }
        }
    }

    fn walk_again(&mut self, snapshot: &Snapshot, record: &Arc<RecordKey>, now: Moment, events: &mut Vec<Event>) {
        let Some(node) = self.records.get(record).map(|one| one.node.clone()) else { return };
        if let Some(zone) = snapshot.zone(&record.zone) {
            self.put(snapshot, (zone, record), &node, now, events);
        }
    }

    fn put(
        &mut self,
        new: &Snapshot,
        (zone, record): (&Zone, &Arc<RecordKey>),
        node: &Node,
        now: Moment,
        events: &mut Vec<Event>,
    ) {
        let Some(alias) = node.rrset(Rtype::ALIAS).and_then(|rrset| AliasRef::decode(rrset.first())) else {
            self.remove(record, events);
            return;
        };
        let mut scratch = HashedName::empty();
        let mut targets: Vec<TargetKey> = Vec::new();
        let mut dead_at = None;
        let want = Want { owner: alias.owner().unwrap_or(0), hold: alias.policy().hold };
        for family in Family::BOTH.into_iter().filter(|family| alias.has(*family)) {
            match walk(new, &self.trust, zone, alias, family, &mut scratch) {
                WalkEnd::External { .. } => {
                    let target = Name::from_wire(scratch.wire()).ok();
                    let target = target.map(|name| TargetKey { name, group: alias.group() });
                    targets.extend(target.filter(|one| !targets.contains(one)));
                }
                WalkEnd::NameError => dead_at = Name::from_wire(scratch.wire()).ok(),
                WalkEnd::Addresses { .. } | WalkEnd::NoData | WalkEnd::Loop | WalkEnd::ChainTooLong => {}
            }
        }
        if scratch.load(new.key(), alias.target) && new.find_zone(&scratch, false).is_some() {
            self.inside.insert(record.clone());
        } else {
            self.inside.remove(record);
        }
        let known = self.records.get(record);
        let dead = dead_at.map(|name| {
            let before = known.and_then(|one| one.dead.as_ref()).filter(|before| before.name == name);
            before.cloned().unwrap_or(DeadInside { name, since: now })
        });
        if known.is_some_and(|one| one.targets == targets && one.dead == dead && one.node.is_same(node)) {
            return;
        }
        let next = Record { node: node.clone(), targets: targets.clone(), want, dead };
        let before = self.records.insert(record.clone(), next);
        let (before, wanted) = before.map_or((Vec::new(), want), |one| (one.targets, one.want));
        let stays = |target: &TargetKey, others: &[TargetKey]| wanted == want && others.contains(target);
        // What is wanted comes before what no longer is, so that a target that stays is not let go between.
        for target in targets.iter().filter(|one| !stays(one, &before)) {
            self.by_target.entry(target.clone()).or_default().insert(record.clone());
            events.push(Event::Wanted(target.clone(), want));
        }
        for target in before.iter().filter(|one| !stays(one, &targets)) {
            if !targets.contains(target) {
                self.forget(record, target);
            }
            events.push(Event::Unwanted(target.clone(), wanted));
        }
    }

    fn remove(&mut self, record: &Arc<RecordKey>, events: &mut Vec<Event>) {
        self.inside.remove(record);
        let Some(Record { targets, want, .. }) = self.records.remove(record) else { return };
        for target in targets {
            self.forget(record, &target);
            events.push(Event::Unwanted(target, want));
        }
    }

    fn forget(&mut self, record: &Arc<RecordKey>, target: &TargetKey) {
        if let Some(records) = self.by_target.get_mut(target) {
            records.remove(record);
            if records.is_empty() {
                self.by_target.remove(target);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::name::HashKey;
    use crate::zone::alias::AliasRecord;
    use crate::zone::node::RRset;

    fn name(text: &str) -> Name {
        Name::parse(text).expect("a name")
    }

    fn set(snapshot: &mut Snapshot, zone: &str, owner: u32, at: &str, rrset: Option<(Rtype, Vec<u8>)>) {
        let old = snapshot.zone(&name(zone)).cloned();
        let mut next = old.map_or_else(|| Zone::new(name(zone), snapshot.key(), owner), |zone| (*zone).clone());
        let rrsets: Vec<RRset> =
            rrset.into_iter().map(|(rtype, record)| RRset { rtype, ttl: 300, records: vec![record] }).collect();
        next.set(&name(at), &rrsets);
        snapshot.put_zone(Arc::new(next));
    }

    fn alias(target: &str) -> Option<(Rtype, Vec<u8>)> {
        let record = AliasRecord::plain(name(target).as_wire().to_vec(), vec![1]);
        Some((Rtype::ALIAS, record.encode()))
    }

    fn cname(target: &str) -> Option<(Rtype, Vec<u8>)> {
        Some((Rtype::CNAME, name(target).as_wire().to_vec()))
    }

    fn told(events: Vec<Event>) -> Vec<String> {
        let mut told: Vec<String> = events
            .into_iter()
            .filter(|event| !matches!(event, Event::Moved(_)))
            .map(|event| match event {
                Event::Wanted(target, _) => format!("+{}", target.name),
                Event::Unwanted(target, _) => format!("-{}", target.name),
                other => panic!("{other:?}"),
            })
            .collect();
        told.sort();
        told
    }

    struct Story {
        references: References,
        snapshot: Snapshot,
    }

    impl Story {
        fn new() -> Story {
            Story { references: References::new(Trust::default()), snapshot: Snapshot::new(HashKey::new(1, 2)) }
        }

        fn then(&mut self, change: impl FnOnce(&mut Snapshot)) -> Vec<String> {
            let mut next = self.snapshot.clone();
            change(&mut next);
            let mut events = Vec::new();
            self.references.advance(&self.snapshot, &next, Moment(1), &mut events);
            self.references.walk_inside(&next, Moment(1), &mut events);
            self.snapshot = next;
            told(events)
        }
    }

    #[test]
    fn records_that_come_and_go_want_and_let_go_their_targets() {
        let mut story = Story::new();
        let edge = "edge.proxy.test";
        let one = story.then(|next| set(next, "example.com", 1, "www.example.com", alias(edge)));
        assert_eq!(one, ["+edge.proxy.test."]);
        let two = story.then(|next| set(next, "example.com", 1, "*.example.com", alias(edge)));
        assert_eq!(two, ["+edge.proxy.test."]);
        let records: Vec<String> =
            story.references.of_target(&TargetKey::of(name(edge))).map(|one| one.name.to_string()).collect();
        assert_eq!(records, ["*.example.com.", "www.example.com."]);
        assert_eq!(story.then(|next| set(next, "example.com", 1, "mail.example.com", None)), [""; 0]);
        let moved = story.then(|next| set(next, "example.com", 1, "www.example.com", alias("other.test")));
        assert_eq!(moved, ["+other.test.", "-edge.proxy.test."]);
        assert_eq!(story.then(|next| set(next, "example.com", 1, "www.example.com", None)), ["-other.test."]);
        let gone = story.then(|next| {
            next.remove_zone(&name("example.com"));
        });
        assert_eq!(gone, ["-edge.proxy.test."]);
        assert!(story.references.is_empty());
        assert!(story.references.by_target.is_empty());
    }

    #[test]
    fn a_target_inside_is_followed_to_where_it_leads() {
        let mut story = Story::new();
        let inside = story.then(|next| set(next, "example.com", 1, "www.example.com", alias("to.example.com")));
        assert_eq!(inside, [""; 0]);
        let out = story.then(|next| set(next, "example.com", 1, "to.example.com", cname("edge.proxy.test")));
        assert_eq!(out, ["+edge.proxy.test."]);
        assert_eq!(story.then(|next| set(next, "example.com", 1, "to.example.com", None)), ["-edge.proxy.test."]);
    }

    #[test]
    fn a_zone_that_comes_to_be_hosted_takes_over_its_names_if_it_is_trusted() {
        let mut story = Story::new();
        let target = "www.other.test";
        let first = story.then(|next| set(next, "example.com", 1, "www.example.com", alias(target)));
        assert_eq!(first, ["+www.other.test."]);
        // Somebody else's zone of that name is not entered.
        let foreign = (Rtype::A, vec![192, 0, 2, 66]);
        assert_eq!(story.then(|next| set(next, "other.test", 9, target, Some(foreign.clone()))), [""; 0]);
        let handed_over = story.then(|next| {
            let mut zone = (**next.zone(&name("other.test")).expect("the zone")).clone();
            zone.set_owner(1);
            next.put_zone(Arc::new(zone));
        });
        assert_eq!(handed_over, ["-www.other.test."]);
        let gone = story.then(|next| {
            next.remove_zone(&name("other.test"));
        });
        assert_eq!(gone, ["+www.other.test."]);
    }
}
