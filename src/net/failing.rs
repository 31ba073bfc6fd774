//! Samples of questions that were answered NXDOMAIN or SERVFAIL, for the page. Each thread has a queue of fixed size
//! that was made at the start, and puts at most one sample of a batch into it, which stands for all such replies of the
//! batch: with few queries each is seen, and with many it is one in 64. Putting takes no lock and allocates nothing. A full
//! queue loses samples, so that a server whose page nobody looks at does not notice.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::wire::codes::Rcode;
use crate::wire::name::{MAX_NAME, Name, wire_length};
use crate::wire::query::HEADER;

/// Samples that wait in the queue of one writer, at most.
const QUEUE: usize = 256;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There is no such name.
    NoName,
    /// The server failed.
    Failed,
}

impl Failure {
    /// Of a response code, if it is one of the two.
    #[inline]
    pub(super) fn of(rcode: Rcode) -> Option<Failure> {
        match rcode {
            Rcode::NXDOMAIN => Some(Failure::NoName),
            Rcode::SERVFAIL => Some(Failure::Failed),
            _ => None,
        }
    }
}

struct Sample {
    failure: Failure,
    weight: u32,
    question: [u8; MAX_NAME],
}

/// Puts samples into the queue of one writer. Clones share the queue.
#[derive(Clone, Debug)]
pub(super) struct Failing(SyncSender<Sample>);

impl Failing {
    /// A query that stands for `weight` replies of its kind.
    pub(super) fn put(&self, failure: Failure, weight: u32, query: &[u8]) {
        let mut question = [0; MAX_NAME];
        let from = query.get(HEADER..).unwrap_or_default();
        let length = from.len().min(MAX_NAME);
        question[..length].copy_from_slice(&from[..length]);
        // A full queue means that nobody looks, or that there is more than enough to see.
        let _ = self.0.try_send(Sample { failure, weight, question });
    }
}

/// The queues of all writers.
#[derive(Debug, Default)]
pub(super) struct Queues(Mutex<Vec<Receiver<Sample>>>);

impl Queues {
    /// A queue for one more writer.
    pub(super) fn writer(&self) -> Failing {
        let (sender, receiver) = sync_channel(QUEUE);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(receiver);
        Failing(sender)
    }

    /// Takes what waits: kind, name, and how many replies it stands for.
    pub(super) fn take(&self) -> Vec<(Failure, Name, u32)> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = queues.iter().flat_map(|queue| queue.try_iter().take(QUEUE));
        samples.filter_map(|one| Some((one.failure, name(&one.question)?, one.weight))).collect()
    }
}

fn name(question: &[u8; MAX_NAME]) -> Option<Name> {
    Name::from_wire(&question[..wire_length(question)?]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_with_their_weight_and_a_full_queue_loses_without_waiting() {
        let queues = Queues::default();
        let writer = queues.writer();
        let query = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x01\0\x01";
        for _ in 0..QUEUE + 10 {
            writer.put(Failure::NoName, 3, query);
        }
        writer.put(Failure::Failed, 1, b"short");
        let taken = queues.take();
        assert_eq!(taken.len(), QUEUE);
        assert_eq!(taken[0].1.to_string(), "www.example.");
        assert_eq!((taken[0].0, taken[0].2), (Failure::NoName, 3));
        assert!(queues.take().is_empty());
    }
}
