//! The house as a test: which room may know which, what only one file may name, and how large a file may be.
//! `docs/ARCHITECTURE.md` says why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms and the rooms that each may use, besides itself.
const EDGES: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("zone", &["wire"]),
    ("answer", &["wire", "zone"]),
    ("ledger", &["wire", "zone"]),
    // The clock speaks in the Moments of `zone`.
    ("clock", &["zone"]),
    ("telemetry", &["config"]),
    ("config", &["wire", "zone", "answer"]),
    ("store", &["wire", "zone", "ledger", "telemetry"]),
    ("control", &["wire", "zone", "ledger", "store", "clock", "telemetry"]),
    ("alias", &["wire", "zone", "control", "clock", "telemetry"]),
    ("net", &["wire", "zone", "answer", "alias", "clock", "telemetry"]),
    ("api", &["wire", "zone", "answer", "ledger", "control", "store", "alias", "net", "clock", "telemetry"]),
    ("cli", &["config", "app", "api", "zone", "wire", "telemetry"]),
];

/// Rooms without sockets, SQL, clock, environment, files or chance.
const PURE: &[&str] = &["wire", "zone", "answer", "ledger"];

/// What no pure room names.
const IMPURE: &[&str] = &[
    "tokio",
    "sqlx",
    "axum",
    "reqwest",
    "hickory_resolver",
    "std::fs",
    "std::env",
    "std::time::SystemTime",
    "std::time::Instant",
    "std::thread",
    "std::process",
    "std::net::UdpSocket",
    "std::net::Tcp",
    "getrandom",
    "tracing",
];

/// Libraries and the only places that may name them.
const OWNED: &[(&str, &[&str])] = &[
    ("sqlx", &["src/store/"]),
    ("axum", &["src/api/", "src/app/"]),
    ("hickory_resolver", &["src/alias/resolver.rs", "src/alias/resolver/"]),
    ("clap_mangen", &["src/cli/manual.rs"]),
    ("clap", &["src/cli/", "src/config.rs", "src/config/"]),
    ("libc", &["src/net/batch.rs"]),
    ("reqwest", &["src/cli/"]),
    // HTTP servers: the API's, and the one that a client of it has beside it in its pod.
    ("hyper", &["src/api/", "src/cli/webhook_proxy/"]),
    ("rustls", &["src/net/certificates.rs", "src/cli/webhook_proxy/"]),
    ("tokio_rustls", &["src/net/", "src/api/", "src/cli/webhook_proxy/"]),
    ("quinn", &["src/net/quic.rs"]),
    ("prometheus_client", &["src/api/native/metrics.rs", "src/control/measures.rs", "src/alias/measures.rs"]),
];

/// The one module with `unsafe`; its head says why.
const UNSAFE: &[&str] = &["src/net/batch.rs"];

const NO_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "misc"];
const MOST_LINES: usize = 800;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Path below the root and text without comments and without the tests at the end of a file.
fn files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(&root().join("src"), &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a source file");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code: Vec<&str> = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
            let name = path.strip_prefix(root()).expect("below the root").display().to_string();
            (name, code.join("\n"))
        })
        .collect()
}

fn room(path: &str) -> &str {
    let below = path.strip_prefix("src/").expect("below src");
    below.split(['/', '.']).next().expect("a first part")
}

/// First parts of the paths that `use crate::…` and `crate::…` name in a text.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let first = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let end = list.find("};").unwrap_or(list.len());
                let mut depth = 0;
                let mut part = String::new();
                for character in list[..end].chars().chain([',']) {
                    match character {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.insert(first(part.trim()));
                            part.clear();
                        }
                        other => part.push(other),
                    }
                }
            }
            None => {
                found.insert(first(rest));
            }
        }
    }
    found.remove("");
    found
}

