//! Writes a response into a buffer of fixed size: sections, compression, and the limit that nothing passes.

use super::codes::{Rcode, Rtype};
use super::hashed::HashedName;
use super::name::{HashKey, MAX_NAME};
use super::query::{HEADER, Query};
use super::rdata::{Part, shape_of};

/// Offsets beyond this cannot be pointed to (RFC 1035 section 4.1.4).
const MAX_OFFSET: usize = 0x3fff;
/// Slots of the table of names that may be pointed to, and how many a name may stand in. A name that finds all of them
/// taken is not pointed to.
const SLOTS: usize = 128;
const TRIES: usize = 6;
const QR: u8 = 0x80;
const AA: u8 = 0x04;
const TC: u8 = 0x02;

/// The response does not fit; what was begun is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Sections that records are written to, in the order in which they must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// ANSWER.
    Answer,
    /// AUTHORITY.
    Authority,
    /// ADDITIONAL.
    Additional,
}

/// Whose record it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The name of the question, pointed to.
    Question,
    /// A name in wire form.
    Name(&'a [u8]),
}

/// A record of class IN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Whose.
    pub owner: Owner<'a>,
    /// The type.
    pub rtype: Rtype,
    /// Seconds.
    pub ttl: u32,
    /// Uncompressed.
    pub rdata: &'a [u8],
}

/// A response being written.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
    limit: usize,
    question_end: usize,
    counts: [u16; 3],
    slots: [u16; SLOTS],
    root_question: bool,
}

/// A place to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: usize,
    counts: [u16; 3],
}

