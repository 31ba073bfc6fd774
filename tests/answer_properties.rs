//! Properties of `respond` over generated zones and messages, and what its work costs.

mod asking;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use asking::model::{ModelZone, Plain, Wanted};
use asking::query::{self, CLIENT_COOKIE, name_wire, plain};
use asking::reply::{Reply, flag};
use asking::{Asker, NOW, hosted, name, rules};
use domain::base::Message;
use domain::rdata::AllRecordData;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tenured::answer::{Outcome, Patience, Transport};
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::wire::presentation::rdata_from_text;
use tenured::wire::rdata::canonical;
use tenured::zone::content::Zone;
use tenured::zone::node::RRset;
use tenured::zone::snapshot::Snapshot;

const APEX: &str = "zone.test.";
const TYPES: [&str; 10] = ["A", "AAAA", "NS", "CNAME", "DNAME", "MX", "TXT", "SRV", "DS", "ALIAS"];
const TRANSPORTS: [Transport; 2] = [Transport::Udp, Transport::Tcp];

/// A name of few labels, so that names meet: below the apex, the apex, and sometimes outside.
fn any_name() -> impl Strategy<Value = String> {
    let label = select(vec!["a", "b", "c", "*", "A", "\\000", "long-label-of-many-octets-that-fills-replies"]);
    let below = vec(label, 0..4).prop_map(|labels| {
        labels.into_iter().map(|label| format!("{label}.")).chain([APEX.to_owned()]).collect::<String>()
    });
    prop_oneof![12 => below, 1 => Just("a.outside.test.".to_owned()), 1 => Just(".".to_owned())]
}

/// A name of the zone.
fn own_name() -> impl Strategy<Value = String> {
    any_name().prop_filter("of the zone", |name| name.ends_with(APEX))
}

/// RDATA of a type from a target and a number.
fn rdata(rtype: &str, target: &str, number: u8) -> String {
    match rtype {
        "A" => format!("192.0.2.{number}"),
        "AAAA" => format!("2001:db8::{number:x}"),
        "MX" => format!("{number} {target}"),
        "SRV" => format!("0 {number} 53 {target}"),
        "TXT" => format!("\"{}\"", "t".repeat(usize::from(number))),
        "DS" => format!("{number} 13 2 {}", "ab".repeat(32)),
        _ => target.to_owned(),
    }
}

/// A zone: an SOA, and records of which those that a zone file could not have are left out.
fn any_zone(types: &'static [&'static str]) -> impl Strategy<Value = ModelZone> {
    vec((own_name(), select(types), any_name(), any::<u8>()), 0..16).prop_map(|records| {
        let mut rrsets: BTreeMap<(Vec<u8>, Rtype), (Name, RRset)> = BTreeMap::new();
        let apex = name(APEX);
        let soa = ("SOA", "NS.zone.test. host.zone.test. 1 2 3 4 30".to_owned());
        let own = records.iter().map(|(owner, rtype, target, number)| {
            (owner.as_str(), (*rtype, rdata(rtype, target, *number)))
        });
        for (owner, (rtype, text)) in [(APEX, soa)].into_iter().chain(own) {
            let (owner, rtype): (Name, Rtype) = (name(owner), rtype.parse().expect("a type"));
            let at = |rrsets: &BTreeMap<_, (Name, RRset)>, wanted: Option<Rtype>| {
                rrsets.values().any(|(one, rrset)| *one == owner && wanted.is_none_or(|rtype| rrset.rtype == rtype))
            };
            let cname_beside = if rtype == Rtype::CNAME { at(&rrsets, None) } else { at(&rrsets, Some(Rtype::CNAME)) };
            if cname_beside || (rtype.is_singleton() && at(&rrsets, Some(rtype))) {
                continue;
            }
            let wire = rdata_from_text(rtype, &text, None).expect("RDATA");
            let ttl = 60 + u32::from(rtype.0);
            let (_, rrset) = rrsets
                .entry((owner.as_wire().to_vec(), rtype))
                .or_insert_with(|| (owner.clone(), RRset { rtype, ttl, records: Vec::new() }));
            let form = canonical(rtype, &wire);
            if rrset.records.iter().all(|one| canonical(rtype, one) != form) {
                rrset.records.push(wire);
            }
        }
        ModelZone { apex, rrsets: rrsets.into_values().collect() }
    })
}

