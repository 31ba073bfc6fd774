//! What a query gets from what is known of an ALIAS target: the decision tables of alias.md sections 5 and 7.
//! Pure, and without allocation: the addresses are lent from the answer.

use super::alias::{AliasState, FamilyAnswer, Moment};
use crate::wire::codes::ExtendedError;

/// How long after its expiry an answer still counts as fresh, in seconds: the time of a refresh.
pub const GRACE_SECONDS: u32 = 5;
/// Highest TTL of a stale answer in seconds (RFC 8767 section 4).
pub const STALE_TTL: u32 = 30;
/// Highest TTL of NODATA while it may soon be known better, in seconds.
const UNSURE_CAP: u32 = 5;
/// Highest TTL of NODATA by `onFailure`, in seconds.
const FAILURE_CAP: u32 = 30;
/// Highest TTL of NODATA of a target that is dead, turned down or a loop, in seconds.
const DEAD_CAP: u32 = 60;
/// Highest TTL of NODATA of a target that says so itself, in seconds.
const NODATA_CAP: u32 = 300;

/// How the TTL served follows from that of the ALIAS and of the target (alias.md section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TtlMode {
    /// Counts down, but not below a quarter of the target's TTL or 60 s, so that caches never all come back at once.
    #[default]
    Smooth,
    /// Counts down to 1.
    Strict,
    /// The target's highest TTL of late.
    Fixed,
    /// The ALIAS's own.
    Override,
}

/// What a target that does not exist is answered with (alias.md section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnNxdomain {
    /// The name exists without addresses.
    #[default]
    NoData,
    /// SERVFAIL.
    ServFail,
    /// The last addresses to their bound, then NODATA.
    Stale,
}

/// What a target that nothing is known of, because upstreams fail, is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// SERVFAIL.
    #[default]
    ServFail,
    /// The name exists without addresses.
    NoData,
}

/// Options of an ALIAS record that decide how it is served (alias.md section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// `ttlPolicy.mode`.
    pub ttl: TtlMode,
    /// `onNxdomain`.
    pub on_nxdomain: OnNxdomain,
    /// `onFailure`.
    pub on_failure: OnFailure,
    /// `maxStaleSeconds`: how long after its expiry the last good answer may be served.
    pub max_stale_seconds: u32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            ttl: TtlMode::default(),
            on_nxdomain: OnNxdomain::default(),
            on_failure: OnFailure::default(),
            max_stale_seconds: 86_400,
        }
    }
}

/// An extended error and its text, for queries with OPT (RFC 8914).
pub type Extended = (ExtendedError, &'static str);

/// What a query for one family of an ALIAS gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served<'a> {
    /// Addresses.
    Addresses {
        /// In network order, one after another, sorted; never empty.
        octets: &'a [u8],
        /// Seconds.
        ttl: u32,
        /// Whether the answer is past its time: then EDE 3 goes with it.
        stale: bool,
    },
    /// NOERROR without addresses, with the SOA of the zone that holds the ALIAS.
    NoData {
        /// Highest TTL of that SOA in seconds: its TTL is the least of this, its own and its MINIMUM.
        soa_cap: u32,
        /// What the client may be told.
        error: Option<Extended>,
    },
    /// SERVFAIL.
    ServFail {
        /// What the client may be told.
        error: Extended,
    },
    /// Nothing is known yet: the query waits for the lookup, and after its time is [`deferral_expired`].
    Pending,
}

