//! A node: all that stands at one name, packed into one immutable allocation.
//!
//! Layout: children u32, name length u8, labels u8, number of RRsets u8, flags u8, the name, then for each RRset type
//! u16, records u16, TTL u32, octets u32 and the records as length u16 and RDATA. Numbers are little-endian.

use std::sync::Arc;

use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Most types at one name (reliability.md section 4).
pub const MAX_TYPES: usize = 64;
/// Most records of one RRset.
pub const MAX_RECORDS: usize = 4_096;
/// Most octets of one RRset on the wire, owner names not counted.
pub const MAX_RRSET_OCTETS: usize = 60_000;

const HEADER: usize = 8;
const RRSET_HEADER: usize = 12;

/// An RRset as it is put into a zone: at least one record, RDATA uncompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RRset {
    /// The type.
    pub rtype: Rtype,
    /// Seconds.
    pub ttl: u32,
    /// RDATA of each record, without repeats.
    pub records: Vec<Vec<u8>>,
}

impl RRset {
    /// Octets that the RRset takes in a node.
    pub fn octets(&self) -> usize {
        self.records.iter().map(|record| 2 + record.len()).sum()
    }
}

/// An RRset as it stands in a node: the records one after the other, each with its length before it, u16 little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RRsetRef<'a> {
    /// The type.
    pub rtype: Rtype,
    /// Seconds.
    pub ttl: u32,
    /// Number of records.
    pub count: u16,
    data: &'a [u8],
}

impl<'a> RRsetRef<'a> {
    /// An RRset whose records are packed as they stand in a node; none if they are not whole records, at least one and
    /// at most 65,535.
    pub fn packed(rtype: Rtype, ttl: u32, data: &'a [u8]) -> Option<RRsetRef<'a>> {
        let mut count = 0_u16;
        let mut rest = data;
        while let Some((length, behind)) = rest.split_first_chunk::<2>() {
            rest = behind.get(usize::from(u16::from_le_bytes(*length))..)?;
            count = count.checked_add(1)?;
        }
        (rest.is_empty() && count > 0).then_some(RRsetRef { rtype, ttl, count, data })
    }

    /// The RDATA of each record.
    #[inline]
    pub fn records(self) -> Records<'a> {
        Records(self.data)
    }

    /// The first record's RDATA.
    #[inline]
    pub fn first(self) -> &'a [u8] {
        Records(self.data).next().unwrap_or(&[])
    }

    /// Octets of all RDATA, with two octets of length each.
    #[inline]
    pub fn octets(self) -> usize {
        self.data.len()
    }

    /// A copy that lives by itself.
    pub fn to_owned(self) -> RRset {
        RRset { rtype: self.rtype, ttl: self.ttl, records: self.records().map(<[u8]>::to_vec).collect() }
    }
}

/// Iterator of [`RRsetRef::records`].
#[derive(Clone, Copy, Debug)]
pub struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<2>()?;
        let (record, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)));
        self.0 = rest;
        Some(record)
    }
}

/// What a node knows of itself without reading its RRsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// A name `*` stands right below.
    pub const WILDCARD_BELOW: Flags = Flags(1);
    /// There is an NS RRset: a zone cut, unless this is the apex.
    pub const NS: Flags = Flags(2);
    /// There is a DNAME.
    pub const DNAME: Flags = Flags(4);
    /// There is a CNAME.
    pub const CNAME: Flags = Flags(8);
    /// There is an ALIAS.
    pub const ALIAS: Flags = Flags(16);

    fn of(rtype: Rtype) -> Flags {
        match rtype {
            Rtype::NS => Flags::NS,
            Rtype::DNAME => Flags::DNAME,
            Rtype::CNAME => Flags::CNAME,
            Rtype::ALIAS => Flags::ALIAS,
            _ => Flags(0),
        }
    }

    /// These and `other`.
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// Whether all of `other` are set.
    #[inline]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One name and its RRsets; without RRsets it is an empty non-terminal (RFC 4592 section 2.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node(Arc<[u8]>);

impl Node {
    /// Packs RRsets, at most [`MAX_TYPES`], each of at most 65,535 records.
    pub fn new(name: &Name, rrsets: &[RRset], children: u32, wildcard_below: bool) -> Node {
        let size = HEADER + name.as_wire().len() + rrsets.iter().map(|one| RRSET_HEADER + one.octets()).sum::<usize>();
        let mut packing = Packing::new(Vec::with_capacity(size), name.as_wire(), name.label_count());
        for rrset in rrsets {
            packing.add_owned(rrset);
        }
        packing.finish(children, wildcard_below)
    }

    /// The name in lower-case wire form.
    #[inline]
    pub fn name(&self) -> &[u8] {
        &self.0[HEADER..HEADER + usize::from(self.0[4])]
    }

