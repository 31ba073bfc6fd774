//! Patches: requests of the PowerDNS door. The steps of a request come to one wish for each RRset, wishes are judged on
//! the outcome of the whole request, and what is refused is dealt with as the key says: nothing is in effect, or the rest
//! is. Whatever comes of it, a step that names a claim of its owner says that the claim is still wanted.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::actor::Actor;
use super::attachment::{Attachment, AttachmentChange, AttachmentKey, Comment};
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::command::{Act, OwnerKeys, Patch, Values};
use super::draft::Draft;
use super::entitlement;
use super::hold;
use super::key::{Conflicts, KeySettings, View};
use super::owner::{OwnerId, OwnerNumber, OwnerState};
use super::owning::{self, Extent};
use super::placing;
use super::report::{Item, ItemOutcome, Problem, Refusal};
use super::scope::NameKey;
use super::wish;
use super::write;
use super::zone::ZoneRow;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;

/// Deletes up to which the brake never looks, and claims of an owner from which its last ones are not let go at once.
const BRAKE_LAST: u64 = 3;

/// What all parts of a patch are judged by.
pub(super) struct Frame<'a> {
    pub(super) actor: &'a Actor,
    pub(super) key: &'a KeySettings,
    pub(super) zone: ZoneRow,
    pub(super) owner: OwnerNumber,
    pub(super) owner_id: OwnerId,
    /// Names and types that are written.
    pub(super) written: HashSet<(Name, Rtype)>,
}

impl Frame<'_> {
    pub(super) fn at(&self, name: &Name) -> NameKey {
        NameKey { zone: self.zone.number, name: name.clone() }
    }

    pub(super) fn item(&self, name: &Name, rtype: Rtype, (outcome, problem): (ItemOutcome, Option<Problem>)) -> Item {
        Item {
            zone: Some(self.zone.name.clone()),
            name: name.to_string(),
            rtype: rtype.to_string(),
            set_id: String::new(),
            owner: self.owner_id.clone(),
            outcome,
            problem,
            promoted: None,
        }
    }
}

/// What the steps of an RRset come to.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: Name,
    pub(super) rtype: Rtype,
    pub(super) want: Want,
    pub(super) comments: Option<Vec<Comment>>,
    /// Why its steps cannot be done.
    pub(super) problem: Option<Problem>,
}

#[derive(Debug)]
pub(super) enum Want {
    /// The values stay.
    Keep,
    /// They go.
    Gone,
    /// They become these.
    Set(Values),
}

/// Plans [`super::command::Command::Patch`].
pub(super) fn patch(draft: &mut Draft, actor: &Actor, patch: &Patch) -> Result<(), Refusal> {
    entitlement::check_writes(actor)?;
    let Some(zone) = draft.ledger.zone(&patch.zone).cloned() else {
        return Err(Refusal::new(Code::NotFound, format!("there is no zone {}", patch.zone)));
    };
    entitlement::check_zone_limit(actor, &zone.name)?;
    entitlement::check_owner(&draft.ledger, actor, &patch.owner, None)?;
    let untouched = draft.ledger.clone();
    let owner = owner_of(draft, actor, patch)?;
    let mut frame =
        Frame { actor, key: &patch.key, zone, owner, owner_id: patch.owner.clone(), written: HashSet::new() };
    let (slots, mut items) = read(draft, &frame, patch);
    let is_set = |slot: &&Slot| slot.problem.is_none() && matches!(slot.want, Want::Set(_));
    frame.written = slots.iter().filter(is_set).map(|slot| (slot.name.clone(), slot.rtype)).collect();
    do_all(draft, &frame, slots, &mut items);
    let refused: Vec<Item> = items.iter().filter(|item| item.outcome.is_refused()).cloned().collect();
    if !refused.is_empty() && patch.key.conflicts == Conflicts::Reject {
        take_back(draft, &frame, untouched, refused);
    } else {
        for item in items {
            draft.report_item(item);
        }
    }
    assert_named(draft, &frame, patch);
    draft.mark_written(owner);
    Ok(())
}

/// The owner, made if need be. One that is there and has no lease is left as it is: asking again changes nothing.
fn owner_of(draft: &mut Draft, actor: &Actor, patch: &Patch) -> Result<OwnerNumber, Problem> {
    match draft.ledger.owner(&patch.owner) {
        Some(owner) if owner.lease.is_none() && owner.state == OwnerState::Active => Ok(owner.number),
        Some(_) | None => owning::prepare(draft, actor, &patch.owner, &OwnerKeys::default(), Extent::Part, None),
    }
}

