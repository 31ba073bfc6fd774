//! Counters of the data plane: one block per thread, relaxed, summed when somebody asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::answer::Transport;
use crate::wire::codes::Rcode;

/// Response codes counted one by one; higher ones share the last place.
const CODES: usize = 24;

/// Why a message got no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// It was no query at all.
    NotAQuery,
    /// The reply was not taken by the kernel.
    NotSent,
    /// There were too many like it.
    Limited,
}

/// The counters of one thread, or of the tasks of one transport; on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Block {
    responses: [[AtomicU64; CODES]; 2],
    not_a_query: AtomicU64,
    not_sent: AtomicU64,
    limited: AtomicU64,
}

impl Block {
    #[inline]
    pub(super) fn reply(&self, transport: Transport, rcode: Rcode) {
        let row = match transport {
            Transport::Udp => 0,
            Transport::Tcp => 1,
        };
        self.responses[row][usize::from(rcode.0).min(CODES - 1)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unanswered(&self, reason: Unanswered, count: u64) {
        match reason {
            Unanswered::NotAQuery => &self.not_a_query,
            Unanswered::NotSent => &self.not_sent,
            Unanswered::Limited => &self.limited,
        }
        .fetch_add(count, Ordering::Relaxed);
    }
}

/// All blocks.
#[derive(Debug, Default)]
pub struct Counters(Mutex<Vec<Arc<Block>>>);

/// Sums at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Transport (`udp`, `tcp`), response code, replies.
    pub responses: Vec<(&'static str, u16, u64)>,
    /// Messages without a reply, by reason.
    pub dropped: Vec<(&'static str, u64)>,
}

impl Counters {
    /// A block for a new thread.
    pub(super) fn block(&self) -> Arc<Block> {
        let block = Arc::new(Block::default());
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(block.clone());
        block
    }

    /// The sums now.
    pub fn totals(&self) -> Totals {
        let blocks = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let sum = |read: &dyn Fn(&Block) -> u64| blocks.iter().map(|block| read(block)).sum::<u64>();
        let mut totals = Totals::default();
        for (row, transport) in ["udp", "tcp"].into_iter().enumerate() {
            for code in 0..CODES {
                let count = sum(&|block| block.responses[row][code].load(Ordering::Relaxed));
                if count > 0 {
                    totals.responses.push((transport, code as u16, count));
                }
            }
        }
        totals.dropped.push(("not_a_query", sum(&|block| block.not_a_query.load(Ordering::Relaxed))));
        totals.dropped.push(("limited", sum(&|block| block.limited.load(Ordering::Relaxed))));
        totals.dropped.push(("not_sent", sum(&|block| block.not_sent.load(Ordering::Relaxed))));
        totals
    }
}
