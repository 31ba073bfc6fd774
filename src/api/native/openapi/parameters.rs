//! Parameters and headers of requests: their schemas and what they mean. Each name is described once; the few that mean
//! another thing on another path say so by the path.

use axum::http::Method;
use serde_json::{Value, json};

use super::operations::Operation;
use crate::api::call::Route;
use crate::api::paging::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::control::once::MAX_KEY;
use crate::ledger::claim::ClaimState;
use crate::ledger::limits::MAX_OWNER_ID;
use crate::ledger::owner::OwnerState;
use crate::zone::alias::{AliasState, RecordState};

/// The parameters of a route: of the path, of the query, headers.
pub(super) fn of(route: &Route, operation: &Operation) -> Vec<Value> {
    let mut out = Vec::new();
    for name in route.path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
        let (schema, about) = in_path(route.path, name);
        out.push(json!({"name": name, "in": "path", "required": true, "description": about, "schema": schema}));
    }
    for name in route.parameters {
        let (schema, about) = in_query(route.path, name);
        let mut one = json!({"name": name, "in": "query", "description": about, "schema": schema});
        if route.repeated.contains(name) {
            one["schema"] = json!({"type": "array", "items": one["schema"].clone()});
            one["explode"] = json!(true);
        }
        if *name == "name" && route.path == "/v1/explain" {
            one["required"] = json!(true);
        }
        out.push(one);
    }
    for (name, about) in operation.headers {
        out.push(json!({"name": name, "in": "header", "description": about, "schema": header_schema(name)}));
    }
    if route.method == Method::POST {
        let about =
            "Does the request once: a repeat within 24 hours gets the first response, with `Idempotent-Replayed`.";
        let schema = json!({"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[!-~]+$"});
        out.push(json!({"name": "Idempotency-Key", "in": "header", "description": about, "schema": schema}));
    }
    if route.method == Method::GET && route.path.starts_with("/v1/") && route.path != "/v1/openapi.json" {
        let about = "ETags of what the caller has: 304 if it is still so.";
        out.push(json!({"name": "If-None-Match", "in": "header", "description": about, "schema": {"type": "string"}}));
    }
    out
}

fn header_schema(name: &str) -> Value {
    match name {
        "If-Match" => json!({"type": "string", "pattern": "^\"r[0-9]{1,19}\"$", "examples": ["\"r1200\""]}),
        "Last-Event-ID" => {
            json!({"type": "string", "pattern": "^[0-9]{1,18}(\\.[0-9]{1,9})?$", "examples": ["1200.3"]})
        }
        _ => json!({"type": "string"}),
    }
}

fn name_schema(example: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 1024, "examples": [example]})
}

fn owner_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_OWNER_ID, "examples": ["k8s:prod/Gateway/shop/web"]})
}

/// Of a query, where an empty value counts as absent.
fn name_filter(example: &str) -> Value {
    json!({"type": "string", "maxLength": 1024, "examples": [example]})
}

fn owner_filter() -> Value {
    json!({"type": "string", "maxLength": MAX_OWNER_ID, "examples": ["k8s:prod/Gateway/shop/web"]})
}

fn in_path(path: &str, name: &str) -> (Value, &'static str) {
    match (path, name) {
        (_, "zone") => (name_schema("example.com."), "Apex of the zone."),
        ("/v1/aliases/{name}", "name") => (name_schema("shop.example.com."), "Name of the ALIAS."),
        (_, "name") => (
            name_schema("www.example.com."),
            "The name: absolute with or without its final dot, or relative to the parameter `zone`; escapes and U-labels are taken.",
        ),
        (_, "type") => (
            json!({"type": "string", "minLength": 1, "maxLength": 64, "examples": ["A"]}),
            "The type: a mnemonic, `ALIAS`, or `TYPEn` (RFC 3597).",
        ),
        (_, "owner") => (owner_schema(), "Id of the owner, percent-encoded."),
        (_, "revision") => {
            (json!({"type": "integer", "minimum": 0, "maximum": i64::MAX, "examples": [12]}), "The revision to undo.")
        }
        ("/v1/tokens/{id}", _) => {
            (json!({"type": "string", "minLength": 1, "examples": ["00112233aabb"]}), "Id of the token.")
        }
        (_, _) => (json!({"type": "string", "minLength": 1, "examples": ["1"]}), "Its id, as the list gives it."),
    }
}

fn words(words: Vec<&str>) -> Value {
    json!({"type": "string", "enum": words})
}