/// The zone published.
fn publish(model: &ModelZone) -> Snapshot {
    let mut zone = Zone::new(model.apex.clone(), asking::key(), 1);
    for group in model.rrsets.chunk_by(|left, right| left.0 == right.0) {
        let rrsets: Vec<RRset> = group.iter().map(|(_, rrset)| published(rrset)).collect();
        zone.set(&group[0].0, &rrsets);
    }
    let mut snapshot = Snapshot::new(asking::key());
    snapshot.put_zone(Arc::new(zone));
    let known = |words: &[&str]| Some(hosted::family_answer(words, NOW));
    let entry = hosted::entry("a.outside.test.", known(&["resolved", "192.0.2.1", "192.0.2.2"]), known(&["nodata"]), NOW);
    snapshot.alias.put(entry);
    snapshot
}

fn published(rrset: &RRset) -> RRset {
    let mut rrset = rrset.clone();
    if rrset.rtype == Rtype::ALIAS {
        for record in &mut rrset.records {
            // Both families, and owner 1.
            record.extend_from_slice(&[3, 1, 0, 0, 0]);
        }
    }
    rrset
}

/// EDNS of a query: size, version, flags, options.
type Edns = Option<(u16, u8, u16, Vec<(u16, Vec<u8>)>)>;

fn any_edns() -> impl Strategy<Value = Edns> {
    let code = select(vec![3_u16, 8, 10, 11, 12, 15, 65_001]);
    let cookie = Just((10, CLIENT_COOKIE.to_vec()));
    let option = prop_oneof![2 => cookie, 3 => (code, vec(any::<u8>(), 0..42))];
    let size = select(vec![0_u16, 511, 512, 600, 1232, 4096, 65_535]);
    let version = prop_oneof![9 => Just(0_u8), 1 => any::<u8>()];
    proptest::option::of((size, version, any::<u16>(), vec(option, 0..3)))
}

/// A query that is well formed: header bits, question, EDNS.
fn any_query() -> impl Strategy<Value = (Vec<u8>, Edns)> {
    let known = select(TYPES.to_vec()).prop_map(query::type_number);
    let rtype = prop_oneof![8 => known, 1 => Just(255_u16), 1 => Just(6), 1 => Just(28), 1 => any::<u16>()];
    let class = prop_oneof![12 => Just(1_u16), 1 => any::<u16>()];
    let opcode = prop_oneof![12 => Just(0_u8), 1 => 0_u8..16];
    (any::<u16>(), opcode, any::<u8>(), any_name(), rtype, class, any_edns()).prop_map(
        |(id, opcode, bits, qname, rtype, class, edns)| {
            let mut octets = plain(id, &name_wire(&qname), rtype);
            octets[2] = opcode << 3 | bits & 7;
            octets[3] = bits & 0xf0;
            let end = octets.len();
            octets[end - 2..].copy_from_slice(&class.to_be_bytes());
            if let Some((size, version, flags, options)) = &edns {
                octets[11] = 1;
                octets.extend_from_slice(&[0, 0, 41]);
                octets.extend_from_slice(&size.to_be_bytes());
                octets.extend_from_slice(&[0, *version]);
                octets.extend_from_slice(&flags.to_be_bytes());
                let length: usize = options.iter().map(|(_, data)| 4 + data.len()).sum();
                octets.extend_from_slice(&(length as u16).to_be_bytes());
                for (code, data) in options {
                    octets.extend_from_slice(&code.to_be_bytes());
                    octets.extend_from_slice(&(data.len() as u16).to_be_bytes());
                    octets.extend_from_slice(data);
                }
            }
            (octets, edns)
        },
    )
}

