//! What holds for every reply, whatever was asked.

use std::collections::HashSet;

use domain::base::Message;
use domain::rdata::AllRecordData;
use tenured::answer::{Outcome, Transport};
use tenured::wire::codes::Rtype;
use tenured::wire::rdata::canonical;

use super::reply::{Reply, flag};

/// What holds for every reply, whatever was asked. The reply as read, if there is one.
pub fn check_reply(outcome: &Outcome, octets: &[u8], sent: &[u8], transport: Transport) -> Option<Reply> {
    match outcome {
        Outcome::Silent(_) => {
            assert!(sent.len() < 12 || sent[2] & 0x80 != 0, "silence to a query");
            return None;
        }
        Outcome::Pending(_) => return None,
        Outcome::Limited { .. } => panic!("nothing is limited here"),
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
    check_denial(&reply);
    Some(reply)
}

/// L1, L8, L11, H8: what stands in AUTHORITY, and what AA says of it. A reply that was cut may lack it.
fn check_denial(reply: &Reply) {
    if !matches!(reply.rcode(), 0 | 3) || reply.has(flag::TC) || reply.question.is_empty() {
        return;
    }
    let types: HashSet<Rtype> = reply.records(1).map(|record| record.rtype).collect();
    let first = reply.records(1).next();
    let one_owner = reply.records(1).all(|record| first.is_some_and(|first| first.owner == record.owner));
    if reply.rcode() == 3 {
        assert!(types.contains(&Rtype::SOA) && reply.records(1).count() == 1, "NXDOMAIN without an SOA alone");
        assert!(reply.has(flag::AA), "NXDOMAIN without AA");
    }
    let answered = reply.records(0).next().is_some();
    match types.iter().copied().collect::<Vec<_>>()[..] {
        [] => assert!(answered, "neither an answer nor a reason"),
        [Rtype::SOA] => {
            let soa = first.expect("a record");
            let minimum = soa.rdata.last_chunk::<4>().map_or(0, |octets| u32::from_be_bytes(*octets));
            assert!(reply.records(1).count() == 1 && soa.ttl <= minimum, "TTL {} of a denial", soa.ttl);
            assert!(reply.has(flag::AA), "a denial without AA");
        }
        [Rtype::NS] => {
            assert!(one_owner, "a referral to two places");
            assert_eq!(reply.has(flag::AA), answered, "AA of a referral is that of the chain before it");
        }
        _ => panic!("{types:?} in AUTHORITY"),
    }
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
