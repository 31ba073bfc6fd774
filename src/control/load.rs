//! The first Snapshot: everything the store holds, as far as it can be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{assemble, check};
use crate::ledger::claim::Claim;
use crate::ledger::limits::MAX_DEPTH;
use crate::ledger::owner::{Owner, OwnerNumber};
use crate::ledger::zone::{ZoneNumber, ZoneRow};
use crate::ledger::zones::{DEFAULT_TTL, soa_of};
use crate::store::load::{Alarms, Frame};
use crate::store::{StoreError, Writer, load as reading};
use crate::wire::codes::Rtype;
use crate::wire::name::{HashKey, Name};
use crate::zone::content::Zone;
use crate::zone::node::RRset;
use crate::zone::serial;
use crate::zone::snapshot::Snapshot;

/// Reads the store into a Snapshot.
pub(super) async fn load(writer: &mut Writer, key: HashKey, alarms: &mut Alarms) -> Result<Snapshot, StoreError> {
    let frame = reading::frame(writer, alarms).await?;
    let mut building = Building::new(&frame, key);
    let mut unfit = Vec::new();
    reading::names(writer, &frame, alarms, |claims| unfit.extend(building.put(claims))).await?;
    for sentence in unfit {
        alarms.add(|| sentence);
    }
    let mut snapshot = Snapshot::new(key);
    snapshot.revision = writer.revision();
    for zone in building.finish(alarms) {
        snapshot.put_zone(Arc::new(zone));
    }
    Ok(snapshot)
}

struct Building<'a> {
    owners: &'a BTreeMap<OwnerNumber, Owner>,
    zones: BTreeMap<ZoneNumber, (&'a ZoneRow, Zone)>,
}

impl<'a> Building<'a> {
    fn new(frame: &'a Frame, key: HashKey) -> Building<'a> {
        let zones = frame
            .zones
            .iter()
            .map(|row| (row.number, (row, Zone::new(row.name.clone(), key, row.owner_number.0))))
            .collect();
        Building { owners: &frame.owners, zones }
    }

    /// Puts the held claims of a name in; gives back a sentence if they cannot be served.
    fn put(&mut self, claims: Vec<Claim>) -> Option<String> {
        let first = claims.first()?;
        let (row, zone) = self.zones.get_mut(&first.zone)?;
        let owners = self.owners;
        let rrsets = assemble::rrsets(&claims, row.serial, |owner| chain_of(owners, owner));
        // An apex without SOA or NS gets them at the end.
        let is_apex = first.name == row.name;
        match check::name(&first.name, &rrsets, false) {
            Err(problem) if !is_apex => Some(format!("a name of the store is not served: {}", problem.detail)),
            Ok(()) | Err(_) => {
                zone.set(&first.name, &rrsets);
                None
            }
        }
    }

    fn finish(self, alarms: &mut Alarms) -> Vec<Zone> {
        let complete = |(row, mut zone): (&ZoneRow, Zone)| {
            complete_apex(row, &mut zone, alarms);
            zone
        };
        self.zones.into_values().map(complete).collect()
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
        alarms.add(|| format!("the apex {} has a CNAME in the store, which is not served", row.name));
    }
    let has = |rtype: Rtype| rrsets.iter().any(|rrset| rrset.rtype == rtype);
    let (has_soa, has_ns) = (has(Rtype::SOA), has(Rtype::NS));
    let names: Vec<Name> = if row.nameservers.is_empty() { vec![row.name.clone()] } else { row.nameservers.clone() };
    if !has_soa {
        let mut soa = soa_of(&names[0], &row.name);
        serial::replace(&mut soa, row.serial);
        rrsets.push(RRset { rtype: Rtype::SOA, ttl: DEFAULT_TTL, records: vec![soa] });
        alarms.add(|| format!("the zone {} has no SOA in the store, and is served with one of the server", row.name));
    }
    if !has_ns {
        let records = names.iter().map(|name| name.as_wire().to_vec()).collect();
        rrsets.push(RRset { rtype: Rtype::NS, ttl: DEFAULT_TTL, records });
        alarms.add(|| format!("the zone {} has no NS in the store, and is served with one of the server", row.name));
    }
    rrsets.sort_by_key(|rrset| rrset.rtype);
    zone.set(&row.name, &rrsets);
}
