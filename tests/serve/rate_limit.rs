//! Response rate limiting over sockets (answers.md W1-W5).

use std::net::UdpSocket;
use std::time::Duration;

use super::dns::{Over, ask, query};
use super::metrics::sample;
use super::server::{Server, sample_zones};

/// What came back for one query each: answered, truncated, nothing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    answered: usize,
    truncated: usize,
    nothing: usize,
}

/// Sends all queries at once and counts what comes back for them.
fn burst(server: &Server, queries: &[Vec<u8>]) -> Counts {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server.dns).expect("an address");
    for query in queries {
        socket.send(query).expect("sent");
    }
    let mut counts = Counts::default();
    let mut buffer = [0; 2048];
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a time-out");
    while counts.answered + counts.truncated < queries.len()
        && let Ok(length) = socket.recv(&mut buffer)
    {
        assert!(length >= 12);
        if buffer[2] & 2 != 0 {
            counts.truncated += 1;
        } else {
            counts.answered += 1;
        }
    }
    counts.nothing = queries.len() - counts.answered - counts.truncated;
    counts
}

#[test]
fn w1_w3_like_replies_over_the_rate_are_dropped_or_truncated_in_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("tenured.toml"), "[dns.rrl]\nrate = 10\n").expect("a file");
    let zones = sample_zones();
    let server = Server::start(folder.path(), &["--zones", zones.to_str().expect("text")]);
    let queries: Vec<Vec<u8>> = (0..60).map(|_| query("example.com", "MX")).collect();
    let counts = burst(&server, &queries);
    // The burst may fall into two seconds.
    assert!((10..=20).contains(&counts.answered), "{counts:?}");
    assert!(counts.truncated.abs_diff(counts.nothing) <= 2, "{counts:?}");
    let actions = |action: &str| sample(&server, &format!("tenured_rrl_actions_total{{action=\"{action}\"}}")) as usize;
    assert_eq!((actions("truncate"), actions("drop")), (counts.truncated, counts.nothing));
    // Random names of one wildcard, or that do not exist, share an account (W2).
    for below in ["apps.example.com", "example.com"] {
        let queries: Vec<Vec<u8>> = (0..60).map(|at| query(&format!("random{at}.{below}"), "A")).collect();
        let counts = burst(&server, &queries);
        assert!((10..=20).contains(&counts.answered), "{below}: {counts:?}");
    }
    // TCP is exempt, and so are other data (W4).
    for _ in 0..30 {
        assert_eq!(ask(server.dns, Over::Tcp, "example.com", "MX").data().len(), 2);
    }
}

#[test]
fn w1_without_a_rate_nothing_is_limited() {
    let folder = tempfile::tempdir().expect("a folder");
    let zones = sample_zones();
    let server = Server::start(folder.path(), &["--zones", zones.to_str().expect("text")]);
    let queries: Vec<Vec<u8>> = (0..60).map(|_| query("example.com", "MX")).collect();
    assert_eq!(burst(&server, &queries), Counts { answered: 60, truncated: 0, nothing: 0 });
}

#[test]
fn w4_a_client_with_a_good_cookie_gets_all_its_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("tenured.toml"), "[dns.rrl]\nrate = 10\n").expect("a file");
    let zones = sample_zones();
    let server = Server::start(folder.path(), &["--zones", zones.to_str().expect("text")]);
    let cookie = cookie_for(&server, b"12345678");
    let queries: Vec<Vec<u8>> = (0..60).map(|_| with_cookie(&cookie)).collect();
    assert_eq!(burst(&server, &queries), Counts { answered: 60, truncated: 0, nothing: 0 });
}

/// A query with a cookie option.
fn with_cookie(cookie: &[u8]) -> Vec<u8> {
    let mut octets = query("example.com", "MX");
    let length = octets.len();
    let data = cookie.len() as u16;
    octets[length - 2..].copy_from_slice(&(data + 4).to_be_bytes());
    octets.extend_from_slice(&[0, 10]);
    octets.extend_from_slice(&data.to_be_bytes());
    octets.extend_from_slice(cookie);
    octets
}

/// The cookie, client and server part, that a server answers this one with.
fn cookie_for(server: &Server, cookie: &[u8]) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server.dns).expect("an address");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    socket.send(&with_cookie(cookie)).expect("sent");
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer).expect("a reply");
    let option = [b"\0\x0a\0\x18", &cookie[..8]].concat();
    let at = buffer[..length].windows(12).position(|part| part == option).expect("a cookie");
    buffer[at + 4..at + 28].to_vec()
}

#[test]
fn k8_nodes_with_one_secret_know_each_others_cookies_and_others_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let zones = sample_zones();
    let secret = folder.path().join("cookie-secret");
    std::fs::write(&secret, "00112233445566778899aabbccddeeff\n").expect("a file");
    let shared = format!("[dns.cookies]\nsecret_file = {secret:?}\n");
    let node = |name: &str, config: &str| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("tenured.toml"), config).expect("a file");
        Server::start(&folder, &["--zones", zones.to_str().expect("text")])
    };
    let (one, two, other) = (node("one", &shared), node("two", &shared), node("other", ""));
    let cookie = cookie_for(&one, b"12345678");
    assert_eq!(cookie_for(&two, &cookie), cookie, "a good cookie comes back as it is");
    assert_ne!(cookie_for(&other, &cookie), cookie, "a node with a random secret makes one of its own");
}
