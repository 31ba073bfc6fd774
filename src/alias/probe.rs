//! One family of one target: how what an upstream said changes what is known, and when it is asked again
//! (alias.md sections 4, 5 and 7). Pure.

use std::num::NonZeroU64;
use std::sync::Arc;

use super::lookup::{Answer, Ask, Failure, Outcome, Upstream};
use crate::zone::addresses::Addresses;
use crate::zone::alias::{AliasState, Family, FamilyAnswer, LastLookup, Moment};

/// Bounds of the time for which NODATA and NXDOMAIN are held, in seconds.
const NEGATIVE_HOLD: (u32, u32) = (30, 300);
/// How long a loop or an overlong chain is held, in seconds.
const CHAIN_HOLD: u32 = 60;
/// After how many seconds the only upstream may confirm its own NXDOMAIN.
const CONFIRM_AFTER: u32 = 30;
/// Longest wait between failing lookups, in seconds (RFC 9520 section 3.2 admits up to 300).
const LONGEST_BACK_OFF: u32 = 60;
/// Of how many fetches the highest TTL is remembered.
const REMEMBERED: usize = 8;
/// An SOA with so many labels, or fewer, denies that a whole domain exists.
const REGISTRY_LABELS: usize = 1;

/// What the engine knows of a family beside what is published.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    /// TTLs of the last fetches in seconds, 0 where there was none yet.
    ttls: [u32; REMEMBERED],
    next_ttl: u8,
    /// Failing lookups in a row.
    pub(super) failures: u8,
    suspicion: Option<Box<Suspicion>>,
    /// What the last lookup would be by itself; none after an answer.
    error: Option<AliasState>,
    /// How long the last answer took, in milliseconds.
    pub(super) took: Option<u32>,
    /// When the last lookup began; 0 before the first.
    pub(super) asked: Moment,
    /// The number of the lookup in flight.
    pub(super) flight: Option<NonZeroU64>,
    /// When it is asked next, unless a lookup is in flight.
    pub(super) due: Option<Due>,
}

/// When and how pressingly a family is to be asked. Those of which nothing is known go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A query may be waiting: at once, in the order of these numbers, which are fair to owners.
    Pending(u64),
    /// Something is known: then, if queries ask for it, else later.
    Refresh(Moment),
    /// Then in any case.
    Probe(Moment),
}

/// The first NXDOMAIN of a row.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    upstream: Option<Upstream>,
    at: Moment,
    verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nobody has confirmed it.
    Open,
    /// It is confirmed, but the other family is being asked whether the name exists all the same.
    WaitsForOther,
}

/// What a transition asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// When this family is asked again; none if that hangs on the other.
    pub(super) again: Option<Again>,
    /// Whether the other family is asked.
    pub(super) other: Other,
}

/// When to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// At once, whenever it was asked last.
    AtOnce,
    /// When the answer expires for the first of the records, or a little later.
    Expiry,
    /// Then, or a little later, at random up to so many milliseconds.
    After { at: Moment, jitter: u64 },
    /// When the owner may have room: no lookup was made, so the time since the last one does not count.
    WithRoom,
    /// After so many seconds, a quarter more or less.
    BackOff { seconds: u32 },
}

/// Whether the other family is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// It is left as it is.
    Left,
    /// Soon: it may know better now.
    Soon,
    /// At once.
    AtOnce,
}

/// What holds for all families.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) upstreams: usize,
}

/// The other family, as far as it decides about this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sibling {
    pub(super) state: AliasState,
    pub(super) checked: Option<Moment>,
    pub(super) in_flight: bool,
}

impl Probe {
    /// Who may answer the next lookup.
    pub(super) fn ask(&self, now: Moment) -> Ask {
        match self.suspicion.as_deref() {
            Some(Suspicion { upstream: Some(first), at, .. }) if now < at.plus_seconds(CONFIRM_AFTER) => {
                Ask::OtherThan(*first)
            }
            Some(_) | None => Ask::Any,
        }
    }

