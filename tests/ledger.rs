//! Properties of plans: whatever is asked in whatever order, what is served is what a naive model says, and the rules
//! hold at every step (ownership.md sections 1 and 2).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tenured::ledger::actor::Actor;
use tenured::ledger::alias_options::AliasOptions;
use tenured::ledger::command::{Apply, Change, Command, CreateZone, DeleteOwner, OnConflict, RecordName, Wish};
use tenured::ledger::owner::{Labels, OwnerId};
use tenured::ledger::plan::{Plan, plan};
use tenured::ledger::report::ItemOutcome;
use tenured::ledger::scope::{Below, Ledger, NameKey};
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::zone::alias::Moment;

const NOW: Moment = Moment(1_796_040_000_000);
const NAMES: [&str; 5] = ["example.com.", "a.example.com.", "b.example.com.", "x.a.example.com.", "y.x.a.example.com."];
const TYPES: [Rtype; 6] = [Rtype::A, Rtype::TXT, Rtype::CNAME, Rtype::ALIAS, Rtype::NS, Rtype::DNAME];

/// One record set of a generated request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    name: usize,
    rtype: Rtype,
    value: u8,
    share: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Apply { owner: u8, asked: Vec<Asked>, queue: bool },
    Put { owner: u8, asked: Asked, queue: bool },
    Delete { owner: u8, name: usize, rtype: Rtype },
    DeleteOwner { owner: u8 },
}

fn asked() -> impl Strategy<Value = Asked> {
    (0..NAMES.len(), proptest::sample::select(&TYPES[..]), 0..3_u8, proptest::bool::ANY)
        .prop_filter("the NS of an apex are another story", |(name, rtype, ..)| *name != 0 || *rtype != Rtype::NS)
        .prop_map(|(name, rtype, value, share)| Asked { name, rtype, value, share: share && !rtype.is_singleton() })
}

fn step() -> impl Strategy<Value = Step> {
    let set = proptest::collection::vec(asked(), 0..5).prop_map(|mut set| {
        let mut seen = BTreeSet::new();
        set.retain(|one| seen.insert((one.name, one.rtype)));
        set
    });
    prop_oneof![
        4 => (0..4_u8, set, proptest::bool::ANY).prop_map(|(owner, asked, queue)| Step::Apply { owner, asked, queue }),
        3 => (0..4_u8, asked(), proptest::bool::ANY).prop_map(|(owner, asked, queue)| Step::Put { owner, asked, queue }),
        2 => (0..4_u8, asked()).prop_map(|(owner, one)| Step::Delete { owner, name: one.name, rtype: one.rtype }),
        1 => (0..4_u8).prop_map(|owner| Step::DeleteOwner { owner }),
    ]
}

fn name(at: usize) -> Name {
    Name::parse(NAMES[at]).expect("a name")
}

fn owner_id(owner: u8) -> OwnerId {
    OwnerId::new(&format!("owner-{owner}")).expect("an id")
}

fn wish(asked: &Asked) -> Wish {
    let record = match asked.rtype {
        Rtype::A => vec![192, 0, 2, asked.value],
        Rtype::TXT => vec![1, b'a' + asked.value],
        _ => Name::parse(&format!("t{}.example.net.", asked.value)).expect("a name").as_wire().to_vec(),
    };
    Wish {
        zone: None,
        name: name(asked.name),
        rtype: asked.rtype,
        set_id: String::new(),
        ttl: None,
        records: vec![record],
        alias: (asked.rtype == Rtype::ALIAS).then(AliasOptions::default),
        share: asked.share,
        labels: Labels::new(),
    }
}

