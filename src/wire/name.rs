//! Domain names: canonical [`Name`] keys, and the keyed hashes by which tables find them.
//!
//! A [`Name`] is absolute and lower case (RFC 4343); RDATA keeps its own letter case and is never a `Name`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Longest name on the wire, in octets (RFC 1035 section 2.3.4).
pub const MAX_NAME: usize = 255;
/// Most labels of a name, the root not counted.
pub const MAX_LABELS: usize = 127;
/// Longest label, in octets (RFC 1035 section 2.3.4).
pub const MAX_LABEL: usize = 63;

/// Why a text or octets are no domain name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Two dots in a row, or a dot at the beginning.
    EmptyLabel,
    /// A label of over 63 octets.
    LongLabel,
    /// Over 255 octets in all.
    LongName,
    /// A backslash that is followed by neither three digits up to 255 nor a character.
    BadEscape,
    /// A label with characters that IDNA (UTS 46) does not admit.
    BadUnicode,
    /// Octets that are no uncompressed wire form.
    BadWire,
    /// The text is empty.
    Empty,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameError::EmptyLabel => "a name cannot have an empty label (two dots in a row)",
            NameError::LongLabel => "a label cannot be longer than 63 octets",
            NameError::LongName => "a name cannot be longer than 255 octets",
            NameError::BadEscape => "a backslash must be followed by three digits up to 255 or by one character",
            NameError::BadUnicode => "a label has characters that internationalised names do not admit",
            NameError::BadWire => "these octets are not a domain name",
            NameError::Empty => "a name cannot be empty; the root is \".\"",
        })
    }
}

impl std::error::Error for NameError {}

/// An absolute domain name in lower-case, uncompressed wire form: 1 to 255 octets, the final root label included.
///
/// Order is the canonical order of RFC 4034 section 6.1: parents before children. A clone shares the octets: a large
/// command has the same name in its wishes, its ledger, its plan and its report.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Arc<[u8]>);

impl Name {
    /// The root.
    pub fn root() -> Name {
        Name(Arc::new([0]))
    }

    /// Reads presentation text (RFC 1035 section 5.1): absolute with or without its final dot, `\X` and `\DDD`
    /// escapes, U-labels turned into A-labels.
    pub fn parse(text: &str) -> Result<Name, NameError> {
        let (wire, _absolute) = parse_labels(text)?;
        Name::from_labels(wire, &[0])
    }

    /// As [`Name::parse`], but `@` is `origin`, and a name that is not written with a final dot and is not at or below
    /// `origin` is relative to it (ownership.md section 1, canonical key).
    pub fn parse_in(text: &str, origin: &Name) -> Result<Name, NameError> {
        if text == "@" {
            return Ok(origin.clone());
        }
        let (wire, absolute) = parse_labels(text)?;
        let name = Name::from_labels(wire.clone(), &[0])?;
        if absolute || name.is_at_or_below(origin) { Ok(name) } else { Name::from_labels(wire, origin.as_wire()) }
    }

    /// As a zone file means it: without a final dot the name is relative to `origin`; `@` is `origin`.
    pub fn parse_relative(text: &str, origin: &Name) -> Result<Name, NameError> {
        if text == "@" {
            return Ok(origin.clone());
        }
        let (wire, absolute) = parse_labels(text)?;
        Name::from_labels(wire, if absolute { &[0] } else { origin.as_wire() })
    }

    fn from_labels(mut wire: Vec<u8>, rest: &[u8]) -> Result<Name, NameError> {
        wire.extend_from_slice(rest);
        if wire.len() > MAX_NAME {
            return Err(NameError::LongName);
        }
        wire.make_ascii_lowercase();
        Ok(Name(wire.into()))
    }

    /// The name that `octets` hold from first to last, uncompressed; letter case is folded.
    pub fn from_wire(octets: &[u8]) -> Result<Name, NameError> {
        if wire_length(octets) != Some(octets.len()) {
            return Err(NameError::BadWire);
        }
        // Length octets are below 64, so folding the case of the whole buffer leaves them alone.
        Ok(Name(octets.to_ascii_lowercase().into()))
    }

