//! How an ALIAS record stands with its target: the walk through hosted zones, what is known of a target outside, and
//! what a query would get now (alias.md sections 3.1, 5, 7). Pure.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{AliasEntry, AliasRef, AliasState, Family, FamilyAnswer, Group, Moment};
use crate::zone::content::Zone;
use crate::zone::lent::{LENT_SECONDS, Lent, lent};
use crate::zone::node::{Node, RRsetRef};
use crate::zone::policy::Policy;
use crate::zone::reach::{Place, Reach, reach};
use crate::zone::served::{CHAIN_TOO_LONG, Known, LOOP, Served, Serving, absent, served};
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::{Trust, WalkEnd};

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
    /// Who is asked, if an upstream is.
    pub(crate) group: Group,
    /// A hosted zone that has the name and that this ALIAS may not enter.
    pub(crate) untrusted: Option<Name>,
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

/// Looks at an ALIAS that stands at `node` of `zone`. `dead_since` is since when its target in a hosted zone is gone,
/// where that is known.
pub(crate) fn view(
    snapshot: &Snapshot,
    trust: &Trust,
    zone: &Zone,
    node: &Node,
    dead_since: Option<Moment>,
    now: Moment,
) -> Option<RecordView> {
    let rrset = node.rrset(Rtype::ALIAS)?;
    let alias = AliasRef::decode(rrset.first())?;
    let mut scratch = HashedName::empty();
    let mut families = Vec::with_capacity(2);
    let (mut end, mut external, mut untrusted) = (None, false, None);
    for family in Family::BOTH {
        let beside = node.rrset(family.rtype());
        if !alias.has(family) {
            families.extend(beside.map(|beside| fixed(family, beside)));
            continue;
        }
        let reached = reach(snapshot, trust, Place { zone, node, alias }, family, &mut scratch);
        let is_external = !matches!(reached, Reach::Inside(_));
        if end.is_none() || (is_external && !external) {
            end = Name::from_wire(scratch.wire()).ok();
            external = is_external;
            let hosted = if is_external { snapshot.find_zone(&scratch, false) } else { None };
            untrusted = hosted.map(|zone| zone.apex()).filter(|apex| *apex != zone.apex()).cloned();
        }
        let mut view = unknown(family, rrset.ttl);
        match reached {
            Reach::Inside(end) => {
                inside(&mut view, end, alias.policy(), beside, rrset.ttl);
                view.since = dead_since.filter(|_| view.state == Some(AliasState::TargetNxdomain));
            }
            Reach::Outside { entry, ttl } => outside(&mut view, entry, (rrset.ttl, ttl), alias.policy(), beside, now),
            Reach::Unknown => {}
        }
        if view.serving == Serving::Pending {
            let place = Place { zone, node, alias };
            borrowed(&mut view, lent(snapshot, trust, place, family, now, &mut scratch));
        }
        families.push(view);
    }
    Some(RecordView { end: end?, external, group: alias.group(), untrusted, families })
}

/// The state of an ALIAS that stands at `node` of `zone`, as [`view`] has it and without the rest.
pub(crate) fn state(snapshot: &Snapshot, trust: &Trust, zone: &Zone, node: &Node) -> Option<Combined> {
    let alias = AliasRef::decode(node.rrset(Rtype::ALIAS)?.first())?;
    let place = Place { zone, node, alias };
    let mut scratch = HashedName::empty();
    let mut states = Vec::with_capacity(2);
    for family in Family::BOTH.into_iter().filter(|family| alias.has(*family)) {
        states.push(match reach(snapshot, trust, place, family, &mut scratch) {
            Reach::Inside(end) => (state_inside(end), None),
            Reach::Outside { entry, .. } => {
                let answer = entry.family(family);
                (answer.state_for(alias.policy().internal), Some(answer.since))
            }
            Reach::Unknown => (AliasState::Pending, None),
        });
    }
    Some(Combined::of(&states))
}

/// The state that the end of a walk through hosted zones is.
fn state_inside(end: WalkEnd<'_>) -> AliasState {
    match end {
        WalkEnd::Addresses { .. } => AliasState::Resolved,
        WalkEnd::NoData => AliasState::NoData,
        WalkEnd::NameError => AliasState::TargetNxdomain,
        WalkEnd::Loop => AliasState::Loop,
        WalkEnd::ChainTooLong | WalkEnd::External { .. } => AliasState::ChainTooLong,
    }
}

fn unknown(family: Family, ttl: u32) -> FamilyView {
    FamilyView {
        family,
        state: Some(AliasState::Pending),
        since: None,
        serving: Serving::Pending,
        addresses: Vec::new(),
        last_addresses: Vec::new(),
        ttl,
        limited_by: LimitedBy::Alias,
        stale_until: None,
    }
}

