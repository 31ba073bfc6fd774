//! A resolver on loopback that says what a test tells it, over UDP and TCP on one port.

// Each test program that takes this file in needs a part of it.
#![allow(dead_code)]

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenured::wire::name::{Name, wire_length};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

pub(crate) const A: u16 = 1;
pub(crate) const CNAME: u16 = 5;
pub(crate) const AAAA: u16 = 28;

/// What the server says to a question.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// NOERROR with these records in the answer section: owner, TTL, value.
    Records(Vec<(&'static str, u32, Value)>),
    /// These records in the answer section, and those in the additional section.
    Beside(Vec<(&'static str, u32, Value)>, Vec<(&'static str, u32, Value)>),
    /// NOERROR without records, and an SOA of so many seconds if there is one.
    NoData(Option<u32>),
    /// NXDOMAIN behind these records, and an SOA of so many seconds if there is one.
    NameError(Vec<(&'static str, u32, Value)>, Option<u32>),
    /// A response code alone.
    Code(u8),
    /// Nothing at all.
    Silence,
    /// TC over UDP, this over TCP.
    OnlyByTcp(Box<Say>),
    /// The name of the question in another letter case over UDP, this over TCP.
    WrongCase(Box<Say>),
    /// First, from the right address, a reply with another id and one to another question, both with this address;
    /// then this.
    AfterForgeries(&'static str, Box<Say>),
    /// Octets that are no message.
    Garbage,
    /// This, so many milliseconds later.
    Late(u64, Box<Say>),
}

/// The data of a record.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// An A or AAAA record.
    Address(&'static str),
    /// A CNAME record.
    Cname(&'static str),
}

/// A question as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) name: Name,
    /// The name as it stood in the message.
    pub(crate) spelled: Vec<u8>,
    pub(crate) rtype: u16,
    pub(crate) transport: Transport,
    pub(crate) id: u16,
    pub(crate) from: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
}

#[derive(Default)]
struct State {
    script: HashMap<(Name, u16), Say>,
    asked: Vec<Asked>,
}

/// A running server; it ends when this is dropped.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

impl Upstream {
    pub(crate) async fn start() -> Upstream {
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").await.expect("a UDP port");
            // Somebody else may hold the TCP port of the same number.
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().expect("its address")).await {
                break (Arc::new(udp), tcp);
            }
        };
        let address = udp.local_addr().expect("its address");
        let state: Arc<Mutex<State>> = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_udp(udp, state.clone()));
        tasks.spawn(serve_tcp(tcp, state.clone()));
        Upstream { address, state, _tasks: tasks }
    }

    /// Sets what is said to a question; questions that nothing is set for get REFUSED.
    pub(crate) fn says(&self, name: &str, rtype: u16, say: Say) {
        self.state.lock().expect("the script").script.insert((Name::parse(name).expect("a name"), rtype), say);
    }

    /// All questions so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.lock().expect("the script").asked.clone()
    }
}

async fn serve_udp(socket: Arc<UdpSocket>, state: Arc<Mutex<State>>) {
    let mut buffer = [0; 4_096];
    let mut answers = JoinSet::new();
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        let socket = socket.clone();
        let Some((query, say)) = hear(&state, &buffer[..length], Transport::Udp, from) else { continue };
        answers.spawn(async move {
            for reply in replies(&query, say, Transport::Udp).await {
                let _ = socket.send_to(&reply, from).await;
            }
        });
    }
}

async fn serve_tcp(listener: TcpListener, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, from)) = listener.accept().await {
        connections.spawn(serve_connection(stream, from, state.clone()));
    }
}

async fn serve_connection(mut stream: TcpStream, from: SocketAddr, state: Arc<Mutex<State>>) {
    while let Ok(length) = stream.read_u16().await {
        let mut query = vec![0; usize::from(length)];
        if stream.read_exact(&mut query).await.is_err() {
            return;
        }
        let Some((query, say)) = hear(&state, &query, Transport::Tcp, from) else { continue };
        for reply in replies(&query, say, Transport::Tcp).await {
            let framed = [&(reply.len() as u16).to_be_bytes()[..], &reply].concat();
            if stream.write_all(&framed).await.is_err() {
                return;
            }
        }
    }
}

/// The header and the question of a query.
struct Query(Vec<u8>);

