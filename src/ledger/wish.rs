//! Records as text, the form that all doors share, read into [`Wish`]es (ownership.md section 6, alias.md section 2).

use super::alias_options::AliasOptions;
use super::code::Code;
use super::command::{BadWish, Wish};
use super::limits::{MAX_LABELS, MAX_TEXT, MAX_TTL};
use super::owner::Labels;
use super::report::Problem;
use crate::wire::codes::Rtype;
use crate::wire::name::{Labels as NameLabels, Name};
use crate::wire::presentation;
use crate::wire::rdata;
use crate::zone::node::{MAX_RECORDS, MAX_RRSET_OCTETS};

/// A record set as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordText {
    /// The zone, if the request names it: then the name may be relative to it, or `@`.
    pub zone: Option<String>,
    /// The name: absolute with or without its final dot.
    pub name: String,
    /// The type: a mnemonic, `ALIAS`, or `TYPEn`.
    pub rtype: String,
    /// Tells claims of one owner for one RRset apart.
    pub set_id: Option<String>,
    /// Seconds.
    pub ttl: Option<i64>,
    /// Presentation form; a TXT value that does not begin with a quote is raw text.
    pub values: Vec<String>,
    /// Whether it may stand beside other owners' claims.
    pub share: bool,
    /// Labels.
    pub labels: Labels,
    /// Options of an ALIAS.
    pub alias: Option<AliasOptions>,
}

/// Reads a record set.
pub fn read(text: &RecordText) -> Result<Wish, BadWish> {
    let mut key = None;
    read_noting_key(text, &mut key).map_err(|problem| BadWish {
        name: text.name.chars().take(MAX_TEXT).collect(),
        rtype: text.rtype.chars().take(64).collect(),
        key,
        problem,
    })
}

/// Reads a name and a type as [`read`] does: for deletes.
pub fn read_key(zone: Option<&str>, name: &str, rtype: &str) -> Result<(Option<Name>, Name, Rtype), Problem> {
    let bad_name = |error| Problem::new(Code::InvalidRecord, format!("{}: {error}", name.escape_debug()));
    let zone = zone.map(Name::parse).transpose().map_err(bad_name)?;
    let owner = match &zone {
        Some(zone) => Name::parse_in(name, zone),
        None => Name::parse(name),
    }
    .map_err(bad_name)?;
    if let Some(zone) = zone.as_ref().filter(|zone| !owner.is_at_or_below(zone)) {
        return Err(Problem::new(Code::NameOutOfZone, format!("{owner} is not in the zone {zone}")));
    }
    let rtype: Rtype = rtype.parse().map_err(|error| Problem::new(Code::InvalidRecord, format!("{error}")))?;
    Ok((zone, owner, rtype))
}

fn read_noting_key(text: &RecordText, key: &mut Option<(Name, Rtype)>) -> Result<Wish, Problem> {
    let (zone, name, rtype) = read_key(text.zone.as_deref(), &text.name, &text.rtype)?;
    *key = Some((name.clone(), rtype));
    let ttl = match text.ttl {
        None => None,
        Some(seconds) => Some(read_ttl(seconds)?),
    };
    let mut records = Vec::with_capacity(text.values.len());
    for value in &text.values {
        records.push(read_value(rtype, value)?);
    }
    let wish = Wish {
        zone,
        rtype,
        set_id: text.set_id.clone().unwrap_or_default(),
        ttl,
        records,
        alias: text.alias,
        share: text.share,
        labels: text.labels.clone(),
        name,
    };
    checked(wish)
}

fn read_ttl(seconds: i64) -> Result<u32, Problem> {
    u32::try_from(seconds).ok().filter(|seconds| *seconds <= MAX_TTL).ok_or_else(|| {
        Problem::new(Code::TtlOutOfRange, format!("a TTL is a number of seconds from 0 to {MAX_TTL}, not {seconds}"))
    })
}

fn read_value(rtype: Rtype, value: &str) -> Result<Vec<u8>, Problem> {
    if rtype == Rtype::TXT && !value.trim_start().starts_with('"') && !value.trim_start().starts_with("\\#") {
        return raw_text(value);
    }
    presentation::rdata_from_text(rtype, value, None).map_err(|error| {
        let code = if rtype == Rtype::ALIAS { Code::AliasTargetInvalid } else { Code::InvalidRecord };
        Problem::new(code, format!("{}: {error}", short(value)))
    })
}

/// Text without quotes as the strings of a TXT, 255 octets each.
fn raw_text(value: &str) -> Result<Vec<u8>, Problem> {
    if value.is_empty() {
        return Ok(vec![0]);
    }
    let mut wire = Vec::with_capacity(value.len() + value.len() / 255 + 1);
    for part in value.as_bytes().chunks(255) {
        wire.push(part.len() as u8);
        wire.extend_from_slice(part);
    }
    if wire.len() > usize::from(u16::MAX) {
        return Err(Problem::new(Code::InvalidRecord, "the text of one TXT record is too long: 65,535 octets at most"));
    }
    Ok(wire)
}

