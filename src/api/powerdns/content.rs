//! Contents of records: from PowerDNS's text to RDATA, and back in the one form that the door writes.

use std::fmt::Write as _;

use super::answer::shown;
use crate::ledger::wish;
use crate::wire::codes::Rtype;
use crate::wire::name::{Labels, Name};
use crate::wire::presentation;
use crate::wire::rdata;

/// Reads a content. The error is what the client is told.
pub(super) fn read(owner: &Name, rtype: Rtype, text: &str) -> Result<Vec<u8>, String> {
    let about = |reason: String| format!("Record {owner}/{rtype} '{}': {reason}", shown(text));
    if text.trim_start().starts_with("\\#") {
        return presentation::rdata_from_text(rtype, text, None).map_err(about);
    }
    if matches!(rtype, Rtype::TXT | SPF) {
        return if text.trim_start().starts_with('"') {
            strings(text).map_err(about)
        } else {
            raw(text).map_err(about)
        };
    }
    if let Some(character) = invalid_character(text) {
        return Err(format!("Invalid character {character}' in record content '{}'", shown(text)));
    }
    match wish::read_value(rtype, text) {
        Ok(rdata) => match unfit_host(rtype, &rdata) {
            None => Ok(rdata),
            Some(name) => Err(format!("RRset {owner} IN {rtype}: non-hostname content {name}")),
        },
        Err(problem) => {
            // A name without its final dot is the one mistake that clients make: they are told how it was understood.
            match presentation::rdata_from_text(rtype, text, Some(&Name::root())) {
                Ok(rdata) => {
                    let parsed = show(rtype, &rdata);
                    Err(about(format!("Not in expected format (parsed as '{parsed}')")))
                }
                Err(_) => Err(about(problem.detail)),
            }
        }
    }
}

/// The type of SPF records (RFC 7208 section 3.1): TXT by another number.
const SPF: Rtype = Rtype(99);

/// Text without quotes as it stands, in strings of 255 octets.
fn raw(text: &str) -> Result<Vec<u8>, String> {
    wish::read_value(Rtype::TXT, text).map_err(|problem| problem.detail)
}

/// Strings in quotes; one over 255 octets becomes several.
fn strings(text: &str) -> Result<Vec<u8>, String> {
    let mut wire = Vec::with_capacity(text.len() + 2);
    let mut rest = text.trim().as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        if matches!(first, b' ' | b'\t' | b'\r' | b'\n') {
            rest = behind;
            continue;
        }
        let is_quoted = first == b'"';
        let mut octets = Vec::new();
        let mut at = usize::from(is_quoted);
        loop {
            match rest.get(at) {
                None if is_quoted => return Err("a quoted text has no end".to_owned()),
                None => break,
                Some(b'"') if is_quoted => {
                    at += 1;
                    break;
                }
                Some(b' ' | b'\t' | b'"') if !is_quoted => break,
                Some(b'\\') => {
                    let (octet, taken) = escaped(&rest[at + 1..]).ok_or("a backslash has nothing behind it")?;
                    octets.push(octet);
                    at += 1 + taken;
                }
                Some(octet) => {
                    octets.push(*octet);
                    at += 1;
                }
            }
        }
        rest = &rest[at..];
        if octets.is_empty() {
            wire.push(0);
        }
        for part in octets.chunks(255) {
            wire.push(part.len() as u8);
            wire.extend_from_slice(part);
        }
    }
    if wire.len() > usize::from(u16::MAX) {
        return Err("the text of one record is too long: 65,535 octets at most".to_owned());
    }
    Ok(wire)
}

/// What stands behind a backslash (RFC 1035 section 5.1): an octet, and how many characters say so.
fn escaped(rest: &[u8]) -> Option<(u8, usize)> {
    let digits = rest.get(..3).filter(|three| three.iter().all(u8::is_ascii_digit));
    match digits.and_then(|three| std::str::from_utf8(three).ok()?.parse::<u8>().ok()) {
        Some(octet) => Some((octet, 3)),
        None => rest.first().map(|octet| (*octet, 1)),
    }
}

/// What no content has outside of quotes, in the form in which PowerDNS names it.
fn invalid_character(text: &str) -> Option<String> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '(' | ')' | ';' if !is_quoted => return Some(format!("'{character}")),
            '\t' if !is_quoted => {}
            control if control.is_ascii_control() => return Some(format!("'\\x{:02x}", control as u32)),
            _ => {}
        }
    }
    None
}

/// The name in NS, MX and SRV that is none of a host. A dot alone says that there is none (RFC 7505, RFC 2782).
fn unfit_host(rtype: Rtype, rdata: &[u8]) -> Option<Name> {
    if !matches!(rtype, Rtype::NS | Rtype::MX | Rtype::SRV) {
        return None;
    }
    let name = rdata::target(rtype, rdata)?;
    let is_host = |octet: &u8| octet.is_ascii_alphanumeric() || *octet == b'-';
    let fits = Labels::of(name.as_wire()).all(|label| label.iter().all(is_host));
    let may_be_root = rtype != Rtype::NS;
    if fits && (may_be_root || !name.is_root()) { None } else { Some(name) }
}

/// RDATA as content.
pub(super) fn show(rtype: Rtype, rdata: &[u8]) -> String {
    match rtype {
        Rtype::TXT | SPF => show_strings(rdata).unwrap_or_else(|| presentation::generic_text(rdata)),
        Rtype::CAA => show_caa(rdata).unwrap_or_else(|| presentation::generic_text(rdata)),
        // Types whose data ends in octets written in hexadecimal.
        Rtype::DS | TLSA | SSHFP | SMIMEA | CDS => presentation::rdata_to_text(rtype, rdata).to_ascii_lowercase(),
        _ => presentation::rdata_to_text(rtype, rdata),
    }
}

