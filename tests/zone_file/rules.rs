//! F6 to F8: what a whole zone must be.

use proptest::prelude::*;
use tenured::wire::codes::Rtype;
use tenured::wire::hashed::HashedName;
use tenured::wire::name::HashKey;
use tenured::zone::check::{Fault, check};
use tenured::zone::content::{Lookup, Zone};
use tenured::zone::file::MAX_WARNINGS;

use super::{HEAD, added, errors, lines, records, try_read, warnings};

#[test]
fn f6_a_zone_has_one_soa() {
    let found = lines(&try_read(b"; nothing\n\n@ 1 NS ns.example.net.\n").expect_err("no SOA"));
    assert_eq!(
        found,
        ["example.com.zone:1: the zone has no SOA record; expected one, as `@ SOA ns1 hostmaster 1 2h 15m 2w 5m`"]
    );
    assert_eq!(
        errors("@ 300 SOA ns.example.net. host 2 2 3 4 5\nsub 300 SOA ns.example.net. host 1 2 3 4 5\n"),
        [
            "example.com.zone:3: this is another SOA than the one in line 1; expected one in a zone",
            "example.com.zone:4: this is another SOA than the one in line 1; expected one in a zone",
        ]
    );
    // A transfer printed to a file ends with the SOA that it began with.
    assert_eq!(added("@ 300 SOA NS.example.net. HOST 1 2 3 4 5\n"), Vec::<String>::new());
}

#[test]
fn f6_cname_stands_alone() {
    assert_eq!(
        errors("a 1 CNAME t.example.\na 1 A 192.0.2.1\na 1 TXT x\n\n@ 1 CNAME t.example.\n"),
        [
            "example.com.zone:3: a.example.com. has a CNAME beside A; expected a CNAME alone",
            "example.com.zone:7: example.com. has a CNAME beside SOA; expected a CNAME alone (at the apex of a zone use ALIAS)",
        ]
    );
    assert_eq!(
        errors("a 1 CNAME t.example.\na 1 CNAME u.example.\nb 1 DNAME t.example.\nb 1 DNAME u.example.\n"),
        [
            "example.com.zone:3: a.example.com. has several CNAME records; expected one",
            "example.com.zone:5: b.example.com. has several DNAME records; expected one",
        ]
    );
}

#[test]
fn f6_alias_stands_beside_all_but_cname_and_addresses() {
    assert_eq!(added("a 1 ALIAS t.example.\na 1 TXT x\na 1 MX 1 m.example.\n").len(), 3);
    assert_eq!(
        errors("a 1 ALIAS t.example.\na 1 A 192.0.2.1\na 1 AAAA 2001:db8::1\nb 1 ALIAS t.\nb 1 CNAME u.\n"),
        [
            "example.com.zone:3: a.example.com. has an ALIAS beside A; expected the one or the other, since ALIAS gives addresses",
            "example.com.zone:3: a.example.com. has an ALIAS beside AAAA; expected the one or the other, since ALIAS gives addresses",
            "example.com.zone:7: b.example.com. has a CNAME beside ALIAS; expected a CNAME alone",
        ]
    );
    assert_eq!(
        errors("a 1 ALIAS t.example.\na 1 ANAME u.example.\n"),
        ["example.com.zone:3: a.example.com. has several ALIAS records; expected one",]
    );
}

#[test]
fn f6_rrsets_and_names_have_limits() {
    let addresses = |count: u32| -> String {
        (0..count).map(|number| format!("a 1 A 10.0.{}.{}\n", number / 256, number % 256)).collect()
    };
    assert_eq!(added(&addresses(4_096)).len(), 4_096);
    assert_eq!(
        errors(&addresses(4_097)),
        ["example.com.zone:3: a.example.com. has 4097 A records; expected at most 4096"]
    );
    // Each text takes 200 octets, one of length, and two of the record's length.
    let texts = |count: u32| -> String { (0..count).map(|number| format!("a 1 TXT \"{number:0200}\"\n")).collect() };
    assert_eq!(added(&texts(295)).len(), 295);
    assert_eq!(
        errors(&texts(296)),
        ["example.com.zone:3: the TXT records of a.example.com. take 60088 octets; expected at most 60000"]
    );
    let types =
        |count: u32| -> String { (0..count).map(|number| format!("a 1 TYPE{} \\# 0\n", 65_000 + number)).collect() };
    assert_eq!(added(&types(64)).len(), 64);
    assert_eq!(errors(&types(65)), ["example.com.zone:3: a.example.com. has records of 65 types; expected at most 64"]);
}

