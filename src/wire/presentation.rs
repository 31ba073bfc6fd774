//! Presentation text ⇄ RDATA, by NLnet Labs' `domain` (RFC 1035 section 5, RFC 3597 section 5).

use std::fmt::Write as _;

use bytes::Bytes;
use domain::base::iana::{Class, Rtype as KnownType};
use domain::base::name::ParsedName;
use domain::base::rdata::ComposeRecordData;
use domain::base::zonefile_fmt::{DisplayKind, ZonefileFmt};
use domain::dep::octseq::Parser;
use domain::rdata::ZoneRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};

use super::codes::Rtype;
use super::name::{Name, write_presentation};
use super::rdata;

/// Longest text of one record's data, in octets.
pub const MAX_TEXT: usize = 512 * 1024;

/// Reads the data of one record. Relative names are completed with `origin`; without one they are an error.
/// Errors are a sentence without the record.
pub fn rdata_from_text(rtype: Rtype, text: &str, origin: Option<&Name>) -> Result<Vec<u8>, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("the data of one record cannot be longer than {MAX_TEXT} octets of text"));
    }
    // ALIAS has the form of a CNAME (alias.md section 1), and `domain` knows nothing of ALIAS.
    let read_as = if rtype == Rtype::ALIAS && !text.trim_start().starts_with("\\#") { Rtype::CNAME } else { rtype };
    let mut line = Vec::with_capacity(text.len() + 32);
    line.extend_from_slice(format!(". 0 IN {}", KnownType::from_int(read_as.0)).as_bytes());
    let at_sign = origin.filter(|_| !rdata::shape_of(read_as).is_opaque());
    let form = if matches!(read_as, Rtype::SVCB | Rtype::HTTPS) { Form::Parameters } else { Form::Plain };
    push_fields(&mut line, text, at_sign, form)?;
    line.push(b'\n');
    let mut scanner = Zonefile::from(&line[..]).allow_invalid();
    scanner.set_default_class(Class::IN);
    if let Some(origin) = origin {
        let octets = Bytes::copy_from_slice(origin.as_wire());
        scanner.set_origin(domain::base::Name::from_octets(octets).map_err(|error| error.to_string())?);
    }
    let record = match scanner.next_entry().map_err(|error| reason(&error.to_string()))? {
        Some(Entry::Record(record)) => record,
        Some(Entry::Include { .. }) | None => return Err("there is no data".to_owned()),
    };
    if scanner.next_entry().map_err(|error| reason(&error.to_string()))?.is_some() {
        return Err("there is more than one record".to_owned());
    }
    let mut wire = Vec::new();
    record.data().compose_rdata(&mut wire).expect("a Vec takes all octets");
    checked(rtype, wire)
}

/// Gives `wire` back if it is RDATA that this server can serve as `rtype`.
pub fn checked(rtype: Rtype, wire: Vec<u8>) -> Result<Vec<u8>, String> {
    let known = if rtype == Rtype::ALIAS { Rtype::CNAME } else { rtype };
    if !rdata::is_well_formed(known, &wire) || parse(known, &wire).is_none() {
        return Err(format!("these octets are not the data of a record of type {rtype}"));
    }
    Ok(wire)
}

/// The data of one record as text that reads back to the same octets: visible ASCII, absolute names; in RFC 3597 form
/// where it does not parse as its type or its own form would say something else.
pub fn rdata_to_text(rtype: Rtype, wire: &[u8]) -> String {
    if matches!(rtype, Rtype::ALIAS | Rtype::CNAME | Rtype::NS | Rtype::PTR | Rtype::DNAME) {
        let mut out = String::new();
        if rdata::is_well_formed(Rtype::CNAME, wire) {
            write_presentation(&mut out, wire).expect("a String takes all text");
            return out;
        }
    }
    match parse(rtype, wire) {
        Some(ZoneRecordData::Unknown(_)) | None => generic_text(wire),
        Some(data @ (ZoneRecordData::A(_) | ZoneRecordData::Aaaa(_))) => {
            data.display_zonefile(DisplayKind::Simple).to_string()
        }
        Some(data) => {
            // Printers of rarer types leave octets as they are that end a field, a line or a string, or are no text.
            let text = data.display_zonefile(DisplayKind::Simple).to_string();
            let visible = text.bytes().all(|octet| (0x20..0x7f).contains(&octet));
            let reads_back = visible && rdata_from_text(rtype, &text, None).is_ok_and(|read| read == wire);
            if reads_back { text } else { generic_text(wire) }
        }
    }
}

/// RFC 3597 form of any RDATA.
pub fn generic_text(wire: &[u8]) -> String {
    let mut out = format!("\\# {}", wire.len());
    if !wire.is_empty() {
        out.push(' ');
    }
    for octet in wire {
        write!(out, "{octet:02x}").expect("a String takes all text");
    }
    out
}

type Parsed<'a> = ZoneRecordData<&'a [u8], ParsedName<&'a [u8]>>;

