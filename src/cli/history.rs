//! `tenured history`.

use clap::Args;
use serde_json::Value;

use super::client::Client;
use super::failure::Failure;
use super::output::{self, Format};
use crate::api::documents::{ChangeDocument, List};

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// Only of this zone
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Only at this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only of this owner
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Only by the token with this id
    #[arg(long, value_name = "TOKEN")]
    actor: Option<String>,
    /// Only after this revision
    #[arg(long, value_name = "REVISION")]
    since: Option<u64>,
    /// So many rows at most, the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Go on with each change as it is made
    #[arg(long)]
    follow: bool,
}

pub(super) async fn run(flags: Flags, client: &Client, format: Format) -> Result<(), Failure> {
    let since = flags.since.map(|since| since.to_string());
    let limit = flags.limit.to_string();
    let filters = [
        ("zone", &flags.zone),
        ("name", &flags.name),
        ("owner", &flags.owner),
        ("actor", &flags.actor),
        ("since", &since),
    ];
    let mut query: Vec<(&str, &str)> =
        filters.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?))).collect();
    if flags.follow {
        return super::follow::follow(client, &query, format).await;
    }
    query.push(("last", &limit));
    let list: List<ChangeDocument> = client.get("/v1/changes", &query).await?;
    match format {
        Format::Json => output::print_json(&list),
        Format::Name => output::print_names(list.items.iter().map(|change| change.name.as_str())),
        Format::Table => {
            let rows = list.items.iter().map(|change| {
                vec![
                    change.revision.to_string(),
                    change.at.clone(),
                    change.actor.clone(),
                    change.owner.clone(),
                    change.name.clone(),
                    change.rtype.clone(),
                    what(&change.before, &change.after),
                ]
            });
            let headings = ["REVISION", "AT", "TOKEN", "OWNER", "NAME", "TYPE", "CHANGE"];
            output::print_table(&headings, rows.collect(), "nothing has changed")
        }
    }
}

/// A change in a few words: what was, an arrow, what is.
pub(super) fn what(before: &Value, after: &Value) -> String {
    match (short(before), short(after)) {
        (None, Some(after)) => format!("+ {after}"),
        (Some(before), None) => format!("- {before}"),
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (None, None) => String::new(),
    }
}

/// The values of a claim with its state if it is not served; of other things their keys and values.
fn short(value: &Value) -> Option<String> {
    let object = value.as_object()?;
    let Some(values) = object.get("values").and_then(Value::as_array) else {
        let pairs = object.iter().filter(|(_, value)| value.is_string() || value.is_number());
        let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={}", text(value))).collect();
        return Some(pairs.join(" "));
    };
    let mut out: Vec<String> = values.iter().map(text).collect();
    if let Some(state) = object.get("state").and_then(Value::as_str).filter(|state| *state != "held") {
        out.push(format!("({state})"));
    }
    if let Some(ttl) = object.get("ttl") {
        out.push(format!("{ttl} s"));
    }
    Some(out.join(" "))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_change_is_told_in_a_few_words() {
        let claim = |state: &str, value: &str| json!({"state": state, "ttl": 300, "values": [value]});
        assert_eq!(what(&Value::Null, &claim("held", "192.0.2.1")), "+ 192.0.2.1 300 s");
        assert_eq!(what(&claim("held", "a."), &Value::Null), "- a. 300 s");
        assert_eq!(what(&claim("queued", "a."), &claim("held", "a.")), "a. (queued) 300 s → a. 300 s");
        assert_eq!(what(&Value::Null, &json!({"owner": "a", "serial": 1, "labels": {}})), "+ owner=a serial=1");
    }
}
