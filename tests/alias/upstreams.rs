//! What the resolver makes of servers that are well, dead, slow, lying or broken. The servers are real, on loopback.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tenured::alias::lookup::{Ask, Failure, Outcome, Upstream as Number};
use tenured::alias::resolver::{Resolve, Upstreams};
use tenured::zone::addresses::Addresses;
use tenured::zone::alias::Family;
use tenured::zone::policy::Policy;

use crate::timeline::target;
use crate::upstream::{A, AAAA, CNAME, Say, Transport, Upstream, Value};

const TARGET: &str = "edge.proxy.test.";

async fn ask(servers: &[&Upstream], family: Family) -> (Option<Number>, Outcome) {
    let addresses: Vec<SocketAddr> = servers.iter().map(|one| one.address).collect();
    let upstreams = Upstreams::new(&[addresses]).expect("upstreams");
    heard(&upstreams, family, Ask::Any).await
}

async fn heard(upstreams: &Upstreams, family: Family, ask: Ask) -> (Option<Number>, Outcome) {
    let answer = upstreams.lookup(&target(TARGET), family, ask).await;
    (answer.upstream, answer.outcome)
}

fn addresses(texts: &[&str], ttl: u32) -> Outcome {
    let octets = texts.iter().flat_map(|text| match text.parse().expect("an address") {
        std::net::IpAddr::V4(address) => address.octets().to_vec(),
        std::net::IpAddr::V6(address) => address.octets().to_vec(),
    });
    Outcome::Addresses { octets: octets.collect(), ttl }
}

fn address(text: &'static str) -> Say {
    Say::Records(vec![(TARGET, 60, Value::Address(text))])
}

/// A server that says this of the target's A, and what it makes of it.
async fn of_one(say: Say) -> (Outcome, Upstream) {
    let server = Upstream::start().await;
    server.says(TARGET, A, say);
    (ask(&[&server], Family::A).await.1, server)
}

#[tokio::test]
async fn both_families_are_resolved() {
    let server = Upstream::start().await;
    server.says(TARGET, A, address("192.0.2.10"));
    server.says(TARGET, AAAA, address("2001:db8::10"));
    assert_eq!(ask(&[&server], Family::A).await.1, addresses(&["192.0.2.10"], 60));
    assert_eq!(ask(&[&server], Family::Aaaa).await.1, addresses(&["2001:db8::10"], 60));
}

#[tokio::test]
async fn nxdomain_and_no_data_are_told_apart_with_their_ttl() {
    for (say, wanted) in [
        (Say::NoData(Some(120)), Outcome::NoData { ttl: Some(120) }),
        (Say::NoData(None), Outcome::NoData { ttl: None }),
        (Say::NameError(vec![], Some(120)), Outcome::NameError { ttl: Some(120) }),
        (Say::NameError(vec![], None), Outcome::NameError { ttl: None }),
    ] {
        let server = Upstream::start().await;
        server.says(TARGET, A, say);
        server.says(TARGET, CNAME, Say::NoData(None));
        assert_eq!(ask(&[&server], Family::A).await.1, wanted);
    }
}

#[tokio::test]
async fn the_lowest_ttl_of_a_chain_counts_and_records_beside_it_do_not() {
    let chain = Say::Records(vec![
        (TARGET, 300, Value::Cname("b.test")),
        ("b.test", 30, Value::Cname("c.test")),
        ("c.test", 600, Value::Address("192.0.2.11")),
        ("c.test", 600, Value::Address("192.0.2.10")),
        ("elsewhere.test", 600, Value::Address("192.0.2.66")),
    ]);
    assert_eq!(of_one(chain).await.0, addresses(&["192.0.2.11", "192.0.2.10"], 30));
}

