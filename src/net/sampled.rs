//! The sampled query log: one query in so many is shown, and none waits for it. A sample goes into a queue of fixed size
//! that was made at the start; when it is full, samples are counted and lost.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::counters::Via;
use crate::wire::codes::{Rcode, Rtype};
use crate::wire::name::{MAX_NAME, Name, wire_length};
use crate::wire::query::HEADER;

/// Samples that wait to be written, at most.
const QUEUE: usize = 1_024;
/// How often they are written. The writer looks, and is not woken: waking would cost the query path a system call.
const PERIOD: Duration = Duration::from_millis(100);
/// Octets of a question: name, type, class.
const QUESTION: usize = MAX_NAME + 4;

struct Sample {
    via: Via,
    client: IpAddr,
    rcode: Rcode,
    question: [u8; QUESTION],
}

#[derive(Debug)]
struct Shared {
    /// One query in so many is taken; 0 takes none.
    every: AtomicU32,
    lost: AtomicU64,
}

/// Takes samples. A clone counts by itself.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<Shared>,
    sender: SyncSender<Sample>,
    seen: AtomicU32,
}

impl Clone for Sampler {
    fn clone(&self) -> Sampler {
        Sampler { shared: self.shared.clone(), sender: self.sender.clone(), seen: AtomicU32::new(0) }
    }
}

impl Sampler {
    /// Takes one query in `every`, 0 none, and writes them from a thread of its own.
    pub fn start(every: u32) -> std::io::Result<Sampler> {
        let (sampler, receiver) = Sampler::new(every);
        std::thread::Builder::new().name("query-log".to_owned()).spawn(move || write(&receiver))?;
        Ok(sampler)
    }

    fn new(every: u32) -> (Sampler, Receiver<Sample>) {
        let (sender, receiver) = sync_channel(QUEUE);
        let shared = Arc::new(Shared { every: AtomicU32::new(every), lost: AtomicU64::new(0) });
        (Sampler { shared, sender, seen: AtomicU32::new(0) }, receiver)
    }

    /// Takes one query in so many from now on.
    pub fn set(&self, every: u32) {
        self.shared.every.store(every, Ordering::Relaxed);
    }

    /// Samples that were lost because nobody wrote them in time.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Whether any are taken.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.shared.every.load(Ordering::Relaxed) != 0
    }

    /// Shows a query that was answered, if it is its turn. Neither waits nor allocates.
    #[inline]
    pub(super) fn take(&self, via: Via, client: IpAddr, query: &[u8], rcode: Rcode) {
        let every = self.shared.every.load(Ordering::Relaxed);
        if every != 0 {
            self.count(every, via, client, query, rcode);
        }
    }

    fn count(&self, every: u32, via: Via, client: IpAddr, query: &[u8], rcode: Rcode) {
        // Two threads that count at once may count one: a sample more or less is no matter.
        let seen = self.seen.load(Ordering::Relaxed).wrapping_add(1);
        if seen < every {
            self.seen.store(seen, Ordering::Relaxed);
            return;
        }
        self.seen.store(0, Ordering::Relaxed);
        let mut question = [0; QUESTION];
        let from = query.get(HEADER..).unwrap_or_default();
        let length = from.len().min(QUESTION);
        question[..length].copy_from_slice(&from[..length]);
        if self.sender.try_send(Sample { via, client, rcode, question }).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes samples until all samplers are gone.
fn write(receiver: &Receiver<Sample>) {
    use std::sync::mpsc::TryRecvError;
    loop {
        match receiver.try_recv() {
            Ok(sample) => {
                let (name, rtype) = asked(&sample.question);
                tracing::info!(
                    via = sample.via.text(), client = %sample.client, name = %name, rtype = %rtype,
                    rcode = sample.rcode.0, "query"
                );
            }
            Err(TryRecvError::Empty) => std::thread::sleep(PERIOD),
            Err(TryRecvError::Disconnected) => return,
        }
    }
}

/// Name, escaped, and type of a question; `-` where it is none.
fn asked(question: &[u8; QUESTION]) -> (String, String) {
    let read = || {
        let length = wire_length(question)?;
        let name = Name::from_wire(&question[..length]).ok()?;
        let rtype = Rtype(u16::from_be_bytes([*question.get(length)?, *question.get(length + 1)?]));
        Some((name.to_string(), rtype.to_string()))
    };
    read().unwrap_or_else(|| ("-".to_owned(), "-".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &[u8] = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x03w\nw\x07example\0\0\x1c\0\x01";

    #[test]
    fn one_in_so_many_is_taken_and_a_full_queue_loses_and_does_not_wait() {
        let (sampler, receiver) = Sampler::new(3);
        let client: IpAddr = "192.0.2.1".parse().expect("an address");
        for _ in 0..3 * QUEUE + 30 {
            sampler.take(Via::Udp, client, QUERY, Rcode::NOERROR);
        }
        assert_eq!(sampler.lost(), 10);
        let samples: Vec<Sample> = receiver.try_iter().collect();
        assert_eq!(samples.len(), QUEUE);
        assert_eq!(asked(&samples[0].question), ("w\\010w.example.".to_owned(), "AAAA".to_owned()));
        sampler.set(0);
        sampler.take(Via::Udp, client, QUERY, Rcode::NOERROR);
        assert_eq!(receiver.try_iter().count(), 0);
    }

    #[test]
    fn what_is_no_question_is_shown_as_none() {
        let (sampler, receiver) = Sampler::new(1);
        for query in [&QUERY[..5], &QUERY[..14], &[0xC0; 40]] {
            sampler.take(Via::Tcp, "2001:db8::1".parse().expect("an address"), query, Rcode::FORMERR);
            let sample = receiver.try_recv().expect("a sample");
            assert!(matches!(asked(&sample.question).1.as_str(), "-" | "TYPE0"), "{query:?}");
        }
    }
}
