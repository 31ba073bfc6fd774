//! What a stock external-dns does in a cycle, written from its rules: rows by name and set identifier, blocked creates,
//! comparison of targets, TTLs and properties, owner filters, policies, and the registry's TXT records.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Value, json};

use super::door::Door;

/// How the client remembers what is its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    Noop,
    Txt { prefix: String, suffix: String, wildcard: String, encrypted: bool },
}

impl Registry {
    pub(crate) fn txt() -> Registry {
        Registry::Txt { prefix: String::new(), suffix: String::new(), wildcard: String::new(), encrypted: false }
    }
}

/// What the client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Sync,
    UpsertOnly,
    CreateOnly,
}

/// A client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) door: Door,
    pub(crate) owner_id: String,
    pub(crate) registry: Registry,
    pub(crate) policy: Policy,
    /// Types it manages.
    pub(crate) types: Vec<&'static str>,
}

/// What came of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cycle {
    /// Nothing was to be done.
    Silent,
    /// Changes were sent, and this came back.
    Sent(u16, Value),
    /// A call before that failed softly.
    Failed(u16),
}

/// Changes of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) create: Vec<Value>,
    pub(crate) update_old: Vec<Value>,
    pub(crate) update_new: Vec<Value>,
    pub(crate) delete: Vec<Value>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.create.is_empty() && self.delete.is_empty() && self.update_new == self.update_old
    }

    pub(crate) fn json(&self) -> Value {
        json!({"create": self.create, "updateOld": self.update_old, "updateNew": self.update_new, "delete": self.delete})
    }
}

fn text<'a>(endpoint: &'a Value, key: &str) -> &'a str {
    endpoint[key].as_str().unwrap_or_default()
}

fn label<'a>(endpoint: &'a Value, key: &str) -> &'a str {
    endpoint["labels"][key].as_str().unwrap_or_default()
}