#[tokio::test]
async fn the_names_of_a_chain_are_told() {
    let server = Upstream::start().await;
    let records = vec![
        (TARGET, 300, Value::Cname("b.test")),
        ("b.test", 30, Value::Cname("c.test")),
        ("c.test", 600, Value::Address("192.0.2.10")),
    ];
    server.says(TARGET, A, Say::Records(records));
    let upstreams = Upstreams::new(&[vec![server.address]]).expect("an upstream");
    let answer = upstreams.lookup(&target(TARGET), Family::A, Ask::Any).await;
    assert_eq!(answer.chain.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b.test.", "c.test."]);
}

#[tokio::test]
async fn a_chain_that_comes_piece_by_piece_is_put_together() {
    let server = Upstream::start().await;
    server.says(TARGET, A, Say::Records(vec![(TARGET, 40, Value::Cname("b.test"))]));
    server.says("b.test", A, Say::Records(vec![("b.test", 300, Value::Address("192.0.2.10"))]));
    assert_eq!(ask(&[&server], Family::A).await.1, addresses(&["192.0.2.10"], 40));
}

#[tokio::test]
async fn a_chain_without_addresses_at_its_end_is_no_data_or_nxdomain() {
    for (say, wanted) in [
        (Say::NoData(Some(90)), Outcome::NoData { ttl: Some(90) }),
        (Say::NameError(vec![], Some(90)), Outcome::NameError { ttl: Some(90) }),
    ] {
        let server = Upstream::start().await;
        server.says(TARGET, A, Say::Records(vec![(TARGET, 40, Value::Cname("b.test"))]));
        server.says("b.test", A, say);
        assert_eq!(ask(&[&server], Family::A).await.1, wanted);
    }
    // As recursive servers say it: the chain and the code in one message.
    let server = Upstream::start().await;
    server.says(TARGET, A, Say::NameError(vec![(TARGET, 40, Value::Cname("b.test"))], Some(90)));
    server.says("b.test", A, Say::NameError(vec![], Some(90)));
    assert_eq!(ask(&[&server], Family::A).await.1, Outcome::NameError { ttl: Some(90) });
}

#[tokio::test]
async fn only_the_answer_section_counts() {
    let server = Upstream::start().await;
    let forged = vec![("b.test", 300, Value::Address("192.0.2.66"))];
    server.says(TARGET, A, Say::Beside(vec![(TARGET, 40, Value::Cname("b.test"))], forged));
    server.says("b.test", CNAME, Say::NoData(Some(60)));
    server.says("b.test", A, Say::Records(vec![("b.test", 300, Value::Address("192.0.2.10"))]));
    assert_eq!(ask(&[&server], Family::A).await.1, addresses(&["192.0.2.10"], 40));
}

#[tokio::test]
async fn a_chain_to_the_local_host_brings_an_address_that_the_engine_rejects() {
    let server = Upstream::start().await;
    for rtype in [A, CNAME] {
        server.says(TARGET, rtype, Say::Records(vec![(TARGET, 40, Value::Cname("localhost"))]));
    }
    let (_, outcome) = ask(&[&server], Family::A).await;
    let Outcome::Addresses { octets, .. } = outcome else { panic!("{outcome:?}") };
    assert!(Addresses::new(&octets, Family::A).is_internal());
}

const NAMES: [&str; 19] = [
    TARGET, "h1.test", "h2.test", "h3.test", "h4.test", "h5.test", "h6.test", "h7.test", "h8.test", "h9.test",
    "h10.test", "h11.test", "h12.test", "h13.test", "h14.test", "h15.test", "h16.test", "h17.test", "h18.test",
];

/// A server that gives one step of a chain at a time; at its end stand addresses.
async fn piecemeal(steps: usize) -> Upstream {
    let server = Upstream::start().await;
    for step in 0..steps {
        for rtype in [A, CNAME] {
            let record = (NAMES[step], 300 - step as u32, Value::Cname(NAMES[step + 1]));
            server.says(NAMES[step], rtype, Say::Records(vec![record]));
        }
    }
    server.says(NAMES[steps], A, Say::Records(vec![(NAMES[steps], 600, Value::Address("192.0.2.10"))]));
    server.says(NAMES[steps], CNAME, Say::NoData(Some(60)));
    server
}

#[tokio::test]
async fn sixteen_steps_are_followed_and_seventeen_are_not() {
    for (steps, wanted) in [
        (8, addresses(&["192.0.2.10"], 293)),
        (12, addresses(&["192.0.2.10"], 289)),
        (16, addresses(&["192.0.2.10"], 285)),
        (17, Outcome::ChainTooLong),
    ] {
        assert_eq!(ask(&[&piecemeal(steps).await], Family::A).await.1, wanted, "{steps}");
    }
}

#[tokio::test]
async fn a_chain_that_comes_back_is_a_loop() {
    let server = Upstream::start().await;
    for rtype in [A, CNAME] {
        server.says(TARGET, rtype, Say::Records(vec![(TARGET, 60, Value::Cname("b.test"))]));
        server.says("b.test", rtype, Say::Records(vec![("b.test", 60, Value::Cname(TARGET))]));
    }
    assert_eq!(ask(&[&server], Family::A).await.1, Outcome::Loop);
    let at_once = Say::Records(vec![(TARGET, 60, Value::Cname("b.test")), ("b.test", 60, Value::Cname(TARGET))]);
    server.says(TARGET, A, at_once);
    assert_eq!(ask(&[&server], Family::A).await.1, Outcome::Loop);
}

#[tokio::test]
async fn codes_and_dead_ports_are_failures_of_their_kind() {
    for (code, failure) in
        [(2, Failure::ServFail), (5, Failure::Refused), (4, Failure::ServFail), (1, Failure::ServFail)]
    {
        assert_eq!(of_one(Say::Code(code)).await.0, Outcome::Failed(failure), "{code}");
    }
    let dead = {
        let server = Upstream::start().await;
        server.address
    };
    let upstreams = Upstreams::new(&[vec![dead]]).expect("upstreams");
    let (_, outcome) = heard(&upstreams, Family::A, Ask::Any).await;
    // The library sends from sockets that are not connected, so that a closed port looks like silence.
    assert!(matches!(outcome, Outcome::Failed(Failure::Network | Failure::Timeout)), "{outcome:?}");
    let none = Upstreams::new(&[vec![]]).expect("no upstreams");
    assert_eq!(heard(&none, Family::A, Ask::Any).await, (None, Outcome::Failed(Failure::NoResolver)));
}

#[tokio::test]
async fn servfail_and_refused_move_on_to_the_next_server_at_once() {
    for code in [2, 5] {
        let (first, second) = (Upstream::start().await, Upstream::start().await);
        first.says(TARGET, A, Say::Code(code));
        second.says(TARGET, A, address("192.0.2.10"));
        let mut quickest = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            assert_eq!(ask(&[&first, &second], Family::A).await, (Some(Number(1)), addresses(&["192.0.2.10"], 60)));
            quickest = quickest.min(began.elapsed());
        }
        assert!(quickest < Duration::from_millis(290), "no wait for the hedge");
        assert_eq!(first.asked().len(), 5);
    }
}

