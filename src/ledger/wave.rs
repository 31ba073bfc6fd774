//! Re-assertion waves: a controller that knows no owners sends all that it wants again at its start and every so often.
//! What it leaves out of such a wave nobody asks for any more. Without a wave there is no suspicion: the controller may
//! just be down. A pure state machine; what it knows is lost with the process, and the next wave says it again.

use std::collections::{BTreeMap, HashMap};

use super::owner::OwnerNumber;
use super::zone::ZoneNumber;
use crate::zone::alias::Moment;

/// Within so many milliseconds enough claims have to be asserted for a wave.
pub const WINDOW: u64 = 30 * 60 * 1_000;
/// After so many milliseconds without an assertion a wave is over.
pub const QUIET: u64 = 10 * 60 * 1_000;
/// After so many milliseconds it is over anyway.
pub const LONGEST: u64 = 6 * 60 * 60 * 1_000;
/// Fewest claims of a wave.
pub const FEWEST: usize = 2;
/// Most claims that are followed, of all keys together; what is beyond makes no wave.
pub const MAX_FOLLOWED: usize = 1_000_000;

/// Whose claims, and where.
pub type Field = (OwnerNumber, ZoneNumber);
/// A claim within a field: a hash of name, type and set.
pub type ClaimPrint = u64;

/// The assertions of one owner in one zone.
#[derive(Clone, Debug, Default)]
struct Following {
    /// When each was last asserted.
    last: HashMap<ClaimPrint, Moment>,
    /// When the wave began, if there is one.
    began: Option<Moment>,
    /// When anything was last asserted.
    latest: Moment,
    /// How many were followed when it was last weighed.
    weighed: usize,
}

/// A wave that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Whose, and where.
    pub field: Field,
    /// When its first assertion was: what was last asserted before is unconfirmed.
    pub began: Moment,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Waves {
    fields: BTreeMap<Field, Following>,
    followed: usize,
}

impl Waves {
    /// Notes that claims were asked for again as they are.
    pub fn assert(&mut self, field: Field, claim: ClaimPrint, now: Moment) {
        let following = self.fields.entry(field).or_default();
        if !following.last.contains_key(&claim) {
            if self.followed >= MAX_FOLLOWED {
                return;
            }
            self.followed += 1;
        }
        following.last.insert(claim, now);
        following.latest = following.latest.max(now);
    }

    /// Fields in which enough may have been asserted, each with how many claims were: the caller says of each how many
    /// there are, by [`Waves::weigh`].
    pub fn to_weigh(&mut self, now: Moment) -> Vec<Field> {
        let mut wanted = Vec::new();
        for (field, following) in &mut self.fields {
            if following.began.is_some() {
                continue;
            }
            let before = following.last.len();
            following.last.retain(|_, at| at.0 + WINDOW >= now.0);
            self.followed -= before - following.last.len();
            if following.last.len() >= FEWEST && following.last.len() != following.weighed {
                wanted.push(*field);
            }
        }
        self.fields.retain(|_, following| !following.last.is_empty());
        wanted
    }

    /// Opens a wave if at least half of so many claims were asserted.
    pub fn weigh(&mut self, field: Field, claims: usize) {
        let Some(following) = self.fields.get_mut(&field).filter(|following| following.began.is_none()) else { return };
        following.weighed = following.last.len();
        if following.last.len() >= FEWEST && 2 * following.last.len() >= claims {
            following.began = following.last.values().min().copied();
        }
    }

    /// Waves that are over; they are forgotten.
    pub fn close(&mut self, now: Moment) -> Vec<Closed> {
        let mut closed = Vec::new();
        for (field, following) in &self.fields {
            let Some(began) = following.began else { continue };
            if following.latest.0 + QUIET <= now.0 || began.0 + LONGEST <= now.0 {
                closed.push(Closed { field: *field, began });
            }
        }
        for one in &closed {
            if let Some(following) = self.fields.remove(&one.field) {
                self.followed -= following.last.len();
            }
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELD: Field = (OwnerNumber(2), ZoneNumber(1));
    const MINUTE: u64 = 60_000;
    const START: u64 = 1_796_040_000_000;

    fn at(minutes: u64) -> Moment {
        Moment(START + minutes * MINUTE)
    }

    #[test]
    fn half_of_the_claims_in_half_an_hour_are_a_wave_and_ten_quiet_minutes_end_it() {
        let mut waves = Waves::default();
        waves.assert(FIELD, 1, at(0));
        assert_eq!(waves.to_weigh(at(0)), [], "one is no wave");
        waves.assert(FIELD, 2, at(1));
        assert_eq!(waves.to_weigh(at(1)), [FIELD]);
        waves.weigh(FIELD, 5);
        assert_eq!(waves.to_weigh(at(1)), [], "nothing new to weigh");
        assert_eq!(waves.close(at(30)), [], "two of five are no wave");
        waves.assert(FIELD, 3, at(29));
        assert_eq!(waves.to_weigh(at(29)), [FIELD]);
        waves.weigh(FIELD, 5);
        assert_eq!(waves.close(at(38)), []);
        waves.assert(FIELD, 1, at(38));
        assert_eq!(waves.close(at(47)), []);
        assert_eq!(waves.close(at(48)), [Closed { field: FIELD, began: at(0) }]);
        assert_eq!(waves.close(at(48)), [], "once");
        assert_eq!(waves.followed, 0);
    }

    #[test]
    fn what_is_asserted_now_and_then_is_no_wave() {
        let mut waves = Waves::default();
        for minute in 0..100 {
            waves.assert(FIELD, minute % 2, at(minute * 31));
            assert_eq!(waves.to_weigh(at(minute * 31)), []);
        }
        assert_eq!(waves.followed, 1);
    }

    #[test]
    fn a_wave_that_never_rests_ends_after_six_hours() {
        let mut waves = Waves::default();
        for minute in 0..=360 {
            waves.assert(FIELD, minute % 2, at(minute));
            waves.to_weigh(at(minute));
            waves.weigh(FIELD, 2);
            let closed = waves.close(at(minute));
            assert_eq!(closed.is_empty(), minute < 360, "{minute}");
        }
    }
}
