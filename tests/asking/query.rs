//! Queries from words: `www.example.com. A tcp do`, or their octets.

use std::net::IpAddr;

use tenured::answer::Transport;
use tenured::wire::codes::Rtype;
use tenured::wire::cookie::CookieSecrets;
use tenured::wire::name::wire_length;
use tenured::wire::presentation::rdata_from_text;

use super::{CLIENT, FORMER, NOW, SECRET};

/// A client cookie.
pub const CLIENT_COOKIE: [u8; 8] = *b"client-8";

/// A query, and how it is sent.
#[derive(Clone, Debug)]
pub struct Query {
    /// The message.
    pub octets: Vec<u8>,
    /// Over what it is sent: once over each.
    pub transports: Vec<Transport>,
    /// Whether its time in the queue is over.
    pub ended: bool,
    /// Milliseconds after [`NOW`].
    pub after: u64,
    /// Where from.
    pub client: IpAddr,
    /// Whether the octets of the reply are of interest.
    pub size: bool,
}

#[derive(Default)]
struct Opt {
    size: u16,
    version: u8,
    flags: u16,
    rcode: u8,
    options: Vec<u8>,
}

/// Reads a query.
///
/// `NAME TYPE [word...]`, with these words: `udp` (so it is without one), `tcp`, `both`; header: `rd ad cd z tc aa qr`,
/// `id=N`, `opcode=N`, `class=N`, `qdcount=N`; EDNS: `edns` (1232) or `edns=SIZE`, `do`, `version=N`, `flags=HEX`,
/// `upper=N` (upper bits of the rcode), `option=CODE:HEX`, `nsid`, `keepalive`, `cookie=HEX`, or as an own cookie
/// `cookie=client`, `cookie=N` (made N seconds ago), `cookie=former` (by the former secret), `cookie=wrong`;
/// `behind=HEX` adds octets; `from=ADDRESS`; `after=SECONDS` asks later; `ended`: the query waited its time for an
/// ALIAS; `size` shows the reply's octets.
///
/// `raw udp|tcp|both PIECE...`, pieces being hex, `"label"` (with its length), `name:NAME` and `N*PIECE`.
pub fn parse(line: &str) -> Query {
    let mut words = line.split_whitespace();
    let first = words.next().expect("a query");
    let mut query = Query {
        octets: Vec::new(),
        transports: vec![Transport::Udp],
        ended: false,
        after: 0,
        client: CLIENT,
        size: false,
    };
    if first == "raw" {
        query.transports = transports(words.next().expect("udp, tcp or both")).expect("udp, tcp or both");
        query.octets = words.flat_map(piece).collect();
        return query;
    }
    let question = name_wire(first);
    let rtype = type_number(words.next().unwrap_or_else(|| panic!("a type in `{line}`")));
    build(&mut query, &question, rtype, words);
    query
}

fn build<'a>(query: &mut Query, question: &[u8], rtype: u16, words: impl Iterator<Item = &'a str>) {
    let (mut flags, mut id, mut class, mut questions) = (0_u16, 0x2a2a_u16, 1_u16, 1_u16);
    let mut opt: Option<Opt> = None;
    let mut behind = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "udp" | "tcp" | "both" => query.transports = transports(key).expect("known"),
            "qr" => flags |= 0x8000,
            "aa" => flags |= 0x400,
            "tc" => flags |= 0x200,
            "rd" => flags |= 0x100,
            "z" => flags |= 0x40,
            "ad" => flags |= 0x20,
            "cd" => flags |= 0x10,
            "id" => id = number(value),
            "opcode" => flags |= number::<u16>(value) << 11,
            "class" => class = number(value),
            "qdcount" => questions = number(value),
            "behind" => behind = hex(value),
            "from" => query.client = value.parse().expect("an address"),
            "after" => query.after = number::<u64>(value) * 1000,
            "ended" => query.ended = true,
            "size" => query.size = true,
            _ => {
                let opt = opt.get_or_insert_with(|| Opt { size: 1232, ..Opt::default() });
                edns(opt, key, value, query);
            }
        }
    }
    let out = &mut query.octets;
    for part in [id, flags, questions, 0, 0, u16::from(opt.is_some())] {
        out.extend_from_slice(&part.to_be_bytes());
    }
    if questions > 0 {
        out.extend_from_slice(question);
        out.extend_from_slice(&rtype.to_be_bytes());
        out.extend_from_slice(&class.to_be_bytes());
    }
    if let Some(opt) = opt {
        out.extend_from_slice(&[0, 0, 41]);
        out.extend_from_slice(&opt.size.to_be_bytes());
        out.extend_from_slice(&[opt.rcode, opt.version]);
        out.extend_from_slice(&opt.flags.to_be_bytes());
        out.extend_from_slice(&(opt.options.len() as u16).to_be_bytes());
        out.extend_from_slice(&opt.options);
    }
    out.extend_from_slice(&behind);
}

