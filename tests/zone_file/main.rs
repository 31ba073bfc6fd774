//! Zone files: what is read, what is refused, what is warned about, and that what is written reads back.

mod reading;
mod rules;
mod samples;
mod writing;

use tenured::wire::name::Name;
use tenured::wire::presentation::rdata_to_text;
use tenured::zone::file::{Finding, NoInclude, ZoneFile, read};

/// A SOA and an NS, so that a zone of them and anything else has no warning of its own.
const HEAD: &str = "@ 300 SOA ns.example.net. host 1 2 3 4 5\n@ 300 NS ns.example.net.\n";

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn try_read(text: &[u8]) -> Result<ZoneFile, Vec<Finding>> {
    read(text, "example.com.zone", Some(&name("example.com")), &mut NoInclude)
}

/// The records of a zone as `owner TTL type data`, one a line.
fn records(zone: &ZoneFile) -> Vec<String> {
    let of = |(owner, rrset): &(Name, tenured::zone::node::RRset)| {
        let line =
            |rdata: &Vec<u8>| format!("{owner} {} {} {}", rrset.ttl, rrset.rtype, rdata_to_text(rrset.rtype, rdata));
        rrset.records.iter().map(line).collect::<Vec<_>>()
    };
    zone.rrsets.iter().flat_map(of).collect()
}

fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(Finding::to_string).collect()
}

/// The records that `text` adds to those of [`HEAD`], without a warning.
#[track_caller]
fn added(text: &str) -> Vec<String> {
    let zone = try_read(format!("{HEAD}{text}").as_bytes()).unwrap_or_else(|errors| panic!("{:#?}", lines(&errors)));
    assert_eq!(lines(&zone.warnings), Vec::<String>::new());
    let head = records(&try_read(HEAD.as_bytes()).expect("the head"));
    records(&zone).into_iter().filter(|record| !head.contains(record)).collect()
}

/// The errors of [`HEAD`] and `text`, whose first line is line 3.
#[track_caller]
fn errors(text: &str) -> Vec<String> {
    lines(&try_read(format!("{HEAD}{text}").as_bytes()).expect_err("an error"))
}

/// The warnings, likewise, of a zone that is loaded.
#[track_caller]
fn warnings(text: &str) -> Vec<String> {
    let zone = try_read(format!("{HEAD}{text}").as_bytes()).unwrap_or_else(|errors| panic!("{:#?}", lines(&errors)));
    lines(&zone.warnings)
}
