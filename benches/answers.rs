//! What `respond` takes for each kind of answer, from a zone of 130,000 records, without a socket.
//!
//! Everything is deterministic: the zone, the keys, the time and the order of queries. `hot` kinds ask one question over
//! and over; `spread` kinds go through 4,096 names of the whole zone, so that memory which is not in a cache counts.

#[path = "../tests/asking/mod.rs"]
mod asking;

use std::fmt::{self, Write as _};
use std::sync::LazyLock;

use asking::hosted::{entry, family_answer, snapshot};
use asking::{Asker, NOW, query, rules};
use divan::{Bencher, black_box};
use tenured::answer::{Outcome, Transport};
use tenured::wire::codes::Rcode;
use tenured::zone::snapshot::Snapshot;

/// Groups of ten names and thirteen records each.
const GROUPS: usize = 10_000;
/// Names that a spread kind asks for in turn.
const SPREAD: usize = 4_096;

fn main() {
    divan::main();
}

/// A kind of answer: what is asked, and the code that it must have.
struct Kind {
    name: &'static str,
    asked: Asked,
    rcode: Rcode,
}

enum Asked {
    /// One question, in the words of [`query::parse`].
    Hot(&'static str),
    /// One of each group in turn: the number of the name within its group, and the words behind the name.
    Spread(usize, &'static str),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn hot(name: &'static str, words: &'static str) -> Kind {
    Kind { name, asked: Asked::Hot(words), rcode: Rcode::NOERROR }
}

const KINDS: &[Kind] = &[
    hot("A hit, hot", "n0.g0.bench.example. A"),
    Kind { name: "A hit, spread", asked: Asked::Spread(0, "A"), rcode: Rcode::NOERROR },
    hot("AAAA hit, hot", "n6.g0.bench.example. AAAA"),
    Kind { name: "AAAA hit, spread", asked: Asked::Spread(6, "AAAA"), rcode: Rcode::NOERROR },
    hot("A hit with EDNS", "n0.g0.bench.example. A edns"),
    hot("A hit with EDNS and a client cookie", "n0.g0.bench.example. A cookie=client"),
    hot("A hit with EDNS and a good server cookie", "n0.g0.bench.example. A cookie=0"),
    hot("MX with two additional records", "n9.g0.bench.example. MX"),
    Kind { name: "MX with additional records, spread", asked: Asked::Spread(9, "MX"), rcode: Rcode::NOERROR },
    hot("CNAME to an A", "n8.g0.bench.example. A"),
    hot("CNAME chain of three to an A", "c1.bench.example. A"),
    hot("NODATA", "n0.g0.bench.example. AAAA"),
    Kind { name: "NXDOMAIN", asked: Asked::Hot("nosuch.bench.example. A"), rcode: Rcode::NXDOMAIN },
    Kind {
        name: "NXDOMAIN, four labels deep",
        asked: Asked::Hot("a.b.c.nosuch.bench.example. A"),
        rcode: Rcode::NXDOMAIN,
    },
    hot("wildcard", "x.wild.bench.example. A"),
    hot("referral with glue", "x.sub.bench.example. A"),
    hot("DNAME", "n0.g0.old.bench.example. A"),
    hot("ANY, minimal", "n6.g0.bench.example. ANY"),
    hot("ALIAS in this server", "inside.bench.example. A"),
    hot("ALIAS resolved elsewhere", "outside.bench.example. A"),
    Kind { name: "REFUSED, no zone", asked: Asked::Hot("www.other.example. A"), rcode: Rcode::REFUSED },
];

/// The zone, with what is known of its one external ALIAS target.
static HOSTED: LazyLock<Snapshot> = LazyLock::new(|| {
    let mut zone = String::from(
        "$TTL 300
@ SOA ns1 hostmaster 1 3600 600 86400 60
@ NS ns1
@ NS ns2
ns1 A 192.0.2.1
ns2 A 192.0.2.2
*.wild A 192.0.2.99
sub NS ns.sub
ns.sub A 192.0.2.53
old DNAME bench.example.
c1 CNAME c2
c2 CNAME c3
c3 CNAME n0.g0
inside ALIAS n6.g0
outside ALIAS edge.proxy.example.
",
    );
    for group in 0..GROUPS {
        let below = format!("g{group}");
        let address = format!("10.{}.{}", group >> 8, group & 255);
        for number in 0..8 {
            writeln!(zone, "n{number}.{below} A {address}.{number}").expect("a String takes all");
        }
        for number in 6..8 {
            writeln!(zone, "n{number}.{below} AAAA 2001:db8::{group:x}:{number}").expect("a String takes all");
        }
        writeln!(zone, "n8.{below} CNAME n0.{below}\nn9.{below} MX 10 n6.{below}").expect("a String takes all");
        writeln!(zone, "n9.{below} TXT \"group {group} of the bench\"").expect("a String takes all");
    }
    let mut snapshot = snapshot(&[("bench.example.", &zone)]);
    let known = |words: &[&str]| Some(family_answer(words, NOW));
    let a = known(&["resolved", "192.0.2.20", "192.0.2.21"]);
    snapshot.alias.put(entry("edge.proxy.example.", a, known(&["resolved", "2001:db8::20"]), NOW));
    snapshot
});

/// The messages of a kind.
fn messages(kind: &Kind) -> Vec<Vec<u8>> {
    match kind.asked {
        Asked::Hot(words) => vec![query::parse(words).octets],
        Asked::Spread(number, words) => (0..SPREAD)
            .map(|at| {
                // 6,007 is prime and no divisor of the number of groups, so neighbours in time are none in memory.
                let group = at * 6_007 % GROUPS;
                query::parse(&format!("n{number}.g{group}.bench.example. {words}")).octets
            })
            .collect(),
    }
}

// A sample is one round of a spread kind, so that it meets every one of its names.
#[divan::bench(args = KINDS, sample_size = SPREAD as u32)]
fn answer(bencher: Bencher<'_, '_>, kind: &Kind) {
    let messages = messages(kind);
    let mut asker = Asker::new(rules());
    for message in &messages {
        // A bench of another answer than it says would be worth nothing.
        match asker.send(&HOSTED, message, Transport::Udp).0 {
            Outcome::Reply { rcode, .. } => assert_eq!(rcode, kind.rcode, "{kind}"),
            other => panic!("{kind}: {other:?}"),
        }
    }
    let mut next = messages.iter().cycle();
    bencher.bench_local(move || {
        let message = next.next().expect("a cycle does not end");
        let (_, reply) = asker.send(&HOSTED, black_box(message), Transport::Udp);
        black_box(reply.len())
    });
}