/// The answer of a family, `other` being that of the other family of the same target. `record_ttl` is the TTL of the
/// ALIAS in seconds, or the lowest of it and of the hosted steps from it to the target.
pub fn served<'a>(
    answer: &'a FamilyAnswer,
    other: &FamilyAnswer,
    record_ttl: u32,
    now: Moment,
    policy: &Policy,
) -> Served<'a> {
    let good = LastGood::of(answer, now, policy);
    match answer.state {
        AliasState::Pending => Served::Pending,
        AliasState::Resolved | AliasState::NoData => match good {
            Some(good) => good.served(answer, record_ttl, now, policy),
            None => Served::Pending,
        },
        AliasState::Suspect => match good {
            Some(LastGood { addresses: true, .. }) => {
                Served::Addresses { octets: &answer.addresses, ttl: record_ttl.min(STALE_TTL), stale: true }
            }
            Some(LastGood { addresses: false, .. }) => Served::NoData { soa_cap: UNSURE_CAP, error: Some(STALE) },
            None => dead(policy, UNSURE_CAP),
        },
        AliasState::TargetNxdomain => match (policy.on_nxdomain, good) {
            (OnNxdomain::Stale, Some(LastGood { addresses: true, .. })) => {
                Served::Addresses { octets: &answer.addresses, ttl: record_ttl.min(STALE_TTL), stale: true }
            }
            (OnNxdomain::NoData | OnNxdomain::ServFail | OnNxdomain::Stale, _) => dead(policy, DEAD_CAP),
        },
        AliasState::Timeout | AliasState::ServFail | AliasState::Refused => {
            failing(answer, good, other, record_ttl, now, policy, NO_ANSWER)
        }
        AliasState::Network => failing(answer, good, other, record_ttl, now, policy, UNREACHABLE),
        AliasState::NoResolver => failing(answer, good, other, record_ttl, now, policy, NO_RESOLVER),
        AliasState::Loop => Served::NoData { soa_cap: DEAD_CAP, error: Some((ExtendedError::OTHER, "Loop")) },
        AliasState::ChainTooLong => {
            Served::NoData { soa_cap: DEAD_CAP, error: Some((ExtendedError::OTHER, "ChainTooLong")) }
        }
        AliasState::Filtered => Served::NoData {
            soa_cap: DEAD_CAP,
            error: Some((ExtendedError::OTHER, "alias addresses rejected by policy")),
        },
    }
}

/// What a query gets that waited for [`Served::Pending`] and whose time is over.
pub fn deferral_expired(other: &FamilyAnswer, now: Moment, policy: &Policy) -> Served<'static> {
    if has_addresses(other, now, policy) {
        Served::NoData { soa_cap: UNSURE_CAP, error: Some(NOT_READY) }
    } else {
        Served::ServFail { error: NOT_READY }
    }
}

const STALE: Extended = (ExtendedError::STALE_ANSWER, "");
const NO_ANSWER: Extended = (ExtendedError::NO_REACHABLE_AUTHORITY, "alias target could not be resolved");
const UNREACHABLE: Extended = (ExtendedError::NETWORK_ERROR, "alias target could not be resolved");
const NO_RESOLVER: Extended = (ExtendedError::INVALID_DATA, "no resolver for alias targets");
/// For a query that waited for a target in vain.
pub const NOT_READY: Extended = (ExtendedError::NOT_READY, "alias target is not resolved yet");
const NO_TARGET: Extended = (ExtendedError::OTHER, "alias target does not exist");

/// The last NOERROR answer, if it may still be served.
#[derive(Clone, Copy)]
struct LastGood {
    addresses: bool,
    stale: bool,
}

impl LastGood {
    fn of(answer: &FamilyAnswer, now: Moment, policy: &Policy) -> Option<LastGood> {
        answer.last_ok?;
        // What the grace admits is served even when nothing may be stale.
        let last = answer.expires.plus_seconds(policy.max_stale_seconds.max(GRACE_SECONDS));
        let stale = now >= answer.expires.plus_seconds(GRACE_SECONDS);
        (now < last).then_some(LastGood { addresses: !answer.addresses.is_empty(), stale })
    }

    fn served<'a>(self, answer: &'a FamilyAnswer, record_ttl: u32, now: Moment, policy: &Policy) -> Served<'a> {
        match (self.addresses, self.stale) {
            (true, stale) => {
                Served::Addresses { octets: &answer.addresses, ttl: ttl(answer, record_ttl, now, policy.ttl), stale }
            }
            (false, false) => Served::NoData { soa_cap: NODATA_CAP, error: None },
            (false, true) => Served::NoData { soa_cap: STALE_TTL, error: Some(STALE) },
        }
    }
}

