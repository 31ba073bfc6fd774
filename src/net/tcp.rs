//! DNS over TCP (RFC 7766): pipelined, bounded in connections, time and memory.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};

use super::counters::{AddressFamily, Shared, Unanswered};
use super::parking::DEFERRAL;
use super::{Serving, respond_guarded};
use crate::answer::{MAX_MESSAGE, Outcome, Patience, Request, Scratch, Transport};
use crate::wire::query::HEADER;

/// Most connections in all, and from one /32 or /64 (reliability.md section 4).
const MAX_CONNECTIONS: usize = 10_000;
const MAX_PER_CLIENT: usize = 100;
/// Idle time-out, and the one above half of [`MAX_CONNECTIONS`].
const IDLE: Duration = Duration::from_secs(30);
const IDLE_CROWDED: Duration = Duration::from_secs(10);
/// A message that was begun must be whole by then, and written replies must have been taken.
const WHOLE: Duration = Duration::from_secs(5);
/// Replies are written out once so many octets are gathered.
const WRITE_BUFFER: usize = 64 * 1024;
/// Queries of one connection that wait for an ALIAS target.
const MAX_IN_FLIGHT: usize = 128;
const READ_STEP: usize = 2048;
const BACKLOG: u32 = 4096;

/// How many connections there are, in all and by client network.
#[derive(Debug, Default)]
pub(super) struct Connections {
    count: AtomicUsize,
    clients: Mutex<HashMap<IpAddr, usize>>,
}

/// The place that a connection holds; given back when dropped.
struct Place {
    connections: Arc<Connections>,
    network: IpAddr,
}

impl Connections {
    fn enter(self: &Arc<Self>, peer: IpAddr) -> Option<Place> {
        let network = network(peer);
        if self.count.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            return None;
        }
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let own = clients.entry(network).or_default();
        if *own >= MAX_PER_CLIENT && !peer.is_loopback() {
            return None;
        }
        *own += 1;
        self.count.fetch_add(1, Ordering::Relaxed);
        Some(Place { connections: self.clone(), network })
    }

    fn idle_timeout(&self) -> Duration {
        if self.count.load(Ordering::Relaxed) > MAX_CONNECTIONS / 2 { IDLE_CROWDED } else { IDLE }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.count.fetch_sub(1, Ordering::Relaxed);
        let mut clients = self.connections.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = clients.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                clients.remove(&self.network);
            }
        }
    }
}

/// The /32 or /64 of a client.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & (u128::MAX << 64)).into()),
    }
}

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

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the task is aborted.
pub(super) async fn serve(listener: TcpListener, serving: Serving, connections: Arc<Connections>) {
    let counters = serving.counters.shared(Transport::Tcp);
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of descriptors: what is there goes on, and new ones wait in the backlog.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Some(place) = connections.enter(peer.ip()) else { continue };
        let serving = serving.clone();
        let counters = counters.clone();
        tokio::spawn(async move {
            let place = place;
            let mut connection = Connection::new(stream, peer, serving, counters);
            // Whatever ends a connection ends it alone, and was caused by the other side.
            let _ = connection.run(&place.connections).await;
        });
    }
}

thread_local! {
    /// Room for one reply and for names, shared by the connections of a thread: an idle connection needs none.
    static ROOM: RefCell<(Scratch, Vec<u8>)> = RefCell::new((Scratch::new(), vec![0; MAX_MESSAGE]));
}

struct Waiting {
    octets: Vec<u8>,
    until: Instant,
}

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    serving: Serving,
    counters: Shared,
    input: Vec<u8>,
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

impl From<tokio::time::error::Elapsed> for End {
    fn from(_elapsed: tokio::time::error::Elapsed) -> End {
        End::Bad
    }
}

impl Connection {
    fn new(stream: TcpStream, peer: SocketAddr, serving: Serving, counters: Shared) -> Connection {
        let waiting = VecDeque::new();
        Connection { stream, peer, serving, counters, input: Vec::new(), output: Vec::new(), waiting }
    }

