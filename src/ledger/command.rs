//! What is asked: every change of zones, owners, claims and tokens is one of these commands.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::actor::{Role, TokenLimits};
use super::alias_options::AliasOptions;
use super::attachment::Comment;
use super::external_dns::{AdjustEndpoints, ChangeEndpoints, DoorUse};
use super::key::KeySettings;
use super::lease::LeaseKeys;
use super::owner::{Labels, OwnerId, Source};
use super::report::Problem;
use super::sweep::SweepMode;
use super::zone::Presented;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;
use crate::zone::node::RRset;

/// A change that is asked for. One command is one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Makes a zone (ownership.md section 3.5).
    CreateZone(CreateZone),
    /// Changes a zone's keys; absent ones stay.
    UpdateZone(UpdateZone),
    /// Deletes a zone with every claim in it.
    DeleteZone(Name),
    /// Makes the content of a zone file the full set of `zone:<zone>`.
    ImportZone(ImportZone),
    /// Makes a set of records the full set of an owner (ownership.md section 3.1).
    Apply(Apply),
    /// Writes and deletes some records of an owner (section 3.2).
    Change(Change),
    /// Changes of several owners at once: the inverse of a revision.
    Revert(Vec<Change>),
    /// Writes and deletes endpoints of an external-dns client.
    ChangeEndpoints(ChangeEndpoints),
    /// Notes what an external-dns client desires.
    AdjustEndpoints(AdjustEndpoints),
    /// Makes or changes an owner (section 3.3).
    PutOwner(PutOwner),
    /// Deletes an owner with all its claims, and with `cascade` all below it (section 3.3).
    DeleteOwner(DeleteOwner),
    /// Gives claims of one owner to another (section 3.3).
    Transfer(Transfer),
    /// Does or forgets what the delete brake holds (section 3.1).
    DecideHold(DecideHold),
    /// Renews the leases of these owners and of all below them (section 3.3).
    RenewLeases(Vec<OwnerId>),
    /// Takes a lease that ran out a step on.
    EndLease(EndLease),
    /// Takes out for good what was long enough in quarantine (section 3.3).
    Purge(Purge),
    /// Lists, puts aside or deletes what a mark says nobody owns any more (section 3.4).
    Sweep(Sweep),
    /// Restores what the sweep of this number took.
    UndoSweep(u64),
    /// Makes a zone with records, as the PowerDNS door does.
    OpenZone(OpenZone),
    /// Changes what the PowerDNS door shows of a zone.
    ShowZone(ShowZone),
    /// Does the steps of a request of the PowerDNS door.
    Patch(Patch),
    /// Takes queued claims out that were not asked for again.
    Lapse(Lapse),
    /// Puts a token into the store.
    CreateToken(NewToken),
    /// Takes a token out.
    DeleteToken(String),
}

/// Keys of a new zone; none of them takes its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateZone {
    /// The apex.
    pub name: Name,
    /// Name servers; default `ns1.<zone>` (the configured ones are filled in at the edge).
    pub nameservers: Option<Vec<Name>>,
    /// E-mail address or name for the SOA; default `hostmaster@<zone>`.
    pub contact: Option<String>,
    /// Seconds; default 300.
    pub default_ttl: Option<u32>,
    /// Default: the token's root owner, for `admin` `zone:<zone>`.
    pub owner: Option<OwnerId>,
    /// Upstream group of its ALIAS records.
    pub upstream_group: Option<String>,
}

impl CreateZone {
    /// With all defaults.
    pub fn new(name: Name) -> CreateZone {
        CreateZone { name, nameservers: None, contact: None, default_ttl: None, owner: None, upstream_group: None }
    }
}

/// Keys of a zone that change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateZone {
    /// The apex.
    pub name: Name,
    /// Seconds; records already written keep their TTL.
    pub default_ttl: Option<u32>,
    /// The new owner; the token must be entitled to both.
    pub owner: Option<OwnerId>,
    /// The new upstream group; `Some(None)` takes it away.
    pub upstream_group: Option<Option<String>>,
}