fn command(step: &Step) -> Command {
    let manner = |queue: bool| if queue { OnConflict::Queue } else { OnConflict::Reject };
    match step {
        Step::Apply { owner, asked, queue } => {
            let records = asked.iter().map(|one| Ok(wish(one))).collect();
            Command::Apply(Apply { on_conflict: manner(*queue), ..Apply::new(owner_id(*owner), records) })
        }
        Step::Put { owner, asked, queue } => {
            let change = Change::put(owner_id(*owner), wish(asked));
            Command::Change(Change { on_conflict: manner(*queue), atomic: false, ..change })
        }
        Step::Delete { owner, name: at, rtype } => {
            let record = RecordName { zone: None, name: name(*at), rtype: *rtype, set_id: None };
            Command::Change(Change { atomic: false, ..Change::delete(owner_id(*owner), vec![record]) })
        }
        Step::DeleteOwner { owner } => {
            Command::DeleteOwner(DeleteOwner { owner: owner_id(*owner), cascade: true, epoch: None, uid: None })
        }
    }
}

/// A world in which every ledger is the whole of what there is.
struct World(Ledger);

impl World {
    fn new() -> World {
        let world = World(Ledger { next_owner: 1, next_zone: 1, ..Ledger::default() });
        let made = world.plan(&Command::CreateZone(CreateZone::new(name(0))));
        World(made.ledger)
    }

    fn plan(&self, command: &Command) -> Plan {
        let mut ledger = self.0.clone();
        ledger.below = NAMES.iter().enumerate().filter_map(|(at, _)| self.below(&name(at))).collect();
        plan(ledger, command, &Actor::server(), NOW).expect("nothing here is refused as a whole")
    }

    fn below(&self, top: &Name) -> Option<(NameKey, Below)> {
        let zone = *self.0.zones.keys().next()?;
        let is_below = |one: &&tenured::ledger::claim::Claim| one.name != *top && one.name.is_at_or_below(top);
        let claims = self.0.claims.values().flatten().filter(|one| one.is_held()).filter(is_below).cloned().collect();
        Some((NameKey { zone, name: top.clone() }, Below { claims, more: false }))
    }

    /// Held claims but for the server's own: name, type, owner, record.
    fn served(&self) -> BTreeSet<(usize, Rtype, String, Vec<u8>)> {
        let at = |wanted: &Name| (0..NAMES.len()).find(|at| name(*at) == *wanted).expect("one of the names");
        self.0
            .claims
            .values()
            .flatten()
            .filter(|one| one.is_held() && !one.owner_id.is_system())
            .map(|one| (at(&one.name), one.rtype, one.owner_id.to_string(), one.records[0].clone()))
            .collect()
    }
}

/// The model: a flat list, and each rule as a sentence over it.
#[derive(Clone, Debug, Default)]
struct Model {
    claims: Vec<ModelClaim>,
    clock: u64,
}

#[derive(Clone, Debug)]
struct ModelClaim {
    owner: u8,
    asked: Asked,
    held: bool,
    since: u64,
}

enum Verdict {
    Fits,
    Waits,
    Refused,
}

impl Model {
    fn step(&mut self, step: &Step) {
        self.clock += 1;
        let before = self.claims.clone();
        match step {
            Step::Apply { owner, asked, queue } => {
                let is_listed = |one: &Asked| asked.iter().any(|wish| (wish.name, wish.rtype) == (one.name, one.rtype));
                self.claims.retain(|one| one.owner != *owner || is_listed(&one.asked));
                let hides = |one: &Asked| matches!(one.rtype, Rtype::NS | Rtype::DNAME);
                let mut order: Vec<&Asked> = asked.iter().collect();
                order.sort_by_key(|one| if hides(one) { name(one.name).label_count() } else { usize::MAX });
                for one in order {
                    self.write(*owner, one, *queue);
                }
            }
            Step::Put { owner, asked, queue } => self.write(*owner, asked, *queue),
            Step::Delete { owner, name, rtype } => {
                self.claims.retain(|one| (one.owner, one.asked.name, one.asked.rtype) != (*owner, *name, *rtype));
            }
            Step::DeleteOwner { owner } => self.claims.retain(|one| one.owner != *owner),
        }
        // Where a holder let go or changed, who waits moves up.
        for at in 0..NAMES.len() {
            let held = |claims: &[ModelClaim]| -> Vec<(u8, Asked)> {
                let here = claims.iter().filter(|one| one.held && one.asked.name == at);
                here.map(|one| (one.owner, one.asked.clone())).collect()
            };
            let now = held(&self.claims);
            if held(&before).iter().any(|old| !now.contains(old)) {
                self.promote(at);
            }
        }
    }

