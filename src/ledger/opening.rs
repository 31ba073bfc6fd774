//! Zones as the PowerDNS door makes and shows them.

use super::actor::Actor;
use super::code::Code;
use super::command::{OpenZone, ShowZone};
use super::draft::Draft;
use super::key::{Conflicts, KeySettings};
use super::patch;
use super::plan::ZoneChange;
use super::report::{ItemOutcome, Problem, Refusal};
use super::zones::{self, Keys};

/// Plans [`super::command::Command::OpenZone`]: the zone with all its records, or nothing.
pub(super) fn open(draft: &mut Draft, actor: &Actor, open: &OpenZone) -> Result<(), Refusal> {
    let apex = &open.create.name;
    if let Some(zone) = draft.ledger.zone(apex) {
        return Err(Problem::new(Code::ZoneExists, format!("the zone {} exists", zone.name)).into());
    }
    let keys = Keys::of(actor, &open.create)?;
    let number = zones::make(draft, actor, apex, keys, open.serial)?;
    if let Some(zone) = draft.ledger.zones.get_mut(&number) {
        zone.presented = open.presented.clone();
        let shown = zone.clone();
        for change in &mut draft.zones {
            if let ZoneChange::Created(created) = change {
                created.clone_from(&shown);
            }
        }
    }
    // Whatever the key does with conflicts: half a zone is none that was asked for.
    let key = KeySettings { conflicts: Conflicts::Partial, queue: false, brake: false, ..(*open.patch.key).clone() };
    let whole = super::command::Patch { key: key.into(), ..open.patch.clone() };
    patch::patch(draft, actor, &whole)?;
    let items: Vec<_> = draft.report.results.iter().filter(|item| item.outcome.is_refused()).cloned().collect();
    if let Some(problem) = items.iter().find_map(|item| item.problem.clone()) {
        return Err(Refusal { items, ..problem.into() });
    }
    // Of a zone just made there is no later change that a floor could wait for.
    draft.floors.clear();
    draft.report.subject = Some(ItemOutcome::Created);
    Ok(())
}

/// Plans [`super::command::Command::ShowZone`].
pub(super) fn show(draft: &mut Draft, actor: &Actor, show: &ShowZone) -> Result<(), Refusal> {
    let mut zone = zones::entitled_zone(draft, actor, &show.name)?;
    if zone.presented == show.presented {
        draft.report.subject = Some(ItemOutcome::Unchanged);
        return Ok(());
    }
    zone.presented = show.presented.clone();
    zone.revision = draft.revision();
    draft.ledger.add_zone(zone.clone());
    draft.zones.push(ZoneChange::Updated(zone));
    draft.report.subject = Some(ItemOutcome::Updated);
    Ok(())
}
