//! The addresses of one family of an ALIAS target, and which of them a record serves. Pure, and without allocation once
//! a set is made.

use std::sync::Arc;

use super::alias::Family;
use super::policy::{Internal, Policy};

/// Most addresses kept of an answer (alias.md section 3.4).
pub const MAX_KEPT: usize = 64;

/// Addresses without repeats, sorted, each with its rank by a stable hash. A clone shares them.
///
/// One allocation: the addresses in network order, one after another, then an octet of rank for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Set(Option<Arc<[u8]>>);

impl Set {
    fn new(sorted: &[&[u8]]) -> Set {
        if sorted.is_empty() {
            return Set(None);
        }
        let mut by_hash: Vec<usize> = (0..sorted.len()).collect();
        by_hash.sort_by_key(|index| (stable_hash(sorted[*index]), *index));
        let mut ranks = vec![0_u8; sorted.len()];
        for (rank, index) in by_hash.into_iter().enumerate() {
            ranks[index] = u8::try_from(rank).unwrap_or(u8::MAX);
        }
        let mut octets = sorted.concat();
        octets.extend_from_slice(&ranks);
        Set(Some(octets.into()))
    }

    #[inline]
    fn chosen(&self, family: Family, most: u8) -> Chosen<'_> {
        let Some(all) = self.0.as_deref() else { return Chosen { octets: &[], ranks: &[], most } };
        let (octets, ranks) = all.split_at(all.len() / (family.octets() + 1) * family.octets());
        Chosen { octets, ranks, most }
    }
}

/// The addresses of a family as an upstream gave them: all of them, and those without the internal ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    public: Set,
    all: Set,
}

impl Addresses {
    /// Of an answer: in network order, one after another, in any order. The first [`MAX_KEPT`] by value are kept.
    pub fn new(octets: &[u8], family: Family) -> Addresses {
        let mut all: Vec<&[u8]> = octets.chunks_exact(family.octets()).collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(MAX_KEPT);
        let public: Vec<&[u8]> = all.iter().copied().filter(|address| !is_internal(address)).collect();
        let is_same = public.len() == all.len();
        let all = Set::new(&all);
        let public = if is_same { all.clone() } else { Set::new(&public) };
        Addresses { public, all }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.0.is_none()
    }

    /// Whether there are some, all of them internal.
    #[inline]
    pub fn is_internal(&self) -> bool {
        self.public.0.is_none() && self.all.0.is_some()
    }

    /// What a record with this policy has of them.
    #[inline]
    pub fn of(&self, family: Family, policy: &Policy) -> Chosen<'_> {
        match policy.internal {
            Internal::Removed => self.public.chosen(family, policy.max_addresses),
            Internal::Kept => self.all.chosen(family, policy.max_addresses),
        }
    }

    /// All of them in network order, one after another, sorted.
    pub fn octets(&self, family: Family) -> &[u8] {
        self.all.chosen(family, u8::MAX).octets
    }
}

/// Addresses that are served: of many, those with the lowest ranks, so that the same ones stay whatever else comes and
/// goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen<'a> {
    octets: &'a [u8],
    ranks: &'a [u8],
    most: u8,
}

impl<'a> Chosen<'a> {
    /// How many.
    #[inline]
    pub fn count(self) -> usize {
        self.ranks.len().min(usize::from(self.most))
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.ranks.is_empty()
    }

    /// One of them in network order; they are sorted.
    #[inline]
    pub fn get(self, family: Family, index: usize) -> Option<&'a [u8]> {
        let place = if self.ranks.len() <= usize::from(self.most) { index } else { self.place(index)? };
        let start = place * family.octets();
        self.octets.get(start..start + family.octets())
    }

    /// Where the one of this number stands among all; at most [`MAX_KEPT`] are looked through.
    #[cold]
    fn place(self, index: usize) -> Option<usize> {
        let chosen = self.ranks.iter().enumerate().filter(|(_, rank)| **rank < self.most);
        chosen.map(|(place, _)| place).nth(index)
    }

    /// All of them.
    pub fn iter(self, family: Family) -> impl Iterator<Item = &'a [u8]> {
        (0..self.count()).filter_map(move |index| self.get(family, index))
    }
}

