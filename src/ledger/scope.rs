//! What a command can touch: the [`Scope`] that the store is asked for, and the [`Ledger`] that it gives back.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::actor::{Actor, Role};
use super::attachment::{Attachment, AttachmentKey};
use super::claim::Claim;
use super::command::{Apply, BadWish, Change, Command, Fate, ImportZone, OwnerKeys, Patch, Transfer, Wish};
use super::external_dns::ChangeEndpoints;
use super::hold::Hold;
use super::owner::{Owner, OwnerId, OwnerNumber, Tombstone};
use super::report::{Holder, Problem};
use super::sweep::Swept;
use super::zone::{ZoneNumber, ZoneRow};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata;
use crate::zone::alias::Moment;

/// A name in a zone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameKey {
    /// The zone.
    pub zone: ZoneNumber,
    /// The name.
    pub name: Name,
}

/// A name with the apex of its zone.
pub type NameIn = (Name, Name);

/// What the store reads for a command, before any rule is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Owners by id, each with all above it and its tombstones.
    pub owners: BTreeSet<OwnerId>,
    /// Zones by apex.
    pub zones: BTreeSet<Name>,
    /// Names, each with the apex of its zone: all claims there, and the cuts and DNAMEs above.
    pub names: HashSet<NameIn>,
    /// Names at which a cut or DNAME is written: what is below each, too.
    pub cuts: HashSet<NameIn>,
    /// All claims of this owner, all claims at the same names, and what is on hold of it.
    pub claims_of: Option<OwnerId>,
    /// What is on hold of this owner, and how many claims it has.
    pub extent_of: Option<OwnerId>,
    /// This owner's descendants; all claims of all of them, and all at the same names; their zones.
    pub subtree_of: Option<OwnerId>,
    /// The descendants of these owners.
    pub trees: BTreeSet<OwnerId>,
    /// This owner's descendants, and their ALIAS claims: its place in the forest may change.
    pub moved: Option<OwnerId>,
    /// The zones above and below this name.
    pub around: Option<Name>,
    /// The zone of which every claimant is to be known.
    pub claimants_of: Option<Name>,
    /// A token.
    pub token: Option<String>,
    /// This hold, its owner, and that one's claims with all at the same names.
    pub hold: Option<u64>,
    /// This sweep, with all at the names of what it took.
    pub sweep: Option<u64>,
    /// What this owner keeps beside its claims at the names.
    pub attachments_of: Option<OwnerId>,
    /// How many claims this owner has, and what is on hold of it.
    pub count_of: Option<OwnerId>,
    /// Whether the actor is bound to no owner.
    is_unbound: bool,
}

impl Scope {
    /// What `command` can touch; `zone_of` finds the hosted zone nearest to a name.
    pub fn of(command: &Command, actor: &Actor, zone_of: &dyn Fn(&Name) -> Option<Name>) -> Scope {
        // The server takes SOA and NS back from whoever lets go of them.
        let mut scope = Scope { owners: BTreeSet::from([OwnerId::system()]), ..Scope::default() };
        match &actor.role {
            // The root may be made on the way, and the rule on zones around a new one is for tenants only.
            Role::Owner(root) => {
                scope.owners.insert(root.clone());
            }
            Role::Admin | Role::Read => scope.is_unbound = true,
        }
        match command {
            Command::CreateZone(create) => {
                scope.add_zone(&create.name);
                scope.owners.extend(create.owner.clone());
            }
            Command::UpdateZone(update) => {
                scope.zones.insert(update.name.clone());
                scope.owners.extend(update.owner.clone());
            }
            Command::DeleteZone(zone) => {
                scope.zones.insert(zone.clone());
                scope.claimants_of = Some(zone.clone());
            }
            Command::ImportZone(import) => {
                let is_there = zone_of(&import.origin).as_ref() == Some(&import.origin);
                scope.add_import(import, is_there);
            }
            Command::Apply(apply) => scope.add_apply(apply, zone_of),
            Command::Change(change) => scope.add_change(change, zone_of),
            Command::Revert(changes) => changes.iter().for_each(|change| scope.add_change(change, zone_of)),
            Command::ChangeEndpoints(asked) => scope.add_endpoints(asked, zone_of),
            Command::AdjustEndpoints(asked) => {
                scope.owners.insert(asked.owner.clone());
                scope.claims_of = Some(asked.owner.clone());
                scope.add_wishes(&asked.wishes, zone_of);
                scope.add_unread(&asked.wishes, zone_of);
            }
            Command::OpenZone(open) => {
                scope.add_zone(&open.create.name);
                scope.owners.extend(open.create.owner.clone());
            }
            Command::ShowZone(show) => {
                scope.zones.insert(show.name.clone());
            }
            Command::Patch(patch) => scope.add_patch(patch),
            Command::Lapse(lapse) => {
                scope.owners.insert(lapse.owner.clone());
                for due in &lapse.claims {
                    scope.add_name(&due.zone, &due.name, None);
                }
            }
            Command::PutOwner(put) => scope.add_owner(&put.owner, &put.keys),
            Command::DeleteOwner(delete) => {
                scope.owners.insert(delete.owner.clone());
                scope.subtree_of = Some(delete.owner.clone());
                if let Fate::Released(to) = &delete.records {
                    scope.owners.insert(to.clone());
                }
            }
            Command::Transfer(transfer) => scope.add_transfer(transfer, zone_of),
            Command::DecideHold(asked) => scope.hold = Some(asked.id),
            Command::RenewLeases(owners) => {
                scope.owners.extend(owners.iter().cloned());
                scope.trees.extend(owners.iter().cloned());
            }
            Command::EndLease(asked) => {
                scope.owners.insert(asked.owner.clone());
                scope.subtree_of = Some(asked.owner.clone());
            }
            Command::Purge(purge) => {
                scope.owners.insert(purge.owner.clone());
                scope.subtree_of = Some(purge.owner.clone());
                scope.zones.extend(purge.claims.iter().map(|due| due.zone.clone()));
            }
            Command::Sweep(sweep) => {
                scope.owners.insert(sweep.scope.clone());
                scope.subtree_of = Some(sweep.scope.clone());
            }
            Command::UndoSweep(id) => scope.sweep = Some(*id),
            Command::CreateToken(token) => {
                scope.token = Some(token.id.clone());
                if let Role::Owner(owner) = &token.role {
                    scope.owners.insert(owner.clone());
                }
            }
            Command::DeleteToken(id) => scope.token = Some(id.clone()),
        }
        scope
    }

