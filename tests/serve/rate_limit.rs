//! Response rate limiting over sockets (answers.md W1-W5).

use std::net::UdpSocket;
use std::time::Duration;

use super::dns::{Over, ask, query};
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
    let with_cookie = |cookie: &[u8]| {
        let mut octets = query("example.com", "MX");
        let length = octets.len();
        let data = cookie.len() as u16;
        octets[length - 2..].copy_from_slice(&(data + 4).to_be_bytes());
        octets.extend_from_slice(&[0, 10]);
        octets.extend_from_slice(&data.to_be_bytes());
        octets.extend_from_slice(cookie);
        octets
    };
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server.dns).expect("an address");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    socket.send(&with_cookie(b"12345678")).expect("sent");
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer).expect("a reply");
    let at = buffer[..length].windows(12).position(|part| part == b"\0\x0a\0\x1812345678").expect("a cookie");
    let cookie = buffer[at + 4..at + 28].to_vec();
    let queries: Vec<Vec<u8>> = (0..60).map(|_| with_cookie(&cookie)).collect();
    assert_eq!(burst(&server, &queries), Counts { answered: 60, truncated: 0, nothing: 0 });
}
