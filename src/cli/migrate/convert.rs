//! What PowerDNS's API tells of a zone, as RRsets of this server; decides what is taken, what is left out, and why. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Taken;
use super::beside::Beside;
use super::compare::Question;
use super::report::{Finding, What};
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::wire::presentation::rdata_from_text;
use crate::wire::rdata::canonical;
use crate::zone::check::{Fault, Severity, check};
use crate::zone::node::RRset;
use crate::zone::serial;

/// Largest TTL (RFC 2181 section 8).
const MAX_TTL: i64 = 0x7fff_ffff;

/// A zone in PowerDNS's list, of which only this is used.
#[derive(Debug, Deserialize)]
pub(super) struct ZoneItem {
    /// The zone in a path.
    pub(super) id: String,
    /// The apex.
    pub(super) name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    dnssec: bool,
}

/// A zone with its records.
#[derive(Debug, Deserialize)]
pub(super) struct ZoneDocument {
    #[serde(default)]
    rrsets: Vec<RRsetDocument>,
    /// The serial that queries see, where SOA-EDIT changes it; else that of the SOA.
    #[serde(default)]
    edited_serial: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct RRsetDocument {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    #[serde(default)]
    ttl: i64,
    #[serde(default)]
    records: Vec<RecordDocument>,
    #[serde(default)]
    comments: Vec<CommentDocument>,
}

#[derive(Debug, Deserialize, Serialize)]
struct RecordDocument {
    content: String,
    #[serde(default)]
    disabled: bool,
}

#[derive(Debug, Deserialize, Serialize)]
struct CommentDocument {
    content: String,
    #[serde(default)]
    account: String,
    #[serde(default)]
    modified_at: u64,
}

/// A row of a zone's metadata.
#[derive(Debug, Deserialize)]
pub(super) struct MetadataDocument {
    kind: String,
    #[serde(default)]
    metadata: Vec<String>,
}

/// What is known of a zone before its records are asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is taken.
    Take(Name),
    /// It is not, and why.
    LeaveOut(String),
}

/// Whether a zone of the list is taken; `unsign` takes signed ones.
pub(super) fn judge(item: &ZoneItem, unsign: bool) -> Verdict {
    let Ok(name) = Name::parse(&item.name) else {
        return Verdict::LeaveOut("its name is no domain name of at most 255 octets".to_owned());
    };
    match item.kind.to_ascii_lowercase().as_str() {
        "slave" | "secondary" => {
            return Verdict::LeaveOut("its content belongs to its primary: take it from there".to_owned());
        }
        "producer" | "consumer" => return Verdict::LeaveOut("catalog zones are not available here".to_owned()),
        _ => {}
    }
    if item.dnssec && !unsign {
        let reason = "it is signed: without signatures resolvers would refuse it as long as its parent has a DS; remove \
                      that, wait for its TTL, and add --unsign";
        return Verdict::LeaveOut(reason.to_owned());
    }
    Verdict::Take(name)
}

/// Metadata that says nothing here: how serials count, and how PowerDNS keeps the zone.
const OWN_METADATA: &[&str] = &["SOA-EDIT", "SOA-EDIT-API", "SOA-EDIT-DNSUPDATE", "API-RECTIFY", "PRESIGNED"];

/// Notes what a zone's metadata asks for and this server does not do.
pub(super) fn metadata(origin: &Name, rows: &[MetadataDocument], findings: &mut Vec<Finding>) {
    for row in rows.iter().filter(|row| !row.metadata.is_empty() && !OWN_METADATA.contains(&row.kind.as_str())) {
        let reason = format!("metadata {} = {} has no counterpart here", row.kind, shown(&row.metadata.join(" ")));
        findings.push(Finding::of_zone(origin, What::NotTaken, reason));
    }
}

