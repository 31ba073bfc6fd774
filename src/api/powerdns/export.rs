//! `zones/{id}/export`: a zone as text, a record a line.

use std::fmt::Write as _;

use serde_json::json;

use super::answer::{Answer, Failure};
use super::view::{self, Wanted};
use super::{Ask, accepts_json};

pub(super) async fn export(ask: &Ask, id: &str) -> Result<Answer, Failure> {
    let name = ask.zone(id)?;
    let zone = ask.state.handle.published().load().zone(&name).cloned().ok_or_else(Failure::not_found)?;
    let mut text = String::new();
    for rrset in view::rrsets(ask, &zone, &Wanted::default()).await? {
        for record in rrset.records {
            let (name, ttl, rtype, content) = (&rrset.name, rrset.ttl, &rrset.rtype, &record.content);
            writeln!(text, "{name}\t{ttl}\tIN\t{rtype}\t{content}").expect("a String takes all text");
        }
    }
    Ok(if accepts_json(&ask.headers) { Answer::json(&json!({"zone": text})) } else { Answer::text(text) })
}
