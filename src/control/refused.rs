//! What was refused because of another owner, remembered until its owner gets it or no longer wants it. A wish that is
//! refused again as before writes nothing, so that a client that tries in a loop costs the disk nothing.

use std::collections::{BTreeMap, HashMap};

use super::handle::Request;
use crate::ledger::code::Code;
use crate::ledger::command::{Command, Step, Wish};
use crate::ledger::report::{Item, ItemOutcome, Refusal, Report};
use crate::store::refused::{RefusedKey, RefusedRow};
use crate::store::{StoreError, Writer};
use crate::wire::codes::Rtype;
use crate::wire::presentation;
use crate::zone::alias::Moment;

/// Most refused wishes that are remembered; the oldest goes first.
pub const MAX_REFUSED: usize = 10_000;

/// The memory, and what of it is to be written.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// None until it was read from the store.
    known: Option<BTreeMap<RefusedKey, RefusedRow>>,
    changed: Vec<RefusedKey>,
}

impl Memory {
    /// Reads the store if that has not been done, or a write failed since.
    pub(super) async fn load(&mut self, writer: &mut Writer) -> Result<(), StoreError> {
        if self.known.is_none() {
            let rows = writer.refused().await?;
            self.known = Some(rows.into_iter().map(|row| (row.key.clone(), row)).collect());
        }
        Ok(())
    }

    /// Forgets what is in memory: the store has it otherwise.
    pub(super) fn reset(&mut self) {
        *self = Memory::default();
    }

    /// Notes what a command came to.
    pub(super) fn note(&mut self, request: &Request, answer: &Result<Report, Refusal>, now: Moment) {
        // What a client desires is refused by its next change, if it is.
        if request.dry_run || matches!(request.command, Command::AdjustEndpoints(_)) {
            return;
        }
        let items = match answer {
            Ok(report) => &report.results,
            Err(refusal) => &refusal.items,
        };
        if let Ok(report) = answer {
            self.forget(request, report);
        }
        let mut steps = None;
        // What one command adds beyond the most that is remembered would only push itself out.
        for item in items.iter().filter(|item| item.outcome == ItemOutcome::Conflict).take(MAX_REFUSED) {
            let steps = steps.get_or_insert_with(|| Steps::of(&request.command));
            self.put(request, item, (steps, now));
        }
    }

    fn put(&mut self, request: &Request, item: &Item, (steps, now): (&Steps<'_>, Moment)) {
        let (Some(known), Some(problem), Some(key)) = (&mut self.known, &item.problem, key_of(item)) else { return };
        let Some(holder) = &problem.holder else { return };
        // A delete of what another holds wants nothing.
        let Some((rtype, records)) = wish_of(&request.command, steps, item) else { return };
        let mut row = RefusedRow {
            key: key.clone(),
            values: records.iter().map(|record| presentation::rdata_to_text(rtype, record)).collect(),
            holder: holder.owner.as_str().to_owned(),
            code: problem.code.text().to_owned(),
            door: request.actor.door.text().to_owned(),
            since: now,
        };
        if let Some(old) = known.get(&key) {
            row.since = old.since;
            if *old == row {
                return;
            }
        } else if known.len() >= MAX_REFUSED
            && let Some(oldest) = known.values().min_by_key(|row| row.since).map(|row| row.key.clone())
        {
            known.remove(&oldest);
            self.changed.push(oldest);
        }
        known.insert(key.clone(), row);
        self.changed.push(key);
    }

    /// Takes out what is no longer refused or no longer wanted.
    fn forget(&mut self, request: &Request, report: &Report) {
        let Some(known) = self.known.as_mut().filter(|known| !known.is_empty()) else { return };
        let mut gone: Vec<RefusedKey> = report
            .results
            .iter()
            .filter(|item| item.outcome != ItemOutcome::Conflict)
            .filter_map(key_of)
            .filter(|key| known.contains_key(key))
            .collect();
        let others = |is_gone: &dyn Fn(&RefusedKey) -> bool| -> Vec<RefusedKey> {
            known.keys().filter(|key| is_gone(key)).cloned().collect()
        };
        match &request.command {
            // The full set says what is wanted; what is refused again is put in again, with a new time.
            Command::Apply(apply) if apply.prune => {
                let refused: Vec<RefusedKey> = report
                    .results
                    .iter()
                    .filter(|item| item.outcome == ItemOutcome::Conflict)
                    .filter_map(key_of)
                    .collect();
                gone.extend(others(&|key| key.owner == apply.owner.as_str() && !refused.contains(key)));
            }
            Command::DeleteZone(apex) => {
                let apex = apex.to_string();
                gone.extend(others(&|key| key.zone == apex));
            }
            Command::DeleteOwner(_) | Command::Sweep(_) => {
                gone.extend(others(&|key| report.owners_deleted.iter().any(|owner| owner.as_str() == key.owner)));
            }
            _ => {}
        }
        for key in gone {
            known.remove(&key);
            self.changed.push(key);
        }
    }

    /// Whether there is something to write.
    pub(super) fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Writes what changed in the open transaction.
    pub(super) async fn write(&mut self, writer: &mut Writer) -> Result<(), StoreError> {
        let Some(known) = &self.known else { return Ok(()) };
        for key in std::mem::take(&mut self.changed) {
            match known.get(&key) {
                Some(row) => writer.put_refused(row).await?,
                None => writer.delete_refused(&key).await?,
            }
        }
        Ok(())
    }
}

fn key_of(item: &Item) -> Option<RefusedKey> {
    Some(RefusedKey {
        name: item.name.clone(),
        rtype: item.rtype.clone(),
        zone: item.zone.as_ref()?.to_string(),
        owner: item.owner.as_str().to_owned(),
        set_id: item.set_id.clone(),
    })
}

/// The values that a patch writes, by name and type: it may have many, and many of them refused.
struct Steps<'a>(HashMap<(Box<str>, Rtype), &'a [Vec<u8>]>);

impl<'a> Steps<'a> {
    fn of(command: &'a Command) -> Steps<'a> {
        let Command::Patch(patch) = command else { return Steps(HashMap::new()) };
        let written = patch.steps.iter().flatten();
        let one = |step: &'a Step| Some(((step.name.to_string().into(), step.rtype), step.records()?));
        Steps(written.filter_map(one).collect())
    }
}

/// Type and values of the wish that an item is about; a delete is none, but for one that a swap waits for.
fn wish_of<'a>(command: &'a Command, steps: &Steps<'a>, item: &Item) -> Option<(Rtype, &'a [Vec<u8>])> {
    let rtype: Rtype = item.rtype.parse().ok()?;
    let asked: Vec<&Wish> = match command {
        Command::Apply(apply) => apply.records.iter().flatten().collect(),
        Command::Change(change) => change.upsert.iter().flatten().collect(),
        Command::ChangeEndpoints(asked) => asked.change.upsert.iter().flatten().collect(),
        Command::Revert(changes) => changes.iter().flat_map(|change| change.upsert.iter().flatten()).collect(),
        Command::Patch(_) => {
            let records = steps.0.get(&(item.name.as_str().into(), rtype)).copied();
            let is_swap = item.problem.as_ref().is_some_and(|problem| problem.code == Code::SwapRefused);
            return records.or(is_swap.then_some(&[][..])).map(|records| (rtype, records));
        }
        _ => Vec::new(),
    };
    let is_it = |wish: &&Wish| wish.rtype == rtype && wish.set_id == item.set_id && wish.name.to_string() == item.name;
    asked.into_iter().find(is_it).map(|wish| (rtype, wish.records.as_slice()))
}
