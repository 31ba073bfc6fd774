//! Wrong tokens by client address: who sends many of them waits (operations.md section 8). Only requests whose token is
//! wrong are counted and refused, so a right token is let in from the same address at any time.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use super::problem::Refused;
use crate::ledger::code::Code;
use crate::zone::alias::Moment;

/// Places of the table; addresses that share a place share its count.
pub const PLACES: usize = 4_096;
/// Wrong tokens that an address may send at once.
pub const BURST: u32 = 10;
/// One more may be sent after so many milliseconds.
pub const REFILL_MILLISECONDS: u64 = 6_000;

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// When the last of the wrong tokens that were sent is forgotten, in milliseconds.
    clear_at: u64,
}

/// The table. Clones share it.
#[derive(Clone, Debug)]
pub struct Failures(Arc<Table>);

#[derive(Debug)]
struct Table {
    hasher: RandomState,
    places: Mutex<Vec<Place>>,
}

impl Default for Failures {
    fn default() -> Failures {
        let places = Mutex::new(vec![Place::default(); PLACES]);
        Failures(Arc::new(Table { hasher: RandomState::new(), places }))
    }
}

impl Failures {
    /// Counts a wrong token: the refusal of it, or another one if there were too many.
    pub fn judge(&self, peer: Peer, now: Moment, refused: Refused) -> Refused {
        let at = usize::try_from(self.0.hasher.hash_one(network(peer.0)) % PLACES as u64).unwrap_or_default();
        let mut places = self.0.places.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = places.get_mut(at) else { return refused };
        let used = place.clear_at.max(now.0) - now.0;
        if used + REFILL_MILLISECONDS > u64::from(BURST) * REFILL_MILLISECONDS {
            let seconds = REFILL_MILLISECONDS.div_ceil(1_000);
            let detail = "too many wrong tokens came from this address: use the right one, or wait";
            return Refused::new(Code::RateLimited, detail).retry_after(seconds);
        }
        place.clear_at = now.0 + used + REFILL_MILLISECONDS;
        refused
    }
}

/// What counts as one client: an IPv4 address, or the 64 bits of an IPv6 address that name its network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(failures: &Failures, address: &str, now: u64) -> u16 {
        let peer = Peer(address.parse().expect("an address"));
        failures.judge(peer, Moment(now), Refused::new(Code::Unauthorized, "wrong")).document().status
    }

    #[test]
    fn an_address_may_send_some_wrong_tokens_and_then_one_at_a_time() {
        let failures = Failures::default();
        let start = 1_796_040_000_000;
        for _ in 0..BURST {
            assert_eq!(status(&failures, "192.0.2.1", start), 401);
        }
        assert_eq!(status(&failures, "192.0.2.1", start), 429);
        assert_eq!(status(&failures, "::ffff:192.0.2.1", start), 429, "the same address");
        assert_eq!(status(&failures, "192.0.2.1", start + REFILL_MILLISECONDS), 401);
        assert_eq!(status(&failures, "192.0.2.1", start + REFILL_MILLISECONDS), 429);
        assert_eq!(status(&failures, "192.0.2.1", 0), 429, "a clock that goes back lets nobody through");
        let later = start + u64::from(BURST + 2) * REFILL_MILLISECONDS;
        assert!((0..BURST).all(|_| status(&failures, "192.0.2.1", later) == 401), "all is forgotten in time");
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let failures = Failures::default();
        for last in 0..BURST {
            assert_eq!(status(&failures, &format!("2001:db8::{last:x}"), 0), 401);
        }
        assert_eq!(status(&failures, "2001:db8::ffff:1", 0), 429);
    }

    #[test]
    fn the_table_has_a_fixed_size() {
        let failures = Failures::default();
        for number in 0..20_000_u32 {
            failures.judge(Peer(IpAddr::V4(number.into())), Moment(0), Refused::new(Code::Unauthorized, "wrong"));
        }
        assert_eq!(failures.0.places.lock().expect("no panic").len(), PLACES);
    }
}
