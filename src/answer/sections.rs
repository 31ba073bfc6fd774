//! Answer, authority and glue: the walk of answers.md section 6, written as it goes.

use super::additional::Additional;
use super::flatten::{Flattened, NO_DATA, Purpose};
use super::{AliasType, AnyPolicy, Names, Request, Rules, Transport, Verdict};
use crate::wire::codes::{ExtendedError, Rcode, Rtype};
use crate::wire::name::{MAX_NAME, wire_length};
use crate::wire::query::Question;
use crate::wire::writer::{Full, Owner, Record, Section, Writer};
use crate::zone::alias::{AliasRef, Family, TargetKey};
use crate::zone::content::{Lookup, Zone};
use crate::zone::node::{Flags, Node, RRsetRef};
use crate::zone::served::Serving;
use crate::zone::snapshot::Snapshot;

/// Most CNAMEs in an answer, written or synthesised (answers.md L10).
const MAX_CHAIN: usize = 16;
/// Octets of a record besides its RDATA when its owner is a pointer.
const RECORD_OVERHEAD: usize = 12;

/// How the walk goes on.
enum Step {
    /// At the name now loaded.
    Onward,
    /// Nowhere: the reply is as written.
    Done(Verdict),
    /// Nowhere until a target is resolved.
    Pending(TargetKey),
}

const NOERROR: Step = Step::Done(Verdict::code(Rcode::NOERROR));

/// One answer being written.
pub(super) struct Answer<'a, 'b> {
    pub(super) rules: &'a Rules,
    pub(super) snapshot: &'a Snapshot,
    pub(super) zone: &'a Zone,
    pub(super) names: &'a mut Names,
    pub(super) request: &'a Request<'a>,
    pub(super) question: &'a Question<'a>,
    pub(super) writer: &'a mut Writer<'b>,
    /// How many CNAMEs were written.
    chain: usize,
    /// Hashes of the owners of the DNAMEs written, by the step that wrote them: none is written twice.
    dnames: [u64; MAX_CHAIN],
    /// See [`Verdict`]: of the zone, and of the first node that gave data.
    account: u64,
}

impl<'a, 'b> Answer<'a, 'b> {
    /// Begins; `names.name` holds QNAME, and `zone` is the one that answers.
    #[inline]
    pub(super) fn new(
        rules: &'a Rules,
        snapshot: &'a Snapshot,
        zone: &'a Zone,
        names: &'a mut Names,
        request: &'a Request<'a>,
        question: &'a Question<'a>,
        writer: &'a mut Writer<'b>,
    ) -> Answer<'a, 'b> {
        Answer { rules, snapshot, zone, names, request, question, writer, chain: 0, dnames: [0; MAX_CHAIN], account: 0 }
    }

    /// Writes all sections. `Err` is the target that the answer waits for.
    #[inline]
    pub(super) fn write(mut self) -> Result<Verdict, TargetKey> {
        // Hashes of the names met, to tell when one comes up again; the key of the hash is secret.
        let mut met = [0_u64; MAX_CHAIN + 1];
        loop {
            met[self.chain] = self.names.name.hash(self.names.name.labels());
            match self.step() {
                Step::Done(verdict) => return Ok(Verdict { account: self.account, ..verdict }),
                Step::Pending(target) => return Err(target),
                Step::Onward => {}
            }
            let hash = self.names.name.hash(self.names.name.labels());
            if met[..self.chain].contains(&hash) || !self.is_in_zone() {
                return Ok(Verdict { account: self.account, ..Verdict::code(Rcode::NOERROR) });
            }
        }
    }

    /// Sets the account of the reply: random names below a wildcard, below a cut, or that do not exist share one.
    fn set_account(&mut self, found: Lookup<'_>) {
        let (key, name) = (self.snapshot.key(), &self.names.name);
        let zone = name.hash(self.zone.apex_labels());
        self.account = match found {
            Lookup::Exact(node) | Lookup::Wildcard(node) | Lookup::Cut(node) | Lookup::Dname(node) => {
                zone ^ key.hash(node.name()).rotate_left(1)
            }
            Lookup::NoName => zone,
        };
    }

    fn is_in_zone(&self) -> bool {
        let (name, labels) = (&self.names.name, self.zone.apex_labels());
        name.labels() >= labels && name.suffix(labels) == self.zone.apex().as_wire()
    }

