//! Records as text, the form that all doors share, read into [`Wish`]es (ownership.md section 6, alias.md section 2).

use super::alias_options::{AliasOptions, StaticMode};
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

/// One value of a type in presentation form as RDATA.
pub fn read_value(rtype: Rtype, value: &str) -> Result<Vec<u8>, Problem> {
    if rtype == Rtype::TXT && !value.trim_start().starts_with('"') && !value.trim_start().starts_with("\\#") {
        return raw_text(value);
    }
    let plain;
    let value = match rtype {
        Rtype::A => {
            plain = without_leading_zeros(value);
            plain.as_str()
        }
        _ => value,
    };
    presentation::rdata_from_text(rtype, value, None).map_err(|error| {
        let code = if rtype == Rtype::ALIAS { Code::AliasTargetInvalid } else { Code::InvalidRecord };
        Problem::new(code, format!("{}: {error}", short(value)))
    })
}

/// `192.0.2.01` is the address 192.0.2.1 (RFC 1035 section 3.4.1: decimal numbers); four numbers of up to three digits
/// are read so, all else is left to the parser.
fn without_leading_zeros(value: &str) -> String {
    let numbers: Vec<&str> = value.trim().split('.').collect();
    let is_number = |text: &&str| (1..=3).contains(&text.len()) && text.bytes().all(|octet| octet.is_ascii_digit());
    if numbers.len() != 4 || !numbers.iter().all(is_number) {
        return value.to_owned();
    }
    let plain = |text: &&str| match text.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    };
    numbers.iter().map(plain).collect::<Vec<String>>().join(".")
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

/// The form in which records are compared; an ALIAS has that of a CNAME (alias.md section 1).
fn canonical(rtype: Rtype, record: &[u8]) -> Vec<u8> {
    rdata::canonical(if rtype == Rtype::ALIAS { Rtype::CNAME } else { rtype }, record)
}

/// The one order of records and no record twice, by canonical form (RFC 4034 section 6.2), spelling as written.
pub fn sort_records(rtype: Rtype, records: &mut Vec<Vec<u8>>) {
    if records.len() < 2 {
        return;
    }
    records.sort_by_cached_key(|record| canonical(rtype, record));
    records.dedup_by(|later, earlier| canonical(rtype, later) == canonical(rtype, earlier));
}

/// Whether two sorted sets of records are the same data.
pub fn same_records(rtype: Rtype, left: &[Vec<u8>], right: &[Vec<u8>]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| left == right || canonical(rtype, left) == canonical(rtype, right))
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
    if wish.alias.is_some_and(|options| options.wants_fallback() && options.static_mode != StaticMode::Fallback) {
        return Err(Problem::new(
            Code::AliasFallbackDisabled,
            "a policy says fallback: that needs `static: fallback`, and A or AAAA beside the ALIAS to fall back to",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, rtype: &str, values: &[&str]) -> RecordText {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        RecordText { name: name.to_owned(), rtype: rtype.to_owned(), values, ..RecordText::default() }
    }

    fn records(rtype: &str, values: &[&str]) -> Vec<Vec<u8>> {
        read(&text("www.example.com.", rtype, values)).expect("a record").records
    }

    fn code(rtype: &str, values: &[&str]) -> Code {
        read(&text("www.example.com.", rtype, values)).expect_err("no record").problem.code
    }

    #[test]
    fn spellings_of_one_value_are_one_value() {
        assert_eq!(records("A", &["192.0.2.01", "192.000.2.1", "192.0.2.1"]), [[192, 0, 2, 1]]);
        assert_eq!(records("TLSA", &["3 1 1 2A2b"]), records("TLSA", &["3 1 1 2a2B"]));
        assert_eq!(records("MX", &["10 Mail.example.com.", "10 mail.EXAMPLE.com."]).len(), 1);
        assert_eq!(records("TYPE1", &["\\# 4 C0000201"]), records("A", &["192.0.2.1"]));
        let (one, other) = (records("NS", &["b.example.", "a.example."]), records("NS", &["a.example.", "b.example."]));
        assert_eq!(one, other);
    }

    #[test]
    fn a_txt_without_quotes_is_raw_text() {
        let raw = "v=spf1 include:_spf.example.com ; a \"b\" -all";
        let wire = &records("TXT", &[raw])[0];
        assert_eq!((usize::from(wire[0]), &wire[1..]), (raw.len(), raw.as_bytes()));
        assert_eq!(records("TXT", &["\"v=spf1\" \"-all\""]), [b"\x06v=spf1\x04-all"]);
        let long = &records("TXT", &["x".repeat(600).as_str()])[0];
        assert_eq!((long.len(), long[0], long[256], long[512]), (603, 255, 255, 90));
        assert_eq!(records("TXT", &[""]), [[0]]);
        assert_eq!(code("TXT", &["x".repeat(66_000).as_str()]), Code::InvalidRecord);
    }

    #[test]
    fn what_is_no_record_says_why() {
        for (rtype, values, wanted) in [
            ("A", &[][..], Code::EmptyRrset),
            ("A", &["::1"], Code::InvalidRecord),
            ("A", &["192.0.2.256"], Code::InvalidRecord),
            ("CNAME", &["www"], Code::InvalidRecord),
            ("CNAME", &["a.example.", "b.example."], Code::InvalidRecord),
            ("ANY", &["\\# 0"], Code::InvalidRecord),
            ("WWW", &["x"], Code::InvalidRecord),
            ("ALIAS", &["a.example.", "b.example."], Code::AliasMultipleTargets),
            ("ALIAS", &["edge"], Code::AliasTargetInvalid),
            ("ALIAS", &["."], Code::AliasTargetInvalid),
            ("ALIAS", &["192.0.2.1."], Code::AliasTargetInvalid),
            ("ALIAS", &["*.example.net."], Code::AliasTargetInvalid),
            ("ALIAS", &["printer.local."], Code::AliasTargetSpecial),
            ("ALIAS", &["WWW.example.com."], Code::AliasSelf),
        ] {
            assert_eq!(code(rtype, values), wanted, "{rtype} {values:?}");
        }
        assert_eq!(records("ALIAS", &["Edge.example.net.", "edge.EXAMPLE.net."]).len(), 1);
    }

    #[test]
    fn names_are_relative_to_the_zone_that_the_request_names() {
        let read_in = |zone: &str, name: &str| {
            let zone = Some(zone.to_owned());
            read(&RecordText { zone, ..text(name, "A", &["192.0.2.1"]) }).map(|wish| wish.name.to_string())
        };
        assert_eq!(read_in("example.com", "@").as_deref(), Ok("example.com."));
        assert_eq!(read_in("example.com", "www").as_deref(), Ok("www.example.com."));
        assert_eq!(read_in("example.com.", "WWW.example.com").as_deref(), Ok("www.example.com."));
        let outside = read_in("example.com", "www.example.net.").expect_err("outside");
        assert_eq!(outside.problem.code, Code::NameOutOfZone);
    }

    #[test]
    fn ttls_end_where_rfc_2181_says() {
        let ttl = |seconds: i64| {
            let record = RecordText { ttl: Some(seconds), ..text("www.example.com.", "A", &["192.0.2.1"]) };
            read(&record).map(|wish| wish.ttl).map_err(|bad| bad.problem.code)
        };
        assert_eq!(ttl(0), Ok(Some(0)));
        assert_eq!(ttl(2_147_483_647), Ok(Some(MAX_TTL)));
        assert_eq!(ttl(2_147_483_648), Err(Code::TtlOutOfRange));
        assert_eq!(ttl(-1), Err(Code::TtlOutOfRange));
    }
}
