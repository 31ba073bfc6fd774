//! The last-good file: all that is published, as octets with a checksum, so that a server answers rightly from it alone.
//! Numbers are little-endian. After the head (a line of text, version, identity of the store, revision, time, names of the
//! groups of upstreams) come the zones, each with its apex, the number of its owner, and its names in canonical order with
//! RRsets packed as a node has them; then what is known of ALIAS targets, with absolute times; then SHA-256 of it all.

use std::io::{self, Write};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::addresses::Addresses;
use super::alias::{AliasEntry, AliasRecord, AliasRef, AliasState, Family, FamilyAnswer, Group, Moment, TargetKey};
use super::bulk::Bulk;
use super::content::Zone;
use super::node::{MAX_TYPES, Node, RRset, RRsetRef};
use super::snapshot::Snapshot;
use crate::wire::codes::Rtype;
use crate::wire::name::{HashKey, Name};

const MAGIC: &[u8] = b"tenured last-good file\n";
/// Version of the format; another one is not read.
const VERSION: u32 = 1;
const CHECKSUM: usize = 32;
/// No chain of names, in the place of their number.
const NO_NAMES: u8 = u8::MAX;

/// Why octets are no last-good file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// They are of something else, or of another version of the format.
    Format,
    /// They are not what was written.
    Checksum,
    /// They are what was written, and do not read as they should.
    Content,
}

impl Unfit {
    /// What is wrong, for a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Unfit::Format => "it is no last-good file of this version",
            Unfit::Checksum => "its checksum is wrong",
            Unfit::Content => "it cannot be read",
        }
    }
}

/// What a last-good file holds.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Identity of the store that it was made from.
    pub identity: String,
    /// When it was written.
    pub written: Moment,
    /// What was published, with its revision.
    pub snapshot: Snapshot,
}

/// What the file says of itself besides the Snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Identity of the store.
    pub identity: &'a str,
    /// The time now.
    pub written: Moment,
    /// Names of the groups of upstreams, by number.
    pub groups: &'a [String],
}

/// Writes a Snapshot; gives back how many octets.
pub fn write(snapshot: &Snapshot, head: Head<'_>, out: &mut impl Write) -> io::Result<u64> {
    let mut out = Summed { out, digest: Sha256::new(), length: 0 };
    out.put(MAGIC)?;
    out.put(&VERSION.to_le_bytes())?;
    out.text(head.identity)?;
    out.put(&snapshot.revision.to_le_bytes())?;
    out.put(&head.written.0.to_le_bytes())?;
    out.put(&(head.groups.len() as u16).to_le_bytes())?;
    head.groups.iter().try_for_each(|group| out.text(group))?;
    out.put(&(snapshot.zone_count() as u64).to_le_bytes())?;
    for zone in snapshot.zones() {
        out.name(zone.apex().as_wire())?;
        out.put(&zone.owner().to_le_bytes())?;
        let mut nodes: Vec<(Vec<u8>, &Node)> = zone
            .nodes()
            .filter(|node| node.rrsets().next().is_some())
            .map(|node| (canonical(node.name()), node))
            .collect();
        nodes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        out.put(&(nodes.len() as u64).to_le_bytes())?;
        for (_, node) in nodes {
            out.name(node.name())?;
            out.put(&[node.rrsets().count() as u8])?;
            for rrset in node.rrsets() {
                out.put(&rrset.rtype.0.to_le_bytes())?;
                out.put(&rrset.ttl.to_le_bytes())?;
                out.put(&(rrset.octets() as u32).to_le_bytes())?;
                for record in rrset.records() {
                    out.put(&(record.len() as u16).to_le_bytes())?;
                    out.put(record)?;
                }
            }
        }
    }
    out.put(&(snapshot.alias.iter().count() as u64).to_le_bytes())?;
    for entry in snapshot.alias.iter() {
        out.name(entry.target.name.as_wire())?;
        out.put(&[entry.target.group.0])?;
        for family in Family::BOTH {
            out.answer(entry.family(family), family)?;
        }
    }
    let checksum = out.digest.finalize();
    out.out.write_all(&checksum)?;
    Ok(out.length + CHECKSUM as u64)
}

