//! What points at nothing after a write is listed, or the write refused (ownership.md section 3.4, alias.md section 2).

use tenured::control::dangling::Refs;
use tenured::control::{Conditions, Request};
use tenured::ledger::code::Code;
use tenured::ledger::command::{Change, Command, DeleteOwner, Fate};
use tenured::ledger::report::{ItemOutcome, Refusal, Report};

use crate::support::{Server, admin, apply, count, id, items, key, name, record};

/// One record of each type that names a name, all of them naming `t.example.com.`, which has an address.
async fn filled() -> Server {
    let server = Server::with_zone().await;
    server.create_zone("example.net.").await;
    server.apply("target", &["t.example.com. A 192.0.2.1"]).await;
    let texts = [
        "alias.example.net. ALIAS t.example.com.",
        "cname.example.net. CNAME t.example.com.",
        "mx.example.net. MX 10 T.example.com. | 20 elsewhere.example.org.",
        "_srv._tcp.example.net. SRV 0 0 443 t.example.com.",
        "cut.example.net. NS t.example.com.",
        "svcb.example.net. SVCB 1 t.example.com.",
        "https.example.net. HTTPS 1 t.example.com.",
    ];
    server.apply("pointing", &texts).await;
    server.apply("other", &["none.example.net. MX 0 .", "txt.example.net. TXT t.example.com."]).await;
    server
}

const POINTING: [&str; 7] = [
    "_srv._tcp.example.net. SRV",
    "alias.example.net. ALIAS",
    "cname.example.net. CNAME",
    "cut.example.net. NS",
    "https.example.net. HTTPS",
    "mx.example.net. MX",
    "svcb.example.net. SVCB",
];

fn dangling(report: &Report) -> Vec<String> {
    let mut texts: Vec<String> = report.dangling.iter().map(|one| format!("{} {}", one.name, one.rtype)).collect();
    texts.sort();
    texts
}

async fn blocked(server: &Server, command: Command) -> Result<Report, Refusal> {
    let request = Request { command, actor: admin(), dry_run: false, request_id: String::new() };
    server.handle.submit_on(request, Conditions { refs: Refs::Block, ..Conditions::default() }).await
}

fn delete(texts: &[(&str, &str)]) -> Command {
    let keys = texts.iter().map(|(name, rtype)| key(name, rtype)).collect();
    Command::Change(Change { atomic: false, ..Change::delete(id("target"), keys) })
}

#[tokio::test]
async fn whatever_way_a_name_goes_all_that_point_at_it_are_listed() {
    let ways = [
        delete(&[("t.example.com.", "A")]),
        Command::Apply(apply("target", &[])),
        Command::DeleteOwner(DeleteOwner::new(id("target"))),
        Command::DeleteOwner(DeleteOwner { records: Fate::Quarantined, ..DeleteOwner::new(id("target")) }),
        Command::DeleteZone(name("example.com.")),
    ];
    for way in ways {
        let server = filled().await;
        let planned = server.dry_run(way.clone()).await.expect("planned");
        assert_eq!(dangling(&planned), POINTING, "{way:?}");
        let (revision, refused) = (server.revision(), blocked(&server, way.clone()).await);
        match refused {
            Err(refusal) => {
                assert_eq!((refusal.code(), refusal.dangling.len()), (Code::ReferencedBy, 7), "{way:?}");
            }
            // Item by item: nothing else was asked for.
            Ok(report) => assert_eq!(items(&report), ["t.example.com. A conflict referenced_by"], "{way:?}"),
        }
        assert_eq!(server.revision(), revision, "{way:?}");
        let report = server.run(way.clone()).await.expect("done");
        let first = report.dangling.first().expect("there are some");
        assert_eq!(dangling(&report), POINTING, "{way:?}");
        assert_eq!((first.target.to_string().as_str(), first.owner.as_str()), ("t.example.com.", "pointing"));
        let again = server.run(Command::DeleteOwner(DeleteOwner::new(id("target")))).await.expect("nothing is left");
        assert_eq!(dangling(&again), [""; 0], "what dangles already is not told of again: {way:?}");
    }
}

#[tokio::test]
async fn both_ends_at_once_a_swap_and_what_is_left_of_a_name_leave_nothing_behind() {
    let server = filled().await;
    // Another address, or a CNAME in its place, is still there to be pointed at.
    let mut swap = Change::put(id("target"), record("t.example.com. CNAME www.example.org."));
    swap.delete = vec![key("t.example.com.", "A")];
    assert_eq!(dangling(&blocked(&server, Command::Change(swap)).await.expect("a swap")), [""; 0]);
    let mut swap = Change::put(id("target"), record("t.example.com. TXT here"));
    swap.delete = vec![key("t.example.com.", "CNAME")];
    let report = server.run(Command::Change(swap)).await.expect("a swap");
    let but_cname: Vec<&str> = POINTING.into_iter().filter(|text| !text.ends_with("CNAME")).collect();
    assert_eq!(dangling(&report), but_cname, "a CNAME may mean the text");

    let server = filled().await;
    server.put("target", "own.example.com. CNAME t.example.com.").await.expect("a record");
    server.delete_owner("pointing").await.expect("gone");
    let report = blocked(&server, delete(&[("t.example.com.", "A"), ("own.example.com.", "CNAME")])).await;
    assert_eq!(dangling(&report.expect("both ends go")), [""; 0]);

    let server = filled().await;
    server.put("stars", "*.example.com. A 192.0.2.9").await.expect("a wildcard");
    assert_eq!(dangling(&blocked(&server, delete(&[("t.example.com.", "A")])).await.expect("covered")), [""; 0]);
    let report = server.delete("stars", "*.example.com.", "A").await.expect("gone");
    let mut all = POINTING.to_vec();
    all.insert(4, "example.com. NS");
    assert_eq!(dangling(&report), all, "it was what they were answered by, and the zone's own name server");
}