    fn add_zone(&mut self, apex: &Name) {
        self.zones.insert(apex.clone());
        if !self.is_unbound {
            self.around = Some(apex.clone());
        }
        self.owners.insert(OwnerId::of_zone(apex));
    }

    /// In a zone that is not there yet, no name has a claim.
    fn add_import(&mut self, import: &ImportZone, is_there: bool) {
        self.add_zone(&import.origin);
        self.owners.extend(import.owner.clone());
        if !is_there {
            return;
        }
        self.names.insert((import.origin.clone(), import.origin.clone()));
        self.claims_of = Some(OwnerId::of_zone(&import.origin));
        for (name, rrset) in import.rrsets.iter() {
            self.add_name(&import.origin, name, Some(rrset.rtype));
            self.add_name_servers(&import.origin, rrset.rtype, &rrset.records);
        }
    }

    fn add_apply(&mut self, apply: &Apply, zone_of: &dyn Fn(&Name) -> Option<Name>) {
        self.add_owner(&apply.owner, &apply.keys);
        if apply.prune {
            self.claims_of = Some(apply.owner.clone());
        }
        self.add_wishes(&apply.records, zone_of);
    }

    fn add_change(&mut self, change: &Change, zone_of: &dyn Fn(&Name) -> Option<Name>) {
        self.add_owner(&change.owner, &change.keys);
        self.add_wishes(&change.upsert, zone_of);
        for record in &change.delete {
            if let Some(apex) = record.zone.clone().or_else(|| zone_of(&record.name)) {
                self.add_name(&apex, &record.name, None);
            }
        }
    }

    /// The names, too, about which registry texts tell. Where a zone is cut, the one above it may still have what a client
    /// wrote before.
    fn add_endpoints(&mut self, asked: &ChangeEndpoints, zone_of: &dyn Fn(&Name) -> Option<Name>) {
        let change = &asked.change;
        self.add_change(change, zone_of);
        for (name, _) in asked.absorbed.iter().filter_map(|one| one.about.as_ref()) {
            if let Some(apex) = zone_of(name) {
                self.add_name(&apex, name, None);
            }
        }
        self.add_unread(&change.upsert, zone_of);
        self.extent_of = Some(change.owner.clone());
        for record in &change.delete {
            let nearest = zone_of(&record.name);
            let above = nearest.iter().flat_map(|apex| apex.ancestors().skip(1)).find_map(|name| zone_of(&name));
            if let Some(above) = above {
                self.add_name(&above, &record.name, None);
            }
        }
    }

