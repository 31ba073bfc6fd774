//! Owners as a write finds, makes and changes them: incarnation, epoch, generation, and the place in the forest.

use super::actor::Actor;
use super::code::Code;
use super::command::{OwnerKeys, PutOwner};
use super::draft::Draft;
use super::entitlement;
use super::limits::{MAX_COUNTER, MAX_DEPTH, MAX_TEXT};
use super::owner::{Owner, OwnerId, OwnerNumber, OwnerState, Source};
use super::report::{ItemOutcome, Problem, Refusal};
use super::scope::{Ledger, NameKey};
use super::wish::check_labels;
use crate::wire::codes::Rtype;

/// How much of an owner's set a write names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The full set: another uid begins a new incarnation.
    Full,
    /// Some records, or the owner alone: another uid is refused.
    Part,
}

/// Plans [`super::command::Command::PutOwner`].
pub(super) fn put(draft: &mut Draft, actor: &Actor, put: &PutOwner) -> Result<(), Refusal> {
    let before = draft.ledger.owner(&put.owner).cloned();
    let number = prepare(draft, actor, &put.owner, &put.keys, Extent::Part, None)?;
    let after = draft.ledger.owners.get(&number);
    draft.report.subject = Some(match before {
        None => ItemOutcome::Created,
        Some(before) if after.is_some_and(|after| after.revision == before.revision) => ItemOutcome::Unchanged,
        Some(_) => ItemOutcome::Updated,
    });
    Ok(())
}

/// Checks that the actor may write for the owner with these keys, and makes or changes the owner.
pub(super) fn prepare(
    draft: &mut Draft,
    actor: &Actor,
    owner: &OwnerId,
    keys: &OwnerKeys,
    extent: Extent,
    if_revision: Option<u64>,
) -> Result<OwnerNumber, Problem> {
    entitlement::check_owner(&draft.ledger, actor, owner, keys.parent.as_ref())?;
    if owner.is_system() {
        return Err(Problem::new(Code::Forbidden, format!("{owner} is the server itself, nobody writes for it")));
    }
    check_keys(keys)?;
    check_gone(&draft.ledger, owner, keys.uid.as_deref())?;
    let existing = draft.ledger.owner(owner).cloned();
    check_epoch(&draft.ledger, owner, existing.as_ref(), keys)?;
    let is_new_incarnation = match &existing {
        Some(existing) => check_incarnation(existing, keys, extent)?,
        None => false,
    };
    if let Some(revision) = if_revision {
        let seen = existing.as_ref().map_or(0, |existing| existing.revision);
        if seen > revision {
            let detail = format!("{owner} changed at revision {seen}, after {revision}: read it again");
            return Err(Problem::new(Code::StaleRevision, detail));
        }
    }
    keys.lease.check(existing.as_ref().is_some_and(|existing| existing.lease.is_some()))?;
    let parent = place(draft, actor, owner, keys)?;
    let number = draft.ensure_owner(owner, parent);
    if is_new_incarnation && let Some(old) = existing.as_ref() {
        draft.put_tombstone(owner.clone(), old.uid.clone(), old.epoch);
    }
    set_keys(draft, number, keys, parent, is_new_incarnation);
    Ok(number)
}

pub(super) fn check_keys(keys: &OwnerKeys) -> Result<(), Problem> {
    if keys.generation.max(keys.epoch).is_some_and(|number| number > MAX_COUNTER) {
        return Err(Problem::new(Code::LimitExceeded, format!("generation and epoch are at most {MAX_COUNTER}")));
    }
    let texts = [&keys.uid, &keys.kind].into_iter().flatten();
    let Source { cluster, namespace, kind, name, uid } = keys.source.clone().unwrap_or_default();
    let source = [cluster, namespace, kind, name, uid];
    if texts.chain(source.iter().flatten()).any(|text| text.len() > MAX_TEXT) {
        let detail = format!("uid, kind and the keys of source have at most {MAX_TEXT} octets");
        return Err(Problem::new(Code::LimitExceeded, detail));
    }
    keys.labels.as_ref().map_or(Ok(()), check_labels)
}

/// Refuses a late write of an incarnation that was deleted.
fn check_gone(ledger: &Ledger, owner: &OwnerId, uid: Option<&str>) -> Result<(), Problem> {
    let Some(uid) = uid else { return Ok(()) };
    let tombstone = ledger.tombstones.iter().find(|gone| gone.owner == *owner && gone.uid.as_deref() == Some(uid));
    match tombstone {
        None => Ok(()),
        Some(gone) => Err(Problem::new(
            Code::OwnerGone,
            format!("{owner} with the uid {uid} was deleted at revision {}; a new one has another uid", gone.revision),
        )),
    }
}

