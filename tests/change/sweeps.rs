//! Sweeps and their undoing (ownership.md section 3.4).

use tenured::ledger::code::Code;
use tenured::ledger::command::{Command, OwnerKeys, PutOwner, Sweep};
use tenured::ledger::report::{ItemOutcome, Refusal, Report};
use tenured::ledger::sweep::SweepMode;

use crate::support::{Server, admin, apply, id, items, token_of};

fn sweep(mode: SweepMode, live: &[&str]) -> Sweep {
    Sweep { scope: id("prod"), as_of: None, live: live.iter().map(|one| id(one)).collect(), mode, max_deletes: None }
}

async fn put(server: &Server, owner: &str, parent: &str) {
    let keys = OwnerKeys { parent: Some(id(parent)), uid: Some(format!("uid-{owner}")), ..OwnerKeys::default() };
    server.run(Command::PutOwner(PutOwner { owner: id(owner), keys })).await.expect("an owner");
}

/// `prod` above `web`, which is above `web-1` and `web-2`, and above `mail`; each of the lower ones with a record.
async fn filled() -> Server {
    let server = Server::with_zone().await;
    for (owner, parent) in [("web", "prod"), ("web-1", "web"), ("web-2", "web"), ("mail", "prod")] {
        put(&server, owner, parent).await;
    }
    server.apply("web-1", &["a.example.com. A 192.0.2.1"]).await;
    server.apply("web-2", &["b.example.com. TTL=60 A 192.0.2.2", "t.example.com. TXT kept"]).await;
    server.apply("mail", &["m.example.com. A 192.0.2.3"]).await;
    server
}

async fn run(server: &Server, asked: Sweep) -> Report {
    server.run(Command::Sweep(asked)).await.expect("a sweep")
}

async fn undo(server: &Server, id: u64) -> Result<Report, Refusal> {
    server.run(Command::UndoSweep(id)).await
}

fn found(report: &Report) -> Vec<(&str, u64)> {
    report.candidates.iter().map(|one| (one.owner.as_str(), one.records)).collect()
}

#[tokio::test]
async fn what_is_neither_live_nor_above_what_is_goes_and_a_late_write_spares() {
    let server = filled().await;
    let as_of = server.revision();
    let report = run(&server, sweep(SweepMode::Report, &["web-1", "typo"])).await;
    let mut names = found(&report);
    names.sort_unstable();
    assert_eq!(names, [("mail", 1), ("web-2", 2)]);
    assert_eq!(report.unknown, [id("typo")]);
    assert_eq!(server.values("m.example.com.", "A"), ["192.0.2.3"], "a report takes nothing");
    let mail = report.candidates.iter().find(|one| one.owner.as_str() == "mail").expect("it is there");
    assert_eq!(mail.parents, [id("prod")]);

    // Between the report and the delete, one of them writes.
    server.apply("mail", &["m.example.com. A 192.0.2.4"]).await;
    let asked = Sweep { as_of: Some(as_of), ..sweep(SweepMode::Delete, &["web-1"]) };
    let report = run(&server, asked).await;
    assert_eq!(found(&report), [("web-2", 2)]);
    assert_eq!(report.owners_deleted, [id("web-2")]);
    assert!(server.is_nxdomain("b.example.com.") && server.is_nxdomain("t.example.com."));
    assert_eq!(server.values("m.example.com.", "A"), ["192.0.2.4"]);
    // Nobody alive: all below the scope go, and the scope stays.
    let report = run(&server, sweep(SweepMode::Delete, &[])).await;
    assert_eq!(report.owners_deleted.len(), 3, "web, web-1 and mail");
    assert!(server.reader.owner(&id("prod")).await.expect("a read").is_some());
    let future = Sweep { as_of: Some(server.revision() + 1), ..sweep(SweepMode::Delete, &[]) };
    assert_eq!(
        server.run(Command::Sweep(future)).await.expect_err("a revision of the future").code(),
        Code::BadRequest
    );
    let nobody = Sweep { scope: id("nobody"), ..sweep(SweepMode::Delete, &[]) };
    assert_eq!(server.run(Command::Sweep(nobody)).await.expect_err("no such owner").code(), Code::NotFound);
}

