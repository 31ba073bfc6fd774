//! Records to a zone: the apex, RRsets in canonical order, and what a whole zone must be (answers.md F2, F6-F8).

use std::collections::HashSet;

use super::reader::{Place, Record, Records};
use super::{Finding, MAX_ERRORS, MAX_WARNINGS, ZoneFile};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata::canonical;
use crate::zone::check::{Fault, Severity, check};
use crate::zone::node::RRset;

/// Up to so many records of an RRset repeats are found by comparing each with each.
const FEW: usize = 8;

/// A zone of the records, or the errors.
pub(super) fn zone(mut read: Records) -> Result<ZoneFile, Vec<Finding>> {
    let mut errors = std::mem::take(&mut read.errors);
    let Some(soa) = read.records.iter().position(|record| record.rtype == Rtype::SOA) else {
        if errors.is_empty() {
            let text = "the zone has no SOA record; expected one, as `@ SOA ns1 hostmaster 1 2h 15m 2w 5m`";
            errors.push((Place { file: 0, line: 1 }, text.to_owned()));
        }
        return Err(findings(&read, errors, MAX_ERRORS));
    };
    let apex = read.owners[read.records[soa].owner as usize].clone();
    errors.extend(other_soas(&read, soa, &apex));
    let minimum = read.records[soa].rdata.last_chunk().map_or(0, |octets| u32::from_be_bytes(*octets));
    let minimum = minimum.min(super::fields::MAX_TTL);
    let mut unsaid = 0;
    let mut warnings: Vec<_> = read.left_out.iter().map(|(rtype, found)| left_out(*rtype, *found)).collect();

    let groups = Groups::of(&mut read, &apex, minimum, &mut warnings, &mut unsaid);
    for issue in check(&apex, &groups.rrsets) {
        let place = issue.rrset.map_or(read_place(&groups, 0), |at| read_place(&groups, at));
        match (issue.severity(), &issue.fault) {
            // Said above with both places.
            (Severity::Error, Fault::SeveralRecords | Fault::SoaBelowApex) if issue.rtype == Rtype::SOA => {}
            (Severity::Error, _) => errors.push((place, issue.to_string())),
            (Severity::Warning, _) => warnings.push((place, issue.to_string())),
        }
    }
    if !errors.is_empty() {
        return Err(findings(&read, errors, MAX_ERRORS));
    }
    let left = unsaid + warnings.len().saturating_sub(MAX_WARNINGS);
    let mut warnings = findings(&read, warnings, MAX_WARNINGS);
    if let (1.., Some(last)) = (left, warnings.last()) {
        let more = Finding { text: format!("{left} more warnings are not shown"), ..last.clone() };
        warnings.push(more);
    }
    Ok(ZoneFile { origin: apex, rrsets: groups.rrsets, warnings })
}

fn read_place(groups: &Groups, at: usize) -> Place {
    groups.places.get(at).copied().unwrap_or(Place { file: 0, line: 1 })
}

/// In the order of the files and lines, at most `limit`.
fn findings(read: &Records, mut found: Vec<(Place, String)>, limit: usize) -> Vec<Finding> {
    found.sort_by_key(|(place, _)| *place);
    found.truncate(limit);
    found.into_iter().map(|(place, text)| read.finding(place, text)).collect()
}

fn other_soas(read: &Records, first: usize, apex: &Name) -> Vec<(Place, String)> {
    let wanted = canonical(Rtype::SOA, &read.records[first].rdata);
    let line = read.records[first].place.line;
    let soas = read.records.iter().filter(|record| record.rtype == Rtype::SOA);
    let other = soas
        .filter(|record| read.owners[record.owner as usize] != *apex || canonical(Rtype::SOA, &record.rdata) != wanted);
    let text = format!("this is another SOA than the one in line {line}; expected one in a zone");
    other.take(MAX_ERRORS).map(|record| (record.place, text.clone())).collect()
}

fn left_out(rtype: Rtype, (count, place): (u64, Place)) -> (Place, String) {
    let records = if count == 1 { "record is" } else { "records are" };
    (place, format!("{count} {rtype} {records} left out, since signatures are not taken from files"))
}

/// RRsets with the place of the first record of each.
struct Groups {
    rrsets: Vec<(Name, RRset)>,
    places: Vec<Place>,
}