    fn add_patch(&mut self, patch: &Patch) {
        self.zones.insert(patch.zone.clone());
        self.owners.insert(patch.owner.clone());
        self.attachments_of = Some(patch.owner.clone());
        let mut deletes = 0;
        for step in patch.steps.iter() {
            let (name, rtype, values) = match step {
                Ok(step) => (&step.name, step.rtype, step.records()),
                Err(bad) => match &bad.key {
                    Some((name, rtype)) => (name, *rtype, None),
                    None => continue,
                },
            };
            deletes += usize::from(values.is_none_or(<[Vec<u8>]>::is_empty));
            self.add_name(&patch.zone, name, values.map(|_| rtype));
            if let Some(values) = values {
                self.add_name_servers(&patch.zone, rtype, values);
            }
        }
        if patch.key.brake && deletes > 0 {
            self.count_of = Some(patch.owner.clone());
        }
    }

    /// Of a transfer at one name, that name alone is read.
    fn add_transfer(&mut self, transfer: &Transfer, zone_of: &dyn Fn(&Name) -> Option<Name>) {
        self.owners.extend([transfer.from.clone(), transfer.to.clone()]);
        self.zones.extend(transfer.zone.clone());
        match &transfer.name {
            None => self.claims_of = Some(transfer.from.clone()),
            Some(name) => {
                // A cut and its child zone may both have it.
                let nearest = zone_of(name);
                let above = nearest.iter().flat_map(|apex| apex.ancestors().skip(1)).find_map(|name| zone_of(&name));
                for apex in transfer.zone.iter().chain(&nearest).chain(&above) {
                    self.add_name(apex, name, None);
                }
            }
        }
    }

    /// The names of wishes that could not be read: what stands there decides what becomes of them.
    fn add_unread(&mut self, wishes: &[Result<Wish, BadWish>], zone_of: &dyn Fn(&Name) -> Option<Name>) {
        let unread = wishes.iter().filter_map(|wish| wish.as_ref().err()?.key.as_ref());
        for (name, _) in unread {
            if let Some(apex) = zone_of(name) {
                self.add_name(&apex, name, None);
            }
        }
    }

    fn add_wishes(&mut self, wishes: &[Result<Wish, BadWish>], zone_of: &dyn Fn(&Name) -> Option<Name>) {
        for wish in wishes.iter().flatten() {
            if let Some(apex) = wish.zone.clone().or_else(|| zone_of(&wish.name)) {
                self.add_name(&apex, &wish.name, Some(wish.rtype));
                self.add_name_servers(&apex, wish.rtype, &wish.records);
            }
        }
    }

    /// The names that decide whether an ALIAS would stand at a name server: the apex, and the targets of NS.
    fn add_name_servers(&mut self, apex: &Name, rtype: Rtype, records: &[Vec<u8>]) {
        if rtype == Rtype::ALIAS {
            self.names.insert((apex.clone(), apex.clone()));
        } else if rtype == Rtype::NS {
            let targets = records.iter().filter_map(|record| rdata::target(rtype, record));
            self.names.extend(targets.filter(|name| name.is_at_or_below(apex)).map(|name| (apex.clone(), name)));
        }
    }

    fn add_name(&mut self, apex: &Name, name: &Name, written: Option<Rtype>) {
        self.zones.insert(apex.clone());
        if !name.is_at_or_below(apex) {
            return;
        }
        if written.is_some_and(|rtype| is_redirection(rtype, name == apex)) {
            self.cuts.insert((apex.clone(), name.clone()));
        }
        self.names.insert((apex.clone(), name.clone()));
    }

    fn add_owner(&mut self, owner: &OwnerId, keys: &OwnerKeys) {
        self.owners.insert(owner.clone());
        if let Some(parent) = &keys.parent {
            self.owners.insert(parent.clone());
            self.moved = Some(owner.clone());
        }
    }
}

/// Whether an RRset of this type hides what is below it: NS below the apex, and DNAME.
pub fn is_redirection(rtype: Rtype, at_apex: bool) -> bool {
    rtype == Rtype::DNAME || (rtype == Rtype::NS && !at_apex)
}

/// Held claims below a name, without A and AAAA where a zone cut is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// The claims.
    pub claims: Vec<Claim>,
    /// Whether there are more than these.
    pub more: bool,
}

