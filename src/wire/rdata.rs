//! The shape of RDATA: where its names stand, which of them may be compressed, and when two RDATA are the same record.
//!
//! RDATA is kept uncompressed, letter case as written, 0 to 65,535 octets.

use super::codes::Rtype;
use super::name::{Name, wire_length};

/// One part of an RDATA: octets to copy, or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Octets without a name.
    Octets(&'a [u8]),
    /// An uncompressed name in its own letter case.
    Name(&'a [u8]),
}

/// How names stand in the RDATA of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Octets before the first name.
    before: u8,
    /// How many names follow one another there; 0 for types without names.
    names: u8,
    /// Strings of a length octet each between `before` and the names (NAPTR).
    strings: u8,
    /// Octets that must follow the names: exactly so many, or any number.
    after: After,
    /// Whether the names may be compressed in a message (RFC 3597 section 4: types of RFC 1035 only).
    compress: bool,
    /// Whether the names are compared in lower case (RFC 4034 section 6.2).
    fold: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Exactly(u8),
    Any,
}

const fn shape(before: u8, names: u8, after: u8, compress: bool) -> Shape {
    Shape { before, names, strings: 0, after: After::Exactly(after), compress, fold: true }
}

const OPAQUE: Shape = Shape { before: 0, names: 0, strings: 0, after: After::Any, compress: false, fold: false };

/// The shape of a type's RDATA; types without names, and unknown ones, are opaque.
#[inline]
pub fn shape_of(rtype: Rtype) -> Shape {
    match rtype {
        Rtype::NS | Rtype::CNAME | Rtype::PTR | Rtype::MB | Rtype::MG | Rtype::MR | Rtype::MD | Rtype::MF => {
            shape(0, 1, 0, true)
        }
        Rtype::SOA => shape(0, 2, 20, true),
        Rtype::MINFO => shape(0, 2, 0, true),
        Rtype::MX => shape(2, 1, 0, true),
        Rtype::DNAME => shape(0, 1, 0, false),
        Rtype::SRV => shape(6, 1, 0, false),
        Rtype::RP => shape(0, 2, 0, false),
        Rtype::AFSDB | Rtype::RT | Rtype::KX => shape(2, 1, 0, false),
        Rtype::PX => shape(2, 2, 0, false),
        Rtype::NAPTR => {
            Shape { before: 4, names: 1, strings: 3, after: After::Exactly(0), compress: false, fold: true }
        }
        Rtype::SVCB | Rtype::HTTPS => {
            Shape { before: 2, names: 1, strings: 0, after: After::Any, compress: false, fold: false }
        }
        _ => OPAQUE,
    }
}

impl Shape {
    /// Whether the RDATA has no name: then it is copied as it stands.
    #[inline]
    pub fn is_opaque(self) -> bool {
        self.names == 0
    }

    /// Whether its names may be compressed.
    #[inline]
    pub fn compresses(self) -> bool {
        self.compress
    }

    /// Where the first name begins.
    fn names_start(self, rdata: &[u8]) -> Option<usize> {
        let mut at = usize::from(self.before);
        for _ in 0..self.strings {
            at += 1 + usize::from(*rdata.get(at)?);
        }
        Some(at)
    }

    /// The parts of an RDATA of this shape, at most four. A malformed one ends early; [`is_well_formed`] tells.
    #[inline]
    pub fn parts(self, rdata: &[u8]) -> Parts<'_> {
        let start = if self.is_opaque() { rdata.len() } else { self.names_start(rdata).unwrap_or(rdata.len()) };
        let (head, rest) = rdata.split_at(start.min(rdata.len()));
        Parts { head: Some(head), names: self.names, rest }
    }
}

/// Iterator of [`Shape::parts`].
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    head: Option<&'a [u8]>,
    names: u8,
    rest: &'a [u8],
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    #[inline]
    fn next(&mut self) -> Option<Part<'a>> {
        if let Some(head) = self.head.take().filter(|head| !head.is_empty()) {
            return Some(Part::Octets(head));
        }
        if self.names > 0 {
            self.names -= 1;
            let length = wire_length(self.rest)?;
            let (name, rest) = self.rest.split_at(length);
            self.rest = rest;
            return Some(Part::Name(name));
        }
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { None } else { Some(Part::Octets(rest)) }
    }
}

