//! Owners go with all below them, late writes find out, and the forest stays one (ownership.md sections 1 and 3.3).

use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Change, Command, DeleteOwner, OwnerKeys, PutOwner};
use tenured::ledger::report::ItemOutcome;

use crate::support::{Server, apply, count, id, items, record};

fn below(parent: &str) -> OwnerKeys {
    OwnerKeys { parent: Some(id(parent)), ..OwnerKeys::default() }
}

#[tokio::test]
async fn an_owner_goes_with_its_whole_subtree_in_one_step() {
    let server = Server::with_zone().await;
    for (owner, parent, host) in [("proxy", "project", "p"), ("gateway", "proxy", "g"), ("other", "elsewhere", "o")] {
        let records = [format!("{host}.example.com. A 192.0.2.1")];
        let wanted = Apply { keys: below(parent), ..apply(owner, &[&records[0]]) };
        server.run(Command::Apply(wanted)).await.expect("an apply");
    }
    let summary = server.reader.owner(&id("gateway")).await.expect("a look-up").expect("an owner");
    assert_eq!(summary.parents, [id("proxy"), id("project")]);
    let kept = DeleteOwner::new(id("project"));
    assert_eq!(server.run(Command::DeleteOwner(kept)).await.expect_err("children").code(), Code::HasChildren);

    let serial = server.serial("example.com.");
    let report = server.delete_owner("project").await.expect("a delete");
    assert_eq!(items(&report), ["g.example.com. A deleted", "p.example.com. A deleted"]);
    let mut gone = report.owners_deleted.clone();
    gone.sort();
    assert_eq!(gone, [id("gateway"), id("project"), id("proxy")]);
    assert!(server.is_nxdomain("p.example.com.") && server.is_nxdomain("g.example.com."));
    assert_eq!(server.values("o.example.com.", "A"), ["192.0.2.1"]);
    assert_eq!(server.serial("example.com."), serial + 1);

    let again = server.delete_owner("project").await.expect("a delete of nothing");
    assert!(again.results.is_empty() && again.owners_deleted.is_empty() && !again.changed);
    server.delete_owner("never-seen").await.expect("a delete of nothing");
}

#[tokio::test]
async fn a_project_with_ten_thousand_records_goes_by_one_call() {
    let server = Server::with_zone().await;
    for part in 0..10 {
        let texts: Vec<String> =
            (0..1_000).map(|number| format!("h{number}.p{part}.example.com. A 192.0.2.1")).collect();
        let records: Vec<&str> = texts.iter().map(String::as_str).collect();
        let wanted = Apply { keys: below("project"), ..apply(&format!("part-{part}"), &records) };
        server.run(Command::Apply(wanted)).await.expect("an apply");
    }
    let watcher = {
        let published = server.handle.published();
        let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flag = done.clone();
        let thread = std::thread::spawn(move || {
            while !flag.load(std::sync::atomic::Ordering::Relaxed) {
                let count = published.load().record_count();
                assert!(count == 10_002 || count == 2, "a query saw {count} records");
            }
        });
        (done, thread)
    };
    let report = server.delete_owner("project").await.expect("a delete");
    watcher.0.store(true, std::sync::atomic::Ordering::Relaxed);
    watcher.1.join().expect("no query saw half of it");
    assert_eq!(count(&report, ItemOutcome::Deleted), 10_000);
    assert_eq!(report.owners_deleted.len(), 11);
    assert_eq!(server.handle.published().get().record_count(), 2);
}

#[tokio::test]
async fn late_writes_of_a_deleted_incarnation_find_out() {
    let server = Server::with_zone().await;
    let with_uid = |uid: &str, generation: u64, records: &[&str]| {
        let keys = OwnerKeys { uid: Some(uid.to_owned()), generation: Some(generation), ..OwnerKeys::default() };
        Command::Apply(Apply { keys, ..apply("web", records) })
    };
    server.run(with_uid("u1", 5, &["www.example.com. A 192.0.2.1"])).await.expect("an apply");
    server.delete_owner("web").await.expect("a delete");
    let late = server.run(with_uid("u1", 6, &["www.example.com. A 192.0.2.1"])).await.expect_err("it is gone");
    assert_eq!((late.code(), late.code().http_status()), (Code::OwnerGone, 410));
    // A new incarnation counts its generations anew.
    server.run(with_uid("u2", 1, &["www.example.com. A 192.0.2.2"])).await.expect("a new incarnation");
    server.run(with_uid("u3", 1, &["www.example.com. A 192.0.2.3"])).await.expect("one that replaces it");
    let late = server.run(with_uid("u2", 9, &[])).await.expect_err("it was replaced");
    assert_eq!(late.code(), Code::OwnerGone);
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.3"]);

    let keys = OwnerKeys { uid: Some("u4".to_owned()), ..OwnerKeys::default() };
    let change = Change { keys, ..Change::put(id("web"), record("www.example.com. A 192.0.2.4")) };
    let refused = server.run(Command::Change(change)).await.expect_err("another incarnation");
    assert_eq!(refused.code(), Code::OwnerIncarnation);
}

