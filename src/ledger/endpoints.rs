//! Changes of an external-dns client: each record is judged alone, the good ones are committed together, and a name that
//! has an answer keeps one when what was to take its place is refused.

use std::collections::{HashMap, HashSet};

use super::actor::Actor;
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::command::{BadWish, OnConflict, OwnerKeys, RecordName, Wish};
use super::draft::Draft;
use super::entitlement;
use super::external_dns::{
    self as door, Adopting, ChangeEndpoints, DoorUse, MAX_REGISTRY, MAX_REGISTRY_TEXT, RegistryText, exclude, presented,
};
use super::hold;
use super::owner::{OwnerId, OwnerNumber};
use super::owning::{self, Extent};
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::rules::{self, Occluded};
use super::scope::{Ledger, NameKey, is_redirection};
use super::wish::same_records;
use super::write::{self, Candidate, Manner};
use super::zone::ZoneRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Which record of a client is meant: zone, name, type in the protocol, set id.
type Key = (NameKey, Rtype, String);

/// A claim that is deleted, and what that came to.
struct Going {
    claim: Claim,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It goes whatever else is asked for.
    Leaves,
    /// It makes room for a record that excludes it, and stays if none of those comes.
    MakesRoom,
}

/// Plans [`super::command::Command::ChangeEndpoints`].
pub(super) fn change(draft: &mut Draft, actor: &Actor, asked: &ChangeEndpoints) -> Result<(), Refusal> {
    let owner = prepare(draft, actor, asked)?;
    let txt_owner = draft.ledger.owners.get(&owner).and_then(|owner| owner.external_dns.clone());
    let txt_owner = txt_owner.and_then(|door| door.txt_owner_id).unwrap_or_else(|| asked.default_txt_owner.clone());
    let owner_id = &asked.change.owner;
    let mut candidates = Vec::with_capacity(asked.change.upsert.len());
    let mut refused = Vec::new();
    let mut written: HashSet<Key> = HashSet::new();
    let mut wanted: HashMap<NameKey, Vec<Rtype>> = HashMap::new();
    for wish in &asked.change.upsert {
        let key = match wish {
            Ok(wish) => Some((wish.name.clone(), wish.rtype)),
            Err(bad) => bad.key.clone(),
        };
        let place =
            key.and_then(|(name, rtype)| Some((NameKey { zone: draft.ledger.zone_of(&name)?.number, name }, rtype)));
        if let Some((key, rtype)) = &place {
            wanted.entry(key.clone()).or_default().push(*rtype);
        }
        match resolve(draft, actor, (owner, owner_id), wish, &txt_owner, &mut written) {
            Ok(candidate) => candidates.push(candidate),
            Err(item) => {
                // A record that is refused deletes nothing of its key either.
                if let (Some((key, rtype)), set_id) = (place, item.set_id.clone()) {
                    written.insert((key, presented(rtype), set_id));
                }
                refused.push(item);
            }
        }
    }
    let mut touched = Vec::new();
    let going = deletes(draft, actor, (owner, owner_id), asked, &txt_owner, (&written, &wanted));
    let going = brake(draft, owner, asked, going);
    for one in &going {
        draft.remove_claim(&one.claim);
    }
    // Cuts and DNAMEs first, and of those the upper ones, as in every write.
    candidates.sort_by_key(|one: &Candidate| match is_redirection(one.claim.rtype, one.at_apex) {
        true => one.claim.name.label_count(),
        false => usize::MAX,
    });
    let mut in_effect: HashMap<NameKey, Vec<Rtype>> = HashMap::new();
    for candidate in candidates {
        let (key, rtype) = (key_of(&candidate.claim), candidate.claim.rtype);
        let item = place(draft, candidate, asked);
        touched.push(key.clone());
        if !item.outcome.is_refused() {
            in_effect.entry(key).or_default().push(rtype);
        }
        draft.report_item(item);
    }
    refused.into_iter().for_each(|item| draft.report_item(item));
    for one in going {
        let key = key_of(&one.claim);
        let replaced = || in_effect.get(&key).is_some_and(|types| types.iter().any(|by| exclude(*by, one.claim.rtype)));
        if one.fate == Fate::Leaves || replaced() {
            draft.report_claim(&one.claim, ItemOutcome::Deleted, None);
            touched.push(key);
        } else {
            let detail = format!("what was to take the place of {} {} is refused", one.claim.name, one.claim.rtype);
            let problem = Problem::new(Code::SwapRefused, detail);
            draft.put_claim(one.claim.clone());
            draft.report_claim(&one.claim, ItemOutcome::Conflict, Some(problem));
        }
    }
    for text in &asked.absorbed {
        absorb(draft, (owner, owner_id), text);
    }
    draft.settle_all(touched);
    draft.mark_written(owner);
    Ok(())
}

