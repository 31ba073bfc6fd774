//! The lookup of answers.md section 6 once more, as plainly as it is written: a list of RRsets, no index, no limits of
//! time or size. What `respond` does is compared with it.

use std::collections::HashSet;
use std::fmt;

use tenured::wire::codes::Rtype;
use tenured::wire::name::{MAX_NAME, Name};
use tenured::wire::presentation::rdata_to_text;
use tenured::wire::rdata::canonical;
use tenured::zone::node::RRset;

/// A record: owner, type, TTL, canonical RDATA.
pub type Plain = (Name, u16, u32, Vec<u8>);

/// A zone as a list.
#[derive(Clone)]
pub struct ModelZone {
    /// The apex, which has an SOA in the list.
    pub apex: Name,
    /// All RRsets, those of a name in any order.
    pub rrsets: Vec<(Name, RRset)>,
}

/// One record a line, as a zone file has it, so that a failing case can be read.
impl fmt::Debug for ModelZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (owner, rrset) in &self.rrsets {
            for rdata in &rrset.records {
                write!(f, "\n{owner} {} {} {}", rrset.ttl, rrset.rtype, rdata_to_text(rrset.rtype, rdata))?;
            }
        }
        Ok(())
    }
}

/// What the answer must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub rcode: u16,
    pub aa: bool,
    pub answer: Vec<Plain>,
    pub authority: Vec<Plain>,
}

const MAX_CHAIN: usize = 16;

impl ModelZone {
    fn at<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a RRset> + 'a {
        self.rrsets.iter().filter(move |(owner, _)| owner == name).map(|(_, rrset)| rrset)
    }

    fn of(&self, name: &Name, rtype: Rtype) -> Option<&RRset> {
        self.rrsets.iter().find(|(owner, rrset)| owner == name && rrset.rtype == rtype).map(|(_, rrset)| rrset)
    }

    fn exists(&self, name: &Name) -> bool {
        self.rrsets.iter().any(|(owner, _)| owner.is_at_or_below(name))
    }

    /// The name whose records answer for `name`: itself, or the wildcard right below the closest encloser.
    fn source(&self, name: &Name) -> Option<Name> {
        if self.exists(name) {
            return Some(name.clone());
        }
        let encloser = name.ancestors().find(|above| self.exists(above))?;
        encloser.child(b"*").ok().filter(|wildcard| self.exists(wildcard))
    }

    /// What a query of class IN over TCP must be answered with.
    pub fn ask(&self, qname: &Name, qtype: Rtype) -> Wanted {
        let mut wanted = Wanted::default();
        let mut name = qname.clone();
        let mut met = HashSet::new();
        let mut chain = 0;
        loop {
            if !name.is_at_or_below(&self.apex) || !met.insert(name.clone()) {
                return wanted;
            }
            match self.step(&name, qtype, chain, &mut wanted) {
                Some(target) => name = target,
                None => return wanted,
            }
            chain += 1;
        }
    }

    /// One turn of the steps 2 to 4; the name to go on with, if there is one.
    fn step(&self, name: &Name, qtype: Rtype, chain: usize, wanted: &mut Wanted) -> Option<Name> {
        let mut path: Vec<Name> = name.ancestors().filter(|above| above.is_at_or_below(&self.apex)).collect();
        path.reverse();
        if path.last() != Some(name) {
            path.push(name.clone());
        }
        for above in &path {
            if let Some(servers) = self.of(above, Rtype::NS)
                && *above != self.apex
                && (above != name || qtype != Rtype::DS)
            {
                add(&mut wanted.authority, above, servers);
                return None;
            }
            if let Some(dname) = self.of(above, Rtype::DNAME)
                && above != name
            {
                wanted.aa |= chain == 0;
                return redirect(name, above, dname, qtype, chain, wanted);
            }
        }
        wanted.aa |= chain == 0;
        let Some(source) = self.source(name) else {
            wanted.rcode = 3;
            self.add_soa(wanted);
            return None;
        };
        if qtype == Rtype::ANY && self.at(&source).next().is_some() {
            for rrset in self.at(&source) {
                add(&mut wanted.answer, name, rrset);
            }
            return None;
        }
        if let Some(rrset) = self.of(&source, qtype) {
            add(&mut wanted.answer, name, rrset);
            return None;
        }
        if let Some(cname) = self.of(&source, Rtype::CNAME)
            && !matches!(qtype, Rtype::RRSIG | Rtype::NSEC)
        {
            if chain == MAX_CHAIN {
                return None;
            }
            add(&mut wanted.answer, name, cname);
            return Name::from_wire(&cname.records[0]).ok();
        }
        self.add_soa(wanted);
        None
    }

    fn add_soa(&self, wanted: &mut Wanted) {
        let mut soa = self.of(&self.apex, Rtype::SOA).expect("an SOA").clone();
        let minimum = soa.records[0].last_chunk::<4>().map_or(0, |octets| u32::from_be_bytes(*octets));
        soa.ttl = soa.ttl.min(minimum);
        add(&mut wanted.authority, &self.apex, &soa);
    }
}

/// A DNAME and the CNAME it makes.
fn redirect(name: &Name, owner: &Name, dname: &RRset, qtype: Rtype, chain: usize, wanted: &mut Wanted) -> Option<Name> {
    if chain == MAX_CHAIN {
        return None;
    }
    add(&mut wanted.answer, owner, dname);
    let above = name.as_wire().len() - owner.as_wire().len();
    let target = [&name.as_wire()[..above], &dname.records[0][..]].concat();
    if target.len() > MAX_NAME {
        wanted.rcode = 6;
        return None;
    }
    let cname = RRset { rtype: Rtype::CNAME, ttl: dname.ttl, records: vec![target.clone()] };
    add(&mut wanted.answer, name, &cname);
    if qtype == Rtype::CNAME { None } else { Name::from_wire(&target).ok() }
}

/// No record stands twice.
fn add(section: &mut Vec<Plain>, owner: &Name, rrset: &RRset) {
    for rdata in &rrset.records {
        let record = (owner.clone(), rrset.rtype.0, rrset.ttl, canonical(rrset.rtype, rdata));
        if !section.contains(&record) {
            section.push(record);
        }
    }
}