#[tokio::test]
async fn a_deleting_sweep_is_undone_after_a_restart_with_owners_and_records_as_they_were() {
    let server = filled().await;
    server.put("mail", "a.example.com. A 192.0.2.9").await.expect_err("held by web-1");
    let before = server.claims(Default::default()).await;
    let owner = server.reader.owner(&id("web-2")).await.expect("a read").expect("it is there").owner;
    let swept = run(&server, sweep(SweepMode::Delete, &["mail"])).await.sweep.expect("its number");
    assert!(server.is_nxdomain("a.example.com."));
    let late = apply("web-2", &["b.example.com. A 192.0.2.2"]);
    let keys = OwnerKeys { uid: owner.uid.clone(), ..OwnerKeys::default() };
    let late = Command::Apply(tenured::ledger::command::Apply { keys, ..late });
    assert_eq!(server.run(late.clone()).await.expect_err("it is gone").code(), Code::OwnerGone);

    let server = server.restart().await;
    let listed = server.reader.sweeps(server.clock.now()).await.expect("sweeps").items;
    assert_eq!((listed.len(), listed[0].taken, listed[0].swept.mode), (1, 3, SweepMode::Delete));
    let report = undo(&server, swept).await.expect("undone");
    assert_eq!((report.summary.count(ItemOutcome::Created), report.summary.has_refused()), (3, false));
    assert_eq!(server.claims(Default::default()).await, before);
    assert_eq!(server.served("b.example.com."), ["A 60 192.0.2.2"]);
    let again = server.reader.owner(&id("web-2")).await.expect("a read").expect("it is back");
    assert_eq!((again.owner.uid, again.parents), (owner.uid, vec![id("web"), id("prod")]));
    server.run(late).await.expect("the same incarnation writes again");
    let revision = server.revision();
    let again = undo(&server, swept).await.expect("nothing is left to do");
    assert_eq!((again.subject, server.revision()), (Some(ItemOutcome::Unchanged), revision));
    assert_eq!(undo(&server, 9_999).await.expect_err("no such sweep").code(), Code::NotFound);
}

#[tokio::test]
async fn undoing_takes_nothing_from_who_holds_the_name_since_and_can_be_repeated() {
    let server = filled().await;
    for mode in [SweepMode::Delete, SweepMode::Quarantine] {
        let swept = run(&server, sweep(mode, &["mail", "web-1"])).await.sweep.expect("its number");
        server.put("other", "b.example.com. A 192.0.2.77").await.expect("the name is free");
        let report = undo(&server, swept).await.expect("partly");
        let mut texts = items(&report);
        texts.sort();
        let back = if mode == SweepMode::Delete { "created" } else { "updated" };
        assert_eq!(
            texts,
            ["b.example.com. A conflict owned_by_other by other".to_owned(), format!("t.example.com. TXT {back}")]
        );
        assert_eq!(server.values("b.example.com.", "A"), ["192.0.2.77"]);
        assert_eq!(server.values("t.example.com.", "TXT"), ["\"kept\""]);
        server.delete("other", "b.example.com.", "A").await.expect("let go");
        let report = undo(&server, swept).await.expect("the rest");
        let mut texts = items(&report);
        texts.sort();
        assert_eq!(texts, [format!("b.example.com. A {back}"), "t.example.com. TXT unchanged".to_owned()]);
        assert_eq!(server.values("b.example.com.", "A"), ["192.0.2.2"]);
    }
}

#[tokio::test]
async fn what_was_queued_waits_again_and_what_its_owner_wrote_since_stays() {
    let server = filled().await;
    let mut change =
        tenured::ledger::command::Change::put(id("web-2"), crate::support::record("a.example.com. A 192.0.2.8"));
    change.on_conflict = tenured::ledger::command::OnConflict::Queue;
    server.run(Command::Change(change)).await.expect("queued");
    let swept = run(&server, sweep(SweepMode::Quarantine, &["web-1", "mail"])).await.sweep.expect("its number");
    assert_eq!(
        server.claims_at("a.example.com.").await,
        ["a.example.com. A web-1 held", "a.example.com. A web-2 quarantined"]
    );
    server.put("web-2", "t.example.com. TXT newer").await.expect("it lives");
    undo(&server, swept).await.expect("undone");
    assert_eq!(
        server.claims_at("a.example.com.").await,
        ["a.example.com. A web-1 held", "a.example.com. A web-2 queued"]
    );
    assert_eq!(server.values("t.example.com.", "TXT"), ["\"newer\""]);
    server.delete("web-1", "a.example.com.", "A").await.expect("let go");
    assert_eq!(server.values("a.example.com.", "A"), ["192.0.2.8"], "it moved up");
}

