//! ALIAS through the real binary and resolvers that are dead, slow, lying or in a loop, and ten thousand clients that ask
//! for a target nobody has resolved.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Runtime;

use super::dns::{Reply, query};
use super::metrics::{sample, sum};
use super::server::{Server, eventually};
use super::upstream::{A, AAAA, Say, Upstream, Value as Data};

const EDGE: &str = "edge.proxy.test.";
const ADDRESS: &str = "192.0.2.10";

struct World {
    upstreams: Vec<Upstream>,
    server: Server,
    folder: tempfile::TempDir,
    // The last to go: the resolvers run on it.
    _runtime: Runtime,
}

impl World {
    /// With so many resolvers that know the target, and these lines in the configuration.
    fn new(resolvers: usize, more: &str) -> World {
        let runtime = Runtime::new().expect("a runtime");
        let upstreams: Vec<Upstream> = (0..resolvers).map(|_| runtime.block_on(Upstream::start())).collect();
        upstreams.iter().for_each(alive);
        let addresses: Vec<SocketAddr> = upstreams.iter().map(|one| one.address).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let server = serve(&folder, &addresses, more);
        World { upstreams, server, folder, _runtime: runtime }
    }

    fn all(&self, name: &str, rtype: u16, say: &Say) {
        self.upstreams.iter().for_each(|one| one.says(name, rtype, say.clone()));
    }
}

fn serve(folder: &tempfile::TempDir, upstreams: &[SocketAddr], more: &str) -> Server {
    let servers: Vec<String> = upstreams.iter().map(|one| format!("\"{one}\"")).collect();
    let text = format!("[alias.upstream.default]\nservers = [{}]\n{more}", servers.join(", "));
    std::fs::write(folder.path().join("tenured.toml"), text).expect("a file");
    let server = Server::start(folder.path(), &[]);
    let (status, body) = server.api("PUT", "/v1/zones/example.com.", Some(json!({})));
    assert!([200, 201].contains(&status), "{body}");
    server
}

fn alive(upstream: &Upstream) {
    upstream.says(EDGE, A, Say::Records(vec![(EDGE, 60, Data::Address(ADDRESS))]));
    upstream.says(EDGE, AAAA, Say::NoData(Some(60)));
}

/// An ALIAS whose target is not looked at when it is written.
fn alias(server: &Server, name: &str, target: &str) {
    let path = format!("/v1/owners/team/records/{name}/ALIAS?targetCheck=off");
    let (status, report) = server.api("PUT", &path, Some(json!({"values": [target], "ttl": 300})));
    assert_eq!(status, 200, "{report}");
}

fn extended(reply: &Reply) -> Option<(u16, &str)> {
    reply.extended.as_ref().map(|(code, text)| (*code, text.as_str()))
}

/// An address at which nothing listens, and nothing will: the sockets that hold its port for TCP are another's.
fn closed() -> SocketAddr {
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    udp.local_addr().expect("its address")
}

#[test]
fn a_closed_port_is_a_network_error_and_another_server_makes_up_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(&folder, &[closed()], "");
    alias(&server, "www.example.com.", EDGE);
    let reply = server.ask_both("www.example.com", "A");
    assert_eq!((reply.rcode.as_str(), extended(&reply).map(|(code, _)| code)), ("SERVFAIL", Some(23)), "{reply:?}");
    let (_, list) = server.api("GET", "/v1/alias-targets?state=Network", None);
    assert_eq!(list["items"][0]["target"], EDGE, "{list}");
    drop(server);
    let runtime = Runtime::new().expect("a runtime");
    let upstream = runtime.block_on(Upstream::start());
    alive(&upstream);
    let server = serve(&folder, &[closed(), upstream.address], "");
    let reply = eventually(20, "an answer", || server.ask("www.example.com", "A"), |reply| reply.rcode == "NOERROR");
    assert_eq!(reply.data(), [ADDRESS]);
}

#[test]
fn an_upstream_that_is_silent_late_wrong_or_short_of_words_does_no_harm_beside_a_good_one() {
    let good = || Box::new(Say::Records(vec![(EDGE, 60, Data::Address(ADDRESS))]));
    for bad in [
        Say::Silence,
        Say::Late(2_000, good()),
        Say::Garbage,
        Say::Code(2),
        Say::Code(5),
        Say::OnlyByTcp(good()),
        Say::WrongCase(good()),
        Say::AfterForgeries("198.51.100.66", good()),
    ] {
        let world = World::new(2, "");
        world.upstreams[0].says(EDGE, A, bad.clone());
        alias(&world.server, "www.example.com.", EDGE);
        let reply = world.server.ask_both("www.example.com", "A");
        assert_eq!((reply.rcode.as_str(), reply.data()), ("NOERROR", vec![ADDRESS]), "{bad:?}: {reply:?}");
    }
}

