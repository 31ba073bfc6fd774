//! Values of ledger and store as the documents of the API.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::documents::{
    AliasOptionsDocument, CountsDocument, DeletedDocument, DoorTermsDocument, DoorUseDocument, HolderDocument,
    ItemDocument, LeaseDocument, OwnerDocument, PromotedDocument, PromotedOwner, RecordDocument, ReportDocument,
    SourceDocument, SummaryDocument, TokenDocument, TtlPolicyDocument, WarningDocument, ZoneDocument,
};
use super::findings::DanglingDocument;
use super::keys::KeyDocument;
use crate::ledger::actor::{Door, NameLimit, Role, TokenDoor};
use crate::ledger::alias_options::AliasOptions;
use crate::ledger::code::Code;
use crate::ledger::command::OnConflict;
use crate::ledger::external_dns::{Adopting, Brake, Sharing};
use crate::ledger::lease::{Lease, LeaseStage};
use crate::ledger::owner::{OwnerId, Source};
use crate::ledger::report::{Dangling, Holder, Item, ItemOutcome, Promoted, Report, Summary, Warning};
use crate::ledger::zone::ZoneRow;
use crate::store::rows::{ClaimRow, OwnerSummary, TokenRow};
use crate::wire::codes::Rtype;
use crate::wire::name::{Name, wire_length};
use crate::wire::presentation;
use crate::zone::alias::Moment;
use crate::zone::policy::Internal;

/// A moment as RFC 3339 in UTC, whole seconds.
pub fn moment(moment: Moment) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(moment.0)).unwrap_or(SystemTime::UNIX_EPOCH);
    // Years over 9999 have no RFC 3339 form, and the formatter panics at them.
    const LAST: u64 = 253_402_300_799_000;
    if moment.0 > LAST {
        "9999-12-31T23:59:59Z".to_owned()
    } else {
        humantime::format_rfc3339_seconds(time).to_string()
    }
}

/// The form with U-labels, where it differs from the presentation form.
pub fn unicode(name: &Name) -> Option<String> {
    let unicode = name.to_unicode();
    (unicode != name.to_string()).then_some(unicode)
}

/// Records as presentation text.
pub fn values(rtype: Rtype, records: &[Vec<u8>]) -> Vec<String> {
    records.iter().map(|record| presentation::rdata_to_text(rtype, record)).collect()
}

/// A zone; `records` is how many it serves.
pub fn zone(row: &ZoneRow, records: u64) -> ZoneDocument {
    ZoneDocument {
        name: row.name.to_string(),
        unicode: unicode(&row.name),
        owner: row.owner.as_str().to_owned(),
        serial: row.serial,
        default_ttl: row.default_ttl,
        nameservers: row.nameservers.iter().map(Name::to_string).collect(),
        contact: row.contact.clone(),
        upstream_group: row.upstream_group.clone(),
        record_count: records,
        created_at: moment(row.created),
        revision: row.revision,
        outcome: None,
    }
}

fn source(source: &Source) -> SourceDocument {
    SourceDocument {
        cluster: source.cluster.clone(),
        namespace: source.namespace.clone(),
        kind: source.kind.clone(),
        name: source.name.clone(),
        uid: source.uid.clone(),
    }
}

/// Ids of owners.
pub fn owner_ids(owners: &[OwnerId]) -> Vec<String> {
    owners.iter().map(|owner| owner.as_str().to_owned()).collect()
}

/// An owner with what stands around it.
pub fn owner(summary: &OwnerSummary) -> OwnerDocument {
    let owner = &summary.owner;
    OwnerDocument {
        id: owner.id.as_str().to_owned(),
        kind: owner.kind.clone(),
        uid: owner.uid.clone(),
        parents: owner_ids(&summary.parents),
        source: owner.source.as_ref().map(source),
        labels: owner.labels.clone(),
        state: owner.state.text().to_owned(),
        generation: owner.generation,
        epoch: owner.epoch,
        lease: owner.lease.as_ref().map(lease),
        children: summary.children,
        claims: CountsDocument {
            held: summary.claims.held,
            queued: summary.claims.queued,
            quarantined: summary.claims.quarantined,
        },
        external_dns: owner
            .external_dns
            .as_ref()
            .map(|door| DoorUseDocument { txt_owner_id: door.txt_owner_id.clone() }),
        created_at: moment(owner.created),
        asserted_at: moment(owner.asserted),
        revision: owner.revision,
        outcome: None,
    }
}