/// Ways to spoil a message.
#[derive(Clone, Debug)]
enum Spoil {
    Set(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
}

fn any_spoil() -> impl Strategy<Value = Spoil> {
    prop_oneof![
        4 => (any::<usize>(), any::<u8>()).prop_map(|(at, octet)| Spoil::Set(at, octet)),
        2 => (0_usize..12, 0_u8..4).prop_map(|(at, octet)| Spoil::Set(at, octet)),
        1 => any::<usize>().prop_map(Spoil::Cut),
        1 => (any::<usize>(), vec(any::<u8>(), 1..20)).prop_map(|(at, octets)| Spoil::Insert(at, octets)),
    ]
}

fn spoiled(mut octets: Vec<u8>, spoils: &[Spoil]) -> Vec<u8> {
    for spoil in spoils {
        let length = octets.len().max(1);
        match spoil {
            Spoil::Set(at, octet) if !octets.is_empty() => octets[at % length] = *octet,
            Spoil::Set(..) => {}
            Spoil::Cut(at) => octets.truncate(at % length),
            Spoil::Insert(at, more) => {
                let at = at % (octets.len() + 1);
                octets.splice(at..at, more.iter().copied());
            }
        }
    }
    octets
}

/// What holds for every reply, whatever was asked. The reply as read, if there is one.
fn check_reply(outcome: &Outcome, octets: &[u8], sent: &[u8], transport: Transport) -> Option<Reply> {
    match outcome {
        Outcome::Silent(_) => {
            assert!(sent.len() < 12 || sent[2] & 0x80 != 0, "silence to a query");
            return None;
        }
        Outcome::Pending(_) => return None,
        Outcome::Reply { .. } => {}
    }
    assert!(sent.len() >= 12 && sent[2] & 0x80 == 0, "a reply to what is no query");
    read_by_domain(octets);
    let reply = Reply::read(octets).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reply.id.to_be_bytes(), sent[..2]);
    assert_eq!(reply.opcode(), u16::from(sent[2] >> 3 & 15));
    assert!(reply.has(flag::QR) && !reply.has(flag::RA | flag::Z | flag::AD | flag::CD), "flags {:x}", reply.flags);
    assert!(reply.question.is_empty() || sent[12..].starts_with(&reply.question), "another question");
    let limit = match (transport, reply.opt()) {
        (Transport::Tcp, _) => 65_535,
        (Transport::Udp, Some(_)) => 1232,
        (Transport::Udp, None) => 512,
    };
    assert!(octets.len() <= limit, "{} octets, limit {limit}", octets.len());
    assert!(reply.opt().is_none() || sent[10..12] != [0, 0], "OPT without being asked");
    assert!(reply.sections[2].iter().filter(|record| record.rtype == Rtype::OPT).count() <= 1);
    reply.options().expect("sound options");
    for section in &reply.sections {
        let mut seen = HashSet::new();
        for record in section {
            let form = (record.owner.to_ascii_lowercase(), record.rtype, canonical(record.rtype, &record.rdata));
            assert!(seen.insert(form), "a record stands twice");
        }
    }
    if matches!(reply.rcode(), 1 | 2 | 4 | 5 | 9 | 16 | 23) {
        assert!(!reply.has(flag::AA), "AA with an error");
        assert!((0..3).all(|section| reply.records(section).next().is_none()), "records with an error");
    }
    Some(reply)
}

/// Reads all of it, RDATA too, with a library that is not ours, to the last octet.
fn read_by_domain(octets: &[u8]) {
    let message = Message::from_octets(octets).expect("a header");
    let mut questions = message.question();
    for question in questions.by_ref() {
        question.expect("a question");
    }
    let mut section = questions.answer().expect("an answer section");
    loop {
        for record in section.by_ref() {
            let record = record.expect("a record");
            let any = record.to_any_record::<AllRecordData<_, _>>();
            assert!(any.is_ok(), "RDATA of {}: {:?}", record.rtype(), any.err());
        }
        let end = section.pos();
        match section.next_section().expect("a section") {
            Some(next) => section = next,
            None => {
                assert_eq!(end, octets.len(), "octets behind the last record");
                return;
            }
        }
    }
}

