//! When a certificate ends: as much of X.509 (RFC 5280 section 4.1) as that takes.

/// ASN.1 tags.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xA0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Seconds since 1970 after which a certificate in DER is not valid; none if it cannot be read.
pub(super) fn not_after(certificate: &[u8]) -> Option<u64> {
    let (whole, _) = expect(SEQUENCE, certificate)?;
    let (mut fields, _) = expect(SEQUENCE, whole)?;
    if fields.first() == Some(&VERSION) {
        (_, _, fields) = element(fields)?;
    }
    // Serial number, signature, issuer.
    for _ in 0..3 {
        (_, _, fields) = element(fields)?;
    }
    let (validity, _) = expect(SEQUENCE, fields)?;
    let (_, _, rest) = element(validity)?;
    let (tag, time, _) = element(rest)?;
    seconds(tag, time)
}

fn expect(tag: u8, octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(octets)?;
    (found == tag).then_some((content, rest))
}

/// Tag, content, and what is behind.
fn element(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = octets.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7F => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ` (RFC 5280 section 4.1.2.5).
fn seconds(tag: u8, time: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, at) = match (tag, text.len()) {
        (UTC_TIME, 12) => (number(0, 2).map(|year| if year >= 50 { 1900 + year } else { 2000 + year })?, 2),
        (GENERALIZED_TIME, 14) => (number(0, 4)?, 4),
        _ => return None,
    };
    let part = |index: usize| number(at + 2 * index, at + 2 * index + 2);
    let days = days(year, part(0)?, part(1)?)?;
    Some(days * 86_400 + part(2)? * 3_600 + part(3)? * 60 + part(4)?)
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month).ok()?.checked_sub(1).filter(|month| *month < lengths.len())?;
    let before = lengths[..month].iter().sum::<u64>();
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let whole = (year.checked_sub(1970)?) * 365 + leaps(year - 1) - leaps(1969);
    Some(whole + before + day.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_both_forms() {
        assert_eq!(seconds(UTC_TIME, b"700101000000Z"), Some(0));
        assert_eq!(seconds(UTC_TIME, b"261201000645Z"), Some(1_796_083_605));
        assert_eq!(seconds(UTC_TIME, b"491231235959Z"), Some(2_524_607_999));
        assert_eq!(seconds(GENERALIZED_TIME, b"21060207062815Z"), Some(4_294_967_295));
        assert_eq!(seconds(GENERALIZED_TIME, b"20000301000000Z"), Some(951_868_800));
        for wrong in [&b"261201000645"[..], b"2612010006Z", b"261301000000Z", b"26120100064xZ", b""] {
            assert_eq!(seconds(UTC_TIME, wrong), None);
        }
        assert_eq!(seconds(GENERALIZED_TIME, b"261201000645Z"), None);
    }

    #[test]
    fn octets_that_are_no_certificate_have_no_end() {
        for octets in [&[][..], &[0x30], &[0x30, 0x83, 1, 0, 0], &[0x30, 2, 0x30, 0], &[0x30, 0x85, 1, 1, 1, 1, 1]] {
            assert_eq!(not_after(octets), None);
        }
    }
}
