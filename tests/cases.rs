//! The shared question sets (`ferret`, `gap`, `rawprobe`, `cookies`), asked through `respond` without a socket, with
//! every zone in one Snapshot.
//!
//! They are read from the folder that `TENURED_CASES` names, else from `../shared/cases` beside this repository. Without
//! that folder each test prints one line that says so, and passes. The folder's README says what the fields mean; what is
//! sent over TCP streams is asked with sockets, not here.

mod asking;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use asking::hosted::{Hosting, zone};
use asking::query::{hex, name_wire, type_number};
use asking::reply::{Record, Reply, flag};
use asking::text::{line, rcode_name};
use asking::{Asker, name, rules};
use flate2::read::GzDecoder;
use serde_json::Value;
use tenured::answer::{Outcome, Transport};
use tenured::wire::codes::Rtype;
use tenured::wire::cookie::{CookieSecrets, Validity};
use tenured::wire::name::Name;
use tenured::wire::presentation::rdata_from_text;
use tenured::wire::rdata::canonical;
use tenured::zone::snapshot::Snapshot;

/// Failures that are shown of each set.
const SHOWN: usize = 10;

/// Where the cases are, if they are at hand.
fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("TENURED_CASES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    println!("no shared cases at {}: nothing was asked (TENURED_CASES names the folder)", folder.display());
    None
}

/// The cases of a set, from one JSON text a line.
fn lines(folder: &Path, set: &str) -> Vec<Value> {
    let file = File::open(folder.join(format!("{set}.jsonl.gz"))).expect("a set of cases");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("a case")).collect()
}

/// All zones that the sets ask, in one Snapshot, with the ferret cases.
struct Sets {
    snapshot: Snapshot,
    ferret: Vec<Value>,
    gap: Vec<Value>,
}

/// Read once for all tests.
fn sets(folder: &Path) -> &'static Sets {
    static SETS: OnceLock<Sets> = OnceLock::new();
    SETS.get_or_init(|| {
        let ferret = lines(folder, "ferret");
        let mut snapshot = Snapshot::new(asking::key());
        let mut put = |origin: &str, text: &str| snapshot.put_zone(zone(text, &name(origin), &Hosting::default()));
        for case in &ferret {
            put(text(case, "origin"), text(case, "zone"));
        }
        for entry in fs::read_dir(folder.join("zones")).expect("zones") {
            let path = entry.expect("a zone").path();
            let origin = path.file_stem().expect("an origin").to_string_lossy().into_owned();
            put(&origin, &fs::read_to_string(&path).expect("a zone"));
        }
        Sets { snapshot, ferret, gap: lines(folder, "gap") }
    })
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
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
struct Way {
    tcp: bool,
    edns: u16,
}

const WAYS: [Way; 3] = [Way { tcp: false, edns: 0 }, Way { tcp: true, edns: 0 }, Way { tcp: false, edns: 1232 }];

