//! Rules that hold for the records of a whole zone (answers.md F6, F7). Pure: RRsets in, [`Issue`]s out.

use std::collections::HashSet;
use std::fmt;

use super::node::{MAX_RECORDS, MAX_RRSET_OCTETS, MAX_TYPES, RRset};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::rdata::target;

/// Whether a zone with this issue can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// No: it is refused.
    Error,
    /// Yes: it is probably not what was meant.
    Warning,
}

/// What hides records that stand at or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// A zone cut: an NS RRset below the apex.
    Cut,
    /// A DNAME.
    Dname,
}

/// What is wrong at a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The apex has no SOA (RFC 1035 section 5.2).
    NoSoa,
    /// An SOA stands below the apex.
    SoaBelowApex,
    /// More than one record of a type of which a name has one (RFC 1034 section 3.6.2, RFC 6672 section 2.4).
    SeveralRecords,
    /// A CNAME stands beside a record of this type (RFC 1034 section 3.6.2).
    CnameBeside(Rtype),
    /// An ALIAS stands beside addresses of this type (alias.md section 1, `static: reject`).
    AliasBeside(Rtype),
    /// An RRset has more than [`MAX_RECORDS`] records: so many.
    TooManyRecords(usize),
    /// An RRset has more than [`MAX_RRSET_OCTETS`] octets: so many.
    TooManyOctets(usize),
    /// A name has more than [`MAX_TYPES`] types: so many.
    TooManyTypes(usize),
    /// The apex has no NS (RFC 1034 section 4.2.1).
    NoNs,
    /// An NS or DNAME stands at a wildcard (RFC 4592 sections 4.2 and 4.4).
    AtWildcard,
    /// A DNAME stands at a zone cut, which wins (answers.md section 6).
    DnameAtCut,
    /// Records that no answer shows, since this name above is a cut or has a DNAME (RFC 2181 section 6.1).
    Occluded(Cover, Name),
    /// This server of an NS RRset is a name of the zone and has no address in it (RFC 1034 section 4.2.1).
    NoAddress(Name),
}

/// A finding of a zone check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The name at fault.
    pub name: Name,
    /// The type at fault.
    pub rtype: Rtype,
    /// Position of the RRset at fault in what was checked; none if the fault is that it is missing.
    pub rrset: Option<usize>,
    /// What is wrong.
    pub fault: Fault,
}

impl Issue {
    /// Whether the zone can be served in spite of it.
    pub fn severity(&self) -> Severity {
        match self.fault {
            Fault::NoSoa
            | Fault::SoaBelowApex
            | Fault::SeveralRecords
            | Fault::CnameBeside(_)
            | Fault::AliasBeside(_)
            | Fault::TooManyRecords(_)
            | Fault::TooManyOctets(_)
            | Fault::TooManyTypes(_) => Severity::Error,
            Fault::NoNs | Fault::AtWildcard | Fault::DnameAtCut | Fault::Occluded(..) | Fault::NoAddress(_) => {
                Severity::Warning
            }
        }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Issue { name, rtype, fault, rrset: _ } = self;
        match fault {
            Fault::NoSoa => write!(f, "{name} has no SOA; expected one at the apex of the zone"),
            Fault::SoaBelowApex => write!(f, "{name} has an SOA and is not the apex; expected one SOA in a zone"),
            Fault::SeveralRecords => write!(f, "{name} has several {rtype} records; expected one"),
            Fault::CnameBeside(other) => {
                write!(f, "{name} has a CNAME beside {other}; expected a CNAME alone")?;
                if *other == Rtype::SOA { f.write_str(" (at the apex of a zone use ALIAS)") } else { Ok(()) }
            }
            Fault::AliasBeside(other) => {
                let wanted = "expected the one or the other, since ALIAS gives addresses";
                write!(f, "{name} has an ALIAS beside {other}; {wanted}")
            }
            Fault::TooManyRecords(count) => {
                write!(f, "{name} has {count} {rtype} records; expected at most {MAX_RECORDS}")
            }
            Fault::TooManyOctets(octets) => {
                write!(f, "the {rtype} records of {name} take {octets} octets; expected at most {MAX_RRSET_OCTETS}")
            }
            Fault::TooManyTypes(count) => {
                write!(f, "{name} has records of {count} types; expected at most {MAX_TYPES}")
            }
            Fault::NoNs => write!(f, "{name} has no NS; expected the name servers at the apex of the zone"),
            Fault::AtWildcard => write!(f, "{name} is a wildcard and has {rtype}, which resolvers read differently"),
            Fault::DnameAtCut => {
                write!(f, "{name} has a DNAME and is a zone cut: the cut wins, the DNAME is not served")
            }
            Fault::Occluded(cover, above) => {
                let what = match cover {
                    Cover::Cut => "is at or below the zone cut",
                    Cover::Dname => "is below the DNAME",
                };
                write!(f, "{rtype} of {name} is not served, since it {what} {above}")
            }
            Fault::NoAddress(server) => {
                write!(f, "{name} has the name server {server}, which is in this zone and has no address here")
            }
        }
    }
}

