//! Comments and disabled records, which the PowerDNS door keeps beside claims: written through it, by a key that lives as
//! long as that takes.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::client::{Body, Client, path};
use super::super::failure::Failure;
use super::report::{Finding, Migration, What};
use super::{Common, Taken};
use crate::api::documents::TokenDocument;

/// Record sets in one request.
const CHUNK: usize = 5_000;

/// A record set that has a comment or a disabled record.
#[derive(Debug)]
pub(super) struct Beside {
    /// The name.
    pub(super) name: String,
    /// The type.
    pub(super) rtype: String,
    /// All of it, as the door takes it.
    pub(super) patch: Value,
}

/// Writes what stands beside the records of a zone, and notes what could not be.
pub(super) async fn write(
    taken: &Taken,
    common: &Common,
    client: &Client,
    into: &mut Migration,
) -> Result<(), Failure> {
    if taken.beside.is_empty() {
        return Ok(());
    }
    let zone = taken.origin.to_string();
    let owner = common.owner.clone().unwrap_or_else(|| format!("zone:{zone}"));
    // What another owner holds is refused alone.
    let body =
        json!({"name": format!("migration of {zone}"), "door": "powerdns", "owner": owner, "conflicts": "partial"});
    let made = client.write(Method::POST, "/v1/tokens", &[], Body::Json(body)).await;
    let key: TokenDocument = match made {
        Ok((_, key)) => key,
        Err(Failure::Problem(problem)) => {
            let reason = format!("comments and disabled records need a key, which was refused: {}", problem.detail);
            note_all(taken, &reason, into);
            return Ok(());
        }
        Err(failure) => return Err(failure),
    };
    let by_key = client.with_token(key.token.clone().unwrap_or_default());
    let written = patch(taken, &zone, &by_key, into).await;
    // The key goes, whatever came of it.
    client.send(Method::DELETE, &path(&["v1", "tokens", &key.id]), &[], Body::Nothing).await?;
    written
}

async fn patch(taken: &Taken, zone: &str, by_key: &Client, into: &mut Migration) -> Result<(), Failure> {
    let path = path(&["api", "v1", "servers", "localhost", "zones", zone]);
    for chunk in taken.beside.chunks(CHUNK) {
        let rrsets: Vec<&Value> = chunk.iter().map(|one| &one.patch).collect();
        let (status, text) = by_key.patch_by_door(&path, &json!({"rrsets": rrsets})).await?;
        if status == StatusCode::NO_CONTENT {
            continue;
        }
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let errors = answer["errors"].as_array().into_iter().flatten().chain([&answer["error"]]);
        let mut told: Vec<&str> = errors.filter_map(Value::as_str).collect();
        told.sort_unstable();
        told.dedup();
        if told.is_empty() {
            note_all(taken, &format!("comments and disabled records: the server answered {status}"), into);
            return Ok(());
        }
        for error in told {
            let reason = format!("a comment or a disabled record: {error}");
            into.findings.push(Finding::of_zone(&taken.origin, What::NotTaken, reason));
        }
    }
    Ok(())
}

fn note_all(taken: &Taken, reason: &str, into: &mut Migration) {
    for Beside { name, rtype, .. } in &taken.beside {
        into.findings.push(Finding::of(&taken.origin, name, rtype, What::NotTaken, reason.to_owned()));
    }
}
