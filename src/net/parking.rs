//! Queries over UDP that wait for an ALIAS target which nobody has resolved yet (alias.md section 6.11): bounded in
//! number and time, without a thread each.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::batch::{LocalInfo, send_from};
use super::connections::Crowd;
use super::counters::{AddressFamily, Deferred, Shared, Unanswered, Via};
use super::gate::DEFERRAL;
use super::{Serving, respond_guarded};
use crate::answer::{MAX_UDP_QUERY, Outcome, Patience, Request, Scratch, Transport};
use crate::zone::alias::{AliasEntry, AliasState, Family, TargetKey};

/// Most queries that wait at a time (alias.md section 3.6).
const MAX_PARKED: usize = 16_384;

/// A query that waits.
pub(super) struct Parked {
    octets: Vec<u8>,
    peer: SocketAddr,
    socket: Arc<UdpSocket>,
    local: LocalInfo,
    target: TargetKey,
    until: Instant,
    deferred: Deferred,
}

impl Parked {
    /// A query over UDP, from now on.
    pub(super) fn udp(
        octets: Vec<u8>,
        peer: SocketAddr,
        socket: Arc<UdpSocket>,
        local: LocalInfo,
        target: TargetKey,
        deferred: Deferred,
    ) -> Parked {
        Parked { octets, peer, socket, local, target, until: Instant::now() + DEFERRAL, deferred }
    }
}

/// There is no room.
pub(super) struct NoRoom;

/// Where queries are left.
#[derive(Clone)]
pub(super) struct Parking(mpsc::Sender<Parked>);

impl Parking {
    /// Leaves a query, without waiting.
    pub(super) fn park(&self, parked: Parked) -> Result<(), NoRoom> {
        self.0.try_send(parked).map_err(|_| NoRoom)
    }
}

/// Starts the task that answers parked queries.
pub(super) fn start(serving: &Serving) -> (Parking, tokio::task::JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel(MAX_PARKED);
    let lot = Lot {
        serving: serving.clone(),
        counters: serving.counters.shared(Via::Udp),
        waiting: HashMap::new(),
        count: 0,
        earliest: None,
        scratch: Scratch::new(),
        out: vec![0; usize::from(serving.rules.load().of(Crowd::Few).edns_size).max(MAX_UDP_QUERY)],
    };
    (Parking(sender), tokio::spawn(lot.run(receiver)))
}

struct Lot {
    serving: Serving,
    counters: Shared,
    waiting: HashMap<TargetKey, Vec<Parked>>,
    count: usize,
    /// No query's time is over before; it may be that of one that was answered already.
    earliest: Option<Instant>,
    scratch: Scratch,
    out: Vec<u8>,
}

impl Lot {
    async fn run(mut self, mut receiver: mpsc::Receiver<Parked>) {
        let mut publications = self.serving.publications.clone();
        loop {
            let next = self.earliest;
            let deadline = async {
                match next {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                parked = receiver.recv() => match parked {
                    Some(parked) => self.take(parked, &mut receiver),
                    None => return,
                },
                changed = publications.changed() => match changed {
                    Ok(()) => self.settle(),
                    Err(_) => return,
                },
                () = deadline => self.expire(),
            }
        }
    }

    /// Takes in what has been left. The Snapshot may know the target already.
    fn take(&mut self, first: Parked, receiver: &mut mpsc::Receiver<Parked>) {
        let mut next = Some(first);
        while let Some(parked) = next {
            let room = self.count < MAX_PARKED;
            if room && self.waiting.contains_key(&parked.target) {
                self.keep(parked);
            } else {
                self.answer(parked, if room { Patience::Wait } else { Patience::Ended });
            }
            next = receiver.try_recv().ok();
        }
        self.settle();
    }

    /// Lets a query wait for its target.
    fn keep(&mut self, parked: Parked) {
        self.earliest = Some(self.earliest.map_or(parked.until, |earliest| earliest.min(parked.until)));
        self.count += 1;
        self.waiting.entry(parked.target.clone()).or_default().push(parked);
    }

    /// Answers the queries whose targets are known now.
    fn settle(&mut self) {
        let snapshot = self.serving.published.get();
        // A target of which no family is known yet settles nothing.
        let is_known = |entry: &Arc<AliasEntry>| {
            Family::BOTH.iter().any(|family| entry.family(*family).state != AliasState::Pending)
        };
        let known: Vec<TargetKey> =
            self.waiting.keys().filter(|target| snapshot.alias.entry(target).is_some_and(is_known)).cloned().collect();
        for target in known {
            let all = self.waiting.remove(&target).unwrap_or_default();
            self.count -= all.len();
            for parked in all {
                self.answer(parked, Patience::Wait);
            }
        }
    }

    /// Answers the queries that have waited long enough.
    fn expire(&mut self) {
        let now = Instant::now();
        let mut over = Vec::new();
        self.waiting.retain(|_, all| {
            let (ended, rest) = std::mem::take(all).into_iter().partition(|parked| parked.until <= now);
            over.extend::<Vec<Parked>>(ended);
            *all = rest;
            !all.is_empty()
        });
        self.count -= over.len();
        self.earliest = self.waiting.values().flatten().map(|parked| parked.until).min();
        for parked in over {
            parked.deferred.expired();
            self.answer(parked, Patience::Ended);
        }
    }

    /// Answers a query, or keeps it while it still depends on an unknown target.
    fn answer(&mut self, mut parked: Parked, patience: Patience) {
        let snapshot = self.serving.published.get();
        let request = Request {
            octets: &parked.octets,
            transport: Transport::Udp,
            client: parked.peer.ip(),
            now: self.serving.clock.now(),
            patience,
        };
        let rules = self.serving.rules.load();
        match respond_guarded(rules.of(Crowd::Few), &snapshot, &mut self.scratch, &request, &mut self.out) {
            Outcome::Reply { length, rcode, rtype, limited, flattened } => {
                self.counters.reply(AddressFamily::of(parked.peer.ip()), rtype, rcode, limited, flattened);
                self.counters.failing(rcode, &parked.octets);
                self.serving.sampler.take(Via::Udp, parked.peer.ip(), &parked.octets, rcode);
                // A client that went away is no error of ours.
                if send_from(&parked.socket, &self.out[..length], parked.peer, &parked.local).is_err() {
                    self.counters.unanswered(Unanswered::NotSent, 1);
                }
            }
            Outcome::Silent(_) => self.counters.unanswered(Unanswered::NotAQuery, 1),
            Outcome::Limited { rtype } => self.counters.limited(AddressFamily::of(parked.peer.ip()), rtype),
            Outcome::Pending(target) => {
                self.serving.alias.hint(&target);
                parked.target = target;
                self.keep(parked);
            }
        }
    }
}
