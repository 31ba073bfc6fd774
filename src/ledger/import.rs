//! Imports of zone files: the full set of `zone:<zone>` (ownership.md section 3.5). A zone that is made by its file has
//! no other claims that a rule could meet, so its claims are judged name by name and held once.

use super::actor::Actor;
use super::claim::Claim;
use super::command::{BadWish, CreateZone, ImportZone, Wish};
use super::draft::Draft;
use super::entitlement;
use super::fresh::Fresh;
use super::owner::{Labels, OwnerId, OwnerNumber};
use super::plan::History;
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::rules::{self, Obstacle, Occluded};
use super::scope::{NameKey, is_redirection};
use super::wish;
use super::write::{self, Asked, Deletes, Manner};
use super::zone::ZoneRow;
use super::zones::{self, Keys};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;
use crate::zone::node::RRset;
use crate::zone::serial;

/// Plans [`super::command::Command::ImportZone`].
pub(super) fn import(draft: &mut Draft, actor: &Actor, import: &ImportZone) -> Result<(), Refusal> {
    let apex = &import.origin;
    let is_new = draft.ledger.zone(apex).is_none();
    if is_new {
        make_for(draft, actor, import)?;
    } else {
        zones::entitled_zone(draft, actor, apex)?;
    }
    let id = OwnerId::of_zone(apex);
    let owner = draft.ensure_owner(&id, None);
    let manner = Manner { atomic: import.atomic, on_conflict: import.on_conflict, occluded: Occluded::Kept };
    if is_new {
        write_fresh(draft, actor, owner, import, manner)?;
    } else {
        write_over(draft, actor, owner, import, manner)?;
    }
    let count = |outcome| draft.report.summary.count(outcome);
    draft.history = History::Import {
        zone: apex.clone(),
        owner: id,
        written: count(ItemOutcome::Created) + count(ItemOutcome::Updated),
        deleted: count(ItemOutcome::Deleted),
    };
    draft.report.results.retain(|item| item.outcome.is_refused() || item.outcome == ItemOutcome::Deleted);
    draft.report.subject = Some(if is_new { ItemOutcome::Created } else { ItemOutcome::Updated });
    Ok(())
}

/// Into a zone that is there: as any full set.
fn write_over(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    import: &ImportZone,
    manner: Manner,
) -> Result<(), Refusal> {
    let apex = &import.origin;
    let wishes: Vec<Result<Wish, BadWish>> =
        import.rrsets.iter().map(|(name, rrset)| to_wish(apex, name, rrset)).collect();
    let asked: Vec<Asked<'_>> = wishes.iter().map(Asked::of).collect();
    let deletes = if import.prune { Deletes::Unlisted(import.max_deletes) } else { Deletes::None };
    write::write(draft, actor, owner, &asked, deletes, manner)
}

/// Into a zone just made: the apex as any full set, since the server's own claims are there; then the other names in
/// canonical order, so that what hides others is there before them.
fn write_fresh(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    import: &ImportZone,
    manner: Manner,
) -> Result<(), Refusal> {
    let apex = &import.origin;
    let Some(zone) = draft.ledger.zone(apex).cloned() else { return Ok(()) };
    let positions = 0..u32::try_from(import.rrsets.len()).unwrap_or(u32::MAX);
    let at = |position: &u32| &import.rrsets[*position as usize];
    let (at_apex, mut others): (Vec<u32>, Vec<u32>) = positions.partition(|position| at(position).0 == *apex);
    let wishes: Vec<Result<Wish, BadWish>> =
        at_apex.iter().map(at).map(|(name, rrset)| to_wish(apex, name, rrset)).collect();
    let asked: Vec<Asked<'_>> = wishes.iter().map(Asked::of).collect();
    let apex_manner = Manner { atomic: false, ..manner };
    write::write(draft, actor, owner, &asked, Deletes::None, apex_manner)?;
    let key = |position: &u32| (at(position).0.sort_key(apex), at(position).1.rtype);
    if !others.is_sorted_by_key(key) {
        others.sort_by_cached_key(key);
    }
    let owner_id = draft.ledger.owners.get(&owner).map_or_else(OwnerId::system, |owner| owner.id.clone());
    let whose = (zone.number, owner, owner_id);
    let mut fresh = Fresh::new(whose, (draft.now, draft.revision()), import.rrsets.clone());
    for at_name in others.chunk_by(|left, right| at(left).0 == at(right).0) {
        write_name(draft, actor, owner, &zone, (&import.rrsets, at_name), &mut fresh);
    }
    draft.fresh = Some(fresh);
    write::finish(draft, manner)
}