/// Checks the content of a zone: RRsets at or below `apex` in canonical order of names, then by type. Issues come in
/// that order. The RDATA of an ALIAS may be its target alone or the published form: it is not looked at.
pub fn check(apex: &Name, rrsets: &[(Name, RRset)]) -> Vec<Issue> {
    let mut issues = Vec::new();
    let servers = Servers::of(apex, rrsets);
    let mut cover: Option<(Cover, &Name)> = None;
    let at_apex = rrsets.chunk_by(|left, right| left.0 == right.0).next().filter(|group| group[0].0 == *apex);
    for (rtype, fault) in [(Rtype::SOA, Fault::NoSoa), (Rtype::NS, Fault::NoNs)] {
        if !at_apex.is_some_and(|group| has(group, rtype)) {
            issues.push(Issue { name: apex.clone(), rtype, rrset: None, fault });
        }
    }
    let mut first = 0;
    for group in rrsets.chunk_by(|left, right| left.0 == right.0) {
        let mut node = AtName { name: &group[0].0, group, first, issues: &mut issues };
        first += group.len();
        node.check_exclusive(apex);
        node.check_limits();
        if cover.is_some_and(|(_, above)| !node.name.is_at_or_below(above)) {
            cover = None;
        }
        match cover {
            Some((kind, above)) => node.report_occluded(kind, above, &servers),
            None => {
                if *node.name != *apex && has(group, Rtype::NS) {
                    cover = Some((Cover::Cut, node.name));
                    node.report_at_cut(&servers);
                } else if has(group, Rtype::DNAME) {
                    cover = Some((Cover::Dname, node.name));
                }
                node.check_servers(apex, &servers);
            }
        }
    }
    issues
}

fn has(group: &[(Name, RRset)], rtype: Rtype) -> bool {
    group.iter().any(|(_, rrset)| rrset.rtype == rtype)
}

/// The name servers of a zone that are names of the zone, which of them have addresses, and where cuts are.
struct Servers<'a> {
    all: HashSet<Name>,
    with_address: HashSet<&'a Name>,
    cuts: HashSet<&'a Name>,
    /// Wildcards with addresses.
    wildcards: HashSet<&'a Name>,
}

impl<'a> Servers<'a> {
    fn of(apex: &Name, rrsets: &'a [(Name, RRset)]) -> Servers<'a> {
        let mut servers = Servers {
            all: HashSet::new(),
            with_address: HashSet::new(),
            cuts: HashSet::new(),
            wildcards: HashSet::new(),
        };
        for (name, rrset) in rrsets.iter().filter(|(_, rrset)| rrset.rtype == Rtype::NS) {
            if name != apex {
                servers.cuts.insert(name);
            }
            let targets = rrset.records.iter().filter_map(|rdata| target(Rtype::NS, rdata));
            servers.all.extend(targets.filter(|target| target.is_at_or_below(apex)));
        }
        if !servers.all.is_empty() {
            let addresses = |rtype| matches!(rtype, Rtype::A | Rtype::AAAA | Rtype::ALIAS);
            for (name, _) in rrsets.iter().filter(|(_, rrset)| addresses(rrset.rtype)) {
                if servers.all.contains(name) {
                    servers.with_address.insert(name);
                }
                if name.is_wildcard() {
                    servers.wildcards.insert(name);
                }
            }
        }
        servers
    }

    /// Whether a resolver that follows the NS RRset of `owner` to `server` finds an address, or would not look here:
    /// a server below another cut is answered for there, unless it serves this zone itself.
    fn is_found(&self, server: &Name, owner: &Name, apex: &Name) -> bool {
        if self.with_address.contains(server) {
            return true;
        }
        let above: Vec<Name> = server.ancestors().take_while(|name| name.is_at_or_below(apex)).collect();
        if let Some(cut) = above.iter().rev().find(|name| self.cuts.contains(*name)) {
            return cut != owner && owner != apex;
        }
        !self.wildcards.is_empty()
            && above.iter().skip(1).any(|name| name.child(b"*").is_ok_and(|name| self.wildcards.contains(&name)))
    }
}

/// The RRsets of one name.
struct AtName<'a, 'i> {
    name: &'a Name,
    group: &'a [(Name, RRset)],
    /// Position of the first of them in what is checked.
    first: usize,
    issues: &'i mut Vec<Issue>,
}

impl AtName<'_, '_> {
    fn report(&mut self, at: usize, fault: Fault) {
        let rtype = self.group[at].1.rtype;
        self.issues.push(Issue { name: self.name.clone(), rtype, rrset: Some(self.first + at), fault });
    }

