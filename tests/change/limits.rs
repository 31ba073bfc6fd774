//! Every limit of reliability.md section 4 that the change flow has: at the limit, and one past it.

use std::collections::BTreeMap;

use tenured::control::Request;
use tenured::ledger::claim::ClaimState;
use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Change, Command, OwnerKeys, PutOwner, Wish};
use tenured::ledger::limits::{MAX_CLAIMS, MAX_LABELS, MAX_OWNER_ID, MAX_RECORDS};
use tenured::ledger::owner::{Labels, OwnerId};
use tenured::ledger::wish;
use tenured::wire::codes::Rtype;

use crate::steps::World;
use crate::store::outside::Sql;
use crate::support::{Server, admin, id, record};

fn numbered(rtype: Rtype, count: u32) -> Wish {
    let records = (0..count).map(|number| number.to_be_bytes().to_vec()).collect();
    Wish { rtype, records, ..record("www.example.com. A 192.0.2.1") }
}

fn refused(world: &World, command: &Command) -> Code {
    world.try_plan(command).expect_err("past the limit").code()
}

#[test]
fn an_owner_id_has_1_to_512_octets() {
    assert!(OwnerId::new(&"ü".repeat(MAX_OWNER_ID / 2)).is_ok());
    for text in [String::new(), "x".repeat(MAX_OWNER_ID + 1), "a\nb".to_owned()] {
        assert!(OwnerId::new(&text).is_err(), "{text:?}");
    }
}

#[test]
fn an_owner_has_64_labels() {
    let world = World::new();
    let put = |count: usize| {
        let labels: Labels = (0..count).map(|number| (format!("l{number}"), String::new())).collect();
        let keys = OwnerKeys { labels: Some(labels), ..OwnerKeys::default() };
        Command::PutOwner(PutOwner { owner: id("web"), keys })
    };
    world.try_plan(&put(MAX_LABELS)).expect("at the limit");
    assert_eq!(refused(&world, &put(MAX_LABELS + 1)), Code::LimitExceeded);
}

#[test]
fn one_apply_has_100_000_records() {
    let world = World::new();
    let wish = record("www.example.com. A 192.0.2.1");
    let apply = |count: usize| Command::Apply(Apply::new(id("web"), vec![Ok(wish.clone()); count]));
    world.try_plan(&apply(MAX_RECORDS)).expect("at the limit");
    assert_eq!(refused(&world, &apply(MAX_RECORDS + 1)), Code::LimitExceeded);
}

#[test]
fn an_rrset_has_4_096_records_and_60_000_octets() {
    wish::checked(numbered(Rtype::A, 4_096)).expect("at the limit");
    assert_eq!(wish::checked(numbered(Rtype::A, 4_097)).expect_err("past it").code, Code::LimitExceeded);
    let of_octets = |octets: usize| {
        let records = vec![vec![0; 30_000 - 2], vec![1; octets - 30_000 - 2]];
        wish::checked(Wish { rtype: Rtype(65_280), records, ..record("www.example.com. A 192.0.2.1") })
    };
    of_octets(60_000).expect("at the limit");
    assert_eq!(of_octets(60_001).expect_err("past it").code, Code::LimitExceeded);
}

#[test]
fn a_union_has_no_more_records_than_an_rrset() {
    let mut world = World::new();
    let share = |owner: &str, first: u32, count: u32| {
        let records = (first..first + count).map(|number| number.to_be_bytes().to_vec()).collect();
        let wish = Wish { records, share: true, ..record("www.example.com. A 192.0.2.1") };
        Command::Change(Change::put(id(owner), wish))
    };
    world.take(&share("cluster-1", 0, 4_000));
    world.take(&share("cluster-2", 4_000, 96));
    assert_eq!(refused(&world, &share("cluster-3", 4_096, 1)), Code::LimitExceeded);
}