/// The TTL served with addresses (alias.md section 5), whole seconds rounded down.
fn ttl(answer: &FamilyAnswer, record_ttl: u32, now: Moment, mode: TtlMode) -> u32 {
    if now >= answer.expires.plus_seconds(GRACE_SECONDS) {
        return record_ttl.min(STALE_TTL);
    }
    // Never more than was ever held, should the clock have been set back.
    let left = u32::try_from(answer.expires.seconds_since(now)).unwrap_or(u32::MAX).min(answer.longest_hold);
    let wanted = match mode {
        TtlMode::Smooth => left.max((answer.longest_hold / 4).min(60)),
        TtlMode::Strict => left,
        TtlMode::Fixed => answer.longest_hold,
        TtlMode::Override => record_ttl,
    };
    record_ttl.min(wanted.max(1))
}

/// The answer of a target that does not exist.
fn dead(policy: &Policy, soa_cap: u32) -> Served<'static> {
    match policy.on_nxdomain {
        OnNxdomain::NoData | OnNxdomain::Stale => Served::NoData { soa_cap, error: Some(NO_TARGET) },
        OnNxdomain::ServFail => Served::ServFail { error: NO_TARGET },
    }
}

/// The answer while upstreams fail.
fn failing<'a>(
    answer: &'a FamilyAnswer,
    good: Option<LastGood>,
    other: &FamilyAnswer,
    record_ttl: u32,
    now: Moment,
    policy: &Policy,
    error: Extended,
) -> Served<'a> {
    if let Some(good) = good {
        return good.served(answer, record_ttl, now, policy);
    }
    // SERVFAIL for one family makes some clients give up the other, which works.
    if has_addresses(other, now, policy) {
        return Served::NoData { soa_cap: UNSURE_CAP, error: Some(error) };
    }
    match policy.on_failure {
        OnFailure::ServFail => Served::ServFail { error },
        OnFailure::NoData => Served::NoData { soa_cap: FAILURE_CAP, error: Some(error) },
    }
}