fn targets(endpoint: &Value) -> Vec<String> {
    let mut found: Vec<String> =
        endpoint["targets"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    found.sort();
    found
}

fn same_targets(left: &Value, right: &Value) -> bool {
    let (left, right) = (targets(left), targets(right));
    let same = |(left, right): (&String, &String)| {
        left.eq_ignore_ascii_case(right)
            || matches!((left.parse::<IpAddr>(), right.parse::<IpAddr>()), (Ok(left), Ok(right)) if left == right)
    };
    left.len() == right.len() && left.iter().zip(&right).all(same)
}

fn properties(endpoint: &Value) -> BTreeMap<String, String> {
    let all = endpoint["providerSpecific"].as_array().into_iter().flatten();
    all.map(|one| (text(one, "name").to_owned(), text(one, "value").to_owned())).collect()
}

impl Client {
    pub(crate) fn new(door: Door, owner_id: &str) -> Client {
        Client {
            door,
            owner_id: owner_id.to_owned(),
            registry: Registry::txt(),
            policy: Policy::Sync,
            types: vec!["A", "AAAA", "CNAME"],
        }
    }

    /// One cycle with this desired set.
    pub(crate) fn cycle(&self, desired: &[Value]) -> Cycle {
        match self.plan(desired) {
            Err(status) => Cycle::Failed(status),
            Ok(changes) if changes.is_empty() => Cycle::Silent,
            Ok(changes) => {
                let (status, body) = self.door.change(self.with_registry(changes).json());
                Cycle::Sent(status, body)
            }
        }
    }

    /// A cycle that is done as asked.
    pub(crate) fn works(&self, desired: &[Value]) {
        let cycle = self.cycle(desired);
        assert!(matches!(cycle, Cycle::Sent(204, _)), "{cycle:?}");
    }

    /// Cycles in which there is nothing to do.
    pub(crate) fn rests(&self, desired: &[Value], cycles: usize) {
        for _ in 0..cycles {
            assert_eq!(self.cycle(desired), Cycle::Silent);
        }
    }

    /// The changes of a cycle, without those of the registry; the status of a call that failed.
    pub(crate) fn plan(&self, desired: &[Value]) -> Result<Changes, u16> {
        let (status, current) = self.door.call("GET", "/records", None);
        if status != 200 {
            return Err(status);
        }
        let (status, adjusted) = self.door.call("POST", "/adjustendpoints", Some(json!(desired)));
        if status != 200 {
            return Err(status);
        }
        let managed = |list: Value| -> Vec<Value> {
            let list = list.as_array().cloned().expect("a list");
            list.into_iter().filter(|one| self.types.contains(&text(one, "recordType"))).collect()
        };
        Ok(self.calculate(managed(current), managed(adjusted)))
    }

    fn calculate(&self, current: Vec<Value>, desired: Vec<Value>) -> Changes {
        #[derive(Default)]
        struct Row {
            current: Vec<Value>,
            candidates: Vec<Value>,
        }
        let mut rows: BTreeMap<(String, String), Row> = BTreeMap::new();
        let key = |one: &Value| (text(one, "dnsName").to_lowercase(), text(one, "setIdentifier").to_owned());
        for one in current {
            rows.entry(key(&one)).or_default().current.push(one);
        }
        for one in desired {
            rows.entry(key(&one)).or_default().candidates.push(one);
        }
        let mut changes = Changes::default();
        for row in rows.into_values() {
            let has_cname = row.candidates.iter().any(|one| text(one, "recordType") == "CNAME");
            let has_other = row.candidates.iter().any(|one| text(one, "recordType") != "CNAME");
            let types: BTreeSet<String> =
                row.current.iter().chain(&row.candidates).map(|one| text(one, "recordType").to_owned()).collect();
            let mut creates = Vec::new();
            for rtype in types {
                let of = |list: &[Value]| -> Vec<Value> {
                    list.iter().filter(|one| text(one, "recordType") == rtype).cloned().collect()
                };
                let drops = has_cname && has_other && rtype == "CNAME";
                let mut candidates = if drops { Vec::new() } else { of(&row.candidates) };
                candidates.sort_by_key(targets);
                match (of(&row.current).pop(), candidates.first().cloned()) {
                    (None, None) => {}
                    (None, Some(first)) => creates.push(first),
                    (Some(current), None) => changes.delete.push(current),
                    (Some(current), Some(first)) => {
                        let own = candidates.iter().find(|one| label(one, "resource") == label(&current, "resource"));
                        let mut new = own.cloned().unwrap_or(first);
                        let ttl = |one: &Value| one["recordTTL"].as_i64().unwrap_or(0);
                        let differs = (ttl(&new) != 0 && ttl(&new) != ttl(&current))
                            || !same_targets(&new, &current)
                            || properties(&new) != properties(&current);
                        if differs {
                            new["labels"]["owner"] = json!(label(&current, "owner"));
                            changes.update_new.push(new);
                            changes.update_old.push(current);
                        }
                    }
                }
            }
            // One record at the name that is somebody else's blocks all creates.
            let is_own = |one: &Value| self.registry == Registry::Noop || label(one, "owner") == self.owner_id;
            if row.current.iter().all(is_own) {
                changes.create.extend(creates);
            }
        }
        match self.policy {
            Policy::Sync => {}
            Policy::UpsertOnly => changes.delete.clear(),
            Policy::CreateOnly => changes = Changes { create: changes.create, ..Changes::default() },
        }
        if self.registry != Registry::Noop {
            let own = |list: &mut Vec<Value>| list.retain(|one| label(one, "owner") == self.owner_id);
            own(&mut changes.delete);
            own(&mut changes.update_old);
            own(&mut changes.update_new);
        }
        changes
    }

    /// The changes as the registry sends them.
    pub(crate) fn with_registry(&self, mut changes: Changes) -> Changes {
        if self.registry == Registry::Noop {
            return changes;
        }
        for one in &mut changes.create {
            one["labels"]["owner"] = json!(self.owner_id);
        }
        for list in [&mut changes.create, &mut changes.update_old, &mut changes.update_new, &mut changes.delete] {
            let texts: Vec<Value> = list.iter_mut().map(|one| self.registry_text(one)).collect();
            list.extend(texts);
        }
        changes
    }

    fn registry_text(&self, endpoint: &mut Value) -> Value {
        let Registry::Txt { prefix, suffix, wildcard, encrypted } = &self.registry else { return Value::Null };
        let name = text(endpoint, "dnsName").to_owned();
        let rtype = text(endpoint, "recordType").to_lowercase();
        let (first, rest) = name.split_once('.').unwrap_or((&name, ""));
        let first = if first == "*" && !wildcard.is_empty() { wildcard } else { first };
        let affix = |text: &String| text.replace("%{record_type}", &rtype);
        let in_affix = prefix.contains("%{record_type}") || suffix.contains("%{record_type}");
        let first = if in_affix { first.to_owned() } else { format!("{rtype}-{first}") };
        let txt_name = format!("{}{first}{}.{rest}", affix(prefix), affix(suffix));
        let target = if *encrypted {
            // Nonce, and any octets in place of what a key would make of the text.
            let nonce: Vec<u8> = name.bytes().cycle().take(12).collect();
            endpoint["labels"]["txt-encryption-nonce"] = json!(base64(&nonce));
            let sealed: Vec<u8> =
                nonce.into_iter().chain(format!("sealed-{name}-{rtype}-0123456789").bytes()).collect();
            format!("\"{}\"", base64(&sealed))
        } else {
            let labels = endpoint["labels"].as_object().cloned().unwrap_or_default();
            let labels: BTreeMap<String, Value> = labels.into_iter().collect();
            let words =
                labels.iter().map(|(key, value)| format!("external-dns/{key}={}", value.as_str().unwrap_or("")));
            format!("\"heritage=external-dns,{}\"", words.collect::<Vec<_>>().join(","))
        };
        let mut txt = json!({"dnsName": txt_name, "recordType": "TXT", "targets": [target],
            "labels": {"ownedRecord": name}});
        for key in ["setIdentifier", "providerSpecific"] {
            if let Some(value) = endpoint.get(key) {
                txt[key] = value.clone();
            }
        }
        txt
    }
}

/// Standard Base64 (RFC 4648 section 4).
pub(crate) fn base64(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in octets.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out
}