/// Steps in the order given, as one slot for each RRset; steps that could not be read are items already.
fn read(draft: &Draft, frame: &Frame<'_>, patch: &Patch) -> (Vec<Slot>, Vec<Item>) {
    let mut slots: Vec<Slot> = Vec::new();
    let mut places: HashMap<(Name, Rtype), usize> = HashMap::new();
    let mut items = Vec::new();
    for step in patch.steps.iter() {
        let step = match step {
            Ok(step) => step,
            Err(bad) => {
                items.push(bad_item(frame, bad.key.as_ref(), &bad.error));
                continue;
            }
        };
        let place = *places.entry((step.name.clone(), step.rtype)).or_insert_with(|| {
            slots.push(Slot {
                name: step.name.clone(),
                rtype: step.rtype,
                want: Want::Keep,
                comments: None,
                problem: None,
            });
            slots.len() - 1
        });
        let slot = &mut slots[place];
        match &step.act {
            Act::Replace { values, comments } => {
                match values {
                    None => {}
                    Some(values) if values.records.is_empty() && values.disabled.is_empty() => {
                        slot.want = Want::Gone;
                        slot.comments = Some(Vec::new());
                    }
                    Some(values) => slot.want = Want::Set(values.clone()),
                }
                if let Some(comments) = comments {
                    slot.comments = Some(comments.clone());
                }
            }
            Act::Delete => {
                slot.want = Want::Gone;
                slot.comments = Some(Vec::new());
            }
            Act::Extend { record, ttl } => extend(draft, frame, slot, record, *ttl),
            Act::Prune { record } => prune(draft, frame, slot, record),
        }
    }
    (slots, items)
}

fn bad_item(frame: &Frame<'_>, key: Option<&(Name, Rtype)>, error: &str) -> Item {
    let (name, rtype) = key.map_or_else(Default::default, |(name, rtype)| (name.to_string(), rtype.to_string()));
    Item {
        zone: None,
        name,
        rtype,
        set_id: String::new(),
        owner: frame.owner_id.clone(),
        outcome: ItemOutcome::Invalid,
        // The code says that the detail is all that the client is told.
        problem: Some(Problem::new(Code::BadRequest, error)),
        promoted: None,
    }
}

/// The owner's claim of an RRset.
pub(super) fn own_claim<'a>(draft: &'a Draft, frame: &Frame<'_>, name: &Name, rtype: Rtype) -> Option<&'a Claim> {
    draft
        .claims(&frame.at(name))
        .iter()
        .find(|one| one.owner == frame.owner && one.rtype == rtype && one.set_id.is_empty())
}

fn current(draft: &Draft, frame: &Frame<'_>, slot: &Slot) -> Values {
    match &slot.want {
        Want::Set(values) => values.clone(),
        Want::Gone => Values::default(),
        Want::Keep => {
            let own = own_claim(draft, frame, &slot.name, slot.rtype).filter(|own| own.is_held());
            let kept = attachment(draft, frame, slot);
            Values {
                ttl: own.map_or(kept.ttl, |own| own.ttl),
                records: own.map(|own| own.records.clone()).unwrap_or_default(),
                disabled: kept.disabled,
                written: kept.written,
            }
        }
    }
}

fn extend(draft: &Draft, frame: &Frame<'_>, slot: &mut Slot, record: &[u8], ttl: u32) {
    let mut values = current(draft, frame, slot);
    let is_new = values.records.is_empty() && values.disabled.is_empty();
    if !is_new && values.ttl != ttl {
        let detail = "uses a different TTL value than the remainder of the RRset";
        slot.problem.get_or_insert(Problem::new(Code::InvalidRecord, detail));
        return;
    }
    values.ttl = ttl;
    values.records.push(record.to_vec());
    wish::sort_records(slot.rtype, &mut values.records);
    if slot.rtype.is_singleton() && values.records.len() > 1 {
        slot.problem.get_or_insert(Problem::new(Code::InvalidRecord, "only one such record allowed"));
        return;
    }
    slot.want = Want::Set(values);
}

