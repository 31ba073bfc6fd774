//! Schemas of bodies: made of the types that read and write them, with words and bounds of the code put in.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::super::{aliases, fields, leases, owners, sweeps, tokens, transfers, write, zones};
use crate::api::documents as shown;
use crate::api::door_documents;
use crate::api::findings;
use crate::api::paging::PageDocument;
use crate::ledger::actor::Door;
use crate::ledger::alias_options::{ADDRESSES, MAX_SECONDS, MAX_STALE, MIN_SECONDS, QUARANTINE_AFTER, StaticMode};
use crate::ledger::claim::ClaimState;
use crate::ledger::code::Code;
use crate::ledger::lease::OnExpiry;
use crate::ledger::limits::{MAX_LABELS, MAX_OWNER_ID, MAX_RECORDS, MAX_TEXT, MAX_TTL};
use crate::ledger::owner::OwnerState;
use crate::ledger::report::ItemOutcome;
use crate::zone::node::MAX_RECORDS as MAX_VALUES;
use crate::zone::policy::{OnFailure, OnNxdomain, TtlMode};

/// Codes of problems that no command brings about: those of the way of a request.
const OTHER_CODES: [&str; 3] = ["internal", "method_not_allowed", "timed_out"];

/// A reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// All schemas by name.
pub(super) fn all() -> Map<String, Value> {
    let mut found = BTreeMap::new();
    bodies(&mut found);
    documents(&mut found);
    let mut all: Map<String, Value> = Map::new();
    for (name, mut schema) in found {
        refine(&mut schema);
        all.insert(short(&name), schema);
    }
    all.insert("AliasOptionsWrite".to_owned(), alias_options());
    for (schema, key, words) in words() {
        set(&mut all, schema, key, "enum", json!(words));
    }
    for (schema, key, bound, value) in bounds() {
        set(&mut all, schema, key, bound, value);
    }
    for schema in ["RecordWrite", "RecordPut"] {
        let options = json!({"oneOf": [{"type": "null"}, reference("AliasOptionsWrite")]});
        if let Some(alias) = all.get_mut(schema).and_then(|schema| schema["properties"].get_mut("alias")) {
            *alias = options;
        }
    }
    let mut trial = all.get("RecordWrite").cloned().unwrap_or_default();
    let owner =
        json!({"type": ["string", "null"], "description": "Who would hold it; by default the owner of its zone."});
    trial["properties"]["owner"] = owner;
    trial["description"] = json!("A record that is tried, and for whom.");
    all.insert("RecordTrial".to_owned(), trial);
    all
}

fn add<T: ToSchema>(found: &mut BTreeMap<String, Value>) {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    for (name, schema) in schemas {
        let schema = serde_json::to_value(schema).expect("a schema has string keys only");
        found.insert(name, schema);
    }
}

/// A list and its rows; its name is made of both.
fn add_list<T: ToSchema, L: ToSchema>(kind: &str, found: &mut BTreeMap<String, Value>) {
    add::<T>(found);
    let schema = serde_json::to_value(L::schema()).expect("a schema has string keys only");
    found.insert(format!("{kind}_{}", T::name()), schema);
}

fn bodies(found: &mut BTreeMap<String, Value>) {
    add::<write::ApplyFields>(found);
    add::<write::ChangeFields>(found);
    add::<write::PutFields>(found);
    add::<fields::RecordFields>(found);
    add::<owners::PutFields>(found);
    add::<zones::CreateFields>(found);
    add::<zones::UpdateFields>(found);
    add::<tokens::CreateFields>(found);
    add::<leases::RenewFields>(found);
    add::<transfers::TransferFields>(found);
    add::<sweeps::SweepFields>(found);
    add::<aliases::RefreshFields>(found);
}

