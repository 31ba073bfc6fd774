//! The first Snapshot: everything the store holds, as far as it can be read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::terms::Terms;
use super::{assemble, check};
use crate::ledger::alias_options::MIN_SECONDS;
use crate::ledger::limits::MAX_DEPTH;
use crate::ledger::owner::{Owner, OwnerNumber};
use crate::ledger::zone::{ZoneNumber, ZoneRow};
use crate::ledger::zones::own_records;
use crate::store::load::{Alarms, Frame, Reading, Stored, Subject};
use crate::store::{StoreError, Writer, load as reading};
use crate::wire::codes::Rtype;
use crate::wire::name::{HashKey, Name};
use crate::zone::alias::{AliasEntry, Group, Moment, TargetKey};
use crate::zone::bulk::Bulk;
use crate::zone::content::Zone;
use crate::zone::node::{RRset, RRsetRef};
use crate::zone::serial;
use crate::zone::snapshot::Snapshot;

/// Reads the store into a Snapshot.
pub async fn load(
    writer: &mut Writer,
    key: HashKey,
    terms: &Terms,
    how: Reading,
    alarms: &mut Alarms,
) -> Result<Snapshot, StoreError> {
    let frame = reading::frame(writer, alarms).await?;
    let mut building = Building::new(&frame, key, terms);
    let mut unfit = Vec::new();
    reading::names(writer, &frame, how, alarms, |stored| unfit.extend(building.put(stored))).await?;
    for sentence in unfit {
        alarms.add(Subject::Claim, || sentence);
    }
    let mut snapshot = Snapshot::new(key);
    snapshot.revision = writer.revision();
    for zone in building.finish(alarms) {
        snapshot.put_zone(Arc::new(zone));
    }
    Ok(snapshot)
}

/// Puts into a Snapshot what was known of external ALIAS targets when the server last ran. What cannot be read is
/// Pending, as if it had not been known.
pub async fn targets(
    writer: &mut Writer,
    snapshot: &mut Snapshot,
    terms: &Terms,
    now: Moment,
) -> Result<(), StoreError> {
    let mut entries: HashMap<TargetKey, AliasEntry> = HashMap::new();
    for row in writer.targets().await? {
        let row = match row {
            Ok(row) => row,
            Err(sentence) => {
                tracing::warn!("{sentence}; it is asked for anew");
                continue;
            }
        };
        let group = terms.group(Some(&row.group));
        if group == Group::UNKNOWN {
            continue;
        }
        let key = TargetKey { name: row.target, group };
        let entry = entries.entry(key).or_insert_with_key(|key| AliasEntry::pending(key.clone(), now));
        let mut answer = row.answer;
        if answer.last_ok.is_some_and(|at| at > now) {
            // The clock was set back: it has expired, whatever a record's bounds of the hold are.
            let held = answer.ttl.max(u32::try_from(MIN_SECONDS.1).unwrap_or(u32::MAX));
            answer.last_ok = Some(Moment(now.0.saturating_sub(u64::from(held) * 1_000)));
        }
        answer.since = answer.since.min(now);
        *entry.family_mut(row.family) = answer;
    }
    for entry in entries.into_values() {
        snapshot.alias.put(Arc::new(entry));
    }
    Ok(())
}

struct Building<'a> {
    terms: &'a Terms,
    owners: &'a BTreeMap<OwnerNumber, Owner>,
    zones: BTreeMap<ZoneNumber, (&'a ZoneRow, Bulk)>,
}

impl<'a> Building<'a> {
    fn new(frame: &'a Frame, key: HashKey, terms: &'a Terms) -> Building<'a> {
        let zone = |row: &ZoneRow| Bulk::new(Zone::new(row.name.clone(), key, row.owner_number.0));
        let zones = frame.zones.iter().map(|row| (row.number, (row, zone(row)))).collect();
        Building { terms, owners: &frame.owners, zones }
    }

    /// Puts the held claims of a name in; gives back a sentence if they cannot be served.
    fn put(&mut self, stored: Stored<'_>) -> Option<String> {
        match stored {
            Stored::Plain { zone, name, rrsets } => {
                let (row, bulk) = self.zones.get_mut(&zone)?;
                if name != row.name && check::is_plain(rrsets) {
                    bulk.put(&name, rrsets);
                    return None;
                }
                put_checked(row, bulk, name, rrsets.iter().copied().map(RRsetRef::to_owned).collect())
            }
            Stored::Claims(claims) => {
                let first = claims.first()?;
                let (row, bulk) = self.zones.get_mut(&first.zone)?;
                let owners = self.owners;
                let rrsets = assemble::rrsets(&claims, row, self.terms, |owner| chain_of(owners, owner));
                put_checked(row, bulk, first.name.clone(), rrsets)
            }
        }
    }

    fn finish(self, alarms: &mut Alarms) -> Vec<Zone> {
        let complete = |(row, bulk): (&ZoneRow, Bulk)| {
            let mut zone = bulk.finish();
            complete_apex(row, &mut zone, alarms);
            zone
        };
        self.zones.into_values().map(complete).collect()
    }
}

fn put_checked(row: &ZoneRow, bulk: &mut Bulk, name: Name, rrsets: Vec<RRset>) -> Option<String> {
    // An apex without SOA or NS gets them at the end.
    let is_apex = name == row.name;
    match check::name(&name, &rrsets, false) {
        Err(problem) if !is_apex => Some(format!("a name of the store is not served: {}", problem.detail)),
        Ok(()) | Err(_) if is_apex => {
            bulk.put_late(name, rrsets);
            None
        }
        Ok(()) | Err(_) => {
            bulk.put_owned(&name, &rrsets);
            None
        }
    }
}

/// An owner and those above it, by number.
fn chain_of(owners: &BTreeMap<OwnerNumber, Owner>, owner: OwnerNumber) -> Vec<u32> {
    std::iter::successors(Some(owner), |number| owners.get(number).and_then(|one| one.parent))
        .take(MAX_DEPTH)
        .map(|number| number.0)
        .collect()
}

/// A zone whose SOA or NS cannot be read is served with the server's own, so that negative answers have one.
fn complete_apex(row: &ZoneRow, zone: &mut Zone, alarms: &mut Alarms) {
    let mut rrsets: Vec<RRset> = zone.apex_node().rrsets().map(|rrset| rrset.to_owned()).collect();
    if rrsets.iter().any(|rrset| rrset.rtype == Rtype::CNAME) {
        rrsets.retain(|rrset| rrset.rtype != Rtype::CNAME);
        alarms.add(Subject::Frame, || format!("the apex {} has a CNAME in the store, which is not served", row.name));
    }
    let has = |rtype: Rtype| rrsets.iter().any(|rrset| rrset.rtype == rtype);
    let (has_soa, has_ns) = (has(Rtype::SOA), has(Rtype::NS));
    for (rtype, is_there) in [(Rtype::SOA, has_soa), (Rtype::NS, has_ns)] {
        if is_there {
            continue;
        }
        let mut records = own_records(row, rtype);
        if rtype == Rtype::SOA {
            records.iter_mut().for_each(|soa| {
                serial::replace(soa, row.serial);
            });
        }
        rrsets.push(RRset { rtype, ttl: row.default_ttl, records });
        alarms.add(Subject::Frame, || {
            format!("the zone {} has no {rtype} in the store, and is served with that of the server", row.name)
        });
    }
    rrsets.sort_by_key(|rrset| rrset.rtype);
    zone.set(&row.name, &rrsets);
}
