//! Answers as files: `answers/<concept>/*.golden` have zones, queries and the replies that the rules of
//! `docs/rfcs.md` want, asked through `respond` without a socket.
//!
//! A file is lines. `#` begins a comment. `[zone ORIGIN owner=N families=A]` is followed by the text of a zone file
//! (`owner` and `families`, of its ALIAS records, may be left out), `[zone-without-soa ORIGIN]` the same for a zone
//! that loses its SOA behind the reader; `[target NAME]` by what is known of an ALIAS target,
//! a line `A STATE ...` and `AAAA STATE ...` (`asking/hosted.rs`); `[rules ...]` changes the configuration for what
//! follows: `any=full`, `nsid=TEXT`, `version=TEXT`, `edns=N`, `enforce`, `roll` (the former secret verifies still),
//! `trust=ZONE`, `trust-all`. `[case ID SENTENCE]` begins a case, with the ids of its rules first; in it each line
//! `? QUERY` (`asking/query.rs`) is followed by the lines of its reply, indented. A query over `both` transports wants
//! the same reply from each.
//!
//! `TENURED_GOLDEN=write cargo test --test answers` writes the replies that were given into the files. What it changes
//! is to be read against the rule before it is kept.

mod asking;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use asking::hosted::{Hosting, entry, family_answer, zone};
use asking::reply::{Reply, flag};
use asking::{Asker, FORMER, NOW, SECRET, name, query, rules, text};
use tenured::answer::{AnyPolicy, Outcome, Patience, Rules, Transport};
use tenured::wire::cookie::CookieSecrets;
use tenured::zone::alias::{Family, FamilyAnswer, Moment};
use tenured::zone::file::{NoInclude, read};
use tenured::zone::snapshot::Snapshot;

macro_rules! concepts {
    ($($test:ident = $folder:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            check_folder($folder);
        })*

        /// The folders that have a test.
        const FOLDERS: &[&str] = &[$($folder),*];
    };
}

concepts! {
    headers_are_judged_and_echoed = "header",
    edns_is_negotiated = "edns",
    cookies_are_judged_and_renewed = "cookies",
    replies_keep_their_limit_and_any_is_small = "size-and-any",
    names_without_the_type_or_not_at_all_are_denied = "lookup/nodata-nxdomain",
    wildcards_are_sources_of_synthesis = "lookup/wildcards",
    cnames_are_followed_inside_the_zone = "lookup/cname",
    dnames_make_cnames = "lookup/dname",
    cuts_are_referred = "lookup/delegation",
    ds_is_the_parents = "lookup/ds",
    targets_bring_their_addresses = "lookup/additional",
    zones_are_matched_by_whole_labels = "lookup/zone-match",
    tcp_and_types_that_are_not_looked_up = "tcp-and-types",
    what_is_not_built_yet_says_so = "not-built-yet",
    aliases_are_answered_as_addresses = "alias",
}

/// Where the files are.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers")
}

/// The files of a folder, not of the folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "golden"))
        .collect();
    files.sort();
    files
}

