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
        Outcome::Limited => panic!("nothing is limited here"),
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
