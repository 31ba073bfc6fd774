//! Records change hands, and nothing that is served changes (ownership.md section 3.3).

use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Change, Command, DeleteOwner, Fate, OnConflict, Transfer};
use tenured::wire::codes::Rtype;

use crate::support::{Server, apply, id, items, name, record, token_of};

fn transfer(from: &str, to: &str) -> Transfer {
    Transfer { from: id(from), to: id(to), zone: None, name: None, rtype: None, if_revision: None }
}

#[tokio::test]
async fn a_transfer_touches_no_data_and_leaves_history() {
    let server = Server::with_zone().await;
    server.apply("old", &["www.example.com. A 192.0.2.1", "mail.example.com. MX 10 mx.example.net."]).await;
    let (serial, revision, history) = (server.serial("example.com."), server.revision(), server.history_length().await);
    let report = server.run(Command::Transfer(transfer("old", "new"))).await.expect("a transfer");
    assert_eq!(items(&report), ["mail.example.com. MX updated", "www.example.com. A updated"]);
    assert_eq!((server.serial("example.com."), server.revision()), (serial, revision + 1));
    assert!(server.claims_of("old").await.is_empty());
    assert_eq!(server.claims_of("new").await.len(), 2);
    // Each record leaves one owner and comes to the other, and the new owner is made.
    assert_eq!(server.history_length().await, history + 5);
    let again = server.run(Command::Transfer(transfer("old", "new"))).await.expect("nothing to do");
    assert!(!again.changed && again.results.is_empty());
    let server = server.restart().await;
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    server.apply("new", &[]).await;
    assert!(server.is_nxdomain("www.example.com."), "the new owner lets go of it");
}

#[tokio::test]
async fn a_transfer_is_limited_to_what_matches() {
    let server = Server::with_zone().await;
    server.create_zone("example.org.").await;
    let records = [
        "a.example.com. A 192.0.2.1",
        "a.example.com. TXT one",
        "b.example.com. A 192.0.2.2",
        "a.example.org. A 192.0.2.3",
    ];
    server.apply("old", &records).await;
    let at_a = Transfer { name: Some(name("a.example.com.")), rtype: Some(Rtype::A), ..transfer("old", "new") };
    let report = server.run(Command::Transfer(at_a)).await.expect("a transfer");
    assert_eq!(items(&report), ["a.example.com. A updated"]);
    let in_org = Transfer { zone: Some(name("example.org.")), ..transfer("old", "new") };
    server.run(Command::Transfer(in_org)).await.expect("a transfer");
    assert_eq!(server.claims_of("old").await, ["a.example.com. TXT old held", "b.example.com. A old held"]);
    let stale = Transfer { if_revision: Some(1), ..transfer("old", "new") };
    assert_eq!(server.run(Command::Transfer(stale)).await.expect_err("stale").code(), Code::StaleRevision);
    let unknown = server.run(Command::Transfer(transfer("nobody", "new"))).await.expect_err("unknown");
    assert_eq!(unknown.code(), Code::NotFound);
}

#[tokio::test]
async fn who_gives_and_takes_has_to_be_entitled_to_both() {
    let server = Server::with_zone().await;
    server.apply("a", &["a.example.com. A 192.0.2.1"]).await;
    server.apply("b", &["b.example.com. A 192.0.2.2"]).await;
    for (root, from, to) in [("a", "a", "b"), ("b", "a", "b"), ("c", "a", "b"), ("a", "zone:example.com.", "a")] {
        let refused = server.run_as(token_of(root), Command::Transfer(transfer(from, to))).await;
        assert_eq!(refused.expect_err("foreign").code(), Code::Forbidden, "{root}: {from} to {to}");
    }
    server.run_as(token_of("a"), Command::Transfer(transfer("a", "a/below"))).await.expect("its own child");
    assert_eq!(server.claims_of("a/below").await, ["a.example.com. A a/below held"]);
    let system = server.run(Command::Transfer(transfer("system:tenured", "a"))).await.expect_err("the server's");
    assert_eq!(system.code(), Code::Forbidden);
}

#[tokio::test]
async fn who_waits_may_get_it_and_who_shares_becomes_one() {
    let server = Server::with_zone().await;
    server.apply("a", &["www.example.com. A 192.0.2.1", "set.example.com. share A 192.0.2.1"]).await;
    let wanted = apply("b", &["www.example.com. A 192.0.2.9", "set.example.com. TTL=60 share A 192.0.2.2"]);
    server.run(Command::Apply(Apply { on_conflict: OnConflict::Queue, ..wanted })).await.expect("queued");
    let served = (server.served("www.example.com."), server.served("set.example.com."));
    server.run(Command::Transfer(transfer("a", "b"))).await.expect("a transfer");
    assert_eq!((server.served("www.example.com."), server.served("set.example.com.")), served);
    assert_eq!(server.claims_of("b").await, ["set.example.com. A b held", "www.example.com. A b held"]);
}

#[tokio::test]
async fn addresses_beside_an_alias_stay_with_it() {
    use tenured::ledger::alias_options::{AliasOptions, StaticMode};
    let server = Server::with_zone().await;
    let mut alias = record("www.example.com. ALIAS edge.example.net.");
    alias.alias = Some(AliasOptions { static_mode: StaticMode::Override, ..AliasOptions::default() });
    server.run(Command::Change(Change::put(id("a"), alias))).await.expect("an ALIAS");
    server.put("a", "www.example.com. A 192.0.2.1").await.expect("beside it");
    let half = Transfer { rtype: Some(Rtype::A), ..transfer("a", "b") };
    let report = server.run(Command::Transfer(half)).await.expect("an answer");
    assert_eq!(items(&report), ["www.example.com. A conflict owned_by_other by a"]);
    server.run(Command::Transfer(transfer("a", "b"))).await.expect("both");
    assert_eq!(server.claims_of("b").await.len(), 2);
}

#[tokio::test]
async fn an_owner_that_goes_may_leave_its_records_and_zones_to_another() {
    let server = Server::with_zone().await;
    server.apply("a", &["www.example.com. A 192.0.2.1"]).await;
    let serial = server.serial("example.com.");
    let delete = DeleteOwner { records: Fate::Released(id("b")), ..DeleteOwner::new(id("a")) };
    let report = server.run(Command::DeleteOwner(delete.clone())).await.expect("released");
    assert_eq!((items(&report), report.owners_deleted.len()), (vec!["www.example.com. A updated".to_owned()], 1));
    assert_eq!(
        (server.values("www.example.com.", "A"), server.serial("example.com.")),
        (vec!["192.0.2.1".to_owned()], serial)
    );
    assert_eq!(server.claims_of("b").await, ["www.example.com. A b held"]);
    let again = server.run(Command::DeleteOwner(delete)).await.expect("nothing to do");
    assert!(!again.changed);
    let itself = DeleteOwner { records: Fate::Released(id("b")), ..DeleteOwner::new(id("b")) };
    assert_eq!(server.run(Command::DeleteOwner(itself)).await.expect_err("itself").code(), Code::BadRequest);
}
