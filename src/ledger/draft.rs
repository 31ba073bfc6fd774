//! A plan in the making: the ledger as it changes step by step, with what was there before.

use std::collections::{BTreeMap, HashMap};

use super::attachment::AttachmentChange;
use super::claim::{Claim, ClaimState};
use super::fresh::Fresh;
use super::owner::{Owner, OwnerId, OwnerNumber, OwnerState, Tombstone};
use super::plan::{ClaimChange, History, HoldChange, OwnerChange, Plan, TokenChange, ZoneChange};
use super::report::{Item, ItemOutcome, Problem, Promoted, Report, Warning};
use super::rules;
use super::scope::{Ledger, NameKey, is_redirection};
use super::sweep::SweepChange;
use super::zone::{ZoneNumber, ZoneRow};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// The working state of planning one command.
pub(super) struct Draft {
    pub(super) ledger: Ledger,
    pub(super) now: Moment,
    pub(super) report: Report,
    pub(super) asserted: Vec<Claim>,
    pub(super) tombstones: Vec<Tombstone>,
    pub(super) zones: Vec<ZoneChange>,
    pub(super) serials: BTreeMap<ZoneNumber, u32>,
    pub(super) token: Option<TokenChange>,
    pub(super) hold: Option<HoldChange>,
    pub(super) sweep: Option<SweepChange>,
    unburied: Vec<(OwnerId, Option<String>)>,
    pub(super) history: History,
    pub(super) fresh: Option<Fresh>,
    pub(super) attachments: Vec<AttachmentChange>,
    pub(super) floors: BTreeMap<ZoneNumber, u32>,
    /// Claims at each name that was touched, as they were.
    before: HashMap<NameKey, Vec<Claim>>,
    /// Names whose claims stay and whose published form may still change.
    again: Vec<NameKey>,
    owners_before: BTreeMap<OwnerNumber, Option<Owner>>,
    /// Whose claims the command writes: its revision rises with theirs.
    writer: Option<OwnerNumber>,
}

impl Draft {
    pub(super) fn new(ledger: Ledger, now: Moment) -> Draft {
        Draft {
            ledger,
            now,
            report: Report::default(),
            asserted: Vec::new(),
            tombstones: Vec::new(),
            zones: Vec::new(),
            serials: BTreeMap::new(),
            token: None,
            hold: None,
            sweep: None,
            unburied: Vec::new(),
            history: History::PerClaim,
            fresh: None,
            attachments: Vec::new(),
            floors: BTreeMap::new(),
            before: HashMap::new(),
            again: Vec::new(),
            owners_before: BTreeMap::new(),
            writer: None,
        }
    }

    /// The revision that this command makes if it changes anything.
    pub(super) fn revision(&self) -> u64 {
        self.ledger.revision + 1
    }

    /// The claims at a name as they are now.
    pub(super) fn claims(&self, key: &NameKey) -> &[Claim] {
        self.ledger.claims.get(key).map_or(&[], Vec::as_slice)
    }

    /// The claims at a name, to be changed.
    pub(super) fn claims_mut(&mut self, key: &NameKey) -> &mut Vec<Claim> {
        let claims = self.ledger.claims.entry(key.clone()).or_default();
        self.before.entry(key.clone()).or_insert_with(|| claims.clone());
        claims
    }

    /// Has a name assembled again although its claims stay.
    pub(super) fn assemble_again(&mut self, key: NameKey) {
        self.again.push(key);
    }

    /// Puts a claim in, in the place of the one of its key.
    pub(super) fn put_claim(&mut self, claim: Claim) {
        let key = NameKey { zone: claim.zone, name: claim.name.clone() };
        let claims = self.claims_mut(&key);
        match claims.iter_mut().find(|one| rules::is_same_claim(one, &claim)) {
            Some(old) => *old = claim,
            None => {
                if claims.is_empty() {
                    // Most names have one claim, and a Vec that grows by itself begins with room for four.
                    claims.reserve_exact(1);
                }
                claims.push(claim);
            }
        }
    }

