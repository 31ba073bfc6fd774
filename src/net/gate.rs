//! The one gate of all transports but UDP, whose batches go through the same `respond_guarded`: octets and a client in, a
//! reply out. Whatever a transport is carried by, opcode, transfer, UPDATE and TSIG are judged in one place.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::connections::{Connections, Crowd, Place};
use super::counters::{AddressFamily, Deferred, Shared, Unanswered, Via};
use super::durations::Turn;
use super::{Serving, respond_guarded};
use crate::answer::{MAX_MESSAGE, Outcome, Patience, Request, Scratch, Transport, encrypted};

/// How long a query waits for an ALIAS target that nobody has resolved yet.
pub(super) const DEFERRAL: Duration = Duration::from_millis(800);
/// Queries of one gate that wait for that at a time; over it they get SERVFAIL at once.
const MAX_WAITING: usize = 16_384;

thread_local! {
    /// Room for one reply and for names, shared by the connections of a thread: an idle connection needs none.
    static ROOM: RefCell<(Scratch, Vec<u8>)> = RefCell::new((Scratch::new(), vec![0; MAX_MESSAGE]));
}

/// Where messages of one transport are answered. Clones share counters and limits.
#[derive(Clone)]
pub struct Gate {
    serving: Serving,
    counters: Shared,
    via: Via,
    connections: Arc<Connections>,
    waiting: Arc<Semaphore>,
    turn: Arc<Turn>,
}

impl Gate {
    pub(super) fn new(serving: &Serving, via: Via, connections: Arc<Connections>) -> Gate {
        Gate {
            serving: serving.clone(),
            counters: serving.counters.shared(via),
            via,
            connections,
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            turn: Arc::default(),
        }
    }

    /// A place for a connection, which counts with those of all other transports.
    pub fn enter(&self, client: IpAddr) -> Place {
        self.connections.enter(client)
    }

    /// Whether replies are padded for who asks for it (RFC 8467).
    pub(super) fn is_encrypted(&self) -> bool {
        match self.via {
            Via::Udp | Via::Tcp => false,
            Via::Tls | Via::Quic | Via::Https => true,
        }
    }

    pub(super) fn publications(&self) -> tokio::sync::watch::Receiver<u64> {
        self.serving.publications.clone()
    }

    /// Counts a query that waits, until what is given back is dropped.
    pub(super) fn begin_wait(&self) -> Deferred {
        self.serving.counters.waits().begin()
    }

    /// Judges one message now; a reply is handed to `write`.
    pub(super) fn ask(
        &self,
        crowd: Crowd,
        octets: &[u8],
        client: IpAddr,
        patience: Patience,
        write: impl FnOnce(&[u8]),
    ) -> Outcome {
        let started = self.turn.begins().then(std::time::Instant::now);
        let now = self.serving.clock.now();
        let request = Request { octets, transport: Transport::Tcp, client, now, patience };
        let outcome = ROOM.with_borrow_mut(|(scratch, out)| {
            let snapshot = self.serving.published.load();
            let rules = self.serving.rules.load();
            let outcome = respond_guarded(rules.of(crowd), &snapshot, scratch, &request, out);
            if let Some(entry) = scratch.take_overdue() {
                self.serving.alias.hint(&entry.target);
            }
            if let Outcome::Reply { length, .. } = &outcome {
                write(&out[..*length]);
            }
            outcome
        });
        if let Some(started) = started {
            self.serving.counters.durations().observe(started.elapsed(), 1);
        }
        match &outcome {
            Outcome::Reply { rcode, rtype, limited, flattened, .. } => {
                self.counters.reply(AddressFamily::of(client), *rtype, *rcode, *limited, *flattened);
                self.counters.failing(*rcode, octets);
                self.serving.sampler.take(self.via, client, octets, *rcode);
            }
            Outcome::Silent(_) => self.counters.unanswered(Unanswered::NotAQuery, 1),
            Outcome::Limited { rtype } => self.counters.limited(AddressFamily::of(client), *rtype),
            Outcome::Pending(target) => self.serving.alias.hint(target),
        }
        outcome
    }

    /// Answers one message, padded if that was asked for; none if it gets no reply. Waits if the answer depends on a
    /// target that is being resolved.
    pub async fn answer(&self, crowd: Crowd, octets: &[u8], client: IpAddr) -> Option<Vec<u8>> {
        let mut reply = Vec::new();
        let mut publications = self.publications();
        publications.mark_unchanged();
        let until = Instant::now() + DEFERRAL;
        let mut place = None;
        let mut patience = Patience::Wait;
        loop {
            match self.ask(crowd, octets, client, patience, |octets| reply.extend_from_slice(octets)) {
                Outcome::Reply { .. } => break,
                Outcome::Silent(_) | Outcome::Limited { .. } => return None,
                // Patience has ended, so nothing is pending any more.
                Outcome::Pending(_) if patience == Patience::Ended => return None,
                Outcome::Pending(_) => {}
            }
            if place.is_none() {
                place = self.waiting.clone().try_acquire_owned().ok().map(|place| (place, self.begin_wait()));
            }
            let changed = timeout_at(until, publications.changed());
            let Some((_, deferred)) = &place else {
                patience = Patience::Ended;
                continue;
            };
            if !matches!(changed.await, Ok(Ok(()))) {
                deferred.expired();
                patience = Patience::Ended;
            }
        }
        encrypted::pad(octets, &mut reply);
        Some(reply)
    }
}