/// Labels from the right, each ended by what no other octet is below: their order is canonical order.
fn canonical(wire: &[u8]) -> Vec<u8> {
    let mut labels: Vec<&[u8]> = crate::wire::name::Labels::of(wire).collect();
    labels.reverse();
    let mut key = Vec::with_capacity(wire.len() + labels.len());
    for label in labels {
        for octet in label {
            // 0 and 1 are written as two, so that the end of a label is below them all.
            match octet {
                0 | 1 => key.extend_from_slice(&[1, octet + 1]),
                other => key.push(*other),
            }
        }
        key.push(0);
    }
    key
}

struct Summed<'a, W> {
    out: &'a mut W,
    digest: Sha256,
    length: u64,
}

impl<W: Write> Summed<'_, W> {
    fn put(&mut self, octets: &[u8]) -> io::Result<()> {
        self.digest.update(octets);
        self.length += octets.len() as u64;
        self.out.write_all(octets)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.put(&(text.len() as u16).to_le_bytes())?;
        self.put(text.as_bytes())
    }

    fn name(&mut self, wire: &[u8]) -> io::Result<()> {
        self.put(&[wire.len() as u8])?;
        self.put(wire)
    }

    fn moment(&mut self, moment: Option<Moment>) -> io::Result<()> {
        self.put(&moment.map_or(u64::MAX, |moment| moment.0).to_le_bytes())
    }

    fn answer(&mut self, answer: &FamilyAnswer, family: Family) -> io::Result<()> {
        let state = AliasState::ALL.iter().position(|state| *state == answer.state).unwrap_or(0);
        self.put(&[state as u8])?;
        self.moment(Some(answer.since))?;
        for moment in [answer.last_ok, answer.checked, answer.changed] {
            self.moment(moment)?;
        }
        self.put(&answer.ttl.to_le_bytes())?;
        self.put(&answer.highest_ttl.to_le_bytes())?;
        let addresses = answer.addresses.octets(family);
        self.put(&(addresses.len() as u16).to_le_bytes())?;
        self.put(addresses)?;
        match &answer.crossing {
            None => self.put(&[NO_NAMES]),
            Some(names) => {
                let names = &names[..names.len().min(usize::from(NO_NAMES) - 1)];
                self.put(&[names.len() as u8])?;
                names.iter().try_for_each(|name| self.name(name.as_wire()))
            }
        }
    }
}

/// Reads a file. Hashes are made with `key`; `group` says which number a group of upstreams has now.
pub fn read(octets: &[u8], key: HashKey, group: impl Fn(&str) -> Group) -> Result<Kept, Unfit> {
    let (content, checksum) = octets.split_last_chunk::<CHECKSUM>().ok_or(Unfit::Format)?;
    let rest = content.strip_prefix(MAGIC).ok_or(Unfit::Format)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or(Unfit::Format)?;
    if u32::from_le_bytes(*version) != VERSION {
        return Err(Unfit::Format);
    }
    if <[u8; CHECKSUM]>::from(Sha256::digest(content)) != *checksum {
        return Err(Unfit::Checksum);
    }
    body(&mut Reading(rest), key, group).ok_or(Unfit::Content)
}

fn body(reading: &mut Reading<'_>, key: HashKey, group: impl Fn(&str) -> Group) -> Option<Kept> {
    let identity = reading.text()?;
    let revision = reading.u64()?;
    let written = Moment(reading.u64()?);
    let mut groups = Vec::new();
    for _ in 0..reading.u16()? {
        groups.push(group(&reading.text()?));
    }
    let group = |number: Group| groups.get(usize::from(number.0)).copied().unwrap_or(Group::UNKNOWN);
    let mut snapshot = Snapshot::new(key);
    snapshot.revision = revision;
    for _ in 0..reading.u64()? {
        snapshot.put_zone(Arc::new(zone(reading, key, &group)?));
    }
    for _ in 0..reading.u64()? {
        let name = reading.name()?;
        let group = group(Group(reading.u8()?));
        let (a, aaaa) = (reading.answer(Family::A)?, reading.answer(Family::Aaaa)?);
        if group != Group::UNKNOWN {
            let pending = AliasEntry::pending(TargetKey { name, group }, written);
            snapshot.alias.put(Arc::new(AliasEntry { a, aaaa, ..pending }));
        }
    }
    reading.0.is_empty().then_some(Kept { identity, written, snapshot })
}

