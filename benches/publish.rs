//! What it takes to build a zone of a thousand, a hundred thousand and a million names, and to change one record in it and
//! publish. The second must not grow with the zone: a change copies the path to one entry and shares the rest.

use std::sync::Arc;

use divan::{Bencher, black_box};
use tenured::wire::codes::Rtype;
use tenured::wire::name::{HashKey, Name};
use tenured::wire::presentation::rdata_from_text;
use tenured::zone::content::Zone;
use tenured::zone::node::RRset;
use tenured::zone::published::SnapshotWriter;
use tenured::zone::snapshot::Snapshot;

const NAMES: &[usize] = &[1_000, 100_000, 1_000_000];
/// Names below each name of the second level.
const WIDTH: usize = 1_000;

fn main() {
    divan::main();
}

fn apex() -> Name {
    Name::parse("bench.example.").expect("a name")
}

fn key() -> HashKey {
    HashKey::new(5, 9)
}

/// `n<i>.g<i / WIDTH>.bench.example.`
fn host(number: usize) -> Name {
    let group = apex().child(format!("g{}", number / WIDTH).as_bytes()).expect("a short label");
    group.child(format!("n{number}").as_bytes()).expect("a short label")
}

fn address(number: u32) -> RRset {
    RRset { rtype: Rtype::A, ttl: 300, records: vec![number.to_be_bytes().to_vec()] }
}

/// What goes into a zone, made before the clock runs: parsing is not what is measured.
fn content(names: usize) -> Vec<(Name, RRset)> {
    (0..names).map(|number| (host(number), address(number as u32))).collect()
}

fn build(content: &[(Name, RRset)]) -> Zone {
    let mut zone = Zone::new(apex(), key(), 1);
    let soa = rdata_from_text(Rtype::SOA, "ns1.bench.example. host.bench.example. 1 3600 600 86400 60", None);
    let soa = RRset { rtype: Rtype::SOA, ttl: 300, records: vec![soa.expect("a SOA")] };
    zone.set(&apex(), &[soa]);
    for (name, rrset) in content {
        zone.set(name, std::slice::from_ref(rrset));
    }
    zone
}

/// A whole zone from RRsets that are in memory. Its end is not counted.
#[divan::bench(args = NAMES, sample_count = 5, sample_size = 1)]
fn build_a_zone(bencher: Bencher<'_, '_>, names: usize) {
    let content = content(names);
    bencher.bench_local(|| build(black_box(&content)));
}

/// From a published Snapshot to the next, of which one record is another: what the controller does between a plan and the
/// answer to its caller, without the store. The end of the Snapshot before the last is counted.
#[divan::bench(args = NAMES, sample_size = 64)]
fn change_one_record_and_publish(bencher: Bencher<'_, '_>, names: usize) {
    let mut first = Snapshot::new(key());
    first.put_zone(Arc::new(build(&content(names))));
    let mut writer = SnapshotWriter::new(first);
    let published = writer.published();
    let mut retired = None;
    let mut at = 0_usize;
    bencher.bench_local(move || {
        // A prime step goes through all names of a zone, and not in the order in which they were made.
        at = (at + 7_919) % names;
        let mut next = Snapshot::clone(&published.load());
        let mut zone = Zone::clone(next.zone(&apex()).expect("the zone"));
        zone.set(&host(at), &[address(black_box(at as u32 + 1))]);
        next.put_zone(Arc::new(zone));
        next.revision += 1;
        drop(retired.replace(published.get()));
        writer.publish(next);
    });
}
