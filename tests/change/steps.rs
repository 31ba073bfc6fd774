//! Requests as they come in any order, and a world whose ledger is the whole of what there is.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tenured::ledger::actor::Actor;
use tenured::ledger::alias_options::AliasOptions;
use tenured::ledger::claim::Claim;
use tenured::ledger::command::{
    Apply, Change, Command, CreateZone, DeleteOwner, EndLease, Going, LeaseStep, OnConflict, OwnerKeys, PutOwner,
    RecordName, Sweep, Transfer, Wish,
};
use tenured::ledger::lease::{LeaseKeys, OnExpiry};
use tenured::ledger::owner::{Labels, OwnerId};
use tenured::ledger::plan::{Plan, plan};
use tenured::ledger::report::Refusal;
use tenured::ledger::scope::{Below, Ledger, NameKey};
use tenured::ledger::sweep::{SweepChange, SweepMode, Swept};
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::zone::alias::Moment;

/// What is served: name, type, owner, record.
pub(crate) type Served = BTreeSet<(usize, Rtype, String, Vec<u8>)>;

pub(crate) const NOW: Moment = Moment(1_796_040_000_000);
pub(crate) const NAMES: [&str; 5] =
    ["example.com.", "a.example.com.", "b.example.com.", "x.a.example.com.", "y.x.a.example.com."];
pub(crate) const TYPES: [Rtype; 6] = [Rtype::A, Rtype::TXT, Rtype::CNAME, Rtype::ALIAS, Rtype::NS, Rtype::DNAME];

/// One record set of a generated request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) name: usize,
    pub(crate) rtype: Rtype,
    pub(crate) value: u8,
    pub(crate) share: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Apply {
        owner: u8,
        asked: Vec<Asked>,
        queue: bool,
    },
    Put {
        owner: u8,
        asked: Asked,
        queue: bool,
    },
    Delete {
        owner: u8,
        name: usize,
        rtype: Rtype,
    },
    Quarantine {
        owner: u8,
        name: usize,
        rtype: Rtype,
    },
    DeleteOwner {
        owner: u8,
    },
    Move {
        owner: u8,
        parent: u8,
    },
    Transfer {
        from: u8,
        to: u8,
        name: usize,
    },
    Lease {
        owner: u8,
        policy: OnExpiry,
    },
    Expire {
        owner: u8,
    },
    RunPolicy {
        owner: u8,
    },
    Sweep {
        top: u8,
        live: Vec<u8>,
        mode: SweepMode,
    },
    /// Of the sweep so many before the last.
    Undo {
        back: usize,
    },
}

pub(crate) fn asked() -> impl Strategy<Value = Asked> {
    (0..NAMES.len(), proptest::sample::select(&TYPES[..]), 0..3_u8, proptest::bool::ANY)
        .prop_filter("the NS of an apex are another story", |(name, rtype, ..)| *name != 0 || *rtype != Rtype::NS)
        .prop_map(|(name, rtype, value, share)| Asked { name, rtype, value, share: share && !rtype.is_singleton() })
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let set = proptest::collection::vec(asked(), 0..5).prop_map(|mut set| {
        let mut seen = BTreeSet::new();
        set.retain(|one| seen.insert((one.name, one.rtype)));
        set
    });
    prop_oneof![
        4 => (0..4_u8, set, proptest::bool::ANY).prop_map(|(owner, asked, queue)| Step::Apply { owner, asked, queue }),
        3 => (0..4_u8, asked(), proptest::bool::ANY)
            .prop_map(|(owner, asked, queue)| Step::Put { owner, asked, queue }),
        2 => (0..4_u8, asked()).prop_map(|(owner, one)| Step::Delete { owner, name: one.name, rtype: one.rtype }),
        1 => (0..4_u8, asked()).prop_map(|(owner, one)| Step::Quarantine { owner, name: one.name, rtype: one.rtype }),
        1 => (0..4_u8).prop_map(|owner| Step::DeleteOwner { owner }),
        2 => (0..4_u8, 0..4_u8).prop_map(|(owner, parent)| Step::Move { owner, parent }),
        1 => (0..4_u8, 0..4_u8, 0..NAMES.len()).prop_map(|(from, to, name)| Step::Transfer { from, to, name }),
        1 => (0..4_u8, proptest::sample::select(&OnExpiry::ALL[..]))
            .prop_map(|(owner, policy)| Step::Lease { owner, policy }),
        1 => (0..4_u8).prop_map(|owner| Step::Expire { owner }),
        1 => (0..4_u8).prop_map(|owner| Step::RunPolicy { owner }),
        2 => (0..4_u8, proptest::collection::vec(0..4_u8, 0..2), proptest::sample::select(&SweepMode::ALL[..]))
            .prop_map(|(top, live, mode)| Step::Sweep { top, live, mode }),
        2 => (0..3_usize).prop_map(|back| Step::Undo { back }),
    ]
}

pub(crate) fn name(at: usize) -> Name {
    Name::parse(NAMES[at]).expect("a name")
}

pub(crate) fn owner_id(owner: u8) -> OwnerId {
    OwnerId::new(&format!("owner-{owner}")).expect("an id")
}

