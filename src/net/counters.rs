//! Counters of the data plane: a block per thread, relaxed, on cache lines of its own, summed when somebody asks.
//!
//! A block that one thread alone writes needs no locked instruction: a load, an addition and a store, which cost what a
//! plain integer costs, and a reader sees each number whole. [`Own`] is that writer, and cannot be cloned. The tasks of
//! TCP move between threads, so theirs is [`Shared`] and adds atomically.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::durations::{DurationTotals, Durations};
use super::failing::{Failing, Failure, Queues};
use crate::answer::Limited;
use crate::wire::codes::{Rcode, Rtype};
use crate::wire::name::Name;
use crate::zone::served::Serving;

/// Response codes counted one by one; higher ones share the last place.
const CODES: usize = 24;
/// Types of questions counted one by one, by the words of the label; all others share the place behind them.
const TYPES: [(Rtype, &str); 14] = [
    (Rtype::A, "A"),
    (Rtype::AAAA, "AAAA"),
    (Rtype::NS, "NS"),
    (Rtype::SOA, "SOA"),
    (Rtype::MX, "MX"),
    (Rtype::TXT, "TXT"),
    (Rtype::CNAME, "CNAME"),
    (Rtype::PTR, "PTR"),
    (Rtype::SRV, "SRV"),
    (Rtype::HTTPS, "HTTPS"),
    (Rtype::SVCB, "SVCB"),
    (Rtype::CAA, "CAA"),
    (Rtype::DS, "DS"),
    (Rtype::ANY, "ANY"),
];
const OTHER: &str = "other";
/// Places of types by their number, up to the highest that has one of its own.
const PLACES: [u8; Rtype::CAA.0 as usize + 1] = {
    let mut places = [TYPES.len() as u8; Rtype::CAA.0 as usize + 1];
    let mut place = 0;
    while place < TYPES.len() {
        places[TYPES[place].0.0 as usize] = place as u8;
        place += 1;
    }
    places
};

/// The place of a question's type; a message without a question is of another type too.
#[inline]
fn place(rtype: Option<Rtype>) -> usize {
    let number = rtype.map_or(0, |rtype| usize::from(rtype.0));
    usize::from(PLACES.get(number).copied().unwrap_or(TYPES.len() as u8))
}

/// What a message came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// TLS (RFC 7858).
    Tls,
    /// QUIC (RFC 9250).
    Quic,
    /// HTTPS (RFC 8484).
    Https,
}

impl Via {
    const ALL: [Via; 5] = [Via::Udp, Via::Tcp, Via::Tls, Via::Quic, Via::Https];

    /// The word in labels and in the log.
    pub fn text(self) -> &'static str {
        match self {
            Via::Udp => "udp",
            Via::Tcp => "tcp",
            Via::Tls => "tls",
            Via::Quic => "quic",
            Via::Https => "https",
        }
    }
}

/// Which kind of address a client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressFamily {
    Ipv4,
    Ipv6,
}

impl AddressFamily {
    const ALL: [AddressFamily; 2] = [AddressFamily::Ipv4, AddressFamily::Ipv6];

    /// Of an address; one of IPv4 within IPv6 is of IPv4.
    pub(super) fn of(address: IpAddr) -> AddressFamily {
        match address.to_canonical() {
            IpAddr::V4(_) => AddressFamily::Ipv4,
            IpAddr::V6(_) => AddressFamily::Ipv6,
        }
    }

    fn text(self) -> &'static str {
        match self {
            AddressFamily::Ipv4 => "ipv4",
            AddressFamily::Ipv6 => "ipv6",
        }
    }
}

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

impl Unanswered {
    const ALL: [Unanswered; 3] = [Unanswered::NotAQuery, Unanswered::NotSent, Unanswered::Limited];

    fn text(self) -> &'static str {
        match self {
            Unanswered::NotAQuery => "not_a_query",
            Unanswered::NotSent => "not_sent",
            Unanswered::Limited => "limited",
        }
    }
}

