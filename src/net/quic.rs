//! DNS over QUIC (RFC 9250): one query for each stream of a client, bounded in connections, streams, time and memory.
//! No early data is taken, so that nothing can be replayed (section 4.5).

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, EndpointConfig, Incoming, RecvStream, SendStream, ServerConfig, TokioRuntime};
use quinn::{TransportConfig, VarInt};
use tokio::time::timeout;

use super::certificates::Certificates;
use super::connections::{Crowd, Place};
use super::gate::Gate;
use super::tcp::{HANDSHAKE, WHOLE};
use crate::wire::codes::option;
use crate::wire::query::{HEADER, read};

/// Streams of a connection at a time (reliability.md section 4).
const MAX_STREAMS: u32 = 100;
/// Octets of a connection that wait to be read: about two of the largest queries.
const RECEIVE_WINDOW: u32 = 128 * 1024;
/// Octets of a stream: a length and the largest query.
const MAX_STREAM: usize = 2 + u16::MAX as usize;
/// Idle time-out of a connection.
const IDLE: Duration = Duration::from_secs(30);
/// Connections whose clients have not shown that they are where they say; more are asked to come again (RFC 9000
/// section 8.1.2).
const MAX_UNPROVEN: usize = 256;
/// The protocol (RFC 9250 section 4.1.1).
const PROTOCOL: &[u8] = b"doq";
/// `DOQ_NO_ERROR` and `DOQ_PROTOCOL_ERROR` (RFC 9250 section 4.3).
const NO_ERROR: VarInt = VarInt::from_u32(0);
const PROTOCOL_ERROR: VarInt = VarInt::from_u32(2);

/// Binds an endpoint. Must be called within a tokio runtime.
pub(super) fn bind(address: SocketAddr, certificates: &Certificates) -> io::Result<Endpoint> {
    let tls = certificates.quic_config(&[PROTOCOL]).map_err(io::Error::other)?;
    let crypto = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(MAX_STREAM as u32))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .send_window(u64::from(RECEIVE_WINDOW))
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(IDLE.try_into().map_err(io::Error::other)?));
    config.transport_config(Arc::new(transport));
    config.max_incoming(MAX_UNPROVEN * 4);
    let socket = UdpSocket::bind(address)?;
    Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))
}

/// Takes connections until the task is aborted.
pub(super) async fn serve(endpoint: Endpoint, gate: Gate) {
    let unproven = Arc::new(tokio::sync::Semaphore::new(MAX_UNPROVEN));
    while let Some(incoming) = endpoint.accept().await {
        let proven = incoming.remote_address_validated();
        let hold = if proven { None } else { unproven.clone().try_acquire_owned().ok() };
        if !proven && hold.is_none() {
            // Its address may be forged: nothing is kept of it until it comes again with what only the address is told.
            let _ = incoming.retry();
            continue;
        }
        let client = incoming.remote_address().ip();
        tokio::spawn(meet(incoming, client, gate.clone(), hold));
    }
}

/// The handshake, and then the connection.
async fn meet(incoming: Incoming, client: IpAddr, gate: Gate, hold: Option<tokio::sync::OwnedSemaphorePermit>) {
    // Who does not come through the handshake is let go of; the endpoint minds nothing.
    let Ok(handshake) = incoming.accept() else { return };
    let Ok(Ok(connection)) = timeout(HANDSHAKE, handshake).await else { return };
    // Who is past the handshake is where it says.
    drop(hold);
    let place = gate.enter(client);
    tokio::select! {
        () = live(&connection, &place, client, &gate) => {}
        () = place.wanted() => {}
    }
    connection.close(NO_ERROR, b"");
}

async fn live(connection: &Connection, place: &Place, client: IpAddr, gate: &Gate) {
    while let Ok((send, receive)) = connection.accept_bi().await {
        place.active();
        let (connection, gate, crowd) = (connection.clone(), gate.clone(), place.crowd());
        tokio::spawn(async move {
            // The halves outlive the close: one that is dropped first says an orderly end to the client before the error.
            let (mut send, mut receive) = (send, receive);
            if stream(&mut send, &mut receive, client, &gate, crowd).await == Ending::Violation {
                connection.close(PROTOCOL_ERROR, b"");
            }
        });
    }
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Answered, or given up by the client; the connection goes on.
    Done,
    /// Against the protocol: the connection ends (RFC 9250 section 4.3.3).
    Violation,
}

async fn stream(send: &mut SendStream, receive: &mut RecvStream, client: IpAddr, gate: &Gate, crowd: Crowd) -> Ending {
    let read = match timeout(WHOLE, receive.read_to_end(MAX_STREAM)).await {
        Ok(Ok(read)) => read,
        Ok(Err(quinn::ReadToEndError::TooLong)) => return Ending::Violation,
        // Reset by the client, or not whole in time: the stream ends, and the client sees that nothing comes.
        Ok(Err(quinn::ReadToEndError::Read(_))) | Err(_) => {
            let _ = send.reset(PROTOCOL_ERROR);
            return Ending::Done;
        }
    };
    let Some(query) = message(&read) else { return Ending::Violation };
    let Some(reply) = gate.answer(crowd, query, client).await else {
        // No reply is owed to what is no query.
        let _ = send.reset(PROTOCOL_ERROR);
        return Ending::Done;
    };
    let mut framed = (reply.len() as u16).to_be_bytes().to_vec();
    framed.extend_from_slice(&reply);
    // A client that stops reading, or does not read in time, is no error of ours (RFC 9000 section 3.5).
    if let Ok(Ok(())) = timeout(WHOLE, send.write_all(&framed)).await {
        let _ = send.finish();
    }
    Ending::Done
}

/// The one message of a stream: its length and its octets, nothing behind, id 0, no keepalive (RFC 9250 sections 4.2,
/// 4.2.1 and 5.5.2).
fn message(stream: &[u8]) -> Option<&[u8]> {
    let (length, message) = stream.split_first_chunk::<2>()?;
    if usize::from(u16::from_be_bytes(*length)) != message.len() || message.len() < HEADER || message[..2] != [0, 0] {
        return None;
    }
    let keepalive = |edns: crate::wire::edns::Edns<'_>| edns.option(option::KEEPALIVE).is_some();
    if read(message).ok().and_then(|query| query.edns).is_some_and(keepalive) {
        return None;
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_one_query_with_id_0_and_no_keepalive() {
        let query = |id: u8, options: &[u8]| {
            let mut out = vec![0, id, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
            out.extend_from_slice(b"\x07example\0\0\x01\0\x01\0\0\x29\x04\xd0\0\0\0\0\0");
            out.push(options.len() as u8);
            out.extend_from_slice(options);
            [(out.len() as u16).to_be_bytes().to_vec(), out].concat()
        };
        assert!(message(&query(0, &[])).is_some());
        assert!(message(&query(0, &[0, 12, 0, 1, 0])).is_some(), "padding is no violation");
        assert!(message(&query(1, &[])).is_none(), "an id");
        assert!(message(&query(0, &[0, 11, 0, 0])).is_none(), "keepalive");
        assert!(message(&[query(0, &[]), vec![0]].concat()).is_none(), "something behind it");
        assert!(message(&query(0, &[])[..20]).is_none(), "cut");
        for short in [&[][..], &[0], &[0, 0], &[0, 3, 0, 0, 0]] {
            assert!(message(short).is_none());
        }
    }
}