fn zone(reading: &mut Reading<'_>, key: HashKey, group: &impl Fn(Group) -> Group) -> Option<Zone> {
    let apex = reading.name()?;
    let owner = reading.u32()?;
    let mut bulk = Bulk::new(Zone::new(apex.clone(), key, owner));
    for _ in 0..reading.u64()? {
        let name = reading.name()?;
        if !name.is_at_or_below(&apex) {
            return None;
        }
        let count = usize::from(reading.u8()?);
        if count == 0 || count > MAX_TYPES {
            return None;
        }
        let mut rrsets = Vec::with_capacity(count);
        for _ in 0..count {
            let (rtype, ttl) = (Rtype(reading.u16()?), reading.u32()?);
            let length = usize::try_from(reading.u32()?).ok()?;
            rrsets.push(RRsetRef::packed(rtype, ttl, reading.octets(length)?)?);
        }
        if name == apex || rrsets.iter().any(|rrset| rrset.rtype == Rtype::ALIAS) {
            let owned = rrsets
                .iter()
                .map(|rrset| regrouped(RRsetRef::to_owned(*rrset), group))
                .collect::<Option<Vec<RRset>>>()?;
            if name == apex { bulk.put_late(name, owned) } else { bulk.put_owned(&name, &owned) }
        } else {
            bulk.put(&name, &rrsets);
        }
    }
    let zone = bulk.finish();
    zone.serial().map(|_| zone)
}

/// An ALIAS names its group by a number, which the configuration may have given to another one since.
fn regrouped(mut rrset: RRset, group: &impl Fn(Group) -> Group) -> Option<RRset> {
    if rrset.rtype == Rtype::ALIAS {
        for record in &mut rrset.records {
            let now = group(AliasRef::decode(record)?.group());
            AliasRecord::regroup(record, now);
        }
    }
    Some(rrset)
}

struct Reading<'a>(&'a [u8]);

impl<'a> Reading<'a> {
    fn octets(&mut self, count: usize) -> Option<&'a [u8]> {
        let (octets, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(octets)
    }