/// The numbers of one transport and one writer.
#[derive(Debug)]
#[repr(align(128))]
struct Block {
    transport: Via,
    requests: [[AtomicU64; TYPES.len() + 1]; AddressFamily::ALL.len()],
    responses: [AtomicU64; CODES],
    unanswered: [AtomicU64; Unanswered::ALL.len()],
    /// Replies that rate limiting emptied.
    truncated: AtomicU64,
    /// Replies that depended on an ALIAS, by what became of it.
    flattened: [AtomicU64; Serving::ALL.len()],
}

impl Block {
    fn new(transport: Via) -> Block {
        Block {
            transport,
            requests: Default::default(),
            responses: Default::default(),
            unanswered: Default::default(),
            truncated: AtomicU64::new(0),
            flattened: Default::default(),
        }
    }

    #[inline]
    fn request(&self, family: AddressFamily, rtype: Option<Rtype>) -> &AtomicU64 {
        &self.requests[family as usize][place(rtype)]
    }

    #[inline]
    fn response(&self, rcode: Rcode) -> &AtomicU64 {
        &self.responses[usize::from(rcode.0).min(CODES - 1)]
    }
}

/// The counters of one thread, of clients of one family.
#[derive(Debug)]
pub(super) struct Own {
    block: Arc<Block>,
    failing: Failing,
    family: AddressFamily,
}

impl Own {
    /// A query with a question of this type got a reply.
    #[inline]
    pub(super) fn reply(&mut self, rtype: Option<Rtype>, rcode: Rcode, limited: Limited, flattened: Option<Serving>) {
        Own::add(self.block.request(self.family, rtype), 1);
        Own::add(self.block.response(rcode), 1);
        if limited == Limited::Truncated {
            Own::add(&self.block.truncated, 1);
        }
        if let Some(serving) = flattened {
            Own::add(&self.block.flattened[serving as usize], 1);
        }
    }

    /// A query with a question of this type was one too many, and got none.
    pub(super) fn limited(&mut self, rtype: Option<Rtype>) {
        Own::add(self.block.request(self.family, rtype), 1);
        self.unanswered(Unanswered::Limited, 1);
    }

    /// So many messages got none.
    #[inline]
    pub(super) fn unanswered(&mut self, reason: Unanswered, count: u64) {
        Own::add(&self.block.unanswered[reason as usize], count);
    }

    /// A query whose name or server failed, for so many like it.
    pub(super) fn failing(&mut self, failure: Failure, weight: u32, query: &[u8]) {
        self.failing.put(failure, weight, query);
    }

    /// Nobody else writes, so nothing is lost between the load and the store.
    #[inline]
    fn add(counter: &AtomicU64, count: u64) {
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }
}

/// Counters that several tasks write. Clones write the same.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<Block>, Failing);

impl Shared {
    /// A query got a reply with this code: it is a sample if the name or the server failed.
    pub(super) fn failing(&self, rcode: Rcode, query: &[u8]) {
        if let Some(failure) = Failure::of(rcode) {
            self.1.put(failure, 1, query);
        }
    }