fn parse(rtype: Rtype, wire: &[u8]) -> Option<Parsed<'_>> {
    use domain::base::rdata::ParseRecordData;
    let mut parser = Parser::from_ref(wire);
    let data = Parsed::parse_rdata(KnownType::from_int(rtype.0), &mut parser).ok().flatten()?;
    let plain = match &data {
        ZoneRecordData::Cname(name) => !name.cname().is_compressed(),
        ZoneRecordData::Mx(mx) => !mx.exchange().is_compressed(),
        _ => true,
    };
    (parser.remaining() == 0 && plain).then_some(data)
}

/// Appends the fields of `text`, a space before each. `domain` panics on a parenthesis that stays open and on fields
/// without white space between them in a row of strings, so it gets neither, nor comments, nor anything but visible ASCII:
/// other octets are written in the form of RFC 1035. A field `@` becomes the origin: `domain` knows `@` only as an owner.
fn push_fields(line: &mut Vec<u8>, text: &str, at_sign: Option<&Name>, form: Form) -> Result<(), String> {
    let octets = text.as_bytes();
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(&octet) = octets.get(at) {
        match octet {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b';' => at = octets[at..].iter().position(|octet| *octet == b'\n').map_or(octets.len(), |end| at + end),
            b'(' => {
                open += 1;
                at += 1;
            }
            b')' => {
                open = open.checked_sub(1).ok_or("a closing parenthesis has no opening one before it")?;
                at += 1;
            }
            _ => {
                line.push(b' ');
                let end = field_end(octets, at, form).ok_or("a quoted text has no end")?;
                match (&octets[at..end], at_sign) {
                    (b"@", Some(origin)) => line.extend_from_slice(origin.to_string().as_bytes()),
                    (field, _) => push_field(line, field)?,
                }
                at = end;
            }
        }
    }
    if open > 0 {
        return Err("an opening parenthesis has no closing one behind it".to_owned());
    }
    Ok(())
}

/// Whether fields may be a key, an equals sign and a quoted value (RFC 9460 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Parameters,
}

/// Where the field that begins at `start` ends; none if it is quoted without an end.
fn field_end(octets: &[u8], start: usize, form: Form) -> Option<usize> {
    let quoted = octets[start] == b'"';
    let mut at = start + usize::from(quoted);
    loop {
        match octets.get(at) {
            Some(b'\\') => at = (at + 2).min(octets.len()),
            Some(b'"') if quoted => return Some(at + 1),
            Some(b'"') if form == Form::Parameters && at > start && octets[at - 1] == b'=' => {
                at = field_end(octets, at, Form::Plain)?;
            }
            Some(b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'(' | b')' | b';') if !quoted => return Some(at),
            Some(_) => at += 1,
            None => return (!quoted).then_some(at),
        }
    }
}

fn push_field(line: &mut Vec<u8>, field: &[u8]) -> Result<(), String> {
    let mut escaped = false;
    for &octet in field {
        match octet {
            0x20..0x7f => line.push(octet),
            // It would escape the backslash that is written for the octet.
            _ if escaped => return Err("a backslash stands before what is no visible ASCII; expected \\DDD".to_owned()),
            other => line.extend_from_slice(format!("\\{other:03}").as_bytes()),
        }
        escaped = octet == b'\\' && !escaped;
    }
    if escaped { Err("a backslash has nothing behind it".to_owned()) } else { Ok(()) }
}

