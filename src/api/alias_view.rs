//! How an ALIAS record stands with its target: the walk through hosted zones, what is known of a target outside, and
//! what a query would get now (alias.md sections 3.1, 5, 7). Pure.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{AliasEntry, AliasRef, AliasState, Family, FamilyAnswer, Moment};
use crate::zone::content::Zone;
use crate::zone::node::{Node, RRsetRef};
use crate::zone::served::{Policy, Served, served};
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::{Trust, WalkEnd, walk};

/// What a query gets, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Serving {
    /// Addresses of the target.
    Fresh,
    /// Addresses of the target, past their time.
    Stale,
    /// A static RRset beside the ALIAS.
    Static,
    /// No addresses.
    NoData,
    /// Nothing is known yet.
    Pending,
    /// SERVFAIL.
    ServFail,
}

impl Serving {
    /// The word in the API.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Serving::Fresh => "fresh",
            Serving::Stale => "stale",
            Serving::Static => "static",
            Serving::NoData => "nodata",
            Serving::Pending => "pending",
            Serving::ServFail => "servfail",
        }
    }
}

/// What keeps the TTL down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitedBy {
    /// The ALIAS's own TTL.
    Alias,
    /// A record of the walk through hosted zones.
    Chain,
    /// What is left of the target's.
    Target,
    /// The cap of stale answers.
    Stale,
    /// The cap of dead targets.
    DeadTarget,
    /// Another cap of the rules.
    Policy,
}

impl LimitedBy {
    /// The word in the API.
    pub(crate) fn text(self) -> &'static str {
        match self {
            LimitedBy::Alias => "alias",
            LimitedBy::Chain => "chain",
            LimitedBy::Target => "target",
            LimitedBy::Stale => "stale",
            LimitedBy::DeadTarget => "deadTarget",
            LimitedBy::Policy => "policy",
        }
    }
}

/// State of a target or record over its families (alias.md section 7, *Record state*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combined {
    /// No family has addresses.
    NoAddresses,
    /// One has, another has trouble.
    Partial,
    /// All families served are static.
    Static,
    /// This, by the order of the rules.
    One(AliasState),
}

impl Combined {
    /// The word in the API.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Combined::NoAddresses => "NoAddresses",
            Combined::Partial => "Partial",
            Combined::Static => "Static",
            Combined::One(state) => state.text(),
        }
    }

    /// Over these families' states, each with when it began.
    pub(crate) fn of(states: &[(AliasState, Option<Moment>)]) -> Combined {
        let has = |state| states.iter().any(|(one, _)| *one == state);
        if states.is_empty() {
            return Combined::Static;
        }
        if let Some(state) = [AliasState::Loop, AliasState::ChainTooLong].into_iter().find(|state| has(*state)) {
            return Combined::One(state);
        }
        if states.iter().all(|(state, _)| *state == AliasState::NoData) {
            return Combined::NoAddresses;
        }
        if has(AliasState::Resolved) {
            let fine = |state: &AliasState| matches!(state, AliasState::Resolved | AliasState::NoData);
            let all_fine = states.iter().all(|(state, _)| fine(state));
            return if all_fine { Combined::One(AliasState::Resolved) } else { Combined::Partial };
        }
        let first = [AliasState::TargetNxdomain, AliasState::Suspect, AliasState::Filtered];
        if let Some(state) = first.into_iter().find(|state| has(*state)) {
            return Combined::One(state);
        }
        let failure = states.iter().filter(|(state, _)| state.is_failure()).min_by_key(|(_, since)| *since);
        Combined::One(failure.map_or(AliasState::Pending, |(state, _)| *state))
    }
}

/// One family of a record.
#[derive(Clone, Debug)]
pub(crate) struct FamilyView {
    pub(crate) family: Family,
    /// None where a static RRset is served.
    pub(crate) state: Option<AliasState>,
    pub(crate) since: Option<Moment>,
    pub(crate) serving: Serving,
    pub(crate) addresses: Vec<String>,
    pub(crate) last_addresses: Vec<String>,
    /// Seconds.
    pub(crate) ttl: u32,
    pub(crate) limited_by: LimitedBy,
    pub(crate) stale_until: Option<Moment>,
}

