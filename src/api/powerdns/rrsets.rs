//! The `rrsets` of a request, read RRset by RRset into steps of a patch. What is wrong with one is told of that one.

use std::collections::HashSet;

use serde_json::Value;

use super::answer::{Failure, shown};
use super::content;
use super::fields::{self, Object};
use crate::ledger::attachment::Comment;
use crate::ledger::command::{Act, BadStep, Step, Values, Wish};
use crate::ledger::key::KeySettings;
use crate::ledger::limits::MAX_TTL;
use crate::ledger::owner::Labels;
use crate::ledger::wish;
use crate::wire::codes::Rtype;
use crate::wire::name::Name;
use crate::zone::node::MAX_RECORDS;

/// Most RRsets of one request.
pub(super) const MAX_RRSETS: usize = 50_000;
/// Most comments of one RRset.
const MAX_COMMENTS: usize = 256;
/// Longest comment, in octets.
const MAX_COMMENT: usize = 64 * 1024;
/// Types that only a signed zone has: this server does not sign yet.
const OF_DNSSEC: [Rtype; 6] = [Rtype::DS, Rtype::DNSKEY, Rtype::RRSIG, Rtype::NSEC, Rtype::NSEC3, Rtype(59)];
/// What a client is told of them.
pub(super) const NO_DNSSEC: &str = "DNSSEC is not available on this server yet";

/// Steps as they are read.
pub(super) type Steps = Vec<Result<Step, BadStep>>;

/// What RRsets are read for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    pub(super) apex: &'a Name,
    pub(super) key: &'a KeySettings,
    /// Whether each says what to do, as in a PATCH; without, all are written.
    pub(super) has_changetype: bool,
}

/// All RRsets of a list.
pub(super) fn read(list: &[Value], reading: Reading<'_>) -> Result<Steps, Failure> {
    if list.len() > MAX_RRSETS {
        return Err(Failure::unprocessable(format!("one request has at most {MAX_RRSETS} RRsets")));
    }
    let mut seen: HashSet<(Name, Rtype, &'static str)> = HashSet::new();
    let mut steps = Vec::with_capacity(list.len());
    for value in list {
        match one(value, reading, &mut seen) {
            Ok(None) => {}
            Ok(Some(step)) => steps.push(Ok(step)),
            Err(bad) => steps.push(Err(bad)),
        }
    }
    Ok(steps)
}

/// What is to be done with an RRset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Replace,
    Delete,
    Extend,
    Prune,
}

impl Change {
    fn of(text: &str) -> Option<Change> {
        match text.to_ascii_uppercase().as_str() {
            "REPLACE" => Some(Change::Replace),
            "DELETE" => Some(Change::Delete),
            "EXTEND" => Some(Change::Extend),
            "PRUNE" => Some(Change::Prune),
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Change::Replace => "REPLACE",
            Change::Delete => "DELETE",
            Change::Extend => "EXTEND",
            Change::Prune => "PRUNE",
        }
    }
}

