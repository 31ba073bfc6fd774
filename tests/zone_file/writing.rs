//! F10: what is written reads back to the same content.

use proptest::prelude::*;
use tenured::wire::codes::Rtype;
use tenured::wire::name::{HashKey, Name};
use tenured::wire::rdata::canonical;
use tenured::zone::alias::AliasRecord;
use tenured::zone::content::Zone;
use tenured::zone::file::{AliasForm, NoInclude, WriteOptions, ZoneFile, read, write, write_file};
use tenured::zone::node::RRset;

use super::{HEAD, name, try_read};

/// The zone as it is published: ALIAS with its families.
fn published(file: &ZoneFile) -> Zone {
    let mut zone = Zone::new(file.origin.clone(), HashKey::new(1, 2), 0);
    for group in file.rrsets.chunk_by(|left, right| left.0 == right.0) {
        let rrsets: Vec<RRset> = group
            .iter()
            .map(|(_, rrset)| {
                let mut rrset = rrset.clone();
                if rrset.rtype == Rtype::ALIAS {
                    for rdata in &mut rrset.records {
                        *rdata = AliasRecord { aaaa: false, ..AliasRecord::plain(rdata.clone(), vec![7]) }.encode();
                    }
                }
                rrset
            })
            .collect();
        zone.set(&group[0].0, &rrsets);
    }
    zone
}

fn written(zone: &Zone, aliases: AliasForm) -> String {
    let mut out = String::new();
    write(&mut out, zone, WriteOptions { aliases }).expect("a String takes all text");
    out
}

#[test]
fn a_written_zone_begins_with_its_soa_and_goes_on_in_canonical_order() {
    let text =
        "b 300 A 192.0.2.1\na 60 TXT \"x y\" z\na.b 60 MX 1 @\n@ 300 ALIAS b\n@ 300 CAA 0 issue \"ca.example\"\n";
    let file = try_read(format!("{HEAD}{text}").as_bytes()).expect("a zone");
    let wanted = "$ORIGIN example.com.\n$TTL 300\n\
        @\tIN\tSOA\tns.example.net. host.example.com. 1 2 3 4 5\n@\tIN\tNS\tns.example.net.\n\
        @\tIN\tCAA\t0 issue \"ca.example\"\n@\tIN\tALIAS\tb.example.com.\na\t60\tIN\tTXT\t\"x y\" \"z\"\n\
        b\tIN\tA\t192.0.2.1\na.b\t60\tIN\tMX\t1 example.com.\n";
    let zone = published(&file);
    assert_eq!(written(&zone, AliasForm::Alias), wanted);
    assert_eq!(written(&zone, AliasForm::Aname), wanted.replace("ALIAS", "ANAME"));
    let generic = wanted.replace("ALIAS\tb.example.com.", "TYPE65401\t\\# 15 0162076578616d706c6503636f6d00");
    assert_eq!(written(&zone, AliasForm::Generic), generic);
}

#[test]
fn the_samples_read_back_to_the_same_content() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/zones")).expect("the samples") {
        let path = entry.expect("an entry").path();
        let origin = name(path.file_stem().and_then(|stem| stem.to_str()).expect("a name"));
        let file = read(&std::fs::read(&path).expect("a sample"), "x", Some(&origin), &mut NoInclude).expect("a zone");
        for aliases in [AliasForm::Alias, AliasForm::Aname, AliasForm::Generic] {
            let text = written(&published(&file), aliases);
            let again =
                read(text.as_bytes(), "x", None, &mut NoInclude).unwrap_or_else(|error| panic!("{error:#?}\n{text}"));
            assert_eq!(again, file, "{text}");
            let mut of_file = String::new();
            write_file(&mut of_file, &file, WriteOptions { aliases }).expect("a String takes all text");
            assert_eq!(of_file, text);
        }
    }
}

#[test]
fn data_that_its_printer_leaves_unescaped_is_written_as_octets() {
    let file = try_read(format!("{HEAD}a 300 HTTPS 1 . alpn=\"\\008h3\"\n").as_bytes()).expect("a zone");
    let text = written(&published(&file), AliasForm::Alias);
    assert!(text.ends_with("a\tIN\tHTTPS\t\\# 11 0001000001000403086833\n"), "{text}");
    assert_eq!(read(text.as_bytes(), "x", None, &mut NoInclude).map(|again| again.rrsets), Ok(file.rrsets));
}

/// Labels of any octets, among them those that text escapes.
fn label() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec![
            &b"*"[..],
            b"@",
            b".",
            b" ",
            b"\0",
            b"\xff",
            b"$x",
            b"a;b",
            b"(",
            b"\"",
            b"\\",
            b"300",
            b"in",
            b"\n"
        ])
        .prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 1..5),
    ]
}

fn wire_name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(label(), 0..4).prop_map(|labels| {
        let mut wire: Vec<u8> = labels.iter().flat_map(|label| [&[label.len() as u8], &label[..]].concat()).collect();
        wire.push(0);
        wire
    })
}