impl<'a> Writer<'a> {
    /// Begins the response to a query: id, opcode, RD, and the question if it was read. `limit` is the most octets of
    /// the whole message, at least 512 and at most the length of `out`; `name`, if the caller has it, makes the
    /// question's name one that can be pointed to.
    #[inline]
    pub fn new(out: &'a mut [u8], query: &Query<'_>, limit: usize, name: Option<&HashedName>) -> Writer<'a> {
        let limit = limit.min(out.len());
        let [high, low] = query.id.to_be_bytes();
        let mut header = [0_u8; HEADER];
        header[0] = high;
        header[1] = low;
        header[2] = QR | query.opcode_bits << 3 | u8::from(query.recursion_desired);
        let mut at = HEADER;
        let mut root_question = false;
        if let Some(question) = &query.question {
            header[5] = 1;
            let end = HEADER + question.octets.len();
            out[HEADER..end].copy_from_slice(question.octets);
            root_question = question.name.len() == 1;
            at = end;
        }
        out[..HEADER].copy_from_slice(&header);
        let mut writer = Writer { out, at, limit, question_end: at, counts: [0; 3], slots: [0; SLOTS], root_question };
        if let Some(name) = name {
            writer.remember(name, HEADER, 0);
        }
        writer
    }

    /// Octets written.
    pub fn len(&self) -> usize {
        self.at
    }

    /// Whether no record was written.
    pub fn is_empty(&self) -> bool {
        self.counts == [0; 3]
    }

    /// Octets left below the limit.
    #[inline]
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.at)
    }

    /// Lowers the limit, to keep room for what comes last; [`Writer::release`] gives it back.
    #[inline]
    pub fn reserve(&mut self, octets: usize) {
        self.limit = self.limit.saturating_sub(octets);
    }

    /// Gives reserved room back.
    #[inline]
    pub fn release(&mut self, octets: usize) {
        self.limit += octets;
    }

    /// This place, for [`Writer::back_to`].
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark { at: self.at, counts: self.counts }
    }

    /// Takes back what was written since a mark.
    pub fn back_to(&mut self, mark: Mark) {
        self.at = mark.at;
        self.counts = mark.counts;
        for slot in &mut self.slots {
            if usize::from(*slot) >= mark.at {
                *slot = 0;
            }
        }
    }

    /// Takes back all records.
    pub fn clear_records(&mut self) {
        self.back_to(Mark { at: self.question_end, counts: [0; 3] });
    }

    /// Sets AA.
    #[inline]
    pub fn set_authoritative(&mut self) {
        self.out[2] |= AA;
    }

    /// Clears AA.
    pub fn clear_authoritative(&mut self) {
        self.out[2] &= !AA;
    }

    /// Sets TC.
    pub fn set_truncated(&mut self) {
        self.out[2] |= TC;
    }

    /// Sets the lower four bits of the response code; the others stand in OPT.
    #[inline]
    pub fn set_rcode(&mut self, rcode: Rcode) {
        self.out[3] = self.out[3] & 0xf0 | (rcode.0 & 15) as u8;
    }

    /// Writes a record whose RDATA is octets without names.
    #[inline]
    pub fn opaque(&mut self, section: Section, fixed: &[u8], rdata: &[u8]) -> Result<(), Full> {
        let mark = self.mark();
        let written = self.octets(fixed).and_then(|()| self.octets(&(rdata.len() as u16).to_be_bytes()));
        let written = written.and_then(|()| self.octets(rdata));
        self.count(section, mark, written)
    }

    /// Writes one record. On `Full` nothing of it is left.
    #[inline]
    pub fn record(
        &mut self,
        scratch: &mut HashedName,
        key: HashKey,
        section: Section,
        record: Record<'_>,
    ) -> Result<(), Full> {
        let mark = self.mark();
        let written = self.record_octets(scratch, key, record);
        self.count(section, mark, written)
    }

    #[inline]
    fn count(&mut self, section: Section, mark: Mark, written: Result<(), Full>) -> Result<(), Full> {
        match written {
            Ok(()) => {
                self.counts[section as usize] += 1;
                Ok(())
            }
            Err(Full) => {
                self.back_to(mark);
                Err(Full)
            }
        }
    }

    #[inline]
    fn record_octets(&mut self, scratch: &mut HashedName, key: HashKey, record: Record<'_>) -> Result<(), Full> {
        let Record { owner, rtype, ttl, rdata } = record;
        match owner {
            Owner::Question if self.root_question => self.octets(&[0])?,
            Owner::Question => self.octets(&[0xc0, HEADER as u8])?,
            Owner::Name(name) => self.name(scratch, key, name)?,
        }
        let mut fixed = [0_u8; 10];
        fixed[..2].copy_from_slice(&rtype.0.to_be_bytes());
        fixed[3] = 1;
        fixed[4..8].copy_from_slice(&ttl.to_be_bytes());
        let shape = shape_of(rtype);
        if shape.compresses() {
            self.octets(&fixed)?;
            let start = self.at;
            for part in shape.parts(rdata) {
                match part {
                    Part::Octets(octets) => self.octets(octets)?,
                    Part::Name(name) => self.name(scratch, key, name)?,
                }
            }
            let length = (self.at - start) as u16;
            self.out[start - 2..start].copy_from_slice(&length.to_be_bytes());
            return Ok(());
        }
        fixed[8..].copy_from_slice(&(rdata.len() as u16).to_be_bytes());
        self.octets(&fixed)?;
        self.octets(rdata)
    }

    #[inline]
    fn octets(&mut self, octets: &[u8]) -> Result<(), Full> {
        let end = self.at + octets.len();
        if end > self.limit {
            return Err(Full);
        }
        self.out[self.at..end].copy_from_slice(octets);
        self.at = end;
        Ok(())
    }

    /// Writes a name, its longest suffix that stands in the message already as a pointer.
    fn name(&mut self, scratch: &mut HashedName, key: HashKey, name: &[u8]) -> Result<(), Full> {
        scratch.load(key, name);
        let start = self.at;
        for labels in (1..=scratch.labels()).rev() {
            let Some(offset) = self.find(scratch.hash(labels), scratch.suffix(labels)) else { continue };
            self.octets(&name[..scratch.start(labels)])?;
            self.octets(&(0xc000 | offset as u16).to_be_bytes())?;
            self.remember(scratch, start, labels);
            return Ok(());
        }
        self.octets(name)?;
        self.remember(scratch, start, 0);
        Ok(())
    }

    /// Makes the suffixes of a name written at `start` that have more labels than `above` ones to point to.
    #[inline]
    fn remember(&mut self, name: &HashedName, start: usize, above: usize) {
        for labels in above + 1..=name.labels() {
            let offset = start + name.start(labels);
            if offset > MAX_OFFSET {
                continue;
            }
            if let Some(free) = slots(name.hash(labels)).find(|slot| self.slots[*slot] == 0) {
                self.slots[free] = offset as u16;
            }
        }
    }

    /// Where a suffix stands in the message.
    #[inline]
    fn find(&self, hash: u64, lower: &[u8]) -> Option<usize> {
        slots(hash)
            .map(|slot| usize::from(self.slots[slot]))
            .take_while(|offset| *offset != 0)
            .find(|offset| self.stands_at(*offset, lower))
    }

    /// Whether the name at `offset` is this lower-case name.
    fn stands_at(&self, mut offset: usize, lower: &[u8]) -> bool {
        let mut rest = lower;
        // Each turn takes a label of `rest` or follows one of our own pointers, which all go backwards.
        for _ in 0..MAX_NAME {
            let length = self.out[offset];
            if length >= 0xc0 {
                offset = usize::from(length & 0x3f) << 8 | usize::from(self.out[offset + 1]);
                continue;
            }
            let end = 1 + usize::from(length);
            if rest.len() < end {
                return false;
            }
            let (here, wanted) = (&self.out[offset..offset + end], &rest[..end]);
            if here != wanted && !here.eq_ignore_ascii_case(wanted) {
                return false;
            }
            if length == 0 {
                return true;
            }
            offset += end;
            rest = &rest[end..];
        }
        false
    }

    /// Writes the counts and gives the length of the message.
    #[inline]
    pub fn finish(self) -> usize {
        for (index, count) in self.counts.iter().enumerate() {
            let at = 6 + 2 * index;
            self.out[at..at + 2].copy_from_slice(&count.to_be_bytes());
        }
        self.at
    }
}

/// The slots of a hash, in the order in which they are tried.
#[inline]
fn slots(hash: u64) -> impl Iterator<Item = usize> {
    let first = (hash >> 32) as usize;
    (0..TRIES).map(move |next| (first + next) % SLOTS)
}
