//! ALIAS as plain data: the record as it is published, its targets, and what is known of them (alias.md).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::addresses::Addresses;
use super::policy::{Hold, Internal, PACKED, Policy};
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

/// A group of upstreams by its place in the configuration: the key of what is known of targets, since groups may answer
/// differently. Numbers hold for one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Group(pub u8);

impl Group {
    /// The group `default`.
    pub const DEFAULT: Group = Group(0);
    /// A group that a record names and the configuration does not have: nothing is resolved through it.
    pub const UNKNOWN: Group = Group(u8::MAX);
}

/// The RDATA of an ALIAS in a published node: target, enabled families, how it is served, and the owners whose zones it
/// may enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasRecord {
    /// The target, letter case as written.
    pub target: Vec<u8>,
    /// Whether A is flattened.
    pub a: bool,
    /// Whether AAAA is flattened.
    pub aaaa: bool,
    /// Who is asked for the target.
    pub group: Group,
    /// Whether that is so because the zone says it.
    pub inherited: bool,
    /// How it is served.
    pub policy: Policy,
    /// The holder and its parents, by their numbers in the store (alias.md section 3.2).
    pub owners: Vec<u32>,
}

/// Octets of families, group and policy.
pub const FIXED: usize = 2 + PACKED;

impl AliasRecord {
    /// Packs the record: target, one octet of families, one of the group, the policy, the owners' numbers.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.target.clone();
        out.push(u8::from(self.a) | u8::from(self.aaaa) << 1 | u8::from(self.inherited) << 2);
        out.push(self.group.0);
        out.extend_from_slice(&self.policy.pack());
        for owner in &self.owners {
            out.extend_from_slice(&owner.to_le_bytes());
        }
        out
    }

    /// Of this target with both families, served as by default, of these owners.
    pub fn plain(target: Vec<u8>, owners: Vec<u32>) -> AliasRecord {
        let (group, policy) = (Group::DEFAULT, Policy::default());
        AliasRecord { target, a: true, aaaa: true, group, inherited: true, policy, owners }
    }

    /// Puts another group into a packed record that has it from its zone; whether that changed it.
    pub fn regroup(packed: &mut [u8], group: Group) -> bool {
        let Some(at) = wire_length(packed) else { return false };
        match packed.get_mut(at..at + 2) {
            Some([families, number]) if *families & 4 != 0 && *number != group.0 => {
                *number = group.0;
                true
            }
            Some(_) | None => false,
        }
    }
}

/// In the octet of families: between the policy and the owners stands the target before this one.
const HAS_PREVIOUS: u8 = 8;

/// A published ALIAS record, read in place.
#[derive(Clone, Copy, Debug)]
pub struct AliasRef<'a> {
    /// The target in wire form, letter case as written.
    pub target: &'a [u8],
    fixed: &'a [u8; FIXED],
    /// Until when in milliseconds, and the target before, in wire form; or nothing.
    previous: &'a [u8],
    owners: &'a [u8],
}

impl<'a> AliasRef<'a> {
    /// Reads what [`AliasRecord::encode`] wrote.
    #[inline]
    pub fn decode(rdata: &'a [u8]) -> Option<AliasRef<'a>> {
        let (target, rest) = rdata.split_at(wire_length(rdata)?);
        let (fixed, rest) = rest.split_first_chunk::<FIXED>()?;
        let (previous, owners) = if fixed[0] & HAS_PREVIOUS == 0 {
            (&[][..], rest)
        } else {
            rest.split_at(8 + wire_length(rest.get(8..)?)?)
        };
        Some(AliasRef { target, fixed, previous, owners })
    }

    /// The target that it had before this one, as long as that may be served in its place.
    pub fn previous(self, now: Moment) -> Option<&'a [u8]> {
        self.lends().filter(|(until, _)| now < *until).map(|(_, target)| target)
    }

    /// Until when the target before may be served, with that target.
    pub fn lends(self) -> Option<(Moment, &'a [u8])> {
        let (until, target) = self.previous.split_first_chunk::<8>()?;
        Some((Moment(u64::from_le_bytes(*until)), target))
    }