#[test]
fn an_upstream_that_alone_is_bad_is_told_by_its_fault() {
    for (say, code) in [(Say::Silence, 22), (Say::Garbage, 22), (Say::Code(2), 22), (Say::Code(5), 22)] {
        let world = World::new(1, "");
        world.all(EDGE, A, &say);
        world.all(EDGE, AAAA, &say);
        alias(&world.server, "www.example.com.", EDGE);
        // A query that came while the lookup was on its way may have waited in vain first.
        let reply = eventually(
            10,
            "the fault",
            || world.server.ask("www.example.com", "A"),
            |reply| extended(reply).is_some_and(|(code, _)| code != 14),
        );
        assert_eq!((reply.rcode.as_str(), extended(&reply).map(|one| one.0)), ("SERVFAIL", Some(code)), "{say:?}");
    }
}

/// Whether a reply has an extended error 14 without looking at more of it: option 15, its length, the code.
fn is_not_ready(reply: &[u8]) -> bool {
    reply[12..].windows(6).any(|octets| octets[..2] == [0, 15] && octets[4..] == [0, 14])
}

/// Sends each socket's queries at once and reads what comes within two seconds: how many replies, by code and extended
/// error, and when the last one came.
fn flood(server: SocketAddr, sockets: usize, each: usize, name: &str) -> (BTreeMap<(u8, bool), usize>, Duration) {
    let octets = query(name, "A");
    let sockets: Vec<UdpSocket> = (0..sockets)
        .map(|_| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.connect(server).expect("its address");
            socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a time-out");
            socket
        })
        .collect();
    let began = Instant::now();
    for socket in &sockets {
        for number in 0..each {
            let mut octets = octets.clone();
            octets[..2].copy_from_slice(&(number as u16).to_be_bytes());
            socket.send(&octets).expect("sent");
        }
    }
    let mut replies = BTreeMap::new();
    let mut last = Duration::ZERO;
    let mut buffer = [0; 2_048];
    for socket in &sockets {
        for _ in 0..each {
            let Ok(length) = socket.recv(&mut buffer) else { break };
            *replies.entry((buffer[3] & 15, is_not_ready(&buffer[..length]))).or_default() += 1;
            last = began.elapsed();
        }
    }
    (replies, last)
}

#[test]
fn ten_thousand_queries_for_a_target_never_resolved_make_one_lookup_of_each_family() {
    let world = World::new(1, "");
    let late = |say: Say| Say::Late(100, Box::new(say));
    world.all(EDGE, A, &late(Say::Records(vec![(EDGE, 60, Data::Address(ADDRESS))])));
    world.all(EDGE, AAAA, &late(Say::NoData(Some(60))));
    // The record is written at the last moment, since writing it begins the lookup.
    alias(&world.server, "www.example.com.", EDGE);
    let (replies, last) = flood(world.server.dns, 100, 100, "www.example.com");
    assert_eq!(replies, BTreeMap::from([((0, false), 10_000)]));
    assert!(last < Duration::from_secs(2), "{last:?}");
    let asked: Vec<u16> = world.upstreams[0].asked().iter().map(|one| one.rtype).collect();
    assert_eq!((asked.len(), asked.contains(&A), asked.contains(&AAAA)), (2, true, true), "{asked:?}");
}

#[test]
fn queries_beyond_those_that_may_wait_are_told_so_at_once() {
    let world = World::new(1, "");
    world.all(EDGE, A, &Say::Silence);
    world.all(EDGE, AAAA, &Say::Silence);
    alias(&world.server, "www.example.com.", EDGE);
    let (replies, _) = flood(world.server.dns, 180, 100, "www.example.com");
    let count = |key| replies.get(&key).copied().unwrap_or_default();
    assert_eq!((replies.len(), count((2, true))), (1, 18_000), "all get SERVFAIL and `Not Ready`: {replies:?}");
    let expired = sample(&world.server, "tenured_alias_deferred_expired_total");
    assert!((1.0..=16_384.0).contains(&expired), "{expired} waited, and the others did not");
    assert_eq!(sample(&world.server, "tenured_alias_deferred"), 0.0);
}