#[test]
fn f7_a_record_twice_is_kept_once_without_a_warning() {
    assert_eq!(added("a 1 MX 1 M.example.\nA 1 MX 1 m.EXAMPLE.\n"), ["a.example.com. 1 MX 1 M.example."]);
    assert_eq!(added("a 1 TXT x\na 1 TXT X\n").len(), 2);
    let twice: String = (0..60).map(|number| format!("a 1 A 192.0.2.{}\n", number % 30)).collect();
    assert_eq!(added(&twice).len(), 30);
}

#[test]
fn f7_of_different_ttls_the_lowest_is_taken() {
    let text = "a 60 A 192.0.2.1\na 30 A 192.0.2.2\na 90 A 192.0.2.3\n";
    assert_eq!(
        warnings(text),
        ["example.com.zone:4: A records of a.example.com. have different TTLs; the lowest, 30, is taken"]
    );
}

#[test]
fn f7_occluded_data_is_loaded_with_a_warning() {
    let text = "cut 1 NS ns.cut\nns.cut 1 A 192.0.2.1\ncut 1 DS 1 8 2 aa\ncut 1 TXT x\nwww.cut 1 A 192.0.2.2\n\
                d 1 DNAME t.example.\nd 1 A 192.0.2.3\nx.d 1 A 192.0.2.4\nboth 1 NS ns.example.net.\nboth 1 DNAME t.example.\n";
    assert_eq!(
        warnings(text),
        [
            "example.com.zone:6: TXT of cut.example.com. is not served, since it is at or below the zone cut cut.example.com.",
            "example.com.zone:7: A of www.cut.example.com. is not served, since it is at or below the zone cut cut.example.com.",
            "example.com.zone:10: A of x.d.example.com. is not served, since it is below the DNAME d.example.com.",
            "example.com.zone:12: both.example.com. has a DNAME and is a zone cut: the cut wins, the DNAME is not served",
        ]
    );
    let zone = try_read(format!("{HEAD}{text}").as_bytes()).expect("a zone");
    assert!(records(&zone).contains(&"www.cut.example.com. 1 A 192.0.2.2".to_owned()));
}

#[test]
fn f7_name_servers_in_the_zone_need_addresses() {
    let text = "a 1 NS ns.a\nb 1 NS ns\nc 1 NS ns.d\nd 1 NS ns.d\nns.d 1 AAAA 2001:db8::1\ne 1 NS ns.a\nf 1 NS x.w\n*.w 1 A 192.0.2.1\n\
                @ 300 NS ns.a\n";
    let wanted = [
        (3, "a.example.com. has the name server ns.a.example.com."),
        (4, "b.example.com. has the name server ns.example.com."),
    ];
    let mut wanted = wanted
        .map(|(line, text)| format!("example.com.zone:{line}: {text}, which is in this zone and has no address here"))
        .to_vec();
    // The RRset at the apex begins in line 2.
    wanted.insert(0, "example.com.zone:2: example.com. has the name server ns.a.example.com., which is in this zone and has no address here".to_owned());
    assert_eq!(warnings(text), wanted);
}

#[test]
fn f7_an_apex_has_name_servers_and_a_wildcard_has_none() {
    let zone = try_read(b"@ 1 SOA ns.example.net. host 1 2 3 4 5\n*.a 1 NS ns.example.net.\n*.b 1 DNAME t.example.\n")
        .expect("a zone");
    assert_eq!(
        lines(&zone.warnings),
        [
            "example.com.zone:1: example.com. has no NS; expected the name servers at the apex of the zone",
            "example.com.zone:2: *.a.example.com. is a wildcard and has NS, which resolvers read differently",
            "example.com.zone:3: *.b.example.com. is a wildcard and has DNAME, which resolvers read differently",
        ]
    );
}

