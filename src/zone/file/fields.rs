//! Single fields of a zone-file line: names, TTLs, classes, types.

use crate::wire::codes::Rtype;
use crate::wire::name::{MAX_LABEL, MAX_NAME, Name};

/// Longest TTL, in seconds (RFC 2181 section 8).
pub(super) const MAX_TTL: u32 = 0x7fff_ffff;

/// Fields in error texts are cut to so many characters.
const SHOWN: usize = 80;

/// A field for an error text.
pub(super) fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let mut out: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    out = out.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\");
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}

/// A TTL or time: seconds, or numbers with the units `s m h d w`, as `1h30m`. None if the field has another form.
/// Units are those that BIND introduced and all servers read.
pub(super) fn seconds(field: &[u8]) -> Option<u64> {
    let mut sum: u64 = 0;
    let mut number: Option<u64> = None;
    let mut units = false;
    for octet in field {
        match octet {
            b'0'..=b'9' => {
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(octet - b'0')));
            }
            unit => {
                let scale = match unit.to_ascii_lowercase() {
                    b's' => 1,
                    b'm' => 60,
                    b'h' => 3_600,
                    b'd' => 86_400,
                    b'w' => 604_800,
                    _ => return None,
                };
                sum = sum.saturating_add(number.take()?.saturating_mul(scale));
                units = true;
            }
        }
    }
    match (number, units) {
        (Some(plain), false) => Some(plain),
        (None, true) => Some(sum),
        (Some(_), true) | (None, false) => None,
    }
}

/// A TTL (answers.md F2).
pub(super) fn ttl(field: &[u8]) -> Result<u32, String> {
    let wanted = "expected seconds, or numbers with units as in 1h30m";
    let value = seconds(field).ok_or_else(|| format!("`{}` is not a TTL; {wanted}", shown(field)))?;
    match u32::try_from(value) {
        Ok(value) if value <= MAX_TTL => Ok(value),
        _ => Err(format!("the TTL {} is too long; expected at most {MAX_TTL} seconds", shown(field))),
    }
}

/// A class as a field names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The class that is served.
    In,
    /// Any other.
    Other,
}

/// The class that a field names (RFC 1035 section 3.2.4, RFC 3597 section 5); none if it names none.
pub(super) fn class(field: &[u8]) -> Option<Class> {
    match field.len() {
        2 if field.eq_ignore_ascii_case(b"IN") => Some(Class::In),
        2 if [b"CH", b"CS", b"HS"].iter().any(|other| field.eq_ignore_ascii_case(*other)) => Some(Class::Other),
        6.. if field[..5].eq_ignore_ascii_case(b"CLASS") && field[5..].iter().all(u8::is_ascii_digit) => {
            let number = field[5..].iter().skip_while(|digit| **digit == b'0');
            Some(if number.eq(b"1") { Class::In } else { Class::Other })
        }
        _ => None,
    }
}

/// The type that a field names.
pub(super) fn rtype(field: &[u8]) -> Result<Rtype, String> {
    let known = match field {
        b"A" => Some(Rtype::A),
        b"AAAA" => Some(Rtype::AAAA),
        b"NS" => Some(Rtype::NS),
        b"CNAME" => Some(Rtype::CNAME),
        b"MX" => Some(Rtype::MX),
        b"TXT" => Some(Rtype::TXT),
        b"PTR" => Some(Rtype::PTR),
        _ => None,
    };
    match known {
        Some(rtype) => Ok(rtype),
        None => String::from_utf8_lossy(field)
            .parse()
            .map_err(|_| format!("`{}` is not a record type; expected one as A, MX, ALIAS or TYPE65280", shown(field))),
    }
}