fn lease(lease: &Lease) -> LeaseDocument {
    LeaseDocument {
        lease_seconds: lease.seconds,
        on_expiry: lease.on_expiry.text().to_owned(),
        grace_seconds: lease.grace,
        expires_at: moment(lease.expires),
        expired_at: match lease.stage {
            LeaseStage::Running => None,
            LeaseStage::Expired(at) | LeaseStage::Settled(at) => Some(moment(at)),
        },
    }
}

/// Options of an ALIAS.
pub fn alias_options(options: AliasOptions) -> AliasOptionsDocument {
    let mut families = Vec::with_capacity(2);
    if options.a {
        families.push("A".to_owned());
    }
    if options.aaaa {
        families.push("AAAA".to_owned());
    }
    let policy = options.policy;
    AliasOptionsDocument {
        families,
        static_mode: options.static_mode.text().to_owned(),
        ttl_policy: TtlPolicyDocument {
            mode: policy.ttl.text().to_owned(),
            min_seconds: u32::from(policy.hold.min),
            max_seconds: policy.hold.max,
        },
        max_addresses: u32::from(policy.max_addresses),
        on_nxdomain: policy.on_nxdomain.text().to_owned(),
        on_failure: policy.on_failure.text().to_owned(),
        max_stale_seconds: policy.max_stale_seconds,
        quarantine_after_seconds: options.quarantine_after,
        upstream_group: options.upstream_group.map(|group| group.as_str().to_owned()),
        allow_private: policy.internal == Internal::Kept,
    }
}

/// An SOA with the serial that is served (RFC 1035 section 3.3.13: two names, then the serial).
fn with_serial(soa: &[u8], serial: u32) -> Option<Vec<u8>> {
    let first = wire_length(soa)?;
    let at = first + wire_length(soa.get(first..)?)?;
    let mut out = soa.to_vec();
    out.get_mut(at..at + 4)?.copy_from_slice(&serial.to_be_bytes());
    Some(out)
}

/// A claim. `serial` is that of its zone, which stands in no claim.
pub fn record(row: &ClaimRow, serial: Option<u32>) -> RecordDocument {
    let claim = &row.claim;
    let soa = (claim.rtype == Rtype::SOA).then(|| with_serial(claim.records.first()?, serial?)).flatten();
    RecordDocument {
        zone: row.zone.to_string(),
        name: claim.name.to_string(),
        unicode: unicode(&claim.name),
        rtype: claim.rtype.to_string(),
        ttl: claim.ttl,
        values: soa.map_or_else(|| values(claim.rtype, &claim.records), |soa| values(Rtype::SOA, &[soa])),
        owner: claim.owner_id.as_str().to_owned(),
        set_id: (!claim.set_id.is_empty()).then(|| claim.set_id.clone()),
        state: claim.state.text().to_owned(),
        share: claim.share,
        alias: claim.alias.map(alias_options),
        labels: claim.labels.clone(),
        asserted_at: moment(claim.asserted),
        created_at: moment(claim.created),
        revision: claim.revision,
    }
}

/// A token without its secret.
pub fn token(row: &TokenRow) -> TokenDocument {
    let (role, owner) = role(&row.role);
    TokenDocument {
        id: row.id.clone(),
        name: row.name.clone(),
        role: role.to_owned(),
        owner,
        zones: row.limits.zones.clone(),
        names: row.limits.names.iter().map(name_limit).collect(),
        types: row.limits.types.iter().map(Rtype::to_string).collect(),
        door: door(row.key.is_some(), row.limits.door).map(str::to_owned),
        external_dns: door_terms(row.limits.door),
        created_at: Some(moment(row.created)),
        expires_at: row.expires.map(moment),
        token: None,
        key: row.key.as_deref().map(KeyDocument::of),
    }
}

/// The word of the door that keys are for.
pub const POWERDNS: &str = "powerdns";

/// The word of the door that a token opens; a key opens that of PowerDNS.
pub fn door(is_key: bool, door: TokenDoor) -> Option<&'static str> {
    match door {
        TokenDoor::ExternalDns(_) => Some(Door::ExternalDns.text()),
        TokenDoor::Native => is_key.then_some(POWERDNS),
    }
}

