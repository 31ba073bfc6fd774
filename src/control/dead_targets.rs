//! ALIAS records whose owner wants them put into quarantine when their target is gone for long (alias.md section 7,
//! `onNxdomain: quarantine`). The engine deletes nothing: this is a command like any other.

use super::handle::{Handle, Request};
use crate::ledger::actor::Actor;
use crate::ledger::claim::{Claim, ClaimState};
use crate::ledger::command::{Change, Command, Going, RecordName};
use crate::store::Reader;
use crate::store::rows::ClaimFilter;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{
    AliasBatch, AliasRef, AliasState, Dependent, Family, Moment, RecordState, TargetKey, Transition,
};
use crate::zone::policy::OnNxdomain;
use crate::zone::reach::{Place, Reach, reach};
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::{Trust, WalkEnd};

/// Records put into quarantine in one turn, at most; the others wait for the next.
const MAX_A_TURN: usize = 100;

/// A record with a dead target.
struct Dead {
    target: TargetKey,
    zone: Name,
    name: Name,
    since: Since,
}

/// Since when a target is dead.
#[derive(Clone, Copy)]
enum Since {
    /// Upstreams have said so since then.
    Told(Moment),
    /// Hosted zones say so: since the last change at the name.
    Hosted,
}

/// Puts into quarantine what is due at `now`.
pub async fn turn(handle: &Handle, reader: &Reader, trust: &Trust, now: Moment) {
    let dead = dead(&handle.published().get(), trust);
    for one in dead.into_iter().take(MAX_A_TURN) {
        let filter = ClaimFilter {
            zone: Some(one.zone.clone()),
            name: Some(one.name.clone()),
            rtype: Some(Rtype::ALIAS),
            state: Some(ClaimState::Held),
            ..ClaimFilter::default()
        };
        let rows = match reader.claims(&filter).await {
            Ok(listing) => listing.items,
            Err(error) => {
                tracing::warn!(%error, "the store does not say whose a dead ALIAS is");
                return;
            }
        };
        let changed = match one.since {
            Since::Told(_) => Ok(None),
            Since::Hosted => reader.last_change_at(&one.target.name).await,
        };
        let Ok(changed) = changed else { return };
        for row in rows {
            let since = match one.since {
                Since::Told(since) => since,
                // A target that never was, or left the history long ago, is missing from the first.
                Since::Hosted => changed.unwrap_or_default().max(row.claim.created),
            };
            let options = row.claim.alias.unwrap_or_default();
            let is_due = since.plus_seconds(options.quarantine_after) <= now;
            // Who asked for it since knows of it.
            let is_wanted = row.claim.asserted > since;
            if is_due && !is_wanted && options.policy.on_nxdomain == OnNxdomain::Quarantine {
                quarantine(handle, &one, &row.claim, now).await;
            }
        }
    }
}

async fn quarantine(handle: &Handle, dead: &Dead, claim: &Claim, now: Moment) {
    let (owner, set_id) = (claim.owner_id.clone(), claim.set_id.clone());
    let (zone, name) = (Some(dead.zone.clone()), dead.name.clone());
    let record = RecordName { zone, name, rtype: Rtype::ALIAS, set_id: Some(set_id) };
    let change = Change { going: Going::Quarantined, ..Change::delete(owner.clone(), vec![record]) };
    let request = Request {
        command: Command::Change(change),
        actor: Actor::server(),
        dry_run: false,
        request_id: "alias.quarantined".to_owned(),
    };
    let (owner, name) = (owner.as_str(), &dead.name);
    match handle.submit(request).await {
        Ok(_) => {
            tracing::info!(owner = ?owner, %name, "an ALIAS with a dead target is in quarantine");
            let state = RecordState::Is(AliasState::TargetNxdomain);
            let dependent = Dependent { zone: dead.zone.clone(), name: name.clone(), owner: claim.owner.0 };
            let quarantined = Transition {
                target: dead.target.clone(),
                from: state,
                to: state,
                at: now,
                takeover_risk: false,
                dependents: vec![dependent],
                count: 1,
            };
            handle.publish_alias(AliasBatch { quarantined: vec![quarantined], ..AliasBatch::default() }).await;
        }
        Err(refusal) => {
            tracing::warn!(owner = ?owner, %name, code = %refusal.code(), "no quarantine of a dead ALIAS");
        }
    }
}

/// Records that ask for quarantine and of which no family has anything but NXDOMAIN, since the last one has.
fn dead(snapshot: &Snapshot, trust: &Trust) -> Vec<Dead> {
    let mut found = Vec::new();
    let mut scratch = HashedName::empty();
    for zone in snapshot.zones() {
        for node in zone.aliases().iter() {
            let Some(alias) = node.rrset(Rtype::ALIAS).and_then(|rrset| AliasRef::decode(rrset.first())) else {
                continue;
            };
            if alias.policy().on_nxdomain != OnNxdomain::Quarantine {
                continue;
            }
            let place = Place { zone, node, alias };
            let mut since = Some(Since::Told(Moment(0)));
            let mut target = None;
            for family in Family::BOTH.into_iter().filter(|family| alias.has(*family)) {
                let dead_since = match reach(snapshot, trust, place, family, &mut scratch) {
                    Reach::Outside { entry, .. } if entry.family(family).state == AliasState::TargetNxdomain => {
                        target = Some(entry.target.clone());
                        Some(Since::Told(entry.family(family).since))
                    }
                    Reach::Inside(WalkEnd::NameError) => {
                        target = Name::from_wire(scratch.wire()).ok().map(TargetKey::of);
                        Some(Since::Hosted)
                    }
                    Reach::Outside { .. } | Reach::Inside(_) | Reach::Unknown => None,
                };
                since = since.zip(dead_since).map(|both| match both {
                    (Since::Told(one), Since::Told(other)) => Since::Told(one.max(other)),
                    (Since::Hosted, _) | (_, Since::Hosted) => Since::Hosted,
                });
            }
            if let (Some(since), Some(target), Ok(name)) = (since, target, Name::from_wire(node.name())) {
                found.push(Dead { target, zone: zone.apex().clone(), name, since });
            }
        }
    }
    found
}