/// Appends the wire form, letter case kept, of a name without escapes and other than ASCII letters, digits, `-`, `_`
/// and `*`. Gives false and appends nothing if the field is anything else: then [`name`] or `domain` must judge it.
#[inline]
pub(super) fn push_plain_name(field: &[u8], origin: Option<&Name>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let rest = match (field, origin) {
        (b"@", Some(origin)) => {
            out.extend_from_slice(origin.as_wire());
            return true;
        }
        ([.., b'.'], _) => &[0],
        (_, Some(origin)) => origin.as_wire(),
        (_, None) => return false,
    };
    let labels = field.strip_suffix(b".").unwrap_or(field);
    for label in labels.split(|octet| *octet == b'.') {
        let plain = label.iter().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'*'));
        if label.is_empty() || label.len() > MAX_LABEL || !plain {
            out.truncate(start);
            return false;
        }
        out.push(label.len() as u8);
        out.extend_from_slice(label);
    }
    out.extend_from_slice(rest);
    if out.len() - start > MAX_NAME {
        out.truncate(start);
        return false;
    }
    true
}

/// A name in full or relative to `origin`.
pub(super) fn name(field: &[u8], origin: Option<&Name>) -> Result<Name, String> {
    let mut plain = Vec::with_capacity(MAX_NAME);
    if push_plain_name(field, origin, &mut plain) {
        return Name::from_wire(&plain).map_err(|error| wrong_name(field, &error.to_string()));
    }
    if has_quotes(field) {
        return Err(wrong_name(field, "a name is written without quotes"));
    }
    let text = std::str::from_utf8(field)
        .map_err(|_| wrong_name(field, "it is not UTF-8; expected the form \\DDD for such octets"))?;
    match origin {
        Some(origin) => Name::parse_relative(text, origin).map_err(|error| wrong_name(field, &error.to_string())),
        None if is_absolute(field) => Name::parse(text).map_err(|error| wrong_name(field, &error.to_string())),
        None => {
            Err(wrong_name(field, "it is relative and no origin is known; expected a final dot, or $ORIGIN before it"))
        }
    }
}

/// Whether a field ends with a dot that is not escaped.
pub(super) fn is_absolute(field: &[u8]) -> bool {
    match field {
        [before @ .., b'.'] => before.iter().rev().take_while(|octet| **octet == b'\\').count() % 2 == 0,
        _ => false,
    }
}

/// Whether a field has a quote that is not escaped.
pub(super) fn has_quotes(field: &[u8]) -> bool {
    let mut octets = field.iter();
    while let Some(octet) = octets.next() {
        match octet {
            b'"' => return true,
            b'\\' => _ = octets.next(),
            _ => {}
        }
    }
    false
}

fn wrong_name(field: &[u8], why: &str) -> String {
    format!("the name `{}` is wrong: {why}", shown(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, wanted) in [
            ("0", Some(0)),
            ("300", Some(300)),
            ("1h30m", Some(5_400)),
            ("1W2d", Some(777_600)),
            ("1h30", None),
            ("h", None),
            ("", None),
            ("1y", None),
            ("99999999999999999999", Some(u64::MAX)),
        ] {
            assert_eq!(seconds(text.as_bytes()), wanted, "{text}");
        }
        assert_eq!(ttl(b"2147483647"), Ok(MAX_TTL));
        assert!(ttl(b"2147483648").is_err());
    }

    #[test]
    fn classes_have_names_and_numbers() {
        assert_eq!(class(b"in"), Some(Class::In));
        assert_eq!(class(b"CLASS1"), Some(Class::In));
        assert_eq!(class(b"class3"), Some(Class::Other));
        assert_eq!(class(b"CH"), Some(Class::Other));
        assert_eq!(class(b"CLASS"), None);
        assert_eq!(class(b"A"), None);
    }

    #[test]
    fn a_final_dot_counts_only_without_a_backslash() {
        assert!(is_absolute(b"a."));
        assert!(!is_absolute(b"a\\."));
        assert!(is_absolute(b"a\\\\."));
        assert!(!is_absolute(b"a"));
    }
}
