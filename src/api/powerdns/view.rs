//! Zones as the door shows them: exactly PowerDNS's keys in alphabetical order, RRsets by name, type and content, within
//! the view of the key.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Ask;
use super::answer::Failure;
use super::content;
use super::fields::zone_id;
use crate::ledger::claim::ClaimState;
use crate::ledger::key::View;
use crate::ledger::owner::OwnerNumber;
use crate::ledger::zone::ZoneRow;
use crate::store::attachments::Attachments;
use crate::store::rows::ClaimFilter;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::alias::AliasRef;
use crate::zone::content::Zone;

/// A zone in a list.
#[derive(Debug, Serialize)]
pub(super) struct ZoneItem {
    account: String,
    catalog: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dnssec: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_serial: Option<u32>,
    id: String,
    kind: String,
    last_check: u32,
    masters: Vec<String>,
    name: String,
    notified_serial: u32,
    serial: u32,
    url: String,
}

/// A zone by itself.
#[derive(Debug, Serialize)]
pub(super) struct ZoneDetail {
    account: String,
    api_rectify: bool,
    catalog: &'static str,
    dnssec: bool,
    edited_serial: u32,
    id: String,
    kind: String,
    last_check: u32,
    master_tsig_key_ids: [u8; 0],
    masters: Vec<String>,
    name: String,
    notified_serial: u32,
    nsec3narrow: bool,
    nsec3param: &'static str,
    record_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rrsets: Option<Vec<RrsetDocument>>,
    serial: u32,
    slave_tsig_key_ids: [u8; 0],
    soa_edit: String,
    soa_edit_api: String,
    url: String,
}

/// An RRset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RrsetDocument {
    pub(super) comments: Vec<CommentDocument>,
    pub(super) name: String,
    pub(super) records: Vec<RecordDocument>,
    pub(super) ttl: u32,
    #[serde(rename = "type")]
    pub(super) rtype: String,
}

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CommentDocument {
    pub(super) account: String,
    pub(super) content: String,
    pub(super) modified_at: u64,
}

/// A record: nothing but these two, since clients compare whole objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct RecordDocument {
    pub(super) content: String,
    pub(super) disabled: bool,
}

/// Path of a zone.
fn url(id: &str) -> String {
    format!("/api/v1/servers/localhost/zones/{id}")
}

/// A zone for a list; `with_keys` says whether what DNSSEC adds is shown.
pub(super) fn item(row: &ZoneRow, serial: u32, with_keys: bool) -> ZoneItem {
    let id = zone_id(&row.name);
    ZoneItem {
        account: row.presented.account.clone(),
        catalog: "",
        dnssec: with_keys.then_some(false),
        edited_serial: with_keys.then_some(serial),
        kind: row.presented.kind.clone(),
        last_check: 0,
        masters: row.presented.masters.clone(),
        name: row.name.to_string(),
        notified_serial: 0,
        serial,
        url: url(&id),
        id,
    }
}

/// A zone by itself.
pub(super) fn detail(row: &ZoneRow, serial: u32, rrsets: Option<Vec<RrsetDocument>>, record_count: u64) -> ZoneDetail {
    let id = zone_id(&row.name);
    ZoneDetail {
        account: row.presented.account.clone(),
        api_rectify: row.presented.api_rectify,
        catalog: "",
        dnssec: false,
        edited_serial: serial,
        kind: row.presented.kind.clone(),
        last_check: 0,
        master_tsig_key_ids: [],
        masters: row.presented.masters.clone(),
        name: row.name.to_string(),
        notified_serial: 0,
        nsec3narrow: false,
        nsec3param: "",
        record_count,
        rrsets,
        serial,
        slave_tsig_key_ids: [],
        soa_edit: row.presented.soa_edit.clone(),
        soa_edit_api: row.presented.soa_edit_api.clone(),
        url: url(&id),
        id,
    }
}

/// Which RRsets of a zone are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) name: Option<Name>,
    pub(super) rtype: Option<Rtype>,
    /// Whether values that are not served are shown.
    pub(super) disabled: bool,
}

impl Wanted {
    fn has(&self, name: &Name, rtype: Rtype) -> bool {
        self.name.as_ref().is_none_or(|one| one == name) && self.rtype.is_none_or(|one| one == rtype)
    }
}

type Sets = BTreeMap<(String, Rtype), (Name, u32, Vec<Vec<u8>>)>;

