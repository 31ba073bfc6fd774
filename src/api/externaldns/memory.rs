//! What the door remembers of its clients, for people to see: when they called, what their last changes came to, what the
//! plan-only URL would have done, and records that do not come to rest. It is in memory alone: a client calls each minute,
//! so a restart forgets it for that long. All of it is bounded.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::DoorCall;
use super::credential::Client;
use super::wire::{Changes, Endpoint};
use crate::api::documents::{ItemDocument, SummaryDocument};
use crate::ledger::owner::OwnerId;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::Moment;

/// Most owners that are remembered; the one that called longest ago goes first.
pub(super) const MAX_OWNERS: usize = 1_000;
/// Refused records of a change that are kept.
pub(super) const MAX_REFUSED: usize = 1_000;
/// Plans of an owner that are kept.
pub(super) const MAX_PLANS: usize = 20;
/// Records of a plan that are kept.
pub(super) const MAX_PLANNED: usize = 1_000;
/// How long a plan is kept, in milliseconds: 7 days.
pub(super) const PLAN_TIME: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Calls with something in them after which a record that none of them listed is unconfirmed.
pub(super) const CONFIRMING_CALLS: usize = 20;
/// Time in milliseconds after which that is so at the earliest: 24 hours.
pub(super) const CONFIRMING_TIME: u64 = 24 * 60 * 60 * 1_000;
/// Records of an owner whose coming and going is remembered.
const MAX_KEYS: usize = 10_000;
/// Events of a record that are remembered.
const MAX_EVENTS: usize = 12;
/// Updates without effect in a row that are a flap.
const REWRITES: u32 = 3;
/// Deletes within [`TOGGLE_TIME`] that are a flap.
const TOGGLES: usize = 3;
/// One hour, in milliseconds.
const TOGGLE_TIME: u64 = 60 * 60 * 1_000;

/// When each call last came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTimes([Option<Moment>; DoorCall::ALL.len()]);

impl CallTimes {
    /// When this one did.
    pub fn last(&self, call: DoorCall) -> Option<Moment> {
        self.0[call as usize]
    }
}

/// A record that was not done as asked.
pub type RefusedRecord = ItemDocument;

/// What the last change came to.
#[derive(Clone, Debug, PartialEq)]
pub struct PostRow {
    /// When.
    pub at: Moment,
    /// The revision then.
    pub revision: u64,
    /// Counts by outcome.
    pub summary: SummaryDocument,
    /// Records that are not in effect, the first ones.
    pub refused: Vec<RefusedRecord>,
    /// Whether there were more.
    pub more: bool,
}

/// What the plan-only URL would have done.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRow {
    /// Whose.
    pub owner: OwnerId,
    /// When.
    pub at: Moment,
    /// The revision it was planned on.
    pub revision: u64,
    /// Counts by outcome.
    pub summary: SummaryDocument,
    /// The first records.
    pub results: Vec<ItemDocument>,
    /// Whether there were more.
    pub more: bool,
}

/// What is remembered of an owner.
#[derive(Clone, Debug, Default)]
pub struct OwnerMemory {
    /// What the client says it is.
    pub agent: Option<String>,
    /// Which one of several it says it is.
    pub instance: Option<String>,
    /// When it called.
    pub calls: CallTimes,
    /// The last change.
    pub post: Option<PostRow>,
    /// Plans, oldest first.
    pub plans: VecDeque<PlanRow>,
    /// Answers by call and status.
    pub counts: BTreeMap<(DoorCall, u16), u64>,
    /// Times of calls that listed something, oldest first.
    listings: VecDeque<Moment>,
    /// Conflicts of its changes, since the server started.
    conflicts: u64,
    rewrites: HashMap<PairKey, Rewrite>,
    comings: HashMap<String, VecDeque<Coming>>,
}

/// A record that does not come to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restless {
    /// Whose.
    pub owner: OwnerId,
    /// Its name.
    pub name: String,
    /// Its type in the protocol.
    pub rtype: String,
    /// `rewrite` or `toggle`.
    pub pattern: &'static str,
    /// Who writes it: instances where they say so, else tokens.
    pub actors: Vec<String>,
    /// How often.
    pub count: u64,
    /// From one turn to the next.
    pub period_seconds: Option<u64>,
    /// Since when.
    pub since: Moment,
    /// What differs.
    pub field: String,
}

type PairKey = (String, String, String);

