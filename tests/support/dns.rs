//! A stub resolver for tests: one question, one reply, shown as text.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use domain::base::iana::Rtype as KnownType;
use domain::base::{Message, ParsedName, Record};
use domain::rdata::AllRecordData;
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(5);

static NEXT_ID: AtomicU16 = AtomicU16::new(1);

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Udp,
    Tcp,
}

/// A reply as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) rcode: String,
    pub(crate) authoritative: bool,
    pub(crate) truncated: bool,
    /// `name ttl type data`, sorted.
    pub(crate) answer: Vec<String>,
    pub(crate) authority: Vec<String>,
    pub(crate) additional: Vec<String>,
    /// Code and text of an extended error.
    pub(crate) extended: Option<(u16, String)>,
}

impl Reply {
    /// The data of the answer's records, sorted.
    pub(crate) fn data(&self) -> Vec<&str> {
        self.answer.iter().filter_map(|record| record.splitn(4, ' ').nth(3)).collect()
    }

    /// The TTL of the first record of the answer, else of the authority section.
    pub(crate) fn ttl(&self) -> u32 {
        let record = self.answer.first().or(self.authority.first()).expect("a record");
        record.split(' ').nth(1).expect("a TTL").parse().expect("a number")
    }
}

/// Octets of a query with OPT of 1232 octets.
pub(crate) fn query(name: &str, rtype: &str) -> Vec<u8> {
    let name = Name::parse(name).expect("a name");
    let rtype: Rtype = rtype.parse().expect("a type");
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    let mut out = id.to_be_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    out.extend_from_slice(name.as_wire());
    out.extend_from_slice(&rtype.0.to_be_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    out
}

/// The reply to a question, or none within [`PATIENCE`].
pub(crate) fn try_ask(server: SocketAddr, over: Over, name: &str, rtype: &str) -> Option<Reply> {
    let octets = query(name, rtype);
    let reply = match over {
        Over::Udp => exchange_udp(server, &octets),
        Over::Tcp => exchange_tcp(server, &octets),
    };
    reply.ok().map(|octets| parse(&octets))
}

/// The reply to a question.
pub(crate) fn ask(server: SocketAddr, over: Over, name: &str, rtype: &str) -> Reply {
    try_ask(server, over, name, rtype).unwrap_or_else(|| panic!("no reply to {name} {rtype} {over:?}"))
}

fn exchange_udp(server: SocketAddr, octets: &[u8]) -> std::io::Result<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(octets)?;
    let mut buffer = vec![0; 65_535];
    let length = socket.recv(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

fn exchange_tcp(server: SocketAddr, octets: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut message = (octets.len() as u16).to_be_bytes().to_vec();
    message.extend_from_slice(octets);
    stream.write_all(&message)?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut reply = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut reply)?;
    Ok(reply)
}

fn parse(octets: &[u8]) -> Reply {
    let message = Message::from_octets(octets).expect("a message");
    let header = message.header();
    let mut sections = [Vec::new(), Vec::new(), Vec::new()];
    let (_, answer, authority, additional) = message.sections().expect("sections");
    for (out, section) in sections.iter_mut().zip([answer, authority, additional]) {
        for record in section {
            let record = record.expect("a record");
            if record.rtype() != KnownType::OPT {
                let record: Record<ParsedName<_>, AllRecordData<_, ParsedName<_>>> =
                    record.into_any_record().expect("data of its type");
                let rtype = Rtype(record.rtype().to_int());
                out.push(format!("{}. {} {} {}", record.owner(), record.ttl().as_secs(), rtype, record.data()));
            }
        }
        out.sort();
    }
    let [answer, authority, additional] = sections;
    let extended = message.opt().and_then(|opt| {
        let error = opt.opt().iter::<domain::base::opt::ExtendedError<_>>().next()?.ok()?;
        let text = error.text().map(|text| match text {
            Ok(text) => text.to_string(),
            Err(_) => String::new(),
        });
        Some((error.code().to_int(), text.unwrap_or_default()))
    });
    Reply {
        rcode: message.opt_rcode().to_string(),
        authoritative: header.aa(),
        truncated: header.tc(),
        answer,
        authority,
        additional,
        extended,
    }
}