/// A zone file's content. The zone is made if need be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportZone {
    /// The apex.
    pub origin: Name,
    /// RRsets by name; the RDATA of an ALIAS is its target alone. Shared with the plan.
    pub rrsets: Arc<Vec<(Name, RRset)>>,
    /// Who owns the zone if it is made; default as in [`CreateZone::owner`].
    pub owner: Option<OwnerId>,
    /// Whether what `zone:<zone>` claims and the file does not have is deleted.
    pub prune: bool,
    /// Whether one refused item refuses all.
    pub atomic: bool,
    /// What becomes of conflicts.
    pub on_conflict: OnConflict,
    /// Lets more deletes through than the brake does.
    pub max_deletes: Option<u64>,
}

/// What becomes of a wish that another owner's claim stands against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// It is refused.
    #[default]
    Reject,
    /// It waits until the holder lets go.
    Queue,
}

/// Keys of an owner that a write sets on the way; absent ones stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerKeys {
    /// Of the wish; an older one than the last is refused.
    pub generation: Option<u64>,
    /// Of the writer; a lower one than the highest seen is refused.
    pub epoch: Option<u64>,
    /// Incarnation of the resource.
    pub uid: Option<String>,
    /// Kind of the resource.
    pub kind: Option<String>,
    /// The owner above.
    pub parent: Option<OwnerId>,
    /// Labels, all of them.
    pub labels: Option<Labels>,
    /// What it is a projection of.
    pub source: Option<Source>,
    /// Its lease.
    pub lease: LeaseKeys,
    /// Its use of the external-dns door; an owner id that is absent in it stays.
    pub external_dns: Option<DoorUse>,
}

/// One record set that is wished for, read and checked by itself (see [`super::wish`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The zone, if the request names it; else the longest match.
    pub zone: Option<Name>,
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// Tells claims of one owner for one RRset apart; empty if there is one.
    pub set_id: String,
    /// Seconds; none takes the zone's default.
    pub ttl: Option<u32>,
    /// RDATA, at least one, sorted and without repeats in canonical form.
    pub records: Vec<Vec<u8>>,
    /// Options of an ALIAS; none takes the defaults.
    pub alias: Option<AliasOptions>,
    /// Whether it may stand beside other owners' claims.
    pub share: bool,
    /// Labels.
    pub labels: Labels,
}

/// A record that could not be read. It is reported as `invalid`, and does not block the others; what its owner claims
/// there already stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadWish {
    /// The name as text, as asked for.
    pub name: String,
    /// The type as text, as asked for.
    pub rtype: String,
    /// Name and type, if those could be read.
    pub key: Option<(Name, Rtype)>,
    /// Why.
    pub problem: Problem,
}

/// See [`Command::Apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apply {
    /// The owner; made if there is none.
    pub owner: OwnerId,
    /// Its keys.
    pub keys: OwnerKeys,
    /// The full set.
    pub records: Vec<Result<Wish, BadWish>>,
    /// Whether what the owner claims and does not list is deleted.
    pub prune: bool,
    /// Whether one refused item refuses all.
    pub atomic: bool,
    /// What becomes of conflicts.
    pub on_conflict: OnConflict,
    /// Lets more deletes through than the brake does.
    pub max_deletes: Option<u64>,
    /// Refuses if the owner changed after this revision (`If-Match`).
    pub if_revision: Option<u64>,
}

impl Apply {
    /// The full set of an owner, with the API's defaults: prune, not atomic, reject conflicts.
    pub fn new(owner: OwnerId, records: Vec<Result<Wish, BadWish>>) -> Apply {
        Apply {
            owner,
            keys: OwnerKeys::default(),
            records,
            prune: true,
            atomic: false,
            on_conflict: OnConflict::Reject,
            max_deletes: None,
            if_revision: None,
        }
    }
}

/// A claim named for deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordName {
    /// The zone, if the request names it; else the longest match.
    pub zone: Option<Name>,
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// The set id; none means all of the owner's sets there.
    pub set_id: Option<String>,
}