/// FNV-1a, 64 bits: the same in every process and version, as the choice of addresses must be.
fn stable_hash(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

/// Addresses that a target outside has no business to point to: this host, private and shared networks, link-local,
/// multicast and reserved ones.
fn is_internal(address: &[u8]) -> bool {
    const V6_LOOPBACK_AND_UNSPECIFIED: [u8; 15] = [0; 15];
    const V4_MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    match *address {
        [0 | 10 | 127 | 224..=255, _, _, _] => true,
        [100, second, _, _] => second & 0xc0 == 64,
        [169, second, _, _] => second == 254,
        [172, second, _, _] => second & 0xf0 == 16,
        [192, second, _, _] => second == 168,
        [_, _, _, _] => false,
        [first, second, ..] => {
            first & 0xfe == 0xfc
                || (first == 0xfe && second & 0xc0 == 0x80)
                || first == 0xff
                || address.starts_with(&V4_MAPPED)
                || (address.starts_with(&V6_LOOPBACK_AND_UNSPECIFIED) && address[15] < 2)
        }
        [] | [_] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn v4(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| text.parse::<Ipv4Addr>().expect("an address").octets()).collect()
    }

    fn v6(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| text.parse::<Ipv6Addr>().expect("an address").octets()).collect()
    }

    fn served(octets: &[u8], family: Family, policy: &Policy) -> Vec<u8> {
        Addresses::new(octets, family).of(family, policy).iter(family).flatten().copied().collect()
    }

    #[test]
    fn addresses_are_sorted_and_without_repeats() {
        let given = v4(&["198.51.100.2", "192.0.2.1", "198.51.100.2"]);
        assert_eq!(served(&given, Family::A, &Policy::default()), v4(&["192.0.2.1", "198.51.100.2"]));
        assert!(Addresses::new(&[], Family::A).is_empty());
    }

    #[test]
    fn internal_addresses_are_served_by_records_that_allow_them() {
        let kept = Policy { internal: Internal::Kept, ..Policy::default() };
        let check = |octets: Vec<u8>, family: Family, internal: bool| {
            let addresses = Addresses::new(&octets, family);
            assert_eq!(addresses.is_internal(), internal, "{octets:?}");
            assert_eq!(addresses.of(family, &Policy::default()).is_empty(), internal);
            assert_eq!(served(&octets, family, &kept), octets);
        };
        for text in [
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.0.1",
            "192.168.1.1",
            "224.0.0.1",
            "255.255.255.255",
        ] {
            check(v4(&[text]), Family::A, true);
        }
        for text in ["100.63.0.1", "100.128.0.1", "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "223.0.0.1"]
        {
            check(v4(&[text]), Family::A, false);
        }
        for text in ["::", "::1", "::ffff:192.0.2.1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "ff02::1"] {
            check(v6(&[text]), Family::Aaaa, true);
        }
        for text in ["::2", "2001:db8::1", "fec0::1", "64:ff9b::1"] {
            check(v6(&[text]), Family::Aaaa, false);
        }
        let mixed = v4(&["10.0.0.1", "192.0.2.1"]);
        assert_eq!(served(&mixed, Family::A, &Policy::default()), v4(&["192.0.2.1"]));
        assert_eq!(served(&mixed, Family::A, &kept), mixed);
    }

    #[test]
    fn of_many_addresses_the_same_ones_are_served() {
        let octets = |texts: &[String]| v4(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for most in [1, 16, 59] {
            let policy = Policy { max_addresses: most, ..Policy::default() };
            let mut texts: Vec<String> = (1..=60).map(|last| format!("192.0.2.{last}")).collect();
            let chosen = served(&octets(&texts), Family::A, &policy);
            assert_eq!(chosen.len(), usize::from(most) * 4);
            assert!(chosen.chunks(4).is_sorted());
            texts.reverse();
            assert_eq!(served(&octets(&texts), Family::A, &policy), chosen);
            // Taking away one that is not among them changes nothing.
            let is_served = |last: u8| chosen.chunks(4).any(|one| one[3] == last);
            let unserved = (1..=60).find(|last| !is_served(*last)).expect("one of them");
            texts.retain(|text| *text != format!("192.0.2.{unserved}"));
            assert_eq!(texts.len(), 59);
            assert_eq!(served(&octets(&texts), Family::A, &policy), chosen);
        }
        let all = Policy { max_addresses: 64, ..Policy::default() };
        let texts: Vec<String> = (1..=60).map(|last| format!("192.0.2.{last}")).collect();
        assert_eq!(served(&octets(&texts), Family::A, &all), octets(&texts));
    }
}