    /// Lower-case wire form.
    pub fn as_wire(&self) -> &[u8] {
        &self.0
    }

    /// Labels from the leftmost to the last before the root.
    pub fn labels(&self) -> Labels<'_> {
        Labels(&self.0)
    }

    /// How many labels, the root not counted.
    pub fn label_count(&self) -> usize {
        self.labels().count()
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// The name without its leftmost label; none above the root.
    pub fn parent(&self) -> Option<Name> {
        let skip = 1 + usize::from(self.0[0]);
        if self.is_root() { None } else { Some(Name(self.0[skip..].into())) }
    }

    /// This name and all above it, down to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Name> + '_ {
        std::iter::successors(Some(self.clone()), Name::parent)
    }

    /// `label` put before this name.
    pub fn child(&self, label: &[u8]) -> Result<Name, NameError> {
        if label.is_empty() {
            return Err(NameError::EmptyLabel);
        }
        if label.len() > MAX_LABEL {
            return Err(NameError::LongLabel);
        }
        let mut wire = vec![label.len() as u8];
        wire.extend_from_slice(label);
        Name::from_labels(wire, &self.0)
    }

    /// Whether this is `other` or below it, by whole labels.
    pub fn is_at_or_below(&self, other: &Name) -> bool {
        let Some(at) = self.0.len().checked_sub(other.0.len()) else { return false };
        self.0[at..] == other.0[..] && is_label_start(&self.0, at)
    }

    /// Whether the leftmost label is `*` (RFC 4592 section 2.1.1).
    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with(&[1, b'*'])
    }

    /// The labels as octets whose byte order is the canonical order below `apex`, so that a subtree is a prefix range:
    /// from the label next to the apex to the leftmost, each ended by 0, with 0 and 1 written as 1 1 and 1 2.
    /// None when the name is not at or below `apex`; the apex itself is empty.
    pub fn sort_key(&self, apex: &Name) -> Option<Vec<u8>> {
        if !self.is_at_or_below(apex) {
            return None;
        }
        let own = &self.0[..self.0.len() - apex.0.len()];
        let mut labels = [&[][..]; MAX_LABELS];
        let mut count = 0;
        for label in Labels(own) {
            labels[count] = label;
            count += 1;
        }
        let mut key = Vec::with_capacity(own.len() + 2);
        for label in labels[..count].iter().rev() {
            if label.iter().all(|octet| *octet > 1) {
                key.extend_from_slice(label);
            } else {
                for &octet in *label {
                    match octet {
                        0 | 1 => key.extend_from_slice(&[1, octet + 1]),
                        other => key.push(other),
                    }
                }
            }
            key.push(0);
        }
        Some(key)
    }

    /// The name of a [`Name::sort_key`] below `apex`.
    pub fn from_sort_key(apex: &Name, key: &[u8]) -> Result<Name, NameError> {
        // Filled from its end, since a key has the labels in the opposite order.
        let mut wire = [0_u8; MAX_NAME];
        let mut first = MAX_NAME - apex.0.len();
        wire[first..].copy_from_slice(&apex.0);
        let mut rest = key;
        while !rest.is_empty() {
            let end = rest.iter().position(|octet| *octet == 0).ok_or(NameError::BadWire)?;
            let mut label = [0_u8; MAX_LABEL];
            let mut length = 0;
            let mut octets = rest[..end].iter();
            while let Some(&octet) = octets.next() {
                let octet = match octet {
                    1 => match octets.next() {
                        Some(octet @ 1..=2) => octet - 1,
                        _ => return Err(NameError::BadWire),
                    },
                    other => other,
                };
                *label.get_mut(length).ok_or(NameError::BadWire)? = octet;
                length += 1;
            }
            if length == 0 {
                return Err(NameError::BadWire);
            }
            first = first.checked_sub(1 + length).ok_or(NameError::LongName)?;
            wire[first] = length as u8;
            wire[first + 1..=first + length].copy_from_slice(&label[..length]);
            rest = &rest[end + 1..];
        }
        // Length octets are below 64, so folding the case of the whole buffer leaves them alone.
        wire[first..].make_ascii_lowercase();
        Ok(Name(wire[first..].into()))
    }

    /// Presentation form with U-labels where all labels decode, without escapes for letters of other scripts.
    pub fn to_unicode(&self) -> String {
        let text = self.to_string();
        if !text.contains("xn--") {
            return text;
        }
        match idna::domain_to_unicode(&text) {
            (unicode, Ok(())) => unicode,
            (_, Err(_)) => text,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_presentation(f, &self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_presentation(f, &self.0)
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        let mut left: Vec<&[u8]> = self.labels().collect();
        let mut right: Vec<&[u8]> = other.labels().collect();
        left.reverse();
        right.reverse();
        left.cmp(&right)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Labels of an uncompressed name from left to right, without the root; see [`Name::labels`].
#[derive(Clone, Debug)]
pub struct Labels<'a>(&'a [u8]);

impl<'a> Labels<'a> {
    /// Labels of wire octets that [`wire_length`] has accepted.
    pub fn of(octets: &'a [u8]) -> Labels<'a> {
        Labels(octets)
    }
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (&length, rest) = self.0.split_first()?;
        if length == 0 || rest.len() < usize::from(length) {
            return None;
        }
        let (label, rest) = rest.split_at(usize::from(length));
        self.0 = rest;
        Some(label)
    }
}

/// Octets that an uncompressed name takes at the beginning of `octets`; none if there is no such name.
pub fn wire_length(octets: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let length = usize::from(*octets.get(at)?);
        if length > MAX_LABEL {
            return None;
        }
        at += 1 + length;
        if at > MAX_NAME {
            return None;
        }
        if length == 0 {
            return Some(at);
        }
    }
}

fn is_label_start(octets: &[u8], wanted: usize) -> bool {
    let mut at = 0;
    while at < wanted {
        at += 1 + usize::from(octets[at]);
    }
    at == wanted
}

/// Writes an uncompressed wire name in presentation form with its final dot, special octets escaped.
pub fn write_presentation(f: &mut impl fmt::Write, wire: &[u8]) -> fmt::Result {
    let mut labels = Labels(wire).peekable();
    if labels.peek().is_none() {
        return f.write_char('.');
    }
    for label in labels {
        for &octet in label {
            match octet {
                b'.' | b'"' | b'\\' | b';' | b'(' | b')' | b'@' | b'$' => {
                    f.write_char('\\')?;
                    f.write_char(char::from(octet))?;
                }
                0x21..=0x7e => f.write_char(char::from(octet))?,
                other => write!(f, "\\{other:03}")?,
            }
        }
        f.write_char('.')?;
    }
    Ok(())
}

/// The labels of a text in wire form without the root, and whether the text ended with a dot.
fn parse_labels(text: &str) -> Result<(Vec<u8>, bool), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text == "." {
        return Ok((Vec::new(), true));
    }
    let mut wire = Vec::with_capacity(text.len() + 1);
    let mut label: Vec<u8> = Vec::new();
    let mut unicode = false;
    let mut characters = text.chars();
    let mut absolute = false;
    while let Some(character) = characters.next() {
        absolute = false;
        match character {
            '.' => {
                push_label(&mut wire, &label, unicode)?;
                label.clear();
                unicode = false;
                absolute = true;
            }
            '\\' => {
                let rest = characters.as_str();
                let (octet, taken) = unescape(rest)?;
                label.push(octet);
                characters = rest[taken..].chars();
            }
            other => {
                unicode |= !other.is_ascii();
                let mut buffer = [0; 4];
                label.extend_from_slice(other.encode_utf8(&mut buffer).as_bytes());
            }
        }
        if label.len() > 4 * MAX_NAME {
            return Err(NameError::LongLabel);
        }
        if wire.len() > MAX_NAME {
            return Err(NameError::LongName);
        }
    }
    if !absolute {
        push_label(&mut wire, &label, unicode)?;
    }
    Ok((wire, absolute))
}