fn short(value: &str) -> String {
    let cut: String = value.chars().take(80).collect();
    cut.escape_debug().to_string()
}

/// The rules of a record set by itself; sorts its records and drops repeats. Zone files come here too.
pub fn checked(mut wish: Wish) -> Result<Wish, Problem> {
    let rtype = wish.rtype;
    if rtype.is_meta() {
        return Err(Problem::new(Code::InvalidRecord, format!("{rtype} is a type of queries, no zone can hold it")));
    }
    if wish.ttl.is_some_and(|ttl| ttl > MAX_TTL) {
        return Err(Problem::new(Code::TtlOutOfRange, format!("a TTL is at most {MAX_TTL} seconds")));
    }
    if wish.records.is_empty() {
        return Err(Problem::new(
            Code::EmptyRrset,
            "a record set needs a value; to delete it, leave it out or use DELETE",
        ));
    }
    sort_records(rtype, &mut wish.records);
    check_size(rtype, &wish.records)?;
    if wish.share && rtype.is_singleton() {
        return Err(Problem::new(Code::InvalidRecord, format!("{rtype} cannot be shared: a name has one")));
    }
    if wish.set_id.len() > MAX_TEXT || wish.set_id.chars().any(char::is_control) {
        return Err(Problem::new(Code::LimitExceeded, format!("a setId has at most {MAX_TEXT} octets")));
    }
    check_labels(&wish.labels)?;
    if rtype == Rtype::ALIAS {
        check_alias(&wish)?;
        wish.alias.get_or_insert_default();
    } else if wish.alias.is_some() {
        return Err(Problem::new(Code::AliasOptionInvalid, "only a record of type ALIAS has `alias`"));
    }
    Ok(wish)
}

/// The one order of records and no record twice, by canonical form (RFC 4034 section 6.2), spelling as written.
pub fn sort_records(rtype: Rtype, records: &mut Vec<Vec<u8>>) {
    if records.len() < 2 {
        return;
    }
    records.sort_by_cached_key(|record| rdata::canonical(rtype, record));
    records.dedup_by(|later, earlier| rdata::canonical(rtype, later) == rdata::canonical(rtype, earlier));
}

/// Whether two sorted sets of records are the same data.
pub fn same_records(rtype: Rtype, left: &[Vec<u8>], right: &[Vec<u8>]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| left == right || rdata::canonical(rtype, left) == rdata::canonical(rtype, right))
}

fn check_size(rtype: Rtype, records: &[Vec<u8>]) -> Result<(), Problem> {
    if records.len() > MAX_RECORDS {
        return Err(Problem::new(Code::LimitExceeded, format!("a record set has at most {MAX_RECORDS} records")));
    }
    if records.iter().map(|record| record.len() + 2).sum::<usize>() > MAX_RRSET_OCTETS {
        return Err(Problem::new(Code::LimitExceeded, format!("a record set has at most {MAX_RRSET_OCTETS} octets")));
    }
    if rtype.is_singleton() && records.len() > 1 {
        let code = if rtype == Rtype::ALIAS { Code::AliasMultipleTargets } else { Code::InvalidRecord };
        return Err(Problem::new(code, format!("a name has one {rtype}, and here are {} values", records.len())));
    }
    Ok(())
}

/// Labels within their limits.
pub fn check_labels(labels: &Labels) -> Result<(), Problem> {
    let long = labels.iter().any(|(key, value)| key.is_empty() || key.len() > MAX_TEXT || value.len() > MAX_TEXT);
    if labels.len() > MAX_LABELS || long {
        return Err(Problem::new(
            Code::LimitExceeded,
            format!("there can be {MAX_LABELS} labels, with keys and values of at most {MAX_TEXT} octets"),
        ));
    }
    Ok(())
}

fn check_alias(wish: &Wish) -> Result<(), Problem> {
    let target = Name::from_wire(&wish.records[0])
        .map_err(|_| Problem::new(Code::AliasTargetInvalid, "the target of an ALIAS is one domain name"))?;
    let address = target.to_string().trim_end_matches('.').parse::<std::net::Ipv4Addr>().is_ok();
    if target.is_root() || address || NameLabels::of(target.as_wire()).any(|label| label == b"*") {
        return Err(Problem::new(
            Code::AliasTargetInvalid,
            format!("{target} cannot have addresses: the target of an ALIAS is a host name"),
        ));
    }
    let last = target.labels().last().unwrap_or_default();
    if [&b"localhost"[..], b"local", b"invalid", b"onion", b"alt"].contains(&last) {
        return Err(Problem::new(
            Code::AliasTargetSpecial,
            format!("{target} is a special-use name, no resolver has it"),
        ));
    }
    if target == wish.name {
        return Err(Problem::new(Code::AliasSelf, format!("{target} cannot be an ALIAS of itself")));
    }
    if wish.alias.is_some_and(|options| !options.a && !options.aaaa) {
        return Err(Problem::new(Code::AliasOptionInvalid, "an ALIAS has at least one of the families A and AAAA"));
    }
    Ok(())
}