fn documents(found: &mut BTreeMap<String, Value>) {
    add::<shown::VersionDocument>(found);
    add::<crate::api::reload::ReloadDocument>(found);
    add::<shown::ReportDocument>(found);
    add::<shown::DeletedDocument>(found);
    add::<shown::ProblemDocument>(found);
    add::<shown::RenewedLeases>(found);
    add::<shown::ExplanationDocument>(found);
    add::<door_documents::StatusDocument>(found);
    add_list::<door_documents::PlanDocument, shown::List<door_documents::PlanDocument>>("List", found);
    add_list::<shown::HoldDocument, shown::List<shown::HoldDocument>>("List", found);
    add::<findings::PropagationDocument>(found);
    add::<findings::SweepDocument>(found);
    add::<shown::AliasVerdictDocument>(found);
    add::<shown::RefreshedDocument>(found);
    add_list::<findings::SweepRowDocument, shown::List<findings::SweepRowDocument>>("List", found);
    add_list::<shown::ZoneDocument, PageDocument<shown::ZoneDocument>>("Page", found);
    add_list::<shown::OwnerDocument, PageDocument<shown::OwnerDocument>>("Page", found);
    add_list::<shown::RecordDocument, PageDocument<shown::RecordDocument>>("Page", found);
    add_list::<shown::ChangeDocument, PageDocument<shown::ChangeDocument>>("Page", found);
    add_list::<shown::TokenDocument, PageDocument<shown::TokenDocument>>("Page", found);
    add_list::<shown::AliasTargetDocument, PageDocument<shown::AliasTargetDocument>>("Page", found);
    add_list::<findings::ConflictDocument, PageDocument<findings::ConflictDocument>>("Page", found);
    add_list::<findings::FlapDocument, PageDocument<findings::FlapDocument>>("Page", found);
    add_list::<findings::OrphanDocument, PageDocument<findings::OrphanDocument>>("Page", found);
}

/// The name of a type without what only Rust needs. Labels are the one map that has a name.
fn short(name: &str) -> String {
    name.replace("BTreeMap", "Labels").replace("Document", "")
}

/// A sentence of the code without the place where its rule is written.
fn without_source(text: &str) -> String {
    match (text.find(" ("), text.find(".md section"), text.find(')')) {
        (Some(start), Some(at), Some(end)) if start < at && at < end => {
            format!("{}{}", &text[..start], &text[end + 1..])
        }
        _ => text.to_owned(),
    }
}

/// Shortens references, names the form of times, and says how large a number can be.
fn refine(value: &mut Value) {
    if let Value::Object(map) = value {
        if let Some(Value::String(to)) = map.get_mut("$ref") {
            *to = short(to);
        }
        if let Some(Value::String(about)) = map.get_mut("description") {
            *about = without_source(about);
        }
        // What is a number without an end in the schema is one of 64 bits without a sign in the code.
        let is_integer = map.get("type").is_some_and(|kind| holds(kind, "integer"));
        if is_integer && map.get("minimum").is_some_and(|least| *least == 0) && !map.contains_key("maximum") {
            let wide = map.get("format").is_none_or(|format| format == "int64");
            map.insert("maximum".to_owned(), if wide { json!(u64::MAX) } else { json!(u32::MAX) });
            // int32 and int64 have a sign.
            map.remove("format");
        }
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (key, property) in properties.iter_mut() {
                let time = key.ends_with("At") || key.ends_with("Until") || matches!(key.as_str(), "at" | "since");
                if time && property.get("type").is_some_and(|kind| holds(kind, "string")) {
                    property["format"] = json!("date-time");
                }
            }
        }
        map.values_mut().for_each(refine);
    } else if let Value::Array(all) = value {
        all.iter_mut().for_each(refine);
    }
}

fn holds(kind: &Value, word: &str) -> bool {
    kind == word || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == word))
}

/// Puts something into the schema of a property; a test holds that each is there.
fn set(all: &mut Map<String, Value>, schema: &str, key: &str, what: &str, mut value: Value) {
    let Some(property) = all.get_mut(schema).and_then(|schema| schema["properties"].get_mut(key)) else { return };
    let nullable = property.get("type").is_some_and(|kind| holds(kind, "null"));
    if let (true, "enum", Some(words)) = (nullable, what, value.as_array_mut()) {
        words.push(Value::Null);
    }
    property[what] = value;
}