fn prune(draft: &Draft, frame: &Frame<'_>, slot: &mut Slot, record: &[u8]) {
    let mut values = current(draft, frame, slot);
    let is_it = |one: &Vec<u8>| wish::same_records(slot.rtype, std::slice::from_ref(one), &[record.to_vec()]);
    let before = values.records.len() + values.disabled.len();
    values.records.retain(|one| !is_it(one));
    values.disabled.retain(|one| !is_it(one));
    let after = values.records.len() + values.disabled.len();
    if before == after {
        let foreign = placing::foreign(draft, frame, &slot.name, slot.rtype)
            .into_iter()
            .find(|other| other.records.iter().any(is_it));
        if let Some(other) = foreign.filter(|_| frame.key.view == View::All) {
            let problem = placing::in_the_way(&draft.ledger, other);
            slot.problem.get_or_insert(problem);
        }
        return;
    }
    slot.want = if after == 0 { Want::Gone } else { Want::Set(values) };
}

fn attachment(draft: &Draft, frame: &Frame<'_>, slot: &Slot) -> Attachment {
    let key = AttachmentKey { at: frame.at(&slot.name), rtype: slot.rtype, owner: frame.owner };
    draft.ledger.attachments.get(&key).cloned().unwrap_or_default()
}

/// Lets go, then places, then settles what that left free.
fn do_all(draft: &mut Draft, frame: &Frame<'_>, slots: Vec<Slot>, items: &mut Vec<Item>) {
    let mut touched: Vec<NameKey> = Vec::new();
    let mut slots: Vec<Slot> = slots
        .into_iter()
        .filter_map(|slot| match slot.problem {
            None => Some(slot),
            Some(problem) => {
                let outcome = if problem.holder.is_some() { ItemOutcome::Conflict } else { ItemOutcome::Invalid };
                items.push(frame.item(&slot.name, slot.rtype, (outcome, Some(problem))));
                None
            }
        })
        .collect();
    let (held, on_hold) = brake(draft, frame, &slots);
    for slot in slots.iter().filter(|slot| matches!(slot.want, Want::Gone)) {
        if held.contains(&(slot.name.clone(), slot.rtype)) {
            let problem = Problem::new(Code::DeleteGuard, on_hold.clone());
            items.push(frame.item(&slot.name, slot.rtype, (ItemOutcome::Held, Some(problem))));
            continue;
        }
        let done = placing::let_go(draft, frame, slot);
        items.push(frame.item(&slot.name, slot.rtype, done));
        touched.push(frame.at(&slot.name));
    }
    // Cuts and DNAMEs first, and of those the upper ones: what is below them is judged by them.
    slots.sort_by_key(|slot| {
        let hides = super::scope::is_redirection(slot.rtype, slot.name == frame.zone.name);
        if hides { slot.name.label_count() } else { usize::MAX }
    });
    for slot in &slots {
        if let Want::Set(values) = &slot.want {
            let done = placing::place(draft, frame, slot, values, items);
            items.push(frame.item(&slot.name, slot.rtype, done));
            touched.push(frame.at(&slot.name));
        }
    }
    draft.settle_all(touched);
    let is_refused = |item: &&Item| item.outcome.is_refused();
    let refused: HashSet<(String, String)> =
        items.iter().filter(is_refused).map(|item| (item.name.clone(), item.rtype.clone())).collect();
    for slot in &slots {
        let is_on_hold = held.contains(&(slot.name.clone(), slot.rtype));
        if !is_on_hold && !refused.contains(&(slot.name.to_string(), slot.rtype.to_string())) {
            attach(draft, frame, slot, items);
        }
    }
}

