//! Which of the addresses that an upstream gave are kept (alias.md section 3.4). Pure.

use std::sync::Arc;

use crate::zone::alias::Family;

/// Most addresses kept of an answer.
pub const MAX_KEPT: usize = 64;
/// Most addresses published of a family (`maxAddresses`).
pub const MAX_PUBLISHED: usize = 16;

/// What is left of the addresses of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// These, in network order, one after another, sorted, without repeats.
    Some(Arc<[u8]>),
    /// There were some, all of them internal.
    OnlyInternal,
    /// There were none.
    None,
}

/// Whether internal addresses of targets are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Internal {
    /// They are removed.
    #[default]
    Removed,
    /// They are kept.
    Kept,
}

/// Takes the addresses of an answer, one after another, in any order.
pub fn admit(octets: &[u8], family: Family, internal: Internal) -> Admitted {
    let mut all: Vec<&[u8]> = octets.chunks_exact(family.octets()).collect();
    if all.is_empty() {
        return Admitted::None;
    }
    all.sort_unstable();
    all.dedup();
    all.truncate(MAX_KEPT);
    match internal {
        Internal::Kept => {}
        Internal::Removed => all.retain(|address| !is_internal(address)),
    }
    if all.is_empty() {
        return Admitted::OnlyInternal;
    }
    if all.len() > MAX_PUBLISHED {
        // By hash, not by order, so that the same ones stay whatever else comes and goes, and not the lowest only.
        all.sort_by_key(|address| stable_hash(address));
        all.truncate(MAX_PUBLISHED);
        all.sort_unstable();
    }
    Admitted::Some(all.concat().into())
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

    #[test]
    fn addresses_are_sorted_and_without_repeats() {
        let given = v4(&["198.51.100.2", "192.0.2.1", "198.51.100.2"]);
        let wanted = v4(&["192.0.2.1", "198.51.100.2"]);
        assert_eq!(admit(&given, Family::A, Internal::Removed), Admitted::Some(wanted.into()));
        assert_eq!(admit(&[], Family::A, Internal::Removed), Admitted::None);
    }

    #[test]
    fn internal_addresses_are_removed_unless_they_are_allowed() {
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
            assert_eq!(admit(&v4(&[text]), Family::A, Internal::Removed), Admitted::OnlyInternal, "{text}");
            assert_eq!(admit(&v4(&[text]), Family::A, Internal::Kept), Admitted::Some(v4(&[text]).into()));
        }
        for text in ["100.63.0.1", "100.128.0.1", "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "223.0.0.1"]
        {
            assert_eq!(admit(&v4(&[text]), Family::A, Internal::Removed), Admitted::Some(v4(&[text]).into()), "{text}");
        }
        for text in ["::", "::1", "::ffff:192.0.2.1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "ff02::1"] {
            assert_eq!(admit(&v6(&[text]), Family::Aaaa, Internal::Removed), Admitted::OnlyInternal, "{text}");
        }
        for text in ["::2", "2001:db8::1", "fec0::1", "64:ff9b::1"] {
            assert_eq!(admit(&v6(&[text]), Family::Aaaa, Internal::Removed), Admitted::Some(v6(&[text]).into()));
        }
        let mixed = v4(&["10.0.0.1", "192.0.2.1"]);
        assert_eq!(admit(&mixed, Family::A, Internal::Removed), Admitted::Some(v4(&["192.0.2.1"]).into()));
    }

    #[test]
    fn of_many_addresses_the_same_sixteen_are_published() {
        let mut texts: Vec<String> = (1..=60).map(|last| format!("192.0.2.{last}")).collect();
        let octets = |texts: &[String]| v4(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let Admitted::Some(chosen) = admit(&octets(&texts), Family::A, Internal::Removed) else { panic!("addresses") };
        assert_eq!(chosen.len(), 16 * 4);
        assert!(chosen.chunks(4).is_sorted());
        texts.reverse();
        assert_eq!(admit(&octets(&texts), Family::A, Internal::Removed), Admitted::Some(chosen.clone()));
        // Taking away one that is not among them changes nothing.
        texts.retain(|text| *text != format!("192.0.2.{}", unchosen(&chosen)));
        assert_eq!(texts.len(), 59);
        assert_eq!(admit(&octets(&texts), Family::A, Internal::Removed), Admitted::Some(chosen));
    }

    fn unchosen(chosen: &[u8]) -> u8 {
        (1..=60).find(|last| !chosen.chunks(4).any(|one| one[3] == *last)).expect("one of them")
    }
}