    #[inline]
    fn step(&mut self) -> Step {
        let zone = self.zone;
        let found = zone.lookup(&self.names.name, self.question.rtype == Rtype::DS);
        if self.chain == 0 && !matches!(found, Lookup::Cut(_)) {
            self.writer.set_authoritative();
        }
        if self.chain == 0 && self.rules.limiter.is_some() {
            self.set_account(found);
        }
        match found {
            Lookup::Exact(node) | Lookup::Wildcard(node) => self.at_node(node),
            Lookup::Cut(node) => self.refer(node),
            Lookup::Dname(node) => self.redirect(node),
            Lookup::NoName => self.deny(Rcode::NXDOMAIN, u32::MAX),
        }
    }

    #[inline]
    fn at_node(&mut self, node: &'a Node) -> Step {
        let asked = self.question.rtype;
        if asked == Rtype::ANY {
            return self.any(node);
        }
        let flags = node.flags();
        if flags.has(Flags::ALIAS)
            && let Some(family) = family_of(asked)
        {
            if let Some(flattened) = self.flattened(node, family, Purpose::Asked) {
                return self.flatten(family, flattened);
            }
            let is_static = node.rrset(asked).is_some();
            self.names.flattened = Some(if is_static { Serving::Static } else { Serving::NoData });
        }
        if let Some(rrset) = node.rrset(asked) {
            return if asked == Rtype::ALIAS { self.show_alias(rrset) } else { self.answer(rrset) };
        }
        if flags.has(Flags::CNAME)
            && !matches!(asked, Rtype::RRSIG | Rtype::NSEC)
            && let Some(cname) = node.rrset(Rtype::CNAME)
        {
            if self.chain == MAX_CHAIN {
                return NOERROR;
            }
            if self.put(Section::Answer, cname).is_err() {
                return self.truncate();
            }
            return self.follow(cname.first());
        }
        let cap = if flags.has(Flags::ALIAS) && family_of(asked).is_some() { NO_DATA } else { u32::MAX };
        self.deny(Rcode::NOERROR, cap)
    }

    /// The ALIAS itself, or that there is none to see (alias.md section 6.6): its target alone, uncompressed.
    #[cold]
    fn show_alias(&mut self, rrset: RRsetRef<'a>) -> Step {
        let Some(alias) = AliasRef::decode(rrset.first()).filter(|_| self.rules.alias_type == AliasType::Shown) else {
            return self.deny(Rcode::NOERROR, u32::MAX);
        };
        let owner = if self.chain == 0 { Owner::Question(0) } else { Owner::Name(self.names.name.wire()) };
        let record = Record { owner, rtype: Rtype::ALIAS, ttl: rrset.ttl, rdata: alias.target };
        let put = self.writer.record(Section::Answer, record);
        if put.is_err() { self.truncate() } else { NOERROR }
    }

    #[inline]
    fn answer(&mut self, rrset: RRsetRef<'a>) -> Step {
        if self.has_written(rrset) {
            return NOERROR;
        }
        if self.put(Section::Answer, rrset).is_err() {
            return self.truncate();
        }
        if super::additional::has_additional(rrset.rtype) {
            Additional::new(self).of(rrset);
        }
        NOERROR
    }

    /// Whether this RRset of the current name is a DNAME that led here and so stands in the answer already.
    #[inline]
    fn has_written(&self, rrset: RRsetRef<'_>) -> bool {
        rrset.rtype == Rtype::DNAME
            && self.dnames[..self.chain].contains(&self.names.name.hash(self.names.name.labels()))
    }

    /// The addresses of an ALIAS (alias.md section 6).
    #[inline]
    fn flatten(&mut self, family: Family, flattened: Flattened<'a>) -> Step {
        self.names.flattened = Some(flattened.serving());
        match flattened {
            Flattened::Addresses { addresses, ttl, error } => {
                if self.put_addresses(Section::Answer, None, family, addresses, ttl).is_err() {
                    return self.truncate();
                }
                Step::Done(Verdict { error, ..Verdict::code(Rcode::NOERROR) })
            }
            Flattened::NoData { soa_cap, error } => match self.deny(Rcode::NOERROR, soa_cap) {
                Step::Done(verdict) => Step::Done(Verdict { error: error.or(verdict.error), ..verdict }),
                other @ (Step::Onward | Step::Pending(_)) => other,
            },
            Flattened::ServFail { error } => self.fail(error),
            Flattened::Pending(target) => Step::Pending(target),
        }
    }

