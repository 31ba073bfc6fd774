//! Interoperable server cookies (RFC 7873, RFC 9018): SipHash-2-4 over what the client sent and where it is.

use std::hash::Hasher as _;
use std::net::IpAddr;

use siphasher::sip::SipHasher24;
use subtle::ConstantTimeEq as _;

/// Octets of a client cookie.
pub const CLIENT: usize = 8;
/// Octets of a server cookie of version 1.
pub const SERVER: usize = 16;
const VERSION: u8 = 1;
/// A cookie is good for so many seconds after it was made, and so many before (RFC 9018 section 4.3).
const MAX_AGE: i32 = 3600;
const MAX_AHEAD: i32 = 300;
/// Older cookies are good, but replaced.
const RENEW_AGE: i32 = 1800;

/// What a server cookie is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Made by us, and fresh enough to send back as it is.
    Valid,
    /// Made by us, but over 30 minutes old, or with the former secret: a new one is sent.
    Renew,
    /// Not ours, or too old, or from the future.
    Invalid,
}

/// The secrets: one that signs, and during a roll a former one that still verifies (RFC 9018 section 5).
#[derive(Clone)]
pub struct CookieSecrets {
    current: [u8; 16],
    former: Option<[u8; 16]>,
}

impl std::fmt::Debug for CookieSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieSecrets")
    }
}

impl CookieSecrets {
    /// Secrets of 16 random octets.
    pub fn new(current: [u8; 16], former: Option<[u8; 16]>) -> CookieSecrets {
        CookieSecrets { current, former }
    }

    /// The server cookie for a client cookie and address at a time in seconds since 1970, modulo 2^32.
    #[inline]
    pub fn make(&self, client: &[u8; CLIENT], address: IpAddr, now: u32) -> [u8; SERVER] {
        let mut cookie = [0; SERVER];
        cookie[0] = VERSION;
        cookie[4..8].copy_from_slice(&now.to_be_bytes());
        let hash = hash(&self.current, client, cookie[..8].try_into().expect("eight octets"), address);
        cookie[8..].copy_from_slice(&hash);
        cookie
    }

    /// Judges the server cookie that came with a client cookie; its reserved octets are hashed as they came.
    #[inline]
    pub fn judge(&self, client: &[u8; CLIENT], server: &[u8], address: IpAddr, now: u32) -> Validity {
        let Some((head, mac)) = server.split_first_chunk::<8>() else { return Validity::Invalid };
        if server.len() != SERVER || head[0] != VERSION {
            return Validity::Invalid;
        }
        let made = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        let age = now.wrapping_sub(made) as i32;
        if !(-MAX_AHEAD..=MAX_AGE).contains(&age) {
            return Validity::Invalid;
        }
        if bool::from(hash(&self.current, client, head, address).ct_eq(mac)) {
            return if age > RENEW_AGE { Validity::Renew } else { Validity::Valid };
        }
        let former = self.former.as_ref().is_some_and(|secret| hash(secret, client, head, address).ct_eq(mac).into());
        if former { Validity::Renew } else { Validity::Invalid }
    }
}

fn hash(secret: &[u8; 16], client: &[u8; CLIENT], head: &[u8; 8], address: IpAddr) -> [u8; 8] {
    let mut hasher = SipHasher24::new_with_key(secret);
    hasher.write(client);
    hasher.write(head);
    match address {
        IpAddr::V4(address) => hasher.write(&address.octets()),
        IpAddr::V6(address) => hasher.write(&address.octets()),
    }
    hasher.finish().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 9018 appendix A.
    const SECRET: [u8; 16] = 0xe5e9_73e5_a6b2_a43f_48e7_dc84_9e37_bfcf_u128.to_be_bytes();
    const CLIENT_COOKIE: [u8; 8] = 0x2464_c4ab_cf10_c957_u64.to_be_bytes();
    const MADE: u32 = 1_559_731_985;

    fn secrets() -> CookieSecrets {
        CookieSecrets::new(SECRET, None)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_first_reply_of_rfc_9018() {
        let cookie = secrets().make(&CLIENT_COOKIE, address("198.51.100.100"), MADE);
        assert_eq!(cookie, 0x0100_0000_5cf7_9f11_1f81_30c3_eee2_9480_u128.to_be_bytes());
    }

    #[test]
    fn age_and_address_and_secret_decide() {
        let client = address("198.51.100.100");
        let cookie = secrets().make(&CLIENT_COOKIE, client, MADE);
        let judge = |secrets: &CookieSecrets, client, now| secrets.judge(&CLIENT_COOKIE, &cookie, client, now);
        assert_eq!(judge(&secrets(), client, MADE + 1800), Validity::Valid);
        assert_eq!(judge(&secrets(), client, MADE + 1801), Validity::Renew);
        assert_eq!(judge(&secrets(), client, MADE + 3601), Validity::Invalid);
        assert_eq!(judge(&secrets(), client, MADE - 300), Validity::Valid);
        assert_eq!(judge(&secrets(), client, MADE - 301), Validity::Invalid);
        assert_eq!(judge(&secrets(), address("198.51.100.101"), MADE), Validity::Invalid);
        assert_eq!(judge(&CookieSecrets::new([1; 16], Some(SECRET)), client, MADE), Validity::Renew);
        assert_eq!(judge(&CookieSecrets::new([1; 16], None), client, MADE), Validity::Invalid);
    }

    #[test]
    fn reserved_octets_are_hashed_as_they_came() {
        // RFC 9018 appendix A.3.
        let client = 0xfc93_fc62_807d_db86_u64.to_be_bytes();
        let cookie = 0x01ab_cdef_5cf7_8f71_a314_227b_6679_ebf5_u128.to_be_bytes();
        let validity = secrets().judge(&client, &cookie, address("203.0.113.203"), 1_559_727_985);
        assert_eq!(validity, Validity::Valid);
    }

    #[test]
    fn the_clock_may_pass_2106() {
        let client = address("2001:db8::1");
        let cookie = secrets().make(&CLIENT_COOKIE, client, u32::MAX - 10);
        assert_eq!(secrets().judge(&CLIENT_COOKIE, &cookie, client, 10), Validity::Valid);
    }
}