    /// Takes a claim out.
    pub(super) fn remove_claim(&mut self, claim: &Claim) {
        let key = NameKey { zone: claim.zone, name: claim.name.clone() };
        self.claims_mut(&key).retain(|one| !rules::is_same_claim(one, claim));
    }

    /// An owner, to be changed.
    pub(super) fn owner_mut(&mut self, number: OwnerNumber) -> Option<&mut Owner> {
        let owner = self.ledger.owners.get_mut(&number)?;
        self.owners_before.entry(number).or_insert_with(|| Some(owner.clone()));
        Some(owner)
    }

    /// The owner of an id, made if there is none.
    pub(super) fn ensure_owner(&mut self, id: &OwnerId, parent: Option<OwnerNumber>) -> OwnerNumber {
        if let Some(owner) = self.ledger.owner(id) {
            return owner.number;
        }
        let number = OwnerNumber(self.ledger.next_owner);
        self.ledger.next_owner += 1;
        self.owners_before.insert(number, None);
        self.ledger.add_owner(Owner {
            number,
            id: id.clone(),
            kind: None,
            uid: None,
            parent,
            source: None,
            labels: BTreeMap::new(),
            state: OwnerState::Active,
            generation: None,
            epoch: None,
            created: self.now,
            asserted: self.now,
            revision: self.revision(),
            lease: None,
            external_dns: None,
        });
        number
    }

    /// Takes an owner out and puts a tombstone up.
    pub(super) fn remove_owner(&mut self, number: OwnerNumber) {
        let Some(owner) = self.ledger.owners.remove(&number) else { return };
        self.ledger.owner_numbers.remove(&owner.id);
        self.put_tombstone(owner.id.clone(), owner.uid.clone(), owner.epoch);
        self.owners_before.entry(number).or_insert(Some(owner));
    }

    pub(super) fn put_tombstone(&mut self, owner: OwnerId, uid: Option<String>, epoch: Option<u64>) {
        let tombstone = Tombstone { owner, uid, epoch, at: self.now, revision: self.revision() };
        self.tombstones.push(tombstone);
    }

    /// Takes the tombstone of an incarnation down.
    pub(super) fn unbury(&mut self, owner: &OwnerId, uid: Option<&str>) {
        self.ledger.tombstones.retain(|gone| gone.owner != *owner || gone.uid.as_deref() != uid);
        self.unburied.push((owner.clone(), uid.map(str::to_owned)));
    }

    /// A new claim of an owner in a state.
    pub(super) fn new_claim(&self, zone: &ZoneRow, name: &Name, rtype: Rtype, owner: OwnerNumber) -> Claim {
        let owner_id = self.ledger.owners.get(&owner).map_or_else(OwnerId::system, |owner| owner.id.clone());
        Claim {
            zone: zone.number,
            name: name.clone(),
            rtype,
            owner,
            owner_id,
            set_id: String::new(),
            ttl: zone.default_ttl,
            records: Vec::new(),
            alias: None,
            share: false,
            labels: BTreeMap::new(),
            state: ClaimState::Held,
            asserted: self.now,
            created: self.now,
            created_revision: self.revision(),
            revision: self.revision(),
        }
    }

    /// Reports what came of a claim.
    pub(super) fn report_claim(&mut self, claim: &Claim, outcome: ItemOutcome, problem: Option<Problem>) {
        let item = Item {
            zone: self.ledger.zones.get(&claim.zone).map(|zone| zone.name.clone()),
            name: claim.name.to_string(),
            rtype: claim.rtype.to_string(),
            set_id: claim.set_id.clone(),
            owner: claim.owner_id.clone(),
            outcome,
            problem,
            promoted: None,
        };
        self.report_item(item);
    }

    pub(super) fn report_item(&mut self, item: Item) {
        self.report.summary.add(item.outcome);
        self.report.results.push(item);
    }

