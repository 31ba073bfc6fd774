//! The data of one record: a direct path for the commonest forms, `wire::presentation` for all else.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::fields::{has_quotes, is_absolute, name, push_plain_name, seconds, shown};
use super::lines::Field;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::presentation::rdata_from_text;
use crate::wire::rdata::shape_of;

const HINFO: Rtype = Rtype(13);
const SSHFP: Rtype = Rtype(44);
const TLSA: Rtype = Rtype(52);

/// What `domain` says of data that is not in RFC 3597 form and whose type it does not know.
const NO_TEXT_FORM: &str = "unknown record type with concrete data";

/// Reads the fields behind the type as RDATA. Errors say what was expected.
pub(super) fn read(rtype: Rtype, text: &[u8], fields: &[Field], origin: Option<&Name>) -> Result<Vec<u8>, String> {
    if let Some(rdata) = direct(rtype, text, fields, origin) {
        return Ok(rdata);
    }
    let joined = join(rtype, text, fields)?;
    rdata_from_text(rtype, &joined, origin).map_err(|reason| {
        let given = if joined.is_empty() { "nothing".to_owned() } else { format!("`{}`", shown(joined.as_bytes())) };
        if reason == NO_TEXT_FORM {
            return format!("the text form of {rtype} is not known; expected `\\# length hexadecimal` (RFC 3597)");
        }
        // What the library expected is said better by the form of the whole.
        let reason = if reason.starts_with("expected ") { String::new() } else { format!(" ({reason})") };
        format!("the data of this {rtype} record is wrong{reason}; expected {}, not {given}", form(rtype))
    })
}

/// The RDATA where its text is of a common, simple form; none where `domain` must judge it. It never gives anything
/// else than `domain` would (see the test of this file).
#[inline]
fn direct(rtype: Rtype, text: &[u8], fields: &[Field], origin: Option<&Name>) -> Option<Vec<u8>> {
    let first = fields.first()?.of(text);
    match (rtype, fields.len()) {
        (Rtype::A, 1) => Some(std::str::from_utf8(first).ok()?.parse::<Ipv4Addr>().ok()?.octets().to_vec()),
        (Rtype::AAAA, 1) => Some(std::str::from_utf8(first).ok()?.parse::<Ipv6Addr>().ok()?.octets().to_vec()),
        (Rtype::NS | Rtype::CNAME | Rtype::PTR | Rtype::ALIAS, 1) => {
            let mut out = Vec::with_capacity(first.len() + 2 + origin.map_or(0, |origin| origin.as_wire().len()));
            push_plain_name(first, origin, &mut out).then_some(out)
        }
        (Rtype::MX, 2) => {
            let digits = first.len() <= 5 && first.iter().all(u8::is_ascii_digit);
            let preference: u16 = std::str::from_utf8(first).ok().filter(|_| digits)?.parse().ok()?;
            let exchange = fields[1].of(text);
            let mut out = Vec::with_capacity(exchange.len() + 4 + origin.map_or(0, |origin| origin.as_wire().len()));
            out.extend_from_slice(&preference.to_be_bytes());
            push_plain_name(exchange, origin, &mut out).then_some(out)
        }
        (Rtype::TXT, 1) => {
            let inner = first.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""))?;
            let plain = inner.iter().all(|octet| matches!(octet, 0x20..0x7f) && !matches!(octet, b'"' | b'\\'));
            let length = u8::try_from(inner.len()).ok().filter(|_| plain)?;
            let mut out = Vec::with_capacity(inner.len() + 1);
            out.push(length);
            out.extend_from_slice(inner);
            Some(out)
        }
        _ => None,
    }
}

/// The fields as one ASCII text for `domain`: octets above ASCII and control characters escaped, names of other scripts
/// in the form of RFC 5891, times of an SOA in seconds.
fn join(rtype: Rtype, text: &[u8], fields: &[Field]) -> Result<String, String> {
    let mut out = String::new();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let field = field.of(text);
        if !field.is_ascii() && may_be_name(rtype, at) && !has_quotes(field) {
            out.push_str(&ascii_name(field)?);
            continue;
        }
        if let (Rtype::SOA, 3..7, 7, Some(value)) = (rtype, at, fields.len(), seconds(field)) {
            out.push_str(&value.to_string());
            continue;
        }
        let mut escaped = false;
        for &octet in field {
            match octet {
                0x20..0x7f => out.push(char::from(octet)),
                // A backslash before such an octet would escape the one of its escaped form.
                _ if escaped => {
                    let wanted = "expected the form \\DDD, or the octet alone";
                    return Err(format!("`{}` has a backslash before an octet above ASCII; {wanted}", shown(field)));
                }
                _ => out.push_str(&format!("\\{octet:03}")),
            }
            escaped = octet == b'\\' && !escaped;
        }
    }
    Ok(out)
}

/// Whether the field at this position may be a name.
fn may_be_name(rtype: Rtype, at: usize) -> bool {
    match rtype {
        Rtype::SVCB | Rtype::HTTPS => at == 1,
        Rtype::NAPTR => at == 5,
        Rtype::ALIAS => true,
        other => !shape_of(other).is_opaque(),
    }
}

/// A name with letters of other scripts as an A-label name, relative if it was.
fn ascii_name(field: &[u8]) -> Result<String, String> {
    let mut text = name(field, Some(&Name::root()))?.to_string();
    if !is_absolute(field) {
        text.pop();
    }
    Ok(text)
}

