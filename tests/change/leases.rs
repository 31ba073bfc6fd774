//! Owners that do not renew are listed, served on, and after a grace their policy runs (ownership.md section 3.3).

use tenured::control::schedule;
use tenured::ledger::code::Code;
use tenured::ledger::command::{Apply, Command, OwnerKeys, PutOwner};
use tenured::ledger::lease::{LeaseKeys, OnExpiry};
use tenured::ledger::owner::OwnerState;

use crate::support::{Server, apply, id, token_of};

/// A lease of ten minutes with an hour of grace.
async fn lease(server: &Server, owner: &str, on_expiry: OnExpiry) {
    let lease = LeaseKeys { seconds: Some(600), on_expiry: Some(on_expiry), grace: Some(3_600) };
    let keys = OwnerKeys { lease, ..OwnerKeys::default() };
    server.run(Command::PutOwner(PutOwner { owner: id(owner), keys })).await.expect("a lease");
}

async fn pass(server: &Server, seconds: u64) {
    server.clock.advance(seconds * 1_000);
    schedule::turn(&server.handle, &server.reader, server.clock.now()).await;
}

async fn state(server: &Server, owner: &str) -> Option<OwnerState> {
    server.reader.owner(&id(owner)).await.expect("a look-up").map(|found| found.owner.state)
}

const WWW: &str = "www.example.com. A 192.0.2.1";

#[tokio::test]
async fn an_expired_owner_is_listed_and_served_until_the_grace_is_over() {
    for (policy, after) in [(OnExpiry::Report, "held"), (OnExpiry::Quarantine, "quarantined"), (OnExpiry::Delete, "")] {
        let server = Server::with_zone().await;
        server.apply("a", &[WWW]).await;
        lease(&server, "a", policy).await;
        pass(&server, 599).await;
        assert_eq!(state(&server, "a").await, Some(OwnerState::Active));
        pass(&server, 1).await;
        assert_eq!(state(&server, "a").await, Some(OwnerState::Expired));
        let server = server.restart().await;
        pass(&server, 3_599).await;
        assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"], "{policy:?}");
        pass(&server, 1).await;
        let claims = server.claims_of("a").await;
        let wanted = if after.is_empty() { Vec::new() } else { vec![format!("www.example.com. A a {after}")] };
        assert_eq!(claims, wanted);
        let gone = policy == OnExpiry::Delete;
        assert_eq!(state(&server, "a").await, (!gone).then_some(OwnerState::Expired));
        let revision = server.revision();
        pass(&server, 10_000).await;
        assert_eq!(server.revision(), revision, "it runs once");
        server.apply("a", &[WWW]).await;
        assert_eq!(state(&server, "a").await, Some(OwnerState::Active));
        assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"], "{policy:?}: a write brings it back");
    }
}

#[tokio::test]
async fn writes_and_renewals_keep_an_owner_and_change_nothing() {
    let server = Server::with_zone().await;
    server.apply("a", &[WWW]).await;
    lease(&server, "a", OnExpiry::Delete).await;
    let (revision, history) = (server.revision(), server.history_length().await);
    for turn in 0..20 {
        pass(&server, 500).await;
        match turn % 2 {
            0 => server.apply("a", &[WWW]).await,
            _ => server.run(Command::RenewLeases(vec![id("a")])).await.expect("renewed"),
        };
    }
    assert_eq!((server.revision(), server.history_length().await), (revision, history));
    pass(&server, 600).await;
    assert_eq!(state(&server, "a").await, Some(OwnerState::Expired));
    server.run(Command::RenewLeases(vec![id("a")])).await.expect("renewed");
    assert_eq!(state(&server, "a").await, Some(OwnerState::Active));
    pass(&server, 599).await;
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn a_renewal_is_of_the_whole_subtree_and_who_lives_by_itself_stays() {
    let server = Server::with_zone().await;
    let below = OwnerKeys { parent: Some(id("top")), ..OwnerKeys::default() };
    for owner in ["leased", "covered"] {
        let record = format!("{owner}.example.com. A 192.0.2.1");
        let wanted = Apply { keys: below.clone(), ..apply(owner, &[&record]) };
        server.run(Command::Apply(wanted)).await.expect("an apply");
    }
    lease(&server, "top", OnExpiry::Delete).await;
    lease(&server, "leased", OnExpiry::Delete).await;
    pass(&server, 500).await;
    let report = server.run(Command::RenewLeases(vec![id("top"), id("nobody")])).await.expect("renewed");
    assert_eq!((report.renewed.len(), report.unknown), (2, vec![id("nobody")]));
    pass(&server, 599).await;
    server.run(Command::RenewLeases(vec![id("leased")])).await.expect("renewed");
    pass(&server, 1).await;
    server.clock.advance(3_000_000);
    server.run(Command::RenewLeases(vec![id("leased")])).await.expect("renewed");
    pass(&server, 600).await;
    assert!(server.is_nxdomain("covered.example.com."));
    assert_eq!(server.values("leased.example.com.", "A"), ["192.0.2.1"]);
    assert_eq!((state(&server, "covered").await, state(&server, "top").await), (None, Some(OwnerState::Expired)));
    let refused = server.run_as(token_of("covered"), Command::RenewLeases(vec![id("leased")])).await;
    assert_eq!(refused.expect_err("another's").code(), Code::Forbidden);
}

#[tokio::test]
async fn a_lease_is_taken_away_and_has_bounds() {
    let server = Server::with_zone().await;
    lease(&server, "a", OnExpiry::Delete).await;
    let put = async |lease: LeaseKeys| {
        let keys = OwnerKeys { lease, ..OwnerKeys::default() };
        server.run(Command::PutOwner(PutOwner { owner: id("a"), keys })).await
    };
    let long = LeaseKeys { seconds: Some(u64::MAX), ..LeaseKeys::default() };
    assert_eq!(put(long).await.expect_err("too long").code(), Code::LimitExceeded);
    put(LeaseKeys { seconds: Some(0), ..LeaseKeys::default() }).await.expect("no lease");
    let alone = LeaseKeys { grace: Some(5), ..LeaseKeys::default() };
    assert_eq!(put(alone).await.expect_err("no lease").code(), Code::BadRequest);
    pass(&server, 100_000).await;
    assert_eq!(state(&server, "a").await, Some(OwnerState::Active));
}
