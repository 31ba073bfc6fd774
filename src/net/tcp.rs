//! DNS over TCP (RFC 7766) and TLS (RFC 7858): pipelined, bounded in connections, time and memory.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connections::Place;
use super::counters::Deferred;
use super::framing::{Incoming, Next};
use super::gate::{DEFERRAL, Gate};
use crate::answer::encrypted::pad;
use crate::answer::{Outcome, Patience};

/// Time for a TLS handshake.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);
/// A message that was begun must be whole by then, and written replies must have been taken.
pub(super) const WHOLE: Duration = Duration::from_secs(5);
/// Replies are written out once so many octets are gathered; with the last of them it is at most twice that.
const WRITE_BUFFER: usize = 64 * 1024;
/// Queries of one connection that wait for an ALIAS target, and their octets; at so many, reading waits.
const MAX_IN_FLIGHT: usize = 128;
const MAX_IN_FLIGHT_OCTETS: usize = 128 * 1024;
const READ_STEP: usize = 2048;
const BACKLOG: u32 = 4096;

/// Binds TCP, and with port 0 finds one that is free for UDP too.
pub(super) fn bind_both(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    const TRIES: usize = 20;
    let mut last = None;
    for _ in 0..if address.port() == 0 { TRIES } else { 1 } {
        let listener = bind(address)?;
        let bound = listener.local_addr()?;
        match std::net::UdpSocket::bind(bound) {
            Ok(_free) => return Ok((listener, bound)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrInUse)))
}

pub(super) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the task is aborted.
pub(super) async fn serve(listener: TcpListener, gate: Gate, secure: Secure) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of descriptors: what is there goes on, and new ones wait in the backlog.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let place = gate.enter(peer.ip());
        // Replies are small and written at once; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let (gate, client) = (gate.clone(), peer.ip());
        match &secure {
            Secure::No => {
                tokio::spawn(Connection::new(stream, client, gate).live(place));
            }
            Secure::By(acceptor) => {
                let handshake = acceptor.accept(stream);
                tokio::spawn(async move {
                    let stream = tokio::select! {
                        stream = timeout(HANDSHAKE, handshake) => stream,
                        () = place.wanted() => return,
                    };
                    // Who does not come through the handshake is let go of; the listener minds nothing.
                    if let Ok(Ok(stream)) = stream {
                        Connection::new(stream, client, gate).live(place).await;
                    }
                });
            }
        }
    }
}

/// Whether a listener speaks TLS.
#[derive(Clone)]
pub(super) enum Secure {
    No,
    By(TlsAcceptor),
}

/// A stream of octets over a TCP connection.
trait Carrier: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl Carrier for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Carrier for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

struct Waiting {
    octets: Vec<u8>,
    until: Instant,
    deferred: Deferred,
}

struct Connection<C> {
    stream: C,
    client: IpAddr,
    gate: Gate,
    incoming: Incoming,
    /// When the first octet came of a message that is not whole yet.
    begun: Option<Instant>,
    output: Vec<u8>,
    waiting: VecDeque<Waiting>,
}

/// Why a connection ends.
enum End {
    /// The other side has said all, or nothing for too long.
    Over,
    /// It does not speak DNS, or does not take what it asked for.
    Bad,
}

impl From<io::Error> for End {
    fn from(_error: io::Error) -> End {
        End::Over
    }
}