fn check_folder(folder: &str) {
    let files = files(&root().join(folder));
    assert!(!files.is_empty(), "{folder} has no file");
    let writing = std::env::var_os("TENURED_GOLDEN").is_some_and(|value| value == "write");
    let mut failures = Vec::new();
    for path in files {
        let wanted = fs::read_to_string(&path).expect("a readable file");
        let mut run = Run::new(path.clone());
        let given = run.play(&wanted);
        if writing && given != wanted {
            fs::write(&path, given).expect("a writable file");
        } else if given != wanted {
            failures.push(run.differences(&wanted, &given));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// One file being played.
struct Run {
    path: PathBuf,
    snapshot: Snapshot,
    rules: Rules,
    case: String,
}

/// A block of lines that belong together.
enum Block {
    None,
    Zone { origin: String, hosting: Hosting, text: String },
    Target { name: String, a: Option<FamilyAnswer>, aaaa: Option<FamilyAnswer> },
}

impl Run {
    fn new(path: PathBuf) -> Run {
        Run { path, snapshot: Snapshot::new(asking::key()), rules: rules(), case: String::new() }
    }

    /// The file as it would be if all replies in it were the ones given.
    fn play(&mut self, file: &str) -> String {
        let mut out = String::new();
        let mut block = Block::None;
        let mut in_reply = false;
        for line in file.lines() {
            let in_zone = matches!(block, Block::Zone { .. });
            if in_reply && line.starts_with("  ") {
                continue;
            }
            in_reply = false;
            out.push_str(line);
            out.push('\n');
            if let Some(head) = line.strip_prefix('[') {
                self.close(std::mem::replace(&mut block, Block::None));
                block = self.open(head.strip_suffix(']').unwrap_or_else(|| panic!("no ] in {line}")));
            } else if let Some(asked) = line.strip_prefix("? ") {
                self.close(std::mem::replace(&mut block, Block::None));
                for line in self.ask(asked) {
                    out.push_str(&format!("  {line}\n"));
                }
                in_reply = true;
            } else if line.starts_with('#') || (line.is_empty() && !in_zone) {
                continue;
            } else {
                block.add(line);
            }
        }
        self.close(block);
        out
    }

    fn open(&mut self, head: &str) -> Block {
        let (kind, rest) = head.split_once(' ').unwrap_or((head, ""));
        let mut words = rest.split_whitespace();
        match kind {
            "zone" | "zone-without-soa" => {
                let origin = words.next().expect("an origin").to_owned();
                let mut hosting = Hosting { without_soa: kind == "zone-without-soa", ..Hosting::default() };
                for word in words {
                    match word.split_once('=') {
                        Some(("owner", number)) => hosting.owner = number.parse().expect("a number"),
                        Some(("families", "A")) => hosting.families = vec![Family::A],
                        Some(("families", "AAAA")) => hosting.families = vec![Family::Aaaa],
                        _ => panic!("owner= or families= instead of {word}"),
                    }
                }
                Block::Zone { origin, hosting, text: String::new() }
            }
            "target" => Block::Target { name: rest.to_owned(), a: None, aaaa: None },
            "rules" => {
                for word in words {
                    self.configure(word);
                }
                Block::None
            }
            "case" => {
                self.case = rest.to_owned();
                Block::None
            }
            other => panic!("[zone], [target], [rules] or [case] instead of [{other}]"),
        }
    }

    fn configure(&mut self, word: &str) {
        let rules = &mut self.rules;
        match word.split_once('=').unwrap_or((word, "")) {
            ("any", "full") => rules.any = AnyPolicy::Full,
            ("nsid", text) => rules.nsid = Some(text.as_bytes().to_vec()),
            ("version", text) => rules.version = Some(text.as_bytes().to_vec()),
            ("edns", size) => rules.edns_size = size.parse().expect("a size"),
            ("enforce", "") => rules.enforce_cookies = true,
            ("roll", "") => rules.cookies = CookieSecrets::new(SECRET, Some(FORMER)),
            ("trust", zone) => drop(rules.trust.zones.insert(name(zone))),
            ("trust-all", "") => rules.trust.all = true,
            _ => panic!("rule {word}"),
        }
    }

    fn close(&mut self, block: Block) {
        match block {
            Block::None => {}
            Block::Zone { origin, hosting, text } => self.snapshot.put_zone(zone(&text, &name(&origin), &hosting)),
            Block::Target { name, a, aaaa } => self.snapshot.alias.put(entry(&name, a, aaaa, NOW)),
        }
    }

    /// The lines of the reply.
    fn ask(&self, asked: &str) -> Vec<String> {
        let query = query::parse(asked);
        let mut given: Option<Vec<String>> = None;
        for transport in &query.transports {
            let mut asker = Asker::new(self.rules.clone());
            asker.client = query.client;
            asker.now = Moment(NOW.0 + query.after);
            asker.patience = if query.ended { Patience::Ended } else { Patience::Wait };
            let (outcome, octets) = asker.send(&self.snapshot, &query.octets, *transport);
            let lines = match outcome {
                Outcome::Silent(why) => vec![format!("silence {why:?}")],
                Outcome::Limited { .. } => vec!["limited".to_owned()],
                Outcome::Pending(target) => vec![format!("pending {}", target.name)],
                Outcome::Reply { rcode, .. } => {
                    let reply = Reply::read(octets).unwrap_or_else(|error| panic!("{}: {asked}: {error}", self.case));
                    self.check_always(&reply, &query.octets, *transport, asked);
                    assert!(reply.opt().is_none() || rcode.0 == reply.rcode(), "{}: {asked}: {rcode:?}", self.case);
                    text::lines(&reply, &query.octets, query.size)
                }
            };
            match &given {
                None => given = Some(lines),
                Some(first) => assert_eq!(first, &lines, "{}: {asked}: the transports differ", self.case),
            }
        }
        given.expect("a transport")
    }

    /// What holds for every reply (H7, H9, H10, H11, H20, H24).
    fn check_always(&self, reply: &Reply, sent: &[u8], transport: Transport, asked: &str) {
        let place = format!("{}: {asked}", self.case);
        assert!(reply.has(flag::QR) && !reply.has(flag::RA | flag::Z | flag::AD | flag::CD), "{place}: flags");
        assert_eq!(reply.id.to_be_bytes(), sent[..2], "{place}: id");
        assert_eq!(reply.opcode(), u16::from(sent[2] >> 3 & 15), "{place}: opcode");
        assert!(reply.question.is_empty() || sent[12..].starts_with(&reply.question), "{place}: question");
        for section in &reply.sections {
            let mut seen = HashSet::new();
            for record in section {
                let key = (record.owner.to_ascii_lowercase(), record.rtype, record.rdata.clone());
                assert!(seen.insert(key), "{place}: {} stands twice", text::line(record));
            }
        }
        let limit = match (transport, reply.opt()) {
            (Transport::Tcp, _) => 65_535,
            (Transport::Udp, Some(_)) => usize::from(self.rules.edns_size),
            (Transport::Udp, None) => 512,
        };
        assert!(reply.octets <= limit, "{place}: {} octets", reply.octets);
    }

    /// The cases in which two texts of the file differ, with both.
    fn differences(&self, wanted: &str, given: &str) -> String {
        let cases = |text: &str| -> Vec<String> { text.split("\n[case ").map(str::to_owned).collect() };
        let mut out = format!("{}\n", self.path.display());
        for (wanted, given) in cases(wanted).iter().zip(cases(given)).filter(|(wanted, given)| *wanted != given) {
            out.push_str(&format!("--- wanted\n[case {wanted}\n--- given\n[case {given}\n"));
        }
        out
    }
}

impl Block {
    fn add(&mut self, line: &str) {
        match self {
            Block::None => panic!("a [block] or a query before `{line}`"),
            Block::Zone { text, .. } => {
                text.push_str(line);
                text.push('\n');
            }
            Block::Target { a, aaaa, .. } => {
                let words: Vec<&str> = line.split_whitespace().collect();
                let answer = Some(family_answer(&words[1..], NOW));
                match words[0] {
                    "A" => *a = answer,
                    "AAAA" => *aaaa = answer,
                    other => panic!("A or AAAA instead of {other}"),
                }
            }
        }
    }
}

/// All folders below the root that have files.
fn folders(below: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(below).expect("a folder") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            if !files(&path).is_empty() {
                let relative = path.strip_prefix(root()).expect("below the root");
                found.insert(relative.to_str().expect("a plain name").to_owned());
            }
            folders(&path, found);
        }
    }
}

#[test]
fn every_folder_of_answers_has_a_test() {
    let mut found = BTreeSet::new();
    folders(&root(), &mut found);
    assert_eq!(found, FOLDERS.iter().map(|folder| (*folder).to_owned()).collect());
}

/// The ids of rules that cases begin with, and the files they are in.
fn ids_of_cases() -> BTreeMap<String, BTreeSet<String>> {
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in FOLDERS {
        for path in files(&root().join(folder)) {
            let file = format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy());
            for line in fs::read_to_string(&path).expect("a readable file").lines() {
                let Some(title) = line.strip_prefix("[case ") else { continue };
                let is_id = |word: &&str| {
                    let letters = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
                    *word == "§5" || (word.len() > letters.len() && letters.len() == 1) || word.starts_with("alias-6.")
                };
                for id in title.split_whitespace().take_while(is_id) {
                    ids.entry(id.to_owned()).or_default().insert(file.clone());
                }
            }
        }
    }
    ids
}

