//! What a query gets from what is known of an ALIAS target: the decision tables of alias.md sections 5 and 7.
//! Pure, and without allocation: the addresses are lent from the answer.

use super::addresses::Chosen;
use super::alias::{AliasState, Family, FamilyAnswer, Moment};
use super::policy::{OnFailure, OnNxdomain, Policy, TtlMode};
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

/// An extended error and its text, for queries with OPT (RFC 8914).
pub type Extended = (ExtendedError, &'static str);

/// What a query for one family of an ALIAS gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served<'a> {
    /// Addresses.
    Addresses {
        /// The addresses, at least one.
        addresses: Chosen<'a>,
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
    /// The static RRset beside the ALIAS, else as NODATA.
    Fallback {
        /// Highest TTL of that RRset, or of the SOA, in seconds.
        cap: u32,
        /// What the client may be told.
        error: Extended,
    },
    /// SERVFAIL.
    ServFail {
        /// What the client may be told.
        error: Extended,
    },
    /// Nothing is known yet: the query waits for the lookup, and after its time is [`deferral_expired`].
    Pending,
}

/// What a query for a family of a name with an ALIAS gets, in a word; from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Serving {
    /// Addresses of the target.
    Fresh,
    /// Addresses of the target, past their time.
    Stale,
    /// A static RRset beside the ALIAS.
    Static,
    /// A static RRset beside the ALIAS, since a policy says so.
    Fallback,
    /// No addresses.
    NoData,
    /// Nothing is known yet.
    Pending,
    /// SERVFAIL.
    ServFail,
}

impl Serving {
    /// All of them, in order.
    pub const ALL: [Serving; 7] = [
        Serving::Fresh,
        Serving::Stale,
        Serving::Static,
        Serving::Fallback,
        Serving::NoData,
        Serving::Pending,
        Serving::ServFail,
    ];

    /// The word in API and metrics.
    pub fn text(self) -> &'static str {
        match self {
            Serving::Fresh => "fresh",
            Serving::Stale => "stale",
            Serving::Static => "static",
            Serving::Fallback => "fallback",
            Serving::NoData => "nodata",
            Serving::Pending => "pending",
            Serving::ServFail => "servfail",
        }
    }
}

/// A family of a target with what is known of the other.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The family.
    pub family: Family,
    /// What is known of it.
    pub own: &'a FamilyAnswer,
    /// What is known of the other family.
    pub other: &'a FamilyAnswer,
}

/// The answer of a family. `record_ttl` is the TTL of the ALIAS in seconds, or the lowest of it and of the hosted steps
/// from it to the target.
#[inline]
pub fn served<'a>(known: Known<'a>, record_ttl: u32, now: Moment, policy: &Policy) -> Served<'a> {
    let answer = known.own;
    let good = LastGood::of(answer, known.family, now, policy);
    let stale = |addresses| Served::Addresses { addresses, ttl: record_ttl.min(STALE_TTL), stale: true };
    match answer.state_for(policy.internal) {
        AliasState::Pending => Served::Pending,
        AliasState::Resolved | AliasState::NoData => match good {
            Some(good) => good.served(answer, record_ttl, now, policy),
            None => Served::Pending,
        },
        AliasState::Suspect => match good.map(|good| good.data) {
            Some(Data::Addresses(addresses)) => stale(addresses),
            Some(Data::None) => Served::NoData { soa_cap: UNSURE_CAP, error: Some(STALE) },
            Some(Data::OnlyInternal) => FILTERED,
            None => dead(policy, UNSURE_CAP),
        },
        AliasState::TargetNxdomain => match (policy.on_nxdomain, good) {
            (OnNxdomain::Stale, Some(LastGood { data: Data::Addresses(addresses), .. })) => stale(addresses),
            (
                OnNxdomain::NoData
                | OnNxdomain::ServFail
                | OnNxdomain::Stale
                | OnNxdomain::Fallback
                | OnNxdomain::Quarantine,
                _,
            ) => dead(policy, DEAD_CAP),
        },
        AliasState::Timeout | AliasState::ServFail | AliasState::Refused => {
            failing(known, good, record_ttl, now, policy, NO_ANSWER)
        }
        AliasState::Network => failing(known, good, record_ttl, now, policy, UNREACHABLE),
        AliasState::NoResolver => failing(known, good, record_ttl, now, policy, NO_RESOLVER),
        AliasState::RateLimited => failing(known, good, record_ttl, now, policy, LIMITED),
        AliasState::Loop => LOOP,
        AliasState::ChainTooLong => CHAIN_TOO_LONG,
        AliasState::Filtered => FILTERED,
    }
}

