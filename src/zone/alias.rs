//! ALIAS as plain data: the record as it is published, its targets, and what is known of them (alias.md).

use std::sync::Arc;

use super::table::Table;
use crate::wire::codes::Rtype;
use crate::wire::name::{HashKey, Name, wire_length};

/// Most steps from an ALIAS to an address: CNAME, DNAME and ALIAS records in hosted zones, and CNAMEs upstream.
pub const MAX_STEPS: usize = 16;

/// An address type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// IPv4: A.
    A,
    /// IPv6: AAAA.
    Aaaa,
}

impl Family {
    /// Both, A first.
    pub const BOTH: [Family; 2] = [Family::A, Family::Aaaa];

    /// The record type of the addresses.
    #[inline]
    pub fn rtype(self) -> Rtype {
        match self {
            Family::A => Rtype::A,
            Family::Aaaa => Rtype::AAAA,
        }
    }

    /// The other family.
    #[inline]
    pub fn other(self) -> Family {
        match self {
            Family::A => Family::Aaaa,
            Family::Aaaa => Family::A,
        }
    }

    /// Octets of an address.
    #[inline]
    pub fn octets(self) -> usize {
        match self {
            Family::A => 4,
            Family::Aaaa => 16,
        }
    }
}

/// A moment: milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// So many seconds later.
    pub fn plus_seconds(self, seconds: u32) -> Moment {
        Moment(self.0.saturating_add(u64::from(seconds) * 1000))
    }

    /// Whole seconds from `earlier` to this; 0 if it is not earlier.
    pub fn seconds_since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0) / 1000
    }
}

/// The RDATA of an ALIAS in a published node: target, enabled families, and the owners whose zones it may enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasRecord {
    /// The target, letter case as written.
    pub target: Vec<u8>,
    /// Whether A is flattened.
    pub a: bool,
    /// Whether AAAA is flattened.
    pub aaaa: bool,
    /// The holder and its parents, by their numbers in the store (alias.md section 3.2).
    pub owners: Vec<u32>,
}

impl AliasRecord {
    /// Packs the record: target, one octet of families, the owners' numbers.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.target.clone();
        out.push(u8::from(self.a) | u8::from(self.aaaa) << 1);
        for owner in &self.owners {
            out.extend_from_slice(&owner.to_le_bytes());
        }
        out
    }
}

/// A published ALIAS record, read in place.
#[derive(Clone, Copy, Debug)]
pub struct AliasRef<'a> {
    /// The target in wire form, letter case as written.
    pub target: &'a [u8],
    families: u8,
    owners: &'a [u8],
}

impl<'a> AliasRef<'a> {
    /// Reads what [`AliasRecord::encode`] wrote.
    #[inline]
    pub fn decode(rdata: &'a [u8]) -> Option<AliasRef<'a>> {
        let (target, rest) = rdata.split_at(wire_length(rdata)?);
        let (families, owners) = rest.split_first()?;
        Some(AliasRef { target, families: *families, owners })
    }

    /// Whether this family is flattened.
    #[inline]
    pub fn has(self, family: Family) -> bool {
        match family {
            Family::A => self.families & 1 != 0,
            Family::Aaaa => self.families & 2 != 0,
        }
    }

    /// Whether the holder or one of its parents is this owner.
    #[inline]
    pub fn trusts(self, owner: u32) -> bool {
        self.owners.chunks_exact(4).any(|one| one == owner.to_le_bytes())
    }
}

/// What is looked up: a name outside the hosted zones, for both families (alias.md, *Entry*).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetKey(pub Name);

/// How it stands with a family of a target (alias.md section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AliasState {
    /// Not asked yet, or not answered yet.
    Pending,
    /// There are addresses.
    Resolved,
    /// The name exists without addresses of the family.
    NoData,
    /// One NXDOMAIN, not confirmed.
    Suspect,
    /// The target does not exist.
    TargetNxdomain,
    /// No upstream answered in time.
    Timeout,
    /// The upstream said SERVFAIL.
    ServFail,
    /// The upstream said REFUSED.
    Refused,
    /// The upstream could not be reached.
    Network,
    /// No upstream is configured.
    NoResolver,
    /// The chain comes back to a name it had.
    Loop,
    /// The chain has over 16 steps.
    ChainTooLong,
    /// There were addresses, all of them internal (alias.md section 3.4).
    Filtered,
}

