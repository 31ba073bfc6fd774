//! An answer as it is compared: response code, who speaks, and records in canonical form. Pure.

use std::collections::BTreeSet;

use domain::base::iana::Rtype as KnownType;
use domain::base::rdata::ComposeRecordData as _;
use domain::base::{Message, ParsedName, Record};
use domain::rdata::AllRecordData;

use crate::wire::codes::{Rcode, Rtype};
use crate::wire::name::Name;
use crate::wire::presentation::rdata_to_text;

/// A record of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Answered {
    /// The name.
    pub(super) name: Name,
    /// The type.
    pub(super) rtype: Rtype,
    /// Seconds.
    pub(super) ttl: u32,
    /// RDATA, uncompressed and in canonical form (RFC 4034 section 6.2).
    pub(super) rdata: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The response code.
    pub(super) rcode: Rcode,
    /// AA (RFC 1035 section 4.1.1).
    pub(super) authoritative: bool,
    /// The answer section.
    pub(super) records: BTreeSet<Answered>,
    /// NS of the authority section, in an answer that has nothing else: a referral.
    pub(super) referral: BTreeSet<Answered>,
}

/// Whether a message was cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// All of it.
    Whole(Answer),
    /// It says that there is more over TCP.
    Cut,
}

/// Reads a message; the error is why it is none.
pub(super) fn read(octets: &[u8]) -> Result<Read, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("a reply that is no message: {what}");
    let message = Message::from_octets(octets).map_err(|error| wrong(&error))?;
    if message.header().tc() {
        return Ok(Read::Cut);
    }
    let (_, answer, authority, _) = message.sections().map_err(|error| wrong(&error))?;
    let mut sections = [BTreeSet::new(), BTreeSet::new()];
    for (out, section) in sections.iter_mut().zip([answer, authority]) {
        for record in section {
            let record = record.map_err(|error| wrong(&error))?;
            // Signatures are not asked for; a server that sends them anyway is compared without.
            if matches!(record.rtype(), KnownType::RRSIG | KnownType::OPT) {
                continue;
            }
            let record: Record<ParsedName<_>, AllRecordData<_, ParsedName<_>>> =
                record.into_any_record().map_err(|error| wrong(&error))?;
            let mut rdata = Vec::new();
            record.data().compose_canonical_rdata(&mut rdata).map_err(|_| wrong(&"RDATA"))?;
            let name = Name::parse(&format!("{}.", record.owner())).map_err(|error| wrong(&error))?;
            out.insert(Answered { name, rtype: Rtype(record.rtype().to_int()), ttl: record.ttl().as_secs(), rdata });
        }
    }
    let [records, mut referral] = sections;
    referral.retain(|record| record.rtype == Rtype::NS && records.is_empty() && !message.header().aa());
    Ok(Read::Whole(Answer {
        rcode: Rcode(message.opt_rcode().to_int()),
        authoritative: message.header().aa(),
        records,
        referral,
    }))
}

impl Answer {
    /// In a few words.
    pub(super) fn text(&self) -> String {
        let records = if self.records.is_empty() { &self.referral } else { &self.records };
        let mut out = domain::base::iana::OptRcode::masked_from_int(self.rcode.0).to_string();
        if !self.referral.is_empty() {
            out.push_str(" referral");
        }
        for record in records.iter().take(4) {
            let data = rdata_to_text(record.rtype, &record.rdata);
            let data: String = data.chars().take(60).collect();
            out.push_str(&format!("\n{} {} {data}", record.ttl, record.rtype));
        }
        if records.len() > 4 {
            out.push_str(&format!("\n… {} records", records.len()));
        }
        out
    }
}