fn prepare(draft: &mut Draft, actor: &Actor, asked: &ChangeEndpoints) -> Result<OwnerNumber, Problem> {
    let known = draft.ledger.owner(&asked.change.owner).and_then(|owner| owner.external_dns.clone());
    // What is known stays: only `PUT /v1/owners` renames it.
    let pin = match known.as_ref().and_then(|known| known.txt_owner_id.as_ref()) {
        Some(_) => None,
        None => asked.pin.clone().filter(|text| DoorUse::is_fit(text)),
    };
    let keys = OwnerKeys { external_dns: Some(DoorUse { txt_owner_id: pin }), ..asked.change.keys.clone() };
    owning::prepare(draft, actor, &asked.change.owner, &keys, Extent::Part, None)
}

pub(super) fn key_of(claim: &Claim) -> NameKey {
    NameKey { zone: claim.zone, name: claim.name.clone() }
}

/// Whether the token lets a record through, by its type in the protocol.
pub(super) fn check_limits(
    ledger: &Ledger,
    actor: &Actor,
    zone: &ZoneRow,
    name: &Name,
    rtype: Rtype,
) -> Result<(), (ItemOutcome, Problem)> {
    entitlement::check_limits(actor, zone, name, presented(rtype))
        .map_err(|problem| (ItemOutcome::Invalid, problem))?;
    entitlement::check_apex(ledger, actor, zone, name, rtype).map_err(|problem| (ItemOutcome::Conflict, problem))
}

fn refusal(owner: &OwnerId, wish: &Result<Wish, BadWish>, outcome: ItemOutcome, problem: Problem) -> Item {
    let (zone, name, rtype, set_id) = match wish {
        Ok(wish) => (wish.zone.clone(), wish.name.to_string(), wish.rtype.to_string(), wish.set_id.clone()),
        Err(bad) => (None, bad.name.clone(), bad.rtype.clone(), String::new()),
    };
    Item { zone, name, rtype, set_id, owner: owner.clone(), outcome, problem: Some(problem), promoted: None }
}

fn mismatch(given: &str, known: &str) -> Problem {
    let detail = format!(
        "the client says that it is `{}`, and the records of this owner belong to `{}`: two clients need two URLs, and \
        externalDns.txtOwnerId of PUT /v1/owners renames one",
        given.escape_debug(),
        known.escape_debug()
    );
    Problem::new(Code::OwnerLabelMismatch, detail)
}

fn resolve(
    draft: &Draft,
    actor: &Actor,
    (owner, owner_id): (OwnerNumber, &OwnerId),
    asked: &Result<Wish, BadWish>,
    txt_owner: &str,
    written: &mut HashSet<Key>,
) -> Result<Candidate, Item> {
    let refuse = |outcome, problem| refusal(owner_id, asked, outcome, problem);
    let wish = asked.as_ref().map_err(|bad| refuse(ItemOutcome::Invalid, bad.problem.clone()))?;
    if let Some(given) = wish.labels.get(door::OWNER).filter(|given| !given.is_empty() && *given != txt_owner) {
        return Err(refuse(ItemOutcome::Conflict, mismatch(given, txt_owner)));
    }
    let zone = write::zone_of(&draft.ledger, wish.zone.as_ref(), &wish.name)
        .map_err(|problem| refuse(ItemOutcome::Invalid, problem))?;
    check_limits(&draft.ledger, actor, zone, &wish.name, wish.rtype)
        .map_err(|(outcome, problem)| refuse(outcome, problem))?;
    let key = NameKey { zone: zone.number, name: wish.name.clone() };
    if !written.insert((key, presented(wish.rtype), wish.set_id.clone())) {
        return Err(refuse(ItemOutcome::Invalid, write::listed_twice(&wish.name, presented(wish.rtype))));
    }
    let claim = claim_of(draft, zone, owner, wish);
    Ok(Candidate { at_apex: claim.name == zone.name, claim, serial: None })
}