fn addresses_of(family: Family, rrset: RRsetRef<'_>) -> Vec<String> {
    rrset.records().filter_map(|record| text(family, record)).collect()
}

fn fixed(family: Family, rrset: RRsetRef<'_>) -> FamilyView {
    let addresses = addresses_of(family, rrset);
    FamilyView { state: None, serving: Serving::Static, addresses, ..unknown(family, rrset.ttl) }
}

fn inside(view: &mut FamilyView, end: WalkEnd<'_>, policy: Policy, beside: Option<RRsetRef<'_>>, alias_ttl: u32) {
    view.serving = Serving::NoData;
    view.state = Some(state_inside(end));
    match end {
        WalkEnd::Addresses { rrset, ttl } => {
            view.serving = Serving::Fresh;
            view.addresses = addresses_of(view.family, rrset);
            view.last_addresses.clone_from(&view.addresses);
            if ttl < alias_ttl {
                (view.ttl, view.limited_by) = (ttl, LimitedBy::Chain);
            }
        }
        WalkEnd::NoData => {}
        WalkEnd::NameError => without(view, absent(&policy), beside),
        WalkEnd::Loop => without(view, LOOP, beside),
        WalkEnd::ChainTooLong | WalkEnd::External { .. } => without(view, CHAIN_TOO_LONG, beside),
    }
}

fn outside(
    view: &mut FamilyView,
    entry: &AliasEntry,
    (alias_ttl, chain_ttl): (u32, u32),
    policy: Policy,
    beside: Option<RRsetRef<'_>>,
    now: Moment,
) {
    let answer = entry.family(view.family);
    let record_ttl = alias_ttl.min(chain_ttl);
    let own = if chain_ttl < alias_ttl { LimitedBy::Chain } else { LimitedBy::Alias };
    view.state = Some(answer.state_for(policy.internal));
    view.since = Some(answer.since);
    view.last_addresses = texts(view.family, answer.addresses.octets(view.family));
    let known = Known { family: view.family, own: answer, other: entry.family(view.family.other()) };
    match served(known, record_ttl, now, &policy) {
        Served::Addresses { addresses, ttl, stale } => {
            view.serving = if stale { Serving::Stale } else { Serving::Fresh };
            view.addresses = addresses.iter(view.family).filter_map(|one| text(view.family, one)).collect();
            view.ttl = ttl;
            view.limited_by = match (ttl < record_ttl, stale) {
                (false, _) => own,
                (true, true) => LimitedBy::Stale,
                (true, false) => LimitedBy::Target,
            };
            view.stale_until = stale.then(|| answer.expires(policy.hold).plus_seconds(policy.max_stale_seconds));
        }
        other => without(view, other, beside),
    }
}

/// What is served of the target before, while this one is pending.
fn borrowed(view: &mut FamilyView, lent: Option<Lent<'_>>) {
    let family = view.family;
    view.addresses = match lent {
        Some(Lent::Hosted(rrset)) => addresses_of(family, rrset),
        Some(Lent::Resolved(chosen)) => chosen.iter(family).filter_map(|one| text(family, one)).collect(),
        Some(Lent::NoData) => Vec::new(),
        None => return,
    };
    view.serving = if view.addresses.is_empty() { Serving::NoData } else { Serving::Stale };
    (view.ttl, view.limited_by) = (view.ttl.min(LENT_SECONDS), LimitedBy::Stale);
}

/// What is served where there are no addresses of the target.
fn without(view: &mut FamilyView, served: Served<'_>, beside: Option<RRsetRef<'_>>) {
    let limited_by = match view.state {
        Some(AliasState::TargetNxdomain | AliasState::Suspect) => LimitedBy::DeadTarget,
        _ => LimitedBy::Policy,
    };
    (view.serving, view.ttl) = match served {
        Served::NoData { soa_cap, .. } => (Serving::NoData, soa_cap),
        Served::Fallback { cap, .. } => match beside {
            Some(rrset) => {
                view.addresses = addresses_of(view.family, rrset);
                (Serving::Fallback, rrset.ttl.min(cap))
            }
            None => (Serving::NoData, cap),
        },
        Served::ServFail { .. } => (Serving::ServFail, 0),
        Served::Pending | Served::Addresses { .. } => (Serving::Pending, 0),
    };
    view.limited_by = limited_by;
}

fn text(family: Family, octets: &[u8]) -> Option<String> {
    match family {
        Family::A => octets.as_array::<4>().map(|one| Ipv4Addr::from(*one).to_string()),
        Family::Aaaa => octets.as_array::<16>().map(|one| Ipv6Addr::from(*one).to_string()),
    }
}

/// Addresses of a family in network order, one after another, as text.
pub(crate) fn texts(family: Family, octets: &[u8]) -> Vec<String> {
    octets.chunks_exact(family.octets()).filter_map(|one| text(family, one)).collect()
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
