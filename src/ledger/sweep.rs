//! Sweeps: what a mark says nobody owns any more is listed, put into quarantine or deleted (ownership.md section 3.4).
//! What a sweep took is kept with it for [`KEPT`], so that it can be undone.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::actor::Actor;
use super::claim::{Claim, ClaimState};
use super::code::Code;
use super::command::Sweep;
use super::draft::Draft;
use super::entitlement;
use super::letting_go;
use super::limits::MAX_RECORDS;
use super::owner::{Owner, OwnerId, OwnerNumber};
use super::quarantine;
use super::report::{Candidate, ItemOutcome, Problem, Refusal};
use super::transfer;
use super::write;
use super::zone::ZoneNumber;
use crate::zone::alias::Moment;

/// How long a sweep is kept, in milliseconds: 7 days, as long as what is in quarantine.
pub const KEPT: u64 = quarantine::KEPT;
/// Most sweeps that are kept of those that took something; the oldest goes first.
pub const MAX_SWEEPS: u64 = 1_000;
/// Most sweeps that are kept of those that took nothing.
pub const MAX_REPORTS: u64 = 100;
/// Most claims that all kept sweeps together took; of more the oldest sweeps go first, the latest never.
pub const MAX_TAKEN: u64 = 1_000_000;
/// Most unknown owners of `live` that a response names.
const MAX_UNKNOWN: usize = 100;

/// What becomes of what a sweep finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SweepMode {
    /// It is listed.
    #[default]
    Report,
    /// It is put into quarantine.
    Quarantine,
    /// It is deleted.
    Delete,
}

impl SweepMode {
    /// All modes.
    pub const ALL: [SweepMode; 3] = [SweepMode::Report, SweepMode::Quarantine, SweepMode::Delete];

    /// The word in API and store.
    pub fn text(self) -> &'static str {
        match self {
            SweepMode::Report => "report",
            SweepMode::Quarantine => "quarantine",
            SweepMode::Delete => "delete",
        }
    }

    /// Reads [`SweepMode::text`].
    pub fn from_text(text: &str) -> Option<SweepMode> {
        SweepMode::ALL.into_iter().find(|mode| mode.text() == text)
    }
}

/// How it stands with a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepState {
    /// It is done.
    Done,
    /// It was undone but for what something else stood in the way of; a repeat tries those again.
    PartlyUndone,
    /// It was undone.
    Undone,
}

impl SweepState {
    /// All states.
    pub const ALL: [SweepState; 3] = [SweepState::Done, SweepState::PartlyUndone, SweepState::Undone];

    /// The word in API and store.
    pub fn text(self) -> &'static str {
        match self {
            SweepState::Done => "done",
            SweepState::PartlyUndone => "partlyUndone",
            SweepState::Undone => "undone",
        }
    }

    /// Reads [`SweepState::text`].
    pub fn from_text(text: &str) -> Option<SweepState> {
        SweepState::ALL.into_iter().find(|state| state.text() == text)
    }
}

/// A sweep as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The revision that made it.
    pub id: u64,
    /// The owner below which it looked.
    pub scope: OwnerId,
    /// The owners above that one then, nearest first.
    pub parents: Vec<OwnerId>,
    /// What it did.
    pub mode: SweepMode,
    /// Owners that wrote after this revision were spared.
    pub as_of: u64,
    /// When.
    pub at: Moment,
    /// Id of the token that asked.
    pub actor: String,
    /// How it stands with it.
    pub state: SweepState,
    /// What it found, each owner after those above it.
    pub owners: Vec<SweptOwner>,
}

impl Swept {
    /// The word for it in the API: `s` and its number.
    pub fn word(id: u64) -> String {
        format!("s{id}")
    }

    /// Reads [`Swept::word`].
    pub fn id_of(word: &str) -> Option<u64> {
        word.strip_prefix('s').filter(|number| number.bytes().all(|octet| octet.is_ascii_digit()))?.parse().ok()
    }