fn edns(opt: &mut Opt, key: &str, value: &str, query: &Query) {
    let mut add = |code: u16, data: &[u8]| {
        opt.options.extend_from_slice(&code.to_be_bytes());
        opt.options.extend_from_slice(&(data.len() as u16).to_be_bytes());
        opt.options.extend_from_slice(data);
    };
    match key {
        "edns" if value.is_empty() => {}
        "edns" => opt.size = number(value),
        "do" => opt.flags |= 0x8000,
        "version" => opt.version = number(value),
        "upper" => opt.rcode = number(value),
        "flags" => opt.flags |= u16::from_str_radix(value, 16).expect("hex"),
        "nsid" => add(3, &[]),
        "keepalive" => add(11, &[]),
        "padding" => add(12, &vec![0; number(value)]),
        "subnet" => add(8, &hex(value)),
        "cookie" => add(10, &cookie(value, query)),
        "option" => {
            let (code, data) = value.split_once(':').expect("CODE:HEX");
            add(number(code), &hex(data));
        }
        other => panic!("word {other}"),
    }
}

/// A cookie option as it is sent.
fn cookie(value: &str, query: &Query) -> Vec<u8> {
    let now = ((NOW.0 + query.after) / 1000) as u32;
    let own = |secret, made| {
        let server = CookieSecrets::new(secret, None).make(&CLIENT_COOKIE, query.client, made);
        [&CLIENT_COOKIE[..], &server[..]].concat()
    };
    match value {
        "client" => CLIENT_COOKIE.to_vec(),
        "former" => own(FORMER, now),
        "wrong" => own(*b"nobody's-secret!", now),
        other => match other.parse::<i32>() {
            Ok(age) if other.len() < 6 => own(SECRET, now.wrapping_sub(age as u32)),
            Ok(_) | Err(_) => hex(other),
        },
    }
}

fn transports(word: &str) -> Option<Vec<Transport>> {
    Some(match word {
        "udp" => vec![Transport::Udp],
        "tcp" => vec![Transport::Tcp],
        "both" => vec![Transport::Udp, Transport::Tcp],
        _ => return None,
    })
}

fn piece(word: &str) -> Vec<u8> {
    if let Some((count, piece_of)) = word.split_once('*') {
        return piece(piece_of).repeat(number(count));
    }
    if let Some(label) = word.strip_prefix('"') {
        let label = label.strip_suffix('"').expect("a closing quote");
        return [&[label.len() as u8], label.as_bytes()].concat();
    }
    if let Some(text) = word.strip_prefix("name:") {
        return name_wire(text);
    }
    hex(word)
}

/// A name in wire form, letter case kept.
pub fn name_wire(text: &str) -> Vec<u8> {
    let wire = rdata_from_text(Rtype::CNAME, text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(wire_length(&wire) == Some(wire.len()), "{text}");
    wire
}

/// The number of a type by its name; the two types that the server reads as one stay two here.
pub fn type_number(text: &str) -> u16 {
    match text.strip_prefix("TYPE").and_then(|number| number.parse().ok()) {
        Some(number) => number,
        None if text == "ANAME" => 65_305,
        None => text.parse::<Rtype>().unwrap_or_else(|error| panic!("{error}")).0,
    }
}

fn number<N: std::str::FromStr>(text: &str) -> N {
    text.parse().unwrap_or_else(|_| panic!("a number instead of `{text}`"))
}

/// Octets from hex.
pub fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "whole octets instead of `{text}`");
    let octet = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap_or_else(|_| panic!("hex instead of `{text}`"));
    (0..text.len()).step_by(2).map(octet).collect()
}

/// A plain query over UDP.
pub fn plain(id: u16, name: &[u8], rtype: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 16);
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(name);
    out.extend_from_slice(&rtype.to_be_bytes());
    out.extend_from_slice(&[0, 1]);
    out
}