    /// Number of labels of the name.
    #[inline]
    pub fn labels(&self) -> usize {
        usize::from(self.0[5])
    }

    /// What stands here, in short.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.0[7])
    }

    /// How many nodes stand right below.
    pub fn children(&self) -> u32 {
        u32::from_le_bytes(self.0[..4].try_into().expect("four octets"))
    }

    /// Whether no RRset stands here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0[6] == 0
    }

    /// All RRsets, in the order they were packed.
    #[inline]
    pub fn rrsets(&self) -> RRsets<'_> {
        RRsets(&self.0[HEADER + usize::from(self.0[4])..])
    }

    /// The RRset of a type.
    #[inline]
    pub fn rrset(&self, rtype: Rtype) -> Option<RRsetRef<'_>> {
        self.rrsets().find(|one| one.rtype == rtype)
    }

    /// Whether both are the same allocation, and so the same content.
    pub fn is_same(&self, other: &Node) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Changes the count of children and the flag of a wildcard below; the RRsets stay.
    pub(super) fn set_children(&mut self, children: u32, wildcard_below: Option<bool>) {
        let octets = Arc::make_mut(&mut self.0);
        octets[..4].copy_from_slice(&children.to_le_bytes());
        if let Some(below) = wildcard_below {
            let flags = Flags(octets[7]);
            let wildcard = Flags::WILDCARD_BELOW;
            octets[7] = if below { flags.with(wildcard).0 } else { flags.without(wildcard).0 };
        }
    }
}

/// A node that is being packed.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    octets: Vec<u8>,
}

impl Packing {
    /// A node without RRsets, put into `octets`, whose content is dropped and whose room is used. `name` is in lower-case
    /// wire form and has so many labels.
    pub(super) fn new(mut octets: Vec<u8>, name: &[u8], labels: usize) -> Packing {
        octets.clear();
        octets.extend_from_slice(&[0, 0, 0, 0, name.len() as u8, labels as u8, 0, 0]);
        octets.extend_from_slice(name);
        Packing { octets }
    }

    fn add_header(&mut self, rtype: Rtype, records: u16, ttl: u32, length: u32) {
        self.octets[6] += 1;
        self.octets[7] = Flags(self.octets[7]).with(Flags::of(rtype)).0;
        self.octets.extend_from_slice(&rtype.0.to_le_bytes());
        self.octets.extend_from_slice(&records.to_le_bytes());
        self.octets.extend_from_slice(&ttl.to_le_bytes());
        self.octets.extend_from_slice(&length.to_le_bytes());
    }

    /// Adds an RRset of a type that is not there yet; at most [`MAX_TYPES`].
    pub(super) fn add(&mut self, rrset: RRsetRef<'_>) {
        self.add_header(rrset.rtype, rrset.count, rrset.ttl, rrset.data.len() as u32);
        self.octets.extend_from_slice(rrset.data);
    }

    /// As [`Packing::add`].
    pub(super) fn add_owned(&mut self, rrset: &RRset) {
        self.add_header(rrset.rtype, rrset.records.len() as u16, rrset.ttl, rrset.octets() as u32);
        for record in &rrset.records {
            self.octets.extend_from_slice(&(record.len() as u16).to_le_bytes());
            self.octets.extend_from_slice(record);
        }
    }

    /// The name in lower-case wire form.
    pub(super) fn name(&self) -> &[u8] {
        &self.octets[HEADER..HEADER + usize::from(self.octets[4])]
    }

    /// The node.
    pub(super) fn finish(&mut self, children: u32, wildcard_below: bool) -> Node {
        self.octets[..4].copy_from_slice(&children.to_le_bytes());
        if wildcard_below {
            self.octets[7] = Flags(self.octets[7]).with(Flags::WILDCARD_BELOW).0;
        }
        Node(self.octets.as_slice().into())
    }

    /// The room, for the next one.
    pub(super) fn into_room(self) -> Vec<u8> {
        self.octets
    }
}

/// Iterator of [`Node::rrsets`].
#[derive(Clone, Copy, Debug)]
pub struct RRsets<'a>(&'a [u8]);

impl<'a> Iterator for RRsets<'a> {
    type Item = RRsetRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<RRsetRef<'a>> {
        let (header, rest) = self.0.split_first_chunk::<RRSET_HEADER>()?;
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let (data, rest) = rest.split_at(length);
        self.0 = rest;
        Some(RRsetRef {
            rtype: Rtype(u16::from_le_bytes([header[0], header[1]])),
            count: u16::from_le_bytes([header[2], header[3]]),
            ttl: u32::from_le_bytes([header[4], header[5], header[6], header[7]]),
            data,
        })
    }
}