    async fn run(&mut self, connections: &Connections) -> Result<(), End> {
        self.stream.set_nodelay(true)?;
        let mut publications = self.serving.publications.clone();
        let mut reading = true;
        while reading || !self.waiting.is_empty() {
            let started = !self.input.is_empty();
            let patience = if started { WHOLE } else { connections.idle_timeout() };
            let deferred = self.waiting.front().map(|one| one.until);
            let may_read = reading && self.waiting.len() < MAX_IN_FLIGHT;
            tokio::select! {
                read = timeout(patience, read_some(&mut self.stream, &mut self.input)), if may_read => {
                    match read {
                        Ok(octets) => reading = octets? > 0,
                        Err(_elapsed) if self.waiting.is_empty() => return Err(End::Over),
                        Err(_elapsed) => {}
                    }
                    self.take_messages().await?;
                }
                changed = publications.changed(), if deferred.is_some() => {
                    if changed.is_err() {
                        return Err(End::Over);
                    }
                    self.retry().await?;
                }
                () = tokio::time::sleep_until(deferred.unwrap_or_else(Instant::now)), if deferred.is_some() => {
                    self.retry().await?;
                }
            }
        }
        self.stream.shutdown().await?;
        Ok(())
    }

    /// Answers all whole messages that were read.
    async fn take_messages(&mut self) -> Result<(), End> {
        let mut at = 0;
        while let Some((length, rest)) = self.input[at..].split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            if length < HEADER {
                self.flush().await?;
                return Err(End::Bad);
            }
            let Some(octets) = rest.get(..length) else { break };
            let octets = octets.to_vec();
            at += 2 + length;
            self.answer(octets, None);
            if self.output.len() >= WRITE_BUFFER {
                self.flush().await?;
            }
        }
        self.input.drain(..at);
        if self.input.is_empty() {
            // An idle connection holds no buffer.
            self.input = Vec::new();
        }
        self.flush().await
    }

    /// Asks again for the queries that wait.
    async fn retry(&mut self) -> Result<(), End> {
        let now = Instant::now();
        for _ in 0..self.waiting.len() {
            if let Some(one) = self.waiting.pop_front() {
                let until = if one.until <= now { Err(()) } else { Ok(one.until) };
                self.answer(one.octets, Some(until));
            }
            if self.output.len() >= WRITE_BUFFER {
                self.flush().await?;
            }
        }
        self.flush().await
    }

    /// Appends the reply to the output, or the query to those that wait. `deferred` is none for a new query, an error
    /// for one whose time is over.
    fn answer(&mut self, octets: Vec<u8>, deferred: Option<Result<Instant, ()>>) {
        let full = self.waiting.len() >= MAX_IN_FLIGHT;
        let patience = if full || deferred == Some(Err(())) { Patience::Ended } else { Patience::Wait };
        let request = Request {
            octets: &octets,
            transport: Transport::Tcp,
            client: self.peer.ip(),
            now: self.serving.clock.now(),
            patience,
        };
        let outcome = ROOM.with_borrow_mut(|(scratch, out)| {
            let snapshot = self.serving.published.load();
            let outcome = respond_guarded(&self.serving.rules, &snapshot, scratch, &request, out);
            if let Outcome::Reply { length, rcode, rtype } = &outcome {
                self.counters.reply(AddressFamily::of(self.peer.ip()), *rtype, *rcode);
                self.output.extend_from_slice(&(*length as u16).to_be_bytes());
                self.output.extend_from_slice(&out[..*length]);
            }
            outcome
        });
        match outcome {
            Outcome::Reply { .. } => {}
            Outcome::Silent(_) => self.counters.unanswered(Unanswered::NotAQuery, 1),
            Outcome::Limited => self.counters.unanswered(Unanswered::Limited, 1),
            Outcome::Pending(target) => {
                self.serving.alias.hint(&target);
                let until = deferred.and_then(Result::ok).unwrap_or_else(|| Instant::now() + DEFERRAL);
                self.waiting.push_back(Waiting { octets, until });
            }
        }
    }

    /// Writes the output, length and message together (RFC 7766 section 8). Who does not take it in time is cut off.
    async fn flush(&mut self) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        let until = Instant::now() + WHOLE;
        let written = timeout_at(until, self.stream.write_all(&self.output)).await;
        self.output = Vec::new();
        match written {
            Ok(written) => Ok(written?),
            Err(_elapsed) => {
                // Reset, so that the kernel does not go on keeping what nobody reads.
                let _ = self.stream.set_zero_linger();
                Err(End::Bad)
            }
        }
    }
}

/// Reads what is there, at least one octet unless the other side has ended; keeps at most one message and a half.
async fn read_some(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<usize> {
    input.reserve(READ_STEP);
    stream.read_buf(input).await
}