/// The part of `domain`'s error behind its position, which is one in the line made above.
fn reason(text: &str) -> String {
    let behind = text.splitn(3, ':').nth(2).unwrap_or(text).trim();
    match behind {
        "missing origin" | "origin missing" => {
            "a name is relative here: names in data are written in full, with the final dot".to_owned()
        }
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(rtype: Rtype, text: &str) -> String {
        let wire = rdata_from_text(rtype, text, None).unwrap_or_else(|error| panic!("{rtype} {text}: {error}"));
        rdata_to_text(rtype, &wire)
    }

    #[test]
    fn text_reads_back_to_the_same_octets() {
        let known = [
            ("A", "192.0.2.1"),
            ("AAAA", "2001:db8::1"),
            ("MX", "10 mail.example.com."),
            ("NS", "ns1.example.com."),
            ("TXT", "\"v=spf1 -all\""),
            ("TXT", "\"quote \\\" back \\\\ bell \\007\" \"two\""),
            ("SRV", "0 5 5060 sip.example.com."),
            ("CAA", "0 issue \"ca.example.net\""),
            ("URI", "\\# 5 0001000161"),
            ("TLSA", "3 1 1 2A2B"),
            ("SSHFP", "4 2 2A2B"),
            ("HTTPS", "1 . alpn=h2,h3"),
            ("ALIAS", "edge.example.net."),
            ("SVCB", "1 svc.example.com. alpn=h2 port=8443"),
            ("DS", "1 8 2 2A2B"),
            ("TYPE65280", "\\# 3 010203"),
            ("NAPTR", "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:info@example.com!\" ."),
            ("PTR", "host.example.com."),
            ("SOA", "ns. host. 1 2 3 4 5"),
            ("CNAME", "a\\.b.example."),
            ("A", "\\# 4 c0000201"),
        ];
        for (rtype, text) in known {
            let rtype: Rtype = rtype.parse().expect("a type");
            let first = rdata_from_text(rtype, text, None).unwrap_or_else(|error| panic!("{rtype} {text}: {error}"));
            let printed = rdata_to_text(rtype, &first);
            let second =
                rdata_from_text(rtype, &printed, None).unwrap_or_else(|error| panic!("{rtype} {printed}: {error}"));
            assert_eq!(first, second, "{rtype} {text} -> {printed}");
        }
        assert_eq!(round(Rtype::A, "192.0.2.1"), "192.0.2.1");
        assert_eq!(round(Rtype::MX, "10 Mail.Example.com."), "10 Mail.Example.com.");
    }

    #[test]
    fn data_that_its_own_form_would_not_keep_is_printed_as_octets() {
        let alpn = b"\0\x01\0\0\x01\0\x06\x05h3\xach2";
        assert_eq!(rdata_to_text(Rtype::SVCB, alpn), "\\# 13 00010000010006056833ac6832");
        let line = b"\0\x01\0\0\x01\0\x04\x03h\n2";
        assert_eq!(rdata_to_text(Rtype::HTTPS, line), "\\# 11 0001000001000403680a32");
    }

    #[test]
    fn fields_need_no_white_space_between_them_and_parentheses_their_other_half() {
        for (rtype, text, wanted) in [
            (Rtype::HTTPS, "1 . alpn=\"h3,h2\"", Ok("1 . alpn=h3,h2")),
            (Rtype::SVCB, "1 . alpn=\"h3,h2\" port=\"53\"", Ok("1 . alpn=h3,h2 port=53")),
            (Rtype::HTTPS, "1 . alpn=\"h3", Err("quoted text has no end")),
            (Rtype::TXT, "a\"b\"(c)\"d\"", Ok("\"a\" \"b\" \"c\" \"d\"")),
            (Rtype::SOA, "ns. host. ( 1 ; serial\n 2 3\n4 5 ) ; end", Ok("ns. host. 1 2 3 4 5")),
            (Rtype::TXT, "\"(;\" \\( \\;", Ok("\"(;\" \"(\" \";\"")),
            (Rtype::TXT, "\"a\tb\nc\"", Ok("\"a\\009b\\010c\"")),
            (Rtype::TXT, "\"a\" (", Err("opening parenthesis")),
            (Rtype::TXT, "(", Err("opening parenthesis")),
            (Rtype::TXT, "a )", Err("closing parenthesis")),
            (Rtype::TXT, "\"a", Err("quoted")),
            (Rtype::TXT, "\"a\\\"", Err("quoted")),
            (Rtype::TXT, "a\\", Err("backslash")),
            (Rtype::TXT, "a\\\n", Err("backslash")),
            (Rtype::TXT, "\\é", Err("backslash")),
            (Rtype::TXT, " ; nothing", Err("")),
            (Rtype::SVCB, "1 . key65000=a\"b", Err("quoted")),
        ] {
            let given = rdata_from_text(rtype, text, None).map(|wire| rdata_to_text(rtype, &wire));
            match (given, wanted) {
                (Ok(given), Ok(wanted)) => assert_eq!(given, wanted, "{text}"),
                (Err(given), Err(wanted)) => assert!(given.contains(wanted), "{text}: {given}"),
                (given, wanted) => panic!("{text}: {given:?} instead of {wanted:?}"),
            }
        }
    }

    #[test]
    fn utf8_in_txt_is_kept_octet_for_octet() {
        let wire = rdata_from_text(Rtype::TXT, "\"grüße\"", None).expect("text");
        assert_eq!(&wire[1..], "grüße".as_bytes());
    }

    #[test]
    fn relative_names_and_wrong_data_are_refused() {
        for (rtype, text) in [
            (Rtype::CNAME, "www"),
            (Rtype::A, "192.0.2.256"),
            (Rtype::A, "::1"),
            (Rtype::A, ""),
            (Rtype::MX, "mail.example."),
            (Rtype::A, "192.0.2.1 192.0.2.2"),
            (Rtype(65280), "what"),
            (Rtype::A, "\\# 3 010203"),
            (Rtype::ALIAS, "\\# 1 01"),
            (Rtype::A, "192.0.2.1\n. 0 IN A 192.0.2.2"),
        ] {
            let error = rdata_from_text(rtype, text, None).expect_err(text);
            eprintln!("{rtype} {text:?}: {error}");
            assert!(!error.is_empty());
        }
    }

    #[test]
    fn relative_names_are_completed_with_the_origin() {
        let origin = Name::parse("example.com").expect("a name");
        let wire = rdata_from_text(Rtype::MX, "10 mail", Some(&origin)).expect("data");
        assert_eq!(rdata_to_text(Rtype::MX, &wire), "10 mail.example.com.");
        let at = rdata_from_text(Rtype::CNAME, "@", Some(&origin)).expect("data");
        assert_eq!(rdata_to_text(Rtype::CNAME, &at), "example.com.");
    }
}
