//! Questions to a server over UDP, and over TCP where UDP has no room.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::answers::{Answer, Read, read};
use super::compare::Question;

/// Time for an answer. An ALIAS may have to be resolved first.
const PATIENCE: Duration = Duration::from_secs(3);
/// Questions sent before a server counts as silent.
const TRIES: usize = 3;
/// Size that is offered for an answer over UDP.
const EDNS_SIZE: u16 = 1232;

/// Asks one server, one question after the other.
pub(super) struct Asker {
    socket: UdpSocket,
    server: SocketAddr,
    next: u16,
}

impl Asker {
    /// With a socket of its own.
    pub(super) async fn new(server: SocketAddr) -> Result<Asker, String> {
        let local: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(local).await.map_err(|error| error.to_string())?;
        socket.connect(server).await.map_err(|error| error.to_string())?;
        Ok(Asker { socket, server, next: 1 })
    }

    /// The answer; the error is why there is none.
    pub(super) async fn ask(&mut self, question: &Question) -> Result<Answer, String> {
        let mut last = String::new();
        for _ in 0..TRIES {
            self.next = self.next.wrapping_add(1);
            let query = query(self.next, question);
            match timeout(PATIENCE, self.over_udp(&query)).await {
                Ok(Ok(Read::Whole(answer))) => return Ok(answer),
                Ok(Ok(Read::Cut)) => match timeout(PATIENCE, self.over_tcp(&query)).await {
                    Ok(Ok(Read::Whole(answer))) => return Ok(answer),
                    Ok(Ok(Read::Cut)) => last = "cut over TCP".to_owned(),
                    Ok(Err(error)) => last = error,
                    Err(_) => last = "no reply over TCP".to_owned(),
                },
                Ok(Err(error)) => last = error,
                Err(_) => last = "no reply".to_owned(),
            }
        }
        Err(last)
    }

    async fn over_udp(&self, query: &[u8]) -> Result<Read, String> {
        self.socket.send(query).await.map_err(|error| error.to_string())?;
        let mut buffer = [0; 4096];
        loop {
            let length = self.socket.recv(&mut buffer).await.map_err(|error| error.to_string())?;
            let reply = buffer.get(..length).unwrap_or_default();
            // A late reply to the question before is let go.
            if reply.get(..2) == query.get(..2) {
                return read(reply);
            }
        }
    }

    async fn over_tcp(&self, query: &[u8]) -> Result<Read, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(self.server).await.map_err(failed)?;
        let length = u16::try_from(query.len()).expect("a query has at most 300 octets");
        stream.write_all(&[&length.to_be_bytes()[..], query].concat()).await.map_err(failed)?;
        let length = stream.read_u16().await.map_err(failed)?;
        let mut reply = vec![0; usize::from(length)];
        stream.read_exact(&mut reply).await.map_err(failed)?;
        read(&reply)
    }
}

/// A query without RD, since both servers are asked for what they have themselves.
fn query(id: u16, question: &Question) -> Vec<u8> {
    let mut out = id.to_be_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    out.extend_from_slice(question.name.as_wire());
    out.extend_from_slice(&question.rtype.0.to_be_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 41]);
    out.extend_from_slice(&EDNS_SIZE.to_be_bytes());
    out.extend_from_slice(&[0; 6]);
    out
}
