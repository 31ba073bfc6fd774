//! The bodies that writes bring, and what the ledger reads of them.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use crate::api::call::{Call, owner_id};
use crate::api::documents::SourceDocument;
use crate::api::json::{self, unique_map};
use crate::api::problem::Refused;
use crate::ledger::alias_options::{AliasOptions, StaticMode};
use crate::ledger::code::Code;
use crate::ledger::command::{BadWish, OnConflict, OwnerKeys, Wish};
use crate::ledger::lease::LeaseKeys;
use crate::ledger::limits::{MAX_RECORDS, MAX_TEXT};
use crate::ledger::owner::Source;
use crate::ledger::report::Problem;
use crate::ledger::wish::{self, RecordText};
use crate::zone::node::MAX_RECORDS as MAX_VALUES;

/// Keys of an owner in a body; see [`OwnerKeys`].
#[derive(Debug, Default)]
pub(super) struct OwnerFields {
    pub(super) generation: Option<u64>,
    pub(super) epoch: Option<u64>,
    pub(super) uid: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) source: Option<SourceDocument>,
}

impl OwnerFields {
    pub(super) fn read(self) -> Result<OwnerKeys, Refused> {
        Ok(OwnerKeys {
            generation: self.generation,
            epoch: self.epoch,
            uid: self.uid,
            kind: self.kind,
            parent: self.parent.as_deref().map(|parent| owner_id("parent", parent)).transpose()?,
            labels: self.labels,
            source: self.source.map(|source| Source {
                cluster: source.cluster,
                namespace: source.namespace,
                kind: source.kind,
                name: source.name,
                uid: source.uid,
            }),
            lease: LeaseKeys::default(),
        })
    }
}

/// A record of a body.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RecordWrite)]
pub(super) struct RecordFields {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) rtype: String,
    #[serde(deserialize_with = "json::list::<MAX_VALUES, _, _>")]
    pub(super) values: Vec<String>,
    pub(super) zone: Option<String>,
    pub(super) ttl: Option<i64>,
    pub(super) set_id: Option<String>,
    #[serde(default)]
    pub(super) share: bool,
    #[serde(default, deserialize_with = "unique_map")]
    pub(super) labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "unique_map")]
    pub(super) alias: Option<BTreeMap<String, Value>>,
}

impl RecordFields {
    /// The record as the ledger takes it; what is wrong with it is the item's, not the request's.
    pub(super) fn read(self) -> Result<Wish, BadWish> {
        let alias = self.alias.map(alias_options).transpose().map_err(|problem| BadWish {
            key: wish::read_key(self.zone.as_deref(), &self.name, &self.rtype)
                .ok()
                .map(|(_, name, rtype)| (name, rtype)),
            name: self.name.chars().take(MAX_TEXT).collect(),
            rtype: self.rtype.chars().take(64).collect(),
            problem,
        })?;
        wish::read(&RecordText {
            zone: self.zone,
            name: self.name,
            rtype: self.rtype,
            set_id: self.set_id,
            ttl: self.ttl,
            values: self.values,
            share: self.share,
            labels: self.labels.unwrap_or_default(),
            alias,
        })
    }
}

/// Reads records, at most as many as one request may have.
pub(super) fn records(fields: Vec<RecordFields>) -> Result<Vec<Result<Wish, BadWish>>, Refused> {
    if fields.len() > MAX_RECORDS {
        let detail = format!("over {MAX_RECORDS} records in one request, the most there may be: split it");
        return Err(Refused::new(Code::LimitExceeded, detail));
    }
    Ok(fields.into_iter().map(RecordFields::read).collect())
}

/// Options of an ALIAS (alias.md section 1). A key or value that only a later version acts upon is refused if it asks
/// for anything but the default, which is what this version does.
fn alias_options(given: BTreeMap<String, Value>) -> Result<AliasOptions, Problem> {
    let invalid = |detail: String| Problem::new(Code::AliasOptionInvalid, detail);
    let unsupported = |key: &str| {
        Problem::new(
            Code::AliasOptionUnsupported,
            format!("alias.{key} is not supported by this version: leave it out"),
        )
    };
    let mut options = AliasOptions::default();
    for (key, value) in given {
        match key.as_str() {
            "families" => {
                let families = value.as_array().filter(|families| !families.is_empty());
                let families = families.ok_or_else(|| invalid("alias.families is a list of A and AAAA".to_owned()))?;
                (options.a, options.aaaa) = (false, false);
                for family in families {
                    match family.as_str() {
                        Some("A") => options.a = true,
                        Some("AAAA") => options.aaaa = true,
                        Some(_) | None => return Err(invalid("alias.families has A and AAAA alone".to_owned())),
                    }
                }
            }
            "static" => {
                options.static_mode = match value.as_str() {
                    Some("reject") => StaticMode::Reject,
                    Some("override") => StaticMode::Override,
                    Some("fallback") => return Err(unsupported("static: fallback")),
                    Some(_) | None => return Err(invalid("alias.static is reject or override".to_owned())),
                }
            }
            "ttlPolicy"
            | "maxAddresses"
            | "onNxdomain"
            | "onFailure"
            | "maxStaleSeconds"
            | "quarantineAfterSeconds"
            | "upstreamGroup"
            | "allowPrivate"
            | "mode"
            | "https"
            | "ecs"
            | "validate" => return Err(unsupported(&key)),
            _ => {
                let key: String = key.chars().take(64).collect();
                return Err(invalid(format!("alias has no option `{}`", key.escape_debug())));
            }
        }
    }
    Ok(options)
}

/// `onConflict`.
pub(super) fn on_conflict(call: &Call) -> Result<OnConflict, Refused> {
    match call.parameters.text("onConflict") {
        None | Some("reject") => Ok(OnConflict::Reject),
        Some("queue") => Ok(OnConflict::Queue),
        Some(other) => {
            Err(Refused::bad_request(format!("onConflict is reject or queue, not `{}`", other.escape_debug())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options(value: Value) -> Result<AliasOptions, Code> {
        let map = value.as_object().expect("an object").clone().into_iter().collect();
        alias_options(map).map_err(|problem| problem.code)
    }

    #[test]
    fn options_of_an_alias_are_taken_or_named() {
        let a_only = AliasOptions { a: true, aaaa: false, static_mode: StaticMode::Override };
        assert_eq!(options(json!({"families": ["A"], "static": "override"})), Ok(a_only));
        assert_eq!(options(json!({})), Ok(AliasOptions::default()));
        assert_eq!(options(json!({"families": []})), Err(Code::AliasOptionInvalid));
        assert_eq!(options(json!({"families": ["MX"]})), Err(Code::AliasOptionInvalid));
        assert_eq!(options(json!({"static": "fallback"})), Err(Code::AliasOptionUnsupported));
        assert_eq!(options(json!({"maxAddresses": 3})), Err(Code::AliasOptionUnsupported));
        assert_eq!(options(json!({"other": 3})), Err(Code::AliasOptionInvalid));
    }
}