/// How clients of the external-dns door work with a token.
pub fn door_terms(door: TokenDoor) -> Option<DoorTermsDocument> {
    match door {
        TokenDoor::Native => None,
        TokenDoor::ExternalDns(terms) => Some(DoorTermsDocument {
            on_conflict: match terms.on_conflict {
                OnConflict::Queue => "queue".to_owned(),
                OnConflict::Reject => "reject".to_owned(),
            },
            share: terms.sharing == Sharing::Shared,
            adopt_equal: terms.adopting == Adopting::Equal,
            ttl_min: terms.ttl_min,
            ttl_max: terms.ttl_max,
            brake: match terms.brake {
                Brake::Off => json!(false),
                Brake::On { min, percent, last } => json!({ "min": min, "percent": percent, "last": last }),
            },
        }),
    }
}

/// The word of a role, and its root owner.
pub fn role(role: &Role) -> (&'static str, Option<String>) {
    match role {
        Role::Admin => ("admin", None),
        Role::Owner(owner) => ("owner", Some(owner.as_str().to_owned())),
        Role::Read => ("read", None),
    }
}

/// A limit on names as it is written: with a dot in front if it is only what is below.
pub fn name_limit(limit: &NameLimit) -> String {
    match limit {
        NameLimit::AtOrBelow(name) => name.to_string(),
        NameLimit::Below(name) => format!(".{name}"),
    }
}

/// Who stands in the way.
pub fn holder(holder: &Holder) -> HolderDocument {
    HolderDocument {
        owner: holder.owner.as_str().to_owned(),
        kind: holder.kind.clone(),
        parents: owner_ids(&holder.parents),
        since: moment(holder.since),
    }
}

/// What the caller of a conflict can ask for instead.
pub fn actions(code: Code) -> Vec<String> {
    match code {
        Code::OwnedByOther | Code::CnameExclusive | Code::AliasExclusive => vec!["queue".to_owned()],
        _ => Vec::new(),
    }
}

/// One item; `asker` is the owner that the request names, which is not repeated.
pub fn item(item: &Item, asker: Option<&OwnerId>) -> ItemDocument {
    let problem = item.problem.as_ref();
    ItemDocument {
        zone: item.zone.as_ref().map(Name::to_string),
        name: item.name.clone(),
        // Only A-labels and escapes can have another form.
        unicode: (item.name.contains("xn--")).then(|| Name::parse(&item.name).ok()).flatten().and_then(|n| unicode(&n)),
        rtype: item.rtype.clone(),
        set_id: (!item.set_id.is_empty()).then(|| item.set_id.clone()),
        owner: asker.is_none_or(|asker| *asker != item.owner).then(|| item.owner.as_str().to_owned()),
        outcome: item.outcome.text().to_owned(),
        code: problem.map(|problem| problem.code.text().to_owned()),
        detail: problem.map(|problem| problem.detail.clone()),
        holder: problem.and_then(|problem| problem.holder.as_ref()).map(holder),
        actions: problem.map(|problem| actions(problem.code)).unwrap_or_default(),
        promoted: item.promoted.as_ref().map(|owner| PromotedOwner { owner: owner.as_str().to_owned() }),
    }
}

/// Items by outcome.
pub fn summary(summary: &Summary) -> SummaryDocument {
    SummaryDocument {
        created: summary.count(ItemOutcome::Created),
        updated: summary.count(ItemOutcome::Updated),
        unchanged: summary.count(ItemOutcome::Unchanged),
        deleted: summary.count(ItemOutcome::Deleted),
        queued: summary.count(ItemOutcome::Queued),
        conflict: summary.count(ItemOutcome::Conflict),
        invalid: summary.count(ItemOutcome::Invalid),
        held: summary.count(ItemOutcome::Held),
        quarantined: summary.count(ItemOutcome::Quarantined),
        absorbed: summary.count(ItemOutcome::Absorbed),
    }
}

/// A claim that moved up.
pub fn promoted(promoted: &Promoted) -> PromotedDocument {
    PromotedDocument {
        zone: promoted.zone.to_string(),
        name: promoted.name.to_string(),
        rtype: promoted.rtype.clone(),
        owner: promoted.owner.as_str().to_owned(),
    }
}

fn warning(warning: &Warning) -> WarningDocument {
    WarningDocument {
        name: warning.name.to_string(),
        rtype: warning.rtype.clone(),
        code: warning.code.to_owned(),
        detail: warning.detail.clone(),
    }
}