/// A text short enough for a sentence.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// An RRset while its parts come together.
struct Building {
    ttl: u32,
    /// By canonical form, in which repeats are equal.
    records: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// The RRsets of a zone. The error is why the zone cannot be served at all.
pub(super) fn zone(origin: &Name, document: ZoneDocument, findings: &mut Vec<Finding>) -> Result<Taken, String> {
    let mut built: BTreeMap<(Vec<u8>, Rtype), (Name, Building)> = BTreeMap::new();
    let (mut keys, mut beside) = (BTreeSet::new(), Vec::new());
    for rrset in document.rrsets {
        let (name, rtype) = match key(origin, &rrset) {
            Ok(key) => key,
            Err(reason) => {
                findings.push(Finding::of(origin, &rrset.name, &rrset.rtype, What::LeftOut, reason));
                continue;
            }
        };
        let find = |what, reason| Finding::of(origin, &name.to_string(), &rrset.rtype, what, reason);
        keys.insert(Question { name: name.clone(), rtype });
        if is_of_signatures(rtype) {
            findings.push(find(What::NotTaken, "signatures and their keys are not taken".to_owned()));
            continue;
        }
        let mut records = BTreeMap::new();
        let mut kept = Vec::new();
        for record in &rrset.records {
            match rdata_from_text(rtype, &record.content, None) {
                Ok(_) if record.disabled => kept.push(record),
                Ok(mut wire) => {
                    kept.push(record);
                    if rtype == Rtype::SOA
                        && let Some(edited) = document.edited_serial.filter(|edited| *edited > 0)
                    {
                        serial::replace(&mut wire, edited);
                    }
                    records.insert(canonical(rtype, &wire), wire);
                }
                Err(reason) => {
                    findings.push(find(What::LeftOut, format!("{reason}: {}", shown(&record.content))));
                }
            }
        }
        if rtype.is_singleton() && records.len() > 1 {
            let many = records.len();
            records = records.into_iter().take(1).collect();
            findings.push(find(What::LeftOut, format!("{many} values where one can be; the first is taken")));
        }
        let is_beside = !rrset.comments.is_empty() || kept.iter().any(|record| record.disabled);
        if is_beside && !kept.is_empty() && rtype != Rtype::SOA {
            let (name, shown) = (name.to_string(), rrset.rtype.clone());
            let patch = json!({"name": name, "type": rrset.rtype, "ttl": rrset.ttl.clamp(0, MAX_TTL), "changetype": "REPLACE",
                "records": kept, "comments": rrset.comments});
            beside.push(Beside { name, rtype: shown, patch });
        }
        if records.is_empty() {
            continue;
        }
        let ttl = if (0..=MAX_TTL).contains(&rrset.ttl) { u32::try_from(rrset.ttl).unwrap_or(0) } else { 0 };
        if i64::from(ttl) != rrset.ttl {
            findings.push(find(What::Changed, format!("TTL {} is read as 0 (RFC 2181 section 8)", rrset.ttl)));
        }
        let sort_key = name.sort_key(origin).unwrap_or_default();
        let (_, building) = built
            .entry((sort_key, rtype))
            .or_insert_with(|| (name.clone(), Building { ttl, records: BTreeMap::new() }));
        building.ttl = building.ttl.min(ttl);
        building.records.extend(records);
    }
    let rrsets: Vec<(Name, RRset)> = built
        .into_iter()
        .map(|((_, rtype), (name, Building { ttl, records }))| {
            (name, RRset { rtype, ttl, records: records.into_values().collect() })
        })
        .collect();
    let rrsets = fitting(origin, rrsets, findings);
    for (rtype, what) in [(Rtype::SOA, "SOA"), (Rtype::NS, "NS")] {
        if !rrsets.iter().any(|(name, rrset)| name == origin && rrset.rtype == rtype) {
            return Err(format!("it has no {what} that is served, so it cannot be one"));
        }
    }
    Ok(Taken { origin: origin.clone(), rrsets, keys, beside })
}

/// Without the RRsets that cannot stand where they are, of which PowerDNS's backends take all.
fn fitting(origin: &Name, mut rrsets: Vec<(Name, RRset)>, findings: &mut Vec<Finding>) -> Vec<(Name, RRset)> {
    loop {
        let mut out: BTreeMap<usize, String> = BTreeMap::new();
        for issue in check(origin, &rrsets).into_iter().filter(|issue| issue.severity() == Severity::Error) {
            let at = |rtype: Rtype| rrsets.iter().position(|(name, rrset)| *name == issue.name && rrset.rtype == rtype);
            let loser = match &issue.fault {
                // The one that redirects all is what most queries get; at an apex nothing can be redirected.
                Fault::CnameBeside(_) if issue.name == *origin => at(Rtype::CNAME),
                Fault::CnameBeside(other) => at(*other),
                // PowerDNS answers with addresses that are there, too.
                Fault::AliasBeside(_) => at(Rtype::ALIAS),
                Fault::NoSoa
                | Fault::SoaBelowApex
                | Fault::SeveralRecords
                | Fault::TooManyRecords(_)
                | Fault::TooManyOctets(_)
                | Fault::TooManyTypes(_)
                | Fault::NoNs
                | Fault::AtWildcard
                | Fault::DnameAtCut
                | Fault::Occluded(..)
                | Fault::NoAddress(_) => issue.rrset,
            };
            out.extend(loser.map(|at| (at, issue.to_string())));
        }
        if out.is_empty() {
            return rrsets;
        }
        for (at, reason) in out.into_iter().rev() {
            let (name, rrset) = rrsets.remove(at);
            let rtype = rrset.rtype.to_string();
            findings.push(Finding::of(origin, &name.to_string(), &rtype, What::LeftOut, reason));
        }
    }
}

/// Name and type of an RRset that can be here.
fn key(origin: &Name, rrset: &RRsetDocument) -> Result<(Name, Rtype), String> {
    let name = Name::parse(&rrset.name).map_err(|error| format!("its name is no domain name: {error}"))?;
    if !name.is_at_or_below(origin) {
        return Err("it is not in its zone, and is never served".to_owned());
    }
    if rrset.rtype.eq_ignore_ascii_case("LUA") {
        return Err("Lua records are programs of PowerDNS: decide what they answer, and write that".to_owned());
    }
    let rtype: Rtype =
        rrset.rtype.parse().map_err(|_| "no record type of the DNS: PowerDNS does not serve it either".to_owned())?;
    if rtype.is_meta() {
        return Err("a type that only messages have".to_owned());
    }
    Ok((name, rtype))
}

/// What the signer of a zone makes, and what stands there for it.
fn is_of_signatures(rtype: Rtype) -> bool {
    // 59 and 60: CDS and CDNSKEY (RFC 7344).
    matches!(rtype, Rtype::RRSIG | Rtype::NSEC | Rtype::NSEC3 | Rtype::NSEC3PARAM | Rtype::DNSKEY | Rtype(59 | 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rrsets: &str) -> (Result<Taken, String>, Vec<Finding>) {
        let text = format!(
            r#"{{"edited_serial": 2026113007, "rrsets": [
              {{"name": "example.com.", "type": "SOA", "ttl": 60, "records": [
                {{"content": "ns1.example.com. hostmaster.example.com. 1 2 3 4 5", "disabled": false}}]}},
              {{"name": "example.com.", "type": "NS", "ttl": 60, "records": [{{"content": "ns1.example.com."}}]}}{rrsets}]}}"#
        );
        let document = serde_json::from_str(&text).expect("a document");
        let mut findings = Vec::new();
        let origin = Name::parse("example.com.").expect("a name");
        let taken = zone(&origin, document, &mut findings);
        (taken, findings)
    }

    #[test]
    fn the_serial_is_the_one_that_queries_see() {
        let (taken, findings) = read("");
        let taken = taken.expect("a zone");
        let soa = &taken.rrsets.iter().find(|(_, rrset)| rrset.rtype == Rtype::SOA).expect("an SOA").1;
        assert_eq!(serial::replace(&mut soa.records[0].clone(), 0), Some(2026113007));
        assert_eq!(findings, []);
    }

    #[test]
    fn what_cannot_be_taken_is_told_with_its_reason_and_the_rest_is_taken() {
        let (taken, findings) = read(
            r#", {"name": "lua.example.com.", "type": "LUA", "ttl": 60, "records": [{"content": "A \"ifportup(443, {})\""}]},
              {"name": "a.example.com.", "type": "A", "ttl": -1, "comments": [{"content": "mine", "account": "al"}],
               "records": [{"content": "192.0.2.1"}, {"content": "192.0.2.2", "disabled": true}, {"content": "no"}]},
              {"name": "a.example.net.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.1"}]},
              {"name": "u.example.com.", "type": "URL", "ttl": 60, "records": [{"content": "http://example.net/"}]},
              {"name": "t.example.com.", "type": "TYPE65300", "ttl": 60, "records": [{"content": "\\# 2 abcd"}]},
              {"name": "l.example.com.", "type": "ALIAS", "ttl": 60, "records": [{"content": "web.example.net."}]},
              {"name": "c.example.com.", "type": "CNAME", "ttl": 60, "records": [{"content": "a.example.com."}]},
              {"name": "c.example.com.", "type": "TXT", "ttl": 60, "records": [{"content": "\"beside\""}]},
              {"name": "s.example.com.", "type": "DNSKEY", "ttl": 60, "records": [{"content": "257 3 13 AAAA"}]}"#,
        );
        let taken = taken.expect("a zone");
        let kept: Vec<String> = taken.rrsets.iter().map(|(name, rrset)| format!("{name} {}", rrset.rtype)).collect();
        assert_eq!(
            kept,
            [
                "example.com. NS",
                "example.com. SOA",
                "a.example.com. A",
                "c.example.com. CNAME",
                "l.example.com. ALIAS",
                "t.example.com. TYPE65300"
            ]
        );
        let beside: Vec<(&str, usize)> = taken
            .beside
            .iter()
            .map(|one| (one.name.as_str(), one.patch["records"].as_array().map_or(0, Vec::len)))
            .collect();
        assert_eq!(beside, [("a.example.com.", 2)], "with its disabled record and its comment");
        let told: Vec<(What, &str)> = findings.iter().map(|finding| (finding.what, finding.name.as_str())).collect();
        assert_eq!(
            told,
            [
                (What::LeftOut, "lua.example.com."),
                (What::LeftOut, "a.example.com."),
                (What::Changed, "a.example.com."),
                (What::LeftOut, "a.example.net."),
                (What::LeftOut, "u.example.com."),
                (What::NotTaken, "s.example.com."),
                (What::LeftOut, "c.example.com."),
            ]
        );
    }

    #[test]
    fn a_zone_without_an_soa_is_no_zone() {
        let origin = Name::parse("example.com.").expect("a name");
        let document = ZoneDocument { rrsets: Vec::new(), edited_serial: None };
        assert!(zone(&origin, document, &mut Vec::new()).expect_err("no zone").contains("SOA"));
    }

    #[test]
    fn secondaries_catalogs_and_signed_zones_stay_where_they_are() {
        let item = |kind: &str, dnssec| ZoneItem {
            id: "example.com.".to_owned(),
            name: "example.com.".to_owned(),
            kind: kind.to_owned(),
            dnssec,
        };
        for (item, unsign, taken) in [
            (item("Native", false), false, true),
            (item("Master", true), false, false),
            (item("Master", true), true, true),
            (item("Slave", false), true, false),
            (item("Producer", false), false, false),
        ] {
            assert_eq!(matches!(judge(&item, unsign), Verdict::Take(_)), taken, "{item:?}");
        }
    }
}