    fn fail(&mut self, (error, text): (ExtendedError, &'static str)) -> Step {
        self.writer.clear_records();
        self.writer.clear_authoritative();
        Step::Done(Verdict::because(Rcode::SERVFAIL, error, text))
    }

    /// ANY: one RRset over UDP, all over TCP (RFC 8482 section 4.1); a CNAME is not followed.
    fn any(&mut self, node: &'a Node) -> Step {
        let all = self.request.transport == Transport::Tcp || self.rules.any == AnyPolicy::Full;
        let flattened = self.any_families(node);
        let is_own = |rtype: Rtype| {
            rtype != Rtype::ALIAS && family_of(rtype).is_none_or(|family| flattened[family as usize].is_none())
        };
        let own = node.rrsets().filter(|one| is_own(one.rtype));
        let smallest = own
            .map(|one| (wire_octets(one.octets(), usize::from(one.count)), one.rtype))
            .chain(flattened.into_iter().flatten().flatten())
            .min();
        let Some((_, least)) = smallest else { return self.deny(Rcode::NOERROR, u32::MAX) };
        for rrset in node.rrsets().filter(|one| is_own(one.rtype) && (all || one.rtype == least)) {
            if self.has_written(rrset) {
                continue;
            }
            if self.put(Section::Answer, rrset).is_err() {
                return self.truncate();
            }
        }
        for family in Family::BOTH.into_iter().filter(|family| all || family.rtype() == least) {
            if let Some(Flattened::Addresses { addresses, ttl, .. }) = self.flattened(node, family, Purpose::Beside)
                && self.put_addresses(Section::Answer, None, family, addresses, ttl).is_err()
            {
                return self.truncate();
            }
        }
        NOERROR
    }

    /// The families that an ALIAS answers, each with its size on the wire if it has addresses.
    fn any_families(&mut self, node: &'a Node) -> [Option<Option<(usize, Rtype)>>; 2] {
        Family::BOTH.map(|family| match self.flattened(node, family, Purpose::Beside)? {
            Flattened::Addresses { addresses, .. } => {
                let count = addresses.count();
                Some(Some((wire_octets(count * (2 + family.octets()), count), family.rtype())))
            }
            Flattened::NoData { .. } | Flattened::ServFail { .. } | Flattened::Pending(_) => Some(None),
        })
    }

    /// NXDOMAIN or NODATA with the SOA, its TTL the lowest of SOA, MINIMUM and `cap` (RFC 2308 section 3).
    #[inline]
    fn deny(&mut self, rcode: Rcode, cap: u32) -> Step {
        let zone = self.zone;
        let Some(soa) = zone.apex_node().rrset(Rtype::SOA) else {
            self.writer.clear_records();
            self.writer.clear_authoritative();
            return Step::Done(Verdict::because(Rcode::SERVFAIL, ExtendedError::INVALID_DATA, "zone has no SOA"));
        };
        let rdata = soa.first();
        let minimum = rdata.last_chunk::<4>().map_or(0, |octets| u32::from_be_bytes(*octets));
        let ttl = soa.ttl.min(minimum).min(cap);
        // As long as no CNAME was followed, the apex is the end of the question.
        let owner = match self.chain {
            0 => Owner::Question(self.names.name.start(zone.apex_labels())),
            _ => Owner::Name(zone.apex().as_wire()),
        };
        let put = self.writer.record(Section::Authority, Record { owner, rtype: Rtype::SOA, ttl, rdata });
        if put.is_err() {
            self.writer.set_truncated();
        }
        Step::Done(Verdict::code(rcode))
    }

    /// A referral: NS, and the glue without which they cannot be reached (RFC 9471 section 3).
    fn refer(&mut self, cut: &'a Node) -> Step {
        let Some(servers) = cut.rrset(Rtype::NS) else { return self.deny(Rcode::NOERROR, u32::MAX) };
        let owner = match self.chain {
            0 => Owner::Question(self.names.name.start(cut.labels())),
            _ => Owner::Name(cut.name()),
        };
        if self.put_as(Section::Authority, owner, servers).is_err() {
            return self.truncate();
        }
        let in_domain = Additional::new(self).glue(servers, cut);
        if in_domain.is_err() {
            return self.truncate();
        }
        NOERROR
    }

    /// A DNAME and the CNAME that it makes (RFC 6672 section 3.1).
    fn redirect(&mut self, node: &'a Node) -> Step {
        let Some(dname) = node.rrset(Rtype::DNAME) else { return self.deny(Rcode::NOERROR, u32::MAX) };
        if self.chain == MAX_CHAIN {
            return NOERROR;
        }
        let owner = self.names.name.hash(node.labels());
        if !self.dnames[..self.chain].contains(&owner)
            && self.put_as(Section::Answer, Owner::Name(node.name()), dname).is_err()
        {
            return self.truncate();
        }
        self.dnames[self.chain] = owner;
        let target = dname.first();
        let above = self.names.name.start(node.labels());
        let mut made = [0_u8; MAX_NAME];
        let length = above + target.len();
        if length > MAX_NAME {
            return Step::Done(Verdict::code(Rcode::YXDOMAIN));
        }
        // The first name keeps the letter case of the question.
        let labels = if self.chain == 0 { self.question.name } else { self.names.name.wire() };
        made[..above].copy_from_slice(&labels[..above]);
        made[above..length].copy_from_slice(target);
        let cname = &made[..length];
        if self.put_record(Section::Answer, Rtype::CNAME, dname.ttl, cname).is_err() {
            return self.truncate();
        }
        self.follow(cname)
    }

    /// Goes on at the target of a CNAME, unless CNAME was what was asked.
    fn follow(&mut self, target: &[u8]) -> Step {
        self.chain += 1;
        if self.question.rtype == Rtype::CNAME || wire_length(target).is_none() {
            return NOERROR;
        }
        self.names.name.load(self.snapshot.key(), target);
        Step::Onward
    }

    /// A needed RRset does not fit (RFC 2181 section 9).
    fn truncate(&mut self) -> Step {
        self.writer.set_truncated();
        NOERROR
    }

    /// Writes an RRset of the current name.
    #[inline]
    fn put(&mut self, section: Section, rrset: RRsetRef<'_>) -> Result<(), Full> {
        if self.chain == 0 {
            return self.put_as(section, Owner::Question(0), rrset);
        }
        put_as(self.writer, self.request, section, Owner::Name(self.names.name.wire()), rrset)
    }

    /// Writes one record of the current name.
    fn put_record(&mut self, section: Section, rtype: Rtype, ttl: u32, rdata: &[u8]) -> Result<(), Full> {
        let owner = if self.chain == 0 { Owner::Question(0) } else { Owner::Name(self.names.name.wire()) };
        self.writer.record(section, Record { owner, rtype, ttl, rdata })
    }

    /// Writes an RRset whole, or nothing of it.
    #[inline]
    pub(super) fn put_as(&mut self, section: Section, owner: Owner<'_>, rrset: RRsetRef<'_>) -> Result<(), Full> {
        put_as(self.writer, self.request, section, owner, rrset)
    }

    /// Writes flattened addresses as an RRset of `owner`, or of the current name.
    pub(super) fn put_addresses(
        &mut self,
        section: Section,
        owner: Option<&[u8]>,
        family: Family,
        addresses: super::flatten::Addresses<'_>,
        ttl: u32,
    ) -> Result<(), Full> {
        let mark = self.writer.mark();
        let owner = match owner {
            Some(name) => Owner::Name(name),
            None if self.chain == 0 => Owner::Question(0),
            None => Owner::Name(self.names.name.wire()),
        };
        let count = addresses.count();
        let first = rotation(self.request, count);
        for index in (first..count).chain(0..first) {
            let Some(rdata) = addresses.get(family, index) else { continue };
            let put = self.writer.record(section, Record { owner, rtype: family.rtype(), ttl, rdata });
            if put.is_err() {
                self.writer.back_to(mark);
                return put;
            }
        }
        Ok(())
    }
}

/// Writes an RRset whole, or nothing of it. Addresses begin at another one for each id, so that clients spread.
#[inline]
fn put_as(
    writer: &mut Writer<'_>,
    request: &Request<'_>,
    section: Section,
    owner: Owner<'_>,
    rrset: RRsetRef<'_>,
) -> Result<(), Full> {
    let RRsetRef { rtype, ttl, count, .. } = rrset;
    if count == 1 {
        return writer.record(section, Record { owner, rtype, ttl, rdata: rrset.first() });
    }
    let mark = writer.mark();
    let first = match rtype {
        Rtype::A | Rtype::AAAA => rotation(request, usize::from(count)),
        _ => 0,
    };
    for rdata in rrset.records().skip(first).chain(rrset.records().take(first)) {
        let put = writer.record(section, Record { owner, rtype, ttl, rdata });
        if put.is_err() {
            writer.back_to(mark);
            return put;
        }
    }
    Ok(())
}

/// Which of so many addresses stands first in the reply.
fn rotation(request: &Request<'_>, count: usize) -> usize {
    let id = request.octets.first_chunk::<2>().map_or(0, |id| u16::from_be_bytes(*id));
    usize::from(id) % count.max(1)
}

/// Octets of an RRset on the wire: RDATA with their lengths as a node counts them, and the rest of each record.
fn wire_octets(data: usize, count: usize) -> usize {
    data + count * (RECORD_OVERHEAD - 2)
}

fn family_of(rtype: Rtype) -> Option<Family> {
    match rtype {
        Rtype::A => Some(Family::A),
        Rtype::AAAA => Some(Family::Aaaa),
        _ => None,
    }
}