#[test]
fn alias_6_1_equal_addresses_and_ttl_make_the_message_of_a_static_rrset_octet_for_octet() {
    const SOA: &str = "@ 3600 SOA ns1 hostmaster 1 7200 900 1209600 300\n@ 3600 NS ns1\nns1 3600 A 192.0.2.1\n";
    let names = "to 3600 CNAME www\nmx 3600 MX 10 www\nmx 3600 MX 20 x.any\nold 3600 DNAME any\n";
    let fixed = "www 60 A 192.0.2.10\nwww 60 A 192.0.2.11\nwww 60 AAAA 2001:db8::10\n\
                 *.any 60 A 192.0.2.10\n*.any 60 A 192.0.2.11\n*.any 60 AAAA 2001:db8::10\n";
    let alias = "www 300 ALIAS edge.proxy.test.\n*.any 300 ALIAS edge.proxy.test.\n";
    let hosted = "www 60 ALIAS host\n*.any 60 ALIAS host\n\
                  host 300 A 192.0.2.10\nhost 300 A 192.0.2.11\nhost 300 AAAA 2001:db8::10\n";
    let snapshot_of = |records: &str| asking::hosted::snapshot(&[("example.com.", &format!("{SOA}{names}{records}"))]);
    let wanted = snapshot_of(fixed);
    let mut resolved = snapshot_of(alias);
    let a = family_answer(&["resolved", "192.0.2.10", "192.0.2.11", "hold=60"], NOW);
    let aaaa = family_answer(&["resolved", "2001:db8::10", "hold=60"], NOW);
    resolved.alias.put(entry("edge.proxy.test.", Some(a), Some(aaaa), NOW));
    let mut asker = Asker::new(rules());
    let mut other = Asker::new(rules());
    for (given, kind) in [(&resolved, "resolved"), (&snapshot_of(hosted), "in server")] {
        for question in [
            "www.example.com.",
            "WWW.Example.com.",
            "x.any.example.com.",
            "to.example.com.",
            "mx.example.com.",
            "x.old.example.com.",
        ] {
            for asked in
                ["A", "AAAA", "MX", "TXT", "CAA", "A edns", "A do cookie=client", "AAAA id=7", "A id=8", "MX id=9"]
            {
                let query = query::parse(&format!("{question} {asked}"));
                for transport in [Transport::Udp, Transport::Tcp] {
                    let (_, wanted) = asker.send(&wanted, &query.octets, transport);
                    let (_, given) = other.send(given, &query.octets, transport);
                    assert_eq!(wanted, given, "{kind}: {question} {asked} {transport:?}");
                }
            }
        }
    }
}