fn few(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The records of a section as the model has them, in an order of their own.
fn plain_records(reply: &Reply, section: usize) -> Vec<Plain> {
    let mut records: Vec<Plain> = reply
        .records(section)
        .map(|record| {
            let owner = Name::from_wire(&record.owner).expect("a name");
            (owner, record.rtype.0, record.ttl, canonical(record.rtype, &record.rdata))
        })
        .collect();
    records.sort();
    records
}

proptest! {
    #![proptest_config(few(1_000))]

    #[test]
    fn any_query_gets_a_sound_reply_with_opt_if_and_only_if_it_had_one(
        model in any_zone(&TYPES), asked in vec(any_query(), 1..6), ended in any::<bool>(),
    ) {
        let snapshot = publish(&model);
        let mut asker = Asker::new(rules());
        asker.patience = if ended { Patience::Ended } else { Patience::Wait };
        for (sent, edns) in &asked {
            for transport in TRANSPORTS {
                let (outcome, octets) = asker.send(&snapshot, sent, transport);
                prop_assert!(!ended || !matches!(outcome, Outcome::Pending(_)), "it waited its time");
                let Some(reply) = check_reply(&outcome, octets, sent, transport) else { continue };
                if matches!(sent[2] >> 3 & 15, 0 | 4 | 5) {
                    prop_assert_eq!(reply.opt().is_some(), edns.is_some(), "OPT if and only if asked");
                    prop_assert_eq!(&reply.question[..], &sent[12..12 + reply.question.len()]);
                    prop_assert!(!reply.question.is_empty(), "the question was read whole");
                }
                if let (Some((size, ..)), Transport::Udp) = (edns, transport) {
                    prop_assert!(octets.len() <= usize::from((*size).clamp(512, 1232)));
                }
                if !reply.has(flag::TC) {
                    check_owners(&model, &reply)?;
                }
            }
        }
    }

    #[test]
    fn any_spoiled_message_gets_a_sound_reply_or_silence(
        model in any_zone(&TYPES),
        asked in vec((any_query(), vec(any_spoil(), 1..5)), 1..8),
    ) {
        let snapshot = publish(&model);
        let mut asker = Asker::new(rules());
        for ((sent, _), spoils) in &asked {
            let sent = spoiled(sent.clone(), spoils);
            for transport in TRANSPORTS {
                let (outcome, octets) = asker.send(&snapshot, &sent, transport);
                check_reply(&outcome, octets, &sent, transport);
            }
        }
    }

    #[test]
    fn any_octets_get_a_sound_reply_or_silence(asked in vec(vec(any::<u8>(), 0..80), 1..20)) {
        let snapshot = hosted::snapshot(&[(".", ". 60 SOA a. b. 1 2 3 4 5\n. 60 NS a.\n")]);
        let mut asker = Asker::new(rules());
        for mut sent in asked {
            // Few random messages are queries.
            if sent.len() > 4 {
                sent[2] &= 0x07;
                sent[4] = 0;
            }
            for transport in TRANSPORTS {
                let (outcome, octets) = asker.send(&snapshot, &sent, transport);
                check_reply(&outcome, octets, &sent, transport);
            }
        }
    }

    #[test]
    fn answers_are_those_of_the_plain_model_of_the_lookup(
        model in any_zone(&["A", "NS", "CNAME", "CNAME", "DNAME", "MX", "TXT", "DS"]),
        asked in vec((own_name(), select(vec!["A", "NS", "CNAME", "DNAME", "MX", "DS", "SOA", "RRSIG", "ANY"])), 1..12),
    ) {
        let snapshot = publish(&model);
        let mut asker = Asker::new(rules());
        for (qname, qtype) in &asked {
            let number = query::type_number(qtype);
            let (outcome, octets) = asker.send(&snapshot, &plain(7, &name_wire(qname), number), Transport::Tcp);
            prop_assert!(matches!(outcome, Outcome::Reply { .. }), "a reply");
            let reply = Reply::read(octets).map_err(TestCaseError::fail)?;
            let mut wanted = model.ask(&name(qname), Rtype(number));
            wanted.answer.sort();
            wanted.authority.sort();
            let given = Wanted {
                rcode: reply.rcode(),
                aa: reply.has(flag::AA),
                answer: plain_records(&reply, 0),
                authority: plain_records(&reply, 1),
            };
            prop_assert_eq!(given, wanted, "{} {}", qname, qtype);
        }
    }
}

/// Whether each record's owner and RDATA, decompressed, are of the zone: as they stand, or by a wildcard, DNAME or ALIAS.
fn check_owners(model: &ModelZone, reply: &Reply) -> Result<(), TestCaseError> {
    let has_dname = reply.records(0).any(|record| record.rtype == Rtype::DNAME);
    for record in (0..3).flat_map(|section| reply.records(section)) {
        let owner = Name::from_wire(&record.owner).expect("a name");
        let of_owner = |one: &Name| *one == owner || one.is_wildcard();
        let flattened = matches!(record.rtype, Rtype::A | Rtype::AAAA)
            && model.rrsets.iter().any(|(one, rrset)| rrset.rtype == Rtype::ALIAS && of_owner(one));
        let made = record.rtype == Rtype::CNAME && has_dname;
        let form = canonical(record.rtype, &record.rdata);
        let own = model.rrsets.iter().any(|(one, rrset)| {
            of_owner(one)
                && rrset.rtype == record.rtype
                && rrset.records.iter().any(|rdata| canonical(rrset.rtype, rdata) == form)
        });
        prop_assert!(own || flattened || made, "{} is not of the zone", asking::text::line(record));
    }
    Ok(())
}

const SAMPLE: &str = "$TTL 3600
@ SOA ns1 hostmaster 1 7200 900 1209600 300
@ NS ns1
@ MX 10 mail
ns1 A 192.0.2.1
mail A 192.0.2.25
mail AAAA 2001:db8::25
www A 192.0.2.10
www AAAA 2001:db8::10
www TXT \"v=spf1 -all\"
www CAA 0 issue \"ca.example\"
*.wild A 192.0.2.11
*.wild TXT \"a wildcard\"
sub NS ns.sub
sub NS ns2.sub
sub DS 12345 13 2 aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899
ns.sub A 192.0.2.53
ns2.sub A 192.0.2.54
to CNAME www
_sip._tcp SRV 0 0 5060 mail
ptr PTR www
big TXT \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
old DNAME wild
";

#[test]
fn h13_h14_every_qtype_is_answered_where_a_name_exists_by_itself_by_a_wildcard_below_a_cut_and_not() {
    let snapshot = hosted::snapshot(&[("example.com.", SAMPLE)]);
    let mut asker = Asker::new(rules());
    // AA, and the counts of answer and authority of a type that is not there; then the types that are.
    let places: [(&str, u16, u8, [u8; 2], &[u16]); 4] = [
        ("www.example.com.", 0, flag_octet(flag::AA), [0, 1], &[1, 16, 28, 257]),
        ("x.wild.example.com.", 0, flag_octet(flag::AA), [0, 1], &[1, 16]),
        ("www.sub.example.com.", 0, 0, [0, 2], &[]),
        ("nosuch.example.com.", 3, flag_octet(flag::AA), [0, 1], &[]),
    ];
    for (qname, rcode, aa, counts, present) in places {
        let mut sent = plain(1, &name_wire(qname), 0);
        let at = sent.len() - 4;
        for qtype in 0..=u16::MAX {
            sent[at..at + 2].copy_from_slice(&qtype.to_be_bytes());
            let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Udp);
            let Outcome::Reply { rcode: given, .. } = outcome else { panic!("{qname} {qtype}: {outcome:?}") };
            let sections = (given.0, octets[2] & 4, [octets[7], octets[9]]);
            let wanted = match qtype {
                // OPT, NXNAME, TKEY, TSIG; AXFR, IXFR over UDP.
                41 | 128 | 249 | 250 => (1, 0, [0, 0]),
                252 => (4, 0, [0, 0]),
                251 => (5, 0, [0, 0]),
                255 if !present.is_empty() => (0, aa, [1, 0]),
                other if present.contains(&other) => (0, aa, [1, 0]),
                _ => (rcode, aa, counts),
            };
            assert_eq!(sections, wanted, "{qname} TYPE{qtype}");
        }
    }
}