/// Words that a text is one of.
fn words() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let codes = || Code::ALL.iter().map(|code| code.text());
    let outcomes: Vec<&str> = ItemOutcome::ALL.iter().map(|outcome| outcome.text()).collect();
    let on_expiry: Vec<&str> = OnExpiry::ALL.iter().map(|policy| policy.text()).collect();
    vec![
        ("Problem", "code", codes().chain(OTHER_CODES).collect()),
        ("Item", "code", codes().collect()),
        ("Error", "code", codes().collect()),
        ("Conflict", "code", codes().collect()),
        ("Item", "outcome", outcomes.clone()),
        ("Report", "outcome", outcomes.clone()),
        ("Deleted", "outcome", outcomes.clone()),
        ("Zone", "outcome", outcomes.clone()),
        ("Owner", "outcome", outcomes),
        ("Record", "state", ClaimState::ALL.iter().map(|state| state.text()).collect()),
        ("Owner", "state", OwnerState::ALL.iter().map(|state| state.text()).collect()),
        ("Conflict", "state", vec!["refused", "queued"]),
        ("Lease", "onExpiry", on_expiry.clone()),
        ("OwnerWrite", "onExpiry", on_expiry),
        ("Token", "role", vec!["admin", "owner", "read"]),
        ("TokenCreate", "role", vec!["admin", "owner", "read"]),
        ("TokenCreate", "onConflict", vec!["queue", "reject"]),
        ("Orphan", "reason", vec!["ownerExpired", "ownerUnconfirmed", "targetNxdomain", "unclaimed"]),
        ("Flap", "pattern", vec!["toggle", "contested", "rewrite"]),
        ("Change", "door", Door::ALL.iter().map(|door| door.text()).collect()),
        ("AliasRecord", "serving", vec!["fresh", "stale", "static", "fallback", "nodata", "pending", "servfail"]),
        ("AliasRecord", "ttlLimitedBy", vec!["alias", "chain", "target", "stale", "deadTarget", "policy"]),
    ]
}

/// Bounds of what requests bring.
fn bounds() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let mut out = vec![
        ("Apply", "records", "maxItems", json!(MAX_RECORDS)),
        ("RecordsChange", "upsert", "maxItems", json!(MAX_RECORDS)),
        ("RecordsChange", "delete", "maxItems", json!(MAX_RECORDS)),
        ("ZoneCreate", "defaultTtl", "maximum", json!(MAX_TTL)),
        ("ZoneUpdate", "defaultTtl", "maximum", json!(MAX_TTL)),
        ("TokenCreate", "ttlMin", "maximum", json!(MAX_TTL)),
        ("TokenCreate", "ttlMax", "maximum", json!(MAX_TTL)),
        ("TokenCreate", "name", "minLength", json!(1)),
        ("TokenCreate", "name", "maxLength", json!(MAX_TEXT)),
        ("TokenCreate", "expiresAt", "format", json!("date-time")),
        ("Record", "ttl", "maximum", json!(MAX_TTL)),
        ("Zone", "defaultTtl", "maximum", json!(MAX_TTL)),
    ];
    for schema in ["RecordWrite", "RecordPut"] {
        out.extend([
            (schema, "ttl", "minimum", json!(0)),
            (schema, "ttl", "maximum", json!(MAX_TTL)),
            (schema, "values", "minItems", json!(1)),
            (schema, "values", "maxItems", json!(MAX_VALUES)),
            (schema, "setId", "maxLength", json!(MAX_TEXT)),
            (schema, "labels", "maxProperties", json!(MAX_LABELS)),
        ]);
    }
    for schema in ["Apply", "RecordsChange", "OwnerWrite"] {
        out.extend([
            (schema, "uid", "maxLength", json!(MAX_TEXT)),
            (schema, "kind", "maxLength", json!(MAX_TEXT)),
            (schema, "labels", "maxProperties", json!(MAX_LABELS)),
            (schema, "parent", "minLength", json!(1)),
            (schema, "parent", "maxLength", json!(MAX_OWNER_ID)),
        ]);
    }
    for key in ["zones", "names", "types"] {
        out.push(("TokenCreate", key, "maxItems", json!(MAX_LABELS)));
    }
    out
}

fn texts<T: Copy>(all: &[T], text: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|one| text(*one)).collect()
}

