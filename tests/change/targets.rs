//! What is known of external ALIAS targets: kept over a restart, told in the history, and a dead one's records put into
//! quarantine where their owner wants that.

use std::sync::Arc;

use tenured::control::dead_targets;
use tenured::ledger::alias_options::AliasOptions;
use tenured::ledger::command::{Change, Command};
use tenured::store::rows::ChangeFilter;
use tenured::zone::addresses::Addresses;
use tenured::zone::alias::{
    AliasBatch, AliasEntry, AliasState, Dependent, Family, FamilyAnswer, LastLookup, Moment, RecordState, TargetKey,
    Transition,
};
use tenured::zone::policy::{Hold, OnNxdomain, Policy};
use tenured::zone::walk::Trust;

use crate::support::{START, Server, id, name, record};

const EDGE: &str = "edge.proxy.test.";

fn key() -> TargetKey {
    TargetKey::of(name(EDGE))
}

fn answer(state: AliasState, fetched: Moment) -> FamilyAnswer {
    FamilyAnswer {
        state,
        addresses: Addresses::new(&[192, 0, 2, 10, 10, 0, 0, 1], Family::A),
        last_ok: Some(fetched),
        checked: Some(fetched),
        changed: Some(fetched),
        ttl: 60,
        highest_ttl: 300,
        lookup: Some(Arc::new(LastLookup {
            failures: 2,
            error: Some(AliasState::Timeout),
            upstream: Some("192.0.2.53:53".parse().expect("an address")),
            chain: Box::new([name("middle.proxy.test."), name("www.example.com.")]),
            takeover_risk: true,
        })),
        ..FamilyAnswer::pending(fetched)
    }
}

fn entry(state: AliasState, fetched: Moment) -> Arc<AliasEntry> {
    let mut entry = AliasEntry::pending(key(), fetched);
    entry.a = FamilyAnswer { crossing: Some(Arc::from([name("www.example.com.")])), ..answer(state, fetched) };
    entry.aaaa = FamilyAnswer { addresses: Addresses::default(), ..answer(state, fetched) };
    Arc::new(entry)
}

async fn publish(server: &Server, put: Arc<AliasEntry>) {
    assert!(server.handle.publish_alias(AliasBatch { put: vec![put], ..AliasBatch::default() }).await);
}

async fn events(server: &Server) -> Vec<String> {
    let filter = ChangeFilter { actor: Some("system:alias".to_owned()), ..ChangeFilter::default() };
    let rows = server.reader.changes(&filter).await.expect("changes").items;
    rows.into_iter().map(|row| format!("{} {} {}", row.rtype, row.name, row.owner)).collect()
}

#[tokio::test]
async fn what_is_known_of_a_target_is_the_same_after_a_restart() {
    let server = Server::with_zone().await;
    let known = entry(AliasState::Timeout, Moment(START.0 - 30_000));
    publish(&server, known.clone()).await;
    let server = server.restart().await;
    let read = server.handle.published().get().alias.entry(&key()).cloned().expect("it is there");
    assert_eq!(read, known);
    let gone = AliasBatch { removed: vec![key()], ..AliasBatch::default() };
    assert!(server.handle.publish_alias(gone).await);
    let server = server.restart().await;
    assert!(server.handle.published().get().alias.is_empty());
}

