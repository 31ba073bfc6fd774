//! A name made ready for lookups: lower case, with the start and the keyed hash of each of its suffixes.

use super::name::{HashKey, MAX_LABELS, MAX_NAME, wire_length};

/// Scratch of one query. Large, so it is made once per thread and loaded anew for each name.
#[derive(Clone, Debug)]
pub struct HashedName {
    lower: [u8; MAX_NAME],
    length: u8,
    labels: u8,
    /// By number of labels: where the suffix of so many labels starts.
    starts: [u8; MAX_LABELS + 1],
    /// By number of labels: the hash of the suffix of so many labels.
    hashes: [u64; MAX_LABELS + 1],
}

impl HashedName {
    /// The root; [`HashedName::load`] puts a name in.
    pub fn empty() -> HashedName {
        HashedName {
            lower: [0; MAX_NAME],
            length: 1,
            labels: 0,
            starts: [0; MAX_LABELS + 1],
            hashes: [0; MAX_LABELS + 1],
        }
    }

    /// Takes the uncompressed name at the beginning of `octets`. False, and unchanged, if there is none.
    #[inline]
    pub fn load(&mut self, key: HashKey, octets: &[u8]) -> bool {
        let Some(length) = wire_length(octets) else { return false };
        let lower = &mut self.lower[..length];
        lower.copy_from_slice(&octets[..length]);
        lower.make_ascii_lowercase();
        let mut left_to_right = [0_u8; MAX_LABELS + 1];
        let mut labels = 0;
        let mut at = 0;
        while lower[at] != 0 {
            left_to_right[labels] = at as u8;
            labels += 1;
            at += 1 + usize::from(lower[at]);
        }
        self.length = length as u8;
        self.labels = labels as u8;
        let mut hash = key.root();
        self.starts[0] = at as u8;
        self.hashes[0] = hash;
        for (count, &start) in left_to_right[..labels].iter().rev().enumerate() {
            let first = usize::from(start);
            hash = key.extend(hash, &lower[first..=first + usize::from(lower[first])]);
            self.starts[count + 1] = start;
            self.hashes[count + 1] = hash;
        }
        true
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

    /// Where the suffix of so many labels starts in [`HashedName::wire`].
    #[inline]
    pub fn start(&self, labels: usize) -> usize {
        usize::from(self.starts[labels])
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
}