    /// How many claims it took.
    pub fn taken(&self) -> u64 {
        self.owners.iter().map(|one| one.claims.len() as u64).sum()
    }
}

/// An owner that a sweep found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptOwner {
    /// The owner as it was.
    pub owner: Owner,
    /// The owners above it then, nearest first.
    pub parents: Vec<OwnerId>,
    /// How many claims it had that were not in quarantine.
    pub records: u64,
    /// The claims that the sweep took, as they were.
    pub claims: Vec<Claim>,
    /// Zones that it owned.
    pub zones: Vec<ZoneNumber>,
}

/// A sweep before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepChange {
    /// It is new.
    Made(Swept),
    /// Its state is another one.
    Moved {
        /// Its number.
        id: u64,
        /// The owner below which it looked.
        scope: OwnerId,
        /// The state before.
        before: SweepState,
        /// The state now.
        after: SweepState,
    },
}

/// Plans [`super::command::Command::Sweep`]. The owner that is the scope is no candidate itself: what is below it is
/// looked at. A sweep is kept whether it found something or not.
pub(super) fn sweep(draft: &mut Draft, actor: &Actor, asked: &Sweep) -> Result<(), Refusal> {
    entitlement::check_owner(&draft.ledger, actor, &asked.scope, None)?;
    let Some(top) = draft.ledger.owner(&asked.scope).cloned() else {
        return Err(Refusal::new(Code::NotFound, format!("there is no owner {}", asked.scope)));
    };
    let as_of = asked.as_of.unwrap_or(draft.ledger.revision);
    if as_of > draft.ledger.revision {
        let detail = format!(
            "asOfRevision {as_of} is still to come: the latest is {}, so it is another's",
            draft.ledger.revision
        );
        return Err(Refusal::new(Code::BadRequest, detail));
    }
    let below = draft.ledger.descendants(top.number);
    let in_scope: HashSet<OwnerNumber> = below.iter().copied().chain([top.number]).collect();
    let mut claims: HashMap<OwnerNumber, Vec<Claim>> = HashMap::new();
    for claim in draft.ledger.claims.values().flatten().filter(|claim| in_scope.contains(&claim.owner)) {
        claims.entry(claim.owner).or_default().push(claim.clone());
    }
    claims.values_mut().for_each(|own| transfer::sort(draft, own));
    note_unknown(draft, &in_scope, &asked.live);
    let spared = spared(draft, actor, asked, as_of, (&below, &claims));
    let going: Vec<OwnerNumber> = below.into_iter().filter(|number| !spared.contains(number)).collect();
    let is_there = |claim: &&Claim| claim.state != ClaimState::Quarantined;
    let count = |own: &Vec<Claim>| own.iter().filter(is_there).count() as u64;
    let total: u64 = claims.values().map(count).sum();
    let records: u64 = going.iter().filter_map(|number| claims.get(number)).map(count).sum();
    let zones: Vec<(ZoneNumber, OwnerNumber)> = draft
        .ledger
        .owned_zones
        .iter()
        .filter_map(|number| Some((*number, draft.ledger.zones.get(number)?.owner_number)))
        .collect();
    let owners: Vec<SweptOwner> = going
        .iter()
        .filter_map(|number| {
            let owner = draft.ledger.owners.get(number)?.clone();
            let own = claims.remove(number).unwrap_or_default();
            Some(SweptOwner {
                parents: draft.ledger.above(*number).into_iter().map(|above| above.id.clone()).collect(),
                records: count(&own),
                claims: match asked.mode {
                    SweepMode::Report => Vec::new(),
                    SweepMode::Quarantine => own.into_iter().filter(|claim| is_there(&claim)).collect(),
                    SweepMode::Delete => own,
                },
                zones: zones.iter().filter(|(_, owner)| owner == number).map(|(zone, _)| *zone).collect(),
                owner,
            })
        })
        .collect();
    let parents = draft.ledger.above(top.number).into_iter().map(|above| above.id.clone()).collect();
    let swept = Swept {
        id: draft.revision(),
        scope: asked.scope.clone(),
        parents,
        mode: asked.mode,
        as_of,
        at: draft.now,
        actor: actor.token.clone(),
        state: SweepState::Done,
        owners,
    };
    if asked.mode != SweepMode::Report {
        check_size(&swept, records, total, asked.max_deletes)?;
    }
    take(draft, asked.mode, &going);
    draft.report.sweep = Some(swept.id);
    draft.report.candidates = swept
        .owners
        .iter()
        .map(|one| Candidate { owner: one.owner.id.clone(), parents: one.parents.clone(), records: one.records })
        .collect();
    draft.sweep = Some(SweepChange::Made(swept));
    Ok(())
}

