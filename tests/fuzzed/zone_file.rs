//! Text as a zone file: it is refused with places, or what it loads reads back to the same content.

use tenured::wire::codes::Rtype;
use tenured::wire::name::{HashKey, Name};
use tenured::zone::alias::AliasRecord;
use tenured::zone::content::Zone;
use tenured::zone::file::{
    AliasForm, Finding, MAX_ERRORS, MAX_WARNINGS, NoInclude, WriteOptions, ZoneFile, read, write, write_file,
};
use tenured::zone::node::RRset;

/// Records above which a zone is not written back: `$GENERATE` makes many of few octets, and none of them is new.
const MANY: usize = 2_000;

/// Whether a few octets may stand for very many records: those cost time, as the limits of `$GENERATE` say, and find nothing.
fn is_long(input: &[u8]) -> bool {
    input.split(|octet| *octet == b'\n').any(|line| {
        let generates = line.windows(9).any(|octets| octets.eq_ignore_ascii_case(b"$GENERATE"));
        generates && line.windows(4).any(|octets| octets.iter().all(u8::is_ascii_digit))
    })
}

/// All of the input is the file.
pub fn run(input: &[u8]) {
    if is_long(input) {
        return;
    }
    let origin = Name::parse("example.com").expect("a name");
    let file = match read(input, "zone", Some(&origin), &mut NoInclude) {
        Ok(file) => file,
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= MAX_ERRORS, "{} errors", errors.len());
            return errors.iter().for_each(check_finding);
        }
    };
    assert!(file.warnings.len() <= MAX_WARNINGS + 1, "{} warnings", file.warnings.len());
    file.warnings.iter().for_each(check_finding);
    check_content(&file);
    if file.rrsets.iter().map(|(_, rrset)| rrset.records.len()).sum::<usize>() > MANY {
        return;
    }
    let zone = published(&file);
    for aliases in [AliasForm::Alias, AliasForm::Aname, AliasForm::Generic] {
        let mut text = String::new();
        write_file(&mut text, &file, WriteOptions { aliases }).expect("a String takes all text");
        let again = read(text.as_bytes(), "zone", None, &mut NoInclude);
        let again = again.map(|again| (again.origin, again.rrsets)).map_err(|errors| errors[0].to_string());
        assert_eq!(again, Ok((file.origin.clone(), file.rrsets.clone())), "{text}");
        let mut of_zone = String::new();
        write(&mut of_zone, &zone, WriteOptions { aliases }).expect("a String takes all text");
        assert_eq!(of_zone, text);
    }
}

fn check_finding(finding: &Finding) {
    assert!(finding.line > 0 && !finding.text.is_empty(), "{finding:?}");
    let shown = finding.to_string();
    assert!(!shown.contains(char::is_control), "{shown:?} has control characters");
}

/// What every zone has that is loaded.
fn check_content(file: &ZoneFile) {
    let soa: Vec<_> = file.rrsets.iter().filter(|(_, rrset)| rrset.rtype == Rtype::SOA).collect();
    assert!(
        matches!(&soa[..], [(name, rrset)] if *name == file.origin && rrset.records.len() == 1),
        "one SOA, at the apex"
    );
    for (name, rrset) in &file.rrsets {
        assert!(name.is_at_or_below(&file.origin), "{name} is outside");
        assert!(rrset.ttl <= 0x7fff_ffff && !rrset.records.is_empty(), "{name} {rrset:?}");
        assert!(!rrset.rtype.is_meta(), "{name} {}", rrset.rtype);
    }
    let keys = file.rrsets.iter().map(|(name, rrset)| (name.sort_key(&file.origin).expect("at or below"), rrset.rtype));
    assert!(keys.is_sorted_by(|left, right| left < right), "in canonical order, no RRset twice");
}

/// The zone as it is published: ALIAS with its families.
fn published(file: &ZoneFile) -> Zone {
    let mut zone = Zone::new(file.origin.clone(), HashKey::new(1, 2), 0);
    for group in file.rrsets.chunk_by(|left, right| left.0 == right.0) {
        let mut here: Vec<RRset> = group.iter().map(|(_, rrset)| rrset.clone()).collect();
        for rrset in here.iter_mut().filter(|rrset| rrset.rtype == Rtype::ALIAS) {
            for rdata in &mut rrset.records {
                let target = std::mem::take(rdata);
                *rdata = AliasRecord::plain(target, vec![7]).encode();
            }
        }
        zone.set(&group[0].0, &here);
    }
    zone
}