/// What the store holds of all that a command can touch, read in the command's own transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The revision of the last command that changed something.
    pub revision: u64,
    /// The next number of an owner.
    pub next_owner: u32,
    /// The next number of a zone.
    pub next_zone: u32,
    /// How many zones there are.
    pub zone_count: u64,
    /// Zones by number.
    pub zones: BTreeMap<ZoneNumber, ZoneRow>,
    /// Zones by apex.
    pub apexes: HashMap<Name, ZoneNumber>,
    /// Zones above and below the one that is made.
    pub around: Vec<ZoneRow>,
    /// Owners by number: those of the scope and of every claim in here, with all above them.
    pub owners: BTreeMap<OwnerNumber, Owner>,
    /// Owners by id.
    pub owner_numbers: HashMap<OwnerId, OwnerNumber>,
    /// Tombstones of the scope's owners.
    pub tombstones: Vec<Tombstone>,
    /// All claims at a name, by name.
    pub claims: HashMap<NameKey, Vec<Claim>>,
    /// Held NS and DNAME above the names, by the name where they stand.
    pub redirections: HashMap<NameKey, Vec<Claim>>,
    /// What is below names at which a cut or DNAME may come.
    pub below: HashMap<NameKey, Below>,
    /// Who has claims in the zone that is deleted.
    pub claimants: Vec<OwnerNumber>,
    /// The first claims in the zone that is deleted, up to [`super::limits::MAX_LISTED`].
    pub going: Vec<Claim>,
    /// How many claims are in the zone that is deleted.
    pub going_count: u64,
    /// Zones of the owners that are deleted.
    pub owned_zones: Vec<ZoneNumber>,
    /// The hold that is decided on, or that of the owner whose full set is written.
    pub hold: Option<Hold>,
    /// How many claims the owner has that are not in quarantine.
    pub owned: u64,
    /// Names that are not to be emptied, since others point at them, each with why.
    pub kept: HashMap<Name, Problem>,
    /// The sweep that is undone.
    pub sweep: Option<Swept>,
    /// Whether the token named is there.
    pub token_exists: bool,
    /// What the owner of a patch keeps beside its claims at the names of the scope.
    pub attachments: HashMap<AttachmentKey, Attachment>,
    /// How many claims the owner of a patch has, if that is asked for.
    pub claim_count: u64,
}

impl Ledger {
    /// Puts a zone in.
    pub fn add_zone(&mut self, zone: ZoneRow) {
        self.apexes.insert(zone.name.clone(), zone.number);
        self.zones.insert(zone.number, zone);
    }

    /// Puts an owner in.
    pub fn add_owner(&mut self, owner: Owner) {
        self.owner_numbers.insert(owner.id.clone(), owner.number);
        self.owners.insert(owner.number, owner);
    }

    /// An owner by id.
    pub fn owner(&self, id: &OwnerId) -> Option<&Owner> {
        self.owners.get(self.owner_numbers.get(id)?)
    }

    /// A zone by apex.
    pub fn zone(&self, apex: &Name) -> Option<&ZoneRow> {
        self.zones.get(self.apexes.get(apex)?)
    }

    /// The zone nearest to a name.
    pub fn zone_of(&self, name: &Name) -> Option<&ZoneRow> {
        name.ancestors().find_map(|apex| self.zone(&apex))
    }

    /// The owners above one, nearest first.
    pub fn above(&self, owner: OwnerNumber) -> Vec<&Owner> {
        let mut chain: Vec<&Owner> = Vec::new();
        let mut next = self.owners.get(&owner).and_then(|owner| owner.parent);
        while let Some(owner) = next.and_then(|number| self.owners.get(&number)) {
            if chain.len() >= super::limits::MAX_DEPTH {
                break;
            }
            chain.push(owner);
            next = owner.parent;
        }
        chain
    }

    /// The owners below one, each after its parent.
    pub fn descendants(&self, owner: OwnerNumber) -> Vec<OwnerNumber> {
        let mut children: HashMap<OwnerNumber, Vec<OwnerNumber>> = HashMap::new();
        for one in self.owners.values() {
            if let Some(parent) = one.parent {
                children.entry(parent).or_default().push(one.number);
            }
        }
        let mut found = Vec::new();
        let mut seen = HashSet::from([owner]);
        let mut next = vec![owner];
        while let Some(parent) = next.pop() {
            for &child in children.get(&parent).into_iter().flatten() {
                if seen.insert(child) {
                    found.push(child);
                    next.push(child);
                }
            }
        }
        found
    }

    /// Who an owner is, for a conflict.
    pub fn holder(&self, owner: OwnerNumber, id: &OwnerId, since: Moment) -> Holder {
        Holder {
            owner: id.clone(),
            kind: self.owners.get(&owner).and_then(|owner| owner.kind.clone()),
            parents: self.above(owner).into_iter().map(|owner| owner.id.clone()).collect(),
            since,
            rtype: None,
        }
    }

    /// Who holds a claim, and what.
    pub fn holder_of(&self, claim: &Claim) -> Holder {
        Holder { rtype: Some(claim.rtype), ..self.holder(claim.owner, &claim.owner_id, claim.created) }
    }
}
