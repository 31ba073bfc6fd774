//! Records are kept aside for a while, and come back by their owner's next write (ownership.md section 3.3).

use tenured::control::schedule;
use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Change, Command, CreateZone, DeleteOwner, Fate, Going, OnConflict, OwnerKeys};
use tenured::ledger::owner::OwnerState;
use tenured::ledger::quarantine::KEPT;

use crate::support::{Server, apply, id, items, key, name};

fn put_aside(owner: &str, at: &str, rtype: &str) -> Command {
    Command::Change(Change { going: Going::Quarantined, ..Change::delete(id(owner), vec![key(at, rtype)]) })
}

fn put_owner_aside(owner: &str) -> Command {
    Command::DeleteOwner(DeleteOwner { cascade: true, records: Fate::Quarantined, ..DeleteOwner::new(id(owner)) })
}

async fn turn(server: &Server) {
    schedule::turn(&server.handle, &server.reader, server.clock.now()).await;
}

#[tokio::test]
async fn a_quarantined_record_is_not_served_frees_its_slot_and_comes_back_by_a_write() {
    let server = Server::with_zone().await;
    server.apply("a", &["www.example.com. A 192.0.2.1"]).await;
    let waiting = Apply { on_conflict: OnConflict::Queue, ..apply("b", &["www.example.com. A 192.0.2.2"]) };
    server.run(Command::Apply(waiting)).await.expect("queued");
    let report = server.run(put_aside("a", "www.example.com.", "A")).await.expect("aside");
    assert_eq!(items(&report), ["www.example.com. A quarantined promoted b"]);
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.2"]);
    assert_eq!(server.claims_of("a").await, ["www.example.com. A a quarantined"]);
    let again = server.run(put_aside("a", "www.example.com.", "A")).await.expect("aside already");
    assert!(!again.changed);
    // Another holds it now, so coming back is a conflict until that one lets go.
    let refused = server.put("a", "www.example.com. A 192.0.2.1").await.expect_err("held");
    assert_eq!(refused.code(), Code::OwnedByOther);
    server.delete("b", "www.example.com.", "A").await.expect("let go");
    assert!(server.is_nxdomain("www.example.com."), "nobody is promoted out of quarantine");
    server.put("a", "www.example.com. A 192.0.2.1").await.expect("back");
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    server.clock.advance(KEPT + 1);
    turn(&server).await;
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"], "what came back is not purged");
}

#[tokio::test]
async fn quarantine_ends_after_seven_days_and_a_restart_does_not_matter() {
    let server = Server::with_zone().await;
    server.apply("a", &["www.example.com. A 192.0.2.1", "keep.example.com. A 192.0.2.2"]).await;
    server.run(put_aside("a", "www.example.com.", "A")).await.expect("aside");
    server.apply("a", &["keep.example.com. A 192.0.2.2"]).await;
    assert_eq!(server.claims_of("a").await.len(), 2, "an apply leaves it in quarantine");
    server.clock.advance(KEPT - 1);
    turn(&server).await;
    let server = server.restart().await;
    assert!(server.is_nxdomain("www.example.com."));
    assert_eq!(server.claims_of("a").await.len(), 2);
    server.clock.advance(1);
    let serial = server.serial("example.com.");
    turn(&server).await;
    assert_eq!(server.claims_of("a").await, ["keep.example.com. A a held"]);
    assert_eq!(server.serial("example.com."), serial, "what was not served is not missed");
}

#[tokio::test]
async fn an_owner_in_quarantine_goes_at_the_end_unless_it_writes() {
    let server = Server::with_zone().await;
    let below = OwnerKeys { parent: Some(id("project")), ..OwnerKeys::default() };
    for owner in ["web", "mail"] {
        let record = format!("{owner}.example.com. A 192.0.2.1");
        let wanted = Apply { keys: below.clone(), ..apply(owner, &[&record]) };
        server.run(Command::Apply(wanted)).await.expect("an apply");
    }
    let zone = CreateZone { owner: Some(id("mail")), ..CreateZone::new(name("example.org.")) };
    server.run(Command::CreateZone(zone)).await.expect("a zone");
    let report = server.run(put_owner_aside("project")).await.expect("aside");
    assert_eq!(items(&report), ["mail.example.com. A quarantined", "web.example.com. A quarantined"]);
    assert!(!server.run(put_owner_aside("project")).await.expect("again").changed);
    let state =
        async |owner: &str| server.reader.owner(&id(owner)).await.expect("a look-up").map(|found| found.owner.state);
    assert_eq!(state("web").await, Some(OwnerState::Deleting));
    server.apply("web", &["web.example.com. A 192.0.2.1"]).await;
    assert_eq!(state("web").await, Some(OwnerState::Active));
    assert_eq!(server.values("web.example.com.", "A"), ["192.0.2.1"]);
    server.clock.advance(KEPT);
    turn(&server).await;
    assert_eq!((state("mail").await, state("web").await), (None, Some(OwnerState::Active)));
    assert!(state("project").await.is_some(), "its child lives");
    let zone = server.reader.zone(&name("example.org.")).await.expect("a look-up").expect("it stays");
    assert_eq!(zone.zone.owner, id("zone:example.org."));
}

#[tokio::test]
async fn soa_and_ns_put_aside_go_back_to_the_server() {
    let server = Server::with_zone().await;
    server.apply("zone:example.com.", &["example.com. NS ns.example.net."]).await;
    server.run(put_aside("zone:example.com.", "example.com.", "NS")).await.expect("aside");
    assert_eq!(server.values("example.com.", "NS"), ["ns.example.net."]);
    server.apply("zone:example.com.", &["example.com. NS ns.example.net."]).await;
    assert_eq!(server.claims_of("zone:example.com.").await, ["example.com. NS zone:example.com. held"]);
}