/// What a query gets that waited for [`Served::Pending`] and whose time is over; `other` is what is known of the other
/// family.
pub fn deferral_expired(known: Known<'_>, now: Moment, policy: &Policy) -> Served<'static> {
    if has_addresses(known, now, policy) {
        Served::NoData { soa_cap: UNSURE_CAP, error: Some(NOT_READY) }
    } else {
        Served::ServFail { error: NOT_READY }
    }
}

/// With an answer past its time.
pub const STALE: Extended = (ExtendedError::STALE_ANSWER, "");
const NO_ANSWER: Extended = (ExtendedError::NO_REACHABLE_AUTHORITY, "alias target could not be resolved");
const UNREACHABLE: Extended = (ExtendedError::NETWORK_ERROR, "alias target could not be resolved");
const NO_RESOLVER: Extended = (ExtendedError::INVALID_DATA, "no resolver for alias targets");
/// For a query that waited for a target in vain.
pub const NOT_READY: Extended = (ExtendedError::NOT_READY, "alias target is not resolved yet");
const LIMITED: Extended = (ExtendedError::NOT_READY, "alias lookups of the owner are limited");
const NO_TARGET: Extended = (ExtendedError::OTHER, "alias target does not exist");
/// The answer of a chain that comes back to a name it had.
pub const LOOP: Served<'static> = Served::NoData { soa_cap: DEAD_CAP, error: Some((ExtendedError::OTHER, "Loop")) };
/// The answer of a chain with too many steps.
pub const CHAIN_TOO_LONG: Served<'static> =
    Served::NoData { soa_cap: DEAD_CAP, error: Some((ExtendedError::OTHER, "ChainTooLong")) };
const FILTERED: Served<'static> =
    Served::NoData { soa_cap: DEAD_CAP, error: Some((ExtendedError::OTHER, "alias addresses rejected by policy")) };

/// The last NOERROR answer, if it may still be served.
#[derive(Clone, Copy)]
struct LastGood<'a> {
    data: Data<'a>,
    stale: bool,
}

/// What the last NOERROR answer has for a record.
#[derive(Clone, Copy)]
enum Data<'a> {
    Addresses(Chosen<'a>),
    OnlyInternal,
    None,
}

impl<'a> LastGood<'a> {
    #[inline]
    fn of(answer: &'a FamilyAnswer, family: Family, now: Moment, policy: &Policy) -> Option<LastGood<'a>> {
        answer.last_ok?;
        let expires = answer.expires(policy.hold);
        // What the grace admits is served even when nothing may be stale.
        let last = expires.plus_seconds(policy.max_stale_seconds.max(GRACE_SECONDS));
        if now >= last {
            return None;
        }
        let chosen = answer.addresses.of(family, policy);
        let data = match (chosen.is_empty(), answer.addresses.is_empty()) {
            (false, _) => Data::Addresses(chosen),
            (true, false) => Data::OnlyInternal,
            (true, true) => Data::None,
        };
        Some(LastGood { data, stale: now >= expires.plus_seconds(GRACE_SECONDS) })
    }

    #[inline]
    fn served(self, answer: &FamilyAnswer, record_ttl: u32, now: Moment, policy: &Policy) -> Served<'a> {
        match (self.data, self.stale) {
            (Data::Addresses(addresses), stale) => {
                Served::Addresses { addresses, ttl: ttl(answer, record_ttl, now, policy), stale }
            }
            (Data::OnlyInternal, _) => FILTERED,
            (Data::None, false) => Served::NoData { soa_cap: NODATA_CAP, error: None },
            (Data::None, true) => Served::NoData { soa_cap: STALE_TTL, error: Some(STALE) },
        }
    }
}