/// Judges the RRsets of one name, which are at these positions by type, and adds those that fit to the fresh claims.
fn write_name(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    zone: &ZoneRow,
    (rrsets, at_name): (&[(Name, RRset)], &[u32]),
    fresh: &mut Fresh,
) {
    let at = |position: &u32| &rrsets[*position as usize];
    let Some((name, _)) = at_name.first().map(at) else { return };
    let key = NameKey { zone: zone.number, name: name.clone() };
    for redirections in [true, false] {
        let these = at_name.iter().map(at);
        for (_, rrset) in these.filter(|(_, rrset)| is_redirection(rrset.rtype, false) == redirections) {
            let outcome = place(draft, actor, owner, zone, &key, rrset);
            match outcome {
                Ok(()) => draft.report.summary.add(ItemOutcome::Created),
                Err((outcome, problem)) => {
                    let item = Item {
                        zone: Some(zone.name.clone()),
                        name: name.to_string(),
                        rtype: rrset.rtype.to_string(),
                        set_id: String::new(),
                        owner: OwnerId::of_zone(&zone.name),
                        outcome,
                        problem: Some(problem),
                        promoted: None,
                    };
                    draft.report_item(item);
                }
            }
        }
    }
    let Some(claims) = draft.ledger.claims.get(&key) else { return };
    let mut last = None;
    for position in at_name {
        // Of a type that is listed twice the first one has been taken.
        let rtype = at(position).1.rtype;
        if last.replace(rtype) != Some(rtype)
            && let Some(claim) = claims.iter().find(|claim| claim.rtype == rtype)
        {
            fresh.add(*position, claim);
        }
    }
    // What hides others is there when those are judged, and nothing else of the zone has to be.
    if !claims.iter().any(|claim| is_redirection(claim.rtype, false)) {
        draft.ledger.claims.remove(&key);
    }
}

fn place(
    draft: &mut Draft,
    actor: &Actor,
    owner: OwnerNumber,
    zone: &ZoneRow,
    key: &NameKey,
    rrset: &RRset,
) -> Result<(), (ItemOutcome, Problem)> {
    let invalid = |problem| (ItemOutcome::Invalid, problem);
    let wish = to_wish(&zone.name, &key.name, rrset).map_err(|bad| invalid(bad.problem))?;
    let place = write::zone_of(&draft.ledger, wish.zone.as_ref(), &wish.name).map_err(invalid)?;
    entitlement::check_record(&draft.ledger, actor, place, &wish.name, wish.rtype).map_err(invalid)?;
    let mut claim: Claim = draft.new_claim(zone, &key.name, wish.rtype, owner);
    claim.ttl = rrset.ttl;
    claim.records = wish.records;
    claim.alias = wish.alias;
    if draft.claims(key).iter().any(|one| rules::is_same_claim(one, &claim)) {
        return Err(invalid(write::listed_twice(&claim.name, claim.rtype)));
    }
    let fit = rules::judge(&draft.ledger, zone, &claim, Occluded::Kept).map_err(|obstacle| match obstacle {
        Obstacle::Conflict(problem) | Obstacle::Standing(problem) => (ItemOutcome::Conflict, problem),
        Obstacle::Invalid(problem) => (ItemOutcome::Invalid, problem),
    })?;
    if let Some(cut) = &fit.occluded_by {
        draft.warn(&claim, "occluded", format!("it is hidden by the zone cut at {cut}"));
    }
    draft.ledger.claims.entry(key.clone()).or_insert_with(|| Vec::with_capacity(1)).push(claim);
    Ok(())
}

/// Makes the zone that a file is imported into, with the serial of the file.
fn make_for(draft: &mut Draft, actor: &Actor, import: &ImportZone) -> Result<(), Problem> {
    let at_apex = |rtype: Rtype| {
        import
            .rrsets
            .iter()
            .find(|(name, rrset)| *name == import.origin && rrset.rtype == rtype)
            .map(|(_, rrset)| rrset)
    };
    let soa = at_apex(Rtype::SOA).and_then(|rrset| rrset.records.first());
    let nameservers: Vec<Name> = at_apex(Rtype::NS)
        .into_iter()
        .flat_map(|rrset| &rrset.records)
        .filter_map(|record| rdata::target(Rtype::NS, record))
        .collect();
    let create = CreateZone {
        nameservers: (!nameservers.is_empty()).then_some(nameservers),
        owner: import.owner.clone(),
        ..CreateZone::new(import.origin.clone())
    };
    let keys = Keys::of(actor, &create)?;
    let serial = soa.and_then(|soa| serial::replace(&mut soa.clone(), 0));
    zones::make(draft, actor, &import.origin, keys, serial)?;
    Ok(())
}

fn to_wish(apex: &Name, name: &Name, rrset: &RRset) -> Result<Wish, BadWish> {
    let wish = Wish {
        zone: Some(apex.clone()),
        name: name.clone(),
        rtype: rrset.rtype,
        set_id: String::new(),
        ttl: Some(rrset.ttl),
        records: rrset.records.clone(),
        alias: None,
        share: false,
        labels: Labels::new(),
    };
    wish::checked(wish).map_err(|problem| BadWish {
        name: name.to_string(),
        rtype: rrset.rtype.to_string(),
        key: Some((name.clone(), rrset.rtype)),
        problem,
    })
}