/// The RRsets of a zone within the key's view.
pub(super) async fn rrsets(ask: &Ask, zone: &Zone, wanted: &Wanted) -> Result<Vec<RrsetDocument>, Failure> {
    let apex = zone.apex();
    let attachments = ask.state.reader.attachments(apex).await?;
    let own = ask.state.reader.owner(&ask.key.owner).await?.map(|owner| owner.owner.number);
    let sets = match ask.key.settings.view {
        View::All => served(zone, wanted),
        View::Own => held(ask, zone, wanted).await?,
    };
    let sees = |owner: OwnerNumber| match ask.key.settings.view {
        View::All => true,
        View::Own => Some(owner) == own,
    };
    let mut all: BTreeMap<(String, Rtype), RrsetDocument> = BTreeMap::new();
    for ((text, rtype), (name, ttl, records)) in sets {
        let spelled = own.and_then(|own| attachments.get(&(name, rtype, own))).map(|one| one.written.as_slice());
        let mut records: Vec<RecordDocument> = records
            .iter()
            .map(|rdata| RecordDocument { content: spelling(spelled, rtype, rdata), disabled: false })
            .collect();
        records.sort();
        let set = RrsetDocument { comments: Vec::new(), name: text.clone(), records, ttl, rtype: rtype.to_string() };
        all.insert((text, rtype), set);
    }
    attach(&mut all, attachments, wanted, sees);
    Ok(all.into_values().collect())
}

/// Adds comments and values that are not served.
fn attach(
    all: &mut BTreeMap<(String, Rtype), RrsetDocument>,
    attachments: Attachments,
    wanted: &Wanted,
    sees: impl Fn(OwnerNumber) -> bool,
) {
    for ((name, rtype, owner), one) in attachments {
        let has_disabled = wanted.disabled && !one.disabled.is_empty();
        if !sees(owner) || !wanted.has(&name, rtype) || (one.comments.is_empty() && !has_disabled) {
            continue;
        }
        let text = name.to_string();
        let set = all.entry((text.clone(), rtype)).or_insert_with(|| RrsetDocument {
            comments: Vec::new(),
            name: text,
            records: Vec::new(),
            ttl: one.ttl,
            rtype: rtype.to_string(),
        });
        for comment in one.comments {
            let (account, content) = (comment.account, comment.content);
            set.comments.push(CommentDocument { account, content, modified_at: comment.modified });
        }
        if has_disabled {
            let values = one.disabled.iter();
            let shown = values.map(|rdata| spelling(Some(&one.written), rtype, rdata));
            set.records.extend(shown.map(|content| RecordDocument { content, disabled: true }));
        }
        set.comments.sort_by(|left, right| left.content.cmp(&right.content));
        set.records.sort();
    }
}

fn spelling(written: Option<&[(Vec<u8>, String)]>, rtype: Rtype, rdata: &[u8]) -> String {
    let own = written.into_iter().flatten().find(|(one, _)| one == rdata).map(|(_, text)| text.clone());
    own.unwrap_or_else(|| content::show(rtype, rdata))
}

/// All that is served, as one Snapshot has it.
fn served(zone: &Zone, wanted: &Wanted) -> Sets {
    let mut sets = Sets::new();
    let mut add = |node: &crate::zone::node::Node| {
        let Ok(name) = Name::from_wire(node.name()) else { return };
        for rrset in node.rrsets().filter(|rrset| wanted.has(&name, rrset.rtype)) {
            let records = rrset.records().map(|rdata| plain(rrset.rtype, rdata)).collect();
            sets.insert((name.to_string(), rrset.rtype), (name.clone(), rrset.ttl, records));
        }
    };
    match &wanted.name {
        Some(name) => zone.node(name).into_iter().for_each(&mut add),
        None => zone.nodes().for_each(&mut add),
    }
    sets
}

/// RDATA as a client has it: of a published ALIAS the target alone.
fn plain(rtype: Rtype, rdata: &[u8]) -> Vec<u8> {
    match rtype {
        Rtype::ALIAS => AliasRef::decode(rdata).map_or_else(|| rdata.to_vec(), |alias| alias.target.to_vec()),
        _ => rdata.to_vec(),
    }
}

/// What the key's owner holds, with SOA and NS of the apex.
async fn held(ask: &Ask, zone: &Zone, wanted: &Wanted) -> Result<Sets, Failure> {
    let apex = zone.apex().clone();
    let filter = ClaimFilter {
        zone: Some(apex.clone()),
        owner: Some(ask.key.owner.clone()),
        state: Some(ClaimState::Held),
        name: wanted.name.clone(),
        rtype: wanted.rtype,
        ..ClaimFilter::default()
    };
    let mut sets = Sets::new();
    for row in ask.state.reader.claims(&filter).await?.items {
        let claim = row.claim;
        let is_of_apex = claim.name == apex && matches!(claim.rtype, Rtype::SOA | Rtype::NS);
        if !is_of_apex {
            let key = (claim.name.to_string(), claim.rtype);
            let set = sets.entry(key).or_insert((claim.name, claim.ttl, Vec::new()));
            set.2.extend(claim.records);
        }
    }
    // The serial stands in what is served alone.
    let at_apex = served(zone, &Wanted { name: Some(apex), ..wanted.clone() });
    let is_wanted = |name: &Name| wanted.name.as_ref().is_none_or(|one| one == name);
    sets.extend(
        at_apex
            .into_iter()
            .filter(|((_, rtype), (name, _, _))| matches!(*rtype, Rtype::SOA | Rtype::NS) && is_wanted(name)),
    );
    Ok(sets)
}