/// The TTL served with addresses (alias.md section 5), whole seconds rounded down.
#[inline]
fn ttl(answer: &FamilyAnswer, record_ttl: u32, now: Moment, policy: &Policy) -> u32 {
    let expires = answer.expires(policy.hold);
    if now >= expires.plus_seconds(GRACE_SECONDS) {
        return record_ttl.min(STALE_TTL);
    }
    let longest = answer.longest_hold(policy.hold);
    // Never more than was ever held, should the clock have been set back.
    let left = u32::try_from(expires.seconds_since(now)).unwrap_or(u32::MAX).min(longest);
    let wanted = match policy.ttl {
        TtlMode::Smooth => left.max((longest / 4).min(60)),
        TtlMode::Strict => left,
        TtlMode::Fixed => longest,
        TtlMode::Override => record_ttl,
    };
    record_ttl.min(wanted.max(1))
}

/// The answer of a target that does not exist.
fn dead(policy: &Policy, cap: u32) -> Served<'static> {
    match policy.on_nxdomain {
        OnNxdomain::NoData | OnNxdomain::Stale | OnNxdomain::Quarantine => {
            Served::NoData { soa_cap: cap, error: Some(NO_TARGET) }
        }
        OnNxdomain::Fallback => Served::Fallback { cap, error: NO_TARGET },
        OnNxdomain::ServFail => Served::ServFail { error: NO_TARGET },
    }
}

/// The answer of a target that hosted zones say does not exist.
pub fn absent(policy: &Policy) -> Served<'static> {
    dead(policy, DEAD_CAP)
}

/// The answer while upstreams fail.
fn failing<'a>(
    known: Known<'a>,
    good: Option<LastGood<'a>>,
    record_ttl: u32,
    now: Moment,
    policy: &Policy,
    error: Extended,
) -> Served<'a> {
    if let Some(good) = good {
        return good.served(known.own, record_ttl, now, policy);
    }
    // SERVFAIL for one family makes some clients give up the other, which works, or may: that is known in a moment.
    if known.other.state == AliasState::Pending {
        return Served::Pending;
    }
    if has_addresses(known, now, policy) {
        return Served::NoData { soa_cap: UNSURE_CAP, error: Some(error) };
    }
    match policy.on_failure {
        OnFailure::ServFail => Served::ServFail { error },
        OnFailure::NoData => Served::NoData { soa_cap: FAILURE_CAP, error: Some(error) },
        OnFailure::Fallback => Served::Fallback { cap: FAILURE_CAP, error },
    }
}

