//! What a write promises: durable and served, whole or not at all, nobody else's claim touched (ownership.md
//! section 2).

use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Change, Command, OnConflict, OwnerKeys};
use tenured::ledger::report::ItemOutcome;
use tenured::store::rows::ChangeFilter;

use crate::support::{Server, apply, count, id, item_text, items, key, name, record};

const WEB: &str = "k8s:prod/Gateway/shop/web";

#[tokio::test]
async fn a_hostname_comes_and_goes_with_its_claim_and_the_serial_rises_by_one() {
    let server = Server::with_zone().await;
    let first = server.serial("example.com.");
    assert_eq!(first, 2026113001);
    let report = server.apply(WEB, &["www.example.com. CNAME edge.example.net.", "example.com. TXT v=spf1 -all"]).await;
    assert_eq!(count(&report, ItemOutcome::Created), 2);
    assert_eq!(report.serials, [(name("example.com."), first + 1)]);
    assert_eq!(server.served("www.example.com."), ["CNAME 300 edge.example.net."]);
    assert_eq!(server.values("example.com.", "TXT"), ["\"v=spf1 -all\""]);

    let report = server.apply(WEB, &["example.com. TXT v=spf1 -all"]).await;
    assert_eq!(items(&report), ["example.com. TXT unchanged", "www.example.com. CNAME deleted"]);
    assert!(server.is_nxdomain("www.example.com."));
    assert_eq!(server.claims_of(WEB).await, [format!("example.com. TXT {WEB} held")]);
    assert_eq!(server.serial("example.com."), first + 2);
    assert_eq!(server.revision(), report.revision);
}

#[tokio::test]
async fn an_apply_after_a_missed_delete_takes_the_orphan_away() {
    let server = Server::with_zone().await;
    server.apply(WEB, &["www.example.com. CNAME edge.example.net."]).await;
    // The controller dies between removing its resource and the delete, and so does this process.
    let server = server.restart().await;
    assert_eq!(server.served("www.example.com."), ["CNAME 300 edge.example.net."]);
    server.apply(WEB, &["example.com. ALIAS edge.example.net."]).await;
    assert!(server.is_nxdomain("www.example.com."));
    assert_eq!(server.values("example.com.", "ALIAS"), ["edge.example.net. 7"]);
}

#[tokio::test]
async fn the_same_write_fifty_times_over_changes_nothing_but_when_it_was_asked_for() {
    let server = Server::with_zone().await;
    let records = ["www.example.com. A 192.0.2.1 | 192.0.2.2", "example.com. MX 10 mail.example.com."];
    let written = server.apply(WEB, &records).await;
    let (serial, history) = (server.serial("example.com."), server.history_length().await);
    server.clock.advance(60_000);
    for turn in 0..50 {
        let reordered = ["example.com. MX 10 MAIL.example.com.", "WWW.example.com A 192.0.2.2 | 192.0.2.1 | 192.0.2.2"];
        let report = server.apply(WEB, if turn % 2 == 0 { &records } else { &reordered }).await;
        assert_eq!(count(&report, ItemOutcome::Unchanged), 2, "{:?}", items(&report));
        assert_eq!((report.revision, report.changed), (written.revision, false));
    }
    assert_eq!((server.serial("example.com."), server.history_length().await), (serial, history));
    let claims = server.reader.claims(&Default::default()).await.expect("claims").items;
    let claim = &claims.iter().find(|row| row.claim.owner_id == id(WEB)).expect("a claim").claim;
    assert_eq!(claim.asserted.0 - claim.created.0, 60_000);
}

#[tokio::test]
async fn one_conflict_or_invalid_record_does_not_block_the_others() {
    let server = Server::with_zone().await;
    server.apply("team-a", &["www.example.com. A 192.0.2.1"]).await;
    let records = [
        "www.example.com. A 192.0.2.9",
        "bad.example.com. A 192.0.2.256",
        "elsewhere.example. A 192.0.2.1",
        "mail.example.com. A 192.0.2.3",
        "rel.example.com. CNAME www",
    ];
    let report = server.apply("team-b", &records).await;
    assert_eq!(
        items(&report),
        [
            "www.example.com. A conflict owned_by_other by team-a",
            "bad.example.com. A invalid invalid_record",
            "elsewhere.example. A invalid name_out_of_zone",
            "mail.example.com. A created",
            "rel.example.com. CNAME invalid invalid_record",
        ]
    );
    assert!(report.summary.has_refused());
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    assert_eq!(server.values("mail.example.com.", "A"), ["192.0.2.3"]);
}