/// The claim that a wish asks for, without the client's owner id.
pub(super) fn claim_of(draft: &Draft, zone: &ZoneRow, owner: OwnerNumber, wish: &Wish) -> Claim {
    let mut claim = write::claim_of(draft, zone, owner, wish);
    claim.labels.remove(door::OWNER);
    write::take_serial(&mut claim);
    claim
}

/// The claims that the deletes mean; deletes that mean nothing, or may not be, are reported.
fn deletes(
    draft: &mut Draft,
    actor: &Actor,
    (owner, owner_id): (OwnerNumber, &OwnerId),
    asked: &ChangeEndpoints,
    txt_owner: &str,
    (written, wanted): (&HashSet<Key>, &HashMap<NameKey, Vec<Rtype>>),
) -> Vec<Going> {
    let mut going: Vec<Going> = Vec::new();
    let mut seen: HashSet<(NameKey, Rtype, String)> = HashSet::new();
    for (at, record) in asked.change.delete.iter().enumerate() {
        let set_id = record.set_id.clone().unwrap_or_default();
        let given = asked.delete_owners.get(at).and_then(Option::as_deref).filter(|given| !given.is_empty());
        let report = |draft: &mut Draft, outcome, problem| {
            draft.report_item(item_of(record, owner_id, outcome, problem));
        };
        if let Some(given) = given.filter(|given| *given != txt_owner) {
            report(draft, ItemOutcome::Conflict, Some(mismatch(given, txt_owner)));
            continue;
        }
        let Some(zone) = draft.ledger.zone_of(&record.name).cloned() else {
            // In no zone there is nothing to delete.
            report(draft, ItemOutcome::Unchanged, None);
            continue;
        };
        if let Err((outcome, problem)) = check_limits(&draft.ledger, actor, &zone, &record.name, record.rtype) {
            report(draft, outcome, Some(problem));
            continue;
        }
        let key = NameKey { zone: zone.number, name: record.name.clone() };
        if written.contains(&(key, presented(record.rtype), set_id.clone())) {
            continue;
        }
        let zones = zones_of(&draft.ledger, &record.name);
        let own = zones.into_iter().flat_map(|zone| {
            let key = NameKey { zone, name: record.name.clone() };
            draft.claims(&key).to_vec()
        });
        let meant: Vec<Claim> = own
            .filter(|one| one.owner == owner && one.set_id == set_id && one.state != ClaimState::Quarantined)
            .filter(|one| presented(one.rtype) == presented(record.rtype))
            .filter(|one| seen.insert((key_of(one), one.rtype, set_id.clone())))
            .collect();
        if meant.is_empty() {
            report(draft, ItemOutcome::Unchanged, None);
        }
        for claim in meant {
            let makes_room = claim.is_held()
                && wanted.get(&key_of(&claim)).is_some_and(|types| types.iter().any(|by| exclude(*by, claim.rtype)));
            going.push(Going { claim, fate: if makes_room { Fate::MakesRoom } else { Fate::Leaves } });
        }
    }
    going
}

/// The zone of a name, and where it is cut off another, that one, too.
fn zones_of(ledger: &Ledger, name: &Name) -> Vec<super::zone::ZoneNumber> {
    name.ancestors().filter_map(|apex| ledger.zone(&apex)).map(|zone| zone.number).take(2).collect()
}

fn item_of(record: &RecordName, owner: &OwnerId, outcome: ItemOutcome, problem: Option<Problem>) -> Item {
    Item {
        zone: record.zone.clone(),
        name: record.name.to_string(),
        rtype: record.rtype.to_string(),
        set_id: record.set_id.clone().unwrap_or_default(),
        owner: owner.clone(),
        outcome,
        problem,
        promoted: None,
    }
}

