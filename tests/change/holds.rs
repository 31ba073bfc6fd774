//! What the delete brake holds waits for a decision (ownership.md section 3.1, external-dns.md section 11).

use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Command, DecideHold, HoldDecision};
use tenured::ledger::hold::Hold;
use tenured::ledger::report::ItemOutcome;

use crate::support::{Server, apply, count, token_of};

fn approve(id: u64) -> Command {
    Command::DecideHold(DecideHold { id, decision: HoldDecision::Approve })
}

fn discard(id: u64) -> Command {
    Command::DecideHold(DecideHold { id, decision: HoldDecision::Discard })
}

fn records(numbers: std::ops::Range<u8>) -> Vec<String> {
    numbers.map(|number| format!("h{number}.example.com. A 192.0.2.{number}")).collect()
}

async fn apply_numbers(server: &Server, numbers: std::ops::Range<u8>) -> tenured::ledger::report::Report {
    let texts = records(numbers);
    server.apply("team", &texts.iter().map(String::as_str).collect::<Vec<_>>()).await
}

async fn holds(server: &Server) -> Vec<Hold> {
    server.reader.holds(None).await.expect("holds").items
}

#[tokio::test]
async fn held_deletes_are_kept_and_the_same_apply_is_the_same_hold() {
    let server = Server::with_zone().await;
    apply_numbers(&server, 0..20).await;
    let report = apply_numbers(&server, 0..5).await;
    assert_eq!(count(&report, ItemOutcome::Held), 15);
    let [first] = holds(&server).await.try_into().expect("one hold");
    assert_eq!((first.claims, first.deletes.len(), first.owner_id.as_str()), (20, 15, "team"));
    let (revision, history) = (server.revision(), server.history_length().await);
    server.clock.advance(1_000);
    apply_numbers(&server, 0..5).await;
    assert_eq!(holds(&server).await, std::slice::from_ref(&first));
    assert_eq!((server.revision(), server.history_length().await), (revision, history));
    // Another set is another hold.
    apply_numbers(&server, 0..6).await;
    let [second] = holds(&server).await.try_into().expect("one hold");
    assert_eq!((second.deletes.len(), second.id > first.id), (14, true));
    assert_eq!(server.run(approve(first.id)).await.expect_err("replaced").code(), Code::NotFound);
    // The full set takes the hold away.
    apply_numbers(&server, 0..20).await;
    assert!(holds(&server).await.is_empty());
    assert_eq!(server.values("h19.example.com.", "A"), ["192.0.2.19"]);
}

#[tokio::test]
async fn an_approved_hold_is_done_but_for_what_was_asked_for_since() {
    let server = Server::with_zone().await;
    apply_numbers(&server, 0..20).await;
    apply_numbers(&server, 0..5).await;
    server.clock.advance(1_000);
    server.put("team", "h7.example.com. A 192.0.2.7").await.expect("asked for again");
    let server = server.restart().await;
    let [hold] = holds(&server).await.try_into().expect("one hold");
    let refused = server.run_as(token_of("other"), approve(hold.id)).await.expect_err("another's");
    assert_eq!(refused.code(), Code::Forbidden);
    assert_eq!(count(&server.dry_run(approve(hold.id)).await.expect("a plan"), ItemOutcome::Deleted), 14);
    let report = server.run_as(token_of("team"), approve(hold.id)).await.expect("its own");
    assert_eq!(count(&report, ItemOutcome::Deleted), 14);
    assert!(holds(&server).await.is_empty() && server.is_nxdomain("h19.example.com."));
    assert_eq!(server.values("h7.example.com.", "A"), ["192.0.2.7"]);
    assert_eq!(server.run(approve(hold.id)).await.expect_err("done").code(), Code::NotFound);
}

#[tokio::test]
async fn a_discarded_hold_leaves_everything_and_an_owner_takes_its_hold_along() {
    let server = Server::with_zone().await;
    apply_numbers(&server, 0..20).await;
    apply_numbers(&server, 0..0).await;
    let [hold] = holds(&server).await.try_into().expect("one hold");
    let serial = server.serial("example.com.");
    server.run(discard(hold.id)).await.expect("forgotten");
    assert!(holds(&server).await.is_empty());
    assert_eq!((server.claims_of("team").await.len(), server.serial("example.com.")), (20, serial));
    apply_numbers(&server, 0..0).await;
    assert_eq!(holds(&server).await.len(), 1);
    server.delete_owner("team").await.expect("a delete");
    assert!(holds(&server).await.is_empty());
}

#[tokio::test]
async fn deletes_that_were_allowed_or_refused_as_a_whole_are_not_on_hold() {
    let server = Server::with_zone().await;
    apply_numbers(&server, 0..20).await;
    let atomic = Apply { atomic: true, ..apply("team", &[]) };
    assert_eq!(server.run(Command::Apply(atomic)).await.expect_err("held").code(), Code::DeleteGuard);
    assert!(holds(&server).await.is_empty());
    let meant = Apply { max_deletes: Some(20), ..apply("team", &[]) };
    server.run(Command::Apply(meant)).await.expect("meant");
    assert!(holds(&server).await.is_empty() && server.claims_of("team").await.is_empty());
}
