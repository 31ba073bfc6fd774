//! What each route does, as the document says it: a sentence, the body, what a success looks like, and the codes that
//! this route can refuse with besides those of every route.

use axum::http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::{alias_dry_run, aliases, leases, owners, sweeps, tokens, transfers, write, zones};
use crate::api::json;
use crate::ledger::code::Code;
use crate::zone::file::{self, NoInclude};

/// A route in words.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) body: Option<Sent>,
    pub(super) success: &'static [(u16, Shape)],
    pub(super) codes: &'static [&'static [Code]],
    pub(super) headers: &'static [(&'static str, &'static str)],
}

/// What a response carries.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A schema by its name; none is any object.
    Json(&'static str),
    /// One of two schemas.
    Either(&'static str, &'static str),
    /// A text of a media type.
    Text(&'static str),
    /// The history in one of its three forms.
    Changes,
}

/// What a request carries.
pub(super) struct Sent {
    pub(super) media: &'static str,
    pub(super) schema: &'static str,
    pub(super) required: bool,
    /// An example.
    pub(super) text: &'static str,
    /// Reads the example as the route reads a body, for a test.
    #[cfg_attr(not(test), allow(dead_code, reason = "the test of the examples reads it"))]
    pub(super) reads: fn(&str) -> Result<(), String>,
}

impl Sent {
    pub(super) fn example(&self) -> Value {
        serde_json::from_str(self.text).unwrap_or_else(|_| Value::from(self.text))
    }
}

const fn body(
    schema: &'static str,
    required: bool,
    text: &'static str,
    reads: fn(&str) -> Result<(), String>,
) -> Option<Sent> {
    Some(Sent { media: "application/json", schema, required, text, reads })
}

fn reads<T: DeserializeOwned>(text: &str) -> Result<(), String> {
    json::read::<T>(text.as_bytes()).map(|_| ()).map_err(|refused| refused.document().detail.clone())
}

fn reads_zone(text: &str) -> Result<(), String> {
    file::read(text.as_bytes(), "example", None, &mut NoInclude).map(|_| ()).map_err(|findings| format!("{findings:?}"))
}

/// The operation of a route.
pub(super) fn of(method: &Method, path: &str) -> Option<&'static Operation> {
    ALL.iter().find(|one| one.method == method.as_str() && one.path == path)
}

/// Groups of operations.
pub(super) const TAGS: &[(&str, &str)] = &[
    ("zones", "Zones and zone files."),
    ("records", "Claims: an owner's wishes for record sets."),
    ("owners", "Who owns records, leases, transfers."),
    ("history", "What changed, and its way back."),
    ("findings", "What is odd: conflicts, orphans, flapping, and why a name answers what it answers."),
    ("alias", "ALIAS records and their targets."),
    ("tokens", "API tokens."),
    ("server", "Health, metrics, this document."),
];

const NOT_FOUND: &[Code] = &[Code::NotFound];
/// What can be wrong with an owner that a write names.
const OWNER: &[Code] = &[
    Code::StaleGeneration,
    Code::Fenced,
    Code::OwnerIncarnation,
    Code::OwnerGone,
    Code::OwnerCycle,
    Code::LimitExceeded,
];
/// Conflicts with what others hold.
const CONFLICTS: &[Code] =
    &[Code::OwnedByOther, Code::CnameExclusive, Code::AliasExclusive, Code::ReferencedBy, Code::StaleRevision];
/// What can be wrong with a record.
const RECORD: &[Code] = &[
    Code::InvalidRecord,
    Code::NameOutOfZone,
    Code::EmptyRrset,
    Code::TtlOutOfRange,
    Code::AliasTargetInvalid,
    Code::AliasTargetSpecial,
    Code::AliasMultipleTargets,
    Code::AliasSelf,
    Code::AliasLoop,
    Code::AliasChainTooLong,
    Code::AliasOptionInvalid,
    Code::AliasOptionUnsupported,
    Code::AliasNameServer,
    Code::AliasFallbackDisabled,
    Code::AliasQuotaExceeded,
    Code::AliasTargetDenied,
    Code::AliasTargetUnresolvable,
    Code::Occluded,
];
const GUARD: &[Code] = &[Code::DeleteGuard];