/// Puts the deletes on hold if there are too many, swaps apart; gives back those that are done. What is written or deleted
/// now is on hold no longer.
fn brake(draft: &mut Draft, owner: OwnerNumber, asked: &ChangeEndpoints, going: Vec<Going>) -> Vec<Going> {
    let total = draft.ledger.owned;
    let leaving = going.iter().filter(|one| one.fate == Fate::Leaves).count() as u64;
    if !asked.brake.holds(leaving, total) {
        let written =
            asked.change.upsert.iter().flatten().map(|wish| (&wish.name, presented(wish.rtype), &wish.set_id));
        let leaving = going.iter().map(|one| (&one.claim.name, presented(one.claim.rtype), &one.claim.set_id));
        let over: HashSet<(&Name, Rtype, &String)> = written.chain(leaving).collect();
        hold::forget(draft, owner, |one| over.contains(&(&one.name, presented(one.rtype), &one.set_id)));
        return going;
    }
    let (mut held, done): (Vec<Going>, Vec<Going>) = going.into_iter().partition(|one| one.fate == Fate::Leaves);
    held.sort_by_cached_key(|one| {
        let zone = draft.ledger.zones.get(&one.claim.zone);
        (one.claim.zone, zone.and_then(|zone| one.claim.name.sort_key(&zone.name)), one.claim.rtype)
    });
    let detail = format!(
        "{leaving} of {total} records would go at once: GET /v1/holds lists them, POST /v1/holds/{{id}}/approve deletes them"
    );
    let held: Vec<Claim> = held.into_iter().map(|one| one.claim).collect();
    for claim in &held {
        draft.report_claim(claim, ItemOutcome::Held, Some(Problem::new(Code::DeleteGuard, detail.clone())));
    }
    hold::replace(draft, owner, total, &held);
    done
}

/// Places one record. What it takes the place of among the owner's own goes with it, and stays if it is refused.
fn place(draft: &mut Draft, mut candidate: Candidate, asked: &ChangeEndpoints) -> Item {
    let wish = &mut candidate.claim;
    let key = key_of(wish);
    let at_name = draft.claims(&key).to_vec();
    let own = |one: &&Claim| one.owner == wish.owner && one.is_held();
    let is_variant = |one: &&Claim| {
        one.set_id == wish.set_id && one.rtype != wish.rtype && presented(one.rtype) == presented(wish.rtype)
    };
    let variant: Vec<Claim> = at_name.iter().filter(own).filter(is_variant).cloned().collect();
    let superseded: Vec<Claim> = at_name.iter().filter(own).filter(|one| supersedes(wish, one)).cloned().collect();
    let adopted = adoptable(draft, &at_name, wish, asked.adopting);
    let existing = at_name.iter().find(|one| rules::is_same_claim(one, wish));
    for old in existing.into_iter().chain(&variant) {
        if let Some(kept) = old.labels.get(door::REGISTRY) {
            wish.labels.insert(door::REGISTRY.to_owned(), kept.clone());
        }
    }
    let second = wish.rtype.is_singleton()
        && at_name
            .iter()
            .any(|one| own(&one) && one.set_id != wish.set_id && presented(one.rtype) == presented(wish.rtype));
    let making_room: Vec<Claim> = variant.iter().chain(&superseded).chain(&adopted).cloned().collect();
    making_room.iter().for_each(|one| draft.remove_claim(one));
    // A held record that is refused another form keeps the one it has, and queues for nothing.
    let on_conflict = if variant.is_empty() { asked.change.on_conflict } else { OnConflict::Reject };
    let manner = Manner { atomic: false, on_conflict, occluded: Occluded::Refused };
    let stale: Vec<Claim> =
        at_name.iter().filter(|one| one.owner == wish.owner && !one.is_held() && is_variant(one)).cloned().collect();
    let (mut item, _) = write::place(draft, candidate, manner);
    if item.outcome.is_refused() {
        making_room.into_iter().for_each(|one| draft.put_claim(one));
        if second && item.outcome == ItemOutcome::Invalid {
            item.outcome = ItemOutcome::Conflict;
        }
    } else {
        if item.outcome == ItemOutcome::Created && !variant.is_empty() {
            item.outcome = ItemOutcome::Updated;
        }
        superseded.iter().for_each(|one| draft.report_claim(one, ItemOutcome::Deleted, None));
        if let Some(from) = adopted {
            draft.mark_changed(from.owner);
        }
    }
    // A wish of the same key in its other form waits for nothing any more.
    stale.iter().for_each(|one| draft.remove_claim(one));
    item
}