#[test]
fn the_target_before_is_served_for_a_moment_while_the_new_one_is_resolved() {
    let world = World::new(1, "");
    let server = &world.server;
    alias(server, "www.example.com.", EDGE);
    assert_eq!(server.ask("www.example.com", "A").data(), [ADDRESS]);
    let (new, address) = ("new.proxy.test.", "198.51.100.7");
    world.all(new, A, &Say::Late(700, Box::new(Say::Records(vec![(new, 60, Data::Address(address))]))));
    world.all(new, AAAA, &Say::Late(700, Box::new(Say::NoData(Some(60)))));
    alias(server, "www.example.com.", new);
    for (rtype, data) in [("A", vec![ADDRESS]), ("AAAA", vec![])] {
        let began = Instant::now();
        let reply = server.ask_both("www.example.com", rtype);
        assert!(began.elapsed() < Duration::from_millis(500), "nothing waits");
        assert_eq!((reply.rcode.as_str(), reply.data(), extended(&reply)), ("NOERROR", data, Some((3, ""))));
        assert!(reply.ttl() <= 5, "{reply:?}");
    }
    let (_, shown) = server.api("GET", "/v1/aliases/www.example.com.", None);
    assert_eq!(shown["records"][0]["serving"], "stale", "{shown}");
    let reply = eventually(5, "the new one", || server.ask("www.example.com", "A"), |reply| reply.data() == [address]);
    assert_eq!((extended(&reply), reply.ttl() > 5), (None, true), "{reply:?}");
    // One that fails leaves nothing of the old behind.
    world.all("dead.proxy.test.", A, &Say::Silence);
    world.all("dead.proxy.test.", AAAA, &Say::Silence);
    alias(server, "www.example.com.", "dead.proxy.test.");
    let began = Instant::now();
    eventually(8, "the end of it", || server.ask("www.example.com", "A"), |reply| reply.rcode == "SERVFAIL");
    assert!(began.elapsed() < Duration::from_millis(5_900), "{:?}", began.elapsed());
}

#[test]
fn a_chain_of_an_upstream_that_comes_back_is_a_loop_or_goes_on_in_the_server() {
    let world = World::new(1, "");
    let server = &world.server;
    // The resolver has an old answer for the end of the chain, as resolvers do.
    let back = |from, to, address| Say::Records(vec![(from, 60, Data::Cname(to)), (to, 60, Data::Address(address))]);
    world.all(EDGE, A, &back(EDGE, "www.example.com.", "192.0.2.98"));
    world.all(EDGE, AAAA, &back(EDGE, "www.example.com.", "2001:db8::98"));
    alias(server, "www.example.com.", EDGE);
    let reply = eventually(5, "a loop", || server.ask("www.example.com", "A"), |reply| reply.rcode == "NOERROR");
    assert_eq!((reply.answer.len(), extended(&reply)), (0, Some((0, "Loop"))), "{reply:?}");
    let (_, shown) = server.api("GET", "/v1/aliases/www.example.com.", None);
    assert_eq!(shown["records"][0]["state"], "Loop", "{shown}");
    assert_eq!(sample(server, "tenured_alias_records{state=\"Loop\"}"), 1.0);
    // Another ALIAS of the same target finds what stands at the name.
    let (status, report) = server.api(
        "PUT",
        "/v1/owners/team/records/inside.example.com./A",
        Some(json!({"values": ["192.0.2.77"], "ttl": 300})),
    );
    assert_eq!(status, 200, "{report}");
    let far = "far.proxy.test.";
    world.all(far, A, &back(far, "inside.example.com.", "192.0.2.99"));
    world.all(far, AAAA, &back(far, "inside.example.com.", "2001:db8::99"));
    alias(server, "far.example.com.", "far.proxy.test.");
    let reply = eventually(5, "the way back", || server.ask("far.example.com", "A"), |reply| reply.rcode == "NOERROR");
    assert_eq!(reply.data(), ["192.0.2.77"], "{reply:?}");
}