    fn chunk<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (chunk, rest) = self.0.split_first_chunk::<LENGTH>()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn u8(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[octet]| octet)
    }

    fn u16(&mut self) -> Option<u16> {
        self.chunk().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::from(self.u16()?);
        String::from_utf8(self.octets(length)?.to_vec()).ok()
    }

    fn name(&mut self) -> Option<Name> {
        let length = usize::from(self.u8()?);
        Name::from_wire(self.octets(length)?).ok()
    }

    fn moment(&mut self) -> Option<Option<Moment>> {
        self.u64().map(|moment| (moment != u64::MAX).then_some(Moment(moment)))
    }

    fn answer(&mut self, family: Family) -> Option<FamilyAnswer> {
        let state = *AliasState::ALL.get(usize::from(self.u8()?))?;
        let since = self.moment()??;
        let (last_ok, checked, changed) = (self.moment()?, self.moment()?, self.moment()?);
        let (ttl, highest_ttl) = (self.u32()?, self.u32()?);
        let length = usize::from(self.u16()?);
        let addresses = Addresses::new(self.octets(length)?, family);
        let crossing = match self.u8()? {
            NO_NAMES => None,
            count => Some((0..count).map(|_| self.name()).collect::<Option<Vec<Name>>>()?.into()),
        };
        let pending = FamilyAnswer::pending(since);
        Some(FamilyAnswer { state, since, addresses, last_ok, ttl, highest_ttl, checked, changed, crossing, ..pending })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::file::{self, NoInclude};

    fn key() -> HashKey {
        HashKey::new(3, 4)
    }

    fn sample() -> Snapshot {
        let mut snapshot = Snapshot::new(key());
        snapshot.revision = 77;
        for (apex, text) in [
            ("example.com.", include_str!("../../zones/example.com.zone")),
            ("example.net.", "@ 60 SOA ns h 1 2 3 4 5\n@ 60 NS ns\na.b 60 A 192.0.2.1\n*.w 60 TXT \"\\000\\001\" x\n"),
        ] {
            let apex = Name::parse(apex).expect("a name");
            let read = file::read(text.as_bytes(), "f", Some(&apex), &mut NoInclude).expect("a zone file");
            let mut zone = Zone::new(apex, key(), 9);
            for (name, rrsets) in by_name(&read) {
                zone.set(&name, &rrsets);
            }
            snapshot.put_zone(Arc::new(zone));
        }
        let target = TargetKey { name: Name::parse("t.example.org").expect("a name"), group: Group(1) };
        let mut entry = AliasEntry::pending(target, Moment(5));
        entry.a.state = AliasState::Resolved;
        entry.a.addresses = Addresses::new(&[192, 0, 2, 7, 192, 0, 2, 8], Family::A);
        entry.a.last_ok = Some(Moment(1_000));
        entry.a.crossing = Some(vec![Name::parse("c.example.org").expect("a name")].into());
        snapshot.alias.put(Arc::new(entry));
        snapshot
    }

    fn by_name(read: &file::ZoneFile) -> Vec<(Name, Vec<RRset>)> {
        let mut all: std::collections::BTreeMap<Name, Vec<RRset>> = std::collections::BTreeMap::new();
        for (name, rrset) in &read.rrsets {
            let mut rrset = rrset.clone();
            if rrset.rtype == Rtype::ALIAS {
                rrset.records = vec![AliasRecord::plain(rrset.records.remove(0), vec![3]).encode()];
            }
            all.entry(name.clone()).or_default().push(rrset);
        }
        all.values_mut().for_each(|rrsets| rrsets.sort_by_key(|rrset| rrset.rtype));
        all.into_iter().collect()
    }

    fn written(snapshot: &Snapshot) -> Vec<u8> {
        let groups = ["default".to_owned(), "inside".to_owned()];
        let mut out = Vec::new();
        let head = Head { identity: "abc", written: Moment(9), groups: &groups };
        let length = write(snapshot, head, &mut out).expect("a buffer takes all");
        assert_eq!(length, out.len() as u64);
        out
    }

    fn shown(snapshot: &Snapshot) -> Vec<String> {
        let mut all: Vec<String> = snapshot
            .zones()
            .flat_map(|zone| {
                zone.nodes().map(|node| {
                    format!(
                        "{} {:?} {:?}",
                        zone.owner(),
                        node.name(),
                        node.rrsets().map(|rrset| rrset.to_owned()).collect::<Vec<_>>()
                    )
                })
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn what_was_written_is_read() {
        let snapshot = sample();
        let octets = written(&snapshot);
        let kept = read(&octets, HashKey::new(7, 8), |name| Group(u8::from(name == "inside"))).expect("a file");
        assert_eq!((kept.identity.as_str(), kept.written, kept.snapshot.revision), ("abc", Moment(9), 77));
        assert_eq!(shown(&kept.snapshot), shown(&snapshot));
        assert_eq!(kept.snapshot.record_count(), snapshot.record_count());
        let entries = |snapshot: &Snapshot| {
            snapshot.alias.iter().map(|entry| (entry.a.clone(), entry.aaaa.clone())).collect::<Vec<_>>()
        };
        assert_eq!(entries(&kept.snapshot), entries(&snapshot));
        // A group that there is no more is not known.
        let kept = read(&octets, key(), |name| if name == "inside" { Group::UNKNOWN } else { Group::DEFAULT })
            .expect("a file");
        assert_eq!(kept.snapshot.alias.iter().count(), 0);
    }

    #[test]
    fn no_octet_can_change_and_nothing_be_missing() {
        let octets = written(&sample());
        for at in (0..octets.len()).step_by(7) {
            let mut flipped = octets.clone();
            flipped[at] ^= 0x10;
            assert!(read(&flipped, key(), |_| Group::DEFAULT).is_err(), "octet {at}");
            assert!(read(&octets[..at], key(), |_| Group::DEFAULT).is_err(), "{at} octets");
        }
    }

    #[test]
    fn content_that_does_not_read_is_refused_whatever_its_checksum() {
        let octets = written(&sample());
        let content = &octets[..octets.len() - CHECKSUM];
        let head = MAGIC.len() + 4;
        for at in (head..content.len()).step_by(3) {
            for octet in [0, 0x7F, 0xFF] {
                let mut changed = content.to_vec();
                changed[at] = octet;
                let checksum = Sha256::digest(&changed);
                changed.extend_from_slice(&checksum);
                // It reads as something or is refused; it never panics or asks for more memory than there are octets.
                let _ = read(&changed, key(), |_| Group::DEFAULT);
            }
        }
    }
}
