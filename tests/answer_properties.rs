//! Properties of `respond` over generated zones and messages.

mod asking;

use asking::generate::{TRANSPORTS, TYPES, any_query, any_spoil, any_zone, own_name, publish, spoiled};
use asking::model::{ModelZone, Plain, Wanted};
use asking::query::{self, name_wire, plain};
use asking::reply::{Reply, flag};
use asking::sample::SAMPLE;
use asking::sound::check_reply;
use asking::{Asker, hosted, name, rules};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tenured::answer::{Outcome, Patience, Transport};
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::wire::rdata::canonical;

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

/// Whether each record's owner and RDATA, decompressed, are of the zone: as they stand, or by a wildcard, DNAME or
/// ALIAS.
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

#[test]
fn h13_h14_every_qtype_is_answered_where_a_name_exists_by_itself_by_a_wildcard_below_a_cut_and_not() {
    let snapshot = hosted::snapshot(&[("example.com.", SAMPLE)]);
    let mut asker = Asker::new(rules());
    // AA, and the counts of answer and authority of a type that is not there; then the types that are.
    type Place = (&'static str, u16, u8, [u8; 2], &'static [u16]);
    let places: [Place; 4] = [
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
        "raw udp 2a2a 0000 0001 0000 0000 0001 name:www.example.com. 0001 0001 name:key.example. 00fa 00ff 00000000 \
         002d name:hmac-sha256. 000000000000 012c 0010 16*aa 2a2a 0000 0000",
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
    let in_additional = query::parse(
        "raw udp 2a2a 0000 0001 0000 0000 0001 name:www.example.com. 0001 0001 c000 0001 0001 00000000 0000",
    );
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
        let good = (12..start).contains(&target)
            && asking::reply::read_name(&sent, target).is_ok_and(|(_, end)| end <= start + 12);
        assert!(reply.rcode() == 1 || good, "{pointer:x} in ADDITIONAL");
        if [12, 16, 24, 28].contains(&target) {
            assert_eq!(reply.rcode(), 0, "{pointer:x} points to a label of the question");
        }
    }
}