/// The octet that an escape stands for, and how many octets of the text behind the backslash it takes.
fn unescape(rest: &str) -> Result<(u8, usize), NameError> {
    let octets = rest.as_bytes();
    match octets.first() {
        Some(first) if first.is_ascii_digit() => {
            let digits =
                octets.get(..3).filter(|three| three.iter().all(u8::is_ascii_digit)).ok_or(NameError::BadEscape)?;
            let value = digits.iter().fold(0_u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
            Ok((u8::try_from(value).map_err(|_| NameError::BadEscape)?, 3))
        }
        Some(first) if first.is_ascii() => Ok((*first, 1)),
        _ => Err(NameError::BadEscape),
    }
}

fn push_label(wire: &mut Vec<u8>, label: &[u8], unicode: bool) -> Result<(), NameError> {
    if label.is_empty() {
        return Err(NameError::EmptyLabel);
    }
    let ascii;
    let octets = if unicode {
        let text = std::str::from_utf8(label).map_err(|_| NameError::BadUnicode)?;
        ascii = idna::domain_to_ascii(text).map_err(|_| NameError::BadUnicode)?;
        if ascii.is_empty() || ascii.contains('.') {
            return Err(NameError::BadUnicode);
        }
        ascii.as_bytes()
    } else {
        label
    };
    if octets.len() > MAX_LABEL {
        return Err(NameError::LongLabel);
    }
    wire.push(octets.len() as u8);
    wire.extend_from_slice(octets);
    Ok(())
}

/// Secret of the hash by which tables find names, random per process, so that nobody can choose names that collide.
#[derive(Clone, Copy, Debug)]
pub struct HashKey {
    seed: u64,
    multiplier: u64,
}

impl HashKey {
    /// A key of two random numbers.
    pub fn new(seed: u64, random: u64) -> HashKey {
        // Odd, and with bits all over even where the number is a small one of a test.
        HashKey { seed, multiplier: (random ^ 0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// Hash of the root: where every other hash starts.
    pub fn root(self) -> u64 {
        self.seed
    }

    /// Hash of a name from the hash of its parent and its leftmost label, given with its length octet, lower case.
    #[inline]
    pub fn extend(self, parent: u64, label: &[u8]) -> u64 {
        let mut hash = parent;
        let mut rest = label;
        while rest.len() > 8 {
            let (word, behind) = rest.split_first_chunk::<8>().expect("over eight octets");
            hash = self.fold(hash ^ u64::from_le_bytes(*word));
            rest = behind;
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.fold(hash ^ u64::from_le_bytes(last))
    }

    /// [`HashKey::extend`] for the label of `length` octets, its length octet included, at the beginning of `octets`,
    /// which go on for at least seven octets behind it.
    #[inline]
    pub(super) fn extend_padded(self, parent: u64, mut octets: &[u8], mut length: usize) -> u64 {
        let mut hash = parent;
        loop {
            let (word, behind) = octets.split_first_chunk::<8>().expect("the padding behind a label");
            let word = u64::from_le_bytes(*word);
            if length <= 8 {
                return self.fold(hash ^ (word & (u64::MAX >> (64 - 8 * length))));
            }
            hash = self.fold(hash ^ word);
            octets = behind;
            length -= 8;
        }
    }

    #[inline]
    fn fold(self, word: u64) -> u64 {
        let product = u128::from(word) * u128::from(self.multiplier);
        (product as u64) ^ ((product >> 64) as u64) ^ self.seed.rotate_left(29)
    }

    /// Hash of a whole lower-case wire name.
    pub fn hash(self, wire: &[u8]) -> u64 {
        let mut starts = [0_u8; MAX_LABELS + 1];
        let mut count = 0;
        let mut at = 0;
        while let Some(&length) = wire.get(at).filter(|length| **length != 0) {
            starts[count] = at as u8;
            count += 1;
            at += 1 + usize::from(length);
        }
        starts[..count].iter().rev().fold(self.root(), |hash, &start| {
            let start = usize::from(start);
            self.extend(hash, &wire[start..=start + usize::from(wire[start])])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).expect("a name")
    }

    #[test]
    fn spellings_of_one_name_are_one_key() {
        let zone = name("example.com.");
        for text in ["www", "WWW.example.com", "www.example.com.", "\\119ww", "w\\ww.Example.COM."] {
            assert_eq!(Name::parse_in(text, &zone), Ok(name("www.example.com")), "{text}");
        }
        assert_eq!(Name::parse_in("@", &zone), Ok(zone.clone()));
        assert_eq!(Name::parse_relative("www.example.com", &zone), Ok(name("www.example.com.example.com.")));
    }

    #[test]
    fn any_octet_passes_through_text_and_sort_key() {
        let apex = name("example.com.");
        for octet in 0..=255_u8 {
            let one = apex.child(&[octet, b'x', octet]).expect("a child");
            assert_eq!(name(&one.to_string()), one);
            let key = one.sort_key(&apex).expect("below");
            assert_eq!(Name::from_sort_key(&apex, &key), Ok(one));
        }
    }

    #[test]
    fn sort_keys_order_as_names_do_and_a_subtree_is_a_range() {
        let apex = name("example.");
        // The example of RFC 4034 section 6.1.
        let order = [
            "example.",
            "a.example.",
            "yljkjljk.a.example.",
            "Z.a.example.",
            "zABC.a.EXAMPLE.",
            "z.example.",
            "\\001.z.example.",
            "*.z.example.",
            "\\200.z.example.",
        ];
        let names: Vec<Name> = order.iter().map(|text| name(text)).collect();
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(sorted, names);
        let keys: Vec<Vec<u8>> = names.iter().map(|one| one.sort_key(&apex).expect("below")).collect();
        assert!(keys.is_sorted());
        assert!(keys[8].starts_with(&keys[5]));
    }

    #[test]
    fn whole_labels_decide_what_is_below() {
        assert!(!name("notgap.test").is_at_or_below(&name("gap.test")));
        assert!(name("a.gap.test").is_at_or_below(&name("gap.test")));
        assert!(name("gap.test").is_at_or_below(&Name::root()));
    }

    #[test]
    fn unicode_labels_become_a_labels() {
        assert_eq!(name("bücher.example").to_string(), "xn--bcher-kva.example.");
        assert_eq!(name("xn--bcher-kva.example").to_unicode(), "bücher.example.");
    }

    #[test]
    fn what_is_no_name_says_why() {
        assert_eq!(Name::parse("a..b"), Err(NameError::EmptyLabel));
        assert_eq!(Name::parse(&"a".repeat(64)), Err(NameError::LongLabel));
        assert_eq!(Name::parse(&"abcdefg.".repeat(32)), Err(NameError::LongName));
        assert_eq!(Name::parse("a\\25"), Err(NameError::BadEscape));
        assert_eq!(Name::parse("a\\256"), Err(NameError::BadEscape));
        assert_eq!(Name::parse(""), Err(NameError::Empty));
        assert_eq!(Name::from_wire(&[1, b'a']), Err(NameError::BadWire));
    }

    #[test]
    fn hash_of_a_name_is_built_label_by_label() {
        let key = HashKey::new(7, 11);
        let com = key.extend(key.root(), b"\x03com");
        let example = key.extend(com, b"\x07example");
        assert_eq!(key.hash(name("example.com").as_wire()), example);
        assert_ne!(key.hash(name("example.org").as_wire()), example);
    }
}