    fn promote(&mut self, at: usize) {
        let mut waiting: Vec<ModelClaim> =
            self.claims.iter().filter(|one| !one.held && one.asked.name == at).cloned().collect();
        waiting.sort_by_key(|one| one.since);
        for one in waiting {
            if matches!(self.judge(one.owner, &one.asked, true), Verdict::Fits) {
                self.entry(one.owner, &one.asked).expect("it waits").held = true;
            }
        }
    }

    fn entry(&mut self, owner: u8, asked: &Asked) -> Option<&mut ModelClaim> {
        let key = (owner, asked.name, asked.rtype);
        self.claims.iter_mut().find(|one| (one.owner, one.asked.name, one.asked.rtype) == key)
    }

    fn write(&mut self, owner: u8, asked: &Asked, queue: bool) {
        if self.entry(owner, asked).is_some_and(|old| old.held && old.asked == *asked) {
            return;
        }
        let verdict = self.judge(owner, asked, queue);
        let since = self.clock;
        match (verdict, self.entry(owner, asked)) {
            (Verdict::Refused, _) => {}
            (Verdict::Waits, Some(old)) if old.held => {}
            (Verdict::Fits, Some(old)) => (old.asked, old.held) = (asked.clone(), true),
            (Verdict::Waits, Some(old)) => old.asked = asked.clone(),
            (verdict, None) => {
                let held = matches!(verdict, Verdict::Fits);
                self.claims.push(ModelClaim { owner, asked: asked.clone(), held, since });
            }
        }
    }

    fn judge(&self, owner: u8, asked: &Asked, queue: bool) -> Verdict {
        let is_self = |one: &&ModelClaim| {
            (one.owner, one.asked.name, one.asked.rtype) == (owner, asked.name, asked.rtype)
        };
        let held: Vec<&ModelClaim> = self.claims.iter().filter(|one| one.held && !is_self(one)).collect();
        let here: Vec<&&ModelClaim> = held.iter().filter(|one| one.asked.name == asked.name).collect();
        let me = name(asked.name);
        let above = |one: &&&ModelClaim| one.asked.name != asked.name && me.is_at_or_below(&name(one.asked.name));
        let below = |one: &&&ModelClaim| one.asked.name != asked.name && name(one.asked.name).is_at_or_below(&me);
        let address = |one: &Asked| one.rtype == Rtype::A;
        let hidden_by_dname = held.iter().filter(above).any(|one| one.asked.rtype == Rtype::DNAME);
        let hidden_by_cut = held.iter().filter(above).any(|one| one.asked.rtype == Rtype::NS) && !address(asked);
        let at_cut = here.iter().any(|one| one.asked.rtype == Rtype::NS) && !address(asked) && asked.rtype != Rtype::NS;
        let hides = match asked.rtype {
            Rtype::DNAME => held.iter().any(|one| below(&one)),
            Rtype::NS => {
                held.iter().filter(below).any(|one| !address(&one.asked))
                    || here.iter().any(|one| !address(&one.asked) && one.asked.rtype != Rtype::NS)
            }
            _ => false,
        };
        if hidden_by_dname || hidden_by_cut || at_cut || hides {
            return Verdict::Refused;
        }
        // The SOA of the apex never goes, and one's own claim does not go by waiting.
        if (asked.name == 0 && asked.rtype == Rtype::CNAME)
            || here.iter().any(|one| one.owner == owner && clashes(asked, owner, one))
        {
            return Verdict::Refused;
        }
        if here.iter().any(|one| clashes(asked, owner, one)) {
            return if queue { Verdict::Waits } else { Verdict::Refused };
        }
        Verdict::Fits
    }