#[tokio::test]
async fn zones_of_swept_owners_are_served_on_and_come_back_to_them() {
    let server = filled().await;
    let mut zone = tenured::ledger::command::CreateZone::new(crate::support::name("example.net."));
    zone.owner = Some(id("mail"));
    server.run(Command::CreateZone(zone)).await.expect("a zone");
    let swept = run(&server, sweep(SweepMode::Delete, &["web-1", "web-2"])).await.sweep.expect("its number");
    let owner = async || {
        let zone = server.reader.zone(&crate::support::name("example.net.")).await.expect("a read").expect("a zone");
        zone.zone.owner.to_string()
    };
    assert_eq!(owner().await, "zone:example.net.");
    undo(&server, swept).await.expect("undone");
    assert_eq!(owner().await, "mail");
    // A zone made anew inherits nothing.
    let swept = run(&server, sweep(SweepMode::Delete, &["mail"])).await.sweep.expect("its number");
    server.run(Command::DeleteZone(crate::support::name("example.com."))).await.expect("deleted");
    server.create_zone("example.com.").await;
    let report = undo(&server, swept).await.expect("nothing fits");
    assert_eq!(report.summary.count(ItemOutcome::Invalid), 3);
    assert!(report.results.iter().all(|one| one.problem.as_ref().is_some_and(|it| it.code == Code::NameOutOfZone)));
}

#[tokio::test]
async fn the_brake_stops_a_large_sweep_and_a_token_stays_within_its_root() {
    let server = filled().await;
    let texts: Vec<String> = (0..20).map(|number| format!("h{number}.example.com. A 192.0.2.1")).collect();
    server.apply("web-2", &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let asked = sweep(SweepMode::Delete, &["web-1"]);
    let revision = server.revision();
    let refused = server.run(Command::Sweep(asked.clone())).await.expect_err("too much at once");
    assert_eq!((refused.code(), server.revision()), (Code::DeleteGuard, revision));
    assert!(refused.problem.detail.contains("maxDeletes=21"), "{}", refused.problem.detail);
    let mine = Command::Sweep(Sweep { max_deletes: Some(21), ..asked });
    for owner in ["web", "other"] {
        let refused = server.run_as(token_of(owner), mine.clone()).await.expect_err("not its own");
        assert_eq!(refused.code(), Code::Forbidden);
    }
    let report = server.run_as(token_of("prod"), mine).await.expect("its own");
    let swept = report.sweep.expect("its number");
    for owner in ["web", "other"] {
        let refused = server.run_as(token_of(owner), Command::UndoSweep(swept)).await.expect_err("not its own");
        assert_eq!(refused.code(), Code::Forbidden);
    }
    // Even if the scope is gone, and its id would be free for anybody.
    server.delete_owner("prod").await.expect("gone");
    let refused = server.run_as(token_of("other"), Command::UndoSweep(swept)).await.expect_err("not its own");
    assert_eq!(refused.code(), Code::Forbidden);
    let report = server.run_as(token_of("prod"), Command::UndoSweep(swept)).await.expect("its own");
    assert_eq!(report.summary.count(ItemOutcome::Created), 21);
    let above = server.reader.owner(&id("web-2")).await.expect("a read").expect("it is back").parents;
    assert_eq!(above, [id("prod")], "what was above is gone, so it stands below the scope");

    // Records that a token may not touch spare their owner.
    let mut limited = token_of("prod");
    limited.limits.names = vec![tenured::ledger::actor::NameLimit::AtOrBelow(crate::support::name("m.example.com."))];
    let asked = Sweep { max_deletes: Some(100), ..sweep(SweepMode::Delete, &[]) };
    let report = server.run_as(limited, Command::Sweep(asked)).await.expect("partly");
    assert_eq!((found(&report), report.summary.count(ItemOutcome::Invalid)), (vec![("mail", 1)], 1));
}

#[tokio::test]
async fn a_dry_run_of_sweep_and_undo_changes_nothing() {
    let server = filled().await;
    let revision = server.revision();
    let report = server.dry_run(Command::Sweep(sweep(SweepMode::Delete, &[]))).await.expect("planned");
    assert_eq!((report.revision, server.revision(), report.candidates.len()), (revision, revision, 4));
    let swept = run(&server, sweep(SweepMode::Delete, &[])).await.sweep.expect("its number");
    let revision = server.revision();
    server.dry_run(Command::UndoSweep(swept)).await.expect("planned");
    assert_eq!(server.revision(), revision);
    assert!(server.is_nxdomain("a.example.com."));
    server.run_as(admin(), Command::UndoSweep(swept)).await.expect("undone");
    assert_eq!(server.values("a.example.com.", "A"), ["192.0.2.1"]);
}