/// Whether a wish takes the place of an own claim of the same resource: addresses and a CNAME or ALIAS give way to each
/// other, so that a client which deletes nothing completes its swaps.
fn supersedes(wish: &Claim, one: &Claim) -> bool {
    let address = |rtype: Rtype| rtype == Rtype::A || rtype == Rtype::AAAA;
    let fits = (address(wish.rtype) && presented(one.rtype) == Rtype::CNAME)
        || (presented(wish.rtype) == Rtype::CNAME && address(one.rtype));
    let resource = |claim: &Claim| claim.labels.get(door::RESOURCE).filter(|text| !text.is_empty()).cloned();
    let leaves_room = |alias: &Claim, other: &Claim| {
        let options = alias.alias.unwrap_or_default();
        alias.rtype == Rtype::ALIAS && if other.rtype == Rtype::A { !options.a } else { !options.aaaa }
    };
    fits && resource(wish).is_some()
        && resource(wish) == resource(one)
        && !leaves_room(wish, one)
        && !leaves_room(one, wish)
}

/// The imported record of the zone that a wish may take over: the same data, and no other owner's.
pub(super) fn adoptable(draft: &Draft, at_name: &[Claim], wish: &Claim, adopting: Adopting) -> Option<Claim> {
    match adopting {
        Adopting::Never => None,
        Adopting::Equal => {
            let zone = draft.ledger.zones.get(&wish.zone)?;
            let imported = OwnerId::of_zone(&zone.name);
            let is_meant = |one: &&Claim| {
                one.rtype == wish.rtype
                    && one.is_held()
                    && one.owner_id == imported
                    && same_records(one.rtype, &one.records, &wish.records)
            };
            at_name.iter().find(is_meant).cloned()
        }
    }
}

/// Keeps a registry text with the record that it is about; without one it is gone.
fn absorb(draft: &mut Draft, (owner, owner_id): (OwnerNumber, &OwnerId), text: &RegistryText) {
    draft.report_item(Item {
        zone: None,
        name: text.name.clone(),
        rtype: Rtype::TXT.to_string(),
        set_id: String::new(),
        owner: owner_id.clone(),
        outcome: ItemOutcome::Absorbed,
        problem: None,
        promoted: None,
    });
    if text.name.len() + text.text.len() > MAX_REGISTRY_TEXT {
        return;
    }
    let Some((name, rtype)) = &text.about else { return };
    let Some(zone) = draft.ledger.zone_of(name).map(|zone| zone.number) else { return };
    let key = NameKey { zone, name: name.clone() };
    let is_meant = |one: &&Claim| {
        one.owner == owner
            && one.state != ClaimState::Quarantined
            && rtype.is_none_or(|rtype| presented(rtype) == presented(one.rtype))
    };
    let Some(mut claim) = draft.claims(&key).iter().find(is_meant).cloned() else { return };
    let kept = claim.labels.get(door::REGISTRY).and_then(|kept| registry_from(kept)).unwrap_or_default();
    let mut texts: Vec<(String, String)> = kept.into_iter().filter(|(name, _)| *name != text.name).collect();
    texts.push((text.name.clone(), text.text.clone()));
    texts.sort();
    texts.truncate(MAX_REGISTRY);
    let Ok(kept) = serde_json::to_string(&texts) else { return };
    if claim.labels.get(door::REGISTRY) != Some(&kept) {
        claim.labels.insert(door::REGISTRY.to_owned(), kept);
        claim.revision = draft.revision();
        draft.put_claim(claim);
    }
}

fn registry_from(text: &str) -> Option<Vec<(String, String)>> {
    serde_json::from_str(text).ok()
}
