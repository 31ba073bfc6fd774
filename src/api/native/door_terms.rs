//! What a body says of how clients of the external-dns door work with a token.

use serde::Deserialize;
use serde_json::Value;

use crate::api::problem::Refused;
use crate::ledger::command::OnConflict;
use crate::ledger::external_dns::{Adopting, Brake, DoorTerms, Sharing};
use crate::ledger::limits::MAX_TTL;

/// The fields of a token's body that say it.
pub(super) struct TermFields<'a> {
    pub(super) on_conflict: Option<&'a str>,
    pub(super) share: Option<bool>,
    pub(super) adopt_equal: Option<bool>,
    pub(super) ttl_min: Option<u32>,
    pub(super) ttl_max: Option<u32>,
    pub(super) brake: Option<&'a Value>,
}

pub(super) fn terms(fields: &TermFields<'_>) -> Result<DoorTerms, Refused> {
    let ttls = [fields.ttl_min, fields.ttl_max];
    let is_crossed = fields.ttl_min.zip(fields.ttl_max).is_some_and(|(min, max)| min > max);
    if is_crossed || ttls.into_iter().flatten().any(|ttl| ttl > MAX_TTL) {
        return Err(Refused::bad_request(format!("ttlMin and ttlMax are at most {MAX_TTL}, the lower one first")));
    }
    Ok(DoorTerms {
        on_conflict: match fields.on_conflict {
            Some("queue") | None => OnConflict::Queue,
            Some("reject") => OnConflict::Reject,
            Some(_) => return Err(Refused::bad_request("onConflict is queue or reject")),
        },
        sharing: if fields.share == Some(true) { Sharing::Shared } else { Sharing::Exclusive },
        adopting: if fields.adopt_equal == Some(true) { Adopting::Equal } else { Adopting::Never },
        ttl_min: fields.ttl_min,
        ttl_max: fields.ttl_max,
        brake: brake(fields.brake)?,
    })
}

fn brake(given: Option<&Value>) -> Result<Brake, Refused> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Numbers {
        min: Option<u64>,
        percent: Option<u64>,
        last: Option<u64>,
    }
    match given {
        None | Some(Value::Null | Value::Bool(true)) => Ok(Brake::default()),
        Some(Value::Bool(false)) => Ok(Brake::Off),
        Some(other) => {
            let read = Numbers::deserialize(other).ok().filter(|one| one.percent.is_none_or(|percent| percent <= 100));
            let read = read.ok_or_else(|| {
                Refused::bad_request(
                    "brake is false, or {\"min\": 10, \"percent\": 30, \"last\": 3} with whole numbers",
                )
            })?;
            let Brake::On { min, percent, last } = Brake::default() else { return Ok(Brake::Off) };
            Ok(Brake::On {
                min: read.min.unwrap_or(min),
                percent: read.percent.unwrap_or(percent),
                last: read.last.unwrap_or(last),
            })
        }
    }
}
