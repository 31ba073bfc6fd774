//! What keys of the PowerDNS door have done by the clock: wishes lapse that nobody asks for again, and claims that a wave
//! passed by are put aside where the key says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenured::control::keys::{self, LAPSES_AFTER};
use tenured::ledger::actor::{Role, TokenLimits};
use tenured::ledger::command::{Act, Command, NewToken, Patch, Step, Values};
use tenured::ledger::key::{KeySettings, OnUnconfirmed, Profile};
use tenured::store::token;
use tenured::wire::codes::Rtype;

use crate::support::{Server, id, name, token_of};

const OWNER: &str = "pdns:x";

async fn key(server: &Server, settings: &KeySettings) {
    let minted = token::mint().expect("random numbers");
    let new = NewToken {
        id: minted.id,
        name: "x".to_owned(),
        role: Role::Owner(id(OWNER)),
        limits: TokenLimits::default(),
        hash: minted.hash,
        expires: None,
        key: Some(Box::new(settings.clone())),
    };
    server.run(Command::CreateToken(new)).await.expect("a key");
}

async fn replace(server: &Server, settings: &KeySettings, at: &str) {
    let values = Values { ttl: 60, records: vec![vec![192, 0, 2, 9]], ..Values::default() };
    let act = Act::Replace { values: Some(values), comments: None };
    let patch = Patch {
        zone: name("example.com."),
        owner: id(OWNER),
        key: Arc::new(settings.clone()),
        steps: Arc::new(vec![Ok(Step { name: name(at), rtype: Rtype::A, act })]),
    };
    server.run_as(token_of(OWNER), Command::Patch(patch)).await.expect("a report");
}

async fn pass(server: &Server, seconds: u64) {
    server.clock.advance(seconds * 1_000);
    keys::turn(&server.handle, &server.reader, server.clock.now()).await;
}

#[tokio::test]
async fn a_queued_wish_lapses_an_hour_after_it_was_last_asked_for() {
    let server = Server::with_zone().await;
    let settings = KeySettings::of(Profile::DnsOperator);
    key(&server, &settings).await;
    server.apply("a", &["www.example.com. A 192.0.2.1"]).await;
    replace(&server, &settings, "www.example.com.").await;
    let queued = vec!["www.example.com. A pdns:x queued".to_owned()];
    assert_eq!(server.claims_of(OWNER).await, queued);
    pass(&server, LAPSES_AFTER - 1).await;
    replace(&server, &settings, "www.example.com.").await;
    pass(&server, LAPSES_AFTER - 1).await;
    assert_eq!(server.claims_of(OWNER).await, queued, "it was asked for again");
    pass(&server, 2).await;
    assert_eq!(server.claims_of(OWNER).await, Vec::<String>::new());
    assert_eq!(server.values("www.example.com.", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn what_a_wave_passed_by_is_put_aside_after_the_grace_and_comes_back_when_it_is_asked_for() {
    let server = Server::with_zone().await;
    let settings = KeySettings {
        on_unconfirmed: OnUnconfirmed::Quarantine,
        grace_seconds: 3_600,
        ..KeySettings::of(Profile::DnsOperator)
    };
    key(&server, &settings).await;
    for at in ["a.example.com.", "b.example.com.", "old.example.com."] {
        replace(&server, &settings, at).await;
    }
    server.clock.advance(86_400_000);
    for at in ["a.example.com.", "b.example.com."] {
        replace(&server, &settings, at).await;
    }
    // The controller looks at its clock once a second.
    let wait = async |minutes: u64, wanted: usize| {
        let end = Instant::now() + Duration::from_secs(20);
        server.clock.advance(minutes * 60_000);
        while server.reader.unconfirmed(&id(OWNER)).await.expect("a look-up").len() != wanted {
            assert!(Instant::now() < end, "{wanted} are unconfirmed");
            tokio::task::yield_now().await;
        }
    };
    // It has weighed the assertions when they are written, which takes five seconds of its clock.
    let end = Instant::now() + Duration::from_secs(20);
    server.clock.advance(6_000);
    loop {
        assert!(Instant::now() < end, "assertions are written");
        let filter = tenured::store::rows::ClaimFilter { name: Some(name("a.example.com.")), ..Default::default() };
        let claims = server.reader.claims(&filter).await.expect("claims").items;
        if claims[0].claim.asserted > claims[0].claim.created {
            break;
        }
        tokio::task::yield_now().await;
    }
    wait(11, 1).await;
    pass(&server, 3_599).await;
    assert_eq!(server.values("old.example.com.", "A"), ["192.0.2.9"], "the grace is not over");
    pass(&server, 2).await;
    assert!(server.is_nxdomain("old.example.com."));
    assert_eq!(server.values("a.example.com.", "A"), ["192.0.2.9"]);
    replace(&server, &settings, "old.example.com.").await;
    assert_eq!(server.values("old.example.com.", "A"), ["192.0.2.9"]);
}
