//! Why a name answers what it answers: the way of a question through the zones, step by step (ownership.md section 4).
//! Pure. It says in words what `answer` does, for one question and without sizes and additional records.

use super::alias_view;
use super::show;
use crate::wire::codes::Rtype;
use crate::wire::hashed::HashedName;
use crate::wire::name::Name;
use crate::zone::alias::{AliasRef, Family, MAX_STEPS, Moment};
use crate::zone::content::{Lookup, Zone};
use crate::zone::node::{Node, RRsetRef};
use crate::zone::served::Serving;
use crate::zone::snapshot::Snapshot;
use crate::zone::walk::Trust;

/// How a question ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With records.
    Answer,
    /// The name is there without such records.
    NoData,
    /// The name is not there.
    NameError,
    /// The name is below a zone cut: the delegation is the answer.
    Referral,
    /// At a name out of the zone, after a CNAME or DNAME: the resolver goes on from there, even if another zone here
    /// has it.
    Outside,
    /// In a chain that comes back to a name or is too long: as far as it goes.
    Chain,
    /// No zone here has the name.
    NoZone,
    /// The target of an ALIAS is not known: SERVFAIL, perhaps after waiting.
    Failure,
}

impl End {
    /// The response code.
    pub(crate) fn rcode(self) -> &'static str {
        match self {
            End::Answer | End::NoData | End::Referral | End::Outside | End::Chain => "NOERROR",
            End::NameError => "NXDOMAIN",
            End::NoZone => "REFUSED",
            End::Failure => "SERVFAIL",
        }
    }
}

/// One step: its stable word, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) step: &'static str,
    pub(crate) detail: String,
}

/// What a question comes to.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub(crate) steps: Vec<Step>,
    pub(crate) end: End,
    /// `name ttl type data`.
    pub(crate) records: Vec<String>,
    /// Zone, name and type of the record set that decides: where a holder is to be looked for.
    pub(crate) decided_by: Option<(Name, Name, Rtype)>,
    /// The last sentence, without the holder.
    pub(crate) verdict: String,
    /// The longest that the answer's SOA may be kept, in seconds, where an ALIAS bounds it.
    pub(crate) negative_cap: Option<u32>,
}

/// Follows a question for `rtype`, which is no type of queries alone.
pub(crate) fn explain(snapshot: &Snapshot, trust: &Trust, asked: &Name, rtype: Rtype, now: Moment) -> Explained {
    let mut out = Explained {
        steps: Vec::new(),
        end: End::NoZone,
        records: Vec::new(),
        decided_by: None,
        verdict: String::new(),
        negative_cap: None,
    };
    let mut scratch = HashedName::empty();
    let mut name = asked.clone();
    let mut met = vec![asked.clone()];
    let mut first: Option<Name> = None;
    for _ in 0..=MAX_STEPS {
        scratch.load(snapshot.key(), name.as_wire());
        let Some(zone) = snapshot.find_zone(&scratch, rtype == Rtype::DS) else {
            match &first {
                None => out.finish(End::NoZone, "noZone", format!("no zone of this server has {name}")),
                Some(_) => {
                    let detail = format!("no zone of this server has {name}: the resolver asks elsewhere");
                    out.finish(End::Outside, "outside", detail);
                }
            }
            return out;
        };
        let apex = zone.apex();
        if let Some(first) = first.as_ref().filter(|first| *first != apex) {
            let detail = format!("{name} is in {apex} and no longer in {first}: the resolver asks for it anew");
            out.finish(End::Outside, "outside", detail);
            return out;
        }
        first = Some(apex.clone());
        out.step("zone", format!("{apex} is the nearest zone to {name}"));
        let next = match zone.lookup(&scratch, rtype == Rtype::DS) {
            Lookup::Exact(node) => out.at(snapshot, trust, zone, node, &name, rtype, now),
            Lookup::Wildcard(node) => {
                let wildcard = shown(node.name());
                out.step("wildcard", format!("{name} is not there, and {wildcard} answers for it"));
                out.at(snapshot, trust, zone, node, &name, rtype, now)
            }
            Lookup::Cut(node) => {
                let cut = shown(node.name());
                // After a chain, the chain alone is the answer.
                if let Some(servers) = node.rrset(Rtype::NS).filter(|_| out.records.is_empty()) {
                    out.records(&cut, servers);
                    out.decide(zone, node, Rtype::NS);
                }
                let detail = format!("{name} is delegated at {cut}: the name servers there are to be asked");
                out.finish(End::Referral, "cut", detail);
                None
            }
            Lookup::Dname(node) => match node.rrset(Rtype::DNAME) {
                Some(dname) => {
                    let owner = shown(node.name());
                    out.records(&owner, dname);
                    out.decide(zone, node, Rtype::DNAME);
                    let start = scratch.start(node.labels());
                    let octets = [&scratch.wire()[..start], dname.first()].concat();
                    match Name::from_wire(&octets) {
                        Ok(next) => {
                            out.step("dname", format!("the DNAME at {owner} leads to {next}"));
                            Some(next)
                        }
                        Err(_) => {
                            out.finish(
                                End::Failure,
                                "dname",
                                format!("the DNAME at {owner} makes a name that is too long"),
                            );
                            None
                        }
                    }
                }
                None => None,
            },
            Lookup::NoName => {
                out.finish(
                    End::NameError,
                    "nxdomain",
                    format!("{name} is not in {apex}, and no wildcard answers for it"),
                );
                None
            }
        };
        match next {
            Some(next) if met.contains(&next) => {
                out.finish(End::Chain, "chain", format!("the chain comes back to {next}, so it leads nowhere"));
                return out;
            }
            Some(next) => {
                met.push(next.clone());
                name = next;
            }
            None => return out,
        }
    }
    out.finish(End::Chain, "chain", format!("the chain has over {MAX_STEPS} steps and is cut off"));
    out
}

