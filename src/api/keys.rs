//! Tokens as `/v1/tokens` shows them, and the settings of keys of the PowerDNS door.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::token_documents::DoorTermsDocument;
use crate::ledger::key::{KeyFields, KeySettings, OnlyFields};

/// What a key of the PowerDNS door does. Fields that a request leaves out are as its profile has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = KeySettings)]
pub struct KeyDocument {
    /// `generic`, `dns-operator`, `external-dns`, `acme`: where the defaults came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// `all`: reads show every served record set; `own`: those of the key's owner, with SOA and NS of the apex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// `reject`: a refused record set refuses its whole request; `partial`: the rest is done; `quiet`: and the answer is
    /// that of success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<String>,
    /// Whether a refused wish waits for the holder to let go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<bool>,
    /// Whether the owner's CNAME and its A, AAAA or ALIAS replace each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersede: Option<bool>,
    /// Whether re-assertion waves are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<bool>,
    /// Whether many deletes at once go on hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brake: Option<bool>,
    /// Whether a value reads back as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo_written: Option<bool>,
    /// Whether claims may stand beside other owners' claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<bool>,
    /// Whether what stands in the way is taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<bool>,
    /// Whether every write is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether a conflict leaves out who holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hide_holder: Option<bool>,
    /// What may be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<OnlyDocument>,
    /// `report`: claims that a wave passed by are listed; `quarantine`: and put aside after the grace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_unconfirmed: Option<String>,
    /// The grace in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<u32>,
}

/// What a key may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schema(as = KeyOnly)]
pub struct OnlyDocument {
    /// Types; empty for all.
    pub types: Vec<String>,
    /// Globs over names, as `_acme-challenge.*`; empty for all.
    pub names: Vec<String>,
}

impl KeyDocument {
    /// All fields of a key.
    pub fn of(key: &KeySettings) -> KeyDocument {
        let fields = KeyFields::from(key);
        KeyDocument {
            profile: fields.profile,
            view: fields.view,
            conflicts: fields.conflicts,
            queue: fields.queue,
            supersede: fields.supersede,
            wave: fields.wave,
            brake: fields.brake,
            echo_written: fields.echo_written,
            share: fields.share,
            takeover: fields.takeover,
            read_only: fields.read_only,
            hide_holder: fields.hide_holder,
            only: fields.only.map(|only| OnlyDocument { types: only.types, names: only.names }),
            on_unconfirmed: fields.on_unconfirmed,
            grace_seconds: fields.grace_seconds,
        }
    }

    /// The key that the fields come to; the error is a sentence.
    pub fn settings(&self) -> Result<KeySettings, String> {
        let one = self.clone();
        let fields = KeyFields {
            profile: one.profile,
            view: one.view,
            conflicts: one.conflicts,
            queue: one.queue,
            supersede: one.supersede,
            wave: one.wave,
            brake: one.brake,
            echo_written: one.echo_written,
            share: one.share,
            takeover: one.takeover,
            read_only: one.read_only,
            hide_holder: one.hide_holder,
            only: one.only.map(|only| OnlyFields { types: only.types, names: only.names }),
            on_unconfirmed: one.on_unconfirmed,
            grace_seconds: one.grace_seconds,
        };
        KeySettings::try_from(&fields)
    }
}

/// A token without its secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenDocument {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `admin`, `owner`, `read`.
    pub role: String,
    /// The root owner of role `owner`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Globs of zones it is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Names it is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Types it is limited to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The whole text; only in the answer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The API that it is for, if that is another than this: `powerdns`, or, beside this, `externaldns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<String>,
    /// What it does there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyDocument>,
    /// How external-dns clients work with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_dns: Option<DoorTermsDocument>,
}
