//! The UDP path: a thread per socket, batches in and out, nothing allocated and nothing waited for in between.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::batch::{Batch, adopt, bind};
use super::connections::Crowd;
use super::counters::{AddressFamily, Own, Unanswered, Via};
use super::durations::Turn;
use super::failing::Failure;
use super::parking::{Parked, Parking};
use super::{Serving, respond_guarded};
use crate::answer::{Outcome, Patience, Request, Rules, Scratch, Transport};
use crate::zone::alias::{Moment, TargetKey};
use crate::zone::snapshot::Snapshot;

/// How long a thread waits for a datagram before it looks whether it should end.
const WAIT: Duration = Duration::from_millis(200);

/// One socket and all it needs.
pub(super) struct Worker {
    serving: Serving,
    socket: Arc<UdpSocket>,
    batch: Batch,
    parking: Parking,
    counters: Own,
    stop: Arc<AtomicBool>,
    turn: Turn,
}

impl Worker {
    /// Binds a socket that shares its address with those of other workers.
    pub(super) fn bind(
        serving: &Serving,
        address: SocketAddr,
        parking: Parking,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Worker> {
        Ok(Worker::on(serving, Arc::new(bind(address, WAIT)?), address, parking, stop))
    }

    /// On a socket that is bound already, shared by all workers of its address.
    pub(super) fn adopt(
        serving: &Serving,
        socket: &Arc<UdpSocket>,
        parking: Parking,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Worker> {
        let address = socket.local_addr()?;
        adopt(socket, address, WAIT)?;
        Ok(Worker::on(serving, socket.clone(), address, parking, stop))
    }

    fn on(
        serving: &Serving,
        socket: Arc<UdpSocket>,
        address: SocketAddr,
        parking: Parking,
        stop: Arc<AtomicBool>,
    ) -> Worker {
        Worker {
            socket,
            batch: Batch::new(
                usize::from(serving.rules.load().of(Crowd::Few).edns_size),
                address.ip().is_unspecified(),
            ),
            counters: serving.counters.own(Via::Udp, AddressFamily::of(address.ip())),
            serving: serving.clone(),
            parking,
            stop,
            turn: Turn::default(),
        }
    }

    /// Answers until it is stopped.
    pub(super) fn run(mut self) {
        let mut scratch = Scratch::new();
        while !self.stop.load(Ordering::Relaxed) {
            match self.batch.receive(&self.socket) {
                Ok(count) => self.answer(&mut scratch, count),
                // Time-outs, and errors that ICMP brought for replies sent before: neither ends a server.
                Err(_) => continue,
            }
        }
    }

    fn answer(&mut self, scratch: &mut Scratch, count: usize) {
        let started = self.turn.begins().then(Instant::now);
        let snapshot = self.serving.published.load();
        let rules = self.serving.rules.load();
        let rules = rules.of(Crowd::Few);
        let now = self.serving.clock.now();
        // Of each kind: how many replies of the batch are of it, and which was the last.
        let (mut no_name, mut failed) = ((0, 0), (0, 0));
        for index in 0..count {
            let mut outcome = self.respond(rules, &snapshot, scratch, index, now, Patience::Wait);
            if let Outcome::Pending(target) = outcome {
                if self.park(index, target) {
                    continue;
                }
                outcome = self.respond(rules, &snapshot, scratch, index, now, Patience::Ended);
            }
            match outcome {
                Outcome::Reply { length, rcode, rtype, limited, flattened } => {
                    self.counters.reply(rtype, rcode, limited, flattened);
                    match Failure::of(rcode) {
                        None => {}
                        Some(Failure::NoName) => no_name = (no_name.0 + 1, index),
                        Some(Failure::Failed) => failed = (failed.0 + 1, index),
                    }
                    if self.serving.sampler.is_on() {
                        let (octets, peer, _) = self.batch.message(index);
                        self.serving.sampler.take(Via::Udp, peer.ip(), octets, rcode);
                    }
                    self.batch.queue_reply(index, length);
                }
                Outcome::Silent(_) => self.counters.unanswered(Unanswered::NotAQuery, 1),
                Outcome::Limited { rtype } => self.counters.limited(rtype),
                // Patience has ended, so nothing is pending any more.
                Outcome::Pending(_) => {}
            }
        }
        drop(snapshot);
        for (failure, (weight, index)) in [(Failure::NoName, no_name), (Failure::Failed, failed)] {
            if weight > 0 {
                let (octets, _, _) = self.batch.message(index);
                self.counters.failing(failure, weight, octets);
            }
        }
        if let Some(started) = started {
            self.serving.counters.durations().observe(started.elapsed(), count as u64);
        }
        let lost = self.batch.send(&self.socket);
        if lost > 0 {
            self.counters.unanswered(Unanswered::NotSent, lost as u64);
        }
    }

    #[inline]
    fn respond(
        &mut self,
        rules: &Rules,
        snapshot: &Snapshot,
        scratch: &mut Scratch,
        index: usize,
        now: Moment,
        patience: Patience,
    ) -> Outcome {
        let (octets, peer, out) = self.batch.message(index);
        let request = Request { octets, transport: Transport::Udp, client: peer.ip(), now, patience };
        let outcome = respond_guarded(rules, snapshot, scratch, &request, out);
        if let Some(entry) = scratch.take_overdue() {
            self.serving.alias.hint(&entry.target);
        }
        outcome
    }

    /// Leaves a query to wait for its target, and tells the ALIAS engine of it. False if there is no room.
    #[cold]
    fn park(&mut self, index: usize, target: TargetKey) -> bool {
        self.serving.alias.hint(&target);
        let local = self.batch.local_info(index);
        let deferred = self.serving.counters.waits().begin();
        let (octets, peer, _) = self.batch.message(index);
        let parked = Parked::udp(octets.to_vec(), peer, self.socket.clone(), local, target, deferred);
        self.parking.park(parked).is_ok()
    }
}