    /// [`Draft::settle`] for each of these names, in canonical order, so that an upper cut moves up before a lower one.
    pub(super) fn settle_all(&mut self, mut touched: Vec<NameKey>) {
        let zones = &self.ledger.zones;
        touched
            .sort_by_cached_key(|key| (key.zone, zones.get(&key.zone).and_then(|zone| key.name.sort_key(&zone.name))));
        touched.dedup();
        for key in touched {
            self.settle(&key);
        }
    }

    /// After a claim at a name was let go or changed: the oldest queued claims that fit now are served, and the SOA
    /// and NS of an apex go back to the server with their last values if nobody has them.
    fn settle(&mut self, key: &NameKey) {
        let Some(before) = self.before.get(key) else { return };
        let Some(zone) = self.ledger.zones.get(&key.zone) else { return };
        let let_go = before.iter().any(|old| {
            old.is_held() && !self.claims(key).iter().any(|now| now.is_held() && rules::is_same_claim(now, old))
                || self.claims(key).iter().any(|now| rules::is_same_claim(now, old) && !now.is_like(old))
        });
        let is_waiting = self.claims(key).iter().any(|claim| claim.state == ClaimState::Queued);
        let at_apex = key.name == zone.name;
        if !(at_apex || let_go && is_waiting) {
            return;
        }
        let (zone, before) = (zone.clone(), before.clone());
        if let_go {
            self.promote(&zone, key);
        }
        if at_apex {
            for rtype in [Rtype::SOA, Rtype::NS] {
                self.hand_back(&zone, key, &before, rtype);
            }
        }
    }

    fn promote(&mut self, zone: &ZoneRow, key: &NameKey) {
        let mut queue: Vec<Claim> =
            self.claims(key).iter().filter(|claim| claim.state == ClaimState::Queued).cloned().collect();
        // Of one request the lowest type goes first: any order would do, if it is always the same.
        queue.sort_by_key(|claim| (claim.created_revision, claim.owner, claim.rtype, claim.set_id.clone()));
        for waiting in queue {
            let mut held = Claim { state: ClaimState::Held, revision: self.revision(), ..waiting };
            let Ok(fit) = rules::judge(&self.ledger, zone, &held, rules::Occluded::Refused) else { continue };
            if is_redirection(held.rtype, key.name == zone.name) && self.would_hide_new(&held) {
                continue;
            }
            for taken in fit.takes_over {
                held.created = held.created.min(self.now);
                self.remove_claim(&taken);
            }
            self.report.promoted.push(Promoted {
                zone: zone.name.clone(),
                name: key.name.clone(),
                rtype: held.rtype.to_string(),
                owner: held.owner_id.clone(),
            });
            let text = key.name.to_string();
            let is_let_go = |outcome| matches!(outcome, ItemOutcome::Deleted | ItemOutcome::Quarantined);
            let deleted = self
                .report
                .results
                .iter_mut()
                .rev()
                .find(|item| is_let_go(item.outcome) && item.promoted.is_none() && item.name == text);
            if let Some(item) = deleted {
                item.promoted = Some(held.owner_id.clone());
            }
            self.put_claim(held);
        }
    }

    /// Whether a cut or DNAME that moves up would hide what this command put below it: the ledger was read before that.
    fn would_hide_new(&self, held: &Claim) -> bool {
        let below = self
            .before
            .keys()
            .filter(|key| key.zone == held.zone && key.name != held.name && key.name.is_at_or_below(&held.name));
        below.flat_map(|key| self.claims(key)).any(|one| one.is_held() && rules::is_hidden_by(held.rtype, one.rtype))
    }

    fn hand_back(&mut self, zone: &ZoneRow, key: &NameKey, before: &[Claim], rtype: Rtype) {
        let is_zone_gone = self.zones.iter().any(|change| matches!(change, ZoneChange::Deleted(_)));
        if is_zone_gone || self.claims(key).iter().any(|claim| claim.rtype == rtype && claim.is_held()) {
            return;
        }
        let last: Vec<&Claim> = before.iter().filter(|claim| claim.rtype == rtype && claim.is_held()).collect();
        let system = self.ensure_owner(&OwnerId::system(), None);
        let mut claim = self.new_claim(zone, &key.name, rtype, system);
        match last.first() {
            Some(first) => {
                claim.ttl = first.ttl;
                claim.records = last.iter().flat_map(|claim| claim.records.iter().cloned()).collect();
                super::wish::sort_records(rtype, &mut claim.records);
            }
            // The store has lost them, as loading has said: the zone gets those of its making again.
            None => claim.records = super::zones::own_records(zone, rtype),
        }
        self.put_claim(claim);
    }

