//! Response rate limiting (answers.md W1-W5): so many like replies a second to one network, and no more.
//!
//! A fixed table of counters without locks: an entry is one atomic word, so that a race loses a count and nothing else.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wire::codes::Rcode;
use crate::wire::name::HashKey;
use crate::zone::alias::Moment;

/// Rows of the table, a power of two (reliability.md section 4), and how many an account may stand in.
const ROWS: usize = 65_536;
const PLACES: usize = 4;
/// Networks that count as one client, in bits of prefix.
const PREFIX_V4: u32 = 24;
const PREFIX_V6: u32 = 56;
const COUNT_BITS: u32 = 20;
const SECOND_BITS: u32 = 12;

/// A network whose clients are not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// A network of so many leading bits; none if there are not so many.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Network> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= bits).then_some(Network { address, prefix })
    }

    fn has(self, client: IpAddr) -> bool {
        match (self.address, client) {
            (IpAddr::V4(own), IpAddr::V4(its)) => {
                (u32::from(own) ^ u32::from(its)).checked_shr(32 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(its)) => {
                (u128::from(own) ^ u128::from(its)).checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Network {
    type Err = String;

    /// Reads an address, or an address, a slash and a number of bits. The error is a sentence.
    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("`{}` is no network; expected one like 192.0.2.0/24", text.escape_debug());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(whole), |prefix| prefix.parse().map_err(|_| wrong()))?;
        Network::new(address, prefix).ok_or_else(wrong)
    }
}

/// What becomes of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It is sent.
    Send,
    /// It is sent empty, with TC: a client that is real comes back over TCP.
    Truncate,
    /// It is not sent.
    Drop,
}

/// The table, shared by all threads.
#[derive(Debug)]
pub struct RateLimiter {
    rate: u32,
    exempt: Vec<Network>,
    key: HashKey,
    rows: Box<[AtomicU64]>,
}

impl RateLimiter {
    /// At most `rate` like replies a second for a network, at least 1.
    pub fn new(rate: u32, exempt: Vec<Network>, key: HashKey) -> RateLimiter {
        let rows = std::iter::repeat_with(|| AtomicU64::new(0)).take(ROWS).collect();
        RateLimiter { rate: rate.clamp(1, (1 << COUNT_BITS) - 2), exempt, key, rows }
    }

    /// Counts a reply and judges it. `data` is a hash of the zone and, of a positive reply, of the owner of its data.
    pub(super) fn judge(&self, data: u64, rcode: Rcode, client: IpAddr, now: Moment) -> Judgement {
        if self.exempt.iter().any(|network| network.has(client)) {
            return Judgement::Send;
        }
        let count = self.count(self.account(data, rcode, client), now);
        match count.checked_sub(self.rate + 1) {
            None => Judgement::Send,
            Some(over) if over % 2 == 0 => Judgement::Drop,
            Some(_) => Judgement::Truncate,
        }
    }

    fn account(&self, data: u64, rcode: Rcode, client: IpAddr) -> u64 {
        let network = match client.to_canonical() {
            IpAddr::V4(v4) => u64::from(u32::from(v4) >> (32 - PREFIX_V4)),
            IpAddr::V6(v6) => 1 << 63 | (u128::from(v6) >> (128 - PREFIX_V6)) as u64,
        };
        let first = self.key.extend(data, &network.to_le_bytes());
        self.key.extend(first, &rcode.0.to_le_bytes())
    }

    /// How many like replies there were in this second, this one included.
    fn count(&self, account: u64, now: Moment) -> u32 {
        let second = (now.0 / 1000) & ((1 << SECOND_BITS) - 1);
        let tag = account >> (COUNT_BITS + SECOND_BITS);
        let own = tag << (COUNT_BITS + SECOND_BITS) | second << COUNT_BITS;
        let first = account as usize % ROWS / PLACES * PLACES;
        let places = &self.rows[first..first + PLACES];
        let counted = |row: u64| row & ((1 << COUNT_BITS) - 1);
        let mut least = (u64::MAX, 0);
        for (at, place) in places.iter().enumerate() {
            let row = place.load(Ordering::Relaxed);
            if row >> COUNT_BITS == own >> COUNT_BITS {
                let most = (1 << COUNT_BITS) - 1;
                let count = (counted(row) + 1).min(most - (counted(row) & 1));
                place.store(own | count, Ordering::Relaxed);
                return count as u32;
            }
            // Rows of another second are free.
            let worth = if row >> COUNT_BITS & ((1 << SECOND_BITS) - 1) == second { counted(row) } else { 0 };
            least = least.min((worth, at));
        }
        // The account that has counted least makes room: a busy one is never forgotten for many quiet ones.
        places[least.1].store(own | 1, Ordering::Relaxed);
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(rate: u32) -> RateLimiter {
        let exempt = "198.51.100.0/24".parse().expect("a network");
        RateLimiter::new(rate, vec![exempt], HashKey::new(5, 7))
    }

    #[test]
    fn networks_are_read_and_hold_their_addresses() {
        for (text, inside, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("0.0.0.0/0", "203.0.113.1", "::1"),
        ] {
            let network: Network = text.parse().expect("a network");
            assert!(network.has(client(inside)) && !network.has(client(outside)), "{text}");
        }
        for text in ["192.0.2.0/33", "192.0.2", "::/129", "/8", "192.0.2.0/x"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    fn client(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn over_the_rate_every_second_reply_is_dropped_and_the_other_truncated() {
        let limiter = limiter(3);
        let judge = |at| limiter.judge(9, Rcode::NOERROR, client("192.0.2.1"), Moment(at));
        let got: Vec<Judgement> = (0..7).map(|at| judge(1000 + at)).collect();
        use Judgement::{Drop, Send, Truncate};
        assert_eq!(got, [Send, Send, Send, Drop, Truncate, Drop, Truncate]);
        assert_eq!(judge(2000), Send, "another second");
    }

    #[test]
    fn networks_codes_and_data_have_accounts_of_their_own() {
        let limiter = limiter(1);
        let judge = |data, rcode, text| limiter.judge(data, rcode, client(text), Moment(0));
        assert_eq!(judge(1, Rcode::NOERROR, "192.0.2.1"), Judgement::Send);
        assert_eq!(judge(1, Rcode::NOERROR, "192.0.2.200"), Judgement::Drop, "the same /24");
        assert_eq!(judge(1, Rcode::NOERROR, "203.0.113.1"), Judgement::Send);
        assert_eq!(judge(1, Rcode::NXDOMAIN, "192.0.2.1"), Judgement::Send);
        assert_eq!(judge(2, Rcode::NOERROR, "192.0.2.1"), Judgement::Send);
        assert_eq!(judge(1, Rcode::NOERROR, "2001:db8::1"), Judgement::Send);
        assert_eq!(judge(1, Rcode::NOERROR, "2001:db8:0:ff::1"), Judgement::Drop, "the same /56");
        for _ in 0..10 {
            assert_eq!(judge(1, Rcode::NOERROR, "198.51.100.7"), Judgement::Send, "exempt");
        }
    }

    #[test]
    fn a_busy_account_is_not_forgotten_among_many_quiet_ones() {
        let limiter = limiter(100);
        let busy = |at| limiter.judge(1, Rcode::NOERROR, client("192.0.2.1"), Moment(at));
        let mut limited = 0;
        for turn in 0..100_000_u64 {
            limited += u64::from(busy(0) != Judgement::Send);
            limiter.judge(turn + 10, Rcode::NOERROR, client("203.0.113.9"), Moment(0));
        }
        assert!(limited > 99_000, "{limited}");
    }
}