    fn served(&self) -> BTreeSet<(usize, Rtype, String, Vec<u8>)> {
        let text = |one: &ModelClaim| {
            let wish = wish(&one.asked);
            (one.asked.name, one.asked.rtype, owner_id(one.owner).to_string(), wish.records[0].clone())
        };
        self.claims.iter().filter(|one| one.held).map(text).collect()
    }
}

/// Whether two claims at one name cannot both be held.
fn clashes(asked: &Asked, owner: u8, other: &ModelClaim) -> bool {
    let pair = [asked.rtype, other.asked.rtype];
    if pair[0] == pair[1] {
        return other.owner != owner && !(asked.share && other.asked.share);
    }
    pair.contains(&Rtype::CNAME) || (pair.contains(&Rtype::ALIAS) && pair.contains(&Rtype::A))
}

/// The rules over what is served, whoever planned it.
fn check_rules(served: &BTreeSet<(usize, Rtype, String, Vec<u8>)>) {
    let mut at: BTreeMap<usize, BTreeSet<Rtype>> = BTreeMap::new();
    for (name, rtype, ..) in served {
        at.entry(*name).or_default().insert(*rtype);
    }
    for (top, types) in &at {
        assert!(!types.contains(&Rtype::CNAME) || (types.len() == 1 && *top != 0), "a CNAME beside {types:?}");
        assert!(!(types.contains(&Rtype::ALIAS) && types.contains(&Rtype::A)), "an ALIAS beside addresses");
        for (other, below) in at.iter().filter(|(other, _)| *other != top && name(**other).is_at_or_below(&name(*top))) {
            assert!(!types.contains(&Rtype::DNAME), "{other} below the DNAME at {top}");
            assert!(!types.contains(&Rtype::NS) || below.iter().all(|rtype| *rtype == Rtype::A), "hidden: {below:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plans_serve_what_the_model_says_and_keep_every_rule(steps in proptest::collection::vec(step(), 1..25)) {
        let mut world = World::new();
        let mut model = Model::default();
        for step in &steps {
            let command = command(step);
            let planned = world.plan(&command);
            let (Step::Apply { owner, .. } | Step::Put { owner, .. } | Step::Delete { owner, .. } | Step::DeleteOwner { owner }) = step;
            for change in &planned.claims {
                let before = change.before.as_ref().filter(|before| before.is_held());
                prop_assert!(before.is_none_or(|before| before.owner_id == owner_id(*owner)), "another's claim: {change:?}");
            }
            prop_assert_eq!(planned.report.changed, planned.ledger.revision > world.0.revision);
            world = World(planned.ledger);
            model.step(step);
            prop_assert_eq!(world.served(), model.served(), "after {:?}", step);
            check_rules(&world.served());

            let again = world.plan(&command);
            prop_assert!(again.claims.is_empty() && !again.report.changed, "again: {:?}", again.claims);
            if let Step::Apply { owner, asked, .. } = step {
                // Plan and apply give the wished set: nothing but what is listed, and all of it that was not refused.
                let own: BTreeSet<(usize, Rtype)> = world.served().into_iter()
                    .filter(|(.., who, _)| *who == owner_id(*owner).to_string()).map(|(name, rtype, ..)| (name, rtype)).collect();
                let listed: BTreeSet<(usize, Rtype)> = asked.iter().map(|one| (one.name, one.rtype)).collect();
                prop_assert!(own.is_subset(&listed));
                let refused = again.report.results.iter().filter(|item| item.outcome.is_refused()).count();
                prop_assert_eq!(again.report.summary.count(ItemOutcome::Unchanged) as usize + refused, listed.len());
            }
        }
    }
}