/// A record and where it leads.
#[derive(Clone, Debug)]
pub(crate) struct RecordView {
    /// The name at which the walk ends.
    pub(crate) end: Name,
    /// Whether an upstream is asked for it.
    pub(crate) external: bool,
    pub(crate) families: Vec<FamilyView>,
}

impl RecordView {
    /// State and the time it began.
    pub(crate) fn state(&self) -> (Combined, Option<Moment>) {
        let states: Vec<_> = self.families.iter().filter_map(|family| Some((family.state?, family.since))).collect();
        let combined = Combined::of(&states);
        (combined, since(combined, &states))
    }

    /// The family that is served best.
    pub(crate) fn best(&self) -> Option<&FamilyView> {
        self.families.iter().min_by_key(|family| (family.serving, family.ttl))
    }
}

/// When a combined state began: with the first family that has it, else with the last change of any.
pub(crate) fn since(combined: Combined, states: &[(AliasState, Option<Moment>)]) -> Option<Moment> {
    let same =
        states.iter().filter(|(state, _)| combined == Combined::One(*state)).filter_map(|(_, since)| *since).min();
    same.or_else(|| states.iter().filter_map(|(_, since)| *since).max())
}

/// Looks at an ALIAS that stands at `node` of `zone`.
pub(crate) fn view(
    snapshot: &Snapshot,
    trust: &Trust,
    zone: &Zone,
    node: &Node,
    rrset: RRsetRef<'_>,
    now: Moment,
) -> Option<RecordView> {
    let alias = AliasRef::decode(rrset.first())?;
    let mut scratch = HashedName::empty();
    let mut families = Vec::with_capacity(2);
    let (mut end, mut external) = (None, false);
    for family in Family::BOTH {
        let beside = node.rrset(family.rtype());
        if let Some(beside) = beside {
            families.push(fixed(family, beside));
        }
        if !alias.has(family) {
            continue;
        }
        let walked = walk(snapshot, trust, zone, alias, family, &mut scratch);
        let is_external = matches!(walked, WalkEnd::External { .. });
        if end.is_none() || (is_external && !external) {
            end = Name::from_wire(scratch.wire()).ok();
            external = is_external;
        }
        if beside.is_none() {
            families.push(of_walk(snapshot, walked, family, rrset.ttl, &scratch, now));
        }
    }
    Some(RecordView { end: end?, external, families })
}

fn fixed(family: Family, rrset: RRsetRef<'_>) -> FamilyView {
    FamilyView {
        family,
        state: None,
        since: None,
        serving: Serving::Static,
        addresses: rrset.records().flat_map(|record| texts(family, record)).collect(),
        last_addresses: Vec::new(),
        ttl: rrset.ttl,
        limited_by: LimitedBy::Alias,
        stale_until: None,
    }
}

fn of_walk(
    snapshot: &Snapshot,
    walked: WalkEnd<'_>,
    family: Family,
    alias_ttl: u32,
    scratch: &HashedName,
    now: Moment,
) -> FamilyView {
    let mut view = FamilyView {
        family,
        state: Some(AliasState::Pending),
        since: None,
        serving: Serving::NoData,
        addresses: Vec::new(),
        last_addresses: Vec::new(),
        ttl: alias_ttl,
        limited_by: LimitedBy::Alias,
        stale_until: None,
    };
    match walked {
        WalkEnd::Addresses { rrset, ttl } => {
            view.state = Some(AliasState::Resolved);
            view.serving = Serving::Fresh;
            view.addresses = rrset.records().flat_map(|record| texts(family, record)).collect();
            view.last_addresses.clone_from(&view.addresses);
            if ttl < alias_ttl {
                (view.ttl, view.limited_by) = (ttl, LimitedBy::Chain);
            }
        }
        WalkEnd::NoData => view.state = Some(AliasState::NoData),
        WalkEnd::NameError => {
            view.state = Some(AliasState::TargetNxdomain);
            view.limited_by = LimitedBy::DeadTarget;
        }
        WalkEnd::Loop => view.state = Some(AliasState::Loop),
        WalkEnd::ChainTooLong => view.state = Some(AliasState::ChainTooLong),
        WalkEnd::External { ttl } => match snapshot.alias.get(scratch.hash(scratch.labels()), scratch.wire()) {
            Some(entry) => of_entry(&mut view, entry, alias_ttl, ttl, now),
            None => view.serving = Serving::Pending,
        },
    }
    view
}