impl<C: Carrier> Connection<C> {
    fn new(stream: C, client: IpAddr, gate: Gate) -> Connection<C> {
        Connection {
            stream,
            client,
            gate,
            incoming: Incoming::default(),
            begun: None,
            output: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Runs until it ends by itself or its place is wanted. Whatever ends a connection ends it alone, and was caused by
    /// the other side.
    async fn live(mut self, place: Place) {
        tokio::select! {
            _end = self.run(&place) => {}
            () = place.wanted() => {}
        }
    }

    async fn run(&mut self, place: &Place) -> Result<(), End> {
        let mut publications = self.gate.publications();
        let mut idle_since = Instant::now();
        let mut reading = true;
        while reading || !self.waiting.is_empty() {
            let deferred = self.waiting.front().map(|one| one.until);
            let may_read = reading && !self.is_full();
            let idle_until = idle_since + place.idle_timeout();
            // Who waits for a reply is not idle, and has one within `DEFERRAL`.
            let until = self.begun.map_or(deferred.unwrap_or(idle_until), |begun| begun + WHOLE);
            tokio::select! {
                read = timeout_at(until, read_some(&mut self.stream, &mut self.incoming)), if may_read => {
                    match read {
                        Ok(octets) => {
                            reading = octets? > 0;
                            idle_since = Instant::now();
                            place.active();
                            self.take_messages(place).await?;
                        }
                        // A message that is not whole in time: what came before it is still answered.
                        Err(_elapsed) if self.begun.is_some() => reading = false,
                        Err(_elapsed) if deferred.is_some() => {}
                        Err(_elapsed) if idle_since + place.idle_timeout() > Instant::now() => {}
                        Err(_elapsed) => return Err(End::Over),
                    }
                }
                changed = publications.changed(), if deferred.is_some() => {
                    if changed.is_err() {
                        return Err(End::Over);
                    }
                    self.retry(place).await?;
                    idle_since = Instant::now();
                }
                () = tokio::time::sleep_until(deferred.unwrap_or(until)), if deferred.is_some() => {
                    self.retry(place).await?;
                    idle_since = Instant::now();
                }
            }
        }
        timeout(WHOLE, self.stream.shutdown()).await.map_err(|_elapsed| End::Bad)??;
        Ok(())
    }

    /// Answers the whole messages that were read, as many as may be in flight.
    async fn take_messages(&mut self, place: &Place) -> Result<(), End> {
        // Taken out, so that its messages can be answered where they stand.
        let mut incoming = std::mem::take(&mut self.incoming);
        let mut taken = false;
        self.begun = loop {
            if self.is_full() {
                break None;
            }
            match incoming.take() {
                Next::Message(octets) => {
                    taken = true;
                    self.answer(place, octets, None);
                    if self.output.len() >= WRITE_BUFFER {
                        self.flush().await?;
                    }
                }
                Next::Empty => break None,
                Next::Unfinished => break self.begun.filter(|_| !taken).or_else(|| Some(Instant::now())),
                Next::NoMessage => {
                    self.flush().await?;
                    return Err(End::Bad);
                }
            }
        };
        incoming.forget();
        self.incoming = incoming;
        self.flush().await
    }

    /// Whether as many queries wait as may.
    fn is_full(&self) -> bool {
        let octets = || self.waiting.iter().map(|one| one.octets.len()).sum::<usize>();
        self.waiting.len() >= MAX_IN_FLIGHT || octets() >= MAX_IN_FLIGHT_OCTETS
    }

    /// Asks again for the queries that wait, and then takes what was left unread for them.
    async fn retry(&mut self, place: &Place) -> Result<(), End> {
        let now = Instant::now();
        for _ in 0..self.waiting.len() {
            if let Some(one) = self.waiting.pop_front() {
                let until = if one.until <= now { Err(()) } else { Ok(one.until) };
                if until.is_err() {
                    one.deferred.expired();
                }
                self.answer(place, &one.octets, Some(until));
            }
            if self.output.len() >= WRITE_BUFFER {
                self.flush().await?;
            }
        }
        self.take_messages(place).await
    }

    /// Appends the reply to the output, or the query to those that wait. `deferred` is none for a new query, an error
    /// for one whose time is over.
    fn answer(&mut self, place: &Place, octets: &[u8], deferred: Option<Result<Instant, ()>>) {
        let patience = if deferred == Some(Err(())) { Patience::Ended } else { Patience::Wait };
        let (output, encrypted) = (&mut self.output, self.gate.is_encrypted());
        let outcome = self.gate.ask(place.crowd(), octets, self.client, patience, |reply| {
            let mut padded = Vec::new();
            let reply = if encrypted {
                padded.extend_from_slice(reply);
                pad(octets, &mut padded);
                &padded
            } else {
                reply
            };
            output.extend_from_slice(&(reply.len() as u16).to_be_bytes());
            output.extend_from_slice(reply);
        });
        if let Outcome::Pending(_) = outcome {
            let until = deferred.and_then(Result::ok).unwrap_or_else(|| Instant::now() + DEFERRAL);
            let deferred = self.gate.begin_wait();
            self.waiting.push_back(Waiting { octets: octets.to_vec(), until, deferred });
        }
    }

    /// Writes the output, length and message together (RFC 7766 section 8). Who does not take it in time is cut off.
    async fn flush(&mut self) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        let until = Instant::now() + WHOLE;
        let written = timeout_at(until, async {
            self.stream.write_all(&self.output).await?;
            // TLS keeps what it has encrypted until it is told to write it.
            self.stream.flush().await
        });
        let written = written.await;
        self.output = Vec::new();
        match written {
            Ok(written) => Ok(written?),
            Err(_elapsed) => {
                // Reset, so that the kernel does not go on keeping what nobody reads.
                let _ = self.stream.tcp().set_zero_linger();
                Err(End::Bad)
            }
        }
    }
}

/// Reads what is there, at least one octet unless the other side has ended.
async fn read_some(stream: &mut (impl AsyncRead + Unpin), incoming: &mut Incoming) -> io::Result<usize> {
    stream.read_buf(incoming.room(READ_STEP)).await
}
