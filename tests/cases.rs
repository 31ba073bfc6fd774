//! The shared question sets (`ferret`, `gap`, `rawprobe`, `cookies`), asked through `respond` without a socket, with
//! every zone in one Snapshot.
//!
//! They are read from the folder that `TENURED_CASES` names, else from `../shared/cases` beside this repository.
//! Without that folder one line says so, and the tests pass. The folder's README says what the fields
//! mean; what is sent over TCP streams is asked with sockets, not here.

mod asking;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use asking::hosted::{Hosting, zone};
use asking::judge::{WAYS, judge_lookup, judge_raw, text};
use asking::query::{hex, name_wire, type_number};
use asking::reply::Reply;
use asking::{Asker, name, rules};
use flate2::read::GzDecoder;
use serde_json::Value;
use tenured::answer::{Outcome, Transport};
use tenured::wire::cookie::{CookieSecrets, Validity};
use tenured::zone::snapshot::Snapshot;

/// Failures that are shown of each set.
const SHOWN: usize = 10;

/// Says a line past the test runner, which keeps what a test that passes prints.
fn say(line: &str) {
    // Nobody is there to hear it if this fails.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Where the cases are, if they are at hand.
fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("TENURED_CASES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let place = folder.display();
        say(&format!("no shared cases at {place}: nothing was asked (TENURED_CASES names the folder)"));
    });
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
    say(&format!("{set}: {counts:?}, each asked in {} ways, {} failures", WAYS.len(), failures.len()));
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
    say(&format!(
        "raw: {asked} asked, {} failures; {streams} TCP streams are left to tests with sockets",
        failures.len()
    ));
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
    say(&format!("cookies: {} made, {} judged, {} lengths", vectors.len(), received.len(), lengths.len()));
}