#[tokio::test]
async fn a_refused_new_form_of_a_record_leaves_the_old_one() {
    let server = Server::with_zone().await;
    server.apply(WEB, &["www.example.com. A 192.0.2.1", "mail.example.com. A 192.0.2.2"]).await;
    let report = server.apply(WEB, &["www.example.com. A 192.0.2.256"]).await;
    assert_eq!(items(&report), ["www.example.com. A invalid invalid_record", "mail.example.com. A deleted"]);
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn atomic_means_all_or_nothing() {
    let server = Server::with_zone().await;
    server.apply("team-a", &["www.example.com. A 192.0.2.1"]).await;
    let revision = server.revision();
    let wanted = apply("team-b", &["mail.example.com. A 192.0.2.3", "www.example.com. A 192.0.2.9"]);
    let refusal = server.run(Command::Apply(Apply { atomic: true, ..wanted })).await.expect_err("a conflict");
    assert_eq!(refusal.code(), Code::OwnedByOther);
    assert_eq!(refusal.problem.holder.as_ref().map(|holder| holder.owner.to_string()), Some("team-a".to_owned()));
    assert_eq!(
        refusal.items.iter().map(item_text).collect::<Vec<_>>(),
        ["www.example.com. A conflict owned_by_other by team-a"]
    );
    assert!(server.is_nxdomain("mail.example.com."));
    assert_eq!(server.revision(), revision);
    assert!(server.reader.owner(&id("team-b")).await.expect("a look-up").is_none());
}

#[tokio::test]
async fn nobody_replaces_or_deletes_what_another_owner_holds() {
    let server = Server::with_zone().await;
    server.apply("team-a", &["www.example.com. A 192.0.2.1"]).await;
    let refusal = server.put("team-b", "www.example.com. A 192.0.2.2").await.expect_err("a conflict");
    assert_eq!(refusal.code(), Code::OwnedByOther);
    let refusal = server.delete("team-b", "www.example.com.", "A").await.expect_err("a conflict");
    assert_eq!(refusal.code(), Code::OwnedByOther);
    server.apply("team-b", &[]).await;
    server.delete_owner("team-b").await.expect("a delete");
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn a_queued_claim_is_served_in_the_moment_the_holder_lets_go() {
    let server = Server::with_zone().await;
    server.apply("team-a", &["www.example.com. ALIAS edge.example.net."]).await;
    for (owner, record) in
        [("team-b", "www.example.com. CNAME b.example.net."), ("team-c", "www.example.com. A 192.0.2.3")]
    {
        let wanted = Apply { on_conflict: OnConflict::Queue, ..apply(owner, &[record]) };
        let report = server.run(Command::Apply(wanted)).await.expect("queued");
        assert_eq!(count(&report, ItemOutcome::Queued), 1, "{:?}", items(&report));
    }
    assert_eq!(server.served("www.example.com."), ["ALIAS 300 edge.example.net. 7"]);
    let report = server.delete("team-a", "www.example.com.", "ALIAS").await.expect("a delete");
    assert_eq!(items(&report), ["www.example.com. ALIAS deleted promoted team-b"]);
    assert_eq!(server.served("www.example.com."), ["CNAME 300 b.example.net."]);
    assert_eq!(
        server.claims_at("www.example.com.").await,
        ["www.example.com. A team-c queued", "www.example.com. CNAME team-b held"]
    );
    server.delete_owner("team-b").await.expect("a delete");
    assert_eq!(server.served("www.example.com."), ["A 300 192.0.2.3"]);
}

#[tokio::test]
async fn a_change_of_types_at_a_name_is_one_step() {
    let server = Server::with_zone().await;
    server.apply(WEB, &["www.example.com. CNAME edge.example.net."]).await;
    let before = server.handle.published().get();
    let report = server.apply(WEB, &["www.example.com. A 192.0.2.1"]).await;
    assert_eq!(items(&report), ["www.example.com. A created", "www.example.com. CNAME deleted"]);
    assert_eq!(server.served("www.example.com."), ["A 300 192.0.2.1"]);
    // A query that began before sees the whole of what was.
    let www = name("www.example.com.");
    assert_eq!(before.zone_of(&www).and_then(|zone| zone.node(&www)).map(|node| node.rrsets().count()), Some(1));
}

#[tokio::test]
async fn one_name_in_any_spelling_has_one_holder() {
    let server = Server::with_zone().await;
    let mut wish = record("www.example.com. A 192.0.2.1");
    for (owner, spelling, in_zone) in
        [("team-a", "WWW", true), ("team-b", "www.example.com.", true), ("team-a", "www.EXAMPLE.com", false)]
    {
        let text = tenured::ledger::wish::RecordText {
            zone: in_zone.then(|| "Example.COM".to_owned()),
            name: spelling.to_owned(),
            rtype: "a".to_owned(),
            values: vec!["192.0.2.1".to_owned()],
            ..Default::default()
        };
        wish = tenured::ledger::wish::read(&text).expect("a record");
        let result = server.run(Command::Change(Change::put(id(owner), wish.clone()))).await;
        assert_eq!(result.is_ok(), owner == "team-a", "{spelling}");
        assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
    }
    assert_eq!(wish.name, name("www.example.com."));
    assert_eq!(server.claims_at("www.example.com.").await, ["www.example.com. A team-a held"]);
}

#[tokio::test]
async fn shared_claims_are_a_union_that_shrinks_when_a_claimant_leaves() {
    let server = Server::with_zone().await;
    server.apply("cluster-1", &["www.example.com. TTL=60 share A 192.0.2.1 | 192.0.2.9"]).await;
    server.apply("cluster-2", &["www.example.com. TTL=30 share A 192.0.2.2 | 192.0.2.9"]).await;
    assert_eq!(server.served("www.example.com."), ["A 30 192.0.2.1", "A 30 192.0.2.2", "A 30 192.0.2.9"]);
    let refused = server.put("cluster-3", "www.example.com. A 192.0.2.3").await.expect_err("it does not share");
    assert_eq!(refused.code(), Code::OwnedByOther);
    server.delete_owner("cluster-1").await.expect("a delete");
    assert_eq!(server.served("www.example.com."), ["A 30 192.0.2.2", "A 30 192.0.2.9"]);
}

#[tokio::test]
async fn an_empty_set_by_accident_meets_the_brake() {
    let server = Server::with_zone().await;
    let names: Vec<String> = (0..12).map(|number| format!("h{number}.example.com. A 192.0.2.{number}")).collect();
    let records: Vec<&str> = names.iter().map(String::as_str).collect();
    server.apply(WEB, &records).await;
    let report = server.apply(WEB, &[]).await;
    assert_eq!(count(&report, ItemOutcome::Held), 12);
    assert!(items(&report)[0].ends_with("held delete_guard"));
    assert_eq!(server.claims_of(WEB).await.len(), 12);
    let atomic = Apply { atomic: true, ..apply(WEB, &[]) };
    assert_eq!(server.run(Command::Apply(atomic)).await.expect_err("the brake").code(), Code::DeleteGuard);
    let meant = Apply { max_deletes: Some(12), ..apply(WEB, &[]) };
    let report = server.run(Command::Apply(meant)).await.expect("an apply");
    assert_eq!(count(&report, ItemOutcome::Deleted), 12);
    // Up to ten go without asking.
    server.apply(WEB, &records[..10]).await;
    assert_eq!(count(&server.apply(WEB, &[]).await, ItemOutcome::Deleted), 10);
}

#[tokio::test]
async fn an_old_replica_can_neither_resurrect_nor_delete() {
    let server = Server::with_zone().await;
    let with = |epoch: u64, generation: u64, records: &[&str]| {
        let keys = OwnerKeys { epoch: Some(epoch), generation: Some(generation), ..OwnerKeys::default() };
        Command::Apply(Apply { keys, ..apply(WEB, records) })
    };
    server.run(with(3, 7, &["www.example.com. A 192.0.2.1"])).await.expect("the first replica");
    server.run(with(4, 7, &["www.example.com. A 192.0.2.2"])).await.expect("the second replica");
    assert_eq!(server.run(with(3, 8, &[])).await.expect_err("fenced").code(), Code::Fenced);
    assert_eq!(server.run(with(4, 6, &[])).await.expect_err("stale").code(), Code::StaleGeneration);
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.2"]);
    server.delete_owner(WEB).await.expect("a delete");
    let late = server.run(with(3, 9, &["www.example.com. A 192.0.2.1"])).await.expect_err("fenced");
    assert_eq!(late.code(), Code::Fenced);
    assert!(server.is_nxdomain("www.example.com."));
}

#[tokio::test]
async fn a_dry_run_says_what_would_come_and_commits_nothing() {
    let server = Server::with_zone().await;
    let (revision, serial) = (server.revision(), server.serial("example.com."));
    let wanted = || Command::Apply(apply(WEB, &["www.example.com. A 192.0.2.1"]));
    let report = server.dry_run(wanted()).await.expect("a plan");
    assert_eq!(items(&report), ["www.example.com. A created"]);
    assert_eq!((report.revision, report.serials.clone()), (revision, vec![(name("example.com."), serial + 1)]));
    assert!(server.is_nxdomain("www.example.com."));
    assert!(server.claims_of(WEB).await.is_empty());
    let real = server.run(wanted()).await.expect("an apply");
    assert_eq!((real.results, real.serials), (report.results, report.serials));
}

#[tokio::test]
async fn if_match_refuses_when_the_owner_changed_since() {
    let server = Server::with_zone().await;
    let seen = server.apply(WEB, &["www.example.com. A 192.0.2.1"]).await.revision;
    let change = |revision| {
        let change = Change::put(id(WEB), record("www.example.com. A 192.0.2.2"));
        Command::Change(Change { if_revision: Some(revision), ..change })
    };
    assert_eq!(server.run(change(seen - 1)).await.expect_err("stale").code(), Code::StaleRevision);
    server.run(change(seen)).await.expect("nothing changed since");
    assert_eq!(server.run(change(seen)).await.expect_err("stale").code(), Code::StaleRevision);
}

#[tokio::test]
async fn every_change_leaves_its_history() {
    let server = Server::with_zone().await;
    server.apply(WEB, &["www.example.com. A 192.0.2.1"]).await;
    server.apply(WEB, &["www.example.com. A 192.0.2.2"]).await;
    server.apply(WEB, &[]).await;
    let filter = ChangeFilter { name: Some(name("www.example.com.")), ..ChangeFilter::default() };
    let rows = server.reader.changes(&filter).await.expect("the history").items;
    let shape: Vec<_> = rows.iter().map(|row| (row.before.is_some(), row.after.is_some())).collect();
    assert_eq!(shape, [(false, true), (true, true), (true, false)]);
    assert_eq!((rows[0].owner.as_str(), rows[0].actor.as_str(), rows[0].request_id.as_str()), (WEB, "test", "test"));
    assert!(rows.is_sorted_by_key(|row| row.revision));
}

#[tokio::test]
async fn many_writers_at_once_all_get_their_answer_and_their_place() {
    let server = Server::with_zone().await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..200 {
        let handle = server.handle.clone();
        writers.spawn(async move {
            let change =
                Change::put(id(&format!("owner-{number}")), record(&format!("h{number}.example.com. A 192.0.2.1")));
            let request = tenured::control::Request {
                command: Command::Change(change),
                actor: crate::support::admin(),
                dry_run: false,
                request_id: String::new(),
            };
            let report = handle.submit(request).await.expect("a write");
            // Served means served: what was answered is there for the next query.
            let at = name(&format!("h{number}.example.com."));
            assert!(handle.published().load().zone_of(&at).is_some_and(|zone| zone.node(&at).is_some()));
            report.revision
        });
    }
    let mut revisions = writers.join_all().await;
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), 200);
    assert_eq!(server.serial("example.com."), 2026113001 + 200);
}

#[tokio::test]
async fn deletes_of_what_is_not_there_are_as_wished() {
    let server = Server::with_zone().await;
    let report = server.delete(WEB, "www.example.com.", "A").await.expect("nothing to delete");
    assert_eq!(items(&report), ["www.example.com. A unchanged"]);
    assert!(!report.changed);
    let change = Change {
        upsert: vec![Ok(record("www.example.com. A 192.0.2.1"))],
        ..Change::delete(id(WEB), vec![key("www.example.com.", "CNAME")])
    };
    server.run(Command::Change(change)).await.expect("a change");
    assert_eq!(server.served("www.example.com."), ["A 300 192.0.2.1"]);
}