impl AliasState {
    /// All states.
    pub const ALL: [AliasState; 13] = [
        AliasState::Pending,
        AliasState::Resolved,
        AliasState::NoData,
        AliasState::Suspect,
        AliasState::TargetNxdomain,
        AliasState::Timeout,
        AliasState::ServFail,
        AliasState::Refused,
        AliasState::Network,
        AliasState::NoResolver,
        AliasState::Loop,
        AliasState::ChainTooLong,
        AliasState::Filtered,
    ];

    /// The name of the state in API, CLI and metrics.
    pub fn text(self) -> &'static str {
        match self {
            AliasState::Pending => "Pending",
            AliasState::Resolved => "Resolved",
            AliasState::NoData => "NoData",
            AliasState::Suspect => "Suspect",
            AliasState::TargetNxdomain => "TargetNXDomain",
            AliasState::Timeout => "Timeout",
            AliasState::ServFail => "ServFail",
            AliasState::Refused => "Refused",
            AliasState::Network => "Network",
            AliasState::NoResolver => "NoResolver",
            AliasState::Loop => "Loop",
            AliasState::ChainTooLong => "ChainTooLong",
            AliasState::Filtered => "Filtered",
        }
    }

    /// Whether the last lookup brought no answer that says anything about the target.
    pub fn is_failure(self) -> bool {
        match self {
            AliasState::Timeout
            | AliasState::ServFail
            | AliasState::Refused
            | AliasState::Network
            | AliasState::NoResolver => true,
            AliasState::Pending
            | AliasState::Resolved
            | AliasState::NoData
            | AliasState::Suspect
            | AliasState::TargetNxdomain
            | AliasState::Loop
            | AliasState::ChainTooLong
            | AliasState::Filtered => false,
        }
    }
}

/// What is known of one family of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyAnswer {
    /// The state.
    pub state: AliasState,
    /// Since when it is in this state.
    pub since: Moment,
    /// Addresses of the last good answer in network order, one after another, sorted; empty for NODATA.
    pub addresses: Arc<[u8]>,
    /// When the last good answer (addresses or NODATA) was fetched; none if there never was one.
    pub last_ok: Option<Moment>,
    /// Until when the last answer is fresh: `E` of alias.md section 5.
    pub expires: Moment,
    /// Highest hold of the last fetches in seconds: `T̂` of alias.md section 4.
    pub longest_hold: u32,
    /// When it was last asked.
    pub checked: Option<Moment>,
}

impl FamilyAnswer {
    /// Nothing known yet.
    pub fn pending(now: Moment) -> FamilyAnswer {
        FamilyAnswer {
            state: AliasState::Pending,
            since: now,
            addresses: Arc::new([]),
            last_ok: None,
            expires: now,
            longest_hold: 0,
            checked: None,
        }
    }
}

/// What is known of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasEntry {
    /// The target.
    pub target: TargetKey,
    /// Its A records.
    pub a: FamilyAnswer,
    /// Its AAAA records.
    pub aaaa: FamilyAnswer,
}

impl AliasEntry {
    /// Nothing known yet of either family.
    pub fn pending(target: TargetKey, now: Moment) -> AliasEntry {
        AliasEntry { target, a: FamilyAnswer::pending(now), aaaa: FamilyAnswer::pending(now) }
    }

    /// The answer of a family.
    #[inline]
    pub fn family(&self, family: Family) -> &FamilyAnswer {
        match family {
            Family::A => &self.a,
            Family::Aaaa => &self.aaaa,
        }
    }

    /// The answer of a family, to change it.
    pub fn family_mut(&mut self, family: Family) -> &mut FamilyAnswer {
        match family {
            Family::A => &mut self.a,
            Family::Aaaa => &mut self.aaaa,
        }
    }

