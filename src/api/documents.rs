//! The documents of the API as values: what handlers write and the command line reads (ownership.md sections 3, 4, 6).
//! Keys are camelCase; times are RFC 3339 in UTC; names are in presentation form with their final dot.

pub use super::keys::TokenDocument;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::findings::DanglingDocument;
pub use super::token_documents::{DoorTermsDocument, DoorUseDocument};

/// Labels of an owner or a claim.
pub type LabelsDocument = BTreeMap<String, String>;

/// Every list: the revision it was read at, and its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    /// The revision.
    pub revision: u64,
    /// The rows.
    pub items: Vec<T>,
}

/// Which program answers (operations.md section 3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionDocument {
    /// `tenured`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A zone (ownership.md section 3.5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDocument {
    /// The apex.
    pub name: String,
    /// The apex with U-labels, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
    /// Its owner.
    pub owner: String,
    /// Serial of the SOA as served.
    pub serial: u32,
    /// Seconds.
    pub default_ttl: u32,
    /// Name servers it was made with.
    pub nameservers: Vec<String>,
    /// Contact it was made with.
    pub contact: String,
    /// Upstream group of its ALIAS records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_group: Option<String>,
    /// Records served.
    pub record_count: u64,
    /// When it was made.
    pub created_at: String,
    /// The revision that last changed it.
    pub revision: u64,
    /// What a write came to: `created`, `updated`, `unchanged`; absent in a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// What an owner is a projection of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceDocument {
    /// The cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The namespace in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The kind of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// Claims of an owner by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountsDocument {
    /// Served.
    pub held: u64,
    /// Waiting.
    pub queued: u64,
    /// Kept aside.
    pub quarantined: u64,
}

/// An owner (ownership.md section 1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerDocument {
    /// Its id.
    pub id: String,
    /// Kind of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its incarnation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The owners above it, nearest first.
    pub parents: Vec<String>,
    /// What it is a projection of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: LabelsDocument,
    /// `active`, `expired`, `deleting`.
    pub state: String,
    /// Highest generation applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Highest epoch seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseDocument>,
    /// How many owners are right below it.
    pub children: u64,
    /// Its claims.
    pub claims: CountsDocument,
    /// Its use of the external-dns door.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_dns: Option<DoorUseDocument>,
    /// When it was made.
    pub created_at: String,
    /// When it last wrote.
    pub asserted_at: String,
    /// The revision that last changed it.
    pub revision: u64,
    /// What a write came to; absent in a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// The lease of an owner (ownership.md section 3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseDocument {
    /// How long a write or a renewal lasts.
    pub lease_seconds: u64,
    /// `report`, `quarantine`, `delete`.
    pub on_expiry: String,
    /// Seconds between the end and the policy.
    pub grace_seconds: u64,
    /// When it ends or ended.
    pub expires_at: String,
    /// When it was found to have run out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired_at: Option<String>,
}

/// A lease that was renewed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenewedDocument {
    /// Whose.
    pub owner: String,
    /// When it ends now.
    pub expires_at: String,
}

/// What came of a renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenewedLeases {
    /// The revision.
    pub revision: u64,
    /// True if nothing was done and this is what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The leases of the owners named and of those below them.
    pub renewed: Vec<RenewedDocument>,
    /// Owners that are not there.
    pub unknown: Vec<String>,
}

/// Options of an ALIAS that are in effect (alias.md section 1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AliasOptionsDocument {
    /// `A`, `AAAA`.
    pub families: Vec<String>,
    /// `reject`, `override` or `fallback`.
    #[serde(rename = "static")]
    pub static_mode: String,
    /// How the TTL follows from that of the target.
    pub ttl_policy: TtlPolicyDocument,
    /// Of a family.
    pub max_addresses: u32,
    /// `nodata`, `servfail`, `stale`, `fallback` or `quarantine`.
    pub on_nxdomain: String,
    /// `servfail`, `nodata` or `fallback`.
    pub on_failure: String,
    /// Counted from the expiry of the last good answer.
    pub max_stale_seconds: u32,
    /// With `onNxdomain` `quarantine`.
    pub quarantine_after_seconds: u32,
    /// Who is asked for the target; null means the zone's group.
    pub upstream_group: Option<String>,
    /// Whether internal addresses are served.
    pub allow_private: bool,
}

