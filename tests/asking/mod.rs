//! Asks `respond` as the edge does, but without a socket: Snapshots from zone text, queries from words, replies that
//! are read strictly.

// Each test file is a crate of its own and uses its own part of this.
#![allow(dead_code, unreachable_pub)]

pub mod generate;
pub mod hosted;
pub mod judge;
pub mod model;
pub mod query;
pub mod reply;
pub mod rich;
pub mod sample;
pub mod sound;
pub mod text;

use std::net::{IpAddr, Ipv4Addr};

use tenured::answer::{MAX_MESSAGE, Outcome, Patience, Request, Rules, Scratch, Transport, respond};
use tenured::wire::cookie::CookieSecrets;
use tenured::wire::name::{HashKey, Name};
use tenured::zone::alias::Moment;
use tenured::zone::snapshot::Snapshot;

/// What time it is in tests, in milliseconds since 1970: 2026-10-01.
pub const NOW: Moment = Moment(1_790_812_800_000);
/// Where queries come from unless a test says otherwise.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 200));
/// The secret that signs cookies, and the one before it.
pub const SECRET: [u8; 16] = *b"current-secret-1";
/// The secret of before a roll.
pub const FORMER: [u8; 16] = *b"former-secret--0";

/// The key of the hashes of names.
pub fn key() -> HashKey {
    HashKey::new(5, 9)
}

/// The rules of the default configuration with a known secret.
pub fn rules() -> Rules {
    Rules::new(CookieSecrets::new(SECRET, None))
}

/// A name from text.
pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// One asker with its buffers.
pub struct Asker {
    /// What the configuration says.
    pub rules: Rules,
    /// Where from.
    pub client: IpAddr,
    /// When.
    pub now: Moment,
    /// Whether the query can be kept.
    pub patience: Patience,
    scratch: Scratch,
    out: Vec<u8>,
}

impl Asker {
    /// An asker under these rules.
    pub fn new(rules: Rules) -> Asker {
        Asker {
            rules,
            client: CLIENT,
            now: NOW,
            patience: Patience::Wait,
            scratch: Scratch::new(),
            out: vec![0; MAX_MESSAGE],
        }
    }

    /// Sends one message. The buffer is what the edge gives: our size for UDP, the largest message for TCP.
    pub fn send(&mut self, snapshot: &Snapshot, octets: &[u8], transport: Transport) -> (Outcome, &[u8]) {
        let request = Request { octets, transport, client: self.client, now: self.now, patience: self.patience };
        let room = match transport {
            Transport::Udp => usize::from(self.rules.edns_size),
            Transport::Tcp => MAX_MESSAGE,
        };
        let outcome = respond(&self.rules, snapshot, &mut self.scratch, &request, &mut self.out[..room]);
        let length = match &outcome {
            Outcome::Reply { length, .. } => *length,
            Outcome::Silent(_) | Outcome::Limited { .. } | Outcome::Pending(_) => 0,
        };
        (outcome, &self.out[..length])
    }
}
