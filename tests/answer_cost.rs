//! What the work of `respond` costs at its worst, and how much larger than the query a reply can be.

mod asking;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use asking::query::{self, name_wire, plain};
use asking::reply::flag;
use asking::sample::SAMPLE;
use asking::sound::check_reply;
use asking::{Asker, hosted, name, rules};
use tenured::answer::{Outcome, Transport};
use tenured::wire::name::Name;

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
fn t10_what_does_not_fit_into_65535_octets_is_cut_at_rrset_borders_with_tc() {
    let mut zone = SAMPLE.to_owned();
    for number in 0..200 {
        zone.push_str(&format!("huge TYPE65280 \\# 200 {}\n", format!("{number:02x}").repeat(200)));
        zone.push_str(&format!("huge TYPE65281 \\# 200 {}\n", format!("{number:02x}").repeat(200)));
    }
    let snapshot = hosted::snapshot(&[("example.com.", &zone)]);
    let mut asker = Asker::new(rules());
    let sent = plain(1, &name_wire("huge.example.com."), 255);
    let (outcome, octets) = asker.send(&snapshot, &sent, Transport::Tcp);
    let reply = check_reply(&outcome, octets, &sent, Transport::Tcp).expect("a reply");
    assert!(reply.has(flag::TC));
    let types: Vec<u16> = reply.records(0).map(|record| record.rtype.0).collect();
    assert_eq!(types, vec![65_280; 200], "the first RRset whole, nothing of the second");
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
        zone.push_str(&format!(
            "many TXT \"text {number} of many\"\nmany MX 10 m{number}.mail\nmany A 192.0.2.{number}\n"
        ));
    }
    let snapshot = hosted::snapshot(&[("example.com.", &zone)]);
    let mut names: Vec<Name> = snapshot
        .zones()
        .flat_map(|zone| zone.nodes())
        .map(|node| Name::from_wire(node.name()).expect("a name"))
        .collect();
    names.extend([
        name("x.wild.example.com."),
        name("x.sub.example.com."),
        name("x.example.com."),
        name("x.old.example.com."),
    ]);
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