/// See [`AliasOptionsDocument`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TtlPolicyDocument {
    /// `smooth`, `strict`, `fixed` or `override`.
    pub mode: String,
    /// Shortest hold.
    pub min_seconds: u32,
    /// Longest hold.
    pub max_seconds: u32,
}

/// A claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordDocument {
    /// Apex of its zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The name with U-labels, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Seconds.
    pub ttl: u32,
    /// Presentation form.
    pub values: Vec<String>,
    /// The owner.
    pub owner: String,
    /// Tells claims of one owner for one RRset apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_id: Option<String>,
    /// `held`, `queued`, `quarantined`.
    pub state: String,
    /// Whether it may stand beside other owners' claims.
    #[serde(default)]
    pub share: bool,
    /// Options of an ALIAS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<AliasOptionsDocument>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: LabelsDocument,
    /// When its owner last asked for it.
    pub asserted_at: String,
    /// When it was made.
    pub created_at: String,
    /// The revision that last changed it.
    pub revision: u64,
}

/// A row of the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeDocument {
    /// The revision of the request.
    pub revision: u64,
    /// When.
    pub at: String,
    /// Token id.
    pub actor: String,
    /// Whose claim.
    pub owner: String,
    /// Request id.
    pub request_id: String,
    /// The door.
    pub door: String,
    /// The zone's apex; empty for changes of no zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The type, or `zone`, `owner`, `token`.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Before; null if it was not there.
    pub before: Value,
    /// After; null if it is gone.
    pub after: Value,
}

/// Who stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderDocument {
    /// The owner.
    pub owner: String,
    /// Its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The owners above it, nearest first.
    #[serde(default)]
    pub parents: Vec<String>,
    /// Since when it holds.
    pub since: String,
}

/// A record by name and type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordKeyDocument {
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
}

/// Whose claim moved up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromotedOwner {
    /// The owner.
    pub owner: String,
}

/// What came of one record of a write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemDocument {
    /// Apex of its zone, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The name.
    pub name: String,
    /// The name with U-labels, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// The set id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_id: Option<String>,
    /// The owner, where it is not the one of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The outcome's word.
    pub outcome: String,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// One sentence that says what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Who stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<HolderDocument>,
    /// What the caller can ask for instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Whose queued claim is served now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted: Option<PromotedOwner>,
}

/// Items by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct SummaryDocument {
    /// New.
    pub created: u64,
    /// With another value than before.
    pub updated: u64,
    /// As before.
    pub unchanged: u64,
    /// Gone.
    pub deleted: u64,
    /// Waiting for the holder.
    pub queued: u64,
    /// In another's way.
    pub conflict: u64,
    /// No record that can be served.
    pub invalid: u64,
    /// Held by the delete brake.
    pub held: u64,
    /// Kept aside.
    #[serde(skip_serializing_if = "is_nothing")]
    pub quarantined: u64,
    /// Registry TXT records of external-dns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub absorbed: u64,
}

fn is_nothing(count: &u64) -> bool {
    *count == 0
}

/// Something in effect and odd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WarningDocument {
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// A stable word.
    pub code: String,
    /// One sentence.
    pub detail: String,
}

/// A claim that moved up from the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromotedDocument {
    /// Apex of the zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// Whose claim is served now.
    pub owner: String,
}

/// What came of a write (ownership.md section 3.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportDocument {
    /// The revision.
    pub revision: u64,
    /// True if nothing was done and this is what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// What came of the zone, owner or token that the request names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Items by outcome.
    #[serde(default)]
    pub summary: SummaryDocument,
    /// The items.
    #[serde(default)]
    pub results: Vec<ItemDocument>,
    /// Claims that moved up, besides those named by `results`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<PromotedDocument>,
    /// New serials by zone.
    #[serde(default)]
    pub serials: BTreeMap<String, u32>,
    /// Warnings.
    #[serde(default)]
    pub warnings: Vec<WarningDocument>,
    /// Record sets that point at nothing now, the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangling: Vec<DanglingDocument>,
    /// Whether there are more of those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_dangling: bool,
    /// What is odd in a zone file, by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_warnings: Vec<ErrorDocument>,
}