/// Refuses a writer with a lower epoch than one that was seen.
pub(super) fn check_epoch(
    ledger: &Ledger,
    owner: &OwnerId,
    existing: Option<&Owner>,
    keys: &OwnerKeys,
) -> Result<(), Problem> {
    let Some(epoch) = keys.epoch else { return Ok(()) };
    let buried = ledger.tombstones.iter().filter(|gone| gone.owner == *owner).filter_map(|gone| gone.epoch).max();
    let own = existing.and_then(|existing| existing.epoch).max(buried);
    let above = || {
        let parent = existing.and_then(|existing| existing.parent);
        let first = parent.or_else(|| keys.parent.as_ref().and_then(|id| ledger.owner(id)).map(|one| one.number))?;
        let first_owner = ledger.owners.get(&first)?;
        first_owner.epoch.or_else(|| ledger.above(first).into_iter().find_map(|one| one.epoch))
    };
    match own.or_else(above) {
        Some(highest) if epoch < highest => Err(Problem::new(
            Code::Fenced,
            format!("epoch {epoch} is over: {owner} is written with epoch {highest} now"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// Whether the keys begin a new incarnation of the owner.
fn check_incarnation(existing: &Owner, keys: &OwnerKeys, extent: Extent) -> Result<bool, Problem> {
    let other_uid = match (&existing.uid, &keys.uid) {
        (Some(old), Some(new)) => old != new,
        (None, _) | (_, None) => false,
    };
    if other_uid {
        return match extent {
            Extent::Full => Ok(true),
            Extent::Part => Err(Problem::new(
                Code::OwnerIncarnation,
                format!("{} has another uid: a new incarnation begins with its full set", existing.id),
            )),
        };
    }
    match (existing.generation, keys.generation) {
        (Some(last), Some(generation)) if generation < last => Err(Problem::new(
            Code::StaleGeneration,
            format!("generation {generation} of {} is older than {last}, which was applied", existing.id),
        )),
        _ => Ok(false),
    }
}

/// The owner above, made if need be; none if the keys and the token name none.
fn place(draft: &mut Draft, actor: &Actor, owner: &OwnerId, keys: &OwnerKeys) -> Result<Option<OwnerNumber>, Problem> {
    let existing = draft.ledger.owner(owner).map(|existing| (existing.number, existing.parent));
    let parent = match (&keys.parent, existing) {
        (Some(parent), _) => parent.clone(),
        (None, Some((_, parent))) => return Ok(parent),
        (None, None) => match entitlement::default_parent(actor, owner) {
            Some(root) => root,
            None => return Ok(None),
        },
    };
    let cycle =
        || Problem::new(Code::OwnerCycle, format!("{owner} cannot be below itself: {parent} is it, or is below it"));
    if parent == *owner {
        return Err(cycle());
    }
    let above = draft.ledger.owner(&parent).map(|above| above.number);
    let mut depth = 2;
    if let Some(above) = above {
        let chain = draft.ledger.above(above);
        if chain.iter().any(|one| one.id == *owner) {
            return Err(cycle());
        }
        depth += chain.len();
    }
    if let Some((number, old)) = existing {
        if old == above && above.is_some() {
            return Ok(above);
        }
        depth += height(&draft.ledger, number);
    }
    if depth > MAX_DEPTH {
        let detail = format!("{owner} would stand in a tree of over {MAX_DEPTH} owners from top to bottom");
        return Err(Problem::new(Code::LimitExceeded, detail));
    }
    let top = root_of(draft, actor, &parent);
    Ok(Some(draft.ensure_owner(&parent, top)))
}

/// The owner below which one that is made without a parent belongs: the token's root, made if need be.
pub(super) fn root_of(draft: &mut Draft, actor: &Actor, owner: &OwnerId) -> Option<OwnerNumber> {
    let root = entitlement::default_parent(actor, owner)?;
    Some(draft.ensure_owner(&root, None))
}

/// How many levels of owners are below one.
fn height(ledger: &Ledger, owner: OwnerNumber) -> usize {
    let top = ledger.above(owner).len();
    let below = ledger.descendants(owner);
    below.into_iter().map(|one| ledger.above(one).len().saturating_sub(top)).max().unwrap_or(0)
}

fn set_keys(
    draft: &mut Draft,
    number: OwnerNumber,
    keys: &OwnerKeys,
    parent: Option<OwnerNumber>,
    is_new_incarnation: bool,
) {
    let (now, revision) = (draft.now, draft.revision());
    let Some(owner) = draft.owner_mut(number) else { return };
    let before = owner.clone();
    owner.asserted = now;
    if is_new_incarnation {
        owner.generation = None;
    }
    owner.generation = keys.generation.or(owner.generation);
    owner.epoch = keys.epoch.max(owner.epoch);
    owner.uid = keys.uid.clone().or(owner.uid.take());
    owner.kind = keys.kind.clone().or(owner.kind.take());
    owner.source = keys.source.clone().or(owner.source.take());
    if let Some(labels) = &keys.labels {
        owner.labels.clone_from(labels);
    }
    if let Some(door) = &keys.external_dns {
        let known = owner.external_dns.get_or_insert_default();
        known.txt_owner_id = door.txt_owner_id.clone().or(known.txt_owner_id.take());
    }
    owner.parent = parent.or(owner.parent);
    let is_moved = owner.parent != before.parent;
    owner.lease = keys.lease.applied(owner.lease.as_ref(), now);
    // Who writes is alive.
    owner.state = OwnerState::Active;
    let is_changed = is_moved
        || owner.state != before.state
        || owner.lease.as_ref().map(|lease| (lease.seconds, lease.on_expiry, lease.grace))
            != before.lease.as_ref().map(|lease| (lease.seconds, lease.on_expiry, lease.grace))
        || owner.uid != before.uid
        || owner.kind != before.kind
        || owner.source != before.source
        || owner.labels != before.labels
        || owner.external_dns != before.external_dns;
    if is_changed {
        owner.revision = revision;
    }
    if is_moved {
        assemble_aliases_again(draft, number);
    }
}

/// A published ALIAS knows the owners above its own (alias.md section 3.2), so it follows a move in the forest.
fn assemble_aliases_again(draft: &mut Draft, number: OwnerNumber) {
    let mut moved = draft.ledger.descendants(number);
    moved.push(number);
    let names: Vec<NameKey> = draft
        .ledger
        .claims
        .iter()
        .filter(|(_, claims)| claims.iter().any(|one| one.rtype == Rtype::ALIAS && moved.contains(&one.owner)))
        .map(|(key, _)| key.clone())
        .collect();
    for key in names {
        draft.assemble_again(key);
    }
}
