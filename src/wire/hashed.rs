//! A name made ready for lookups: lower case, with the start and the keyed hash of each of its suffixes.

use super::name::{HashKey, MAX_LABEL, MAX_LABELS, MAX_NAME};

/// Octets behind the longest name, so that words of eight octets can be read up to its end.
const PADDING: usize = 8;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Scratch of one query. Large, so it is made once per thread and loaded anew for each name.
#[derive(Clone, Debug)]
pub struct HashedName {
    lower: [u8; MAX_NAME + PADDING],
    length: u8,
    labels: u8,
    /// By number of labels before it, the root's place last: where a label starts.
    starts: [u8; MAX_LABELS + 1],
    /// By number of labels: the hash of the suffix of so many labels.
    hashes: [u64; MAX_LABELS + 1],
}

impl HashedName {
    /// The root; [`HashedName::load`] puts a name in.
    pub fn empty() -> HashedName {
        HashedName {
            lower: [0; MAX_NAME + PADDING],
            length: 1,
            labels: 0,
            starts: [0; MAX_LABELS + 1],
            hashes: [0; MAX_LABELS + 1],
        }
    }

    /// Takes the uncompressed name at the beginning of `octets`. False, and nothing of use in here, if there is none.
    #[inline]
    pub fn load(&mut self, key: HashKey, octets: &[u8]) -> bool {
        let mut at = 0;
        let mut labels = 0;
        loop {
            let Some(&length) = octets.get(at) else { return false };
            self.starts[labels] = at as u8;
            if length == 0 {
                break;
            }
            labels += 1;
            at += 1 + usize::from(length);
            if usize::from(length) > MAX_LABEL || labels > MAX_LABELS || at >= MAX_NAME {
                return false;
            }
        }
        let length = at + 1;
        self.length = length as u8;
        self.labels = labels as u8;
        self.lower_case(octets, length);
        let mut hash = key.root();
        self.hashes[0] = hash;
        for (start, slot) in self.starts[..labels].iter().rev().zip(&mut self.hashes[1..]) {
            let first = usize::from(*start);
            let label = 1 + usize::from(self.lower[first]);
            hash = key.extend_padded(hash, &self.lower[first..], label);
            *slot = hash;
        }
        true
    }

    /// Copies `length` octets with A to Z folded, eight at a time. Length octets are below `A`.
    #[inline]
    fn lower_case(&mut self, octets: &[u8], length: usize) {
        let mut words = octets[..length].chunks_exact(8);
        let mut out = self.lower.chunks_exact_mut(8);
        for (word, out) in (&mut words).zip(&mut out) {
            let word = u64::from_le_bytes(word.try_into().expect("eight octets"));
            out.copy_from_slice(&lower_case_word(word).to_le_bytes());
        }
        let rest = words.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let at = length - rest.len();
        self.lower[at..at + 8].copy_from_slice(&lower_case_word(u64::from_le_bytes(last)).to_le_bytes());
    }

    /// Number of labels, the root not counted.
    #[inline]
    pub fn labels(&self) -> usize {
        usize::from(self.labels)
    }

    /// The whole name in lower-case wire form.
    #[inline]
    pub fn wire(&self) -> &[u8] {
        &self.lower[..usize::from(self.length)]
    }

    /// Where the suffix of so many labels, at most [`HashedName::labels`], starts in [`HashedName::wire`].
    #[inline]
    pub fn start(&self, labels: usize) -> usize {
        usize::from(self.starts[usize::from(self.labels) - labels])
    }

    /// The suffix of so many labels, at most [`HashedName::labels`].
    #[inline]
    pub fn suffix(&self, labels: usize) -> &[u8] {
        &self.wire()[self.start(labels)..]
    }

    /// Hash of the suffix of so many labels.
    #[inline]
    pub fn hash(&self, labels: usize) -> u64 {
        self.hashes[labels]
    }
}

/// Eight octets with A to Z in lower case: the high bit of each octet tells whether it is in the range.
#[inline]
fn lower_case_word(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = word & !HIGH_BITS;
    let from_a = low + EACH * u64::from(0x80 - b'A');
    let behind_z = low + EACH * u64::from(0x7f - b'Z');
    let upper = from_a & !behind_z & !word & HIGH_BITS;
    word | upper >> 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::name::Name;

    #[test]
    fn suffixes_and_their_hashes_are_those_of_the_names() {
        let key = HashKey::new(3, 5);
        let mut hashed = HashedName::empty();
        assert!(hashed.load(key, b"\x03WwW\x07example\x03Com\x00rest"));
        assert_eq!(hashed.labels(), 3);
        for (labels, text) in [(0, "."), (1, "com."), (2, "example.com."), (3, "www.example.com.")] {
            let name = Name::parse(text).expect("a name");
            assert_eq!(hashed.suffix(labels), name.as_wire());
            assert_eq!(hashed.hash(labels), key.hash(name.as_wire()));
        }
        assert!(!hashed.load(key, b"\x03ww"));
    }

    #[test]
    fn every_octet_is_folded_as_ascii_says() {
        for octet in 0..=255_u8 {
            let word = u64::from_le_bytes([octet, b'A', octet, b'z', 0, octet, 255, octet]);
            let wanted = word.to_le_bytes().map(|one| one.to_ascii_lowercase());
            assert_eq!(lower_case_word(word).to_le_bytes(), wanted, "{octet}");
        }
    }

    #[test]
    fn names_of_every_length_are_loaded_or_refused() {
        let key = HashKey::new(3, 5);
        let mut hashed = HashedName::empty();
        for label in 1..=64_usize {
            for count in 1..=130_usize {
                let mut wire = Vec::new();
                for _ in 0..count {
                    wire.push(label as u8);
                    wire.extend(std::iter::repeat_n(b'Q', label));
                }
                wire.push(0);
                let sound = Name::from_wire(&wire);
                assert_eq!(hashed.load(key, &wire), sound.is_ok(), "{count} labels of {label}");
                if let Ok(name) = sound {
                    assert_eq!(hashed.wire(), name.as_wire());
                    assert_eq!(hashed.hash(count), key.hash(name.as_wire()));
                }
            }
        }
    }
}