impl Groups {
    /// Warnings that could not be shown are only counted, in `unsaid`.
    fn of(
        read: &mut Records,
        apex: &Name,
        minimum: u32,
        warnings: &mut Vec<(Place, String)>,
        unsaid: &mut usize,
    ) -> Groups {
        let ranks = ranks(&read.owners, apex);
        let mut records = std::mem::take(&mut read.records);
        records.retain(|record| {
            let inside = ranks[record.owner as usize] != OUTSIDE;
            if !inside && warnings.len() >= MAX_WARNINGS {
                *unsaid += 1;
            } else if !inside {
                let name = &read.owners[record.owner as usize];
                let text = format!("{} of {name} is left out, since it is not in the zone {apex}", record.rtype);
                warnings.push((record.place, text));
            }
            inside
        });
        // Stable, so that of an RRset the first record comes first.
        records.sort_by_key(|record| (ranks[record.owner as usize], record.rtype));
        let (rrsets, places) = (Vec::with_capacity(records.len()), Vec::with_capacity(records.len()));
        let mut groups = Groups { rrsets, places };
        let mut records = records.into_iter().peekable();
        while let Some(first) = records.next() {
            let rank = ranks[first.owner as usize];
            let same = |other: &Record| ranks[other.owner as usize] == rank && other.rtype == first.rtype;
            let mut rrset = Building::new(&first, minimum);
            let (owner, place) = (first.owner, first.place);
            rrset.records.push(first.rdata);
            while let Some(next) = records.next_if(same) {
                rrset.add(next, minimum);
            }
            let name = read.owners[owner as usize].clone();
            if let Some(place) = rrset.other_ttl {
                let Building { rtype, ttl, .. } = rrset;
                let text = format!("{rtype} records of {name} have different TTLs; the lowest, {ttl}, is taken");
                warnings.push((place, text));
            }
            groups.rrsets.push((name, RRset { rtype: rrset.rtype, ttl: rrset.ttl, records: rrset.records }));
            groups.places.push(place);
        }
        groups
    }
}

/// An RRset that is put together.
struct Building {
    rtype: Rtype,
    ttl: u32,
    other_ttl: Option<Place>,
    records: Vec<Vec<u8>>,
    /// Canonical forms, once there are more than a few records.
    seen: HashSet<Vec<u8>>,
}

impl Building {
    fn new(first: &Record, minimum: u32) -> Building {
        let ttl = first.ttl.unwrap_or(minimum);
        Building { rtype: first.rtype, ttl, other_ttl: None, records: Vec::with_capacity(1), seen: HashSet::new() }
    }

    /// Adds a record unless it is there; the TTL of a repeat counts as any.
    fn add(&mut self, record: Record, minimum: u32) {
        let ttl = record.ttl.unwrap_or(minimum);
        if ttl != self.ttl {
            self.other_ttl.get_or_insert(record.place);
            self.ttl = self.ttl.min(ttl);
        }
        let form = canonical(self.rtype, &record.rdata);
        let is_new = if self.records.len() < FEW {
            self.records.iter().all(|one| canonical(self.rtype, one) != form)
        } else {
            if self.seen.is_empty() {
                self.seen.extend(self.records.iter().map(|one| canonical(self.rtype, one)));
            }
            self.seen.insert(form)
        };
        if is_new {
            self.records.push(record.rdata);
        }
    }
}

/// The rank of a name that is not in the zone.
const OUTSIDE: u32 = u32::MAX;

/// For each owner its position in canonical order, the same for the same name.
fn ranks(owners: &[Name], apex: &Name) -> Vec<u32> {
    let mut keys: Vec<(u64, Vec<u8>, u32)> = Vec::with_capacity(owners.len());
    let mut ranks = vec![OUTSIDE; owners.len()];
    for (at, name) in owners.iter().enumerate() {
        if let Some(key) = name.sort_key(apex) {
            // Most comparisons are decided by the first octets, without following a pointer.
            let mut first = [0; 8];
            let length = key.len().min(8);
            first[..length].copy_from_slice(&key[..length]);
            keys.push((u64::from_be_bytes(first), key, at as u32));
        }
    }
    keys.sort_unstable();
    let mut rank = 0;
    for (at, (_, key, owner)) in keys.iter().enumerate() {
        if at > 0 && keys[at - 1].1 != *key {
            rank += 1;
        }
        ranks[*owner as usize] = rank;
    }
    ranks
}
