//! Replies as text that stays the same: one line for the header, one for each record.

use std::fmt::Write as _;

use tenured::wire::codes::Rtype;
use tenured::wire::cookie::CookieSecrets;
use tenured::wire::name::write_presentation;
use tenured::wire::presentation::{generic_text, rdata_to_text};

use super::query::CLIENT_COOKIE;
use super::reply::{Record, Reply, flag};
use super::{CLIENT, FORMER, NOW, SECRET};

const SECTIONS: [&str; 3] = ["answer", "authority", "additional"];

/// The lines of a reply to `sent`: code and flags; question; records by section; OPT; TSIG.
pub fn lines(reply: &Reply, sent: &[u8], with_size: bool) -> Vec<String> {
    let mut lines = vec![header(reply, with_size), question(reply, sent)];
    for (index, section) in SECTIONS.iter().enumerate() {
        for record in &reply.sections[index] {
            lines.push(match record.rtype {
                Rtype::OPT => opt(reply, record),
                Rtype::TSIG => format!("{section} {}", tsig(record)),
                _ => format!("{section} {}", line(record)),
            });
        }
    }
    lines
}

fn header(reply: &Reply, with_size: bool) -> String {
    let mut out = rcode_name(reply.rcode());
    for (bit, name) in [
        (flag::AA, "aa"),
        (flag::TC, "tc"),
        (flag::RD, "rd"),
        (flag::RA, "RA"),
        (flag::Z, "Z"),
        (flag::AD, "AD"),
        (flag::CD, "CD"),
    ] {
        if reply.has(bit) {
            write!(out, " {name}").expect("text");
        }
    }
    if reply.opcode() != 0 {
        write!(out, " opcode={}", reply.opcode()).expect("text");
    }
    if with_size {
        write!(out, " octets={}", reply.octets).expect("text");
    }
    out
}

fn question(reply: &Reply, sent: &[u8]) -> String {
    if reply.question.is_empty() {
        return "no question".to_owned();
    }
    let same = sent.get(12..12 + reply.question.len()) == Some(&reply.question[..]);
    if same { "question as asked".to_owned() } else { format!("question OTHER {}", generic_text(&reply.question)) }
}

/// One record in the form of a zone file.
pub fn line(record: &Record) -> String {
    let class = match record.class {
        1 => "IN".to_owned(),
        3 => "CH".to_owned(),
        other => format!("CLASS{other}"),
    };
    let rtype = match record.rtype {
        Rtype::ALIAS => "TYPE65401".to_owned(),
        other => other.to_string(),
    };
    format!(
        "{} {} {class} {rtype} {}",
        name_text(&record.owner),
        record.ttl,
        rdata_to_text(record.rtype, &record.rdata)
    )
}

/// A name in presentation form, letter case kept.
pub fn name_text(wire: &[u8]) -> String {
    let mut out = String::new();
    write_presentation(&mut out, wire).expect("text");
    out
}

fn opt(reply: &Reply, record: &Record) -> String {
    let mut out = format!("opt size={} version={}", record.class, record.ttl >> 16 & 255);
    if record.ttl & 0x8000 != 0 {
        out.push_str(" do");
    }
    if record.ttl & 0x7fff != 0 {
        write!(out, " FLAGS={:x}", record.ttl & 0x7fff).expect("text");
    }
    for (code, data) in reply.options().expect("sound options") {
        match code {
            3 => write!(out, " nsid={}", data.escape_ascii()),
            10 => write!(out, " cookie={}", cookie(&data)),
            11 => write!(out, " keepalive={}", generic_text(&data)),
            15 => {
                let text = data[2..].escape_ascii();
                write!(out, " ede={}", u16::from_be_bytes([data[0], data[1]]))
                    .and_then(|()| if data.len() > 2 { write!(out, "({text})") } else { Ok(()) })
            }
            other => write!(out, " option={other}:{}", generic_text(&data)),
        }
        .expect("text");
    }
    out
}

/// What a cookie of a reply to [`CLIENT`] is: made how many seconds before [`NOW`], or by which other secret.
fn cookie(data: &[u8]) -> String {
    let Some(made) = data.get(12..16) else { return generic_text(data) };
    let made = u32::from_be_bytes([made[0], made[1], made[2], made[3]]);
    let age = ((NOW.0 / 1000) as u32).wrapping_sub(made) as i32;
    for (secret, by) in [(SECRET, ""), (FORMER, "(former)")] {
        let server = CookieSecrets::new(secret, None).make(&CLIENT_COOKIE, CLIENT, made);
        if data == [&CLIENT_COOKIE[..], &server[..]].concat() {
            return format!("{age}{by}");
        }
    }
    generic_text(data)
}

fn tsig(record: &Record) -> String {
    let algorithm = record.rdata.iter().position(|octet| *octet == 0).map_or(0, |end| end + 1);
    let rest = &record.rdata[algorithm..];
    let word = |at: usize| u16::from_be_bytes([rest[at], rest[at + 1]]);
    let mac = usize::from(word(8));
    format!(
        "{} {} CLASS{} TSIG algorithm={} mac={mac} id={:#x} error={} other={}",
        name_text(&record.owner),
        record.ttl,
        record.class,
        name_text(&record.rdata[..algorithm]),
        word(10 + mac),
        word(12 + mac),
        word(14 + mac)
    )
}

/// The name of a response code.
pub fn rcode_name(rcode: u16) -> String {
    match rcode {
        0 => "NOERROR",
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        6 => "YXDOMAIN",
        9 => "NOTAUTH",
        16 => "BADVERS",
        23 => "BADCOOKIE",
        other => return format!("RCODE{other}"),
    }
    .to_owned()
}