#[test]
fn f8_foreign_names_and_signatures_are_left_out() {
    let text = "www.example.net. 1 A 192.0.2.1\na 1 NSEC b.example.com. A\nb 1 NSEC c.example.com. A\n\
                a 1 RRSIG A 8 3 1 20260101000000 20260101000000 1 example.com. AA==\n@ 1 NSEC3PARAM 1 0 0 -\na 1 TXT x\n";
    assert_eq!(
        warnings(text),
        [
            "example.com.zone:3: A of www.example.net. is left out, since it is not in the zone example.com.",
            "example.com.zone:4: 2 NSEC records are left out, since signatures are not taken from files",
            "example.com.zone:6: 1 RRSIG record is left out, since signatures are not taken from files",
            "example.com.zone:7: 1 NSEC3PARAM record is left out, since signatures are not taken from files",
        ]
    );
    let zone = try_read(format!("{HEAD}{text}").as_bytes()).expect("a zone");
    assert_eq!(records(&zone)[2..], ["a.example.com. 1 TXT \"x\""]);
}

#[test]
fn warnings_have_a_limit() {
    let text: String = (0..MAX_WARNINGS + 5).map(|number| format!("h{number}.example.net. 1 A 192.0.2.1\n")).collect();
    let found = warnings(&text);
    assert_eq!(found.len(), MAX_WARNINGS + 1);
    assert_eq!(found[MAX_WARNINGS], "example.com.zone:1002: 5 more warnings are not shown");
}

proptest! {
    /// The check calls occluded what no lookup gives, and nothing else.
    #[test]
    fn what_is_called_occluded_is_what_lookups_do_not_find(lines in prop::collection::vec(
        (prop::sample::select(vec!["", "a.", "b.", "*.", "a.a.", "b.a.", "*.a.", "a.b.", "a.b.a.", "a.*."]),
         prop::sample::select(vec!["NS ns.example.net.", "NS ns.a", "NS b.a", "DNAME t.example.", "A 192.0.2.1", "TXT x", "DS 1 8 2 aa"])),
        0..12)) {
        let text: String = lines.iter().map(|(owner, data)| format!("{owner}example.com. 300 {data}\n")).collect();
        let Ok(file) = try_read(format!("{HEAD}{text}").as_bytes()) else { return Ok(()) };
        let key = HashKey::new(1, 2);
        let mut zone = Zone::new(file.origin.clone(), key, 0);
        for group in file.rrsets.chunk_by(|left, right| left.0 == right.0) {
            let rrsets: Vec<_> = group.iter().map(|(_, rrset)| rrset.clone()).collect();
            zone.set(&group[0].0, &rrsets);
        }
        let issues = check(&file.origin, &file.rrsets);
        for (at, (name, rrset)) in file.rrsets.iter().enumerate() {
            let mut asked = HashedName::empty();
            prop_assert!(asked.load(key, name.as_wire()));
            let found = match zone.lookup(&asked, rrset.rtype == Rtype::DS) {
                Lookup::Exact(_) => true,
                Lookup::Cut(cut) => rrset.rtype == Rtype::NS && cut.name() == name.as_wire(),
                Lookup::Dname(_) => false,
                Lookup::Wildcard(_) | Lookup::NoName => unreachable!("the name is in the zone"),
            };
            let hidden = issues.iter().any(|issue| {
                issue.rrset == Some(at) && matches!(issue.fault, Fault::Occluded(..) | Fault::DnameAtCut)
            });
            let may_be_glue = rrset.rtype == Rtype::A;
            prop_assert!(found != hidden || (may_be_glue && !found), "{} {} {:?}\n{}", name, rrset.rtype, issues, text);
        }
    }
}
