//! The OPT record of a query (RFC 6891) and the options that have a form of their own.

use super::codes::{Rcode, option};

/// Least UDP size that a client can have (RFC 6891 section 6.2.3).
pub const MIN_SIZE: u16 = 512;
const DNSSEC_OK: u32 = 0x8000;
const COOKIE_LENGTHS: [std::ops::RangeInclusive<usize>; 2] = [8..=8, 16..=40];

/// An OPT record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns<'a> {
    /// The client's UDP size in octets, at least 512.
    pub size: u16,
    /// Version; above 0 the options were not read.
    pub version: u8,
    /// DO (RFC 3225).
    pub dnssec_ok: bool,
    options: &'a [u8],
}

impl<'a> Edns<'a> {
    /// Reads OPT from its class, TTL and RDATA; FORMERR if an option reaches over the end.
    pub fn read(class: u16, ttl: u32, rdata: &'a [u8]) -> Result<Edns<'a>, Rcode> {
        let version = (ttl >> 16) as u8;
        let edns = Edns {
            size: class.max(MIN_SIZE),
            version,
            dnssec_ok: ttl & DNSSEC_OK != 0,
            options: if version == 0 { rdata } else { &[] },
        };
        let mut options = edns.options();
        while options.next().is_some() {}
        if options.0.is_empty() { Ok(edns) } else { Err(Rcode::FORMERR) }
    }

    fn options(&self) -> Options<'a> {
        Options(self.options)
    }

    /// The data of the first option with this code (answers.md E12).
    #[inline]
    pub fn option(&self, code: u16) -> Option<&'a [u8]> {
        self.options().find(|(its, _)| *its == code).map(|(_, data)| data)
    }

    /// Whether COOKIE and client subnet, where given, have the form of RFC 7873 section 5.2.2 and RFC 7871 section 6.
    pub fn options_are_sound(&self) -> bool {
        if self.options.is_empty() {
            return true;
        }
        let cookie = self.option(option::COOKIE);
        let subnet = self.option(option::CLIENT_SUBNET);
        cookie.is_none_or(|data| COOKIE_LENGTHS.iter().any(|lengths| lengths.contains(&data.len())))
            && subnet.is_none_or(is_sound_subnet)
    }
}

struct Options<'a>(&'a [u8]);

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let (header, rest) = self.0.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let data = rest.get(..length)?;
        self.0 = &rest[length..];
        Some((u16::from_be_bytes([header[0], header[1]]), data))
    }
}

/// RFC 7871 section 6: family 1 or 2, prefix within the address, as many octets as the prefix needs, no bits behind it.
/// A query's scope is not judged: it is ignored with the rest.
fn is_sound_subnet(data: &[u8]) -> bool {
    let Some((header, address)) = data.split_first_chunk::<4>() else { return false };
    let most = match u16::from_be_bytes([header[0], header[1]]) {
        1 => 32,
        2 => 128,
        _ => return false,
    };
    let prefix = usize::from(header[2]);
    if prefix > most || usize::from(header[3]) > most || address.len() != prefix.div_ceil(8) {
        return false;
    }
    let behind = address.len() * 8 - prefix;
    address.last().is_none_or(|last| last.trailing_zeros() as usize >= behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_subnets_are_judged() {
        assert!(is_sound_subnet(&[0, 1, 24, 0, 192, 0, 2]));
        assert!(is_sound_subnet(&[0, 1, 0, 0]));
        assert!(!is_sound_subnet(&[0, 1, 20, 0, 192, 0, 2]));
        assert!(!is_sound_subnet(&[0, 1, 33, 0, 192, 0, 2, 0, 0]));
        assert!(!is_sound_subnet(&[0, 3, 0, 0]));
        assert!(!is_sound_subnet(&[0, 1, 24, 0, 192, 0]));
        assert!(!is_sound_subnet(&[0, 1]));
    }
}