const IF_MATCH: (&str, &str) =
    ("If-Match", "`\"r<revision>\"`: refuse with 412 if the owner changed since it was at this revision.");

const PLAIN: Shape = Shape::Text("text/plain");
const REPORT: &[(u16, Shape)] = &[(200, Shape::Json("Report")), (207, Shape::Json("Report"))];

const SWEPT: &[(u16, Shape)] = &[(200, Shape::Json("Sweep")), (207, Shape::Json("Sweep"))];

const GET: &str = "GET";
const PUT: &str = "PUT";
const POST: &str = "POST";
const PATCH: &str = "PATCH";
const DELETE: &str = "DELETE";
const NONE: Operation = Operation {
    method: GET,
    path: "",
    id: "",
    tag: "server",
    summary: "",
    body: None,
    success: &[],
    codes: &[],
    headers: &[],
};

/// All of them.
pub(super) const ALL: &[Operation] = &[
    Operation {
        path: "/livez",
        id: "getLive",
        summary: "Whether the process is alive.",
        success: &[(200, PLAIN)],
        ..NONE
    },
    Operation {
        path: "/readyz",
        id: "getReady",
        summary: "Whether the server is ready.",
        success: &[(200, PLAIN), (503, PLAIN)],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/config/reload",
        id: "reloadConfiguration",
        summary: "Read the configuration again: what changed, and whether it is in effect or needs a restart.",
        success: &[(200, Shape::Json("Reload"))],
        codes: &[&[Code::NotFound]],
        ..NONE
    },
    Operation {
        path: "/startupz",
        id: "getStarted",
        summary: "Whether the server has started.",
        success: &[(200, PLAIN), (503, PLAIN)],
        ..NONE
    },
    Operation {
        path: "/version",
        id: "getVersion",
        summary: "The version of the server.",
        success: &[(200, Shape::Json("Version"))],
        ..NONE
    },
    Operation {
        path: "/metrics",
        id: "getMetrics",
        summary: "Counters and states in Prometheus text format.",
        success: &[(200, PLAIN)],
        ..NONE
    },
    Operation {
        path: "/v1/openapi.json",
        id: "getOpenApi",
        summary: "This document.",
        success: &[(200, Shape::Json(""))],
        ..NONE
    },
    Operation {
        path: "/v1/zones",
        id: "listZones",
        tag: "zones",
        summary: "Zones.",
        success: &[(200, Shape::Json("Page_Zone"))],
        ..NONE
    },
    Operation {
        path: "/v1/zones/{zone}",
        id: "getZone",
        tag: "zones",
        summary: "A zone.",
        success: &[(200, Shape::Json("Zone"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        method: PUT,
        path: "/v1/zones/{zone}",
        id: "createZone",
        tag: "zones",
        summary: "Makes a zone; it is unchanged if it is there with the same keys.",
        success: &[(200, Shape::Either("Zone", "Report")), (201, Shape::Either("Zone", "Report"))],
        codes: &[OWNER, RECORD, CONFLICTS, &[Code::ZoneExists]],
        body: body(
            "ZoneCreate",
            false,
            r#"{"nameservers": ["ns1.example.net."], "contact": "hostmaster@example.net", "defaultTtl": 300, "owner": "team-a"}"#,
            reads::<zones::CreateFields>,
        ),
        ..NONE
    },
    Operation {
        method: PATCH,
        path: "/v1/zones/{zone}",
        id: "updateZone",
        tag: "zones",
        summary: "Changes keys of a zone.",
        success: &[(200, Shape::Either("Zone", "Report"))],
        codes: &[NOT_FOUND, OWNER, RECORD, CONFLICTS],
        body: body("ZoneUpdate", false, r#"{"defaultTtl": 600}"#, reads::<zones::UpdateFields>),
        ..NONE
    },
    Operation {
        method: DELETE,
        path: "/v1/zones/{zone}",
        id: "deleteZone",
        tag: "zones",
        summary: "Deletes a zone with every claim in it.",
        success: &[(200, Shape::Json("Deleted"))],
        codes: &[NOT_FOUND, CONFLICTS, &[Code::LimitExceeded]],
        ..NONE
    },
    Operation {
        method: PUT,
        path: "/v1/zones/{zone}/zonefile",
        id: "importZone",
        tag: "zones",
        summary: "Makes a zone file the full set of `zone:<zone>`.",
        success: REPORT,
        codes: &[OWNER, RECORD, CONFLICTS, GUARD],
        body: Some(Sent {
            media: "text/dns",
            schema: "",
            required: true,
            text: "$ORIGIN example.com.\n$TTL 300\n@ SOA ns1.example.net. hostmaster 1 10800 3600 604800 3600\n@ NS ns1.example.net.\nwww A 192.0.2.1\n",
            reads: reads_zone,
        }),
        ..NONE
    },
    Operation {
        path: "/v1/zones/{zone}/zonefile",
        id: "exportZone",
        tag: "zones",
        summary: "The zone as it is served, as a file.",
        success: &[(200, Shape::Text("text/dns"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        path: "/v1/zones/{zone}/propagation",
        id: "getPropagation",
        tag: "history",
        summary: "Whether this node serves a revision, after a wait for it.",
        success: &[(200, Shape::Json("Propagation"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        path: "/v1/records",
        id: "listRecords",
        tag: "records",
        summary: "Claims.",
        success: &[(200, Shape::Json("Page_Record"))],
        ..NONE
    },
    Operation {
        path: "/v1/owners/{owner}/records",
        id: "listOwnerRecords",
        tag: "records",
        summary: "Claims of an owner.",
        success: &[(200, Shape::Json("Page_Record"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        method: PUT,
        path: "/v1/owners/{owner}/records",
        id: "applyRecords",
        tag: "records",
        summary: "The body is the full set of the owner: what it claims and does not list is deleted.",
        success: REPORT,
        codes: &[OWNER, RECORD, CONFLICTS, GUARD],
        body: body(
            "Apply",
            true,
            r#"{"generation": 7, "epoch": 3, "uid": "6f1c", "kind": "Gateway", "parent": "k8s:prod/HTTPProxy/shop/web",
                "records": [
                    {"name": "shop.example.com.", "type": "ALIAS", "ttl": 300, "values": ["web.edge.example.net."]},
                    {"name": "www.example.com.", "type": "A", "values": ["192.0.2.1"], "share": true},
                    {"name": "www.example.com.", "type": "TXT", "values": ["v=spf1 -all"], "labels": {"app": "shop"}}]}"#,
            reads::<write::ApplyFields>,
        ),
        headers: &[IF_MATCH],
    },
    Operation {
        method: PATCH,
        path: "/v1/owners/{owner}/records",
        id: "changeRecords",
        tag: "records",
        summary: "Some records of an owner.",
        success: REPORT,
        codes: &[OWNER, RECORD, CONFLICTS],
        body: body(
            "RecordsChange",
            false,
            r#"{"upsert": [{"name": "www.example.com.", "type": "A", "values": ["192.0.2.2"]}],
                "delete": [{"name": "old.example.com.", "type": "CNAME"}]}"#,
            reads::<write::ChangeFields>,
        ),
        headers: &[IF_MATCH],
    },
    Operation {
        method: PUT,
        path: "/v1/owners/{owner}/records/{name}/{type}",
        id: "putRecord",
        tag: "records",
        summary: "One record set of an owner, whole or not at all.",
        success: REPORT,
        codes: &[OWNER, RECORD, CONFLICTS],
        body: body("RecordPut", true, r#"{"ttl": 300, "values": ["192.0.2.1"]}"#, reads::<write::PutFields>),
        headers: &[IF_MATCH],
    },
    Operation {
        method: DELETE,
        path: "/v1/owners/{owner}/records/{name}/{type}",
        id: "deleteRecord",
        tag: "records",
        summary: "Lets go of one record set.",
        success: REPORT,
        codes: &[OWNER, RECORD, CONFLICTS],
        headers: &[IF_MATCH],
        ..NONE
    },
    Operation {
        path: "/v1/owners",
        id: "listOwners",
        tag: "owners",
        summary: "Owners.",
        success: &[(200, Shape::Json("Page_Owner"))],
        ..NONE
    },
    Operation {
        path: "/v1/owners/{owner}",
        id: "getOwner",
        tag: "owners",
        summary: "An owner with its parents and counts.",
        success: &[(200, Shape::Json("Owner"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        method: PUT,
        path: "/v1/owners/{owner}",
        id: "putOwner",
        tag: "owners",
        summary: "Makes an owner or changes it; absent keys stay.",
        success: &[(200, Shape::Either("Owner", "Report")), (201, Shape::Either("Owner", "Report"))],
        codes: &[OWNER, NOT_FOUND],
        body: body(
            "OwnerWrite",
            false,
            r#"{"kind": "Namespace", "labels": {"team": "shop"}, "leaseSeconds": 600, "onExpiry": "report", "graceSeconds": 3600}"#,
            reads::<owners::PutFields>,
        ),
        ..NONE
    },
    Operation {
        method: DELETE,
        path: "/v1/owners/{owner}",
        id: "deleteOwner",
        tag: "owners",
        summary: "Deletes an owner with its claims; an owner never seen is deleted with zeros.",
        success: &[(200, Shape::Json("Deleted"))],
        codes: &[OWNER, CONFLICTS, &[Code::HasChildren]],
        ..NONE
    },
    Operation {
        path: "/v1/changes",
        id: "listChanges",
        tag: "history",
        summary: "The history, as pages, as lines, or as events that go on.",
        success: &[(200, Shape::Changes)],
        codes: &[&[Code::Compacted]],
        headers: &[("Last-Event-ID", "Go on after this event: `revision.item`.")],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/changes/{revision}/revert",
        id: "revertChange",
        tag: "history",
        summary: "Puts back what a revision changed.",
        success: REPORT,
        codes: &[NOT_FOUND, &[Code::Compacted], OWNER, RECORD, CONFLICTS, GUARD],
        ..NONE
    },
    Operation {
        path: "/v1/flaps",
        id: "listFlaps",
        tag: "findings",
        summary: "Record sets that do not come to rest.",
        success: &[(200, Shape::Json("Page_Flap"))],
        ..NONE
    },
    Operation {
        path: "/v1/conflicts",
        id: "listConflicts",
        tag: "findings",
        summary: "Who wants what, and who holds it.",
        success: &[(200, Shape::Json("Page_Conflict"))],
        ..NONE
    },
    Operation {
        path: "/v1/orphans",
        id: "listOrphans",
        tag: "findings",
        summary: "Records that nobody may own any more. A page may be short and not the last.",
        success: &[(200, Shape::Json("Page_Orphan"))],
        ..NONE
    },
    Operation {
        path: "/v1/explain",
        id: "explain",
        tag: "findings",
        summary: "Why a name answers what it answers.",
        success: &[(200, Shape::Json("Explanation"))],
        ..NONE
    },
    Operation {
        path: "/v1/tokens",
        id: "listTokens",
        tag: "tokens",
        summary: "Tokens, without their secrets.",
        success: &[(200, Shape::Json("Page_Token"))],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/tokens",
        id: "createToken",
        tag: "tokens",
        summary: "Makes a token; its text is shown once.",
        success: &[(201, Shape::Json("Token"))],
        codes: &[&[Code::LimitExceeded]],
        body: body(
            "TokenCreate",
            true,
            r#"{"name": "shop", "role": "owner", "owner": "k8s:prod", "names": ["shop.example.com"], "types": ["A", "ALIAS"]}"#,
            reads::<tokens::CreateFields>,
        ),
        ..NONE
    },
    Operation {
        path: "/v1/tokens/{id}",
        id: "getToken",
        tag: "tokens",
        summary: "A token; any token may look at itself.",
        success: &[(200, Shape::Json("Token"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        method: DELETE,
        path: "/v1/tokens/{id}",
        id: "deleteToken",
        tag: "tokens",
        summary: "Deletes a token: it ends at once.",
        success: &[(200, Shape::Json("Deleted"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        path: "/v1/alias-targets",
        id: "listAliasTargets",
        tag: "alias",
        summary: "ALIAS targets, and the records that lead to them.",
        success: &[(200, Shape::Json("Page_AliasTarget"))],
        codes: &[&[Code::LimitExceeded]],
        ..NONE
    },
    Operation {
        path: "/v1/aliases/{name}",
        id: "getAlias",
        tag: "alias",
        summary: "An ALIAS with its target.",
        success: &[(200, Shape::Json("AliasTarget"))],
        codes: &[NOT_FOUND, &[Code::LimitExceeded]],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/alias-targets/refresh",
        id: "refreshAliasTargets",
        tag: "alias",
        summary: "Asks for targets anew.",
        success: &[(202, Shape::Json("Refreshed"))],
        codes: &[NOT_FOUND, &[Code::LimitExceeded]],
        body: body(
            "AliasRefresh",
            true,
            r#"{"targets": ["web-7f9c.edge.example.net."]}"#,
            reads::<aliases::RefreshFields>,
        ),
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/aliases/dry-run",
        id: "tryAlias",
        tag: "alias",
        summary: "What an ALIAS would come to: its target is looked up, and nothing is stored.",
        success: &[(200, Shape::Json("AliasVerdict"))],
        codes: &[NOT_FOUND, RECORD],
        body: body(
            "RecordTrial",
            true,
            r#"{"name": "example.com.", "type": "ALIAS", "values": ["web-7f9c.edge.example.net."], "owner": "team-a"}"#,
            alias_dry_run::reads,
        ),
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/transfers",
        id: "transfer",
        tag: "owners",
        summary: "Gives claims of one owner to another: nothing that is served changes.",
        success: REPORT,
        codes: &[NOT_FOUND, OWNER, CONFLICTS, &[Code::NameOutOfZone]],
        body: body(
            "Transfer",
            true,
            r#"{"from": "zone:example.com.", "to": "team-a", "match": {"zone": "example.com.", "type": "A"}}"#,
            reads::<transfers::TransferFields>,
        ),
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/sweeps",
        id: "sweep",
        tag: "findings",
        summary: "Lists, quarantines or deletes what no living owner has any more.",
        success: SWEPT,
        codes: &[NOT_FOUND, OWNER, CONFLICTS, GUARD],
        body: body(
            "SweepOrder",
            true,
            r#"{"scope": {"owner": "k8s:prod"}, "live": ["k8s:prod/Gateway/shop/web"], "mode": "report"}"#,
            reads::<sweeps::SweepFields>,
        ),
        ..NONE
    },
    Operation {
        path: "/v1/sweeps",
        id: "listSweeps",
        tag: "findings",
        summary: "The sweeps that are kept.",
        success: &[(200, Shape::Json("List_SweepRow"))],
        ..NONE
    },
    Operation {
        path: "/v1/sweeps/{id}",
        id: "getSweep",
        tag: "findings",
        summary: "A sweep.",
        success: &[(200, Shape::Json("SweepRow"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/sweeps/{id}/undo",
        id: "undoSweep",
        tag: "findings",
        summary: "Gives back what a sweep took.",
        success: REPORT,
        codes: &[NOT_FOUND, OWNER, CONFLICTS, RECORD],
        ..NONE
    },
    Operation {
        path: "/v1/owners/{owner}/externaldns",
        id: "getExternalDns",
        tag: "owners",
        summary: "What the external-dns door knows of an owner's client: calls, the last change, holds, waiting records.",
        success: &[(200, Shape::Json("DoorStatus"))],
        codes: &[NOT_FOUND],
        ..NONE
    },
    Operation {
        path: "/v1/plans",
        id: "listPlans",
        tag: "findings",
        summary: "What the plan-only URL of the external-dns door would have done, the newest first.",
        success: &[(200, Shape::Json("List_DoorPlan"))],
        ..NONE
    },
    Operation {
        path: "/v1/holds",
        id: "listHolds",
        tag: "records",
        summary: "Deletes that the brake keeps back.",
        success: &[(200, Shape::Json("List_Hold"))],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/holds/{id}/approve",
        id: "approveHold",
        tag: "records",
        summary: "Does the deletes of a hold.",
        success: REPORT,
        codes: &[NOT_FOUND, OWNER, CONFLICTS],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/holds/{id}/discard",
        id: "discardHold",
        tag: "records",
        summary: "Forgets the deletes of a hold.",
        success: REPORT,
        codes: &[NOT_FOUND, OWNER, CONFLICTS],
        ..NONE
    },
    Operation {
        method: POST,
        path: "/v1/leases/renew",
        id: "renewLeases",
        tag: "owners",
        summary: "Renews the leases of owners and of all below them.",
        success: &[(200, Shape::Json("RenewedLeases"))],
        codes: &[OWNER],
        body: body("LeaseRenewal", true, r#"{"owners": ["k8s:prod"]}"#, reads::<leases::RenewFields>),
        ..NONE
    },
];