/// Puts comments, disabled values and spellings in the place of those that are there.
fn attach(draft: &mut Draft, frame: &Frame<'_>, slot: &Slot, items: &mut Vec<Item>) {
    let before = attachment(draft, frame, slot);
    let mut after = before.clone();
    if let Some(comments) = &slot.comments {
        after.comments.clone_from(comments);
        for comment in &mut after.comments {
            // A comment that is only written again keeps its time.
            let old =
                before.comments.iter().find(|old| old.content == comment.content && old.account == comment.account);
            if comment.modified == 0 {
                comment.modified = old.map_or(draft.now.0 / 1_000, |old| old.modified);
            }
        }
        after.comments.sort_by(|left, right| left.content.cmp(&right.content));
    }
    match &slot.want {
        Want::Keep => {}
        Want::Gone => after = Attachment { comments: after.comments, ..Attachment::default() },
        Want::Set(values) => {
            after.disabled.clone_from(&values.disabled);
            after.written.clone_from(&values.written);
            after.ttl = if values.disabled.is_empty() { 0 } else { values.ttl };
        }
    }
    if after == before || (after.is_empty() && before.is_empty()) {
        return;
    }
    let is_own = own_claim(draft, frame, &slot.name, slot.rtype).is_some();
    let foreign = placing::foreign(draft, frame, &slot.name, slot.rtype).into_iter().next().cloned();
    if let Some(other) = foreign.filter(|_| !is_own && !after.comments.is_empty()) {
        let problem = placing::in_the_way(&draft.ledger, &other);
        items.push(frame.item(&slot.name, slot.rtype, (ItemOutcome::Conflict, Some(problem))));
        return;
    }
    let key = AttachmentKey { at: frame.at(&slot.name), rtype: slot.rtype, owner: frame.owner };
    draft.attachments.push(AttachmentChange { key, after });
}

/// What the brake holds of the deletes: all of them, if they are more than it lets go at once (external-dns.md section
/// 11). What is written anew under another type of its name is no delete.
fn brake(draft: &mut Draft, frame: &Frame<'_>, slots: &[Slot]) -> (HashSet<(Name, Rtype)>, String) {
    let none = (HashSet::new(), String::new());
    if !frame.key.brake {
        return none;
    }
    let swapped: HashSet<&Name> = frame.written.iter().map(|(name, _)| name).collect();
    let going: Vec<Claim> = slots
        .iter()
        .filter(|slot| matches!(slot.want, Want::Gone) && !swapped.contains(&slot.name))
        .filter_map(|slot| own_claim(draft, frame, &slot.name, slot.rtype).filter(|own| own.is_held()).cloned())
        .collect();
    if going.is_empty() {
        return none;
    }
    let (count, total) = (going.len() as u64, draft.ledger.claim_count);
    let ends_all = count >= total && count >= BRAKE_LAST;
    if count <= write::let_through(total, None) && !ends_all {
        return none;
    }
    hold::replace(draft, frame.owner, total, &going);
    let detail = format!("Delete brake: {count} of {total} records on hold, see /v1/holds");
    (going.into_iter().map(|claim| (claim.name, claim.rtype)).collect(), detail)
}

/// Nothing is in effect, but that refused wishes wait if the key lets them.
fn take_back(draft: &mut Draft, frame: &Frame<'_>, untouched: super::scope::Ledger, refused: Vec<Item>) {
    let queued: Vec<Claim> = draft
        .ledger
        .claims
        .values()
        .flatten()
        .filter(|claim| claim.owner == frame.owner && claim.state == ClaimState::Queued && claim.asserted == draft.now)
        .cloned()
        .collect();
    let (now, is_known) = (draft.now, untouched.owner(&frame.owner_id).is_some());
    *draft = Draft::new(untouched, now);
    if is_known || !queued.is_empty() {
        draft.ensure_owner(&frame.owner_id, None);
    }
    for claim in queued {
        placing::put(draft, claim, ClaimState::Queued);
    }
    for item in refused {
        draft.report_item(item);
    }
}

/// Notes that what the steps name, and what was not written by them, is still wanted.
fn assert_named(draft: &mut Draft, frame: &Frame<'_>, patch: &Patch) {
    let mut named: BTreeSet<(Name, Rtype)> = BTreeSet::new();
    for step in patch.steps.iter() {
        match step {
            Ok(step) => match &step.act {
                Act::Replace { .. } | Act::Extend { .. } => {
                    named.insert((step.name.clone(), step.rtype));
                }
                Act::Delete | Act::Prune { .. } => {}
            },
            Err(bad) => named.extend(bad.key.clone()),
        }
    }
    draft.asserted.clear();
    for (name, rtype) in named {
        let own = draft.claims(&frame.at(&name)).iter().filter(|one| one.owner == frame.owner && one.rtype == rtype);
        // What was written has this time already.
        let again: Vec<Claim> = own.filter(|one| one.revision < draft.revision()).cloned().collect();
        draft.asserted.extend(again);
    }
}