/// Whether RDATA has the form of its type: names whole, sizes of addresses and fixed fields right.
pub fn is_well_formed(rtype: Rtype, rdata: &[u8]) -> bool {
    if rdata.len() > usize::from(u16::MAX) {
        return false;
    }
    match rtype {
        Rtype::A => return rdata.len() == 4,
        Rtype::AAAA => return rdata.len() == 16,
        Rtype::TXT => return !rdata.is_empty() && are_strings(rdata),
        _ => {}
    }
    let shape = shape_of(rtype);
    if shape.is_opaque() {
        return true;
    }
    let Some(mut at) = shape.names_start(rdata) else { return false };
    for _ in 0..shape.names {
        let Some(length) = rdata.get(at..).and_then(wire_length) else { return false };
        at += length;
    }
    match shape.after {
        After::Exactly(octets) => rdata.len() == at + usize::from(octets),
        After::Any => rdata.len() >= at,
    }
}

fn are_strings(mut rdata: &[u8]) -> bool {
    while let Some((&length, rest)) = rdata.split_first() {
        match rest.get(usize::from(length)..) {
            Some(behind) => rdata = behind,
            None => return false,
        }
    }
    true
}

/// The form in which two RDATA of one type are compared (RFC 4034 section 6.2): names in lower case.
pub fn canonical(rtype: Rtype, rdata: &[u8]) -> Vec<u8> {
    let shape = shape_of(rtype);
    let mut out = Vec::with_capacity(rdata.len());
    for part in shape.parts(rdata) {
        match part {
            Part::Octets(octets) => out.extend_from_slice(octets),
            Part::Name(name) if shape.fold => out.extend(name.iter().map(u8::to_ascii_lowercase)),
            Part::Name(name) => out.extend_from_slice(name),
        }
    }
    out
}

/// The name whose addresses belong into the additional section, for the types that have one (RFC 1035 section 3.3,
/// RFC 2782, RFC 9460 section 4.1), as wire octets in its own letter case.
#[inline]
pub fn additional_target(rtype: Rtype, rdata: &[u8]) -> Option<&[u8]> {
    let before = match rtype {
        Rtype::NS => 0,
        Rtype::MX | Rtype::SVCB | Rtype::HTTPS => 2,
        Rtype::SRV => 6,
        _ => return None,
    };
    let name = rdata.get(before..)?;
    Some(&name[..wire_length(name)?])
}

/// The first name in an RDATA as a canonical [`Name`]: the target of CNAME, DNAME, NS, PTR, MX, SRV, SVCB.
pub fn target(rtype: Rtype, rdata: &[u8]) -> Option<Name> {
    shape_of(rtype).parts(rdata).find_map(|part| match part {
        Part::Name(name) => Name::from_wire(name).ok(),
        Part::Octets(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_rdata_is_recognised() {
        assert!(is_well_formed(Rtype::A, &[192, 0, 2, 1]));
        assert!(!is_well_formed(Rtype::A, &[192, 0, 2]));
        assert!(is_well_formed(Rtype::MX, b"\0\x0a\x04mail\0"));
        assert!(!is_well_formed(Rtype::MX, b"\0\x0a\x04mail\0x"));
        assert!(!is_well_formed(Rtype::MX, b"\0\x0a\xc0\x0c"));
        assert!(!is_well_formed(Rtype::SOA, b"\0\0short"));
        assert!(is_well_formed(Rtype(65280), b""));
        assert!(!is_well_formed(Rtype::TXT, b"\x05abc"));
        assert!(is_well_formed(Rtype::NAPTR, b"\0\x01\0\x02\x01u\x03E2U\x02!!\0"));
        assert!(!is_well_formed(Rtype::NAPTR, b"\0\x01\0\x02\x01u\x03E2"));
    }

    #[test]
    fn names_are_compared_without_letter_case_where_the_rfc_says_so() {
        assert_eq!(canonical(Rtype::MX, b"\0\x0a\x04MAIL\0"), b"\0\x0a\x04mail\0");
        assert_eq!(canonical(Rtype::TXT, b"\x04MAIL"), b"\x04MAIL");
        assert_eq!(canonical(Rtype::SVCB, b"\0\x01\x04MAIL\0"), b"\0\x01\x04MAIL\0");
    }

    #[test]
    fn parts_give_back_every_octet() {
        let soa = b"\x02ns\0\x04host\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05";
        let parts: Vec<Part<'_>> = shape_of(Rtype::SOA).parts(soa).collect();
        assert_eq!(parts[..2], [Part::Name(b"\x02ns\0"), Part::Name(b"\x04host\0")]);
        assert!(matches!(parts[2], Part::Octets(rest) if rest.len() == 20));
    }
}
