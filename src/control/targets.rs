//! What the ALIAS engine learnt, on its way into the store: published first and written after, since a lost answer
//! costs one lookup (alias.md section 8). Events go into the transaction of the state that they tell.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::json;

use super::terms::Terms;
use crate::store::alias::{MAX_ROWS, TargetEvent};
use crate::store::{StoreError, Writer};
use crate::zone::alias::{
    AliasBatch, AliasEntry, AliasTable, Family, FamilyAnswer, Moment, RecordState, TargetKey, Transition,
};

/// An unchanged answer is written once in so many milliseconds.
const REFRESHES_APART: u64 = 600_000;
/// Events of one target and kind, at most one in so many milliseconds.
const EVENTS_APART: u64 = 10_000;
/// Events that wait, at most; beyond it they are dropped and counted in the log.
const MAX_EVENTS: usize = 100_000;
/// Rows of a target: one a family.
const ROWS: usize = 2;

/// Changed states of targets.
const STATE_CHANGED: &str = "alias.state_changed";
/// Targets whose domain may be free to register.
const TAKEOVER_RISK: &str = "alias.takeover_risk";
/// Records that went into quarantine since their target is gone.
const QUARANTINED: &str = "alias.quarantined";

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    /// Entries by target; none where it is forgotten.
    targets: BTreeMap<TargetKey, Option<Arc<AliasEntry>>>,
    events: BTreeMap<(TargetKey, &'static str), Transition>,
    /// When an event of a target and kind was last written.
    told: HashMap<(TargetKey, &'static str), Moment>,
}

impl Unsaved {
    /// Notes what a batch changes in `before`.
    pub(super) fn note(&mut self, before: &AliasTable, batch: &AliasBatch) {
        for target in &batch.removed {
            self.targets.insert(target.clone(), None);
        }
        for entry in &batch.put {
            let known = before.entry(&entry.target);
            if self.targets.contains_key(&entry.target) || is_worth_a_row(known.map(AsRef::as_ref), entry) {
                self.targets.insert(entry.target.clone(), Some(entry.clone()));
            }
        }
        for transition in &batch.transitions {
            self.tell(STATE_CHANGED, transition);
            if transition.takeover_risk {
                self.tell(TAKEOVER_RISK, transition);
            }
        }
        for transition in &batch.quarantined {
            self.tell_quarantined(transition);
        }
    }

    fn tell_quarantined(&mut self, transition: &Transition) {
        let key = (transition.target.clone(), QUARANTINED);
        match self.events.get_mut(&key) {
            // All records count, not the last alone.
            Some(waiting) => {
                waiting.count += transition.count;
                waiting.dependents.extend(transition.dependents.iter().cloned());
            }
            None => self.tell(QUARANTINED, transition),
        }
    }

    fn tell(&mut self, kind: &'static str, transition: &Transition) {
        let key = (transition.target.clone(), kind);
        if let Some(waiting) = self.events.get_mut(&key) {
            // The last value counts, from where it was when it was last told.
            *waiting = Transition { from: waiting.from, ..transition.clone() };
        } else if self.events.len() < MAX_EVENTS {
            self.events.insert(key, transition.clone());
        } else {
            tracing::warn!(target = %transition.target.name, kind, "too many events wait: this one is not told");
        }
    }

    /// Whether there is something to write now.
    pub(super) fn is_due(&self, now: Moment) -> bool {
        !self.targets.is_empty() || self.events.keys().any(|key| self.may_tell(key, now))
    }

    fn may_tell(&self, key: &(TargetKey, &'static str), now: Moment) -> bool {
        self.told.get(key).is_none_or(|told| told.0.saturating_add(EVENTS_APART) <= now.0)
    }

    /// Writes a transaction's worth, in the open one. What was written is gone from here when [`Unsaved::written`]
    /// is called with what comes back.
    pub(super) async fn write(&self, writer: &mut Writer, terms: &Terms, now: Moment) -> Result<Written, StoreError> {
        let mut written = Written::default();
        for (target, entry) in self.targets.iter().take(MAX_ROWS / ROWS) {
            written.targets.push((target.clone(), entry.clone()));
            let Some(group) = terms.group_name(target.group) else { continue };
            match entry {
                Some(entry) => writer.put_target(group, entry).await?,
                None => writer.delete_target(group, &target.name).await?,
            }
        }
        let events = self.events.iter().filter(|(key, _)| self.may_tell(key, now)).take(MAX_ROWS);
        let mut rows = Vec::new();
        for (key, transition) in events {
            written.events.push((key.clone(), transition.clone()));
            // One that went back before it could be told is none.
            if is_told(key.1, transition) {
                rows.push(event(writer, key.1, transition).await?);
            }
        }
        written.revision = writer.tell(&rows).await?;
        Ok(written)
    }

    /// Forgets what was written, unless it changed since.
    pub(super) fn written(&mut self, written: Written, now: Moment) {
        for (target, entry) in written.targets {
            let is_same = match (self.targets.get(&target), &entry) {
                (Some(Some(now)), Some(then)) => Arc::ptr_eq(now, then),
                (Some(None), None) => true,
                (Some(Some(_) | None) | None, _) => false,
            };
            if is_same {
                self.targets.remove(&target);
            }
        }
        self.told.retain(|_, told| told.0.saturating_add(EVENTS_APART) > now.0);
        for (key, transition) in written.events {
            self.events.remove(&key);
            if is_told(key.1, &transition) {
                self.told.insert(key, now);
            }
        }
    }
}

/// What a transaction has of what is to be written.
#[derive(Debug, Default)]
pub(super) struct Written {
    targets: Vec<(TargetKey, Option<Arc<AliasEntry>>)>,
    events: Vec<((TargetKey, &'static str), Transition)>,
    /// The store's revision, if events made a new one.
    pub(super) revision: Option<u64>,
}

/// A state that went back before it could be told is not.
fn is_told(kind: &'static str, transition: &Transition) -> bool {
    kind != STATE_CHANGED || transition.from != transition.to
}

/// A changed set or state is written at once, an unchanged answer every ten minutes.
fn is_worth_a_row(before: Option<&AliasEntry>, after: &AliasEntry) -> bool {
    let Some(before) = before else { return after.state() != RecordState::Is(crate::zone::alias::AliasState::Pending) };
    let period = |answer: &FamilyAnswer| answer.checked.map(|checked| checked.0 / REFRESHES_APART);
    Family::BOTH.iter().any(|family| {
        let (before, after) = (before.family(*family), after.family(*family));
        before.state != after.state || before.addresses != after.addresses || period(before) != period(after)
    })
}

async fn event(writer: &mut Writer, kind: &'static str, transition: &Transition) -> Result<TargetEvent, StoreError> {
    let mut owners: BTreeMap<u32, Option<String>> = BTreeMap::new();
    for dependent in &transition.dependents {
        owners.insert(dependent.owner, None);
    }
    for (number, id) in &mut owners {
        *id = writer.owner_id(*number).await?;
    }
    let owner_of = |number: u32| owners.get(&number).cloned().flatten().unwrap_or_default();
    let records: Vec<_> = transition
        .dependents
        .iter()
        .map(|one| json!({"zone": one.zone.to_string(), "name": one.name.to_string(), "owner": owner_of(one.owner)}))
        .collect();
    let ids: Vec<&String> = owners.values().flatten().collect();
    let target = transition.target.name.to_string();
    let what = json!({
        "target": target,
        "from": transition.from.text(),
        "to": transition.to.text(),
        "owners": ids,
        "recordCount": transition.count,
        "records": records,
    });
    let owner = if let [only] = ids[..] { only.clone() } else { String::new() };
    Ok(TargetEvent { kind, target, owner, what: what.to_string(), at: transition.at })
}