/// See [`Command::Change`]. Deletes come before upserts, so that one change may swap types at a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The owner; made if there is none and something is written.
    pub owner: OwnerId,
    /// Its keys.
    pub keys: OwnerKeys,
    /// What is written.
    pub upsert: Vec<Result<Wish, BadWish>>,
    /// What is deleted.
    pub delete: Vec<RecordName>,
    /// What becomes of what is deleted.
    pub going: Going,
    /// Whether one refused item refuses all.
    pub atomic: bool,
    /// What becomes of conflicts.
    pub on_conflict: OnConflict,
    /// Refuses if the owner changed after this revision (`If-Match`).
    pub if_revision: Option<u64>,
}

impl Change {
    /// Writes one record set.
    pub fn put(owner: OwnerId, wish: Wish) -> Change {
        Change { upsert: vec![Ok(wish)], ..Change::delete(owner, Vec::new()) }
    }

    /// Deletes record sets.
    pub fn delete(owner: OwnerId, delete: Vec<RecordName>) -> Change {
        Change {
            owner,
            keys: OwnerKeys::default(),
            upsert: Vec::new(),
            delete,
            going: Going::Deleted,
            atomic: true,
            on_conflict: OnConflict::Reject,
            if_revision: None,
        }
    }
}

/// See [`Command::PutOwner`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutOwner {
    /// The owner.
    pub owner: OwnerId,
    /// Its keys.
    pub keys: OwnerKeys,
}

/// See [`Command::DeleteOwner`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOwner {
    /// The owner; one never seen is a success with zeros.
    pub owner: OwnerId,
    /// Whether its children go along; without, an owner with children is refused.
    pub cascade: bool,
    /// Epoch of the writer, if it has one.
    pub epoch: Option<u64>,
    /// The incarnation that is meant; of another one nothing is deleted.
    pub uid: Option<String>,
    /// What becomes of the claims.
    pub records: Fate,
}

impl DeleteOwner {
    /// One owner with its claims, whatever its incarnation.
    pub fn new(owner: OwnerId) -> DeleteOwner {
        DeleteOwner { owner, cascade: false, epoch: None, uid: None, records: Fate::Deleted }
    }
}

/// What becomes of the claims of an owner that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// They go, too.
    Deleted,
    /// They are kept aside for a while, and the owner with them.
    Quarantined,
    /// This owner, made if there is none, has them then, and the zones of the one that goes.
    Released(OwnerId),
}

/// What becomes of claims that are let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Going {
    /// They are gone.
    #[default]
    Deleted,
    /// They are kept aside for a while.
    Quarantined,
}

/// See [`Command::EndLease`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndLease {
    /// The owner.
    pub owner: OwnerId,
    /// The step.
    pub step: LeaseStep,
}

/// A step of a lease towards its end, with what was seen when it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// It ran out.
    Expire {
        /// When it was to end.
        expires: Moment,
    },
    /// The grace is over.
    RunPolicy {
        /// When it was found to have run out.
        expired: Moment,
    },
}

/// Claims of one owner whose quarantine is over; an owner that is going and has nothing left goes, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The owner.
    pub owner: OwnerId,
    /// The claims.
    pub claims: Vec<DueClaim>,
}

/// A quarantined claim as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueClaim {
    /// Apex of the zone.
    pub zone: Name,
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// The set id, empty if there is none.
    pub set_id: String,
    /// The revision that put it into quarantine; one that changed since stays.
    pub revision: u64,
}

/// See [`Command::Transfer`]. An absent limit limits nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Whose claims.
    pub from: OwnerId,
    /// Who has them then; made if there is none.
    pub to: OwnerId,
    /// Only those in this zone.
    pub zone: Option<Name>,
    /// Only those at this name.
    pub name: Option<Name>,
    /// Only those of this type.
    pub rtype: Option<Rtype>,
    /// Refuses if `from` changed after this revision.
    pub if_revision: Option<u64>,
}

