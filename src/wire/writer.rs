//! Writes a response into a buffer of fixed size: sections, compression, and the limit that nothing passes.

use super::codes::{Rcode, Rtype};
use super::compression::Compression;
use super::query::{HEADER, Query};
use super::rdata::{Part, shape_of};

/// Octets of a pointer, and of a record between its owner and its RDATA.
const POINTER: usize = 2;
const FIXED: usize = 10;
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
    /// The name of the question from this octet on, pointed to: itself, or where a label starts a name above it.
    Question(usize),
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
    names: &'a mut Compression,
    /// Octets of the question's name; 0 if there is no question.
    question_name: usize,
}

/// A place to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: usize,
    counts: [u16; 3],
}

impl<'a> Writer<'a> {
    /// Begins the response to a query: id, opcode, RD, and the question if it was read. `limit` is the most octets of
    /// the whole message, at least 512 and at most the length of `out`. What `names` held of another message is forgotten.
    #[inline]
    pub fn new(out: &'a mut [u8], names: &'a mut Compression, query: &Query<'_>, limit: usize) -> Writer<'a> {
        let limit = limit.min(out.len());
        let [high, low] = query.id.to_be_bytes();
        let mut header = [0_u8; HEADER];
        header[0] = high;
        header[1] = low;
        header[2] = QR | query.opcode_bits << 3 | u8::from(query.recursion_desired);
        let mut at = HEADER;
        let mut question_name = 0;
        if let Some(question) = &query.question {
            header[5] = 1;
            let end = HEADER + question.octets.len();
            out[HEADER..end].copy_from_slice(question.octets);
            question_name = question.name.len();
            at = end;
        }
        out[..HEADER].copy_from_slice(&header);
        names.clear();
        Writer { out, at, limit, question_end: at, counts: [0; 3], names, question_name }
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
        self.names.back_to(mark.at);
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
    pub fn record(&mut self, section: Section, record: Record<'_>) -> Result<(), Full> {
        let mark = self.mark();
        let written = self.record_octets(record);
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
    fn record_octets(&mut self, record: Record<'_>) -> Result<(), Full> {
        let Record { owner, rtype, ttl, rdata } = record;
        let shape = shape_of(rtype);
        let mut fixed = [0_u8; POINTER + FIXED];
        fixed[2..4].copy_from_slice(&rtype.0.to_be_bytes());
        fixed[5] = 1;
        fixed[6..10].copy_from_slice(&ttl.to_be_bytes());
        fixed[10..].copy_from_slice(&(rdata.len() as u16).to_be_bytes());
        match owner {
            // The root is shorter than a pointer to it.
            Owner::Question(above) if above + 1 >= self.question_name => {
                fixed[1] = 0;
                self.octets(&fixed[1..])?;
            }
            Owner::Question(above) => {
                fixed[..POINTER].copy_from_slice(&(0xc000 | (HEADER + above) as u16).to_be_bytes());
                self.octets(&fixed)?;
            }
            Owner::Name(name) => {
                self.name(name)?;
                self.octets(&fixed[POINTER..])?;
            }
        }
        if !shape.compresses() {
            return self.octets(rdata);
        }
        let start = self.at;
        for part in shape.parts(rdata) {
            match part {
                Part::Octets(octets) => self.octets(octets)?,
                Part::Name(name) => self.name(name)?,
            }
        }
        let length = (self.at - start) as u16;
        self.out[start - 2..start].copy_from_slice(&length.to_be_bytes());
        Ok(())
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
    fn name(&mut self, name: &[u8]) -> Result<(), Full> {
        if self.names.is_unused() {
            self.add_question();
        }
        let start = self.at;
        let Some(placed) = self.names.place(self.out, name) else { return self.octets(name) };
        match placed.pointer {
            Some(offset) => {
                self.octets(&name[..placed.new_octets])?;
                self.octets(&(0xc000 | offset).to_be_bytes())?;
            }
            None => self.octets(name)?,
        }
        self.names.add(start, placed);
        Ok(())
    }

    /// Makes the name of the question one that can be pointed to. Most responses have no other name and never get here.
    fn add_question(&mut self) {
        self.names.start();
        let name = &self.out[HEADER..HEADER + self.question_name];
        if let Some(placed) = self.names.place(self.out, name) {
            self.names.add(HEADER, placed);
        }
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