#[tokio::test]
async fn what_was_fetched_in_the_future_has_expired() {
    let server = Server::with_zone().await;
    publish(&server, entry(AliasState::Resolved, START.plus_seconds(1_000_000))).await;
    let server = server.restart().await;
    let read = server.handle.published().get().alias.entry(&key()).cloned().expect("it is there");
    for hold in [Hold::default(), Hold { min: 3_600, max: 86_400 }] {
        assert!(read.a.expires(hold) <= START, "{hold:?}");
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_as_if_it_were_not_there() {
    let server = Server::with_zone().await;
    publish(&server, entry(AliasState::Resolved, START)).await;
    let (directory, clock) = server.stop().await;
    let mut raw = crate::store::outside::Sql::open(&directory.path().join("tenured.db")).await;
    raw.run("UPDATE alias_target SET addresses = x\'c00002\' WHERE family = \'A\'").await;
    raw.close().await;
    let server = Server::start_in(directory, clock).await;
    let read = server.handle.published().get().alias.entry(&key()).cloned().expect("the other family is there");
    assert_eq!((read.a.state, read.aaaa.state), (AliasState::Pending, AliasState::Resolved));
}

#[tokio::test]
async fn a_state_that_changed_is_told_with_its_records_and_owners() {
    let server = Server::with_zone().await;
    server.apply("a", &["www.example.com. ALIAS edge.proxy.test."]).await;
    let owner = server.reader.owner(&id("a")).await.expect("a read").expect("an owner").owner.number.0;
    let dead = RecordState::Is(AliasState::TargetNxdomain);
    let dependent = Dependent { zone: name("example.com."), name: name("www.example.com."), owner };
    let one = Transition {
        target: key(),
        from: RecordState::Resolved,
        to: dead,
        at: START,
        takeover_risk: true,
        dependents: vec![dependent],
        count: 1,
    };
    // It went back at once: the last value counts, and that is no change.
    let back = Transition { from: dead, to: RecordState::Resolved, takeover_risk: false, ..one.clone() };
    let other = Transition { target: TargetKey::of(name("other.test.")), ..one.clone() };
    let transitions = vec![one, back, other];
    assert!(server.handle.publish_alias(AliasBatch { transitions, ..AliasBatch::default() }).await);
    let before = server.revision();
    let server = server.restart().await;
    assert!(server.revision() > before);
    let told = [
        "alias.state_changed other.test. a",
        "alias.takeover_risk other.test. a",
        "alias.takeover_risk edge.proxy.test. a",
    ];
    assert_eq!(events(&server).await, told);
}

#[tokio::test]
async fn a_record_goes_into_quarantine_once_its_target_is_gone_for_as_long_as_its_owner_says() {
    const DAY: u64 = 86_400_000;
    let server = Server::with_zone().await;
    let policy = Policy { on_nxdomain: OnNxdomain::Quarantine, ..Policy::default() };
    let options = AliasOptions { policy, quarantine_after: 86_400, ..AliasOptions::default() };
    for (owner, at) in [("a", "www.example.com."), ("b", "kept.example.com.")] {
        let mut wish = record(&format!("{at} ALIAS {EDGE}"));
        wish.alias = Some(options);
        server.run(Command::Change(Change::put(id(owner), wish))).await.expect("a record");
    }
    server.apply("c", &["plain.example.com. ALIAS edge.proxy.test."]).await;
    server.clock.advance(1_000);
    let mut dead = AliasEntry::pending(key(), server.clock.now());
    dead.a = answer(AliasState::TargetNxdomain, server.clock.now());
    dead.aaaa = dead.a.clone();
    publish(&server, Arc::new(dead)).await;
    let turn = async || dead_targets::turn(&server.handle, &server.reader, &Trust::default(), server.clock.now()).await;
    server.clock.advance(DAY - 1);
    turn().await;
    assert!(!server.is_nxdomain("www.example.com."), "not yet");
    // Its owner asks for it meanwhile.
    let mut wish = record(&format!("kept.example.com. ALIAS {EDGE}"));
    wish.alias = Some(options);
    server.run(Command::Change(Change::put(id("b"), wish))).await.expect("again");
    server.clock.advance(1);
    let serial = server.serial("example.com.");
    turn().await;
    assert!(server.is_nxdomain("www.example.com."));
    assert_ne!(server.serial("example.com."), serial);
    assert!(!server.is_nxdomain("kept.example.com.") && !server.is_nxdomain("plain.example.com."));
    assert_eq!(server.claims_of("a").await, ["www.example.com. ALIAS a quarantined"]);
    let server = server.restart().await;
    assert_eq!(events(&server).await, ["alias.quarantined edge.proxy.test. a"]);
}

#[tokio::test]
async fn a_target_in_a_zone_here_is_gone_since_it_went_whatever_restarts_come_between() {
    const DAY: u64 = 86_400_000;
    let server = Server::with_zone().await;
    let policy = Policy { on_nxdomain: OnNxdomain::Quarantine, ..Policy::default() };
    let options = AliasOptions { policy, quarantine_after: 86_400, ..AliasOptions::default() };
    server.apply("t", &["edge.example.com. A 192.0.2.1"]).await;
    let with_options = |at: &str| {
        let mut wish = record(&format!("{at} ALIAS edge.example.com."));
        wish.alias = Some(options);
        wish
    };
    for at in ["www.example.com.", "kept.example.com."] {
        server.run(Command::Change(Change::put(id("a"), with_options(at)))).await.expect("a record");
    }
    server.clock.advance(1_000);
    server.apply("t", &[]).await;
    server.clock.advance(DAY - 1);
    let server = server.restart().await;
    let turn = async |server: &Server| {
        dead_targets::turn(&server.handle, &server.reader, &Trust::default(), server.clock.now()).await;
    };
    turn(&server).await;
    assert!(!server.is_nxdomain("www.example.com."), "not yet");
    server.run(Command::Change(Change::put(id("a"), with_options("kept.example.com.")))).await.expect("again");
    server.clock.advance(1);
    turn(&server).await;
    assert!(server.is_nxdomain("www.example.com."));
    assert!(!server.is_nxdomain("kept.example.com."), "its owner asked for it since");
    // What is told of a target is written by the end at the latest.
    let server = server.restart().await;
    assert_eq!(events(&server).await, ["alias.quarantined edge.example.com. a"]);
}