    /// A query with a question of this type got a reply.
    pub(super) fn reply(
        &self,
        family: AddressFamily,
        rtype: Option<Rtype>,
        rcode: Rcode,
        limited: Limited,
        flattened: Option<Serving>,
    ) {
        self.0.request(family, rtype).fetch_add(1, Ordering::Relaxed);
        self.0.response(rcode).fetch_add(1, Ordering::Relaxed);
        if limited == Limited::Truncated {
            self.0.truncated.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(serving) = flattened {
            self.0.flattened[serving as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A query with a question of this type was one too many, and got none.
    pub(super) fn limited(&self, family: AddressFamily, rtype: Option<Rtype>) {
        self.0.request(family, rtype).fetch_add(1, Ordering::Relaxed);
        self.unanswered(Unanswered::Limited, 1);
    }

    /// So many messages got none.
    pub(super) fn unanswered(&self, reason: Unanswered, count: u64) {
        self.0.unanswered[reason as usize].fetch_add(count, Ordering::Relaxed);
    }
}

/// Queries that wait for an ALIAS target.
#[derive(Debug, Default)]
pub(super) struct Waits {
    now: AtomicU64,
    expired: AtomicU64,
}

impl Waits {
    /// One more, until the place is dropped.
    pub(super) fn begin(self: &Arc<Waits>) -> Deferred {
        self.now.fetch_add(1, Ordering::Relaxed);
        Deferred(self.clone())
    }
}

/// The place of a query that waits.
#[derive(Debug)]
pub(super) struct Deferred(Arc<Waits>);

impl Deferred {
    /// Its time was over before its target was known.
    pub(super) fn expired(&self) {
        self.0.expired.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All blocks, and the queries that wait.
#[derive(Debug, Default)]
pub struct Counters {
    blocks: Mutex<Vec<Arc<Block>>>,
    durations: Arc<Durations>,
    waits: Arc<Waits>,
    failing: Queues,
}

/// Sums at one moment, of what was counted at least once; labels are words of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Queries, answered or one too many, by what came.
    pub requests: Vec<Requests>,
    /// Replies, by what went out.
    pub responses: Vec<Responses>,
    /// Reason (`not_a_query`, `not_sent`, `limited`) and messages without a reply for it; all reasons are there.
    pub dropped: Vec<(&'static str, u64)>,
    /// What rate limiting did (`drop`, `truncate`), and how often; both are there.
    pub limiting: [(&'static str, u64); 2],
    /// How long answers took, of those that were measured.
    pub durations: DurationTotals,
    /// Replies that depended on an ALIAS, by what became of it; all words are there.
    pub flattened: Vec<(Serving, u64)>,
    /// Queries that wait for an ALIAS target now.
    pub deferred: u64,
    /// Queries that waited for one in vain.
    pub deferred_expired: u64,
}

/// Queries of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// The word of a [`Via`].
    pub transport: &'static str,
    /// `ipv4` or `ipv6`.
    pub family: &'static str,
    /// The type of the question, or `other`.
    pub qtype: &'static str,
    /// How many.
    pub count: u64,
}

/// Replies of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Responses {
    /// The word of a [`Via`].
    pub transport: &'static str,
    /// The response code; 23 and all above are one.
    pub rcode: Rcode,
    /// How many.
    pub count: u64,
}

impl Counters {
    /// Counters for a thread whose clients are all of one family.
    pub(super) fn own(&self, transport: Via, family: AddressFamily) -> Own {
        Own { block: self.block(transport), failing: self.failing.writer(), family }
    }

    /// Counters for tasks.
    pub(super) fn shared(&self, transport: Via) -> Shared {
        Shared(self.block(transport), self.failing.writer())
    }

    fn block(&self, transport: Via) -> Arc<Block> {
        let block = Arc::new(Block::new(transport));
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).push(block.clone());
        block
    }

    /// Takes the samples of questions that failed since the last call: kind, name, and how many replies each stands for.
    pub fn take_failing(&self) -> Vec<(Failure, Name, u32)> {
        self.failing.take()
    }

    /// Where is counted how long answers take.
    pub(super) fn durations(&self) -> &Arc<Durations> {
        &self.durations
    }

    /// Where queries are counted that wait.
    pub(super) fn waits(&self) -> &Arc<Waits> {
        &self.waits
    }

    /// The sums now.
    pub fn totals(&self) -> Totals {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut totals = Totals {
            durations: self.durations.totals(),
            deferred: self.waits.now.load(Ordering::Relaxed),
            deferred_expired: self.waits.expired.load(Ordering::Relaxed),
            ..Totals::default()
        };
        for transport in Via::ALL {
            let word = transport.text();
            let sum = |read: &dyn Fn(&Block) -> &AtomicU64| -> u64 {
                let of_transport = blocks.iter().filter(|block| block.transport == transport);
                of_transport.map(|block| read(block).load(Ordering::Relaxed)).sum()
            };
            for family in AddressFamily::ALL {
                let words = TYPES.iter().map(|(_, word)| *word).chain([OTHER]);
                for (place, qtype) in words.enumerate() {
                    let count = sum(&|block| &block.requests[family as usize][place]);
                    if count > 0 {
                        totals.requests.push(Requests { transport: word, family: family.text(), qtype, count });
                    }
                }
            }
            for code in 0..CODES {
                let count = sum(&|block| &block.responses[code]);
                if count > 0 {
                    totals.responses.push(Responses { transport: word, rcode: Rcode(code as u16), count });
                }
            }
        }
        for reason in Unanswered::ALL {
            let count = blocks.iter().map(|block| block.unanswered[reason as usize].load(Ordering::Relaxed)).sum();
            totals.dropped.push((reason.text(), count));
        }
        let sum =
            |read: &dyn Fn(&Block) -> &AtomicU64| blocks.iter().map(|one| read(one).load(Ordering::Relaxed)).sum();
        let dropped = sum(&|block| &block.unanswered[Unanswered::Limited as usize]);
        totals.flattened =
            Serving::ALL.into_iter().map(|serving| (serving, sum(&|one| &one.flattened[serving as usize]))).collect();
        totals.limiting = [("drop", dropped), ("truncate", sum(&|block| &block.truncated))];
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_the_place_of_its_word_and_all_others_share_one() {
        for (at, (rtype, word)) in TYPES.iter().enumerate() {
            assert_eq!(place(Some(*rtype)), at);
            assert_eq!(rtype.to_string(), *word);
        }
        for other in [Rtype(0), Rtype::NULL, Rtype(256), Rtype(258), Rtype::ALIAS, Rtype(u16::MAX)] {
            assert_eq!(place(Some(other)), TYPES.len(), "{other}");
        }
        assert_eq!(place(None), TYPES.len());
    }

    #[test]
    fn blocks_of_several_writers_are_summed_by_transport() {
        let counters = Counters::default();
        let mut one = counters.own(Via::Udp, AddressFamily::Ipv4);
        let mut two = counters.own(Via::Udp, AddressFamily::Ipv6);
        let tcp = counters.shared(Via::Tcp);
        one.reply(Some(Rtype::A), Rcode::NOERROR, Limited::Not, Some(Serving::Stale));
        one.reply(Some(Rtype::A), Rcode::NXDOMAIN, Limited::Truncated, None);
        one.limited(Some(Rtype::MX));
        two.reply(Some(Rtype::A), Rcode::NOERROR, Limited::Not, None);
        two.unanswered(Unanswered::NotAQuery, 2);
        tcp.reply(AddressFamily::Ipv4, None, Rcode(4_000), Limited::Truncated, Some(Serving::Stale));
        tcp.unanswered(Unanswered::NotAQuery, 1);
        let totals = counters.totals();
        let requests: Vec<_> =
            totals.requests.iter().map(|one| (one.transport, one.family, one.qtype, one.count)).collect();
        assert_eq!(
            requests,
            [("udp", "ipv4", "A", 2), ("udp", "ipv4", "MX", 1), ("udp", "ipv6", "A", 1), ("tcp", "ipv4", "other", 1)]
        );
        let responses: Vec<_> = totals.responses.iter().map(|one| (one.transport, one.rcode.0, one.count)).collect();
        assert_eq!(responses, [("udp", 0, 2), ("udp", 3, 1), ("tcp", 23, 1)]);
        assert_eq!(totals.dropped, [("not_a_query", 3), ("not_sent", 0), ("limited", 1)]);
        assert_eq!(totals.limiting, [("drop", 1), ("truncate", 2)]);
        for (serving, count) in totals.flattened {
            assert_eq!(count, if serving == Serving::Stale { 2 } else { 0 }, "{serving:?}");
        }
    }

    #[test]
    fn an_ipv4_client_of_an_ipv6_socket_counts_as_ipv4() {
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().expect("an address");
        assert_eq!(AddressFamily::of(mapped), AddressFamily::Ipv4);
        let v6: IpAddr = "2001:db8::1".parse().expect("an address");
        assert_eq!(AddressFamily::of(v6), AddressFamily::Ipv6);
    }
}
