//! What the external-dns door asks of the ledger: the terms of its tokens, changes of endpoints with a verdict for each,
//! and the look at what is desired that comes before them.

use super::command::{BadWish, Change, OnConflict, Wish};
use super::limits::MAX_TEXT;
use super::owner::OwnerId;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Beginning of the labels that the door itself keeps with a claim; those of a client do not begin so.
pub const OWN_LABELS: &str = "external-dns/";
/// Own label: targets as the client writes them, JSON, where they differ from how the records are printed.
pub const TARGETS: &str = "external-dns/targets";
/// Own label: the property `alias` as it was given.
pub const ALIAS: &str = "external-dns/alias";
/// Own label: the property `webhook/share` as it was given.
pub const SHARE: &str = "external-dns/share";
/// Own label: texts of registry TXT records that were absorbed, by name, JSON.
pub const REGISTRY: &str = "external-dns/registry";
/// Label of the Kubernetes resource that a record is made for.
pub const RESOURCE: &str = "resource";
/// Label of the client's own owner id.
pub const OWNER: &str = "owner";

/// Most registry texts that are kept with a claim, the old and the new form of each of two prefixes.
pub const MAX_REGISTRY: usize = 4;
/// Longest registry text and name that are kept, in octets.
pub const MAX_REGISTRY_TEXT: usize = 4_096;
/// A claim that is listed has its `asserted` time written when it is older than this, in milliseconds: often enough for
/// what goes by it, and seldom enough to cost nothing.
pub const ASSERT_STEP: u64 = 5 * 60 * 1_000;
/// A queued wish that was not listed for so long lapses, in milliseconds.
pub const LAPSE: u64 = 60 * 60 * 1_000;

/// Whether claims stand beside those of other owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// They do not.
    #[default]
    Exclusive,
    /// They do, if all sides agree.
    Shared,
}

/// What becomes of an equal record that an import left to its zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adopting {
    /// It stays the zone's.
    #[default]
    Never,
    /// It is given to who asks for it.
    Equal,
}

/// The delete brake of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brake {
    /// Every delete goes through.
    Off,
    /// More than this at once is held.
    On {
        /// So many always go through.
        min: u64,
        /// And such a share of the owner's claims, in per cent.
        percent: u64,
        /// The last claims of an owner are held if they are so many.
        last: u64,
    },
}

impl Default for Brake {
    fn default() -> Brake {
        Brake::On { min: 10, percent: 30, last: 3 }
    }
}

impl Brake {
    /// Whether the deletes of `going` of `total` claims are held.
    pub fn holds(self, going: u64, total: u64) -> bool {
        match self {
            Brake::Off => false,
            Brake::On { min, percent, last } => {
                // u128, so that no number of a token overflows.
                let share = u128::from(total) * u128::from(percent) / 100;
                u128::from(going) > share.max(u128::from(min)) || (going >= total && going >= last.max(1))
            }
        }
    }
}

/// How a token of the door works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorTerms {
    /// What becomes of conflicts.
    pub on_conflict: OnConflict,
    /// Whether all claims may stand beside others.
    pub sharing: Sharing,
    /// What becomes of equal imported records.
    pub adopting: Adopting,
    /// Lowest TTL that a client may set.
    pub ttl_min: Option<u32>,
    /// Highest TTL that a client may set.
    pub ttl_max: Option<u32>,
    /// The delete brake.
    pub brake: Brake,
}

impl Default for DoorTerms {
    fn default() -> DoorTerms {
        DoorTerms {
            on_conflict: OnConflict::Queue,
            sharing: Sharing::default(),
            adopting: Adopting::default(),
            ttl_min: None,
            ttl_max: None,
            brake: Brake::default(),
        }
    }
}

/// An owner's use of the door.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoorUse {
    /// The client's owner id; none until it is known.
    pub txt_owner_id: Option<String>,
}

impl DoorUse {
    /// Whether a text can be a client's owner id.
    pub fn is_fit(text: &str) -> bool {
        !text.is_empty() && text.len() <= MAX_TEXT && !text.chars().any(char::is_control)
    }
}

/// A registry TXT record: noted with the record it is about, and never published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryText {
    /// Its name, as given.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Name of the record that it is about, and its type if the name tells.
    pub about: Option<(Name, Option<Rtype>)>,
}

/// Writes and deletes endpoints of a client, each with a verdict of its own; what is good is committed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeEndpoints {
    /// Upserts and deletes. A CNAME in `delete` means an ALIAS, too; a delete whose key is written as well is none. The
    /// label `owner` of a wish is the client's owner id; it is checked, and not kept.
    pub change: Change,
    /// The client's owner ids of `change.delete`, in its order.
    pub delete_owners: Vec<Option<String>>,
    /// The client's owner id that a create names: it holds from now on if none was known.
    pub pin: Option<String>,
    /// The client's owner id until one is known.
    pub default_txt_owner: String,
    /// Registry TXT records.
    pub absorbed: Vec<RegistryText>,
    /// What becomes of equal imported records.
    pub adopting: Adopting,
    /// The delete brake.
    pub brake: Brake,
}

/// Notes what a client desires, and decides for each endpoint whether it may ask for it. The report has an item for each
/// wish, in order: `unchanged` is passed on; `queued` waits for another owner and `invalid` is against the token's limits,
/// so both are kept from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjustEndpoints {
    /// The owner; made if there is none.
    pub owner: OwnerId,
    /// All that is desired.
    pub wishes: Vec<Result<Wish, BadWish>>,
    /// What becomes of conflicts.
    pub on_conflict: OnConflict,
    /// What becomes of equal imported records.
    pub adopting: Adopting,
}

/// The type that a claim has in the protocol, which knows no ALIAS.
pub fn presented(rtype: Rtype) -> Rtype {
    if rtype == Rtype::ALIAS { Rtype::CNAME } else { rtype }
}

/// Whether a record of the one type makes room for one of the other at a name.
pub fn exclude(left: Rtype, right: Rtype) -> bool {
    let alone = |rtype: Rtype| rtype == Rtype::CNAME || rtype == Rtype::ALIAS;
    left != right && (alone(left) || alone(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brake_holds_what_is_much_and_what_is_the_last() {
        let brake = Brake::default();
        for (going, total, held) in [
            (1, 1, false),
            (2, 2, false),
            (3, 3, true),
            (3, 4, false),
            (10, 11, false),
            (11, 31, true),
            (30, 100, false),
            (31, 100, true),
            (8_764, 8_764, true),
            (0, 0, false),
        ] {
            assert_eq!(brake.holds(going, total), held, "{going} of {total}");
        }
        assert!(!Brake::Off.holds(100, 100));
        let own = Brake::On { min: 0, percent: 100, last: 1 };
        assert!(own.holds(1, 1) && !own.holds(1, 2));
        let most = Brake::On { min: u64::MAX, percent: u64::MAX, last: u64::MAX };
        assert!(!most.holds(5, u64::MAX));
    }
}