/// What is wrong with the reply to a case.
fn judge_lookup(case: &Value, question: &[u8], reply: &Reply, way: Way) -> Vec<String> {
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

fn ask_all(set: &str, cases: &[Value], snapshot: &Snapshot) {
    let mut failures = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut asker = Asker::new(rules());
    for (number, case) in cases.iter().enumerate() {
        *counts.entry(text(case, "status")).or_default() += 1;
        let rtype = type_number(text(case, "qtype"));
        let mut packet = asking::query::plain(number as u16, &name_wire(text(case, "qname")), rtype);
        let question = packet[12..].to_vec();
        for way in WAYS {
            packet.truncate(12 + question.len());
            packet[11] = u8::from(way.edns > 0);
            if way.edns > 0 {
                packet.extend_from_slice(&[0, 0, 41]);
                packet.extend_from_slice(&way.edns.to_be_bytes());
                packet.extend_from_slice(&[0; 6]);
            }
            let transport = if way.tcp { Transport::Tcp } else { Transport::Udp };
            let (outcome, octets) = asker.send(snapshot, &packet, transport);
            let limit = if way.tcp { 65_535 } else { usize::from(way.edns.max(512)) };
            let faults = match (outcome, Reply::read(octets)) {
                (Outcome::Reply { .. }, _) if octets.len() > limit => vec![format!("{} octets", octets.len())],
                (Outcome::Reply { .. }, Ok(reply)) if reply.id == number as u16 => {
                    judge_lookup(case, &question, &reply, way)
                }
                (Outcome::Reply { .. }, Ok(_)) => vec!["id differs".to_owned()],
                (Outcome::Reply { .. }, Err(error)) => vec![error],
                (other, _) => vec![format!("{other:?}")],
            };
            if !faults.is_empty() {
                let asked = format!("{} {}", text(case, "qname"), text(case, "qtype"));
                failures.push(format!("{} {asked} {way:?}: {}", text(case, "id"), faults.join("; ")));
            }
        }
    }
    println!("{set}: {counts:?}, each asked in {} ways, {} failures", WAYS.len(), failures.len());
    let shown: Vec<String> = failures.iter().take(SHOWN).cloned().collect();
    assert!(failures.is_empty(), "{} failures in {set}, the first:\n{}", failures.len(), shown.join("\n"));
    assert!(!cases.is_empty(), "{set} has no cases");
}

#[test]
fn ferret_cases_get_the_answers_that_independent_servers_give() {
    let Some(folder) = folder() else { return };
    let sets = sets(&folder);
    ask_all("ferret", &sets.ferret, &sets.snapshot);
}

#[test]
fn gap_cases_get_the_answers_wanted_choices_included() {
    let Some(folder) = folder() else { return };
    let sets = sets(&folder);
    ask_all("gap", &sets.gap, &sets.snapshot);
}

/// What is wrong with what came back for a message of octets.
fn judge_raw(want: &Value, sent: &[u8], outcome: &Outcome, octets: &[u8]) -> Vec<String> {
    match (outcome, want["reply"] == "none") {
        (Outcome::Silent(_), true) => return Vec::new(),
        (Outcome::Silent(why), false) => return vec![format!("silence, {why:?}")],
        (Outcome::Pending(_), _) => return vec!["pending".to_owned()],
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

#[test]
fn raw_messages_get_what_is_wanted_over_udp_and_tcp() {
    let Some(folder) = folder() else { return };
    let probes: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(folder.join("rawprobe.json")).expect("probes")).expect("probes");
    let snapshot = &sets(&folder).snapshot;
    let mut asker = Asker::new(rules());
    let mut failures = Vec::new();
    let (mut asked, mut streams) = (0, 0);
    for probe in &probes {
        let transport = match text(probe, "via") {
            "udp" => Transport::Udp,
            "tcp" => Transport::Tcp,
            _ => {
                streams += 1;
                continue;
            }
        };
        asked += 1;
        let sent = hex(text(probe, "send"));
        let (outcome, octets) = asker.send(snapshot, &sent, transport);
        let faults = judge_raw(&probe["want"], &sent, &outcome, octets);
        if !faults.is_empty() {
            failures.push(format!("{} ({}): {}", text(probe, "id"), text(probe, "rule"), faults.join("; ")));
        }
    }
    println!("raw: {asked} asked, {} failures; {streams} TCP streams are left to tests with sockets", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn k4_k5_k6_cookies_are_made_and_judged_as_the_vectors_say() {
    let Some(folder) = folder() else { return };
    let file: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("cookies.json")).expect("vectors")).expect("vectors");
    let secret = |text: &Value| -> [u8; 16] { hex(text.as_str().expect("hex")).try_into().expect("16 octets") };
    let vectors = file["vectors"].as_array().expect("vectors");
    for vector in vectors {
        let secrets = CookieSecrets::new(secret(&vector["secret"]), None);
        let cookie = hex(text(vector, "cookie"));
        let (client, server) = cookie.split_first_chunk::<8>().expect("a client cookie");
        let address = text(vector, "address").parse().expect("an address");
        let time = vector["time"].as_u64().expect("a time") as u32;
        if text(vector, "reserved") == "000000" {
            assert_eq!(secrets.make(client, address, time), *server, "{}", vector["note"]);
        }
        assert_eq!(secrets.judge(client, server, address, time), Validity::Valid, "{}", vector["note"]);
    }
    let received = file["received"].as_array().expect("received");
    for vector in received {
        let listed = vector["secrets"].as_array().expect("secrets");
        let secrets = CookieSecrets::new(secret(&listed[0]), listed.get(1).map(secret));
        let cookie = hex(text(vector, "cookie"));
        let (client, server) = cookie.split_first_chunk::<8>().expect("a client cookie");
        let address = text(vector, "address").parse().expect("an address");
        let now = vector["now"].as_u64().expect("a time") as u32;
        let wanted = match (vector["valid"] == true, vector["renew"] == true) {
            (true, false) => Validity::Valid,
            (true, true) => Validity::Renew,
            (false, _) => Validity::Invalid,
        };
        assert_eq!(secrets.judge(client, server, address, now), wanted, "{}", vector["note"]);
    }
    let lengths = file["lengths"].as_array().expect("lengths");
    let snapshot = asking::hosted::snapshot(&[("example.com.", "@ 60 SOA a b 1 2 3 4 5\n@ 60 NS a.example.net.\n")]);
    let mut asker = Asker::new(rules());
    for case in lengths {
        let length = case["length"].as_u64().expect("a length") as usize;
        let query = asking::query::parse(&format!("example.com. SOA option=10:{}", "07".repeat(length)));
        let (_, octets) = asker.send(&snapshot, &query.octets, Transport::Udp);
        let rcode = Reply::read(octets).expect("a reply").rcode();
        assert_eq!(rcode == 1, case["result"] == "formerr", "length {length}");
    }
    println!("cookies: {} made, {} judged, {} lengths", vectors.len(), received.len(), lengths.len());
}