    /// Takes in what a lookup of this family brought.
    pub(super) fn hear(
        &mut self,
        answer: &mut FamilyAnswer,
        (family, sibling): (Family, Sibling),
        heard: Answer,
        now: Moment,
        terms: Terms,
        latest: &mut Arc<LastLookup>,
    ) -> Next {
        let Answer { upstream, outcome, chain, crosses, authority, from } = heard;
        answer.checked = Some(now);
        self.took = u32::try_from(now.0.saturating_sub(self.asked.0)).ok();
        let mut last = answer.lookup.as_deref().cloned().unwrap_or_default();
        if !matches!(outcome, Outcome::Failed(_)) {
            answer.crossing = crosses.and_then(|first| chain.get(first..)).map(Into::into);
            last.chain = chain.into();
            last.takeover_risk = matches!(outcome, Outcome::NameError { .. })
                && authority.is_some_and(|name| name.label_count() <= REGISTRY_LABELS);
        }
        let next = match outcome {
            Outcome::Addresses { octets, ttl } => {
                let addresses = Addresses::new(&octets, family);
                if addresses.is_empty() {
                    self.no_data(answer, None, sibling, now)
                } else {
                    let state = if addresses.is_internal() { AliasState::Filtered } else { AliasState::Resolved };
                    put(answer, addresses, now);
                    self.good(answer, state, ttl, sibling, now)
                }
            }
            Outcome::NoData { ttl } => self.no_data(answer, ttl, sibling, now),
            Outcome::NameError { ttl } => self.name_error(answer, (upstream, ttl), sibling, now, terms),
            Outcome::Loop => self.bad_chain(answer, AliasState::Loop, now),
            Outcome::ChainTooLong => self.bad_chain(answer, AliasState::ChainTooLong, now),
            Outcome::Failed(failure) => self.failed(answer, failure, now),
        };
        let last = LastLookup { failures: self.failures, error: self.error, upstream: from.or(last.upstream), ..last };
        // Most targets are told of in the same words, which then are kept once.
        if **latest != last {
            *latest = Arc::new(last);
        }
        answer.lookup = Some(latest.clone());
        next
    }

    /// Ends a wait for the other family, once that has been asked.
    pub(super) fn other_settled(&mut self, answer: &mut FamilyAnswer, sibling: Sibling, now: Moment) -> Option<Next> {
        let waits = self.suspicion.as_deref().is_some_and(|one| one.verdict == Verdict::WaitsForOther);
        waits.then(|| self.conclude(answer, None, sibling, now))
    }

    fn good(&mut self, answer: &mut FamilyAnswer, state: AliasState, ttl: u32, sibling: Sibling, now: Moment) -> Next {
        self.remember(ttl);
        answer.highest_ttl = self.ttls.iter().copied().max().unwrap_or(ttl);
        self.noerror(answer, state, ttl, now);
        Next { again: Some(Again::Expiry), other: better(sibling) }
    }

    /// Counts a TTL in, in seconds.
    pub(super) fn remember(&mut self, ttl: u32) {
        self.ttls[usize::from(self.next_ttl)] = ttl;
        self.next_ttl = (self.next_ttl + 1) % REMEMBERED as u8;
    }

    fn no_data(&mut self, answer: &mut FamilyAnswer, ttl: Option<u32>, sibling: Sibling, now: Moment) -> Next {
        put(answer, Addresses::default(), now);
        self.noerror(answer, AliasState::NoData, negative_hold(ttl), now);
        Next { again: Some(Again::Expiry), other: better(sibling) }
    }

    fn noerror(&mut self, answer: &mut FamilyAnswer, state: AliasState, ttl: u32, now: Moment) {
        self.failures = 0;
        self.suspicion = None;
        self.error = None;
        enter(answer, state, now);
        answer.last_ok = Some(now);
        answer.ttl = ttl;
    }

    fn name_error(
        &mut self,
        answer: &mut FamilyAnswer,
        (upstream, ttl): (Option<Upstream>, Option<u32>),
        sibling: Sibling,
        now: Moment,
        terms: Terms,
    ) -> Next {
        self.failures = 0;
        self.error = Some(AliasState::TargetNxdomain);
        if answer.state == AliasState::TargetNxdomain {
            return Next { again: Some(held(ttl, now)), other: Other::Left };
        }
        match self.suspicion.as_deref() {
            Some(first) if first.upstream != upstream || now >= first.at.plus_seconds(CONFIRM_AFTER) => {
                self.conclude(answer, ttl, sibling, now)
            }
            Some(first) => Next { again: Some(confirmation_by_time(first.at)), other: Other::Left },
            None => {
                self.suspicion = Some(Box::new(Suspicion { upstream, at: now, verdict: Verdict::Open }));
                enter(answer, AliasState::Suspect, now);
                let again = if terms.upstreams > 1 { Again::AtOnce } else { confirmation_by_time(now) };
                let other = match sibling.state {
                    // It is being confirmed, or was.
                    AliasState::Suspect | AliasState::TargetNxdomain => Other::Left,
                    AliasState::Pending
                    | AliasState::Resolved
                    | AliasState::NoData
                    | AliasState::Timeout
                    | AliasState::ServFail
                    | AliasState::Refused
                    | AliasState::Network
                    | AliasState::NoResolver
                    | AliasState::RateLimited
                    | AliasState::Loop
                    | AliasState::ChainTooLong
                    | AliasState::Filtered => Other::AtOnce,
                };
                Next { again: Some(again), other }
            }
        }
    }

