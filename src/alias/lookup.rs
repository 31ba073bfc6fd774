//! What is asked of upstreams and what comes back, as plain data between the engine and the resolver.

use std::fmt;
use std::net::SocketAddr;

use crate::wire::name::Name;
use crate::zone::alias::{AliasState, Family, TargetKey};

/// An upstream by its place in the list of its group, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Upstream(pub u8);

/// Which upstreams may answer a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Whichever is best.
    Any,
    /// Another than this one, if there is one: its NXDOMAIN is to be confirmed.
    OtherThan(Upstream),
}

/// A lookup that the engine wants made. Each one is answered by exactly one [`Report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The name.
    pub target: TargetKey,
    /// The address type.
    pub family: Family,
    /// Who may answer.
    pub ask: Ask,
    /// Number of the lookup, for the report.
    pub ticket: u64,
}

/// The end of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name.
    pub target: TargetKey,
    /// The address type.
    pub family: Family,
    /// The lookup's number.
    pub ticket: u64,
    /// What came of it.
    pub answer: Answer,
}

/// What came of a lookup, and from whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Who answered, or failed last; none without upstreams.
    pub upstream: Option<Upstream>,
    /// What it said.
    pub outcome: Outcome,
    /// The names that CNAMEs led to from the target, in order; at most [`crate::zone::alias::MAX_STEPS`].
    pub chain: Vec<Name>,
    /// Which of them is the first that lies in a hosted zone.
    pub crosses: Option<usize>,
    /// Owner of the SOA of a negative answer.
    pub authority: Option<Name>,
    /// Where `upstream` is.
    pub from: Option<SocketAddr>,
}

impl Answer {
    /// An answer without a chain.
    pub fn direct(upstream: Option<Upstream>, outcome: Outcome) -> Answer {
        Answer { upstream, outcome, chain: Vec::new(), crosses: None, authority: None, from: None }
    }
}

/// What an upstream said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Addresses in network order, one after another, and the lowest TTL of chain and RRset in seconds.
    Addresses {
        /// The addresses, in no order, perhaps with repeats.
        octets: Vec<u8>,
        /// Seconds.
        ttl: u32,
    },
    /// NOERROR without addresses; the negative TTL in seconds, if there was an SOA.
    NoData {
        /// Seconds.
        ttl: Option<u32>,
    },
    /// NXDOMAIN; the negative TTL in seconds, if there was an SOA.
    NameError {
        /// Seconds.
        ttl: Option<u32>,
    },
    /// The chain comes back to a name it had.
    Loop,
    /// The chain has too many steps.
    ChainTooLong,
    /// Nothing that tells anything about the target.
    Failed(Failure),
}

/// Why a lookup told nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// No answer in time.
    Timeout,
    /// SERVFAIL, or an answer that makes no sense.
    ServFail,
    /// REFUSED.
    Refused,
    /// The upstream could not be reached.
    Network,
    /// There is no upstream.
    NoResolver,
    /// The owner has more lookups than are admitted: none was made.
    RateLimited,
}

impl Failure {
    /// The failure that a state tells of.
    pub fn of(state: AliasState) -> Option<Failure> {
        let all = [
            Failure::Timeout,
            Failure::ServFail,
            Failure::Refused,
            Failure::Network,
            Failure::NoResolver,
            Failure::RateLimited,
        ];
        all.into_iter().find(|failure| failure.state() == state)
    }

    /// The state of a target after it.
    pub fn state(self) -> AliasState {
        match self {
            Failure::Timeout => AliasState::Timeout,
            Failure::ServFail => AliasState::ServFail,
            Failure::Refused => AliasState::Refused,
            Failure::Network => AliasState::Network,
            Failure::NoResolver => AliasState::NoResolver,
            Failure::RateLimited => AliasState::RateLimited,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Timeout => "no upstream answered in time",
            Failure::ServFail => "SERVFAIL",
            Failure::Refused => "REFUSED",
            Failure::Network => "no upstream could be reached",
            Failure::NoResolver => "no upstream is configured",
            Failure::RateLimited => "the owner has more lookups than are admitted",
        })
    }
}