    /// The same with another target.
    pub fn towards(self, target: &'a [u8]) -> AliasRef<'a> {
        AliasRef { target, previous: &[], ..self }
    }

    /// Packs it with a target before it that may be served until then.
    pub fn encode_with(self, until: Moment, previous: &[u8]) -> Vec<u8> {
        let mut out = self.target.to_vec();
        let [families, rest @ ..] = self.fixed;
        out.push(families | HAS_PREVIOUS);
        out.extend_from_slice(rest);
        out.extend_from_slice(&until.0.to_le_bytes());
        out.extend_from_slice(previous);
        out.extend_from_slice(self.owners);
        out
    }

    /// Whether this family is flattened.
    #[inline]
    pub fn has(self, family: Family) -> bool {
        match family {
            Family::A => self.fixed[0] & 1 != 0,
            Family::Aaaa => self.fixed[0] & 2 != 0,
        }
    }

    /// Who is asked for the target.
    #[inline]
    pub fn group(self) -> Group {
        Group(self.fixed[1])
    }

    /// How it is served.
    #[inline]
    pub fn policy(self) -> Policy {
        let [_, _, packed @ ..] = self.fixed;
        Policy::unpack(packed)
    }

    /// The owner that holds the record, by its number in the store.
    pub fn owner(self) -> Option<u32> {
        self.owners.first_chunk::<4>().map(|octets| u32::from_le_bytes(*octets))
    }

    /// The holder and its parents, by their numbers in the store.
    pub fn owners(self) -> impl Iterator<Item = u32> + 'a {
        self.owners.as_chunks::<4>().0.iter().map(|octets| u32::from_le_bytes(*octets))
    }

    /// Whether the holder or one of its parents is this owner.
    #[inline]
    pub fn trusts(self, owner: u32) -> bool {
        self.owners.chunks_exact(4).any(|one| one == owner.to_le_bytes())
    }

    /// All that is served of it in the end: everything but the owners and the target before.
    pub fn served(self) -> (&'a [u8], [u8; FIXED]) {
        let mut fixed = *self.fixed;
        fixed[0] &= !HAS_PREVIOUS;
        (self.target, fixed)
    }
}

/// What is looked up: a name outside the hosted zones, for both families, through a group (alias.md, *Entry*).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetKey {
    /// The name.
    pub name: Name,
    /// Who is asked.
    pub group: Group,
}

impl TargetKey {
    /// Of the group `default`.
    pub fn of(name: Name) -> TargetKey {
        TargetKey { name, group: Group::DEFAULT }
    }
}

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
    /// Its owner has more lookups than are admitted.
    RateLimited,
    /// The chain comes back to a name it had.
    Loop,
    /// The chain has over 16 steps.
    ChainTooLong,
    /// There were addresses, all of them internal (alias.md section 3.4).
    Filtered,
}

