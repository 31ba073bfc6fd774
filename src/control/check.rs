//! What every name of a published zone has to be, whatever decided it: the last look before a commit. Pure.

use crate::ledger::code::Code;
use crate::ledger::report::Problem;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::node::{MAX_RECORDS, MAX_RRSET_OCTETS, MAX_TYPES, RRset, RRsetRef};

/// Whether a name below an apex with these RRsets, each of another type, passes [`name`].
pub fn is_plain(rrsets: &[RRsetRef<'_>]) -> bool {
    let fits = |rrset: &RRsetRef<'_>| match rrset.rtype {
        Rtype::SOA => false,
        Rtype::CNAME if rrsets.len() > 1 => false,
        other => {
            let most = if other.is_singleton() { 1 } else { MAX_RECORDS };
            (1..=most).contains(&usize::from(rrset.count)) && rrset.octets() <= MAX_RRSET_OCTETS
        }
    };
    rrsets.len() <= MAX_TYPES && rrsets.iter().all(fits)
}

/// Whether a name may be served with these RRsets.
pub fn name(name: &Name, rrsets: &[RRset], is_apex: bool) -> Result<(), Problem> {
    let has = |rtype: Rtype| rrsets.iter().any(|rrset| rrset.rtype == rtype);
    if has(Rtype::CNAME) && rrsets.len() > 1 {
        return Err(Problem::new(Code::CnameExclusive, format!("{name} would have a CNAME beside other types")));
    }
    if is_apex && !(has(Rtype::SOA) && has(Rtype::NS)) {
        return Err(Problem::new(Code::InvalidRecord, format!("{name} is an apex, and would be without SOA or NS")));
    }
    if !is_apex && has(Rtype::SOA) {
        return Err(Problem::new(Code::InvalidRecord, format!("{name} is no apex, and would have an SOA")));
    }
    if rrsets.len() > MAX_TYPES {
        return Err(Problem::new(Code::LimitExceeded, format!("{name} would have over {MAX_TYPES} types")));
    }
    for rrset in rrsets {
        if rrset.records.is_empty() || (rrset.rtype.is_singleton() && rrset.records.len() > 1) {
            let detail = format!("{name} would have {} records of type {}", rrset.records.len(), rrset.rtype);
            return Err(Problem::new(Code::InvalidRecord, detail));
        }
        if rrset.records.len() > MAX_RECORDS || rrset.octets() > MAX_RRSET_OCTETS {
            let detail = format!("{name} {} would be too large for an answer", rrset.rtype);
            return Err(Problem::new(Code::LimitExceeded, detail));
        }
    }
    Ok(())
}