fn in_query(path: &str, name: &str) -> (Value, &'static str) {
    let flag = |default: bool| json!({"type": "boolean", "default": default});
    let number = || json!({"type": "integer", "minimum": 0, "maximum": u64::MAX});
    let text = || json!({"type": "string"});
    let time = || json!({"type": "string", "examples": ["24h"]});
    match (path, name) {
        (_, "limit") => (
            json!({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}),
            "Most rows of the page.",
        ),
        (_, "continue") => (json!({"type": "string"}), "What the page before gave as `continue`, for the same list."),
        (_, "last") => {
            (json!({"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}), "So many rows, the newest, on one page.")
        }
        (_, "dryRun") => (flag(false), "Say what would come of it, and do nothing."),
        (_, "targetCheck") => (
            words(vec!["off", "warn", "require"]),
            "Whether new targets of ALIAS records are looked up before the write, and whether one without addresses refuses it.",
        ),
        (_, "refs") => (
            words(vec!["report", "block"]),
            "What becomes of a write that leaves names pointing at nothing: `block` refuses it.",
        ),
        ("/v1/zones/{zone}/propagation", "wait") => {
            (json!({"type": "string", "examples": ["10s"]}), "How long to wait for the revision, up to 25 s.")
        }
        (_, "wait") => {
            (words(vec!["none", "resolved"]), "Whether the response waits, up to 2 s, until new targets are resolved.")
        }
        (_, "prune") => (flag(true), "Delete what the owner claims and the body does not list."),
        (_, "atomic") => (flag(false), "One refused item refuses all."),
        (_, "onConflict") => (words(vec!["reject", "queue"]), "What to do with a record that another owner holds."),
        (_, "maxDeletes") => (number(), "Let so many records be deleted, however many the owner has."),
        (_, "setId") => (text(), "Tells claims of one owner for one record set apart."),
        (_, "quarantine") => (flag(false), "Keep the claims for 7 days, not served, instead of deleting them."),
        (_, "cascade") => (flag(false), "Delete the owners below it, too."),
        (_, "records") => {
            (words(vec!["delete", "release"]), "What becomes of its claims; `release` gives them to the owner of `to`.")
        }
        (_, "to") => (owner_filter(), "Who has the claims then; with `records=release`."),
        (_, "uid") => (text(), "The incarnation that is meant."),
        (_, "epoch") => (number(), "The epoch of the caller; a lower one than the owner has seen is refused."),
        (_, "since") => (number(), "Only changes after this revision."),
        (_, "revision") => (number(), "The revision asked for; by default the newest."),
        (_, "actor") => (text(), "Only changes by the token with this id."),
        (_, "match") => (name_filter("www.example.com."), "The zone with the longest match for this name alone."),
        (_, "parent") => (owner_filter(), "Only owners right below this one."),
        (_, "source.cluster") => (text(), "Only owners whose source is in this cluster."),
        (_, "labels") => (
            json!({"type": "string", "pattern": "^([^=,]+=[^,]*)(,[^=,]+=[^,]*)*$", "examples": ["app=shop,tier=web"]}),
            "Only claims with all of these labels.",
        ),
        (_, "olderThan") => (time(), "Only those that are so for longer than this."),
        (_, "target") => (name_filter("shop.example.net."), "Only this target."),
        (_, "reason") => (
            words(vec!["ownerExpired", "ownerUnconfirmed", "targetNxdomain", "unclaimed"]),
            "Only for these reasons; by default all but `unclaimed`.",
        ),
        (_, "verbose") => (flag(false), "With stages, alarms and numbers."),
        (_, "alias") => (
            words(vec!["alias", "aname", "generic", "addresses"]),
            "How ALIAS records are written; `addresses` writes the A and AAAA that they come to now.",
        ),
        ("/v1/owners", "state") => {
            (words(OwnerState::ALL.iter().map(|state| state.text()).collect()), "Only owners in this state.")
        }
        ("/v1/alias-targets", "state") => {
            let of_records = [RecordState::NoAddresses, RecordState::Partial].map(|state| state.text());
            let known = AliasState::ALL.iter().map(|state| state.text()).chain(of_records).collect();
            (words(known), "Only targets in one of these states, or with a record in one.")
        }
        (_, "state") => {
            (words(ClaimState::ALL.iter().map(|state| state.text()).collect()), "Only claims in this state.")
        }
        ("/v1/zones/{zone}/zonefile", "owner") => (owner_filter(), "Owner of the zone, if the import makes it."),
        (_, "owner") => (owner_filter(), "Only of this owner."),
        ("/v1/owners/{owner}/records/{name}/{type}", "zone") => {
            (name_filter("example.com."), "The zone of the name; then the name may be relative to it.")
        }
        (_, "zone") => (name_filter("example.com."), "Only in this zone."),
        ("/v1/explain", "name") => (name_filter("www.example.com."), "The name to explain."),
        (_, "name") => (name_filter("www.example.com."), "Only at this name."),
        ("/v1/explain", "type") => (json!({"type": "string", "default": "A"}), "The type that is asked for."),
        (_, "type") => (json!({"type": "string", "examples": ["A"]}), "Only of this type."),
        // A parameter that nobody described; a test tells.
        (_, _) => (json!({}), ""),
    }
}