fn hear(state: &Mutex<State>, octets: &[u8], transport: Transport, from: SocketAddr) -> Option<(Query, Say)> {
    let length = wire_length(octets.get(12..)?)?;
    let spelled = octets[12..12 + length].to_vec();
    let end = 12 + length + 4;
    let rtype = u16::from_be_bytes(octets.get(12 + length..14 + length)?.try_into().ok()?);
    let name = Name::from_wire(&spelled).ok()?;
    let id = u16::from_be_bytes([octets[0], octets[1]]);
    let mut state = state.lock().expect("the script");
    state.asked.push(Asked { name: name.clone(), spelled, rtype, transport, id, from });
    let say = state.script.get(&(name, rtype)).cloned().unwrap_or(Say::Code(5));
    Some((Query(octets.get(..end)?.to_vec()), say))
}

async fn replies(query: &Query, say: Say, transport: Transport) -> Vec<Vec<u8>> {
    match (say, transport) {
        (Say::Silence, _) => Vec::new(),
        (Say::Late(milliseconds, say), _) => {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            Box::pin(replies(query, *say, transport)).await
        }
        (Say::Garbage, _) => vec![vec![0xff; 40], query.0[..2].to_vec(), Vec::new()],
        (Say::OnlyByTcp(_), Transport::Udp) => vec![message(query, 0, true, &[], None)],
        (Say::WrongCase(say), Transport::Udp) => {
            let mut reply = plain(query, &say);
            for octet in &mut reply[12..] {
                // All letters of the question are turned over; length octets and numbers are below 64.
                if octet.is_ascii_alphabetic() {
                    *octet ^= 0x20;
                }
            }
            vec![reply]
        }
        (Say::OnlyByTcp(say) | Say::WrongCase(say), Transport::Tcp) => vec![plain(query, &say)],
        (Say::AfterForgeries(address, say), _) => {
            let forged = Say::Records(vec![("forged.example", 3_600, Value::Address(address))]);
            let mut other_id = plain(query, &forged);
            other_id[0] ^= 0x55;
            let mut other_question = query.0.clone();
            other_question[13] = b'#';
            vec![other_id, plain(&Query(other_question), &forged), plain(query, &say)]
        }
        (say @ (Say::Records(_) | Say::Beside(..) | Say::NoData(_) | Say::NameError(..) | Say::Code(_)), _) => {
            vec![plain(query, &say)]
        }
    }
}

fn plain(query: &Query, say: &Say) -> Vec<u8> {
    match say {
        Say::Records(records) => message(query, 0, false, records, None),
        Say::Beside(records, additional) => {
            let mut out = message(query, 0, false, records, None);
            out[10..12].copy_from_slice(&(additional.len() as u16).to_be_bytes());
            push_records(&mut out, additional);
            out
        }
        Say::NoData(soa) => message(query, 0, false, &[], *soa),
        Say::NameError(records, soa) => message(query, 3, false, records, *soa),
        Say::Code(code) => message(query, *code, false, &[], None),
        other => panic!("{other:?} cannot be said within another"),
    }
}

fn message(query: &Query, code: u8, truncated: bool, records: &[(&str, u32, Value)], soa: Option<u32>) -> Vec<u8> {
    let mut out = query.0.clone();
    out[2] = 0x81 | if truncated { 2 } else { 0 };
    out[3] = 0x80 | code;
    out[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
    out[8..10].copy_from_slice(&u16::from(soa.is_some()).to_be_bytes());
    out[10..12].copy_from_slice(&[0, 0]);
    push_records(&mut out, records);
    if let Some(seconds) = soa {
        let mut data = b"\x02ns\0\x04host\0".to_vec();
        for number in [1, 2, 3, 4, seconds] {
            data.extend_from_slice(&number.to_be_bytes());
        }
        push_record(&mut out, "test.", seconds, 6, &data);
    }
    out
}

fn push_records(out: &mut Vec<u8>, records: &[(&str, u32, Value)]) {
    for (owner, ttl, value) in records {
        let (rtype, data) = match value {
            Value::Address(text) => match text.parse::<IpAddr>().expect("an address") {
                IpAddr::V4(address) => (A, address.octets().to_vec()),
                IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
            },
            Value::Cname(target) => (CNAME, Name::parse(target).expect("a name").as_wire().to_vec()),
        };
        push_record(out, owner, *ttl, rtype, &data);
    }
}

fn push_record(out: &mut Vec<u8>, owner: &str, ttl: u32, rtype: u16, data: &[u8]) {
    out.extend_from_slice(Name::parse(owner).expect("a name").as_wire());
    out.extend_from_slice(&rtype.to_be_bytes());
    out.extend_from_slice(&1_u16.to_be_bytes());
    out.extend_from_slice(&ttl.to_be_bytes());
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
}
