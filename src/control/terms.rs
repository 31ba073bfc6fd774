//! What the configuration says about ALIAS records that the ledger does not know: groups of upstreams, quotas, and which
//! targets owners may point to (alias.md sections 1 to 3). Pure.

use std::collections::{BTreeMap, HashSet};

use super::loops::Closing;
use crate::ledger::code::Code;
use crate::ledger::command::{BadWish, Command, Patch, Step, Wish};
use crate::ledger::owner::{Labels, OwnerId};
use crate::ledger::plan::Plan;
use crate::ledger::report::Problem;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::{AliasRef, Group};
use crate::zone::content::Zone;
use crate::zone::policy::Internal;
use crate::zone::snapshot::Snapshot;

/// Name of the group that is asked where none is named.
pub const DEFAULT_GROUP: &str = "default";
/// Most groups of upstreams.
pub const MAX_GROUPS: usize = 64;
/// External targets of one zone by default.
pub const MAX_TARGETS: usize = 100_000;

/// Suffixes of targets that an owner, and those below it, may or may not point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Only at or below one of these, if there are any.
    pub allow: Vec<Name>,
    /// Not at or below any of these.
    pub deny: Vec<Name>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Names of the groups, [`DEFAULT_GROUP`] first.
    pub groups: Vec<String>,
    /// Whether records may serve internal addresses.
    pub internal: Internal,
    /// Most external targets of a zone.
    pub max_targets: usize,
    /// By owner.
    pub owners: BTreeMap<OwnerId, Targets>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            groups: vec![DEFAULT_GROUP.to_owned()],
            internal: Internal::Removed,
            max_targets: MAX_TARGETS,
            owners: BTreeMap::new(),
        }
    }
}

impl Terms {
    /// The number of a group; none is the default one.
    pub fn group(&self, name: Option<&str>) -> Group {
        let Some(name) = name else { return Group::DEFAULT };
        let at = self.groups.iter().position(|one| one == name);
        at.and_then(|at| u8::try_from(at).ok()).map_or(Group::UNKNOWN, Group)
    }

    /// Names of the groups, by number.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The name of a group.
    pub fn group_name(&self, group: Group) -> Option<&str> {
        self.groups.get(usize::from(group.0)).map(String::as_str)
    }

    /// What a record that asks for internal addresses gets.
    pub fn internal(&self, asked: Internal) -> Internal {
        match (self.internal, asked) {
            (Internal::Kept, Internal::Kept) => Internal::Kept,
            (Internal::Removed | Internal::Kept, Internal::Removed | Internal::Kept) => Internal::Removed,
        }
    }

    /// The first ALIAS of a command that these terms do not admit; `snapshot` is the published state as the plan would
    /// make it.
    pub(super) fn first(&self, snapshot: &Snapshot, plan: &Plan, command: &Command) -> Option<Closing> {
        let (owner, aliases) = aliases(command)?;
        let lists = self.lists(plan, owner);
        let mut counted: HashSet<Name> = HashSet::new();
        for wish in aliases {
            let problem = self.option(&wish).or_else(|| target(&wish, owner, &lists)).or_else(|| {
                let zone = snapshot.zone_of(&wish.name)?;
                // Of each zone once: it is the same for all its records.
                counted.insert(zone.apex().clone()).then(|| self.quota(zone)).flatten()
            });
            if let Some(problem) = problem {
                return Some(Closing::new(wish.name.clone(), Rtype::ALIAS, problem));
            }
        }
        None
    }

    fn option(&self, wish: &Wish) -> Option<Problem> {
        let options = wish.alias.unwrap_or_default();
        if let Some(group) = &options.upstream_group
            && self.group(Some(group.as_str())) == Group::UNKNOWN
        {
            let known = self.groups.join(", ");
            let detail = format!("there is no upstream group {}: the server has {known}", group.as_str());
            return Some(Problem::new(Code::AliasOptionInvalid, detail));
        }
        if options.policy.internal == Internal::Kept && self.internal == Internal::Removed {
            let detail = "allowPrivate needs `alias.allow_private_targets = true` in the server's configuration";
            return Some(Problem::new(Code::AliasOptionInvalid, detail));
        }
        None
    }

    /// The lists of an owner and of those above it.
    fn lists(&self, plan: &Plan, owner: &OwnerId) -> Vec<&Targets> {
        if self.owners.is_empty() {
            return Vec::new();
        }
        let above = plan.ledger.owner(owner).map(|one| plan.ledger.above(one.number)).unwrap_or_default();
        let ids = std::iter::once(owner).chain(above.into_iter().map(|one| &one.id));
        ids.filter_map(|id| self.owners.get(id)).collect()
    }

