//! The bodies that writes bring, and what the ledger reads of them.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::alias_options;
use crate::api::call::{Call, owner_id};
use crate::api::documents::SourceDocument;
use crate::api::json::{self, unique_map};
use crate::api::problem::Refused;
use crate::ledger::code::Code;
use crate::ledger::command::{BadWish, OnConflict, OwnerKeys, Wish};
use crate::ledger::lease::LeaseKeys;
use crate::ledger::limits::{MAX_RECORDS, MAX_TEXT};
use crate::ledger::owner::Source;
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
            external_dns: None,
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
        let alias = self.alias.map(alias_options::read).transpose().map_err(|problem| BadWish {
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