/// Whether a family is answered with addresses.
fn has_addresses(answer: &FamilyAnswer, now: Moment, policy: &Policy) -> bool {
    let good = LastGood::of(answer, now, policy).is_some_and(|good| good.addresses);
    match answer.state {
        AliasState::Resolved
        | AliasState::Suspect
        | AliasState::Timeout
        | AliasState::ServFail
        | AliasState::Refused
        | AliasState::Network
        | AliasState::NoResolver => good,
        AliasState::TargetNxdomain => good && policy.on_nxdomain == OnNxdomain::Stale,
        AliasState::Pending
        | AliasState::NoData
        | AliasState::Loop
        | AliasState::ChainTooLong
        | AliasState::Filtered => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const T0: Moment = Moment(1_000_000_000);
    const ADDRESS: [u8; 4] = [192, 0, 2, 10];

    /// Last fetched at T0 with addresses or without, held for so many seconds.
    fn known(state: AliasState, hold: u32, addresses: &[u8]) -> FamilyAnswer {
        FamilyAnswer {
            state,
            since: T0,
            addresses: Arc::from(addresses),
            last_ok: Some(T0),
            expires: T0.plus_seconds(hold),
            longest_hold: hold,
            checked: Some(T0),
        }
    }

    /// In this state without ever having had an answer.
    fn never(state: AliasState) -> FamilyAnswer {
        FamilyAnswer { state, ..FamilyAnswer::pending(T0) }
    }

    fn at(seconds: u32) -> Moment {
        T0.plus_seconds(seconds)
    }

    fn addresses(ttl: u32, stale: bool) -> Served<'static> {
        Served::Addresses { octets: &ADDRESS, ttl, stale }
    }

    fn nodata(soa_cap: u32, error: Option<u16>) -> (u32, Option<u16>) {
        (soa_cap, error)
    }

    fn of_nodata(served: Served<'_>) -> (u32, Option<u16>) {
        match served {
            Served::NoData { soa_cap, error } => (soa_cap, error.map(|(code, _)| code.0)),
            other => panic!("not NODATA: {other:?}"),
        }
    }

    #[test]
    fn every_row_of_the_ttl_table() {
        use TtlMode::{Fixed, Override, Smooth, Strict};
        // ALIAS TTL, hold (R clamped to 5..3600), mode, seconds since the fetch, TTL served.
        for (alias, hold, mode, seconds, wanted) in [
            (300, 60, Smooth, 0, 60),
            (300, 60, Smooth, 50, 15),
            (300, 60, Strict, 50, 10),
            (300, 60, Fixed, 50, 60),
            (300, 60, Override, 50, 300),
            (5, 300, Smooth, 0, 5),
            (300, 5, Smooth, 0, 5),
            (300, 5, Smooth, 4, 1),
            (300, 5, Strict, 0, 5),
            (300, 5, Strict, 6, 1),
            (7200, 3600, Smooth, 0, 3600),
            (7200, 3600, Smooth, 3599, 60),
            (600, 30, Smooth, 0, 30),
            (300, 60, Smooth, 62, 15),
            (0, 60, Smooth, 0, 0),
        ] {
            let policy = Policy { ttl: mode, ..Policy::default() };
            let answer = known(AliasState::Resolved, hold, &ADDRESS);
            let other = never(AliasState::Pending);
            let found = served(&answer, &other, alias, at(seconds), &policy);
            assert_eq!(found, addresses(wanted, false), "{alias} {hold} {mode:?} {seconds}");
        }
        for (alias, wanted) in [(300, 30), (20, 20)] {
            for mode in [Smooth, Strict, Fixed, Override] {
                let policy = Policy { ttl: mode, ..Policy::default() };
                let answer = known(AliasState::Timeout, 60, &ADDRESS);
                let found = served(&answer, &never(AliasState::Pending), alias, at(600), &policy);
                assert_eq!(found, addresses(wanted, true), "{alias} {mode:?}");
            }
        }
    }

    #[test]
    fn every_row_of_the_state_table_with_something_last_good() {
        let policy = Policy::default();
        let other = never(AliasState::Pending);
        let day = 86_400;
        for (state, seconds, wanted) in [
            (AliasState::Resolved, 10, addresses(50, false)),
            (AliasState::Resolved, 64, addresses(15, false)),
            (AliasState::Resolved, 65, addresses(30, true)),
            (AliasState::Resolved, 60 + day, Served::Pending),
            (AliasState::Suspect, 10, addresses(30, true)),
            (AliasState::Timeout, 62, addresses(15, false)),
            (AliasState::Timeout, 60 + day - 1, addresses(30, true)),
            (AliasState::ServFail, 66, addresses(30, true)),
            (AliasState::Refused, 66, addresses(30, true)),
            (AliasState::Network, 66, addresses(30, true)),
            (AliasState::NoResolver, 66, addresses(30, true)),
        ] {
            let answer = known(state, 60, &ADDRESS);
            assert_eq!(served(&answer, &other, 300, at(seconds), &policy), wanted, "{state:?} {seconds}");
        }
        for (state, seconds, wanted) in [
            (AliasState::NoData, 10, nodata(300, None)),
            (AliasState::NoData, 65, nodata(30, Some(3))),
            (AliasState::Suspect, 10, nodata(5, Some(3))),
            (AliasState::Timeout, 62, nodata(300, None)),
            (AliasState::Timeout, 65, nodata(30, Some(3))),
        ] {
            let answer = known(state, 60, &[]);
            assert_eq!(of_nodata(served(&answer, &other, 300, at(seconds), &policy)), wanted, "{state:?} {seconds}");
        }
        for (state, text) in [
            (AliasState::TargetNxdomain, "alias target does not exist"),
            (AliasState::Loop, "Loop"),
            (AliasState::ChainTooLong, "ChainTooLong"),
            (AliasState::Filtered, "alias addresses rejected by policy"),
        ] {
            let answer = known(state, 60, &ADDRESS);
            let wanted = Served::NoData { soa_cap: 60, error: Some((ExtendedError::OTHER, text)) };
            assert_eq!(served(&answer, &other, 300, at(10), &policy), wanted, "{state:?}");
        }
    }

    #[test]
    fn every_row_of_the_state_table_with_nothing_last_good() {
        let policy = Policy::default();
        let failing = [
            (AliasState::Timeout, 22),
            (AliasState::ServFail, 22),
            (AliasState::Refused, 22),
            (AliasState::Network, 23),
            (AliasState::NoResolver, 24),
        ];
        for (state, code) in failing {
            let past = known(state, 60, &ADDRESS);
            for answer in [never(state), past] {
                let when = at(60 + 86_400);
                for other in [never(AliasState::Pending), never(state), known(AliasState::NoData, 90_000, &[])] {
                    match served(&answer, &other, 300, when, &policy) {
                        Served::ServFail { error } => assert_eq!(error.0.0, code, "{state:?}"),
                        found => panic!("{state:?}: {found:?}"),
                    }
                    let lenient = Policy { on_failure: OnFailure::NoData, ..policy };
                    let found = of_nodata(served(&answer, &other, 300, when, &lenient));
                    assert_eq!(found, nodata(30, Some(code)), "{state:?}");
                }
                // The other family is healthy: a musl-like client that asks both must not see a failure.
                let healthy = known(AliasState::Resolved, 90_000, &ADDRESS);
                let found = of_nodata(served(&answer, &healthy, 300, when, &policy));
                assert_eq!(found, nodata(5, Some(code)), "{state:?}");
            }
        }
        let suspect = never(AliasState::Suspect);
        let unsure = served(&suspect, &suspect, 300, at(1), &policy);
        assert_eq!(unsure, Served::NoData { soa_cap: 5, error: Some(NO_TARGET) });
        let pending = never(AliasState::Pending);
        assert_eq!(served(&pending, &known(AliasState::Resolved, 60, &ADDRESS), 300, at(1), &policy), Served::Pending);
    }

    #[test]
    fn a_dead_target_is_answered_by_policy() {
        let answer = known(AliasState::TargetNxdomain, 60, &ADDRESS);
        let other = never(AliasState::TargetNxdomain);
        let with = |on_nxdomain| Policy { on_nxdomain, ..Policy::default() };
        let nodata = Served::NoData { soa_cap: 60, error: Some(NO_TARGET) };
        assert_eq!(served(&answer, &other, 300, at(9), &with(OnNxdomain::NoData)), nodata);
        assert_eq!(
            served(&answer, &other, 300, at(9), &with(OnNxdomain::ServFail)),
            Served::ServFail { error: NO_TARGET }
        );
        assert_eq!(served(&answer, &other, 300, at(9), &with(OnNxdomain::Stale)), addresses(30, true));
        assert_eq!(served(&answer, &other, 300, at(60 + 86_400), &with(OnNxdomain::Stale)), nodata);
    }

    #[test]
    fn nothing_stale_is_served_where_that_is_turned_off() {
        let policy = Policy { max_stale_seconds: 0, ..Policy::default() };
        let answer = known(AliasState::Timeout, 60, &ADDRESS);
        let other = never(AliasState::Timeout);
        assert_eq!(served(&answer, &other, 300, at(64), &policy), addresses(15, false));
        assert!(matches!(served(&answer, &other, 300, at(65), &policy), Served::ServFail { .. }));
    }

    #[test]
    fn a_query_that_waited_in_vain_gets_an_answer_that_spares_the_other_family() {
        let policy = Policy::default();
        let healthy = known(AliasState::Resolved, 60, &ADDRESS);
        assert_eq!(of_nodata(deferral_expired(&healthy, at(1), &policy)), nodata(5, Some(14)));
        let pending = never(AliasState::Pending);
        assert!(matches!(deferral_expired(&pending, at(1), &policy), Served::ServFail { error } if error.0.0 == 14));
    }

    #[test]
    fn with_a_target_of_sixty_seconds_no_ttl_below_fifteen_is_served_for_an_hour() {
        let policy = Policy::default();
        let other = never(AliasState::NoData);
        let mut answer = known(AliasState::Resolved, 60, &ADDRESS);
        for second in 0..3_600 {
            let now = at(second);
            // Refreshed two seconds late each time.
            if now >= answer.expires.plus_seconds(2) {
                answer.expires = now.plus_seconds(60);
            }
            match served(&answer, &other, 300, now, &policy) {
                Served::Addresses { ttl, stale: false, .. } => assert!((15..=60).contains(&ttl), "{second}: {ttl}"),
                found => panic!("{second}: {found:?}"),
            }
        }
    }
}