const SSHFP: Rtype = Rtype(44);
const TLSA: Rtype = Rtype(52);
const SMIMEA: Rtype = Rtype(53);
const CDS: Rtype = Rtype(59);

fn show_strings(rdata: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(rdata.len() + 8);
    let mut rest = rdata;
    while let Some((&length, behind)) = rest.split_first() {
        let (string, behind) = behind.split_at_checked(usize::from(length))?;
        if !out.is_empty() {
            out.push(' ');
        }
        quote(&mut out, string);
        rest = behind;
    }
    (!out.is_empty()).then_some(out)
}

/// Flags, tag and value (RFC 8659 section 4.1.1).
fn show_caa(rdata: &[u8]) -> Option<String> {
    let (&[flags, length], behind) = rdata.split_first_chunk::<2>()?;
    let (tag, value) = behind.split_at_checked(usize::from(length))?;
    let tag = std::str::from_utf8(tag).ok().filter(|tag| tag.bytes().all(|octet| octet.is_ascii_alphanumeric()))?;
    let mut out = format!("{flags} {tag} ");
    quote(&mut out, value);
    Some(out)
}

fn quote(out: &mut String, octets: &[u8]) {
    out.push('"');
    for &octet in octets {
        match octet {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(octet));
            }
            0x20..0x7f => out.push(char::from(octet)),
            other => write!(out, "\\{other:03}").expect("a String takes all text"),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(rtype: &str, text: &str) -> Result<String, String> {
        let rtype: Rtype = rtype.parse().expect("a type");
        let owner = Name::parse("www.example.com").expect("a name");
        read(&owner, rtype, text).map(|rdata| show(rtype, &rdata))
    }

    #[test]
    fn contents_are_shown_in_one_form_whatever_the_spelling() {
        let long = "x".repeat(300);
        let split = format!("\"{}\" \"{}\"", "x".repeat(255), "x".repeat(45));
        for (rtype, text, wanted) in [
            ("A", "192.0.2.1", "192.0.2.1"),
            ("AAAA", "2001:DB8:0:0::1", "2001:db8::1"),
            ("TXT", "v=spf1 -all", "\"v=spf1 -all\""),
            ("TXT", "\"a\\;b;c\"", "\"a;b;c\""),
            ("TXT", "\"gr\u{fc}n \\\"x\\\" \\\\\"", "\"gr\\195\\188n \\\"x\\\" \\\\\""),
            ("TXT", "\"a\"  \"b\"", "\"a\" \"b\""),
            ("TXT", &long, &split),
            ("TXT", &format!("\"{long}\""), &split),
            ("CAA", "0 issue \"ca.example.net\"", "0 issue \"ca.example.net\""),
            ("CAA", "0 issue \"ca.example.net\\; policy=ev\"", "0 issue \"ca.example.net; policy=ev\""),
            ("CAA", "0 issue ca.example.net\\;x=y", "0 issue \"ca.example.net;x=y\""),
            ("CAA", "0 issue \";\"", "0 issue \";\""),
            ("TLSA", "3 1 1 ABCD", "3 1 1 abcd"),
            ("MX", "10 mail.example.com.", "10 mail.example.com."),
            ("MX", "0 .", "0 ."),
            ("SRV", "0 0 0 .", "0 0 0 ."),
            ("ALIAS", "edge.example.net.", "edge.example.net."),
            ("TYPE65280", "\\# 3 010203", "\\# 3 010203"),
            ("HTTPS", "1 . alpn=\"h2,h3\"", "1 . alpn=h2,h3"),
            ("HTTPS", "1 . ipv4hint=192.0.2.1 alpn=h2", "1 . alpn=h2 ipv4hint=192.0.2.1"),
            (
                "SOA",
                "ns1.example.com. hostmaster.example.com. 1 2 3 4 5",
                "ns1.example.com. hostmaster.example.com. 1 2 3 4 5",
            ),
        ] {
            assert_eq!(round(rtype, text).as_deref(), Ok(wanted), "{rtype} {text}");
            assert_eq!(round(rtype, wanted).as_deref(), Ok(wanted), "{rtype} {wanted}");
        }
    }

    #[test]
    fn what_is_refused_is_told_in_the_words_that_clients_look_for() {
        for (rtype, text, wanted) in [
            ("CNAME", "edge", "Record www.example.com./CNAME 'edge': Not in expected format (parsed as 'edge.')"),
            ("MX", "10 mail", "Record www.example.com./MX '10 mail': Not in expected format (parsed as '10 mail.')"),
            ("CAA", "0 issue ;", "Invalid character ';' in record content '0 issue ;'"),
            ("A", "192.0.2.1 (x)", "Invalid character '(' in record content '192.0.2.1 (x)'"),
            ("NS", "n!s.example.com.", "RRset www.example.com. IN NS: non-hostname content n!s.example.com."),
            ("NS", ".", "RRset www.example.com. IN NS: non-hostname content ."),
        ] {
            assert_eq!(round(rtype, text).as_ref().map_err(String::as_str), Err(wanted), "{rtype} {text}");
        }
        assert!(round("A", "192.0.2").expect_err("no address").starts_with("Record www.example.com./A '192.0.2': "));
    }
}
