//! Judges replies by what a shared case wants; the README of the cases says what their fields mean.

use std::collections::HashSet;

use serde_json::Value;
use tenured::answer::Outcome;
use tenured::wire::codes::Rtype;
use tenured::wire::name::Name;
use tenured::wire::presentation::rdata_from_text;
use tenured::wire::rdata::canonical;

use super::name;
use super::query::{hex, type_number};
use super::reply::{Record, Reply, flag};
use super::text::{line, rcode_name};

/// A field of a case.
pub fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} in {case}"))
}

/// A record as it is compared: owner and RDATA in canonical form.
type Canonical = (Name, u32, u16, Vec<u8>);

fn of_reply(record: &Record) -> Canonical {
    let owner = Name::from_wire(&record.owner).expect("a name");
    (owner, record.ttl, record.rtype.0, canonical(record.rtype, &record.rdata))
}

/// From `owner TTL IN TYPE rdata`.
fn of_text(text: &str) -> Canonical {
    let mut words = text.splitn(5, ' ');
    let mut next = || words.next().unwrap_or_else(|| panic!("a record instead of `{text}`"));
    let (owner, ttl, _, rtype, rdata) = (next(), next(), next(), next(), next());
    let rtype = Rtype(type_number(rtype));
    let rdata = rdata_from_text(rtype, rdata, None).unwrap_or_else(|error| panic!("{text}: {error}"));
    (name(owner), ttl.parse().expect("a TTL"), rtype.0, canonical(rtype, &rdata))
}

fn records(value: &Value) -> Vec<Canonical> {
    let texts = value.as_array().map_or(&[][..], Vec::as_slice);
    texts.iter().map(|text| of_text(text.as_str().expect("a record"))).collect()
}

fn of_section(reply: &Reply, section: usize) -> Vec<Canonical> {
    reply.records(section).map(of_reply).collect()
}

fn sorted(mut records: Vec<Canonical>) -> Vec<Canonical> {
    records.sort();
    records
}

/// How ferret and gap cases are asked.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub tcp: bool,
    pub edns: u16,
}

pub const WAYS: [Way; 3] = [Way { tcp: false, edns: 0 }, Way { tcp: true, edns: 0 }, Way { tcp: false, edns: 1232 }];

/// What is wrong with the reply to a case.
pub fn judge_lookup(case: &Value, question: &[u8], reply: &Reply, way: Way) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |good: bool, fault: &dyn Fn() -> String| {
        if !good {
            faults.push(fault());
        }
    };
    let safe = case["status"] == "safe";
    let may_truncate = case["tc"] == true && !way.tcp;
    let wrong = flag::RD | flag::RA | flag::Z | flag::AD | flag::CD;
    check(reply.has(flag::QR) && !reply.has(wrong) && reply.opcode() == 0, &|| format!("flags {:x}", reply.flags));
    check(!reply.has(flag::TC) || may_truncate || safe, &|| "TC set".to_owned());
    check(reply.question == question, &|| "question differs".to_owned());
    check(reply.opt().is_some() == (way.edns > 0), &|| "OPT".to_owned());
    let rcode = rcode_name(reply.rcode());
    let rcodes = case["rcode"].as_array().map_or(std::slice::from_ref(&case["rcode"]), Vec::as_slice);
    check(rcodes.iter().any(|one| *one == rcode), &|| format!("rcode {rcode}, want {}", case["rcode"]));
    if let Some(aa) = case["aa"].as_bool() {
        check(reply.has(flag::AA) == aa, &|| format!("AA is not {aa}"));
    }
    let answer = of_section(reply, 0);
    if safe {
        let begin: Vec<Canonical> = records(&case["answer_begins"]).into_iter().take(answer.len()).collect();
        check(answer.starts_with(&begin), &|| "answer begins otherwise".to_owned());
        return faults;
    }
    check(is_in_order(text(case, "qname"), reply), &|| "answer out of order".to_owned());
    check(no_repeat(&answer), &|| "answer: a record twice".to_owned());
    let over_tcp = case.get("tcp_answer").filter(|_| way.tcp || may_truncate);
    let want = records(over_tcp.unwrap_or(&case["answer"]));
    if reply.has(flag::TC) && may_truncate {
        check(answer.iter().all(|record| want.contains(record)), &|| "answer: not wanted".to_owned());
        return faults;
    }
    check(!may_truncate || way.edns > 0, &|| "TC clear, but the answer cannot fit".to_owned());
    match case["answer_one_of"].as_array().filter(|_| !way.tcp) {
        Some(sets) => {
            let answer = sorted(answer);
            check(sets.iter().any(|one| sorted(records(one)) == answer), &|| "answer is none of the wanted".to_owned());
        }
        None => check(sorted(answer) == sorted(want), &|| {
            format!("answer {:?}, want {}", reply.records(0).map(line).collect::<Vec<_>>(), case["answer"])
        }),
    }
    if case.get("authority").is_some() {
        check(sorted(of_section(reply, 1)) == sorted(records(&case["authority"])), &|| "authority".to_owned());
    }
    let additional = of_section(reply, 2);
    let (required, allowed) = (records(&case["additional_required"]), records(&case["additional_allowed"]));
    check(required.iter().all(|record| additional.contains(record)), &|| "additional: missing".to_owned());
    let wanted = |record: &Canonical| required.contains(record) || allowed.contains(record);
    check(additional.iter().all(wanted), &|| "additional: not wanted".to_owned());
    check(no_repeat(&additional), &|| "additional: a record twice".to_owned());
    faults
}

fn no_repeat(records: &[Canonical]) -> bool {
    records.iter().collect::<HashSet<_>>().len() == records.len()
}

