//! The functions that are fuzzed, over their seeds: those of `fuzz/seeds/`, where what was found once stays, the queries
//! and zones of the golden answers, the sample zones, and the raw probes of the shared cases where they are at hand
//! (`TENURED_CASES`, else `../shared/cases` beside this repository).
//!
//! With `TENURED_FUZZ_CORPUS` each seed is also written into a folder of its target below that one, for the fuzzer to
//! start from.

mod asking;
mod fuzzed;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use asking::query::{hex, parse};
use sha2::{Digest, Sha256};
use tenured::zone::file::{NoInclude, read};

/// Seeds without order and doubles.
type Seeds = BTreeSet<Vec<u8>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a target over its seeds, and writes them if it was asked for.
fn over_seeds(target: &str, made: Seeds, run: fn(&[u8])) {
    let kept = root().join("fuzz/seeds").join(target);
    let mut failures = Vec::new();
    let files = files(&kept, "");
    assert!(!files.is_empty(), "no seeds in {}", kept.display());
    let kept = files.into_iter().map(|path| (path.display().to_string(), fs::read(&path).expect("a seed")));
    for (name, octets) in kept.chain(made.into_iter().map(|octets| ("made".to_owned(), octets))) {
        if catch_unwind(AssertUnwindSafe(|| run(&octets))).is_err() {
            failures.push(format!("{name}: {}", octets.escape_ascii()));
        }
        if let Some(corpus) = std::env::var_os("TENURED_FUZZ_CORPUS") {
            let folder = Path::new(&corpus).join(target);
            fs::create_dir_all(&folder).expect("a folder for seeds");
            let name: String = Sha256::digest(&octets).iter().map(|octet| format!("{octet:02x}")).collect();
            fs::write(folder.join(name), octets).expect("a seed written");
        }
    }
    let shown = failures[..failures.len().min(5)].join("\n");
    assert!(failures.is_empty(), "{} seeds fail, the first:\n{shown}", failures.len());
}

/// The files below a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The golden files, as text.
fn golden() -> Vec<String> {
    let paths = files(&root().join("tests/answers"), ".golden");
    paths.iter().map(|path| fs::read_to_string(path).expect("a golden file")).collect()
}

/// The messages that a golden file asks.
fn messages(golden: &str) -> Vec<Vec<u8>> {
    golden.lines().filter_map(|line| line.strip_prefix("? ")).map(|line| parse(line).octets).collect()
}

/// The zones of the golden files and of the samples, as text.
fn zones() -> Seeds {
    let mut zones: Seeds =
        files(&root().join("zones"), ".zone").iter().map(|path| fs::read(path).expect("a zone")).collect();
    for golden in golden() {
        for block in golden.split("\n[").filter(|block| block.starts_with("zone")) {
            let (_head, text) = block.split_once('\n').unwrap_or_default();
            zones.insert(text.as_bytes().to_vec());
        }
    }
    zones
}

/// The raw probes that are sent so, where the cases are at hand.
fn probes(via: &[&str]) -> Seeds {
    let folder = std::env::var_os("TENURED_CASES").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| root().join("../shared/cases"));
    let Ok(text) = fs::read_to_string(folder.join("rawprobe.json")) else { return Seeds::new() };
    let probes: Vec<serde_json::Value> = serde_json::from_str(&text).expect("probes");
    let sent = probes.iter().filter(|probe| probe["via"].as_str().is_some_and(|one| via.contains(&one)));
    sent.map(|probe| hex(probe["send"].as_str().expect("octets"))).collect()
}

#[test]
fn messages_are_answered_soundly() {
    let mut seeds: Seeds = golden().iter().flat_map(|file| messages(file)).collect();
    seeds.extend(probes(&["udp", "tcp"]));
    over_seeds("message", seeds, fuzzed::message::run);
}

#[test]
fn zone_files_are_refused_or_read_back_to_the_same_content() {
    over_seeds("zone_file", zones(), fuzzed::zone_file::run);
}

#[test]
fn record_data_is_refused_or_read_back_to_the_same_octets() {
    let mut seeds = Seeds::new();
    for zone in zones() {
        let origin = asking::name("example.com.");
        // A zone with errors in it is a seed for its own target only.
        let Ok(file) = read(&zone, "zone", Some(&origin), &mut NoInclude) else { continue };
        for (_, rrset) in file.rrsets {
            let Some(rdata) = rrset.records.first() else { continue };
            let text = tenured::wire::presentation::rdata_to_text(rrset.rtype, rdata);
            seeds.insert(fuzzed::record_text::seed(rrset.rtype, fuzzed::record_text::Form::Octets, rdata));
            seeds.insert(fuzzed::record_text::seed(rrset.rtype, fuzzed::record_text::Form::Text, text.as_bytes()));
        }
    }
    over_seeds("record_text", seeds, fuzzed::record_text::run);
}

#[test]
fn streams_are_cut_into_the_same_messages_whatever_the_pieces() {
    let mut seeds = Seeds::new();
    for (number, file) in golden().iter().enumerate() {
        let sizes = [(number * 37 % 256) as u8, 5, 0];
        seeds.insert(fuzzed::tcp_framing::seed(&sizes, &messages(file)[..5.min(messages(file).len())]));
    }
    for stream in probes(&["stream"]) {
        seeds.insert([&[1, 7][..], &stream].concat());
    }
    over_seeds("tcp_framing", seeds, fuzzed::tcp_framing::run);
}