#[tokio::test]
async fn refs_block_refuses_item_by_item_and_the_others_go_on() {
    let server = filled().await;
    server.apply("target", &["t.example.com. A 192.0.2.1", "u.example.com. A 192.0.2.2"]).await;
    let report =
        blocked(&server, Command::Apply(apply("target", &["v.example.com. A 192.0.2.3"]))).await.expect("partly");
    let texts = ["v.example.com. A created", "t.example.com. A conflict referenced_by", "u.example.com. A deleted"];
    assert_eq!(items(&report), texts);
    let problem = report.results[1].problem.as_ref().expect("it says why");
    assert!(problem.detail.contains("and 6 more"), "{}", problem.detail);
    assert_eq!((dangling(&report), server.values("t.example.com.", "A")), (vec![], vec!["192.0.2.1".to_owned()]));

    let mut atomic = apply("target", &["w.example.com. A 192.0.2.4"]);
    atomic.atomic = true;
    let refusal = blocked(&server, Command::Apply(atomic)).await.expect_err("all or nothing");
    assert_eq!((refusal.code(), refusal.dangling.len()), (Code::ReferencedBy, 7));
    assert!(server.is_nxdomain("w.example.com."));
    let single = Change::delete(id("target"), vec![key("t.example.com.", "A")]);
    assert_eq!(blocked(&server, Command::Change(single)).await.expect_err("one record").code(), Code::ReferencedBy);
}

#[tokio::test]
async fn chains_are_followed_and_queued_claims_count_for_nothing() {
    let server = Server::with_zone().await;
    server.apply("target", &["t.example.com. A 192.0.2.1"]).await;
    server.apply("chain", &["c.example.com. CNAME t.example.com.", "b.example.com. ALIAS c.example.com."]).await;
    server.apply("top", &["a.example.com. ALIAS b.example.com."]).await;
    let mut queued = Change::put(id("late"), record("a.example.com. CNAME t.example.com."));
    queued.on_conflict = tenured::ledger::command::OnConflict::Queue;
    assert_eq!(count(&server.run(Command::Change(queued)).await.expect("queued"), ItemOutcome::Queued), 1);
    let report = server.delete("target", "t.example.com.", "A").await.expect("gone");
    assert_eq!(dangling(&report), ["a.example.com. ALIAS", "b.example.com. ALIAS", "c.example.com. CNAME"]);

    // A record that points at nothing from the start is no news of a delete, but one written by the same request is.
    server.apply("target", &["t.example.com. A 192.0.2.1"]).await;
    let mut both = Change::put(id("target"), record("m.example.com. MX 10 t.example.com."));
    both.delete = vec![key("t.example.com.", "A")];
    let report = server.run(Command::Change(both)).await.expect("done");
    assert!(dangling(&report).contains(&"m.example.com. MX".to_owned()), "{:?}", report.dangling);
}

#[tokio::test]
async fn the_index_follows_every_write_and_a_store_without_one_gets_it_at_its_start() {
    use sqlx::{Connection, SqliteConnection};
    let server = filled().await;
    server
        .apply("pointing", &["mx.example.net. MX 10 t.example.com.", "cname.example.net. CNAME x.example.org."])
        .await;
    server.run(Command::DeleteZone(name("example.net."))).await.expect("gone");
    server.create_zone("example.net.").await;
    server.apply("pointing", &["cname.example.net. CNAME t.example.com."]).await;
    let table = async |database: &std::path::Path| -> Vec<(Vec<u8>, i64)> {
        let mut connection =
            SqliteConnection::connect(&format!("sqlite://{}", database.display())).await.expect("opens");
        let query = sqlx::query_as("SELECT target_key, rtype FROM target ORDER BY target_key, rtype, zone_id");
        query.fetch_all(&mut connection).await.expect("rows")
    };
    let (directory, clock) = server.stop().await;
    let database = directory.path().join("tenured.db");
    let before = table(&database).await;
    assert!(before.contains(&(b"com\0example\0t\0".to_vec(), 5)), "{before:?}");
    assert_eq!(before.iter().filter(|(_, rtype)| *rtype != 2).count(), 1, "all else went with its zone: {before:?}");
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", database.display())).await.expect("opens");
    sqlx::query("DELETE FROM target").execute(&mut connection).await.expect("emptied");
    sqlx::query("UPDATE target_state SET is_filled = 0").execute(&mut connection).await.expect("as if it was older");
    connection.close().await.expect("closed");
    let server = Server::start_in(directory, clock).await;
    assert_eq!(table(&server.database()).await, before);
    let report = server.delete("target", "t.example.com.", "A").await.expect("gone");
    assert_eq!(dangling(&report), ["cname.example.net. CNAME"]);
}