/// Whether a chain stands in the order in which it is followed (RFC 1034 section 4.3.1).
fn is_in_order(qname: &str, reply: &Reply) -> bool {
    let mut at = name(qname);
    reply.records(0).all(|record| {
        let owner = Name::from_wire(&record.owner).expect("a name");
        if owner == at {
            if record.rtype == Rtype::CNAME {
                at = Name::from_wire(&record.rdata).expect("a name");
            }
            return true;
        }
        record.rtype == Rtype::DNAME && at.is_at_or_below(&owner)
    })
}

/// What is wrong with what came back for a message of octets.
pub fn judge_raw(want: &Value, sent: &[u8], outcome: &Outcome, octets: &[u8]) -> Vec<String> {
    match (outcome, want["reply"] == "none") {
        (Outcome::Silent(_), true) => return Vec::new(),
        (Outcome::Silent(why), false) => return vec![format!("silence, {why:?}")],
        (Outcome::Pending(_), _) => return vec!["pending".to_owned()],
        (Outcome::Limited { .. }, _) => return vec!["limited".to_owned()],
        (Outcome::Reply { .. }, true) => return vec!["a reply, want none".to_owned()],
        (Outcome::Reply { .. }, false) => {}
    }
    let reply = match Reply::read(octets) {
        Ok(reply) => reply,
        Err(error) => return vec![error],
    };
    let mut faults = Vec::new();
    let mut check = |good: bool, fault: &str| {
        if !good {
            faults.push(fault.to_owned());
        }
    };
    check(reply.id.to_be_bytes() == sent[..2], "id differs");
    check(reply.has(flag::QR) && !reply.has(flag::RA | flag::Z | flag::AD | flag::CD), "flags");
    check(reply.opcode() == u16::from(sent[2] >> 3 & 15), "opcode");
    for (bit, key, default) in [(flag::AA, "aa", None), (flag::TC, "tc", Some(false)), (flag::RD, "rd", None)] {
        let wanted = want[key].as_bool().or(default);
        check(wanted.is_none_or(|wanted| reply.has(bit) == wanted), key);
    }
    let rcode = rcode_name(reply.rcode());
    let wanted_rcode = want["rcode"].as_array().is_some_and(|codes| codes.iter().any(|code| *code == rcode));
    check(wanted_rcode, &format!("rcode {rcode}, want {}", want["rcode"]));
    let same = !reply.question.is_empty() && sent[12..].starts_with(&reply.question);
    check(
        match want["question"].as_str() {
            Some("same") => same,
            Some("none") => reply.question.is_empty(),
            _ => same || reply.question.is_empty(),
        },
        "question",
    );
    if let Some(answer) = want["answer"].as_str() {
        check((reply.records(0).count() > 0) == (answer == "some"), "answer");
    }
    check(want["empty"] != true || (0..3).all(|section| reply.records(section).count() == 0), "not empty");
    check(want["max"].as_u64().is_none_or(|max| octets.len() as u64 <= max), "too long");
    check(want["opt"].as_bool().is_none_or(|opt| reply.opt().is_some() == opt), "opt");
    faults.extend(judge_opt(want, &reply));
    faults.extend(judge_tsig(want, &reply));
    faults
}

fn judge_opt(want: &Value, reply: &Reply) -> Vec<String> {
    let Some(opt) = reply.opt() else { return Vec::new() };
    let mut faults = Vec::new();
    if opt.owner != [0] || opt.ttl >> 16 & 0xff != 0 || opt.ttl & 0x7fff != 0 {
        faults.push("form of OPT".to_owned());
    }
    if want["do"].as_bool().is_some_and(|wanted| (opt.ttl & 0x8000 != 0) != wanted) {
        faults.push("DO".to_owned());
    }
    let options = match reply.options() {
        Ok(options) => options,
        Err(error) => return vec![error],
    };
    let listed = |key: &str, code: u16| want[key].as_array().is_some_and(|codes| codes.iter().any(|one| *one == code));
    for (code, _) in &options {
        if !listed("options", *code) && !listed("options_required", *code) {
            faults.push(format!("option {code}"));
        }
    }
    for code in want["options_required"].as_array().map_or(&[][..], Vec::as_slice) {
        if !options.iter().any(|(one, _)| *code == *one) {
            faults.push(format!("no option {code}"));
        }
    }
    if let Some(client) = want["cookie"].as_str() {
        let cookies: Vec<&[u8]> = options.iter().filter(|(code, _)| *code == 10).map(|(_, data)| &data[..]).collect();
        if cookies.len() != 1 || !(16..=40).contains(&cookies[0].len()) || cookies[0][..8] != hex(client) {
            faults.push("cookie".to_owned());
        }
    }
    faults
}

fn judge_tsig(want: &Value, reply: &Reply) -> Vec<String> {
    let tsig = reply.sections[2].last().filter(|record| record.rtype == Rtype::TSIG);
    let Some(error) = want["tsig"].as_u64() else {
        return if tsig.is_some() { vec!["a TSIG".to_owned()] } else { Vec::new() };
    };
    let Some(tsig) = tsig else { return vec!["no TSIG at the end".to_owned()] };
    let algorithm = tsig.rdata.iter().position(|octet| *octet == 0).expect("a name") + 1;
    let fixed = &tsig.rdata[algorithm..];
    let unsigned = fixed[8..10] == [0, 0];
    let its_error = u64::from(u16::from_be_bytes([fixed[12], fixed[13]]));
    if tsig.class != 255 || tsig.ttl != 0 || !unsigned || its_error != error {
        return vec![format!("TSIG error {its_error}")];
    }
    Vec::new()
}