#[test]
fn a_resolver_that_asks_both_families_at_once_never_fails_at_a_target_of_one() {
    // What a load balancer's name server says of AAAA when it only knows A.
    let soa = || Box::new(Say::NoData(Some(60)));
    for aaaa in [*soa(), Say::NoData(None), Say::Silence, Say::Code(2), Say::NameError(Vec::new(), Some(60))] {
        let world = World::new(1, "");
        world.all(EDGE, AAAA, &aaaa);
        alias(&world.server, "www.example.com.", EDGE);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(world.server.dns).expect("its address");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
        for _ in 0..20 {
            for rtype in ["A", "AAAA"] {
                socket.send(&query("www.example.com", rtype)).expect("sent");
            }
            for _ in 0..2 {
                let mut buffer = [0; 2_048];
                socket.recv(&mut buffer).expect("a reply within five seconds");
                // As musl does: a failure of either is a failure of both.
                assert_eq!(buffer[3] & 15, 0, "{aaaa:?}");
            }
        }
        let reply = world.server.ask("www.example.com", "A");
        assert_eq!(reply.data(), [ADDRESS], "{aaaa:?}");
        let reply = world.server.ask("www.example.com", "AAAA");
        assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 0), "{aaaa:?}");
        assert!(reply.authority[0].starts_with("example.com. "), "{aaaa:?}: {reply:?}");
    }
}

#[test]
fn what_alias_answers_are_and_what_they_cost_is_measured() {
    let world = World::new(1, "");
    let server = &world.server;
    alias(server, "www.example.com.", EDGE);
    server.ask_both("www.example.com", "A");
    server.ask_both("www.example.com", "AAAA");
    world.all("gone.proxy.test.", A, &Say::Code(2));
    world.all("gone.proxy.test.", AAAA, &Say::Code(2));
    alias(server, "gone.example.com.", "gone.proxy.test.");
    eventually(
        5,
        "a failure",
        || server.ask("gone.example.com", "A"),
        |reply| extended(reply).is_some_and(|one| one.0 == 22),
    );
    let at_least = |name: &str, least: f64| {
        let found = sample(server, name);
        assert!(found >= least, "{name}: {found}");
    };
    at_least("tenured_alias_answers_total{serving=\"fresh\"}", 2.0);
    at_least("tenured_alias_answers_total{serving=\"nodata\"}", 2.0);
    at_least("tenured_alias_answers_total{serving=\"servfail\"}", 1.0);
    let upstream = world.upstreams[0].address;
    for (said, least) in [("addresses", 1.0), ("nodata", 1.0), ("servfail", 2.0)] {
        at_least(&format!("tenured_alias_upstream_queries_total{{upstream=\"{upstream}\",result=\"{said}\"}}"), least);
    }
    let all = sum(server, "tenured_alias_upstream_queries_total");
    assert_eq!(all, world.upstreams[0].asked().len() as f64, "each is counted once");
    at_least("tenured_alias_refresh_seconds_count", 4.0);
    let output = server.command(&["alias", "refresh", "www.example.com", "--target", "gone.proxy.test."]);
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && told.contains("accepted") && told.contains("coalesced"), "{told}");
    let output = server.command(&["alias", "list", "--state", "ServFail", "-o", "name"]);
    assert_eq!(String::from_utf8(output.stdout).expect("text"), "gone.example.com.\n");
    assert_eq!(sample(server, "tenured_alias_targets{state=\"Resolved\"}"), 1.0);
    assert_eq!(sample(server, "tenured_alias_records{state=\"ServFail\"}"), 1.0);
}

#[test]
fn two_servers_whose_records_point_at_each_other_ask_seldom_and_answer() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    // Ports that both know before either runs.
    let ports: Vec<SocketAddr> = (0..2)
        .map(|_| {
            loop {
                let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
                let address = udp.local_addr().expect("its address");
                if TcpListener::bind(address).is_ok() {
                    break address;
                }
            }
        })
        .collect();
    let start = |own: usize| {
        let dns = ports[own].to_string();
        let upstream = ports[1 - own].to_string();
        let server = Server::start(folders[own].path(), &["--dns", &dns, "--upstream", &upstream]);
        let zone = ["one.test.", "two.test."][own];
        let (status, body) = server.api("PUT", &format!("/v1/zones/{zone}"), Some(json!({})));
        assert_eq!(status, 201, "{body}");
        server
    };
    let (one, two) = (start(0), start(1));
    alias(&one, "www.one.test.", "www.two.test.");
    alias(&two, "www.two.test.", "www.one.test.");
    let reply = one.ask_both("www.one.test", "A");
    assert!(["SERVFAIL", "NOERROR"].contains(&reply.rcode.as_str()) && reply.answer.is_empty(), "{reply:?}");
    let lookups = |server: &Server| sample(server, "tenured_alias_refresh_seconds_count");
    let settled = |server: &Server| {
        eventually(15, "a first lookup", || lookups(server), |count| *count >= 2.0);
    };
    settled(&one);
    settled(&two);
    let before = lookups(&one) + lookups(&two);
    // An interval to count in.
    let interval = Duration::from_secs(6);
    let began = Instant::now();
    while began.elapsed() < interval {
        one.ask("www.one.test", "A");
        two.ask("www.two.test", "AAAA");
    }
    let made = lookups(&one) + lookups(&two) - before;
    assert!(made <= 2.0 * 2.0 * interval.as_secs_f64(), "{made} lookups of two servers and two families in 6 s");
}

