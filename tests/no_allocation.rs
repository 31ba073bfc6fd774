//! `respond` allocates nothing (architecture, query path), and what an ALIAS target costs in memory: counted by an allocator
//! of this test's own.

// A global allocator cannot be written without `unsafe`; this one only counts and hands on to the system's.
#![allow(unsafe_code)]

mod asking;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use asking::hosted::{entry, family_answer, snapshot};
use asking::{Asker, NOW, key, query, rules};
use tenured::alias::engine::{Action, Engine, Event, MAX_IN_FLIGHT, Settings};
use tenured::alias::lookup::{Answer, Lookup, Outcome as AliasOutcome, Report, Upstream};
use tenured::alias::pace::Pace;
use tenured::alias::slot::Want;
use tenured::answer::rate::RateLimiter;
use tenured::answer::{Limited, Outcome, Patience};
use tenured::wire::name::Name;
use tenured::zone::alias::{AliasTable, Moment, RecordState, TargetKey};
use tenured::zone::policy::Hold;
use tenured::zone::snapshot::Snapshot;

thread_local! {
    /// Allocations of this thread; made without one.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Octets that this thread took and has not given back, with what the system's allocator needs itself.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// What glibc puts before each piece, and rounds it up to.
const HEADER: usize = 8;
const STEP: usize = 16;

struct Counting;

fn count() {
    ALLOCATIONS.with(|count| count.set(count.get() + 1));
}

fn hold(size: usize) {
    HELD.with(|held| held.set(held.get() + (size + HEADER).next_multiple_of(STEP) as isize));
}

fn release(size: usize) {
    HELD.with(|held| held.set(held.get() - (size + HEADER).next_multiple_of(STEP) as isize));
}

// SAFETY: every call goes to `System` unchanged, which keeps the contract; counting touches no memory but a cell of the
// thread that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        hold(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        hold(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        release(layout.size());
        hold(size);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        release(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn hosted() -> Snapshot {
    let mut zone = String::from(
        "$TTL 3600
@ SOA ns1 hostmaster 1 7200 900 1209600 300
@ NS ns1
@ NS ns2
@ MX 10 mail
@ MX 20 backup
@ 300 ALIAS edge.proxy.test.
ns1 A 192.0.2.1
ns2 A 192.0.2.2
ns2 AAAA 2001:db8::2
mail A 192.0.2.25
mail AAAA 2001:db8::25
backup 300 ALIAS edge.proxy.test.
www A 192.0.2.10
www A 192.0.2.11
www AAAA 2001:db8::10
www TXT \"a text\"
c1 CNAME c2
c2 CNAME c3
c3 CNAME www
loop1 CNAME loop2
loop2 CNAME loop1
*.wild TXT \"a wildcard\"
*.wild CAA 0 issue \"ca.example\"
sub NS ns.sub
sub NS ns2
ns.sub A 192.0.2.53
sub DS 12345 13 2 aabbccddeeff00112233445566778899aabbccddeeff00112233445566778899
old DNAME new
host.new A 192.0.2.12
up DNAME x.up
own 300 ALIAS c1
edge 300 ALIAS edge.proxy.test.
stale 300 ALIAS stale.proxy.test.
dead 300 ALIAS dead.proxy.test.
fails 300 ALIAS fails.proxy.test.
never 300 ALIAS never.proxy.test.
srv SRV 0 0 443 edge
",
    );
    for number in 0..200 {
        zone.push_str(&format!("many TXT \"text number {number} of an RRset that is over every limit of UDP\"\n"));
    }
    let mut snapshot = snapshot(&[("example.com.", &zone)]);
    let known = |words: &[&str]| Some(family_answer(words, NOW));
    let mut put = |target: &str, a: &[&str], aaaa: &[&str]| {
        snapshot.alias.put(entry(target, known(a), known(aaaa), NOW));
    };
    put("edge.proxy.test.", &["resolved", "192.0.2.20", "192.0.2.21"], &["resolved", "2001:db8::20"]);
    put("stale.proxy.test.", &["timeout", "192.0.2.22", "age=600"], &["nodata"]);
    put("dead.proxy.test.", &["targetnxdomain"], &["targetnxdomain"]);
    put("fails.proxy.test.", &["network"], &["servfail"]);
    snapshot
}

/// Queries of all kinds; each is asked over UDP and TCP.
const ASKED: &[&str] = &[
    "www.example.com. A",
    "www.example.com. AAAA",
    "WWW.Example.COM. TXT rd",
    "example.com. SOA",
    "example.com. NS",
    "example.com. MX",
    "example.com. MX edns do",
    "c1.example.com. A",
    "c1.example.com. MX",
    "loop1.example.com. A",
    "nosuch.example.com. A",
    "a.b.c.nosuch.example.com. A edns",
    "mail.example.com. TXT",
    "x.wild.example.com. TXT",
    "x.y.wild.example.com. CAA",
    "x.wild.example.com. A",
    "www.sub.example.com. A",
    "sub.example.com. DS",
    "host.old.example.com. A",
    "host.up.example.com. A edns",
    "www.example.com. ANY",
    "example.com. ANY",
    "many.example.com. TXT",
    "www.example.com. A edns",
    "www.example.com. A cookie=client",
    "www.example.com. A cookie=0",
    "www.example.com. A cookie=wrong",
    "www.example.com. A nsid keepalive padding=16 subnet=00011800c00002",
    "own.example.com. A",
    "own.example.com. AAAA edns",
    "edge.example.com. A",
    "edge.example.com. AAAA",
    "example.com. A",
    "edge.example.com. TXT",
    "edge.example.com. ANY",
    "stale.example.com. A edns",
    "dead.example.com. A edns",
    "fails.example.com. A edns",
    "fails.example.com. AAAA",
    "srv.example.com. SRV",
    "never.example.com. TXT",
    "never.example.com. A ended",
    "never.example.com. A edns ended",
    "www.example.net. A",
    "www.example.net. A edns",
    ". NS",
    "www.example.com. A class=255",
    "id.server. TXT class=3",
    "www.example.com. TKEY",
    "www.example.com. NXNAME edns",
    "example.com. AXFR",
    "example.com. IXFR",
    "example.com. SOA opcode=4",
    "example.com. SOA opcode=5",
    "www.example.com. A version=1",
    "www.example.com. A behind=00",
    "www.example.com. A option=10:00",
    "www.example.com. A opcode=2",
    "www.example.com. A qr",
    ". A qdcount=0",
    ". A qdcount=0 cookie=client",
    "raw both 2a2a",
    "raw both 2a2a 0000 0002 0000 0000 0000",
    "raw both 2a2a 0000 0001 0000 0000 0000 c00c 0001 0001",
    "raw both 2a2a 0000 0001 ffff ffff ffff name:www.example.com. 0001 0001",
    "raw both 2a2a 0000 0001 0000 0000 0001 name:www.example.com. 0001 0001 name:key.example. 00fa 00ff 00000000 001d \
     name:hmac-sha256. 000000000000 012c 0000 2a2a 0000 0000",
];

#[test]
fn respond_allocates_nothing_whatever_is_asked() {
    let snapshot = hosted();
    let mut asker = Asker::new(rules());
    asker.rules.nsid = Some(b"ns1.example".to_vec());
    let mut asked = 0;
    for line in ASKED {
        let query = query::parse(line);
        asker.patience = if query.ended { Patience::Ended } else { Patience::Wait };
        for transport in [tenured::answer::Transport::Udp, tenured::answer::Transport::Tcp] {
            let before = ALLOCATIONS.get();
            let (outcome, octets) = asker.send(&snapshot, &query.octets, transport);
            let allocations = ALLOCATIONS.get() - before;
            assert_eq!(allocations, 0, "{line} {transport:?}: {} octets", octets.len());
            assert!(!matches!(outcome, Outcome::Pending(_)), "{line} was meant to be answered");
            asked += 1;
        }
    }
    assert!(asked > 100, "the mix was asked");
}

#[test]
fn w5_rate_limiting_allocates_nothing_whatever_it_decides() {
    let snapshot = hosted();
    let mut asker = Asker::new(rules());
    asker.rules.limiter = Some(Arc::new(RateLimiter::new(5, Vec::new(), key())));
    let mut decided = [0; 3];
    let queries: Vec<_> =
        ["www.example.com. A", "www.example.com. A edns", "never.example.com. TXT"].map(query::parse).into();
    for query in queries.iter().cycle().take(90) {
        let before = ALLOCATIONS.get();
        let (outcome, _) = asker.send(&snapshot, &query.octets, tenured::answer::Transport::Udp);
        assert_eq!(ALLOCATIONS.get() - before, 0);
        decided[match outcome {
            Outcome::Reply { limited: Limited::Not, .. } => 0,
            Outcome::Reply { limited: Limited::Truncated, .. } => 1,
            Outcome::Limited { .. } => 2,
            Outcome::Silent(_) | Outcome::Pending(_) => panic!("{outcome:?}"),
        }] += 1;
    }
    assert!(decided.iter().all(|count| *count > 0), "{decided:?}");
}

#[test]
fn alias_p5_an_entry_of_four_addresses_takes_half_a_kibibyte_at_most() {
    const TARGETS: usize = 4_096;
    let before = HELD.get();
    let settings = Settings { upstreams: vec![1], in_flight: MAX_IN_FLIGHT, pace: Pace::default(), seed: 1 };
    let mut engine = Engine::new(settings);
    let mut table = AliasTable::new(key());
    let upstream = Some(Upstream(0));
    for number in 0..TARGETS {
        let target = TargetKey::of(Name::parse(&format!("edge-{number}.lb.example.net")).expect("a name"));
        engine.step(Event::Wanted(target, Want { owner: 1, hold: Hold::default() }), NOW);
    }
    let mut actions = Vec::new();
    let mut now = NOW;
    for _ in 0..4 {
        engine.actions(now, &mut actions);
        for action in std::mem::take(&mut actions) {
            match action {
                Action::Lookup(Lookup { target, family, ticket, .. }) => {
                    let octets = (0..4 * family.octets()).map(|octet| octet as u8 + 1).collect();
                    let answer = Answer {
                        from: Some("192.0.2.53:53".parse().expect("an address")),
                        ..Answer::direct(upstream, AliasOutcome::Addresses { octets, ttl: 60 })
                    };
                    engine.step(Event::Done(Report { target, family, ticket, answer }), now);
                }
                Action::Publish(batch) => batch.put.into_iter().for_each(|entry| table.put(entry)),
            }
        }
        now = Moment(now.0 + 100);
    }
    drop(actions);
    assert_eq!(table.iter().filter(|entry| entry.state() == RecordState::Resolved).count(), TARGETS);
    let each = (HELD.get() - before) as usize / (2 * TARGETS);
    println!("an entry of four addresses: {each} octets, published and in the engine");
    assert!(each <= 512, "{each} octets");
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let text = String::from(std::hint::black_box("one allocation"));
    assert_eq!(ALLOCATIONS.get() - before, 1, "{text}");
}