#[tokio::test]
async fn a_delete_that_comes_before_its_create_counts() {
    let server = Server::with_zone().await;
    let delete = DeleteOwner { cascade: true, uid: Some("u1".to_owned()), ..DeleteOwner::new(id("web")) };
    server.run(Command::DeleteOwner(delete.clone())).await.expect("a delete of what is not there yet");
    let server = server.restart().await;
    let keys = OwnerKeys { uid: Some("u1".to_owned()), ..OwnerKeys::default() };
    let late = Apply { keys, ..apply("web", &["www.example.com. A 192.0.2.1"]) };
    assert_eq!(server.run(Command::Apply(late)).await.expect_err("gone").code(), Code::OwnerGone);
    // Of another incarnation nothing is deleted.
    let keys = OwnerKeys { uid: Some("u2".to_owned()), ..OwnerKeys::default() };
    server
        .run(Command::Apply(Apply { keys, ..apply("web", &["www.example.com. A 192.0.2.2"]) }))
        .await
        .expect("an apply");
    server.run(Command::DeleteOwner(delete)).await.expect("a late delete");
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.2"]);
}

#[tokio::test]
async fn nobody_is_above_itself_and_trees_have_a_depth() {
    let server = Server::start().await;
    let put = |owner: &str, parent: &str| Command::PutOwner(PutOwner { owner: id(owner), keys: below(parent) });
    for (owner, parent) in [("b", "a"), ("c", "b"), ("d", "c")] {
        assert_eq!(server.run(put(owner, parent)).await.expect("an owner").subject, Some(ItemOutcome::Created));
    }
    for (owner, parent) in [("a", "d"), ("b", "d"), ("a", "a")] {
        let refused = server.run(put(owner, parent)).await.expect_err("a cycle");
        assert_eq!(refused.code(), Code::OwnerCycle, "{owner} below {parent}");
    }
    assert_eq!(server.run(put("d", "c")).await.expect("as it was").subject, Some(ItemOutcome::Unchanged));
    assert_eq!(server.run(put("d", "a")).await.expect("a move").subject, Some(ItemOutcome::Updated));
    for level in 1..32 {
        server.run(put(&format!("l{level}"), &format!("l{}", level - 1))).await.expect("up to 32 levels");
    }
    assert_eq!(server.run(put("l32", "l31")).await.expect_err("too deep").code(), Code::LimitExceeded);
    assert_eq!(server.run(put("l0", "a")).await.expect_err("too deep").code(), Code::LimitExceeded);
}

#[tokio::test]
async fn an_alias_follows_its_owner_to_another_parent() {
    let server = Server::with_zone().await;
    let wanted = Apply { keys: below("project-1"), ..apply("web", &["www.example.com. ALIAS edge.example.net."]) };
    server.run(Command::Apply(wanted)).await.expect("an apply");
    let trusted = |server: &Server, owner: u32| {
        let www = crate::support::name("www.example.com.");
        let snapshot = server.handle.published().get();
        let zone = snapshot.zone_of(&www).expect("a zone").clone();
        let node = zone.node(&www).expect("a node");
        let rdata = node.rrset(tenured::wire::codes::Rtype::ALIAS).expect("an ALIAS").first();
        tenured::zone::alias::AliasRef::decode(rdata).expect("an ALIAS").trusts(owner)
    };
    let number =
        async |owner: &str| server.reader.owner(&id(owner)).await.expect("a look-up").expect("an owner").owner.number.0;
    let serial = server.serial("example.com.");
    assert!(trusted(&server, number("project-1").await));
    server.run(Command::PutOwner(PutOwner { owner: id("web"), keys: below("project-2") })).await.expect("a move");
    assert!(trusted(&server, number("project-2").await));
    assert!(!trusted(&server, number("project-1").await));
    assert_eq!(server.serial("example.com."), serial);
}
