//! DNS sockets: thin. Octets in, [`crate::answer::respond`], octets out.

mod batch;
mod certificates;
mod connections;
mod counters;
mod descriptors;
mod durations;
mod failing;
pub mod framing;
mod gate;
mod live;
mod parking;
mod quic;
mod sampled;
mod tcp;
mod udp;
mod validity;

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::alias::handle::AliasHandle;
use crate::answer::{Limited, Outcome, Request, Rules, Scratch, respond};
use crate::clock::Clock;
use crate::wire::codes::Rcode;
use crate::wire::query::HEADER;
use crate::zone::published::Published;
use crate::zone::snapshot::Snapshot;

pub use certificates::{Certificates, Renewal};
pub use connections::{ConnectionLimits, Crowd, Place};
pub use counters::{Counters, Requests, Responses, Totals, Via};
pub use durations::DurationTotals;
pub use failing::Failure;
pub use gate::Gate;
pub use live::LiveRules;
pub use sampled::Sampler;

use tcp::Secure;

/// What every socket needs to answer.
#[derive(Clone)]
pub struct Serving {
    /// The published Snapshot.
    pub published: Published,
    /// Changes with each publication; wakes queries that wait for an ALIAS target.
    pub publications: watch::Receiver<u64>,
    /// What the configuration says about answers.
    pub rules: LiveRules,
    /// The ALIAS engine, to tell it of targets that nobody resolved yet.
    pub alias: AliasHandle,
    /// The time.
    pub clock: Clock,
    /// Counters of all sockets.
    pub counters: Arc<Counters>,
    /// The sampled query log.
    pub sampler: Sampler,
}

/// Listeners for DNS over TLS and over QUIC, which both need a certificate.
#[derive(Clone, Debug)]
pub struct Encrypted {
    /// The certificate.
    pub certificates: Certificates,
    /// Addresses for DNS over TLS.
    pub dot: Vec<SocketAddr>,
    /// Addresses for DNS over QUIC.
    pub doq: Vec<SocketAddr>,
}

/// Sockets that somebody bound before the start and handed over (socket activation).
#[derive(Debug, Default)]
pub struct Inherited {
    /// For UDP.
    pub udp: Vec<std::net::UdpSocket>,
    /// For TCP.
    pub tcp: Vec<std::net::TcpListener>,
}

impl Inherited {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.udp.is_empty() && self.tcp.is_empty()
    }
}