/// Whether the other family is answered with addresses.
fn has_addresses(known: Known<'_>, now: Moment, policy: &Policy) -> bool {
    let answer = known.other;
    let good = || {
        let good = LastGood::of(answer, known.family.other(), now, policy);
        good.is_some_and(|good| matches!(good.data, Data::Addresses(_)))
    };
    match answer.state_for(policy.internal) {
        AliasState::Resolved
        | AliasState::Suspect
        | AliasState::Timeout
        | AliasState::ServFail
        | AliasState::Refused
        | AliasState::Network
        | AliasState::NoResolver
        | AliasState::RateLimited => good(),
        AliasState::TargetNxdomain => policy.on_nxdomain == OnNxdomain::Stale && good(),
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
    use crate::zone::addresses::Addresses;
    use crate::zone::policy::{Hold, Internal};

    const T0: Moment = Moment(1_000_000_000);
    const ADDRESS: [u8; 4] = [192, 0, 2, 10];

    /// Last fetched at T0 with addresses or without, held for so many seconds.
    fn known(state: AliasState, hold: u32, addresses: &[u8]) -> FamilyAnswer {
        FamilyAnswer {
            state,
            addresses: Addresses::new(addresses, Family::A),
            last_ok: Some(T0),
            ttl: hold,
            highest_ttl: hold,
            checked: Some(T0),
            ..FamilyAnswer::pending(T0)
        }
    }

    /// What is served of A, in the words of the tables.
    fn served(own: &FamilyAnswer, other: &FamilyAnswer, ttl: u32, now: Moment, policy: &Policy) -> Said {
        Said::of(super::served(Known { family: Family::A, own, other }, ttl, now, policy))
    }

    /// As [`Served`], with the addresses themselves.
    #[derive(Debug, PartialEq)]
    enum Said {
        Addresses(Vec<u8>, u32, bool),
        NoData { soa_cap: u32, error: Option<Extended> },
        Fallback { cap: u32, error: Extended },
        ServFail { error: Extended },
        Pending,
    }

    impl Said {
        fn of(served: Served<'_>) -> Said {
            match served {
                Served::Addresses { addresses, ttl, stale } => {
                    Said::Addresses(addresses.iter(Family::A).flatten().copied().collect(), ttl, stale)
                }
                Served::NoData { soa_cap, error } => Said::NoData { soa_cap, error },
                Served::Fallback { cap, error } => Said::Fallback { cap, error },
                Served::ServFail { error } => Said::ServFail { error },
                Served::Pending => Said::Pending,
            }
        }
    }

    /// In this state without ever having had an answer.
    fn never(state: AliasState) -> FamilyAnswer {
        FamilyAnswer { state, ..FamilyAnswer::pending(T0) }
    }

    fn at(seconds: u32) -> Moment {
        T0.plus_seconds(seconds)
    }

    fn addresses(ttl: u32, stale: bool) -> Said {
        Said::Addresses(ADDRESS.to_vec(), ttl, stale)
    }

    fn nodata(soa_cap: u32, error: Option<u16>) -> (u32, Option<u16>) {
        (soa_cap, error)
    }

    fn of_nodata(said: Said) -> (u32, Option<u16>) {
        match said {
            Said::NoData { soa_cap, error } => (soa_cap, error.map(|(code, _)| code.0)),
            other => panic!("not NODATA: {other:?}"),
        }
    }

    #[test]
    fn every_row_of_the_ttl_table() {
        use TtlMode::{Fixed, Override, Smooth, Strict};
        // ALIAS TTL, TTL of the target, mode, seconds since the fetch, TTL served.
        for (alias, hold, mode, seconds, wanted) in [
            (300, 60, Smooth, 0, 60),
            (300, 60, Smooth, 50, 15),
            (300, 60, Strict, 50, 10),
            (300, 60, Fixed, 50, 60),
            (300, 60, Override, 50, 300),
            (5, 300, Smooth, 0, 5),
            (300, 1, Smooth, 0, 5),
            (300, 1, Smooth, 4, 1),
            (300, 0, Strict, 0, 5),
            (300, 0, Strict, 6, 1),
            (7200, 604_800, Smooth, 0, 3600),
            (7200, 604_800, Smooth, 3599, 60),
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
            (AliasState::Resolved, 60 + day, Said::Pending),
            (AliasState::Suspect, 10, addresses(30, true)),
            (AliasState::Timeout, 62, addresses(15, false)),
            (AliasState::Timeout, 60 + day - 1, addresses(30, true)),
            (AliasState::ServFail, 66, addresses(30, true)),
            (AliasState::Refused, 66, addresses(30, true)),
            (AliasState::Network, 66, addresses(30, true)),
            (AliasState::NoResolver, 66, addresses(30, true)),
            (AliasState::RateLimited, 66, addresses(30, true)),
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
            let wanted = Said::NoData { soa_cap: 60, error: Some((ExtendedError::OTHER, text)) };
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
            (AliasState::RateLimited, 14),
        ];
        for (state, code) in failing {
            let past = known(state, 60, &ADDRESS);
            for answer in [never(state), past] {
                let when = at(60 + 86_400);
                let unsure = served(&answer, &never(AliasState::Pending), 300, when, &policy);
                assert_eq!(unsure, Said::Pending, "{state:?}: the other family may have addresses");
                for other in [never(state), known(AliasState::NoData, 90_000, &[])] {
                    match served(&answer, &other, 300, when, &policy) {
                        Said::ServFail { error } => assert_eq!(error.0.0, code, "{state:?}"),
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
        assert_eq!(unsure, Said::NoData { soa_cap: 5, error: Some(NO_TARGET) });
        let pending = never(AliasState::Pending);
        assert_eq!(served(&pending, &known(AliasState::Resolved, 60, &ADDRESS), 300, at(1), &policy), Said::Pending);
    }

    #[test]
    fn a_dead_target_is_answered_by_policy() {
        let answer = known(AliasState::TargetNxdomain, 60, &ADDRESS);
        let other = never(AliasState::TargetNxdomain);
        let with = |on_nxdomain| Policy { on_nxdomain, ..Policy::default() };
        let nodata = Said::NoData { soa_cap: 60, error: Some(NO_TARGET) };
        assert_eq!(served(&answer, &other, 300, at(9), &with(OnNxdomain::NoData)), nodata);
        assert_eq!(
            served(&answer, &other, 300, at(9), &with(OnNxdomain::ServFail)),
            Said::ServFail { error: NO_TARGET }
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
        assert!(matches!(served(&answer, &other, 300, at(65), &policy), Said::ServFail { .. }));
    }

    fn expired(other: &FamilyAnswer, policy: &Policy) -> Said {
        let own = never(AliasState::Pending);
        Said::of(deferral_expired(Known { family: Family::A, own: &own, other }, at(1), policy))
    }

    #[test]
    fn options_of_a_record_decide_what_it_has_of_a_target() {
        let other = never(AliasState::NoData);
        let with = |policy: Policy, answer: &FamilyAnswer, seconds| served(answer, &other, 300, at(seconds), &policy);
        // Its own bounds of the hold: fresh or stale by them.
        let answer = known(AliasState::Resolved, 60, &ADDRESS);
        let held = |min, max| Policy { hold: Hold { min, max }, ..Policy::default() };
        assert_eq!(with(held(5, 10), &answer, 0), addresses(10, false));
        assert_eq!(with(held(5, 10), &answer, 15), addresses(30, true));
        assert_eq!(with(held(120, 3_600), &answer, 0), addresses(120, false));
        // Internal addresses.
        let inside = known(AliasState::Filtered, 60, &[10, 0, 0, 1]);
        assert_eq!(of_nodata(with(Policy::default(), &inside, 1)), nodata(60, Some(0)));
        let kept = Policy { internal: Internal::Kept, ..Policy::default() };
        assert_eq!(with(kept, &inside, 1), Said::Addresses(vec![10, 0, 0, 1], 59, false));
        let failing = known(AliasState::Timeout, 60, &[10, 0, 0, 1]);
        assert_eq!(of_nodata(with(Policy::default(), &failing, 1)), nodata(60, Some(0)));
        // How many.
        let two = known(AliasState::Resolved, 60, &[192, 0, 2, 1, 192, 0, 2, 2]);
        let Said::Addresses(one, ..) = with(Policy { max_addresses: 1, ..Policy::default() }, &two, 1) else {
            panic!("addresses")
        };
        assert_eq!(one.len(), 4);
        // Falling back.
        let gone = never(AliasState::TargetNxdomain);
        let fallback = Policy { on_nxdomain: OnNxdomain::Fallback, ..Policy::default() };
        assert_eq!(with(fallback, &gone, 1), Said::Fallback { cap: 60, error: NO_TARGET });
        let quarantine = Policy { on_nxdomain: OnNxdomain::Quarantine, ..Policy::default() };
        assert_eq!(of_nodata(with(quarantine, &gone, 1)), nodata(60, Some(0)));
        let lenient = Policy { on_failure: OnFailure::Fallback, ..Policy::default() };
        let cut_off = never(AliasState::Refused);
        assert_eq!(with(lenient, &cut_off, 1), Said::Fallback { cap: 30, error: NO_ANSWER });
    }

    #[test]
    fn a_query_that_waited_in_vain_gets_an_answer_that_spares_the_other_family() {
        let policy = Policy::default();
        let healthy = known(AliasState::Resolved, 60, &ADDRESS);
        assert_eq!(of_nodata(expired(&healthy, &policy)), nodata(5, Some(14)));
        let pending = never(AliasState::Pending);
        assert!(matches!(expired(&pending, &policy), Said::ServFail { error } if error.0.0 == 14));
    }

    #[test]
    fn with_a_target_of_sixty_seconds_no_ttl_below_fifteen_is_served_for_an_hour() {
        let policy = Policy::default();
        let other = never(AliasState::NoData);
        let mut answer = known(AliasState::Resolved, 60, &ADDRESS);
        for second in 0..3_600 {
            let now = at(second);
            // Refreshed two seconds late each time.
            if now >= answer.expires(policy.hold).plus_seconds(2) {
                answer.last_ok = Some(now);
            }
            match served(&answer, &other, 300, now, &policy) {
                Said::Addresses(_, ttl, false) => assert!((15..=60).contains(&ttl), "{second}: {ttl}"),
                found => panic!("{second}: {found:?}"),
            }
        }
    }
}
