//! ALIAS records that would lead back to themselves: looked for in what a command would publish, and refused record by
//! record (alias.md section 2). Pure.

use std::sync::Arc;

use crate::ledger::code::Code;
use crate::ledger::command::{BadStep, BadWish, Command, Patch, Wish};
use crate::ledger::plan::Plan;
use crate::ledger::report::Problem;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::wire::presentation;
use crate::zone::alias::{AliasRecord, AliasRef, Family, MAX_STEPS};
use crate::zone::content::Zone;
use crate::zone::node::Node;
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::{Trust, WalkEnd, trace};

/// A record that closes a loop or makes a chain too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closing {
    name: Name,
    rtype: Rtype,
    problem: Problem,
}

impl Closing {
    pub(super) fn new(name: Name, rtype: Rtype, problem: Problem) -> Closing {
        Closing { name, rtype, problem }
    }

    /// Why the record is refused.
    pub(super) fn into_problem(self) -> Problem {
        self.problem
    }
}

/// The first record among the names that a plan changes from which an ALIAS would not come to an end in `snapshot`,
/// which is the published state as the plan would make it. Loops through names that no command touched were refused
/// when they were closed, and a loop is closed by one of its own records.
pub(super) fn first(snapshot: &Snapshot, plan: &Plan, trust: &Trust) -> Option<Closing> {
    let changed = plan.names.iter().map(|key| (key.zone, &key.name));
    let fresh = plan.fresh.iter().flat_map(|fresh| {
        let aliases = fresh.claims().filter(|claim| claim.rrset.rtype == Rtype::ALIAS);
        aliases.map(|claim| (fresh.zone, claim.name))
    });
    let mut scratch = HashedName::empty();
    changed.chain(fresh).find_map(|(number, name)| {
        let apex = &plan.ledger.zones.get(&number)?.name;
        let zone = snapshot.zone(apex)?;
        let node = zone.node(name)?;
        at_node(snapshot, trust, zone, name, node, &mut scratch)
    })
}

fn at_node(
    snapshot: &Snapshot,
    trust: &Trust,
    zone: &Zone,
    name: &Name,
    node: &Node,
    scratch: &mut HashedName,
) -> Option<Closing> {
    if let Some(rrset) = node.rrset(Rtype::ALIAS) {
        return judge(snapshot, trust, (zone, name), (Rtype::ALIAS, rrset.first()), scratch);
    }
    // A CNAME may close a loop that an ALIAS elsewhere began: it is walked as if it were one, for its own zone.
    let cname = node.rrset(Rtype::CNAME)?.first();
    let as_alias = AliasRecord::plain(cname.to_vec(), vec![zone.owner()]).encode();
    judge(snapshot, trust, (zone, name), (Rtype::CNAME, &as_alias), scratch)
}

fn judge(
    snapshot: &Snapshot,
    trust: &Trust,
    (zone, name): (&Zone, &Name),
    (rtype, rdata): (Rtype, &[u8]),
    scratch: &mut HashedName,
) -> Option<Closing> {
    let alias = AliasRef::decode(rdata)?;
    let family = Family::BOTH.into_iter().find(|family| alias.has(*family))?;
    let (end, mut path) = trace(snapshot, trust, (zone, name), alias, family, scratch);
    if rtype == Rtype::CNAME {
        path[0] = path[0].replacen(" ALIAS ", " CNAME ", 1);
    }
    // CNAMEs alone may loop: resolvers know what to make of that (answers.md L10).
    let with_alias = path.iter().any(|step| step.contains(" ALIAS "));
    let (code, detail) = match end {
        WalkEnd::Loop if with_alias => {
            (Code::AliasLoop, format!("this would lead back to itself: {}", path.join(", ")))
        }
        WalkEnd::ChainTooLong if with_alias => {
            (Code::AliasChainTooLong, format!("this would be a chain of over {MAX_STEPS} steps: {}", path.join(", ")))
        }
        WalkEnd::Loop
        | WalkEnd::ChainTooLong
        | WalkEnd::Addresses { .. }
        | WalkEnd::NoData
        | WalkEnd::NameError
        | WalkEnd::External { .. } => return None,
    };
    let problem = Problem { path: path.into(), ..Problem::new(code, detail) };
    Some(Closing { name: name.clone(), rtype, problem })
}

/// Marks the wish for a record as one that is refused; false if the command has no such wish, and is refused as a whole.
pub(super) fn refuse(command: &mut Command, closing: &Closing) -> bool {
    let wishes = match command {
        Command::Apply(apply) => &mut apply.records,
        Command::Change(change) => &mut change.upsert,
        Command::ChangeEndpoints(asked) => &mut asked.change.upsert,
        Command::Patch(patch) => return refuse_step(patch, closing),
        Command::OpenZone(open) => return refuse_step(&mut open.patch, closing),
        _ => return false,
    };
    let is_it = |wish: &Wish| wish.name == closing.name && wish.rtype == closing.rtype;
    let mut found = false;
    for wish in wishes.iter_mut() {
        if let Ok(own) = wish
            && is_it(own)
        {
            found = true;
            *wish = Err(BadWish {
                name: closing.name.to_string(),
                rtype: closing.rtype.to_string(),
                key: Some((closing.name.clone(), closing.rtype)),
                problem: closing.problem.clone(),
            });
        }
    }
    found
}

/// As [`refuse`], of a patch: the client is told in the words of its door.
fn refuse_step(patch: &mut Patch, closing: &Closing) -> bool {
    let mut found = false;
    for step in Arc::make_mut(&mut patch.steps).iter_mut() {
        if let Ok(own) = step
            && own.name == closing.name
            && own.rtype == closing.rtype
            && let Some(record) = own.records().and_then(<[Vec<u8>]>::first)
        {
            found = true;
            let content = presentation::rdata_to_text(own.rtype, record);
            let error = format!("Record {}/{} '{content}': {}", own.name, own.rtype, closing.problem.detail);
            *step = Err(BadStep { key: Some((closing.name.clone(), closing.rtype)), error });
        }
    }
    found
}