#[test]
fn rooms_use_only_the_rooms_below_them() {
    let edges: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, code) in files() {
        let from = room(&path);
        if matches!(from, "main" | "lib" | "app") {
            continue;
        }
        let Some(allowed) = edges.get(from) else {
            wrong.push(format!("{path}: the room {from} is not in the map of this test"));
            continue;
        };
        for to in crate_paths(&code) {
            if to != from && !allowed.contains(&to.as_str()) {
                wrong.push(format!("{path}: {from} may not use {to}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_map_has_no_cycle() {
    let edges: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    fn visit<'a>(room: &'a str, edges: &BTreeMap<&str, &[&'a str]>, path: &mut Vec<&'a str>) {
        assert!(!path.contains(&room), "cycle: {path:?} -> {room}");
        path.push(room);
        for next in edges.get(room).copied().unwrap_or_default() {
            visit(next, edges, path);
        }
        path.pop();
    }
    for (room, _) in EDGES {
        visit(room, &edges, &mut Vec::new());
    }
}

#[test]
fn pure_rooms_know_no_world() {
    let mut wrong = Vec::new();
    for (path, code) in files().iter().filter(|(path, _)| PURE.contains(&room(path))) {
        for word in IMPURE.iter().filter(|word| names(code, word)) {
            wrong.push(format!("{path}: a pure room names {word}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_library_has_its_room() {
    let mut wrong = Vec::new();
    for (path, code) in files() {
        for (library, places) in OWNED {
            let at_home = places.iter().any(|place| path.starts_with(place));
            if !at_home && names(&code, &format!("{library}::")) {
                wrong.push(format!("{path}: {library} belongs to {places:?}"));
            }
        }
        if code.contains("unsafe_code") && !UNSAFE.contains(&path.as_str()) {
            wrong.push(format!("{path}: unsafe belongs to {UNSAFE:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a path of the code begins with this one.
fn names(code: &str, path: &str) -> bool {
    code.match_indices(path).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[test]
fn files_have_a_head_a_size_and_a_name() {
    let mut wrong = Vec::new();
    let mut found = Vec::new();
    sources(&root().join("src"), &mut found);
    sources(&root().join("tests"), &mut found);
    for path in found {
        let text = fs::read_to_string(&path).expect("a source file");
        let shown = path.strip_prefix(root()).expect("below the root").display().to_string();
        if text.lines().count() > MOST_LINES {
            wrong.push(format!("{shown}: over {MOST_LINES} lines"));
        }
        if !text.starts_with("//!") {
            wrong.push(format!("{shown}: does not open with what it knows"));
        }
        // Written in two parts, so that this file does not find itself.
        if text.contains(&format!("#[{}", "ignore")) {
            wrong.push(format!("{shown}: has an ignored test"));
        }
        for part in shown.split(['/', '.']).filter(|part| NO_NAMES.contains(part)) {
            wrong.push(format!("{shown}: {part} says nothing"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_dependency_says_why() {
    let text = fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let mut in_dependencies = false;
    let mut before = "";
    let mut wrong = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]");
        } else if in_dependencies && line.contains(" = ") && !line.starts_with('#') && !before.starts_with('#') {
            wrong.push(line.to_owned());
        }
        before = line;
    }
    assert!(wrong.is_empty(), "without a sentence: {wrong:?}");
}

/// Crates that must be at least of a version, and why.
const AT_LEAST: &[(&str, &[u64], &str)] = &[
    ("libsqlite3-sys", &[0, 37, 0], "SQLite without the WAL-reset bug"),
    ("domain", &[0, 12, 3], "earlier ones panic on crafted input"),
    ("quinn-proto", &[0, 11, 14], "RUSTSEC-2026-0037"),
    ("rustls", &[0, 23, 5], "RUSTSEC-2024-0336"),
    ("h2", &[0, 4, 4], "RUSTSEC-2024-0332"),
];
/// Crates that there are not: other implementations of TLS.
const NEVER: &[&str] = &["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl", "openssl-sys"];

#[test]
fn the_lock_file_has_one_tls_and_no_version_with_a_known_fault() {
    let text = fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let mut packages: Vec<(&str, Vec<u64>)> = Vec::new();
    for package in text.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"'))
        };
        if let (Some(name), Some(version)) = (value("name"), value("version")) {
            let bare = version.split(['+', '-']).next().unwrap_or_default();
            packages.push((name, bare.split('.').filter_map(|part| part.parse().ok()).collect()));
        }
    }
    let mut wrong = Vec::new();
    for (name, version) in &packages {
        if NEVER.contains(name) {
            wrong.push(format!("{name}: TLS is rustls with ring"));
        }
        for (_, least, why) in AT_LEAST.iter().filter(|(one, ..)| one == name) {
            if version.as_slice() < *least {
                wrong.push(format!("{name} {version:?} is below {least:?}: {why}"));
            }
        }
        if name.starts_with("hickory-") && *version != [0, 26, 3] {
            wrong.push(format!("{name} {version:?} is not 0.26.3"));
        }
    }
    for (name, ..) in AT_LEAST {
        if !packages.iter().any(|(one, _)| one == name) {
            wrong.push(format!("{name} is gone: so is the reason to look at it"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