fn one(
    value: &Value,
    reading: Reading<'_>,
    seen: &mut HashSet<(Name, Rtype, &'static str)>,
) -> Result<Option<Step>, BadStep> {
    let mut key = None;
    one_noting_key(value, reading, seen, &mut key).map_err(|error| BadStep { key, error })
}

fn one_noting_key(
    value: &Value,
    reading: Reading<'_>,
    seen: &mut HashSet<(Name, Rtype, &'static str)>,
    key: &mut Option<(Name, Rtype)>,
) -> Result<Option<Step>, String> {
    let Value::Object(object) = value else { return Err("Key 'rrsets' has an entry that is no Object".to_owned()) };
    let name = fields::name(fields::text(object, "name")?)?;
    let rtype = rtype(&name, fields::text(object, "type")?)?;
    let change = if reading.has_changetype {
        let text = fields::text(object, "changetype")?;
        Change::of(text).ok_or_else(|| format!("Changetype '{}' is not a valid value", shown(text)))?
    } else {
        Change::Replace
    };
    let about = |what: &str| format!("RRset {name} IN {rtype}: {what}");
    let is_set = matches!(change, Change::Replace | Change::Delete);
    if is_set && !seen.insert((name.clone(), rtype, change.text())) {
        return Err(format!("Duplicate RRset {name} IN {rtype} with changetype: {}", change.text()));
    }
    if !name.is_at_or_below(reading.apex) {
        // What is not there is as it should be.
        return if change == Change::Delete { Ok(None) } else { Err(about("Name is out of zone (Not in zone)")) };
    }
    *key = Some((name.clone(), rtype));
    if !reading.key.admits(&name, rtype) {
        return Err(about("not allowed for this key"));
    }
    let act = match change {
        Change::Delete => Act::Delete,
        Change::Replace => replace(object, &name, rtype, reading)?,
        Change::Extend | Change::Prune => {
            let Some(records) = fields::list(object, "records")?.filter(|records| !records.is_empty()) else {
                return Err("No record provided for PRUNE or EXTEND operation".to_owned());
            };
            let [record] = records.as_slice() else {
                return Err("Exactly one record should be provided for PRUNE or EXTEND operation".to_owned());
            };
            let ttl = ttl(object)?;
            let (record, _) = record_of(record, &name, rtype)?;
            if change == Change::Extend {
                check(&name, rtype, ttl, std::slice::from_ref(&record), reading)?;
                Act::Extend { record, ttl }
            } else {
                Act::Prune { record }
            }
        }
    };
    Ok(Some(Step { name, rtype, act }))
}

/// The type of an RRset; there are some that the door does not take.
fn rtype(name: &Name, text: &str) -> Result<Rtype, String> {
    if text.eq_ignore_ascii_case("LUA") || text.eq_ignore_ascii_case("TYPE65402") {
        return Err("Update of Lua records is not allowed".to_owned());
    }
    let rtype: Rtype = text.parse().map_err(|_| format!("RRset {name} IN {}: unknown type given", shown(text)))?;
    if rtype.is_meta() {
        return Err(format!("RRset {name} IN {rtype}: invalid type given"));
    }
    if OF_DNSSEC.contains(&rtype) {
        return Err(NO_DNSSEC.to_owned());
    }
    Ok(rtype)
}

fn replace(object: &Object, name: &Name, rtype: Rtype, reading: Reading<'_>) -> Result<Act, String> {
    let records = fields::list(object, "records")?;
    let comments = fields::list(object, "comments")?;
    if records.is_none() && comments.is_none() {
        return Err(format!("No change for RRset {name} IN {rtype}"));
    }
    let values = match records {
        None => None,
        Some(records) => Some(values(object, records, name, rtype, reading)?),
    };
    let comments = comments.map(|comments| read_comments(comments)).transpose()?;
    Ok(Act::Replace { values, comments })
}

fn values(
    object: &Object,
    records: &[Value],
    name: &Name,
    rtype: Rtype,
    reading: Reading<'_>,
) -> Result<Values, String> {
    let ttl = ttl(object)?;
    if records.len() > MAX_RECORDS {
        return Err(format!("RRset {name} IN {rtype}: at most {MAX_RECORDS} records"));
    }
    let mut values = Values { ttl, ..Values::default() };
    for record in records {
        let (rdata, text) = record_of(record, name, rtype)?;
        if reading.key.echo_written && content::show(rtype, &rdata) != text {
            values.written.push((rdata.clone(), text.to_owned()));
        }
        let Value::Object(fields) = record else { continue };
        let is_disabled =
            fields::flag(fields, "disabled", false).map_err(|error| format!("New RRsets are invalid: {error}"))?;
        if is_disabled { &mut values.disabled } else { &mut values.records }.push(rdata);
    }
    // Equal values are one; a value that is there both ways is served.
    wish::sort_records(rtype, &mut values.records);
    wish::sort_records(rtype, &mut values.disabled);
    let served = values.records.clone();
    values.disabled.retain(|one| !served.iter().any(|other| is_same(rtype, one, other)));
    values.written.sort();
    values.written.dedup_by(|later, earlier| later.0 == earlier.0);
    if !values.records.is_empty() {
        check(name, rtype, ttl, &values.records, reading)?;
    }
    Ok(values)
}

fn is_same(rtype: Rtype, left: &Vec<u8>, right: &Vec<u8>) -> bool {
    wish::same_records(rtype, std::slice::from_ref(left), std::slice::from_ref(right))
}

/// The data of a record and its text.
fn record_of<'a>(record: &'a Value, name: &Name, rtype: Rtype) -> Result<(Vec<u8>, &'a str), String> {
    let Value::Object(record) = record else { return Err("Key 'content' not present or not a String".to_owned()) };
    let text = fields::text(record, "content")?;
    Ok((content::read(name, rtype, text)?, text))
}

fn ttl(object: &Object) -> Result<u32, String> {
    let absent = || "New RRsets are invalid: Key 'ttl' not an Integer or not present".to_owned();
    let ttl = object.get("ttl").and_then(fields::number).ok_or_else(absent)?;
    u32::try_from(ttl)
        .ok()
        .filter(|ttl| *ttl <= MAX_TTL)
        .ok_or_else(|| "New RRsets are invalid: Key 'ttl' is not a positive Integer".to_owned())
}

/// The rules of an RRset by itself.
fn check(name: &Name, rtype: Rtype, ttl: u32, records: &[Vec<u8>], reading: Reading<'_>) -> Result<(), String> {
    let about = |what: &str| format!("RRset {name} IN {rtype}: {what}");
    if rtype.is_singleton() && records.len() > 1 {
        return Err(about("only one such record allowed"));
    }
    if matches!(rtype, Rtype::SOA | Rtype::NSEC3PARAM) && name != reading.apex {
        return Err(about("is only allowed at apex"));
    }
    let wish = Wish {
        zone: None,
        name: name.clone(),
        rtype,
        set_id: String::new(),
        ttl: Some(ttl),
        records: records.to_vec(),
        alias: None,
        share: false,
        labels: Labels::new(),
    };
    match wish::checked(wish) {
        Ok(_) => Ok(()),
        Err(problem) if rtype == Rtype::ALIAS => {
            let target = records.first().map(|record| content::show(rtype, record)).unwrap_or_default();
            Err(format!("Record {name}/{rtype} '{target}': {}", problem.detail))
        }
        Err(problem) => Err(about(&problem.detail)),
    }
}

fn read_comments(list: &[Value]) -> Result<Vec<Comment>, String> {
    if list.len() > MAX_COMMENTS {
        return Err(format!("an RRset has at most {MAX_COMMENTS} comments"));
    }
    let mut comments = Vec::with_capacity(list.len());
    for value in list {
        let Value::Object(object) = value else {
            return Err("Key 'comments' has an entry that is no Object".to_owned());
        };
        let content = fields::text_or(object, "content", "")?;
        let account = fields::text_or(object, "account", "")?;
        if content.len() > MAX_COMMENT || account.len() > MAX_COMMENT {
            return Err(format!("a comment has at most {MAX_COMMENT} octets"));
        }
        let modified = match object.get("modified_at") {
            None | Some(Value::Null) => 0,
            Some(value) => fields::number(value)
                .and_then(|number| u32::try_from(number).ok())
                .map(u64::from)
                .ok_or_else(|| "Key 'modified_at' is not a valid number".to_owned())?,
        };
        comments.push(Comment { content, account, modified });
    }
    comments.sort_by(|left, right| left.content.cmp(&right.content));
    Ok(comments)
}