    /// The state of the target as a whole.
    pub fn state(&self) -> RecordState {
        RecordState::of(Some(&self.a), Some(&self.aaaa))
    }
}

/// What became of targets since the last batch: the controller puts it into the next Snapshot, `removed` first, then
/// `put`, since a target may have gone and come back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AliasBatch {
    /// Entries that are new or not as they were.
    pub put: Vec<Arc<AliasEntry>>,
    /// Targets that nobody points to any more.
    pub removed: Vec<TargetKey>,
}

impl AliasBatch {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// The state of an ALIAS record or of a target as a whole: its families taken together (alias.md section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordState {
    /// No family has addresses, and all say so themselves.
    NoAddresses,
    /// All families have addresses or say that they have none.
    Resolved,
    /// One family has addresses, the other is in another state.
    Partial,
    /// The state of the family that is worst off.
    Is(AliasState),
}

impl RecordState {
    /// Of the families that are enabled.
    pub fn of(a: Option<&FamilyAnswer>, aaaa: Option<&FamilyAnswer>) -> RecordState {
        let families = || [a, aaaa].into_iter().flatten();
        let any = |state: AliasState| families().any(|one| one.state == state);
        for state in [AliasState::Loop, AliasState::ChainTooLong] {
            if any(state) {
                return RecordState::Is(state);
            }
        }
        let settled = |one: &FamilyAnswer| matches!(one.state, AliasState::Resolved | AliasState::NoData);
        if families().all(settled) {
            return if any(AliasState::Resolved) { RecordState::Resolved } else { RecordState::NoAddresses };
        }
        if any(AliasState::Resolved) {
            return RecordState::Partial;
        }
        for state in [AliasState::TargetNxdomain, AliasState::Suspect, AliasState::Filtered] {
            if any(state) {
                return RecordState::Is(state);
            }
        }
        let failing = families().filter(|one| one.state.is_failure()).min_by_key(|one| one.since);
        RecordState::Is(failing.map_or(AliasState::Pending, |one| one.state))
    }

    /// The name of the state in API, CLI and metrics.
    pub fn text(self) -> &'static str {
        match self {
            RecordState::NoAddresses => "NoAddresses",
            RecordState::Resolved => "Resolved",
            RecordState::Partial => "Partial",
            RecordState::Is(state) => state.text(),
        }
    }
}

/// Targets and what is known of them, by name. A clone shares everything.
#[derive(Clone, Debug)]
pub struct AliasTable {
    key: HashKey,
    entries: Table<Arc<AliasEntry>>,
}

impl AliasTable {
    /// No targets.
    pub fn new(key: HashKey) -> AliasTable {
        AliasTable { key, entries: Table::default() }
    }

    /// The entry of a target by the hash of its lower-case wire form.
    #[inline]
    pub fn get(&self, hash: u64, wire: &[u8]) -> Option<&AliasEntry> {
        self.entries.get(hash, |entry| entry.target.0.as_wire() == wire).map(AsRef::as_ref)
    }

    /// The entry of a target.
    pub fn entry(&self, target: &TargetKey) -> Option<&AliasEntry> {
        self.get(self.key.hash(target.0.as_wire()), target.0.as_wire())
    }

    /// Puts an entry in, in the place of the one with its target.
    pub fn put(&mut self, entry: Arc<AliasEntry>) {
        let wire = entry.target.0.clone();
        self.entries.insert(self.key.hash(wire.as_wire()), entry, |one| one.target.0 == wire);
    }

    /// Forgets a target.
    pub fn remove(&mut self, target: &TargetKey) {
        self.entries.remove(self.key.hash(target.0.as_wire()), |one| one.target == *target);
    }

    /// Puts a batch in.
    pub fn apply(&mut self, batch: AliasBatch) {
        for target in &batch.removed {
            self.remove(target);
        }
        for entry in batch.put {
            self.put(entry);
        }
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &AliasEntry> {
        self.entries.iter().map(AsRef::as_ref)
    }

    /// Number of targets.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no target.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
