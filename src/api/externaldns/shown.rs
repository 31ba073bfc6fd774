//! Claims as endpoints of the protocol.

use super::wire::{Endpoint, Property};
use crate::ledger::claim::Claim;
use crate::ledger::external_dns::{ALIAS, OWN_LABELS, OWNER, SHARE, TARGETS, presented};
use crate::wire::codes::Rtype;
use crate::wire::presentation;

/// The property that makes a CNAME an ALIAS.
pub(super) const ALIAS_PROPERTY: &str = "alias";
/// The property that lets a record stand beside those of other owners.
pub(super) const SHARE_PROPERTY: &str = "webhook/share";

/// A held claim as its owner sees it.
pub(super) fn endpoint(claim: &Claim, txt_owner: &str) -> Endpoint {
    let is_own = |key: &str| key.starts_with(OWN_LABELS) || key == OWNER;
    let labels = claim.labels.iter().filter(|(key, _)| !is_own(key));
    let mut labels: std::collections::BTreeMap<String, String> =
        labels.map(|(key, value)| (key.clone(), value.clone())).collect();
    labels.insert(OWNER.to_owned(), txt_owner.to_owned());
    let property = |name: &str, kept: &str| {
        let value = claim.labels.get(kept)?.clone();
        Some(Property { name: name.to_owned(), value })
    };
    let kept: Option<Vec<String>> = claim.labels.get(TARGETS).and_then(|text| serde_json::from_str(text).ok());
    Endpoint {
        dns_name: plain(&claim.name.to_string()),
        targets: kept.unwrap_or_else(|| targets(claim.rtype, &claim.records)),
        record_type: presented(claim.rtype).to_string(),
        set_identifier: claim.set_id.clone(),
        record_ttl: i64::from(claim.ttl),
        labels,
        provider_specific: [property(ALIAS_PROPERTY, ALIAS), property(SHARE_PROPERTY, SHARE)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// A name without its final dot.
pub(super) fn plain(name: &str) -> String {
    name.strip_suffix('.').filter(|rest| !rest.is_empty()).unwrap_or(name).to_owned()
}

/// Whether the values of a type end with a name whose final dot the protocol leaves out.
pub(super) fn ends_plain(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::CNAME | Rtype::ALIAS | Rtype::DNAME | Rtype::NS | Rtype::PTR | Rtype::MX)
}

/// Records as targets, where nothing is known of how the client wrote them.
pub(super) fn targets(rtype: Rtype, records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|record| target(rtype, record)).collect()
}

fn target(rtype: Rtype, record: &[u8]) -> String {
    if rtype == Rtype::TXT
        && let Some((length, text)) = record.split_first()
        && usize::from(*length) == text.len()
        && let Ok(text) = std::str::from_utf8(text)
        && !text.trim_start().starts_with('"')
        && !text.trim_start().starts_with("\\#")
    {
        return text.to_owned();
    }
    let text = presentation::rdata_to_text(rtype, record);
    if ends_plain(rtype) { plain(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_written_as_clients_write_them() {
        let of = |rtype: Rtype, text: &str| {
            let record = presentation::rdata_from_text(rtype, text, None).expect(text);
            targets(rtype, &[record]).remove(0)
        };
        assert_eq!(of(Rtype::CNAME, "edge.example.net."), "edge.example.net");
        assert_eq!(of(Rtype::MX, "10 mail.example.net."), "10 mail.example.net");
        assert_eq!(of(Rtype::SRV, "0 5 443 srv.example.net."), "0 5 443 srv.example.net.");
        assert_eq!(of(Rtype::AAAA, "2001:DB8:0::1"), "2001:db8::1");
        assert_eq!(of(Rtype::TXT, "\"v=spf1 -all\""), "v=spf1 -all");
        assert_eq!(of(Rtype::TXT, "\"one\" \"two\""), "\"one\" \"two\"");
    }
}