/// See [`Command::Sweep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// What is below this owner is looked at.
    pub scope: OwnerId,
    /// Who wrote after this revision is spared; none is now.
    pub as_of: Option<u64>,
    /// Owners that are alive, and spared with all above them.
    pub live: BTreeSet<OwnerId>,
    /// What becomes of the others.
    pub mode: SweepMode,
    /// Lets more deletes through than the brake does.
    pub max_deletes: Option<u64>,
}

/// See [`Command::DecideHold`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecideHold {
    /// Number of the hold.
    pub id: u64,
    /// What becomes of it.
    pub decision: HoldDecision,
}

/// What becomes of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldDecision {
    /// Its deletes are done.
    Approve,
    /// They are forgotten.
    Discard,
}

/// A token for the store. The secret itself is never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Its id: `<id>` of `tnd_<id>_<secret>`.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its limits.
    pub limits: TokenLimits,
    /// SHA-256 of the secret's text; of a secret that the operator gave, of all of it.
    pub hash: [u8; 32],
    /// When it ends.
    pub expires: Option<Moment>,
    /// Of a key of the PowerDNS door, what it does there; it is none of another API then.
    pub key: Option<Box<KeySettings>>,
}

/// See [`Command::OpenZone`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenZone {
    /// Its keys.
    pub create: CreateZone,
    /// What the door shows of it.
    pub presented: Presented,
    /// The first serial; none takes that of the day.
    pub serial: Option<u32>,
    /// Its records, for the owner of the zone. Nothing is in effect if one of them is refused.
    pub patch: Patch,
}

/// See [`Command::ShowZone`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowZone {
    /// The apex.
    pub name: Name,
    /// All of it.
    pub presented: Presented,
}

/// See [`Command::Patch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Apex of the zone.
    pub zone: Name,
    /// Whose claims; made if there is none and something is written.
    pub owner: OwnerId,
    /// The rules of the key.
    pub key: Arc<KeySettings>,
    /// What is asked, in the order given. Shared with the plan.
    pub steps: Arc<Vec<Result<Step, BadStep>>>,
}

/// One RRset of a patch, read and checked by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name, at or below the zone's apex.
    pub name: Name,
    /// The type.
    pub rtype: Rtype,
    /// What is asked.
    pub act: Act,
}

impl Step {
    /// The values that it writes; none for a delete.
    pub fn records(&self) -> Option<&[Vec<u8>]> {
        match &self.act {
            Act::Replace { values: Some(values), .. } => Some(&values.records),
            Act::Extend { record, .. } | Act::Prune { record } => Some(std::slice::from_ref(record)),
            Act::Replace { values: None, .. } | Act::Delete => None,
        }
    }
}

/// What is asked of an RRset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The set of values, the set of comments, or both become these; none keeps what is there. Empty values delete.
    Replace {
        /// Values.
        values: Option<Values>,
        /// Comments, by content.
        comments: Option<Vec<Comment>>,
    },
    /// All of it goes.
    Delete,
    /// One more value.
    Extend {
        /// RDATA.
        record: Vec<u8>,
        /// Seconds; that of the RRset, if it is there.
        ttl: u32,
    },
    /// One value less.
    Prune {
        /// RDATA.
        record: Vec<u8>,
    },
}

/// Values of an RRset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Seconds.
    pub ttl: u32,
    /// RDATA of what is served, sorted and without repeats in canonical form; of an SOA with the serial as given.
    pub records: Vec<Vec<u8>>,
    /// RDATA of what is not served, likewise.
    pub disabled: Vec<Vec<u8>>,
    /// RDATA and its text as written, where that is to be kept.
    pub written: Vec<(Vec<u8>, String)>,
}

/// A step that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadStep {
    /// Name and type, if those could be read.
    pub key: Option<(Name, Rtype)>,
    /// Why, as the client is told.
    pub error: String,
}

/// See [`Command::Lapse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lapse {
    /// Whose claims.
    pub owner: OwnerId,
    /// What was last asked for before this goes.
    pub before: Moment,
    /// The claims; one that changed since stays.
    pub claims: Vec<DueClaim>,
}