    fn check_exclusive(&mut self, apex: &Name) {
        for (at, (_, rrset)) in self.group.iter().enumerate() {
            if rrset.rtype.is_singleton() && rrset.records.len() > 1 {
                self.report(at, Fault::SeveralRecords);
            }
            match rrset.rtype {
                Rtype::SOA if self.name != apex => self.report(at, Fault::SoaBelowApex),
                Rtype::NS | Rtype::DNAME if self.name.is_wildcard() => self.report(at, Fault::AtWildcard),
                Rtype::CNAME => self.check_cname(at),
                Rtype::ALIAS if !has(self.group, Rtype::CNAME) => {
                    for family in [Rtype::A, Rtype::AAAA].into_iter().filter(|family| has(self.group, *family)) {
                        self.report(at, Fault::AliasBeside(family));
                    }
                }
                _ => {}
            }
        }
    }

    /// One type beside a CNAME is enough to say so; an SOA says most.
    fn check_cname(&mut self, at: usize) {
        let types = self.group.iter().map(|(_, rrset)| rrset.rtype);
        let mut others = types.filter(|rtype| !matches!(*rtype, Rtype::CNAME | Rtype::RRSIG | Rtype::NSEC));
        let other = if has(self.group, Rtype::SOA) { Some(Rtype::SOA) } else { others.next() };
        if let Some(other) = other {
            self.report(at, Fault::CnameBeside(other));
        }
    }

    fn check_limits(&mut self) {
        if self.group.len() > MAX_TYPES {
            self.report(0, Fault::TooManyTypes(self.group.len()));
        }
        for (at, (_, rrset)) in self.group.iter().enumerate() {
            if rrset.records.len() > MAX_RECORDS {
                self.report(at, Fault::TooManyRecords(rrset.records.len()));
            } else if rrset.octets() > MAX_RRSET_OCTETS {
                self.report(at, Fault::TooManyOctets(rrset.octets()));
            }
        }
    }

    /// Below a cut all but glue is occluded, below a DNAME everything.
    fn report_occluded(&mut self, cover: Cover, above: &Name, servers: &Servers<'_>) {
        for (at, (name, rrset)) in self.group.iter().enumerate() {
            let address = matches!(rrset.rtype, Rtype::A | Rtype::AAAA);
            if cover == Cover::Dname || !address || !servers.all.contains(name) {
                self.report(at, Fault::Occluded(cover, above.clone()));
            }
        }
    }

    /// At a cut NS and DS are served, and addresses if they are glue (RFC 4035 section 2.4).
    fn report_at_cut(&mut self, servers: &Servers<'_>) {
        for (at, (name, rrset)) in self.group.iter().enumerate() {
            match rrset.rtype {
                Rtype::NS | Rtype::DS | Rtype::NSEC | Rtype::RRSIG => {}
                Rtype::A | Rtype::AAAA if servers.all.contains(name) => {}
                Rtype::DNAME => self.report(at, Fault::DnameAtCut),
                _ => self.report(at, Fault::Occluded(Cover::Cut, name.clone())),
            }
        }
    }

    fn check_servers(&mut self, apex: &Name, servers: &Servers<'_>) {
        let Some(at) = self.group.iter().position(|(_, rrset)| rrset.rtype == Rtype::NS) else { return };
        for server in self.group[at].1.records.iter().filter_map(|rdata| target(Rtype::NS, rdata)) {
            if server.is_at_or_below(apex) && !servers.is_found(&server, self.name, apex) {
                self.report(at, Fault::NoAddress(server));
            }
        }
    }
}
