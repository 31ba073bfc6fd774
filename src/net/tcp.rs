//! DNS over TCP (RFC 7766): pipelined, bounded in connections, time and memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::connections::{ConnectionLimits, Connections, Crowd, Place};
use super::counters::{AddressFamily, Deferred, Shared, Unanswered};
use super::framing::{Incoming, Next};
use super::parking::DEFERRAL;
use super::{Serving, respond_guarded};
use crate::answer::{MAX_MESSAGE, Outcome, Patience, Request, Rules, Scratch, Transport};

/// A message that was begun must be whole by then, and written replies must have been taken.
const WHOLE: Duration = Duration::from_secs(5);
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

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// What connections answer by: the rules, and those of a crowd, whose idle time-out is shorter (RFC 7828 section 3.3.2).
#[derive(Clone)]
struct RulesOf {
    few: Arc<Rules>,
    many: Arc<Rules>,
}

impl RulesOf {
    fn new(rules: &Arc<Rules>, limits: &ConnectionLimits) -> RulesOf {
        let mut many = Rules::clone(rules);
        many.keepalive = (limits.idle_timeout(Crowd::Many).as_millis() / 100) as u16;
        RulesOf { few: rules.clone(), many: Arc::new(many) }
    }

    fn of(&self, crowd: Crowd) -> &Rules {
        match crowd {
            Crowd::Few => &self.few,
            Crowd::Many => &self.many,
        }
    }
}

/// Accepts connections until the task is aborted.
pub(super) async fn serve(listener: TcpListener, serving: Serving, connections: Arc<Connections>) {
    let counters = serving.counters.shared(Transport::Tcp);
    let rules = RulesOf::new(&serving.rules, connections.limits());
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Out of descriptors: what is there goes on, and new ones wait in the backlog.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let place = connections.enter(peer.ip());
        let connection = Connection {
            stream,
            peer,
            serving: serving.clone(),
            rules: rules.clone(),
            counters: counters.clone(),
            incoming: Incoming::default(),
            begun: None,
            output: Vec::new(),
            waiting: VecDeque::new(),
        };
        tokio::spawn(connection.live(place));
    }
}

thread_local! {
    /// Room for one reply and for names, shared by the connections of a thread: an idle connection needs none.
    static ROOM: RefCell<(Scratch, Vec<u8>)> = RefCell::new((Scratch::new(), vec![0; MAX_MESSAGE]));
}

struct Waiting {
    octets: Vec<u8>,
    until: Instant,
    deferred: Deferred,
}

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    serving: Serving,
    rules: RulesOf,
    counters: Shared,
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

impl Connection {
    /// Runs until it ends by itself or its place is wanted. Whatever ends a connection ends it alone, and was caused by
    /// the other side.
    async fn live(mut self, place: Place) {
        tokio::select! {
            _end = self.run(&place) => {}
            () = place.wanted() => {}
        }
    }

    async fn run(&mut self, place: &Place) -> Result<(), End> {
        self.stream.set_nodelay(true)?;
        let mut publications = self.serving.publications.clone();
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
        self.stream.shutdown().await?;
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
        let request = Request {
            octets,
            transport: Transport::Tcp,
            client: self.peer.ip(),
            now: self.serving.clock.now(),
            patience,
        };
        let outcome = ROOM.with_borrow_mut(|(scratch, out)| {
            let snapshot = self.serving.published.load();
            let outcome = respond_guarded(self.rules.of(place.crowd()), &snapshot, scratch, &request, out);
            if let Some(entry) = scratch.take_overdue() {
                self.serving.alias.hint(&entry.target);
            }
            if let Outcome::Reply { length, rcode, rtype, limited, flattened } = &outcome {
                self.counters.reply(AddressFamily::of(self.peer.ip()), *rtype, *rcode, *limited, *flattened);
                self.output.extend_from_slice(&(*length as u16).to_be_bytes());
                self.output.extend_from_slice(&out[..*length]);
            }
            outcome
        });
        match outcome {
            Outcome::Reply { .. } => {}
            Outcome::Silent(_) => self.counters.unanswered(Unanswered::NotAQuery, 1),
            Outcome::Limited { rtype } => self.counters.limited(AddressFamily::of(self.peer.ip()), rtype),
            Outcome::Pending(target) => {
                self.serving.alias.hint(&target);
                let until = deferred.and_then(Result::ok).unwrap_or_else(|| Instant::now() + DEFERRAL);
                let deferred = self.serving.counters.waits().begin();
                self.waiting.push_back(Waiting { octets: octets.to_vec(), until, deferred });
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

/// Reads what is there, at least one octet unless the other side has ended.
async fn read_some(stream: &mut TcpStream, incoming: &mut Incoming) -> io::Result<usize> {
    stream.read_buf(incoming.room(READ_STEP)).await
}