fn flag_octet(flag: u16) -> u8 {
    (flag >> 8) as u8
}

#[test]
fn h5_a_message_cut_at_any_length_is_formerr_or_silence() {
    let snapshot = hosted::snapshot(&[("example.com.", SAMPLE)]);
    let mut asker = Asker::new(rules());
    for line in [
        "www.example.com. A do cookie=0 subnet=00011800c00002 nsid",
        "raw udp 2a2a 2800 0001 0001 0001 0001 name:example.com. 0006 0001 name:a.example.com. 00ff 00ff 00000000 0000 \
         c00c 0001 0001 00000e10 0004 c0000201 00 0029 04d0 00000000 0000",
        "raw udp 2a2a 0000 0001 0000 0000 0001 name:www.example.com. 0001 0001 name:key.example. 00fa 00ff 00000000 002d \
         name:hmac-sha256. 000000000000 012c 0010 16*aa 2a2a 0000 0000",
    ] {
        let whole = query::parse(line).octets;
        let question = 12 + asking::reply::read_name(&whole, 12).expect("a name").1 - 12 + 4;
        for length in 0..whole.len() {
            for transport in TRANSPORTS {
                let (outcome, octets) = asker.send(&snapshot, &whole[..length], transport);
                let Some(reply) = check_reply(&outcome, octets, &whole[..length], transport) else {
                    assert!(length < 12, "silence at {length}");
                    continue;
                };
                assert_eq!(reply.rcode(), 1, "{line} cut at {length}");
                assert_eq!(reply.question.is_empty(), length < question, "{line} cut at {length}");
            }
        }
    }
}