/// What the data of a type looks like, for errors.
fn form(rtype: Rtype) -> &'static str {
    match rtype {
        Rtype::A => "an IPv4 address as 192.0.2.1",
        Rtype::AAAA => "an IPv6 address as 2001:db8::1",
        Rtype::NS | Rtype::CNAME | Rtype::PTR | Rtype::DNAME | Rtype::ALIAS => "one name as host.example.com.",
        Rtype::MX => "preference and host as `10 mail.example.com.`",
        Rtype::TXT => "texts of at most 255 octets each as \"v=spf1 -all\"",
        Rtype::SOA => "primary, mailbox, serial, refresh, retry, expire and minimum as `ns1 hostmaster 1 2h 15m 2w 5m`",
        Rtype::SRV => "priority, weight, port and host as `0 5 443 host.example.com.`",
        Rtype::CAA => "flags, tag and value as `0 issue \"ca.example.net\"`",
        Rtype::SVCB | Rtype::HTTPS => "priority, target and parameters as `1 . alpn=h2`",
        Rtype::NAPTR => "order, preference, flags, service, expression and name",
        Rtype::RP => "mailbox and name as `admin.example.com. info.example.com.`",
        Rtype::DNSKEY | Rtype::KEY => "flags, protocol, algorithm and key in base 64",
        TLSA => "usage, selector, matching type and data in hexadecimal as `3 1 1 0c72ac70`",
        SSHFP => "algorithm, digest type and digest in hexadecimal as `4 2 12345678`",
        HINFO => "processor and system as `\"PC\" \"Linux\"`",
        Rtype::DS => "key tag, algorithm, digest type and digest in hexadecimal",
        _ => "the form of its RFC or `\\# length hexadecimal` (RFC 3597)",
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::*;
    use proptest::prelude::*;

    fn fields_of(text: &str) -> Vec<Field> {
        let mut fields = Vec::new();
        let line = Lines::of(text.as_bytes()).next(text.as_bytes(), &mut fields);
        assert!(line.is_none_or(|line| line.is_ok()), "{text}");
        fields
    }

    fn data() -> impl Strategy<Value = (Rtype, String)> {
        let name = prop_oneof!["[a-zA-Z0-9_*@.-]{1,12}", "([a-z]{1,3}\\.){0,3}", Just("@".to_owned())];
        let number = prop_oneof!["[0-9]{1,6}", Just("65535".to_owned()), Just("010".to_owned())];
        prop_oneof![
            "[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}".prop_map(|text| (Rtype::A, text)),
            "[0-9a-fA-F:.]{1,20}".prop_map(|text| (Rtype::AAAA, text)),
            any::<u128>().prop_map(|octets| (Rtype::AAAA, Ipv6Addr::from_bits(octets).to_string())),
            (prop_oneof![Just(Rtype::NS), Just(Rtype::CNAME), Just(Rtype::PTR), Just(Rtype::ALIAS)], name.clone()),
            (number, name).prop_map(|(number, name)| (Rtype::MX, format!("{number} {name}"))),
            "\"[ -!#-\\[\\]-~]{0,300}\"".prop_map(|text| (Rtype::TXT, text)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// What the direct path reads, `domain` reads to the same octets.
        #[test]
        fn the_direct_path_gives_what_the_other_gives((rtype, text) in data(), known in any::<bool>()) {
            let origin = Name::parse("Zone.example").expect("a name");
            let origin = known.then_some(&origin);
            let fields = fields_of(&text);
            if let Some(rdata) = direct(rtype, text.as_bytes(), &fields, origin) {
                let joined = join(rtype, text.as_bytes(), &fields).expect("plain text");
                prop_assert_eq!(Ok(rdata), rdata_from_text(rtype, &joined, origin), "{} {}", rtype, text);
            }
        }
    }

    #[test]
    fn types_without_a_text_form_are_told_from_wrong_data() {
        let error = |rtype, text: &str| read(rtype, text.as_bytes(), &fields_of(text), None).expect_err(text);
        let wanted = "the text form of LOC is not known; expected `\\# length hexadecimal` (RFC 3597)";
        assert_eq!(error(Rtype(29), "52 22 23.000 N 4 53 32.000 E -2.00m"), wanted);
        let wanted = "the data of this A record is wrong; expected an IPv4 address as 192.0.2.1, not `::1`";
        assert_eq!(error(Rtype::A, "::1"), wanted);
    }

    #[test]
    fn names_of_other_scripts_become_a_labels_and_texts_keep_their_octets() {
        let origin = Name::parse("example").expect("a name");
        let read = |rtype, text: &str| read(rtype, text.as_bytes(), &fields_of(text), Some(&origin));
        assert_eq!(read(Rtype::CNAME, "bücher"), read(Rtype::CNAME, "xn--bcher-kva.example."));
        assert_eq!(read(Rtype::MX, "10 bücher.example."), read(Rtype::MX, "10 xn--bcher-kva"));
        assert_eq!(read(Rtype::TXT, "bücher"), Ok("\u{7}bücher".into()));
        assert_eq!(read(Rtype::ALIAS, "@"), read(Rtype::ALIAS, "example."));
        assert_eq!(read(Rtype::SOA, "a b 1 1h 5m 1w 1d"), read(Rtype::SOA, "a b 1 3600 300 604800 86400"));
    }
}