/// What came of deleting an owner or a zone (ownership.md section 3.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedDocument {
    /// The revision.
    pub revision: u64,
    /// True if nothing was done and this is what would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// `deleted` or `unchanged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// How many owners were deleted.
    pub owners_deleted: u64,
    /// Which.
    #[serde(default)]
    pub owners: Vec<String>,
    /// Records by outcome.
    #[serde(default)]
    pub summary: SummaryDocument,
    /// Claims deleted, each with its owner; of a zone the first 10,000.
    pub records: Vec<ItemDocument>,
    /// Claims that moved up.
    pub promoted: Vec<PromotedDocument>,
    /// New serials by zone.
    pub serials: BTreeMap<String, u32>,
    /// Warnings.
    #[serde(default)]
    pub warnings: Vec<WarningDocument>,
    /// Record sets that point at nothing now, the first 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangling: Vec<DanglingDocument>,
    /// Whether there are more of those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more_dangling: bool,
}

/// One thing wrong with a body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDocument {
    /// Where in a JSON body (RFC 6901).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Line of a zone file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The code.
    pub code: String,
    /// One sentence.
    pub detail: String,
}

/// `application/problem+json` (RFC 9457; ownership.md section 6).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProblemDocument {
    /// The status in words.
    #[serde(default)]
    pub title: String,
    /// The status.
    #[serde(default)]
    pub status: u16,
    /// A stable word.
    #[serde(default)]
    pub code: String,
    /// One sentence that says what to do.
    #[serde(default)]
    pub detail: String,
    /// The record in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordKeyDocument>,
    /// Who stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<HolderDocument>,
    /// What the caller can ask for instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Each thing wrong with the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorDocument>,
    /// Of a write that was all or nothing, the items that were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ItemDocument>,
    /// Of `referenced_by`, what would point at nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangling: Vec<DanglingDocument>,
    /// Of an ALIAS whose walk does not end, its steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// Deletes that the brake keeps back (external-dns.md section 11).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldDocument {
    /// Its id.
    pub id: String,
    /// Whose records.
    pub owner: String,
    /// When it was made.
    pub since: String,
    /// How many claims the owner had then.
    pub claims: u64,
    /// What would go.
    pub deletes: Vec<RecordKeyDocument>,
}

/// What is known of one family of an ALIAS target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FamilyDocument {
    /// The state's word.
    pub state: String,
    /// Addresses served now.
    pub addresses: Vec<String>,
    /// Addresses of the last good answer.
    pub last_addresses: Vec<String>,
    /// How long the last lookup took; of targets outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_millis: Option<u32>,
}

/// An ALIAS record as it stands with its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AliasRecordDocument {
    /// Apex of its zone.
    pub zone: String,
    /// The name.
    pub name: String,
    /// The name with U-labels, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
    /// The target as written.
    pub target: String,
    /// The owner.
    pub owner: String,
    /// The owners above it, nearest first.
    pub parents: Vec<String>,
    /// The record's state.
    pub state: String,
    /// Since when.
    pub since: Option<String>,
    /// `fresh`, `stale`, `static`, `fallback`, `nodata`, `servfail`, `pending`: the best of its families.
    pub serving: String,
    /// TTL of an answer given now, in seconds.
    pub effective_ttl_seconds: u32,
    /// `alias`, `chain`, `target`, `stale`, `deadTarget`, `policy`.
    pub ttl_limited_by: String,
    /// Until when a stale answer may be served.
    pub stale_until: Option<String>,
    /// What is served, by family.
    pub families: BTreeMap<String, FamilyDocument>,
}

