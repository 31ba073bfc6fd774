//! How much each owner may have looked up, and in which order what is pending goes, so that an owner with many targets
//! does not keep those of others waiting (alias.md section 3.6). Pure.

use std::collections::HashMap;

use crate::zone::alias::Moment;

/// Owners whose accounts are kept; beyond it those with nothing to tell are forgotten.
const MAX_ACCOUNTS: usize = 65_536;

/// Bounds on lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Lookups of one owner in a second.
    pub owner_rate: u32,
    /// Lookups of one owner at once, after a pause.
    pub owner_burst: u32,
    /// Refreshes a second of what nobody asks for, after the start until all is current.
    pub catching_up: u32,
    /// Seconds between two looks at what nobody asks for.
    pub probe_interval: u32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { owner_rate: 10_000, owner_burst: 50_000, catching_up: 200, probe_interval: 300 }
    }
}

/// The accounts of all owners.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    owners: HashMap<u32, Account>,
    /// Number of the pending lookup that went last.
    served: u64,
}

/// The account of an owner.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Thousandths of lookups that may be made at once.
    room: u64,
    at: Moment,
    /// Number of the owner's last pending lookup.
    last: u64,
}

impl Accounts {
    /// A number for a pending lookup of an owner: lookups of different owners alternate, whoever came with many first.
    pub(super) fn turn(&mut self, owner: u32, now: Moment, pace: Pace) -> u64 {
        let served = self.served;
        let account = self.account(owner, now, pace);
        account.last = account.last.max(served) + 1;
        account.last
    }

    /// A pending lookup goes.
    pub(super) fn goes(&mut self, turn: u64) {
        self.served = self.served.max(turn.saturating_sub(1));
    }

    /// Takes a lookup out of an owner's account; false if there is no room.
    pub(super) fn admit(&mut self, owner: u32, now: Moment, pace: Pace) -> bool {
        let account = self.account(owner, now, pace);
        let passed = now.0.saturating_sub(account.at.0);
        let full = u64::from(pace.owner_burst) * 1_000;
        account.room = account.room.saturating_add(passed.saturating_mul(u64::from(pace.owner_rate))).min(full);
        account.at = now;
        match account.room.checked_sub(1_000) {
            Some(left) => {
                account.room = left;
                true
            }
            None => false,
        }
    }

    fn account(&mut self, owner: u32, now: Moment, pace: Pace) -> &mut Account {
        if self.owners.len() >= MAX_ACCOUNTS && !self.owners.contains_key(&owner) {
            // Who has made no lookup for as long as it takes to fill an account is as good as new.
            let fills = 1_000 * u64::from(pace.owner_burst) / u64::from(pace.owner_rate.max(1));
            self.owners.retain(|_, account| account.at.0.saturating_add(fills) > now.0);
        }
        let room = u64::from(pace.owner_burst) * 1_000;
        self.owners.entry(owner).or_insert(Account { room, at: now, last: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_its_rate_after_its_burst() {
        let pace = Pace { owner_rate: 10, owner_burst: 5, ..Pace::default() };
        let mut accounts = Accounts::default();
        let mut admitted = |at: u64| (0..20).filter(|_| accounts.admit(1, Moment(at), pace)).count();
        assert_eq!(admitted(1_000), 5);
        assert_eq!(admitted(1_000), 0);
        assert_eq!(admitted(1_300), 3);
        assert_eq!(admitted(9_000), 5, "no more than the burst is saved");
        assert!(accounts.admit(2, Moment(9_000), pace), "another owner has its own");
    }

    #[test]
    fn pending_lookups_of_owners_alternate() {
        let pace = Pace::default();
        let mut accounts = Accounts::default();
        let mut turns: Vec<(u64, u32)> = (0..100).map(|_| (accounts.turn(1, Moment(0), pace), 1)).collect();
        // Ten have gone when another owner comes.
        turns.drain(..10).for_each(|(turn, _)| accounts.goes(turn));
        turns.extend((0..2).map(|_| (accounts.turn(2, Moment(0), pace), 2)));
        turns.sort_unstable();
        let first: Vec<u32> = turns.iter().take(5).map(|(_, owner)| *owner).collect();
        assert_eq!(first.iter().filter(|owner| **owner == 2).count(), 2, "{first:?}");
    }
}