#[derive(Clone, Debug)]
struct Rewrite {
    field: String,
    count: u32,
    since: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Coming {
    at: Moment,
    created: bool,
    actor: String,
}

/// Old and new of updates: what differs between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs(Vec<(PairKey, String)>);

impl Pairs {
    pub(super) fn of(changes: &Changes) -> Pairs {
        let key = |one: &Endpoint| (one.dns_name.clone(), one.record_type.clone(), one.set_identifier.clone());
        let old: HashMap<PairKey, &Endpoint> = changes.update_old.iter().map(|one| (key(one), one)).collect();
        let pair = |new: &Endpoint| {
            let old = old.get(&key(new))?;
            let fields = [
                ("targets", sorted(&old.targets) != sorted(&new.targets)),
                ("recordTTL", old.record_ttl != new.record_ttl),
                ("providerSpecific", old.provider_specific != new.provider_specific),
                ("labels", old.labels != new.labels),
            ];
            let differ: Vec<&str> =
                fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect();
            Some((key(new), differ.join(", ")))
        };
        Pairs(changes.update_new.iter().filter_map(pair).collect())
    }
}

fn sorted(targets: &[String]) -> Vec<&String> {
    let mut targets: Vec<&String> = targets.iter().collect();
    targets.sort();
    targets
}

/// The memory of all owners.
#[derive(Debug, Default)]
pub struct Memory(Mutex<BTreeMap<OwnerId, OwnerMemory>>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<OwnerId, OwnerMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, owner: &OwnerId, change: impl FnOnce(&mut OwnerMemory) -> T) -> T {
        let mut owners = self.lock();
        if !owners.contains_key(owner) && owners.len() >= MAX_OWNERS {
            let last = |memory: &OwnerMemory| memory.calls.0.iter().flatten().max().copied();
            if let Some(oldest) = owners.iter().min_by_key(|(_, one)| last(one)).map(|(owner, _)| owner.clone()) {
                owners.remove(&oldest);
            }
        }
        change(owners.entry(owner.clone()).or_default())
    }

    pub(super) fn seen(&self, owner: &OwnerId, call: DoorCall, client: &Client, now: Moment) {
        self.with(owner, |memory| {
            memory.calls.0[call as usize] = Some(now);
            memory.agent.clone_from(&client.agent);
            memory.instance = client.instance.clone().or(memory.instance.take());
        });
    }

    pub(super) fn count(&self, owner: &OwnerId, call: DoorCall, status: u16) {
        self.with(owner, |memory| *memory.counts.entry((call, status)).or_default() += 1);
    }

    /// Notes a call that listed something.
    pub(super) fn listed(&self, owner: &OwnerId, now: Moment) {
        self.with(owner, |memory| {
            memory.listings.push_back(now);
            while memory.listings.len() > CONFIRMING_CALLS {
                memory.listings.pop_front();
            }
        });
    }

    pub(super) fn planned(
        &self,
        owner: &OwnerId,
        now: Moment,
        revision: u64,
        summary: SummaryDocument,
        mut results: Vec<ItemDocument>,
    ) {
        let more = results.len() > MAX_PLANNED;
        results.truncate(MAX_PLANNED);
        self.with(owner, |memory| {
            memory.plans.push_back(PlanRow { owner: owner.clone(), at: now, revision, summary, results, more });
            while memory.plans.len() > MAX_PLANS {
                memory.plans.pop_front();
            }
        });
    }

    #[allow(clippy::too_many_arguments, reason = "what a change came to, in its parts")]
    pub(super) fn changed(
        &self,
        client: &Client,
        now: Moment,
        revision: u64,
        summary: SummaryDocument,
        mut refused: Vec<ItemDocument>,
        pairs: &Pairs,
        keys: Vec<(String, bool)>,
    ) {
        let more = refused.len() > MAX_REFUSED;
        refused.truncate(MAX_REFUSED);
        let without_effect = summary.updated == 0;
        let actor = client.instance.clone().unwrap_or_else(|| client.actor.token.clone());
        self.with(&client.owner, |memory| {
            memory.conflicts += summary.conflict;
            memory.post = Some(PostRow { at: now, revision, summary, refused, more });
            memory.note_pairs(pairs, without_effect, now);
            memory.note_comings(keys, &actor, now);
        });
    }

    /// What is remembered of an owner.
    pub fn of(&self, owner: &OwnerId) -> Option<OwnerMemory> {
        self.lock().get(owner).cloned()
    }

    /// Plans of an owner or of all, the newest first.
    pub fn plans(&self, owner: Option<&OwnerId>, now: Moment) -> Vec<PlanRow> {
        let owners = self.lock();
        let meant = owners.iter().filter(|(id, _)| owner.is_none_or(|owner| owner == *id));
        let mut plans: Vec<PlanRow> = meant.flat_map(|(_, memory)| memory.plans.iter().cloned()).collect();
        plans.retain(|plan| plan.at.0.saturating_add(PLAN_TIME) > now.0);
        plans.sort_by_key(|plan| std::cmp::Reverse(plan.at));
        plans
    }

    /// Since when no call confirms a claim of an owner that was last listed at `asserted`; none while that may still come.
    pub fn unconfirmed(&self, owner: &OwnerId, asserted: Moment, now: Moment) -> Option<Moment> {
        let owners = self.lock();
        let listings = &owners.get(owner)?.listings;
        let since_then = listings.iter().filter(|at| at.0 > asserted.0.saturating_add(LISTED_STEP)).count();
        (since_then >= CONFIRMING_CALLS && asserted.0.saturating_add(CONFIRMING_TIME) <= now.0).then_some(asserted)
    }