impl AliasState {
    /// All states.
    pub const ALL: [AliasState; 14] = [
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
        AliasState::RateLimited,
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
            AliasState::RateLimited => "RateLimited",
            AliasState::Loop => "Loop",
            AliasState::ChainTooLong => "ChainTooLong",
            AliasState::Filtered => "Filtered",
        }
    }

    /// The state of this name.
    pub fn from_text(text: &str) -> Option<AliasState> {
        AliasState::ALL.into_iter().find(|state| state.text() == text)
    }

    /// Whether the last lookup brought no answer that says anything about the target.
    pub fn is_failure(self) -> bool {
        match self {
            AliasState::Timeout
            | AliasState::ServFail
            | AliasState::Refused
            | AliasState::Network
            | AliasState::NoResolver
            | AliasState::RateLimited => true,
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

/// What the last lookup of a family told beside its answer: for people, and for the next start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastLookup {
    /// Failing lookups in a row.
    pub failures: u8,
    /// The state that the last lookup would be by itself, if it brought no answer: a failure or NXDOMAIN.
    pub error: Option<AliasState>,
    /// Who answered last.
    pub upstream: Option<SocketAddr>,
    /// The names that CNAMEs led to from the target in the last answer; a failure is none.
    pub chain: Box<[Name]>,
    /// Whether the last NXDOMAIN came from the root or a one-label zone: then the domain may be free to register.
    pub takeover_risk: bool,
}

/// What is known of one family of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyAnswer {
    /// The state.
    pub state: AliasState,
    /// Since when it is in this state.
    pub since: Moment,
    /// Addresses of the last good answer; none for NODATA.
    pub addresses: Addresses,
    /// When the last good answer (addresses or NODATA) was fetched; none if there never was one.
    pub last_ok: Option<Moment>,
    /// Lowest TTL of the last good answer in seconds, as the upstream gave it; of NODATA, how long it is held.
    pub ttl: u32,
    /// Highest TTL of the last fetches in seconds, as upstreams gave them: `T̂` of alias.md section 4 before the clamp.
    pub highest_ttl: u32,
    /// When it was last asked.
    pub checked: Option<Moment>,
    /// When the addresses last became others.
    pub changed: Option<Moment>,
    /// Names of the target's chain from the first on that lies in a hosted zone: there the walk goes on in the server,
    /// if the zone is trusted.
    pub crossing: Option<Arc<[Name]>>,
    /// Of the last lookup; none before the first.
    pub lookup: Option<Arc<LastLookup>>,
}

impl FamilyAnswer {
    /// Nothing known yet.
    pub fn pending(now: Moment) -> FamilyAnswer {
        FamilyAnswer {
            state: AliasState::Pending,
            since: now,
            addresses: Addresses::default(),
            last_ok: None,
            ttl: 0,
            highest_ttl: 0,
            checked: None,
            changed: None,
            crossing: None,
            lookup: None,
        }
    }

    /// For how many seconds the last good answer is held.
    #[inline]
    pub fn held(&self, hold: Hold) -> u32 {
        if self.addresses.is_empty() { self.ttl } else { hold.clamp(self.ttl) }
    }

    /// Until when the last good answer is fresh: `E` of alias.md section 5.
    #[inline]
    pub fn expires(&self, hold: Hold) -> Moment {
        self.last_ok.unwrap_or(self.since).plus_seconds(self.held(hold))
    }

    /// Highest hold of the last fetches in seconds: `T̂` of alias.md section 4.
    #[inline]
    pub fn longest_hold(&self, hold: Hold) -> u32 {
        hold.clamp(self.highest_ttl)
    }

    /// The names that CNAMEs led to from the target in the last answer.
    pub fn chain(&self) -> &[Name] {
        self.lookup.as_ref().map_or(&[], |lookup| &lookup.chain)
    }

    /// Whether the target's domain may be free to register, as far as this family tells.
    pub fn is_for_sale(&self) -> bool {
        self.state == AliasState::TargetNxdomain && self.lookup.as_ref().is_some_and(|lookup| lookup.takeover_risk)
    }

    /// The state as a record sees it that serves internal addresses or does not.
    #[inline]
    pub fn state_for(&self, internal: Internal) -> AliasState {
        match (self.state, internal) {
            (AliasState::Filtered, Internal::Kept) => AliasState::Resolved,
            (state, Internal::Kept | Internal::Removed) => state,
        }
    }
}

/// When queries last asked for a target, family by family, in seconds since 1970-01-01 UTC. Queries write it and the
/// engine reads it, in no order with anything else; it decides about pace alone.
#[derive(Debug, Default)]
pub struct Asked {
    families: [AtomicU32; 2],
    hinted: [AtomicU32; 2],
}

/// What is asked is no part of what is known.
impl PartialEq for Asked {
    fn eq(&self, _: &Asked) -> bool {
        true
    }
}

impl Eq for Asked {}

impl Asked {
    /// Notes a query: at most one store a second and worker.
    #[inline]
    pub fn note(&self, family: Family, now: Moment) {
        store_once(&self.families[family as usize], now);
    }

    /// When a query last asked; none if none did.
    pub fn at(&self, family: Family) -> Option<Moment> {
        match self.families[family as usize].load(Ordering::Relaxed) {
            0 => None,
            seconds => Some(Moment(u64::from(seconds) * 1000)),
        }
    }