    fn quota(&self, zone: &Zone) -> Option<Problem> {
        // Records are counted first, which costs nothing; targets are no more than those.
        if zone.aliases().len() <= self.max_targets {
            return None;
        }
        let mut targets: HashSet<Vec<u8>> = HashSet::new();
        for node in zone.aliases().iter() {
            let alias = node.rrset(Rtype::ALIAS).and_then(|rrset| AliasRef::decode(rrset.first()));
            let target = alias.and_then(|alias| Name::from_wire(alias.target).ok());
            targets.extend(target.filter(|name| !name.is_at_or_below(zone.apex())).map(|name| name.as_wire().to_vec()));
        }
        let (most, apex) = (self.max_targets, zone.apex());
        (targets.len() > most).then(|| {
            let detail = format!("{apex} would have {} external ALIAS targets: at most {most}", targets.len());
            Problem::new(Code::AliasQuotaExceeded, detail)
        })
    }
}

/// The ALIAS records that a command writes, and for whom.
fn aliases(command: &Command) -> Option<(&OwnerId, Vec<Wish>)> {
    let of = |wishes: &'_ [Result<Wish, BadWish>]| -> Vec<Wish> {
        wishes.iter().flatten().filter(|wish| wish.rtype == Rtype::ALIAS).cloned().collect()
    };
    let (owner, wishes) = match command {
        Command::Apply(apply) => (&apply.owner, of(&apply.records)),
        Command::Change(change) => (&change.owner, of(&change.upsert)),
        Command::ChangeEndpoints(asked) => (&asked.change.owner, of(&asked.change.upsert)),
        Command::Patch(patch) => (&patch.owner, patched(patch)),
        Command::OpenZone(open) => (&open.patch.owner, patched(&open.patch)),
        _ => return None,
    };
    Some((owner, wishes))
}

fn patched(patch: &Patch) -> Vec<Wish> {
    let aliases = patch.steps.iter().flatten().filter(|step| step.rtype == Rtype::ALIAS);
    let wish = |step: &Step| {
        Some(Wish {
            zone: Some(patch.zone.clone()),
            name: step.name.clone(),
            rtype: step.rtype,
            set_id: String::new(),
            ttl: None,
            records: step.records().filter(|records| !records.is_empty())?.to_vec(),
            alias: None,
            share: false,
            labels: Labels::new(),
        })
    };
    aliases.filter_map(wish).collect()
}

/// Whether the lists of an owner admit a target; what is denied is denied whatever is allowed.
fn target(wish: &Wish, owner: &OwnerId, lists: &[&Targets]) -> Option<Problem> {
    let target = Name::from_wire(wish.records.first()?).ok()?;
    let within = |suffixes: &[Name]| suffixes.iter().any(|suffix| target.is_at_or_below(suffix));
    let denied = lists.iter().any(|list| within(&list.deny));
    let outside = lists.iter().any(|list| !list.allow.is_empty() && !within(&list.allow));
    (denied || outside).then(|| {
        let detail = format!("{owner} may not point to {target}: `alias.owners` in the server's configuration says so");
        Problem::new(Code::AliasTargetDenied, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_the_numbers_of_the_configuration() {
        let terms = Terms { groups: vec!["default".to_owned(), "inside".to_owned()], ..Terms::default() };
        assert_eq!(terms.group(None), Group::DEFAULT);
        assert_eq!(terms.group(Some("inside")), Group(1));
        assert_eq!(terms.group(Some("gone")), Group::UNKNOWN);
        assert_eq!(terms.group_name(Group(1)), Some("inside"));
        assert_eq!(terms.group_name(Group::UNKNOWN), None);
    }

    #[test]
    fn what_is_denied_goes_before_what_is_allowed() {
        let name = |text: &str| Name::parse(text).expect("a name");
        let wish = |target: &str| Wish {
            zone: None,
            name: name("www.example.com"),
            rtype: Rtype::ALIAS,
            set_id: String::new(),
            ttl: None,
            records: vec![name(target).as_wire().to_vec()],
            alias: None,
            share: false,
            labels: Default::default(),
        };
        let owner = OwnerId::new("k8s:prod").expect("an owner");
        let own = Targets { allow: vec![name("proxy.test")], deny: vec![name("bad.proxy.test")] };
        let above = Targets { allow: Vec::new(), deny: vec![name("other.test")] };
        for (target_name, admitted) in [
            ("edge.proxy.test", true),
            ("proxy.test", true),
            ("x.bad.proxy.test", false),
            ("elsewhere.test", false),
            ("www.other.test", false),
        ] {
            let found = target(&wish(target_name), &owner, &[&own, &above]);
            assert_eq!(found.is_none(), admitted, "{target_name}");
        }
        assert_eq!(target(&wish("www.other.test"), &owner, &[]), None);
    }
}