#[test]
fn l23_a_cname_at_an_apex_is_refused_when_written() {
    let text = "@ 60 SOA ns1 host 1 2 3 4 5\n@ 60 NS ns1\n@ 60 CNAME www\nns1 60 A 192.0.2.1\n";
    let errors = read(text.as_bytes(), "zone", Some(&name("example.com.")), &mut NoInclude).expect_err("refused");
    assert!(errors.iter().any(|error| error.text.contains("CNAME") && error.text.contains("ALIAS")), "{errors:?}");
}

#[test]
fn l27_ns_or_dname_at_a_wildcard_is_a_warning_on_import() {
    for record in ["*.a 60 NS ns1", "*.a 60 DNAME b"] {
        let text = format!("@ 60 SOA ns1 host 1 2 3 4 5\n@ 60 NS ns1\nns1 60 A 192.0.2.1\n{record}\n");
        let file = read(text.as_bytes(), "zone", Some(&name("example.com.")), &mut NoInclude).expect("loaded");
        assert!(file.warnings.iter().any(|warning| warning.text.contains("wildcard")), "{record}: {:?}", file.warnings);
    }
}

/// The groups of rules and how many each has.
const GROUPS: [(char, usize); 18] = [
    ('H', 26),
    ('E', 19),
    ('K', 9),
    ('R', 4),
    ('V', 1),
    ('Z', 7),
    ('A', 4),
    ('L', 28),
    ('T', 13),
    ('W', 5),
    ('G', 13),
    ('X', 19),
    ('U', 15),
    ('F', 10),
    ('Q', 9),
    ('D', 7),
    ('C', 7),
    ('N', 14),
];

/// The rows of the table of rules: id, source cell, test cell.
fn rows_of_rules(docs: &str) -> Vec<(&str, &str, &str)> {
    let rows = docs.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id "));
    rows.map(|row| {
        // A bar inside a cell is written with a backslash.
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        (cells[0], cells[cells.len() - 2], cells[cells.len() - 1])
    })
    .collect()
}

#[test]
fn the_table_of_rules_names_all_rules_and_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_to_string(root.join("docs/rfcs.md")).expect("the table of rules");
    let rows = rows_of_rules(&docs);
    let mut wrong = Vec::new();
    let wanted = GROUPS.iter().flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}{number}")));
    for id in wanted.filter(|id| rows.iter().filter(|row| row.0 == id).count() != 1) {
        wrong.push(format!("{id} does not stand once"));
    }
    let cases = ids_of_cases();
    for (id, sources, tests) in &rows {
        for source in sources.split(", ").map(|source| source.trim_matches('`')).filter(|source| *source != "–") {
            if !root.join(source).is_file() {
                wrong.push(format!("{id}: no source {source}"));
            }
        }
        let listed: BTreeSet<String> = tests
            .split(", ")
            .filter_map(|test| test.trim_matches('`').strip_prefix("answers/").map(|file| format!("{file}.golden")))
            .collect();
        let have = cases.get(*id).cloned().unwrap_or_default();
        if listed != have {
            wrong.push(format!("{id}: the table names {listed:?}, cases stand in {have:?}"));
        }
        let mut functions = 0;
        for (file, function) in tests.split(", ").filter_map(|test| test.split_once("` `")) {
            let (file, function) = (file.trim_matches('`'), function.trim_matches('`'));
            functions += 1;
            let path = if file.starts_with("src/") { root.join(file) } else { root.join("tests").join(file) };
            let text = fs::read_to_string(path).unwrap_or_default();
            if !text.contains(&format!("fn {function}(")) {
                wrong.push(format!("{id}: no {function} in {file}"));
            }
        }
        if listed.is_empty() && functions == 0 && !tests.contains("**") {
            wrong.push(format!("{id} has no test"));
        }
    }
    for id in cases.keys().filter(|id| !rows.iter().any(|row| row.0 == id.as_str())) {
        wrong.push(format!("{id} is in a case and not in the table"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