#[test]
fn h18_a_pointer_to_any_place_is_followed_backwards_or_formerr() {
    let snapshot = hosted::snapshot(&[("example.com.", SAMPLE)]);
    let mut asker = Asker::new(rules());
    let in_additional =
        query::parse("raw udp 2a2a 0000 0001 0000 0000 0001 name:www.example.com. 0001 0001 c000 0001 0001 00000000 0000");
    let in_question = query::parse("raw udp 2a2a 0000 0001 0000 0000 0000 c000 0001 0001");
    let start = in_additional.octets.len() - 12;
    for pointer in 0xc000..=0xffff_u16 {
        let mut sent = in_question.octets.clone();
        sent[12..14].copy_from_slice(&pointer.to_be_bytes());
        let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Udp);
        let reply = check_reply(&outcome, octets, &sent, Transport::Udp).expect("a reply");
        assert_eq!(reply.rcode(), 1, "{pointer:x} in the question");

        let mut sent = in_additional.octets.clone();
        sent[start..start + 2].copy_from_slice(&pointer.to_be_bytes());
        let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Udp);
        let reply = check_reply(&outcome, octets, &sent, Transport::Udp).expect("a reply");
        let target = usize::from(pointer & 0x3fff);
        // Backwards, behind the header, and what stands there is a name: the labels, or the zeros and small lengths of
        // type and class.
        let good = (12..start).contains(&target) && asking::reply::read_name(&sent, target).is_ok_and(|(_, end)| end <= start + 12);
        assert!(reply.rcode() == 1 || good, "{pointer:x} in ADDITIONAL");
        if [12, 16, 24, 28].contains(&target) {
            assert_eq!(reply.rcode(), 0, "{pointer:x} points to a label of the question");
        }
    }
}

/// The time of so many replies.
fn time(count: u32, mut send: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        send();
    }
    start.elapsed()
}

#[test]
fn an_rrset_of_a_thousand_names_is_whole_over_tcp_and_cheap() {
    let mut zone = SAMPLE.to_owned();
    for number in 0..1_000 {
        // Each has labels of its own, the worst that compression can meet.
        zone.push_str(&format!("list PTR n{number}.m{number}.o{number}.example.net.\n"));
        zone.push_str(&format!("mail2 MX 10 h{number}.mail\nh{number}.mail A 192.0.2.1\n"));
    }
    let snapshot = hosted::snapshot(&[("example.com.", &zone)]);
    let mut asker = Asker::new(rules());
    for (qname, rtype, additional) in [("list.example.com.", 12, 0), ("mail2.example.com.", 15, 13)] {
        let sent = plain(1, &name_wire(qname), rtype);
        let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Tcp);
        let reply = check_reply(&outcome, octets, &sent, Transport::Tcp).expect("a reply");
        assert_eq!(reply.records(0).count(), 1_000, "{qname}");
        assert_eq!(reply.records(2).count(), additional, "{qname}");
        assert!(!reply.has(flag::TC));
        let took = time(20, || {
            asker.send(&snapshot, &sent, Transport::Tcp);
        });
        println!("{qname}: {} octets, {:?} a reply", reply.octets, took / 20);
        // Far above what it takes; a writer that compares all names with all takes longer.
        assert!(took < Duration::from_secs(8), "{took:?} for 20 replies");
    }
}