/// The options that a request may give an ALIAS (alias.md section 1); they are read key by key, so no type has them.
fn alias_options() -> Value {
    json!({
        "type": "object",
        "description": "Options of an ALIAS; what is left out is as by default.",
        "additionalProperties": false,
        "properties": {
            "families": {
                "type": "array", "minItems": 1, "items": {"type": "string", "enum": ["A", "AAAA"]},
                "description": "Which addresses of the target are served; by default both.",
            },
            "static": {
                "type": "string", "enum": texts(&StaticMode::ALL, StaticMode::text), "default": "reject",
                "description": "A and AAAA of the same owner beside it: refused, served instead, or served where a policy says so.",
            },
            "onNxdomain": {
                "type": "string", "enum": texts(&OnNxdomain::ALL, OnNxdomain::text), "default": "nodata",
                "description": "What is served when the target does not exist.",
            },
            "onFailure": {
                "type": "string", "enum": texts(&OnFailure::ALL, OnFailure::text), "default": "servfail",
                "description": "What is served when nobody can tell and nothing is known.",
            },
            "ttlPolicy": {
                "type": "object", "additionalProperties": false, "description": "How the TTL follows from that of the target.",
                "properties": {
                    "mode": {"type": "string", "enum": texts(&TtlMode::ALL, TtlMode::text), "default": "smooth"},
                    "minSeconds": {"type": "integer", "minimum": MIN_SECONDS.0, "maximum": MIN_SECONDS.1},
                    "maxSeconds": {"type": "integer", "minimum": MIN_SECONDS.0, "maximum": MAX_SECONDS},
                },
            },
            "maxAddresses": {
                "type": "integer", "minimum": ADDRESSES.0, "maximum": ADDRESSES.1, "description": "Of a family.",
            },
            "maxStaleSeconds": {
                "type": "integer", "minimum": 0, "maximum": MAX_STALE, "description": "Counted from expiry.",
            },
            "quarantineAfterSeconds": {
                "type": "integer", "minimum": QUARANTINE_AFTER.0, "maximum": QUARANTINE_AFTER.1,
                "description": "With `onNxdomain` `quarantine`.",
            },
            "upstreamGroup": {
                "type": ["string", "null"], "minLength": 1, "description": "Who is asked; by default the zone's group.",
            },
            "allowPrivate": {"type": "boolean", "default": false, "description": "Whether internal addresses are served."},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bounds_are_of_properties_that_are_there() {
        let all = all();
        let words = words().into_iter().map(|(schema, key, _)| (schema, key, "enum"));
        let bounds = bounds().into_iter().map(|(schema, key, bound, _)| (schema, key, bound));
        let missing: Vec<_> = words
            .chain(bounds)
            .filter(|(schema, key, what)| {
                all.get(*schema).is_none_or(|schema| schema["properties"][key].get(*what).is_none())
            })
            .collect();
        assert!(missing.is_empty(), "{missing:?} of {:?}", all.keys().collect::<Vec<_>>());
    }

    #[test]
    fn every_option_of_an_alias_is_taken_in_each_of_its_words() {
        let schema = alias_options();
        let taken = |key: &str, value: Value| {
            let body = json!({"name": "a.example.", "type": "ALIAS", "values": ["b.example."], "alias": {"static": "fallback", key: value}});
            let fields: fields::RecordFields = serde_json::from_value(body).expect("a record");
            fields.read().is_ok()
        };
        let mut tried = 0;
        for (key, one) in schema["properties"].as_object().expect("properties") {
            let (words, list) = match (one["items"]["enum"].as_array(), one["enum"].as_array()) {
                (Some(words), _) => (words, true),
                (None, Some(words)) => (words, false),
                // A number, a name, an object: its bounds are the parser's own constants.
                (None, None) => {
                    assert!(!taken(key, json!([])), "{key}");
                    continue;
                }
            };
            for word in words {
                let value = if list { json!([word]) } else { word.clone() };
                assert!(taken(key, value), "{key} {word}");
                tried += 1;
            }
            assert!(!taken(key, if list { json!([]) } else { json!("nonsense") }), "{key}");
        }
        assert!(tried >= 4 && !taken("other", json!(1)));
    }
}