fn note_unknown(draft: &mut Draft, in_scope: &HashSet<OwnerNumber>, live: &BTreeSet<OwnerId>) {
    let is_known = |id: &&OwnerId| draft.ledger.owner(id).is_some_and(|owner| in_scope.contains(&owner.number));
    let unknown: Vec<OwnerId> = live.iter().filter(|id| !is_known(id)).take(MAX_UNKNOWN).cloned().collect();
    draft.report.unknown.extend(unknown);
}

/// Owners that stay: those that are alive, wrote since, or have a record that the token may not touch, and all above
/// such ones. A lease that ran out or a record that moved up counts as written, which is the careful side.
fn spared(
    draft: &mut Draft,
    actor: &Actor,
    asked: &Sweep,
    as_of: u64,
    (below, claims): (&[OwnerNumber], &HashMap<OwnerNumber, Vec<Claim>>),
) -> HashSet<OwnerNumber> {
    let mut spared = HashSet::new();
    for number in below {
        let Some(owner) = draft.ledger.owners.get(number) else { continue };
        let own = claims.get(number).map_or(&[][..], Vec::as_slice);
        let mut stays = asked.live.contains(&owner.id)
            || owner.id.is_reserved()
            || owner.revision > as_of
            || own.iter().any(|claim| claim.revision > as_of);
        if !stays {
            let refused = own.iter().find_map(|claim| {
                let zone = draft.ledger.zones.get(&claim.zone)?;
                let problem = entitlement::check_record(&draft.ledger, actor, zone, &claim.name, claim.rtype).err()?;
                Some((claim.clone(), problem))
            });
            if let Some((claim, problem)) = refused {
                draft.report_claim(&claim, ItemOutcome::Invalid, Some(problem));
                stays = true;
            }
        }
        if stays {
            spared.insert(*number);
            spared.extend(draft.ledger.above(*number).into_iter().map(|above| above.number));
        }
    }
    spared
}

/// The delete brake, which refuses a sweep as a whole, and the most records of one.
fn check_size(swept: &Swept, records: u64, total: u64, most: Option<u64>) -> Result<(), Problem> {
    if swept.taken() > MAX_RECORDS as u64 {
        let detail = format!("one sweep takes at most {MAX_RECORDS} records, not {}: narrow the scope", swept.taken());
        return Err(Problem::new(Code::LimitExceeded, detail));
    }
    if records > write::let_through(total, most) {
        let detail = format!(
            "{records} of {total} records in scope would go at once: repeat with maxDeletes={records} if that is meant"
        );
        return Err(Problem::new(Code::DeleteGuard, detail));
    }
    Ok(())
}

fn take(draft: &mut Draft, mode: SweepMode, going: &[OwnerNumber]) {
    let all: HashSet<OwnerNumber> = going.iter().copied().collect();
    match mode {
        SweepMode::Report => {}
        SweepMode::Quarantine => quarantine::put_owners_aside(draft, &all),
        SweepMode::Delete => {
            letting_go::delete_claims(draft, &all);
            for number in going.iter().rev() {
                if let Some(owner) = draft.ledger.owners.get(number) {
                    draft.report.owners_deleted.push(owner.id.clone());
                }
                draft.remove_owner(*number);
            }
            letting_go::hand_zones_on(draft, None);
        }
    }
}