    /// Decides about a confirmed NXDOMAIN. If the name has addresses of the other family, it exists (a server that
    /// says NXDOMAIN for AAAA is a well-known fault), so the other family must have been asked since.
    fn conclude(&mut self, answer: &mut FamilyAnswer, ttl: Option<u32>, sibling: Sibling, now: Moment) -> Next {
        let doubted_at = self.suspicion.as_deref().map_or(now, |one| one.at);
        let asked_since = sibling.checked.is_some_and(|checked| checked >= doubted_at);
        match sibling.state {
            AliasState::Resolved if asked_since && !sibling.in_flight => {
                put(answer, Addresses::default(), now);
                self.noerror(answer, AliasState::NoData, negative_hold(ttl), now);
                Next { again: Some(Again::Expiry), other: Other::Left }
            }
            AliasState::Resolved => self.wait_for_other(),
            AliasState::Pending | AliasState::NoData | AliasState::Filtered if sibling.in_flight => {
                self.wait_for_other()
            }
            AliasState::Timeout
            | AliasState::ServFail
            | AliasState::Refused
            | AliasState::Network
            | AliasState::NoResolver
            | AliasState::RateLimited
                if sibling.in_flight =>
            {
                self.wait_for_other()
            }
            AliasState::Pending
            | AliasState::NoData
            | AliasState::Suspect
            | AliasState::TargetNxdomain
            | AliasState::Timeout
            | AliasState::ServFail
            | AliasState::Refused
            | AliasState::Network
            | AliasState::NoResolver
            | AliasState::RateLimited
            | AliasState::Loop
            | AliasState::ChainTooLong
            | AliasState::Filtered => {
                self.suspicion = None;
                enter(answer, AliasState::TargetNxdomain, now);
                Next { again: Some(held(ttl, now)), other: Other::Left }
            }
        }
    }

    fn wait_for_other(&mut self) -> Next {
        if let Some(suspicion) = &mut self.suspicion {
            suspicion.verdict = Verdict::WaitsForOther;
        }
        Next { again: None, other: Other::AtOnce }
    }

    fn bad_chain(&mut self, answer: &mut FamilyAnswer, state: AliasState, now: Moment) -> Next {
        self.failures = 0;
        self.suspicion = None;
        self.error = None;
        enter(answer, state, now);
        Next { again: Some(Again::After { at: now.plus_seconds(CHAIN_HOLD), jitter: 2_000 }), other: Other::Left }
    }

    /// A failure tells nothing about the target: what NXDOMAIN told stays, and so does the last good answer.
    fn failed(&mut self, answer: &mut FamilyAnswer, failure: Failure, now: Moment) -> Next {
        if failure != Failure::RateLimited {
            self.failures = self.failures.saturating_add(1);
        }
        self.error = Some(failure.state());
        match answer.state {
            AliasState::Suspect | AliasState::TargetNxdomain => {}
            AliasState::Pending
            | AliasState::Resolved
            | AliasState::NoData
            | AliasState::Timeout
            | AliasState::ServFail
            | AliasState::Refused
            | AliasState::Network
            | AliasState::NoResolver
            | AliasState::RateLimited
            | AliasState::Loop
            | AliasState::ChainTooLong
            | AliasState::Filtered => enter(answer, failure.state(), now),
        }
        if failure == Failure::RateLimited {
            // The owner's own limit, not the target's fault: as soon as there may be room.
            return Next { again: Some(Again::WithRoom), other: Other::Left };
        }
        let seconds = 1_u32.checked_shl(u32::from(self.failures)).unwrap_or(u32::MAX).min(LONGEST_BACK_OFF);
        Next { again: Some(Again::BackOff { seconds }), other: Other::Left }
    }
}

fn enter(answer: &mut FamilyAnswer, state: AliasState, now: Moment) {
    if answer.state != state {
        answer.state = state;
        answer.since = now;
    }
}

/// Puts addresses in, and notes when they became others.
fn put(answer: &mut FamilyAnswer, addresses: Addresses, now: Moment) {
    if answer.addresses != addresses {
        answer.addresses = addresses;
        answer.changed = Some(now);
    }
}

/// What an answer for one family means for the other: where that is said not to exist, it is asked again.
fn better(sibling: Sibling) -> Other {
    if sibling.state == AliasState::TargetNxdomain { Other::Soon } else { Other::Left }
}

fn negative_hold(ttl: Option<u32>) -> u32 {
    ttl.unwrap_or(NEGATIVE_HOLD.0).clamp(NEGATIVE_HOLD.0, NEGATIVE_HOLD.1)
}

fn held(ttl: Option<u32>, now: Moment) -> Again {
    Again::After { at: now.plus_seconds(negative_hold(ttl)), jitter: 2_000 }
}

fn confirmation_by_time(first: Moment) -> Again {
    Again::After { at: first.plus_seconds(CONFIRM_AFTER), jitter: 0 }
}