impl Explained {
    fn step(&mut self, step: &'static str, detail: String) {
        self.steps.push(Step { step, detail });
    }

    fn finish(&mut self, end: End, step: &'static str, detail: String) {
        self.end = end;
        self.verdict.clone_from(&detail);
        self.step(step, detail);
    }

    fn decide(&mut self, zone: &Zone, node: &Node, rtype: Rtype) {
        self.decided_by = Name::from_wire(node.name()).ok().map(|name| (zone.apex().clone(), name, rtype));
    }

    fn records(&mut self, name: &str, rrset: RRsetRef<'_>) {
        let records: Vec<Vec<u8>> = rrset.records().map(<[u8]>::to_vec).collect();
        for value in show::values(rrset.rtype, &records) {
            self.records.push(format!("{name} {} {} {value}", rrset.ttl, rrset.rtype));
        }
    }

    /// What a node has for the question; the next name if it leads on.
    #[allow(clippy::too_many_arguments, reason = "all of a question's surroundings, at one place")]
    fn at(
        &mut self,
        snapshot: &Snapshot,
        trust: &Trust,
        zone: &Zone,
        node: &Node,
        name: &Name,
        rtype: Rtype,
        now: Moment,
    ) -> Option<Name> {
        let alias = node.rrset(Rtype::ALIAS).and_then(|rrset| AliasRef::decode(rrset.first()));
        let beside = node.rrset(rtype).filter(|_| rtype != Rtype::ALIAS);
        if let (Some(family), Some(alias)) = (Family::BOTH.into_iter().find(|family| family.rtype() == rtype), alias)
            && (beside.is_none() || alias.has(family))
        {
            self.decide(zone, node, Rtype::ALIAS);
            self.alias(snapshot, trust, zone, node, name, family, now);
            return None;
        }
        if let Some(rrset) = beside {
            self.records(&name.to_string(), rrset);
            self.decide(zone, node, rtype);
            self.finish(End::Answer, "found", format!("{name} has {rtype}"));
            return None;
        }
        if let Some(cname) = node.rrset(Rtype::CNAME) {
            self.records(&name.to_string(), cname);
            self.decide(zone, node, Rtype::CNAME);
            let target = Name::from_wire(cname.first()).ok()?;
            self.step("cname", format!("{name} is an alias (CNAME) of {target}"));
            return Some(target);
        }
        let there: Vec<String> = node.rrsets().map(|rrset| rrset.rtype.to_string()).collect();
        let detail = if there.is_empty() {
            format!("{name} is there only because names below it are: it has no records")
        } else {
            format!("{name} has {}, and no {rtype}", there.join(", "))
        };
        self.finish(End::NoData, "nodata", detail);
        None
    }

    #[allow(clippy::too_many_arguments, reason = "all of a question's surroundings, at one place")]
    fn alias(
        &mut self,
        snapshot: &Snapshot,
        trust: &Trust,
        zone: &Zone,
        node: &Node,
        name: &Name,
        family: Family,
        now: Moment,
    ) {
        let rtype = family.rtype();
        let view = alias_view::view(snapshot, trust, zone, node, None, now);
        let found = view.as_ref().and_then(|view| Some((view, view.families.iter().find(|one| one.family == family)?)));
        let Some((view, one)) = found else {
            self.finish(End::NoData, "alias", format!("{name} is an ALIAS that is not flattened for {rtype}"));
            return;
        };
        let state = one.state.map_or("Static", |state| state.text());
        let source = match &view.untrusted {
            Some(apex) => format!(
                "an upstream was asked: the zone {apex} here has that name, but the ALIAS may not enter it, since it is \
                 neither its own, nor its owner's or that of an owner above, nor in alias.trusted_zones"
            ),
            None if view.external => "an upstream was asked".to_owned(),
            None => "a zone here has it".to_owned(),
        };
        let mut detail = format!("{name} is an ALIAS that leads to {} ({source}): {rtype} is {state}", view.end);
        if let Some(since) = one.since {
            detail.push_str(&format!(" since {}", show::moment(since)));
        }
        for address in &one.addresses {
            self.records.push(format!("{name} {} {rtype} {address}", one.ttl));
        }
        if one.serving == Serving::NoData {
            self.negative_cap = Some(one.ttl);
        }
        let end = match one.serving {
            Serving::Fresh | Serving::Stale | Serving::Static | Serving::Fallback => End::Answer,
            Serving::NoData => End::NoData,
            Serving::Pending | Serving::ServFail => End::Failure,
        };
        self.finish(end, "alias", detail);
    }
}

fn shown(wire: &[u8]) -> String {
    Name::from_wire(wire).map_or_else(|_| String::new(), |name| name.to_string())
}
