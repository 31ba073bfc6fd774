//! What the buttons of the page ask for: each is one request of the API, which the command line and curl can send, too.

use axum::http::Method;
use serde_json::{Value, json};

use super::Fields;
use super::ask::{encoded, with_parameters};
use super::frame::quoted;
use crate::api::documents::RecordDocument;

/// What a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    PutRecord,
    DeleteRecord,
    QuarantineRecord,
    TransferRecord,
    DeleteOwner,
    QuarantineOwner,
    Revert,
    Refresh,
    ApproveHold,
    DiscardHold,
}

impl Act {
    /// By its word in a form.
    pub(super) fn of(word: &str) -> Option<Act> {
        Some(match word {
            "record.put" => Act::PutRecord,
            "record.delete" => Act::DeleteRecord,
            "record.quarantine" => Act::QuarantineRecord,
            "record.transfer" => Act::TransferRecord,
            "owner.delete" => Act::DeleteOwner,
            "owner.quarantine" => Act::QuarantineOwner,
            "change.revert" => Act::Revert,
            "alias.refresh" => Act::Refresh,
            "hold.approve" => Act::ApproveHold,
            "hold.discard" => Act::DiscardHold,
            _ => return None,
        })
    }

    /// Whether it can be tried without being done.
    pub(super) fn has_plan(self) -> bool {
        self != Act::Refresh
    }
}

/// A request of the API.
#[derive(Debug)]
pub(super) struct Order {
    /// What it does, in a sentence without its full stop.
    pub(super) title: String,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Value>,
    /// The same on the command line.
    pub(super) cli: String,
    /// Where to look afterwards.
    pub(super) back: String,
}

impl Order {
    /// The path with its parameters; with `dry`, nothing is done.
    pub(super) fn target(&self, dry: bool) -> String {
        let mut query: Vec<(&str, &str)> = self.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if dry {
            query.push(("dryRun", "true"));
        }
        with_parameters(&self.path, &query)
    }
}

/// The order of a form; `known` is the claim that it is about, as it is now.
pub(super) fn order(act: Act, fields: &Fields, known: Option<&RecordDocument>) -> Order {
    let given = |name: &str| fields.get(name).map(|value| value.trim()).unwrap_or_default();
    let (owner, name, rtype, set_id) = (given("owner"), given("name"), given("type"), given("setId"));
    let record = format!("/v1/owners/{}/records/{}/{}", encoded(owner), encoded(name), encoded(rtype));
    let set = ("setId", set_id.to_owned());
    let explain = with_parameters("/ui", &[("name", name)]);
    let words = format!("{} {}", quoted(name), quoted(rtype));
    let made = |title: String, method: Method, path: String, cli: String, back: String| Order {
        title,
        method,
        path,
        query: Vec::new(),
        body: None,
        cli: format!("tenured {cli}"),
        back,
    };
    match act {
        Act::PutRecord => {
            let values: Vec<&str> = given("values").lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let shown: Vec<String> = values.iter().map(|value| quoted(value)).collect();
            let ttl = given("ttl");
            let mut body = json!({"values": values});
            if let Ok(ttl) = ttl.parse::<i64>() {
                body["ttl"] = json!(ttl);
            }
            if !given("zone").is_empty() {
                body["zone"] = json!(given("zone"));
            }
            // What the form does not show stays as it is.
            if let Some(known) = known {
                body["share"] = json!(known.share);
                if !known.labels.is_empty() {
                    body["labels"] = json!(known.labels);
                }
                if let Some(alias) = known.alias.as_ref().filter(|_| rtype.eq_ignore_ascii_case("ALIAS")) {
                    body["alias"] = json!(alias);
                }
            }
            let ttl = if ttl.is_empty() { String::new() } else { format!(" --ttl {}", quoted(ttl)) };
            let cli = format!("record set {words} {}{ttl} --owner {}", shown.join(" "), quoted(owner));
            let mut order = made(format!("Set {name} {rtype} of {owner}"), Method::PUT, record, cli, explain);
            order.query = vec![set];
            order.body = Some(body);
            order
        }
        Act::DeleteRecord => {
            let cli = format!("record delete {words} --owner {}", quoted(owner));
            let mut order = made(format!("Delete {name} {rtype} of {owner}"), Method::DELETE, record, cli, explain);
            order.query = vec![set];
            order
        }
        Act::QuarantineRecord => {
            let cli = format!("record delete {words} --owner {} --quarantine", quoted(owner));
            let title = format!("Quarantine {name} {rtype} of {owner}");
            let mut order = made(title, Method::DELETE, record, cli, explain);
            order.query = vec![set, ("quarantine", "true".to_owned())];
            order
        }
        Act::TransferRecord => {
            let to = given("to");
            let cli = format!(
                "owner transfer {} {} --name {} --type {}",
                quoted(owner),
                quoted(to),
                quoted(name),
                quoted(rtype)
            );
            let title = format!("Transfer {name} {rtype} from {owner} to {to}");
            let mut order = made(title, Method::POST, "/v1/transfers".to_owned(), cli, explain);
            let mut only = json!({"name": name, "type": rtype});
            if !given("zone").is_empty() {
                only["zone"] = json!(given("zone"));
            }
            order.body = Some(json!({"from": owner, "to": to, "match": only}));
            order
        }
        Act::DeleteOwner | Act::QuarantineOwner => {
            let quarantine = act == Act::QuarantineOwner;
            let (verb, option) = if quarantine { ("Quarantine", " --quarantine") } else { ("Delete", "") };
            let title = format!("{verb} {owner} and all owners below it, with their records");
            let cli = format!("owner delete {} --cascade{option}", quoted(owner));
            let path = format!("/v1/owners/{}", encoded(owner));
            let mut order = made(title, Method::DELETE, path, cli, "/ui/owners".to_owned());
            order.query = vec![("cascade", "true".to_owned())];
            if quarantine {
                order.query.push(("quarantine", "true".to_owned()));
            }
            order
        }
        Act::Revert => {
            let revision = given("revision");
            let path = format!("/v1/changes/{}/revert", encoded(revision));
            let cli = format!("revert {}", quoted(revision));
            let title = format!("Revert revision {revision}");
            made(title, Method::POST, path, cli, "/ui/history".to_owned())
        }
        Act::Refresh => {
            let target = given("target");
            let cli = format!("alias refresh {}", quoted(target));
            let back = with_parameters("/ui/alias", &[("target", target)]);
            let path = "/v1/alias-targets/refresh".to_owned();
            let mut order = made(format!("Ask for {target} anew"), Method::POST, path, cli, back);
            order.body = Some(json!({"targets": [target]}));
            order
        }
        Act::ApproveHold | Act::DiscardHold => {
            let (verb, word) = if act == Act::ApproveHold { ("Do", "approve") } else { ("Forget", "discard") };
            let id = given("id");
            let path = format!("/v1/holds/{}/{word}", encoded(id));
            let title = format!("{verb} the deletes of hold {id}");
            made(title, Method::POST, path, format!("hold {word} {}", quoted(id)), "/ui/findings".to_owned())
        }
    }
}