    pub(super) fn warn(&mut self, claim: &Claim, code: &'static str, detail: String) {
        self.report.warnings.push(Warning { name: claim.name.clone(), rtype: claim.rtype.to_string(), code, detail });
    }

    /// Raises an owner's revision: what it has changed.
    pub(super) fn mark_changed(&mut self, owner: OwnerNumber) {
        let revision = self.revision();
        if let Some(owner) = self.owner_mut(owner) {
            owner.revision = revision;
        }
    }

    /// Says whose claims the command writes.
    pub(super) fn mark_written(&mut self, owner: OwnerNumber) {
        self.writer = Some(owner);
    }

    /// The plan: all differences between then and now.
    pub(super) fn finish(mut self) -> Plan {
        let mut claims = Vec::new();
        let mut names: Vec<NameKey> = Vec::with_capacity(self.before.len() + self.again.len());
        for (key, before) in std::mem::take(&mut self.before) {
            let count = claims.len();
            compare(before, self.claims(&key), &mut claims);
            if claims.len() > count {
                names.push(key);
            }
        }
        claims.sort_by_cached_key(|change: &ClaimChange| {
            let one = change.either();
            (one.zone, sort_key(&self.ledger, one), one.rtype, one.owner, one.set_id.clone())
        });
        names.append(&mut self.again);
        if let Some(writer) = self.writer.filter(|_| !claims.is_empty()) {
            let revision = self.revision();
            if let Some(owner) = self.owner_mut(writer) {
                owner.revision = revision;
            }
        }
        let owners: Vec<OwnerChange> = std::mem::take(&mut self.owners_before)
            .into_iter()
            .map(|(number, before)| OwnerChange { before, after: self.ledger.owners.get(&number).cloned() })
            .filter(|change| change.before != change.after)
            .collect();
        let changed = !claims.is_empty()
            || self.fresh.as_ref().is_some_and(|fresh| !fresh.is_empty())
            || !self.zones.is_empty()
            || self.token.is_some()
            || self.hold.is_some()
            || self.sweep.is_some()
            || !self.serials.is_empty()
            || !self.attachments.is_empty()
            || owners.iter().any(|change| !change.is_bookkeeping());
        self.report.changed = changed;
        if changed {
            self.ledger.revision += 1;
        }
        self.report.revision = self.ledger.revision;
        Plan {
            report: self.report,
            claims,
            fresh: self.fresh,
            asserted: self.asserted,
            names,
            owners,
            tombstones: self.tombstones,
            zones: self.zones,
            serials: self.serials,
            token: self.token,
            hold: self.hold,
            sweep: self.sweep,
            unburied: self.unburied,
            attachments: self.attachments,
            floors: self.floors,
            history: self.history,
            ledger: self.ledger,
        }
    }
}

fn sort_key(ledger: &Ledger, claim: &Claim) -> Vec<u8> {
    ledger.zones.get(&claim.zone).and_then(|zone| claim.name.sort_key(&zone.name)).unwrap_or_default()
}

fn compare(before: Vec<Claim>, after: &[Claim], changes: &mut Vec<ClaimChange>) {
    for now in after.iter().filter(|now| !before.iter().any(|old| rules::is_same_claim(now, old))) {
        changes.push(ClaimChange { before: None, after: Some(now.clone()) });
    }
    for old in before {
        match after.iter().find(|now| rules::is_same_claim(now, &old)) {
            Some(now) if *now == old => {}
            now => changes.push(ClaimChange { after: now.cloned(), before: Some(old) }),
        }
    }
}