#[test]
fn the_type_and_the_texts_are_shown_as_the_configuration_says() {
    let world = World::new(1, "[alias]\nexpose_type = true\nede_text = \"none\"\n");
    let server = &world.server;
    world.all(EDGE, A, &Say::NameError(Vec::new(), Some(60)));
    world.all(EDGE, AAAA, &Say::NameError(Vec::new(), Some(60)));
    alias(server, "www.example.com.", EDGE);
    let reply = eventually(5, "an end", || server.ask("www.example.com", "A"), |reply| reply.rcode == "NOERROR");
    assert_eq!(extended(&reply), Some((0, "")), "the code alone");
    let reply = server.ask_both("www.example.com", "TYPE65401");
    assert_eq!(reply.answer.len(), 1, "{reply:?}");
    assert!(reply.answer[0].starts_with("www.example.com. 300 "), "{reply:?}");
}

#[test]
fn a_zone_is_exported_with_the_addresses_that_its_alias_records_come_to() {
    let world = World::new(1, "");
    let server = &world.server;
    alias(server, "www.example.com.", EDGE);
    alias(server, "nested.example.com.", "www.example.com.");
    alias(server, "nowhere.example.com.", "nothing.example.com.");
    assert_eq!(server.ask("nested.example.com", "A").data(), [ADDRESS]);
    let output = server.command(&["zone", "export", "example.com", "--alias", "addresses"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = |name: &str| -> Vec<Vec<&str>> {
        let all = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        all.filter(|fields| fields.first() == Some(&name)).collect()
    };
    for name in ["www", "nested"] {
        let found = lines(name);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0][found[0].len() - 2..], ["A", ADDRESS], "{text}");
    }
    assert!(lines("nowhere").is_empty() && !text.contains("ALIAS"), "{text}");
    assert!(server.command(&["zone", "export", "example.com"]).stdout.windows(5).any(|five| five == b"ALIAS"));
}

#[test]
fn a_server_that_was_killed_answers_from_what_it_knew_while_upstreams_are_dead() {
    let mut world = World::new(1, "");
    alias(&world.server, "www.example.com.", EDGE);
    assert_eq!(world.server.ask("www.example.com", "A").data(), [ADDRESS]);
    world.all(EDGE, A, &Say::Silence);
    world.all(EDGE, AAAA, &Say::Silence);
    // What is known is written within a second of the answer.
    let rows = || {
        let (_, list) = world.server.api("GET", "/v1/alias-targets", None);
        list["items"][0]["checkedAt"].as_str().map(str::to_owned)
    };
    let checked = eventually(5, "a row", rows, Option::is_some);
    let written = Instant::now();
    eventually(5, "time to write it", || written.elapsed(), |passed| *passed > Duration::from_millis(1_500));
    let dns = world.server.dns;
    let address = [world.upstreams[0].address];
    let folder = &world.folder;
    let dead = std::mem::replace(&mut world.server, serve(&tempfile::tempdir().expect("a folder"), &address, ""));
    dead.kill();
    let server = serve(folder, &address, "");
    assert_ne!(server.dns, dns, "another process");
    let reply = server.ask_both("www.example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.data()), ("NOERROR", vec![ADDRESS]), "{reply:?}");
    let (_, list) = server.api("GET", "/v1/alias-targets", None);
    assert_eq!(list["items"][0]["checkedAt"].as_str(), checked.as_deref(), "{list}");
}