fn strings() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..4)
        .prop_map(|strings| strings.iter().flat_map(|one| [&[one.len() as u8], &one[..]].concat()).collect())
}

/// A type and its data.
fn record() -> impl Strategy<Value = (Rtype, Vec<u8>)> {
    let name_types = vec![Rtype::NS, Rtype::PTR, Rtype::CNAME, Rtype::DNAME, Rtype::ALIAS];
    prop_oneof![
        any::<[u8; 4]>().prop_map(|octets| (Rtype::A, octets.to_vec())),
        any::<[u8; 16]>().prop_map(|octets| (Rtype::AAAA, octets.to_vec())),
        (prop::sample::select(name_types), wire_name()),
        (any::<u16>(), wire_name()).prop_map(|(number, name)| (Rtype::MX, [&number.to_be_bytes()[..], &name].concat())),
        (any::<[u8; 6]>(), wire_name()).prop_map(|(numbers, name)| (Rtype::SRV, [&numbers[..], &name].concat())),
        strings().prop_map(|data| (Rtype::TXT, data)),
        (any::<[u8; 4]>(), prop::collection::vec(any::<u8>(), 0..9), wire_name()).prop_map(|(numbers, text, name)| {
            let text = [&[text.len() as u8], &text[..]].concat();
            (Rtype::NAPTR, [&numbers[..], &text, &text, &text, &name].concat())
        }),
        (any::<u8>(), prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(flags, value)| { (Rtype::CAA, [&[flags, 5][..], b"issue", &value].concat()) }),
        (any::<u16>(), wire_name(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(number, name, value)| {
            let parameter = [&[2, 155, 0, value.len() as u8][..], &value].concat();
            (Rtype::SVCB, [&number.to_be_bytes()[..], &name, &parameter].concat())
        }),
        (prop::sample::select(vec![43, 44, 48, 52, 61, 99, 65_280]), prop::collection::vec(any::<u8>(), 5..30))
            .prop_map(|(rtype, octets)| (Rtype(rtype), octets)),
    ]
}

/// A zone file's content that its rules accept.
fn content() -> impl Strategy<Value = ZoneFile> {
    let node = (prop::collection::vec(label(), 0..4), prop::collection::vec((record(), 0_u32..4), 0..5));
    prop::collection::vec(node, 0..12).prop_map(|nodes| {
        let head = try_read(HEAD.as_bytes()).expect("the head");
        let mut rrsets = head.rrsets;
        for (labels, records) in nodes {
            let owner = labels.iter().try_fold(head.origin.clone(), |name, label| name.child(label));
            let Ok(owner) = owner else { continue };
            for ((rtype, rdata), ttl) in records {
                add(&mut rrsets, &owner, rtype, ttl, rdata);
            }
        }
        rrsets.sort_by(|left, right| (&left.0, left.1.rtype).cmp(&(&right.0, right.1.rtype)));
        ZoneFile { rrsets, warnings: Vec::new(), ..head }
    })
}

fn add(rrsets: &mut Vec<(Name, RRset)>, owner: &Name, rtype: Rtype, ttl: u32, rdata: Vec<u8>) {
    let exclusive = |rtype| matches!(rtype, Rtype::CNAME | Rtype::ALIAS);
    let there: Vec<Rtype> = rrsets.iter().filter(|(name, _)| name == owner).map(|(_, rrset)| rrset.rtype).collect();
    if there.iter().any(|other| *other != rtype && (exclusive(rtype) || exclusive(*other))) {
        return;
    }
    match rrsets.iter_mut().find(|(name, rrset)| name == owner && rrset.rtype == rtype) {
        Some((_, rrset)) => {
            let known = rrset.records.iter().any(|one| canonical(rtype, one) == canonical(rtype, &rdata));
            if !known && !rtype.is_singleton() {
                rrset.records.push(rdata);
            }
        }
        None => rrsets.push((owner.clone(), RRset { rtype, ttl, records: vec![rdata] })),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Any zone, whatever octets its labels and texts have, is read back as it was.
    #[test]
    fn a_written_zone_reads_back_to_the_same_content(file in content()) {
        // Data that its type's rules do not admit cannot have come into a zone.
        let mut file = file;
        for (_, rrset) in &mut file.rrsets {
            rrset.records.retain(|rdata| tenured::wire::presentation::checked(rrset.rtype, rdata.clone()).is_ok());
        }
        file.rrsets.retain(|(_, rrset)| !rrset.records.is_empty());
        let text = written(&published(&file), AliasForm::Alias);
        let again = read(text.as_bytes(), "x", None, &mut NoInclude);
        let again = again.map(|again| (again.origin, again.rrsets));
        prop_assert_eq!(again, Ok((file.origin, file.rrsets)), "{}", text);
    }
}