/// What came of a write of the owner `asker`.
pub fn report(report: &Report, asker: Option<&OwnerId>, dry_run: bool) -> ReportDocument {
    ReportDocument {
        revision: report.revision,
        dry_run,
        outcome: report.subject.map(|outcome| outcome.text().to_owned()),
        summary: summary(&report.summary),
        results: report.results.iter().map(|one| item(one, asker)).collect(),
        promoted: report.promoted.iter().map(promoted).collect(),
        serials: report.serials.iter().map(|(zone, serial)| (zone.to_string(), *serial)).collect(),
        warnings: report.warnings.iter().map(warning).collect(),
        dangling: dangling(&report.dangling),
        more_dangling: report.more_dangling,
        file_warnings: Vec::new(),
    }
}

/// What came of a deletion.
pub fn deleted(report: &Report, dry_run: bool) -> DeletedDocument {
    DeletedDocument {
        revision: report.revision,
        dry_run,
        outcome: report.subject.map(|outcome| outcome.text().to_owned()),
        owners_deleted: report.owners_deleted.len() as u64,
        owners: owner_ids(&report.owners_deleted),
        summary: summary(&report.summary),
        records: report.results.iter().map(|one| item(one, None)).collect(),
        promoted: report.promoted.iter().map(promoted).collect(),
        serials: report.serials.iter().map(|(zone, serial)| (zone.to_string(), *serial)).collect(),
        warnings: report.warnings.iter().map(warning).collect(),
        dangling: dangling(&report.dangling),
        more_dangling: report.more_dangling,
    }
}

/// What points at nothing.
pub fn dangling(rows: &[Dangling]) -> Vec<DanglingDocument> {
    let row = |one: &Dangling| DanglingDocument {
        zone: one.zone.to_string(),
        name: one.name.to_string(),
        rtype: one.rtype.to_string(),
        set_id: (!one.set_id.is_empty()).then(|| one.set_id.clone()),
        owner: one.owner.as_str().to_owned(),
        target: one.target.to_string(),
    };
    rows.iter().map(row).collect()
}

/// A claim of the history with its data as values; anything else, and what cannot be read, as it stands.
pub fn history(rtype: &str, stored: Option<&str>) -> Value {
    let Some(mut value) = stored.and_then(|text| serde_json::from_str::<Value>(text).ok()) else { return Value::Null };
    let data = value.get("data").and_then(Value::as_str).and_then(records_of);
    if let (Ok(rtype), Some(records), Some(object)) = (rtype.parse::<Rtype>(), data, value.as_object_mut()) {
        object.remove("data");
        object.insert("values".to_owned(), json!(values(rtype, &records)));
    }
    value
}

/// Records of a hexadecimal text in which each has its length in two octets before it, the lower first.
pub fn records_of(hexadecimal: &str) -> Option<Vec<Vec<u8>>> {
    let octets: Vec<u8> = (0..hexadecimal.len())
        .step_by(2)
        .map(|at| hexadecimal.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect::<Option<_>>()?;
    let mut records = Vec::new();
    let mut rest = &octets[..];
    while !rest.is_empty() {
        let (length, after) = rest.split_at_checked(2)?;
        let (record, after) = after.split_at_checked(usize::from(u16::from_le_bytes([length[0], length[1]])))?;
        records.push(record.to_vec());
        rest = after;
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_shows_values_and_not_octets() {
        let shown = history("A", Some(r#"{"state":"held","ttl":300,"data":"0400C00002010400C0000202"}"#));
        assert_eq!(shown["values"], json!(["192.0.2.1", "192.0.2.2"]));
        assert_eq!(shown.get("data"), None);
        assert_eq!(history("A", None), Value::Null);
        assert_eq!(history("zone", Some(r#"{"owner":"a"}"#)), json!({"owner": "a"}));
        assert_eq!(history("A", Some(r#"{"data":"zz"}"#)), json!({"data": "zz"}), "what cannot be read stays");
    }

    #[test]
    fn a_moment_is_shown_in_utc_and_the_farthest_one_is_no_fault() {
        assert_eq!(moment(Moment(0)), "1970-01-01T00:00:00Z");
        assert_eq!(moment(Moment(u64::MAX)), "9999-12-31T23:59:59Z");
    }
}