/// Sockets in use; they end when this is dropped or [`Listeners::stop`] is called.
pub struct Listeners {
    /// Addresses with the ports that the system chose where 0 was asked for.
    pub addresses: Vec<SocketAddr>,
    /// As [`Listeners::addresses`], for DNS over TLS and over QUIC, with the word of each.
    pub encrypted: Vec<(Via, SocketAddr)>,
    /// Where DNS over HTTPS is answered.
    pub https: Gate,
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Listeners {
    /// Binds UDP and TCP on each address with so many UDP threads each, unless sockets were handed over, and serves. Must be
    /// called within a tokio runtime, which runs TCP; UDP has threads of its own.
    pub fn start(
        serving: &Serving,
        addresses: &[SocketAddr],
        udp_threads: usize,
        limits: ConnectionLimits,
        encrypted: Option<&Encrypted>,
        inherited: Inherited,
    ) -> std::io::Result<Listeners> {
        let stop = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(connections::Connections::new(descriptors::within(limits)));
        let gate = |via| Gate::new(serving, via, connections.clone());
        let mut listeners = Listeners {
            addresses: Vec::new(),
            encrypted: Vec::new(),
            https: gate(Via::Https),
            stop: stop.clone(),
            threads: vec![],
            tasks: vec![],
        };
        let (parking, lot) = parking::start(serving);
        listeners.tasks.push(lot);
        let plain = gate(Via::Tcp);
        let own: &[SocketAddr] = if inherited.is_empty() { addresses } else { &[] };
        for socket in inherited.udp {
            let socket = Arc::new(socket);
            for index in 0..udp_threads.max(1) {
                let worker = udp::Worker::adopt(serving, &socket, parking.clone(), stop.clone())?;
                let thread = std::thread::Builder::new().name(format!("udp-{index}"));
                listeners.threads.push(thread.spawn(move || worker.run())?);
            }
            listeners.addresses.push(socket.local_addr()?);
        }
        for listener in inherited.tcp {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let task = tcp::serve(tokio::net::TcpListener::from_std(listener)?, plain.clone(), Secure::No);
            listeners.tasks.push(tokio::spawn(task));
            if !listeners.addresses.contains(&address) {
                listeners.addresses.push(address);
            }
        }
        for &address in own {
            let (tcp, address) = tcp::bind_both(address)?;
            for index in 0..udp_threads.max(1) {
                let worker = udp::Worker::bind(serving, address, parking.clone(), stop.clone())?;
                let thread = std::thread::Builder::new().name(format!("udp-{index}"));
                listeners.threads.push(thread.spawn(move || worker.run())?);
            }
            let task = tcp::serve(tcp, plain.clone(), Secure::No);
            listeners.tasks.push(tokio::spawn(task));
            listeners.addresses.push(address);
        }
        if let Some(encrypted) = encrypted {
            listeners.encrypt(encrypted, &gate(Via::Tls), &gate(Via::Quic))?;
        }
        Ok(listeners)
    }

    fn encrypt(&mut self, encrypted: &Encrypted, dot: &Gate, doq: &Gate) -> std::io::Result<()> {
        let config = encrypted.certificates.server_config(&[b"dot"]).map_err(std::io::Error::other)?;
        for &address in &encrypted.dot {
            let listener = tcp::bind(address)?;
            self.encrypted.push((Via::Tls, listener.local_addr()?));
            let secure = Secure::By(TlsAcceptor::from(config.clone()));
            self.tasks.push(tokio::spawn(tcp::serve(listener, dot.clone(), secure)));
        }
        for &address in &encrypted.doq {
            let endpoint = quic::bind(address, &encrypted.certificates)?;
            self.encrypted.push((Via::Quic, endpoint.local_addr()?));
            self.tasks.push(tokio::spawn(quic::serve(endpoint, doq.clone())));
        }
        Ok(())
    }

    /// Ends all threads and tasks; returns when the UDP threads have ended.
    pub fn stop(mut self) {
        self.end();
        for thread in std::mem::take(&mut self.threads) {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
    }

    fn end(&mut self) {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.end();
    }
}

/// [`respond`], with a panic of it turned into SERVFAIL for that message alone (reliability.md section 2.7).
#[inline]
fn respond_guarded(
    rules: &Rules,
    snapshot: &Snapshot,
    scratch: &mut Scratch,
    request: &Request<'_>,
    out: &mut [u8],
) -> Outcome {
    let result = catch_unwind(AssertUnwindSafe(|| respond(rules, snapshot, scratch, request, out)));
    match result {
        Ok(outcome) => outcome,
        Err(_panic) => {
            *scratch = Scratch::new();
            let mut header = [0_u8; HEADER];
            header[..2].copy_from_slice(&request.octets[..2]);
            header[2] = 0x80 | request.octets[2] & 0x79;
            header[3] = Rcode::SERVFAIL.0 as u8;
            out[..HEADER].copy_from_slice(&header);
            let (length, rcode) = (HEADER, Rcode::SERVFAIL);
            Outcome::Reply { length, rcode, rtype: None, limited: Limited::Not, flattened: None }
        }
    }
}

/// Cuts a reply to header and question with TC; gives its new length, or none if it cannot be shorter.
fn truncated(reply: &mut [u8]) -> Option<usize> {
    let questions = u16::from_be_bytes([*reply.get(4)?, *reply.get(5)?]);
    let question = match questions {
        0 => 0,
        _ => crate::wire::name::wire_length(reply.get(HEADER..)?)? + 4,
    };
    let length = HEADER + question;
    if length >= reply.len() {
        return None;
    }
    reply[2] |= 2;
    reply[6..HEADER].fill(0);
    Some(length)
}
