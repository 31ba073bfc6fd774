//! What came of a command: the same values serve the response, dry run and the command line.

use super::code::Code;
use super::owner::OwnerId;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Who stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The owner.
    pub owner: OwnerId,
    /// Its kind.
    pub kind: Option<String>,
    /// The owners above it, nearest first.
    pub parents: Box<[OwnerId]>,
    /// Since when it holds.
    pub since: Moment,
    /// The type of what it holds, where one claim of it stands in the way.
    pub rtype: Option<Rtype>,
}

/// Why an item or a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The code.
    pub code: Code,
    /// One sentence that says what to do.
    pub detail: String,
    /// In a conflict, who stands in the way.
    pub holder: Option<Holder>,
    /// Of a chain that does not end, its steps.
    pub path: Box<[String]>,
}

impl Problem {
    /// Without a holder.
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        Problem { code, detail: detail.into(), holder: None, path: Box::default() }
    }
}

/// What came of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemOutcome {
    /// It is new.
    Created,
    /// It was there with another value, TTL, label or state.
    Updated,
    /// It was there as wished.
    Unchanged,
    /// It is gone.
    Deleted,
    /// It waits for the holder to let go.
    Queued,
    /// Another claim stands against it.
    Conflict,
    /// It is not a record that can be served.
    Invalid,
    /// The delete brake holds it.
    Held,
    /// It is kept aside for a while, and not served.
    Quarantined,
    /// It is a registry TXT record of an external-dns client: noted, and not published.
    Absorbed,
}

impl ItemOutcome {
    /// All outcomes.
    pub const ALL: [ItemOutcome; 10] = [
        ItemOutcome::Created,
        ItemOutcome::Updated,
        ItemOutcome::Unchanged,
        ItemOutcome::Deleted,
        ItemOutcome::Queued,
        ItemOutcome::Conflict,
        ItemOutcome::Invalid,
        ItemOutcome::Held,
        ItemOutcome::Quarantined,
        ItemOutcome::Absorbed,
    ];

    /// The word in the API.
    pub fn text(self) -> &'static str {
        match self {
            ItemOutcome::Created => "created",
            ItemOutcome::Updated => "updated",
            ItemOutcome::Unchanged => "unchanged",
            ItemOutcome::Deleted => "deleted",
            ItemOutcome::Queued => "queued",
            ItemOutcome::Conflict => "conflict",
            ItemOutcome::Invalid => "invalid",
            ItemOutcome::Held => "held",
            ItemOutcome::Quarantined => "quarantined",
            ItemOutcome::Absorbed => "absorbed",
        }
    }

    /// Whether the item is not in effect: such a one makes a `207` of a `200`.
    pub fn is_refused(self) -> bool {
        match self {
            ItemOutcome::Queued | ItemOutcome::Conflict | ItemOutcome::Invalid | ItemOutcome::Held => true,
            ItemOutcome::Created
            | ItemOutcome::Updated
            | ItemOutcome::Unchanged
            | ItemOutcome::Deleted
            | ItemOutcome::Quarantined
            | ItemOutcome::Absorbed => false,
        }
    }
}

/// One item of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Apex of its zone, where it is known.
    pub zone: Option<Name>,
    /// The name in presentation form, or as asked for if it is none.
    pub name: String,
    /// The type in text, or as asked for.
    pub rtype: String,
    /// The set id, empty if there is none.
    pub set_id: String,
    /// The owner whose item it is.
    pub owner: OwnerId,
    /// What came of it.
    pub outcome: ItemOutcome,
    /// Why it was refused.
    pub problem: Option<Problem>,
    /// The owner whose queued claim is served now.
    pub promoted: Option<OwnerId>,
}

/// How many items came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: [u64; ItemOutcome::ALL.len()],
}

impl Summary {
    /// Counts one.
    pub fn add(&mut self, outcome: ItemOutcome) {
        self.counts[outcome as usize] += 1;
    }

    /// How many came to this.
    pub fn count(&self, outcome: ItemOutcome) -> u64 {
        self.counts[outcome as usize]
    }

    /// Whether some item is not in effect.
    pub fn has_refused(&self) -> bool {
        ItemOutcome::ALL.into_iter().any(|outcome| outcome.is_refused() && self.count(outcome) > 0)
    }
}

/// Something that is in effect and odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The name.
    pub name: Name,
    /// The type in text.
    pub rtype: String,
    /// A stable word, as `occluded`.
    pub code: &'static str,
    /// One sentence.
    pub detail: String,
}

/// A claim that moved up from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// Apex of the zone.
    pub zone: Name,
    /// The name.
    pub name: Name,
    /// The type in text.
    pub rtype: String,
    /// Whose claim is served now.
    pub owner: OwnerId,
}

/// A held record set that points at a name that is gone, or has no data for it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dangling {
    /// Apex of its zone.
    pub zone: Name,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub rtype: Rtype,
    /// Its set id, empty if there is none.
    pub set_id: String,
    /// Its owner.
    pub owner: OwnerId,
    /// The name that it points at.
    pub target: Name,
}

/// An owner that a sweep found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The owner.
    pub owner: OwnerId,
    /// The owners above it, nearest first.
    pub parents: Vec<OwnerId>,
    /// How many claims it has that are not in quarantine.
    pub records: u64,
}

/// What came of a command that was not refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The store's revision then; of a dry run the one before.
    pub revision: u64,
    /// Whether anything changed (of a dry run: would).
    pub changed: bool,
    /// What came of the zone, owner or token that the command names; none where it names none.
    pub subject: Option<ItemOutcome>,
    /// Items by outcome.
    pub summary: Summary,
    /// The items: of an import those that were refused or deleted, of all other commands all.
    pub results: Vec<Item>,
    /// Claims that moved up, for commands that list no items of theirs.
    pub promoted: Vec<Promoted>,
    /// New serials of the zones whose content changed (of a dry run: would be), by apex.
    pub serials: Vec<(Name, u32)>,
    /// Warnings.
    pub warnings: Vec<Warning>,
    /// Owners deleted.
    pub owners_deleted: Vec<OwnerId>,
    /// Leases renewed, each with its new end.
    pub renewed: Vec<(OwnerId, Moment)>,
    /// Owners asked for that are not there.
    pub unknown: Vec<OwnerId>,
    /// What points at nothing now (of a dry run: would), and did not before.
    pub dangling: Vec<Dangling>,
    /// Whether there is more of that than is listed.
    pub more_dangling: bool,
    /// Number of the sweep that was made.
    pub sweep: Option<u64>,
    /// What it found, each owner after those above it.
    pub candidates: Vec<Candidate>,
}

/// Why nothing of a command is in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The first or the only reason.
    pub problem: Problem,
    /// Of `atomic` commands, each item that was refused.
    pub items: Vec<Item>,
    /// Of `referenced_by`, what would point at nothing.
    pub dangling: Vec<Dangling>,
}

impl Refusal {
    /// For one reason.
    pub fn new(code: Code, detail: impl Into<String>) -> Refusal {
        Problem::new(code, detail).into()
    }

    /// Its code.
    pub fn code(&self) -> Code {
        self.problem.code
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal { problem, items: Vec::new(), dangling: Vec::new() }
    }
}
