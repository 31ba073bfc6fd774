//! The published state: all zones and what is known of ALIAS targets, immutable, under one revision.

use std::sync::Arc;

use super::alias::AliasTable;
use super::content::{Depths, Zone};
use super::table::Table;
use crate::wire::hashed::HashedName;
use crate::wire::name::{HashKey, Name};

/// What queries are answered from. A clone shares everything; a change copies what it touches.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The store's revision that this state belongs to.
    pub revision: u64,
    key: HashKey,
    zones: Table<Arc<Zone>>,
    apexes: Depths,
    /// Answers of external ALIAS targets.
    pub alias: AliasTable,
}

impl Snapshot {
    /// No zones. All zones put in later are made with the same key.
    pub fn new(key: HashKey) -> Snapshot {
        Snapshot { revision: 0, key, zones: Table::default(), apexes: Depths::default(), alias: AliasTable::new(key) }
    }

    /// The key of all hashes of names in here.
    #[inline]
    pub fn key(&self) -> HashKey {
        self.key
    }

    /// Number of zones.
    pub fn zone_count(&self) -> usize {
        self.zones.len()
    }

    /// Records in all zones.
    pub fn record_count(&self) -> u64 {
        self.zones.iter().map(|zone| zone.record_count()).sum()
    }

    /// The zone with exactly this apex.
    pub fn zone(&self, apex: &Name) -> Option<&Arc<Zone>> {
        self.zones.get(self.key.hash(apex.as_wire()), |zone| zone.apex() == apex)
    }

    /// All zones, in no order.
    pub fn zones(&self) -> impl Iterator<Item = &Arc<Zone>> {
        self.zones.iter()
    }

    /// The table of zones, for [`Table::difference`].
    pub fn zone_table(&self) -> &Table<Arc<Zone>> {
        &self.zones
    }

    /// Puts a zone in, in the place of the one with its apex.
    pub fn put_zone(&mut self, zone: Arc<Zone>) {
        let apex = zone.apex().clone();
        let labels = zone.apex_labels();
        if self.zones.insert(self.key.hash(apex.as_wire()), zone, |one| *one.apex() == apex).is_none() {
            self.apexes.add(labels);
        }
    }

    /// Takes a zone out.
    pub fn remove_zone(&mut self, apex: &Name) -> Option<Arc<Zone>> {
        let old = self.zones.remove(self.key.hash(apex.as_wire()), |zone| zone.apex() == apex)?;
        self.apexes.remove(old.apex_labels());
        Some(old)
    }

    /// The zone nearest to a name, by whole labels; with `for_ds` one above the name, if there is one, since DS at an
    /// apex is the parent's (RFC 4035 section 3.1.4.1).
    #[inline]
    pub fn find_zone(&self, name: &HashedName, for_ds: bool) -> Option<&Arc<Zone>> {
        let mut depths = self.apexes.between(0, name.labels());
        let mut own = None;
        while depths != 0 {
            let labels = 127 - depths.leading_zeros() as usize;
            depths &= !(1 << labels);
            let zone = self.zones.get(name.hash(labels), |zone| zone.apex().as_wire() == name.suffix(labels));
            if let Some(zone) = zone {
                if !for_ds || labels < name.labels() {
                    return Some(zone);
                }
                own = Some(zone);
            }
        }
        own
    }

    /// [`Snapshot::find_zone`] for a [`Name`].
    pub fn zone_of(&self, name: &Name) -> Option<&Arc<Zone>> {
        let mut hashed = HashedName::empty();
        hashed.load(self.key, name.as_wire());
        self.find_zone(&hashed, false)
    }
}