#[test]
fn a_name_has_64_types() {
    let mut world = World::new();
    for number in 0..64 {
        let wish = numbered(Rtype(65_280 + number), 1);
        world.take(&Command::Change(Change::put(id("web"), wish)));
    }
    let one_more = Command::Change(Change::put(id("web"), numbered(Rtype(65_280 + 64), 1)));
    assert_eq!(refused(&world, &one_more), Code::LimitExceeded);
}

#[test]
fn an_rrset_has_1_000_claims_queued_ones_included() {
    let mut world = World::new();
    world.take(&Command::Change(Change::put(id("owner-0"), record("www.example.com. A 192.0.2.1"))));
    let (key, held) =
        world.0.claims.iter().find(|(key, _)| key.name.to_string() == "www.example.com.").expect("claims");
    let (key, first) = (key.clone(), held[0].clone());
    let waiting = |number: usize| {
        let owner = tenured::ledger::owner::OwnerNumber(1_000_000 + u32::try_from(number).expect("small"));
        let labels = BTreeMap::new();
        tenured::ledger::claim::Claim { owner, state: ClaimState::Queued, labels, ..first.clone() }
    };
    world.0.claims.entry(key).or_default().extend((1..MAX_CLAIMS - 1).map(waiting));
    let queue = |owner: &str| {
        let change = Change::put(id(owner), record("www.example.com. A 192.0.2.2"));
        Command::Change(Change { on_conflict: tenured::ledger::command::OnConflict::Queue, ..change })
    };
    world.take(&queue("owner-at-the-limit"));
    assert_eq!(refused(&world, &queue("owner-past-it")), Code::LimitExceeded);
}

/// The store is locked, so the controller waits with the first command, and 10,000 wait behind it.
#[tokio::test]
async fn ten_thousand_commands_wait_and_the_next_is_told_to_come_back() {
    let server = Server::with_zone().await;
    let mut sql = Sql::open(&server.database()).await;
    sql.run("BEGIN EXCLUSIVE").await;
    let submit = |number: u32| {
        let handle = server.handle.clone();
        let command = Command::Change(Change::put(id("web"), record(&format!("h{number}.example.com. A 192.0.2.1"))));
        async move { handle.submit(Request { command, actor: admin(), dry_run: true, request_id: String::new() }).await }
    };
    let mut waiting = tokio::task::JoinSet::new();
    // One that the controller may have taken already, and one that certainly finds the inbox full.
    for number in 0..10_002 {
        waiting.spawn(submit(number));
    }
    let first = waiting.join_next().await.expect("an answer").expect("a task");
    let refusal = first.expect_err("the inbox is full before anything is answered");
    assert_eq!(refusal.code(), Code::StorageUnavailable);
    assert!(refusal.problem.detail.contains("too many writes wait"), "{}", refusal.problem.detail);
    sql.run("ROLLBACK").await;
    let answers = waiting.join_all().await;
    assert!(answers.iter().filter(|answer| answer.is_ok()).count() >= 9_000);
}

#[tokio::test]
async fn a_generation_or_epoch_that_the_store_cannot_keep_is_refused() {
    use tenured::ledger::command::{DeleteOwner, OwnerKeys, PutOwner};
    let server = Server::with_zone().await;
    let most = u64::try_from(i64::MAX).expect("it fits");
    let put = |generation: Option<u64>, epoch: Option<u64>| {
        let keys = OwnerKeys { generation, epoch, ..OwnerKeys::default() };
        Command::PutOwner(PutOwner { owner: id("team"), keys })
    };
    for (generation, epoch) in [(Some(most + 1), None), (None, Some(u64::MAX))] {
        assert_eq!(server.run(put(generation, epoch)).await.expect_err("too large").code(), Code::LimitExceeded);
    }
    server.run(put(Some(most), Some(most))).await.expect("the largest");
    let delete = DeleteOwner { epoch: Some(most + 1), ..DeleteOwner::new(id("team")) };
    assert_eq!(server.run(Command::DeleteOwner(delete)).await.expect_err("too large").code(), Code::LimitExceeded);
    let owner = server.reader.owner(&id("team")).await.expect("a read").expect("it stays").owner;
    assert_eq!((owner.generation, owner.epoch), (Some(most), Some(most)));
}