/// An ALIAS target (alias.md section 9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AliasTargetDocument {
    /// The target: where the walk through the zones here ends.
    pub target: String,
    /// Group of the upstreams that it is asked of; null if a zone here has it.
    pub upstream_group: Option<String>,
    /// Its state.
    pub state: String,
    /// Since when.
    pub since: Option<String>,
    /// When the last good answer came.
    pub last_ok_at: Option<String>,
    /// When it was last asked.
    pub checked_at: Option<String>,
    /// When it is asked next.
    pub next_refresh_at: Option<String>,
    /// What the last lookup brought, if it was no answer.
    pub last_error: Option<String>,
    /// Who looked, and whom it asked last.
    pub vantage: Option<String>,
    /// When its addresses last became others.
    pub addresses_changed_at: Option<String>,
    /// Where CNAMEs led from it in the last answer.
    pub chain: Vec<String>,
    /// Whether it is gone, and its domain may be free to register.
    pub takeover_risk: bool,
    /// By family.
    pub families: BTreeMap<String, FamilyDocument>,
    /// The records that lead to it.
    pub records: Vec<AliasRecordDocument>,
}

/// What an ALIAS would come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AliasVerdictDocument {
    /// `ok` or `refused`.
    pub verdict: String,
    /// Why it is refused.
    pub errors: Vec<ErrorDocument>,
    /// What is odd.
    pub warnings: Vec<WarningDocument>,
    /// Of a walk that does not end, its steps.
    pub path: Vec<String>,
    /// Where the walk through the zones here ends.
    pub leads_to: String,
    /// Group of the upstreams that are asked; null if a zone here has the name.
    pub upstream_group: Option<String>,
    /// The names behind it that lie in zones here.
    pub chain: Vec<String>,
    /// The record's state.
    pub state: String,
    /// What a query would get, as in lists of targets.
    pub serving: String,
    /// TTL of an answer given now, in seconds.
    pub effective_ttl_seconds: u32,
    /// What keeps it down, as in lists of targets.
    pub ttl_limited_by: String,
    /// By family.
    pub families: BTreeMap<String, FamilyDocument>,
}

/// What became of a request to ask targets anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefreshedDocument {
    /// Targets that are asked now, or as soon as two seconds have passed since they last were.
    pub accepted: u64,
    /// Targets that are being asked, or are about to be.
    pub coalesced: u64,
}

/// A step of an explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepDocument {
    /// A stable word: `zone`, `wildcard`, `cut`, `cname`, `dname`, `alias`, `found`, `nodata`, `nxdomain`, `noZone`,
    /// `outside`, `chain`.
    pub step: String,
    /// One sentence.
    pub detail: String,
}

/// The answer as served now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnswerDocument {
    /// The response code.
    pub rcode: String,
    /// `name ttl type data`.
    pub records: Vec<String>,
}

/// A claim that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedDocument {
    /// Whose.
    pub owner: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// What would be served.
    pub values: Vec<String>,
    /// Since when.
    pub since: String,
}

/// Why a name answers what it answers (ownership.md section 4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationDocument {
    /// The revision that is served.
    pub revision: u64,
    /// The name.
    pub name: String,
    /// The name with U-labels, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// One sentence.
    pub verdict: String,
    /// How it comes to that.
    pub steps: Vec<StepDocument>,
    /// What is served now.
    pub answer: AnswerDocument,
    /// Whose record decides.
    pub holder: Option<HolderDocument>,
    /// Who waits for it.
    pub queued: Vec<QueuedDocument>,
    /// The last changes of the name, oldest first.
    pub changes: Vec<ChangeDocument>,
    /// How the record set flaps; null if it does not.
    #[serde(default)]
    pub flapping: Option<super::findings::FlapDocument>,
    /// How the record that decides is an orphan; null if it is none.
    #[serde(default)]
    pub orphan: Option<super::findings::OrphanDocument>,
    /// Until when a resolver may still hold that the name or type is not there (RFC 2308 section 5); null if none can.
    #[serde(default)]
    pub negative_until: Option<String>,
}