    /// Whether a hint is due: true at most once a second and worker.
    #[inline]
    pub fn wants_hint(&self, family: Family, now: Moment) -> bool {
        store_once(&self.hinted[family as usize], now)
    }
}

#[inline]
fn store_once(stamp: &AtomicU32, now: Moment) -> bool {
    let seconds = (now.0 / 1000) as u32;
    let is_new = stamp.load(Ordering::Relaxed) != seconds;
    if is_new {
        stamp.store(seconds, Ordering::Relaxed);
    }
    is_new
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
    /// When queries asked for it.
    pub asked: Arc<Asked>,
}

impl AliasEntry {
    /// Nothing known yet of either family.
    pub fn pending(target: TargetKey, now: Moment) -> AliasEntry {
        AliasEntry { target, a: FamilyAnswer::pending(now), aaaa: FamilyAnswer::pending(now), asked: Arc::default() }
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

    /// The names that CNAMEs led to from the target, those of A if it had any.
    pub fn chain(&self) -> &[Name] {
        if self.a.chain().is_empty() { self.aaaa.chain() } else { self.a.chain() }
    }

    /// Whether its domain may be free to register.
    pub fn takeover_risk(&self) -> bool {
        self.a.is_for_sale() || self.aaaa.is_for_sale()
    }

    /// The state of the target as a whole.
    pub fn state(&self) -> RecordState {
        RecordState::of(Some(&self.a), Some(&self.aaaa))
    }
}

/// A record that leads to a target, for those who tell its owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependent {
    /// Apex of the zone.
    pub zone: Name,
    /// The name at which it stands.
    pub name: Name,
    /// The owner that holds it, by its number in the store.
    pub owner: u32,
}

/// A target that is in another state now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The target.
    pub target: TargetKey,
    /// What it was.
    pub from: RecordState,
    /// What it is.
    pub to: RecordState,
    /// Since when.
    pub at: Moment,
    /// Whether its domain may be free to register.
    pub takeover_risk: bool,
    /// Records that lead to it, some of them if there are many.
    pub dependents: Vec<Dependent>,
    /// How many lead to it.
    pub count: u64,
}

/// What became of targets since the last batch: the controller puts it into the next Snapshot, `removed` first, then
/// `put`, since a target may have gone and come back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AliasBatch {
    /// Entries that are new or not as they were.
    pub put: Vec<Arc<AliasEntry>>,
    /// Targets that nobody points to any more.
    pub removed: Vec<TargetKey>,
    /// Targets in another state, for the history.
    pub transitions: Vec<Transition>,
    /// Targets whose records went into quarantine, for the history.
    pub quarantined: Vec<Transition>,
}

impl AliasBatch {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty() && self.transitions.is_empty() && self.quarantined.is_empty()
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
    pub fn get(&self, hash: u64, wire: &[u8], group: Group) -> Option<&Arc<AliasEntry>> {
        self.entries.get(keyed(hash, group), |entry| entry.target.name.as_wire() == wire && entry.target.group == group)
    }

    /// The entry of a target.
    pub fn entry(&self, target: &TargetKey) -> Option<&Arc<AliasEntry>> {
        self.get(self.key.hash(target.name.as_wire()), target.name.as_wire(), target.group)
    }

    /// Puts an entry in, in the place of the one with its target.
    pub fn put(&mut self, entry: Arc<AliasEntry>) {
        let target = entry.target.clone();
        self.entries.insert(self.hash(&target), entry, |one| one.target == target);
    }

    /// Forgets a target.
    pub fn remove(&mut self, target: &TargetKey) {
        self.entries.remove(self.hash(target), |one| one.target == *target);
    }

    fn hash(&self, target: &TargetKey) -> u64 {
        keyed(self.key.hash(target.name.as_wire()), target.group)
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
    pub fn iter(&self) -> impl Iterator<Item = &Arc<AliasEntry>> {
        self.entries.iter()
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

/// Targets of one name in different groups lie apart.
#[inline]
fn keyed(hash: u64, group: Group) -> u64 {
    hash ^ u64::from(group.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