pub(crate) fn wish(asked: &Asked) -> Wish {
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

/// Seconds of every lease.
const LEASE: u64 = 600;

/// A step as a command; `sweeps` are the numbers of those made so far.
pub(crate) fn command(step: &Step, sweeps: &[u64]) -> Command {
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
        Step::Quarantine { owner, name: at, rtype } => {
            let record = RecordName { zone: None, name: name(*at), rtype: *rtype, set_id: None };
            let change = Change::delete(owner_id(*owner), vec![record]);
            Command::Change(Change { atomic: false, going: Going::Quarantined, ..change })
        }
        Step::Move { owner, parent } => {
            let keys = OwnerKeys { parent: Some(owner_id(*parent)), ..OwnerKeys::default() };
            Command::PutOwner(PutOwner { owner: owner_id(*owner), keys })
        }
        Step::Transfer { from, to, name: at } => Command::Transfer(Transfer {
            from: owner_id(*from),
            to: owner_id(*to),
            zone: None,
            name: Some(name(*at)),
            rtype: None,
            if_revision: None,
        }),
        Step::Lease { owner, policy } => {
            let lease = LeaseKeys { seconds: Some(LEASE), on_expiry: Some(*policy), grace: None };
            let keys = OwnerKeys { lease, ..OwnerKeys::default() };
            Command::PutOwner(PutOwner { owner: owner_id(*owner), keys })
        }
        Step::Expire { owner } => {
            let step = LeaseStep::Expire { expires: Moment(NOW.0 + LEASE * 1_000) };
            Command::EndLease(EndLease { owner: owner_id(*owner), step })
        }
        Step::RunPolicy { owner } => {
            Command::EndLease(EndLease { owner: owner_id(*owner), step: LeaseStep::RunPolicy { expired: NOW } })
        }
        Step::Sweep { top, live, mode } => Command::Sweep(Sweep {
            scope: owner_id(*top),
            as_of: None,
            live: live.iter().map(|one| owner_id(*one)).collect(),
            mode: *mode,
            max_deletes: Some(1_000),
        }),
        Step::Undo { back } => Command::UndoSweep(sweeps.iter().rev().nth(*back).copied().unwrap_or(0)),
        Step::DeleteOwner { owner } => {
            Command::DeleteOwner(DeleteOwner { cascade: true, ..DeleteOwner::new(owner_id(*owner)) })
        }
    }
}

/// A world in which every ledger is the whole of what there is.
pub(crate) struct World(pub(crate) Ledger, pub(crate) Vec<Swept>);

impl World {
    pub(crate) fn new() -> World {
        let world = World(Ledger { next_owner: 1, next_zone: 1, ..Ledger::default() }, Vec::new());
        let made = world.plan(&Command::CreateZone(CreateZone::new(name(0))));
        World(made.ledger, Vec::new())
    }

    /// Goes on from a plan, with what the store would keep of it besides the ledger.
    pub(crate) fn go_on(&mut self, planned: Plan) {
        self.0 = planned.ledger;
        self.0.sweep = None;
        for new in planned.tombstones {
            self.0.tombstones.retain(|old| (&old.owner, &old.uid) != (&new.owner, &new.uid));
            self.0.tombstones.push(new);
        }
        match planned.sweep {
            None => {}
            Some(SweepChange::Made(swept)) => self.1.push(swept),
            Some(SweepChange::Moved { id, after, .. }) => {
                let swept = self.1.iter_mut().find(|one| one.id == id);
                swept.expect("it was made").state = after;
            }
        }
    }

    /// Numbers of the sweeps that were made.
    pub(crate) fn sweeps(&self) -> Vec<u64> {
        self.1.iter().map(|one| one.id).collect()
    }

    pub(crate) fn plan(&self, command: &Command) -> Plan {
        self.try_plan(command).expect("nothing here is refused as a whole")
    }

    /// Plans a command and goes on from there.
    pub(crate) fn take(&mut self, command: &Command) {
        let planned = self.plan(command);
        self.go_on(planned);
    }

    pub(crate) fn try_plan(&self, command: &Command) -> Result<Plan, Refusal> {
        let mut ledger = self.0.clone();
        if let Command::UndoSweep(id) = command {
            ledger.sweep = self.1.iter().find(|one| one.id == *id).cloned();
        }
        // As the store gives them.
        ledger.claims.values_mut().for_each(|claims| claims.sort_by_key(|one| (one.rtype, one.owner)));
        ledger.below = NAMES.iter().enumerate().filter_map(|(at, _)| self.below(&name(at))).collect();
        plan(ledger, command, &Actor::server(), NOW)
    }

    fn below(&self, top: &Name) -> Option<(NameKey, Below)> {
        let zone = *self.0.zones.keys().next()?;
        let is_below = |one: &&Claim| one.name != *top && one.name.is_at_or_below(top);
        let held = self.0.claims.values().flatten().filter(|one| one.is_held());
        let mut claims: Vec<Claim> = held.filter(is_below).cloned().collect();
        claims.sort_by_key(|one| (one.name.clone(), one.rtype, one.owner));
        Some((NameKey { zone, name: top.clone() }, Below { claims, more: false }))
    }

    /// Held claims but for the server's own: name, type, owner, record.
    pub(crate) fn served(&self) -> Served {
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
