//! The additional section: glue of a referral, and addresses of the names that an answer points to (answers.md L19-L22).

use super::flatten::{Flattened, Purpose};
use super::sections::Answer;
use crate::wire::codes::Rtype;
use crate::wire::name::wire_length;
use crate::wire::rdata::additional_target;
use crate::wire::writer::{Full, Owner, Section};
use crate::zone::alias::Family;
use crate::zone::content::Lookup;
use crate::zone::node::{Flags, Node, RRsetRef};

/// Most names that get their addresses into the additional section of an answer.
const MAX_TARGETS: usize = 13;

/// Whether answers of this type bring addresses along.
#[inline]
pub(super) fn has_additional(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::NS | Rtype::MX | Rtype::SRV | Rtype::SVCB | Rtype::HTTPS)
}

/// Whose glue is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Glue {
    /// Names at or below the cut: needed.
    InDomain,
    /// Other names of the zone: given if they fit.
    Sibling,
}

/// What is added to an answer.
pub(super) struct Additional<'x, 'a, 'b> {
    answer: &'x mut Answer<'a, 'b>,
    /// Hashes of the names that were given already.
    given: [u64; MAX_TARGETS],
    count: usize,
}

impl<'x, 'a, 'b> Additional<'x, 'a, 'b> {
    pub(super) fn new(answer: &'x mut Answer<'a, 'b>) -> Self {
        Additional { answer, given: [0; MAX_TARGETS], count: 0 }
    }

    /// Addresses of the targets of an answered RRset, as far as they fit, from authoritative data of the zone.
    pub(super) fn of(mut self, rrset: RRsetRef<'a>) {
        let zone = self.answer.zone;
        for rdata in rrset.records() {
            let Some(target) = additional_target(rrset.rtype, rdata) else { continue };
            if !self.is_new(target) {
                continue;
            }
            let (Lookup::Exact(node) | Lookup::Wildcard(node)) = zone.lookup(&self.answer.names.target, false) else {
                continue;
            };
            if self.addresses(target, node).is_err() {
                return;
            }
        }
    }

    /// Glue of a referral. `Full` only if glue in the delegated domain does not fit (RFC 9471 section 3.1).
    pub(super) fn glue(mut self, servers: RRsetRef<'a>, cut: &Node) -> Result<(), Full> {
        for kind in [Glue::InDomain, Glue::Sibling] {
            for rdata in servers.records() {
                let written = self.glue_of(rdata, cut, kind);
                match (written, kind) {
                    (Ok(()), _) => {}
                    (Err(Full), Glue::InDomain) => return Err(Full),
                    (Err(Full), Glue::Sibling) => return Ok(()),
                }
            }
        }
        Ok(())
    }

    fn glue_of(&mut self, target: &[u8], cut: &Node, wanted: Glue) -> Result<(), Full> {
        if wire_length(target).is_none() {
            return Ok(());
        }
        let answer = &mut *self.answer;
        let key = answer.snapshot.key();
        answer.names.target.load(key, target);
        let name = &answer.names.target;
        let below_cut = name.labels() >= cut.labels() && name.suffix(cut.labels()) == cut.name();
        let kind = if below_cut { Glue::InDomain } else { Glue::Sibling };
        let zone = answer.zone;
        if kind != wanted || name.labels() < zone.apex_labels() {
            return Ok(());
        }
        // Occluded names count here: glue stands below a cut.
        let Some(node) = zone.occluded(name) else { return Ok(()) };
        for family in Family::BOTH {
            if let Some(rrset) = node.rrset(family.rtype()) {
                answer.put_as(Section::Additional, Owner::Name(target), rrset)?;
            }
        }
        Ok(())
    }

    /// Loads the target, and says whether it is of the zone and was not given yet.
    fn is_new(&mut self, target: &[u8]) -> bool {
        let answer = &mut *self.answer;
        answer.names.target.load(answer.snapshot.key(), target);
        let name = &answer.names.target;
        let labels = answer.zone.apex_labels();
        if name.labels() < labels || name.suffix(labels) != answer.zone.apex().as_wire() {
            return false;
        }
        let hash = name.hash(name.labels());
        if self.count == MAX_TARGETS || self.given[..self.count].contains(&hash) {
            return false;
        }
        self.given[self.count] = hash;
        self.count += 1;
        true
    }

    fn addresses(&mut self, target: &[u8], node: &'a Node) -> Result<(), Full> {
        let answer = &mut *self.answer;
        for family in Family::BOTH {
            let flattened =
                if node.flags().has(Flags::ALIAS) { answer.flattened(node, family, Purpose::Beside) } else { None };
            match flattened {
                Some(Flattened::Addresses { addresses, ttl, .. }) => {
                    answer.put_addresses(Section::Additional, Some(target), family, addresses, ttl)?;
                }
                Some(Flattened::NoData { .. } | Flattened::ServFail { .. } | Flattened::Pending(_)) => {}
                None => {
                    if let Some(rrset) = node.rrset(family.rtype()) {
                        answer.put_as(Section::Additional, Owner::Name(target), rrset)?;
                    }
                }
            }
        }
        Ok(())
    }
}