#[tokio::test]
async fn a_silent_server_is_helped_out_by_the_next() {
    let (silent, well) = (Upstream::start().await, Upstream::start().await);
    silent.says(TARGET, A, Say::Silence);
    well.says(TARGET, A, address("192.0.2.10"));
    let upstreams = Upstreams::new(&[vec![silent.address, well.address]]).expect("upstreams");
    for _ in 0..3 {
        let began = Instant::now();
        let answer = heard(&upstreams, Family::A, Ask::Any).await;
        assert_eq!(answer, (Some(Number(1)), addresses(&["192.0.2.10"], 60)));
        assert!(began.elapsed() < Duration::from_millis(900), "the second is asked before the first has timed out");
    }
    // It is not waited for a second time.
    let mut ids: Vec<u16> = silent.asked().iter().map(|one| one.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[tokio::test]
async fn a_server_that_was_slow_goes_last_from_then_on() {
    let (slow, well) = (Upstream::start().await, Upstream::start().await);
    slow.says(TARGET, A, Say::Late(100, Box::new(address("192.0.2.10"))));
    well.says(TARGET, A, address("192.0.2.10"));
    let upstreams = Upstreams::new(&[vec![slow.address, well.address]]).expect("upstreams");
    let who = async || heard(&upstreams, Family::A, Ask::Any).await.0;
    assert_eq!(who().await, Some(Number(0)));
    assert_eq!(who().await, Some(Number(1)));
    assert_eq!(who().await, Some(Number(1)));
    assert_eq!(slow.asked().len(), 1);
}

#[tokio::test]
async fn a_second_opinion_comes_from_another_server() {
    let (first, second) = (Upstream::start().await, Upstream::start().await);
    first.says(TARGET, A, Say::NameError(vec![], Some(60)));
    second.says(TARGET, A, address("192.0.2.10"));
    let upstreams = Upstreams::new(&[vec![first.address, second.address]]).expect("upstreams");
    let (who, outcome) = heard(&upstreams, Family::A, Ask::Any).await;
    assert_eq!((who, outcome), (Some(Number(0)), Outcome::NameError { ttl: Some(60) }));
    let (who, outcome) = heard(&upstreams, Family::A, Ask::OtherThan(Number(0))).await;
    assert_eq!((who, outcome), (Some(Number(1)), addresses(&["192.0.2.10"], 60)));
}

#[tokio::test]
async fn silence_is_a_timeout_within_the_time_of_a_lookup() {
    let began = Instant::now();
    let (outcome, server) = of_one(Say::Silence).await;
    assert_eq!(outcome, Outcome::Failed(Failure::Timeout));
    let took = began.elapsed();
    assert!((Duration::from_millis(900)..Duration::from_millis(3_500)).contains(&took), "{took:?}");
    assert!(server.asked().len() > 1, "a lost packet is sent again");
}

#[tokio::test]
async fn garbage_is_no_answer() {
    let (outcome, _server) = of_one(Say::Garbage).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
}

#[tokio::test]
async fn what_does_not_fit_is_fetched_over_tcp() {
    let (outcome, server) = of_one(Say::OnlyByTcp(Box::new(address("192.0.2.10")))).await;
    assert_eq!(outcome, addresses(&["192.0.2.10"], 60));
    let transports: Vec<Transport> = server.asked().into_iter().map(|one| one.transport).collect();
    assert_eq!(transports, [Transport::Udp, Transport::Tcp]);
}

#[tokio::test]
async fn of_sixty_addresses_over_tcp_the_same_sixteen_are_kept() {
    let mut kept = Vec::new();
    for turn in 0..3 {
        let record = |last: u8| {
            let text: &'static str = Box::leak(format!("192.0.2.{last}").into_boxed_str());
            (TARGET, 60, Value::Address(text))
        };
        let mut records: Vec<_> = (1..=60).map(record).collect();
        records.rotate_left(turn * 17);
        let (outcome, _server) = of_one(Say::OnlyByTcp(Box::new(Say::Records(records)))).await;
        let Outcome::Addresses { octets, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(octets.len(), 60 * 4);
        kept.push(Addresses::new(&octets, Family::A));
    }
    assert_eq!(kept[0].of(Family::A, &Policy::default()).count(), 16);
    kept.dedup();
    assert_eq!(kept.len(), 1);
}

#[tokio::test]
async fn a_reply_in_another_letter_case_is_taken_for_forged_and_asked_again_over_tcp() {
    let (outcome, server) = of_one(Say::WrongCase(Box::new(address("192.0.2.10")))).await;
    assert_eq!(outcome, addresses(&["192.0.2.10"], 60));
    assert!(server.asked().iter().any(|one| one.transport == Transport::Tcp));
}

#[tokio::test]
async fn forged_replies_before_the_true_one_are_ignored() {
    let (outcome, _server) = of_one(Say::AfterForgeries("192.0.2.66", Box::new(address("192.0.2.10")))).await;
    assert_eq!(outcome, addresses(&["192.0.2.10"], 60));
}

#[tokio::test]
async fn id_port_and_letter_case_differ_from_query_to_query() {
    let server = Upstream::start().await;
    server.says(TARGET, A, address("192.0.2.10"));
    let upstreams = Upstreams::new(&[vec![server.address]]).expect("upstreams");
    for _ in 0..12 {
        heard(&upstreams, Family::A, Ask::Any).await;
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 12, "nothing is answered from a cache");
    let distinct = |mut values: Vec<Vec<u8>>| {
        values.sort();
        values.dedup();
        values.len()
    };
    assert!(distinct(asked.iter().map(|one| one.id.to_be_bytes().to_vec()).collect()) > 6);
    assert!(distinct(asked.iter().map(|one| one.from.port().to_be_bytes().to_vec()).collect()) > 6);
    assert!(distinct(asked.iter().map(|one| one.spelled.clone()).collect()) > 6);
}