fn of_entry(view: &mut FamilyView, entry: &AliasEntry, alias_ttl: u32, chain_ttl: u32, now: Moment) {
    let policy = Policy::default();
    let answer = entry.family(view.family);
    let record_ttl = alias_ttl.min(chain_ttl);
    let own = if chain_ttl < alias_ttl { LimitedBy::Chain } else { LimitedBy::Alias };
    view.state = Some(answer.state);
    view.since = Some(answer.since);
    view.last_addresses = texts(view.family, &answer.addresses);
    match served(answer, entry.family(view.family.other()), record_ttl, now, &policy) {
        Served::Addresses { octets, ttl, stale } => {
            view.serving = if stale { Serving::Stale } else { Serving::Fresh };
            view.addresses = texts(view.family, octets);
            view.ttl = ttl;
            view.limited_by = match (ttl < record_ttl, stale) {
                (false, _) => own,
                (true, true) => LimitedBy::Stale,
                (true, false) => LimitedBy::Target,
            };
            view.stale_until = stale.then(|| answer.expires.plus_seconds(policy.max_stale_seconds));
        }
        Served::NoData { soa_cap, .. } => {
            view.ttl = soa_cap;
            view.limited_by = match answer.state {
                AliasState::TargetNxdomain | AliasState::Suspect => LimitedBy::DeadTarget,
                _ => LimitedBy::Policy,
            };
        }
        Served::ServFail { .. } => {
            view.serving = Serving::ServFail;
            view.ttl = 0;
        }
        Served::Pending => {
            view.serving = Serving::Pending;
            view.ttl = 0;
        }
    }
}

/// Addresses of a family in network order, one after another, as text.
pub(crate) fn texts(family: Family, octets: &[u8]) -> Vec<String> {
    match family {
        Family::A => octets.as_chunks::<4>().0.iter().map(|one| Ipv4Addr::from(*one).to_string()).collect(),
        Family::Aaaa => octets.as_chunks::<16>().0.iter().map(|one| Ipv6Addr::from(*one).to_string()).collect(),
    }
}

/// The states of both families of an entry.
pub(crate) fn states(entry: &AliasEntry) -> [(AliasState, Option<Moment>); 2] {
    let one = |answer: &FamilyAnswer| (answer.state, Some(answer.since));
    [one(&entry.a), one(&entry.aaaa)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_state_that_its_families_make_together() {
        use AliasState::{Loop, NoData, Pending, Resolved, ServFail, Suspect, TargetNxdomain, Timeout};
        let at = |seconds| Some(Moment(seconds));
        for (states, expected) in [
            (vec![(Resolved, at(1)), (NoData, at(1))], Combined::One(Resolved)),
            (vec![(Resolved, at(1)), (Timeout, at(2))], Combined::Partial),
            (vec![(NoData, at(1)), (NoData, at(2))], Combined::NoAddresses),
            (vec![(NoData, at(1)), (TargetNxdomain, at(2))], Combined::One(TargetNxdomain)),
            (vec![(Suspect, at(1)), (TargetNxdomain, at(2))], Combined::One(TargetNxdomain)),
            (vec![(ServFail, at(5)), (Timeout, at(2))], Combined::One(Timeout)),
            (vec![(Pending, at(1)), (Loop, None)], Combined::One(Loop)),
            (vec![(Pending, at(1)), (Pending, at(1))], Combined::One(Pending)),
            (vec![], Combined::Static),
        ] {
            assert_eq!(Combined::of(&states), expected, "{states:?}");
        }
    }
}