#[test]
fn h17_a_name_first_written_behind_offset_16383_is_not_pointed_to() {
    let mut zone = SAMPLE.to_owned();
    for number in 0..700 {
        zone.push_str(&format!("_far._tcp SRV 0 {number} 53 target-{number:03}\n"));
    }
    for number in 0..13 {
        zone.push_str(&format!("target-{number:03} A 192.0.2.{number}\ntarget-{number:03} AAAA 2001:db8::{number}\n"));
    }
    let snapshot = hosted::snapshot(&[("example.com.", &zone)]);
    let mut asker = Asker::new(rules());
    let sent = plain(1, &name_wire("_far._tcp.example.com."), 33);
    let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Tcp);
    let reply = check_reply(&outcome, octets, &sent, Transport::Tcp).expect("a reply");
    assert_eq!(reply.records(0).count(), 700);
    let owners: Vec<String> =
        reply.records(2).map(|record| format!("{} {}", asking::text::name_text(&record.owner), record.rtype)).collect();
    let wanted: Vec<String> = (0..13)
        .flat_map(|number| ["A", "AAAA"].map(|rtype| format!("target-{number:03}.example.com. {rtype}")))
        .collect();
    assert_eq!(owners, wanted);
    assert!(reply.records(2).all(|record| record.at > 0x3fff), "behind what can be pointed to");
}

#[test]
fn h5_reading_the_worst_message_of_65535_octets_is_cheap() {
    let snapshot = hosted::snapshot(&[("example.com.", SAMPLE)]);
    let mut asker = Asker::new(rules());
    // An UPDATE full of records, each owner one pointer hop longer than the one before, to the most that is followed.
    let mut sent = query::parse("example.com. SOA opcode=5").octets;
    let mut records = 0_u16;
    let mut last = 12_u16;
    while sent.len() + 12 <= 65_535 {
        let here = sent.len() as u16;
        sent.extend_from_slice(&(0xc000 | last).to_be_bytes());
        sent.extend_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0, 0, 0]);
        records += 1;
        if records < 120 && here < 0x3fff {
            last = here;
        }
    }
    sent[8..10].copy_from_slice(&records.to_be_bytes());
    let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Tcp);
    let reply = check_reply(&outcome, octets, &sent, Transport::Tcp).expect("a reply");
    assert_eq!(reply.rcode(), 5, "UPDATE is refused");
    let took = time(5, || {
        asker.send(&snapshot, &sent, Transport::Tcp);
    });
    println!("{records} records: {:?} a reply", took / 5);
    assert!(took < Duration::from_secs(5), "{took:?} for 5 replies");
}

#[test]
fn a4_no_udp_reply_without_a_good_cookie_is_above_1232_octets_and_the_ratios_are_shown() {
    let mut zone = SAMPLE.to_owned();
    for number in 0..40 {
        zone.push_str(&format!("many TXT \"text {number} of many\"\nmany MX 10 m{number}.mail\nmany A 192.0.2.{number}\n"));
    }
    let snapshot = hosted::snapshot(&[("example.com.", &zone)]);
    let mut names: Vec<Name> = snapshot.zones().flat_map(|zone| zone.nodes()).map(|node| Name::from_wire(node.name()).expect("a name")).collect();
    names.extend([name("x.wild.example.com."), name("x.sub.example.com."), name("x.example.com."), name("x.old.example.com.")]);
    let mut asker = Asker::new(rules());
    asker.rules.edns_size = 4096;
    let mut worst: BTreeMap<String, (u64, usize, usize)> = BTreeMap::new();
    for qname in &names {
        for rtype in ["A", "NS", "CNAME", "SOA", "PTR", "MX", "TXT", "AAAA", "SRV", "DS", "DNAME", "CAA", "ANY"] {
            for edns in ["", " edns=4096", " edns=65535 do cookie=client"] {
                let sent = query::parse(&format!("{qname} {rtype}{edns}")).octets;
                let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Udp);
                assert!(matches!(outcome, Outcome::Reply { .. }));
                assert!(octets.len() <= 1232, "{qname} {rtype}{edns}: {} octets", octets.len());
                let ratio = (octets.len() * 100 / sent.len()) as u64;
                let entry = worst.entry(rtype.to_owned()).or_default();
                *entry = (*entry).max((ratio, octets.len(), sent.len()));
            }
        }
    }
    for (rtype, (ratio, reply, query)) in &worst {
        println!("{rtype}: at most {}.{:02} times the query ({reply} octets for {query})", ratio / 100, ratio % 100);
    }
}
