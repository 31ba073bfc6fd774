//! Numbers of the protocol: record types, response codes, opcodes, EDNS options and extended errors.

use std::fmt;
use std::str::FromStr;

use domain::base::iana::Rtype as KnownType;

/// A record type; unknown ones are `TYPEn` in text (RFC 3597 section 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rtype(pub u16);

macro_rules! record_types {
    ($($name:ident = $number:literal),* $(,)?) => {
        #[allow(missing_docs)] // Each constant is the type of its name.
        impl Rtype {
            $(pub const $name: Rtype = Rtype($number);)*
        }
    };
}

record_types! {
    A = 1, NS = 2, MD = 3, MF = 4, CNAME = 5, SOA = 6, MB = 7, MG = 8, MR = 9, NULL = 10, PTR = 12, MINFO = 14, MX = 15,
    TXT = 16, RP = 17, AFSDB = 18, RT = 21, SIG = 24, KEY = 25, PX = 26, AAAA = 28, NXT = 30, SRV = 33, NAPTR = 35,
    KX = 36, DNAME = 39, OPT = 41, DS = 43, RRSIG = 46, NSEC = 47, DNSKEY = 48, NSEC3 = 50, NSEC3PARAM = 51, SVCB = 64,
    HTTPS = 65, NXNAME = 128, TKEY = 249, TSIG = 250, IXFR = 251, AXFR = 252, MAILB = 253, MAILA = 254, ANY = 255,
    CAA = 257,
    // ALIAS in RFC 3597 form: read and, on request, exported.
    ALIAS = 65401,
    // The type of the ANAME draft: read, never written.
    ANAME = 65305,
}

impl Rtype {
    /// Types that only a query, a message or a signature can have: no zone holds them (RFC 6895 section 3.1).
    pub fn is_meta(self) -> bool {
        matches!(self, Rtype::OPT | Rtype::NXNAME) || (128..=255).contains(&self.0) || self.0 == 0
    }

    /// Types of which a name may have one record only.
    pub fn is_singleton(self) -> bool {
        matches!(self, Rtype::CNAME | Rtype::SOA | Rtype::DNAME | Rtype::ALIAS)
    }
}

impl fmt::Display for Rtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rtype::ALIAS => f.write_str("ALIAS"),
            Rtype::NXNAME => f.write_str("NXNAME"),
            other => write!(f, "{}", KnownType::from_int(other.0)),
        }
    }
}

impl fmt::Debug for Rtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that names no record type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownType(pub String);

impl fmt::Display for UnknownType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a record type; unknown types are written TYPE with their number", self.0.escape_debug())
    }
}

impl std::error::Error for UnknownType {}

impl FromStr for Rtype {
    type Err = UnknownType;

    /// Reads a mnemonic in any letter case, `ALIAS`, `ANAME` (a synonym), or `TYPEn`.
    fn from_str(text: &str) -> Result<Rtype, UnknownType> {
        if text.eq_ignore_ascii_case("ALIAS") || text.eq_ignore_ascii_case("ANAME") {
            return Ok(Rtype::ALIAS);
        }
        let known = KnownType::from_str(text).map_err(|_| UnknownType(text.chars().take(64).collect()))?;
        Ok(match Rtype(known.to_int()) {
            Rtype::ANAME => Rtype::ALIAS,
            other => other,
        })
    }
}

/// A response code with its extended bits (RFC 6891 section 6.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rcode(pub u16);

#[allow(missing_docs)] // Each constant is the code of its name.
impl Rcode {
    pub const NOERROR: Rcode = Rcode(0);
    pub const FORMERR: Rcode = Rcode(1);
    pub const SERVFAIL: Rcode = Rcode(2);
    pub const NXDOMAIN: Rcode = Rcode(3);
    pub const NOTIMP: Rcode = Rcode(4);
    pub const REFUSED: Rcode = Rcode(5);
    pub const YXDOMAIN: Rcode = Rcode(6);
    pub const NOTAUTH: Rcode = Rcode(9);
    pub const BADVERS: Rcode = Rcode(16);
    pub const BADCOOKIE: Rcode = Rcode(23);
}

/// Opcodes that the server knows (RFC 1035 section 4.1.1, RFC 1996, RFC 2136).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// 0
    Query,
    /// 4
    Notify,
    /// 5
    Update,
}

/// Classes that matter here; all else is a number.
pub mod class {
    /// Internet.
    pub const IN: u16 = 1;
    /// Chaos, for the server's identity (RFC 4892).
    pub const CH: u16 = 3;
    /// None, in UPDATE.
    pub const NONE: u16 = 254;
    /// Any.
    pub const ANY: u16 = 255;
}

/// EDNS option codes.
pub mod option {
    /// Name server identifier (RFC 5001).
    pub const NSID: u16 = 3;
    /// Client subnet (RFC 7871).
    pub const CLIENT_SUBNET: u16 = 8;
    /// Cookie (RFC 7873).
    pub const COOKIE: u16 = 10;
    /// TCP keepalive (RFC 7828).
    pub const KEEPALIVE: u16 = 11;
    /// Padding (RFC 7830).
    pub const PADDING: u16 = 12;
    /// Extended DNS error (RFC 8914).
    pub const ERROR: u16 = 15;
}

/// Extended DNS error codes (RFC 8914 section 5.2 and the registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedError(pub u16);

#[allow(missing_docs)] // Each constant is the code of its name.
impl ExtendedError {
    pub const OTHER: ExtendedError = ExtendedError(0);
    pub const STALE_ANSWER: ExtendedError = ExtendedError(3);
    pub const NOT_READY: ExtendedError = ExtendedError(14);
    pub const PROHIBITED: ExtendedError = ExtendedError(18);
    pub const NOT_AUTHORITATIVE: ExtendedError = ExtendedError(20);
    pub const NO_REACHABLE_AUTHORITY: ExtendedError = ExtendedError(22);
    pub const NETWORK_ERROR: ExtendedError = ExtendedError(23);
    pub const INVALID_DATA: ExtendedError = ExtendedError(24);
    pub const INVALID_QUERY_TYPE: ExtendedError = ExtendedError(30);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_round_trip_for_every_number() {
        for number in 0..=u16::MAX {
            let rtype = Rtype(number);
            let read: Rtype = rtype.to_string().parse().expect("its own text");
            let wanted = if rtype == Rtype::ANAME { Rtype::ALIAS } else { rtype };
            assert_eq!(read, wanted, "{number}");
        }
    }

    #[test]
    fn aname_is_read_as_alias() {
        for text in ["ALIAS", "aname", "TYPE65401", "type65305"] {
            assert_eq!(text.parse(), Ok(Rtype::ALIAS), "{text}");
        }
        assert!("WWW".parse::<Rtype>().is_err());
    }
}
