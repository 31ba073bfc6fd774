//! The UDP path: a thread per socket, batches in and out, nothing allocated and nothing waited for in between.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::batch::{Batch, bind};
use super::counters::{Block, Drop};
use super::parking::{Parked, Parking};
use super::{Serving, respond_guarded};
use crate::answer::{Outcome, Patience, Request, Scratch, Transport};

/// How long a thread waits for a datagram before it looks whether it should end.
const WAIT: Duration = Duration::from_millis(200);

/// One socket and all it needs.
pub(super) struct Worker {
    serving: Serving,
    socket: Arc<UdpSocket>,
    batch: Batch,
    parking: Parking,
    counters: Arc<Block>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    /// Binds a socket that shares its address with those of other workers.
    pub(super) fn bind(
        serving: &Serving,
        address: SocketAddr,
        parking: Parking,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Worker> {
        Ok(Worker {
            socket: Arc::new(bind(address, WAIT)?),
            batch: Batch::new(usize::from(serving.rules.edns_size), address.ip().is_unspecified()),
            counters: serving.counters.block(),
            serving: serving.clone(),
            parking,
            stop,
        })
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
        let snapshot = self.serving.published.load();
        let now = self.serving.clock.now();
        for index in 0..count {
            let (octets, peer, out) = self.batch.message(index);
            let mut request =
                Request { octets, transport: Transport::Udp, client: peer.ip(), now, patience: Patience::Wait };
            let rules = &self.serving.rules;
            let mut outcome = respond_guarded(rules, &snapshot, scratch, &request, out);
            if let Outcome::Pending(target) = &outcome {
                self.serving.alias.hint(target);
                let octets = octets.to_vec();
                let local = self.batch.local_info(index);
                let parked = Parked::udp(octets, peer, self.socket.clone(), local, target.clone());
                match self.parking.park(parked) {
                    Ok(()) => continue,
                    Err(_full) => {
                        let (octets, _, out) = self.batch.message(index);
                        request = Request { octets, patience: Patience::Ended, ..request };
                        outcome = respond_guarded(rules, &snapshot, scratch, &request, out);
                    }
                }
            }
            match outcome {
                Outcome::Reply { length, rcode } => {
                    self.counters.reply(Transport::Udp, rcode);
                    self.batch.queue_reply(index, length);
                }
                Outcome::Silent(_) => self.counters.drop(Drop::NotAQuery, 1),
                // Patience has ended, so nothing is pending any more.
                Outcome::Pending(_) => {}
            }
        }
        drop(snapshot);
        let lost = self.batch.send(&self.socket);
        if lost > 0 {
            self.counters.drop(Drop::NotSent, lost as u64);
        }
    }
}