    /// Answers by owner, call and status.
    pub fn counts(&self) -> Vec<(OwnerId, DoorCall, u16, u64)> {
        let owners = self.lock();
        let of = |(owner, memory): (&OwnerId, &OwnerMemory)| {
            let rows = memory.counts.iter().map(|((call, status), count)| (owner.clone(), *call, *status, *count));
            rows.collect::<Vec<_>>()
        };
        owners.iter().flat_map(of).collect()
    }

    /// Conflicts of the changes of all owners that are remembered.
    pub fn conflicts(&self) -> u64 {
        self.lock().values().map(|memory| memory.conflicts).sum()
    }

    /// Records that the last change of each owner refused, by owner and code.
    pub fn refused(&self) -> Vec<(OwnerId, String, u64)> {
        let owners = self.lock();
        let mut counts: BTreeMap<(OwnerId, String), u64> = BTreeMap::new();
        for (owner, memory) in owners.iter() {
            let codes = memory.post.iter().flat_map(|post| &post.refused).filter_map(|item| item.code.clone());
            codes.for_each(|code| *counts.entry((owner.clone(), code)).or_default() += 1);
        }
        counts.into_iter().map(|((owner, code), count)| (owner, code, count)).collect()
    }

    /// Records that do not come to rest.
    pub fn restless(&self, now: Moment) -> Vec<Restless> {
        self.lock().iter().flat_map(|(owner, memory)| memory.restless(owner, now)).collect()
    }
}

/// A claim that is listed has its time written once in this time, in milliseconds.
const LISTED_STEP: u64 = crate::ledger::external_dns::ASSERT_STEP;

impl OwnerMemory {
    /// Updates that changed nothing, again and again: the client reads back something else than it wrote.
    fn note_pairs(&mut self, pairs: &Pairs, without_effect: bool, now: Moment) {
        let mut next = HashMap::new();
        if without_effect {
            for (key, field) in pairs.0.iter().take(MAX_KEYS) {
                let old = self.rewrites.remove(key);
                let (count, since) = old.map_or((0, now), |old| (old.count, old.since));
                next.insert(key.clone(), Rewrite { field: field.clone(), count: count + 1, since });
            }
        }
        self.rewrites = next;
    }

    fn note_comings(&mut self, keys: Vec<(String, bool)>, actor: &str, now: Moment) {
        let is_old = |coming: &Coming| coming.at.0.saturating_add(TOGGLE_TIME) < now.0;
        self.comings.retain(|_, events| {
            events.retain(|event| !is_old(event));
            !events.is_empty()
        });
        for (key, created) in keys {
            if self.comings.len() >= MAX_KEYS && !self.comings.contains_key(&key) {
                continue;
            }
            let events = self.comings.entry(key).or_default();
            if events.back().is_none_or(|last| last.created != created) {
                events.push_back(Coming { at: now, created, actor: actor.to_owned() });
            }
            while events.len() > MAX_EVENTS {
                events.pop_front();
            }
        }
    }

    fn restless(&self, owner: &OwnerId, now: Moment) -> Vec<Restless> {
        let rewrites = self.rewrites.iter().filter(|(_, one)| one.count >= REWRITES).map(|(key, one)| Restless {
            owner: owner.clone(),
            name: absolute(&key.0),
            rtype: key.1.clone(),
            pattern: "rewrite",
            actors: self.instance.iter().cloned().collect(),
            count: u64::from(one.count),
            period_seconds: None,
            since: one.since,
            field: one.field.clone(),
        });
        let toggles = self.comings.iter().filter_map(|(key, events)| {
            let recent: Vec<&Coming> =
                events.iter().filter(|event| event.at.0.saturating_add(TOGGLE_TIME) >= now.0).collect();
            let deletes: Vec<&&Coming> = recent.iter().filter(|event| !event.created).collect();
            let (first, last) = (deletes.first()?, deletes.last()?);
            let turns = deletes.len() as u64;
            if deletes.len() < TOGGLES {
                return None;
            }
            let mut actors: Vec<String> = recent.iter().map(|event| event.actor.clone()).collect();
            actors.sort();
            actors.dedup();
            let (name, rtype) = key.split_once(' ')?;
            Some(Restless {
                owner: owner.clone(),
                name: name.to_owned(),
                rtype: shown_type(rtype),
                pattern: "toggle",
                actors,
                count: turns,
                period_seconds: Some((last.at.0 - first.at.0) / 1_000 / (turns - 1)),
                since: recent.first()?.at,
                field: "presence".to_owned(),
            })
        });
        rewrites.chain(toggles).collect()
    }
}

fn absolute(name: &str) -> String {
    Name::parse(name).map_or_else(|_| name.to_owned(), |name| name.to_string())
}

fn shown_type(rtype: &str) -> String {
    if rtype == Rtype::ALIAS.to_string() { Rtype::CNAME.to_string() } else { rtype.to_owned() }
}
