//! DNS over TLS, QUIC and HTTPS: the same verdict as over TCP for each operation, each transport's own rules, and
//! certificates that change while the server runs.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{
    Became, Carrier, Certificate, Client, certificate, exchange, framed, http, is_expired, quic_stream,
};
use super::server::{Server, eventually, run, sample_zones};

struct Encrypted {
    server: Server,
    certificate: Certificate,
    tls: SocketAddr,
    quic: SocketAddr,
    https: SocketAddr,
    _folder: tempfile::TempDir,
}

fn start_with(years: (i32, i32)) -> Encrypted {
    let folder = tempfile::tempdir().expect("a folder");
    let certificate = certificate(folder.path(), "own", years);
    let any = "[\"127.0.0.1:0\"]";
    let text = format!(
        "[tls]\ncertificate = {:?}\nkey = {:?}\ndot = {any}\ndoq = {any}\ndoh = {any}\n",
        certificate.chain, certificate.key
    );
    std::fs::write(folder.path().join("tenured.toml"), text).expect("the configuration");
    let server = Server::start(folder.path(), &["--zones", &sample_zones().display().to_string()]);
    let address = |word: &str| {
        let line = server.greeting.iter().find(|line| line.split_whitespace().next() == Some(word));
        let line = line.unwrap_or_else(|| panic!("no {word} in {:?}", server.greeting));
        line.split_whitespace().nth(1).and_then(|address| address.parse().ok()).expect("an address")
    };
    let (tls, quic, https) = (address("tls"), address("quic"), address("https"));
    Encrypted { server, certificate, tls, quic, https, _folder: folder }
}

fn start() -> Encrypted {
    start_with((2020, 2100))
}

impl Encrypted {
    fn ask(&self, carrier: Carrier, octets: &[u8]) -> Became {
        let server = match carrier {
            Carrier::Tcp => self.server.dns,
            Carrier::Tls => self.tls,
            Carrier::Quic => self.quic,
            Carrier::Get | Carrier::Post => self.https,
        };
        let (pem, octets) = (self.certificate.pem.clone(), octets.to_vec());
        run(async move { exchange(carrier, server, &pem, &octets).await })
    }
}

const NAME: &[u8] = b"\x07example\x03com\0";
const OPT: &[u8] = b"\0\0\x29\x04\xd0\0\0\0\0\0\0";

/// A message with id 0, as QUIC wants it: flags, counts, and what is behind the header.
fn message(flags: [u8; 2], counts: [u8; 4], rest: &[&[u8]]) -> Vec<u8> {
    let [question, answer, authority, additional] = counts;
    let head = [0, 0, flags[0], flags[1], 0, question, 0, answer, 0, authority, 0, additional];
    [&head[..], &rest.concat()].concat()
}

fn question(name: &[u8], rtype: u8, class: u8) -> Vec<u8> {
    [name, &[0, rtype, 0, class]].concat()
}

fn plain(name: &[u8], rtype: u8, class: u8) -> Vec<u8> {
    message([0, 0], [1, 0, 0, 1], &[&question(name, rtype, class), OPT])
}

/// Each operation that a gate could forget, with the code that it gets.
fn operations() -> Vec<(&'static str, Vec<u8>, u8)> {
    let soa = question(NAME, 6, 1);
    let ixfr =
        [NAME, &[0, 6, 0, 1, 0, 0, 0, 0, 0, 22, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]];
    let tsig = b"\x03key\0\0\xfa\0\xff\0\0\0\0\0\x1a\x08hmac-md5\0\0\0\0\0\0\0\x01\x2c\0\0\0\0\0\0\0\0";
    let tsig_query = message([0, 0], [1, 0, 0, 1], &[&soa, tsig]);
    let add = [NAME, &[0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 66]].concat();
    vec![
        ("a query", plain(NAME, 1, 1), 0),
        ("a query without OPT", message([1, 0], [1, 0, 0, 0], &[&soa]), 0),
        ("a large answer", plain(b"\x03big\x07example\x03com\0", 16, 1), 3),
        ("a name that is not there", plain(b"\x04none\x07example\x03com\0", 1, 1), 3),
        ("a zone that is not ours", plain(b"\x07example\x03org\0", 1, 1), 5),
        ("ANY", plain(NAME, 255, 1), 0),
        ("AXFR", plain(NAME, 252, 1), 5),
        ("IXFR", message([0, 0], [1, 0, 1, 0], &[&question(NAME, 251, 1), &ixfr.concat()]), 5),
        ("NOTIFY", message([0x20, 0], [1, 0, 0, 0], &[&soa]), 5),
        ("UPDATE", message([0x28, 0], [1, 0, 1, 0], &[&soa, &add]), 5),
        ("an opcode that there is not", message([0x30, 0], [1, 0, 0, 0], &[&soa]), 4),
        ("STATUS", message([0x10, 0], [1, 0, 0, 0], &[&soa]), 4),
        ("an unknown TSIG", tsig_query, 9),
        ("TKEY", plain(NAME, 249, 1), 1),
        ("CHAOS", plain(b"\x07version\x06server\0", 16, 3), 5),
        ("another class", plain(NAME, 1, 4), 5),
        ("two questions", message([0, 0], [2, 0, 0, 0], &[&soa, &soa]), 1),
        ("no question", message([0, 0], [0, 0, 0, 0], &[]), 1),
        ("a message that is cut", message([0, 0], [1, 0, 0, 0], &[&soa[..5]]), 1),
        ("counts that lie", message([0, 0], [1, 255, 255, 255], &[&soa]), 1),
        ("a higher version of EDNS", message([0, 0], [1, 0, 0, 1], &[&soa, b"\0\0\x29\x04\xd0\0\x01\0\0\0\0"]), 0),
    ]
}

#[test]
fn each_operation_gets_the_same_octets_over_each_transport() {
    let encrypted = start();
    let mut asked = 0;
    for (what, octets, code) in operations() {
        let tcp = encrypted.ask(Carrier::Tcp, &octets);
        let Became::Reply(reply) = &tcp else { panic!("{what}: {tcp:?}") };
        assert_eq!(reply[3] & 15, code, "{what}");
        for carrier in [Carrier::Tls, Carrier::Quic, Carrier::Get, Carrier::Post] {
            assert_eq!(encrypted.ask(carrier, &octets), tcp, "{what} over {carrier:?}");
            asked += 1;
        }
    }
    assert_eq!(asked, operations().len() * 4);
    let metrics = encrypted.server.metrics();
    for word in ["tcp", "tls", "quic", "https"] {
        assert!(
            metrics.contains(&format!("tenured_dns_responses_total{{transport=\"{word}\",rcode=\"REFUSED\"}}")),
            "{word}"
        );
    }
}

#[test]
fn a_reply_as_input_gets_none() {
    let encrypted = start();
    let reply = message([0x80, 0], [1, 0, 0, 0], &[&question(NAME, 1, 1)]);
    assert_eq!(encrypted.ask(Carrier::Tcp, &reply), Became::Ended);
    assert_eq!(encrypted.ask(Carrier::Tls, &reply), Became::Ended);
    assert_eq!(encrypted.ask(Carrier::Quic, &reply), Became::Ended);
    assert_eq!(encrypted.ask(Carrier::Get, &reply), Became::Status(400));
}

#[test]
fn replies_are_padded_for_who_pads_and_never_over_tcp() {
    let encrypted = start();
    let padded = b"\0\0\x29\x04\xd0\0\0\0\0\0\x06\0\x0c\0\x02\0\0";
    let query = message([0, 0], [1, 0, 0, 1], &[&question(NAME, 6, 1), padded]);
    for carrier in [Carrier::Tls, Carrier::Quic, Carrier::Get, Carrier::Post] {
        let Became::Reply(reply) = encrypted.ask(carrier, &query) else { panic!("{carrier:?}") };
        assert_eq!(reply.len() % 468, 0, "{carrier:?}");
    }
    let Became::Reply(reply) = encrypted.ask(Carrier::Tcp, &query) else { panic!("no reply") };
    assert_ne!(reply.len() % 468, 0);
}

#[test]
fn quic_holds_its_clients_to_the_protocol_and_bounds_them() {
    let encrypted = start();
    let (server, pem) = (encrypted.quic, encrypted.certificate.pem.clone());
    run(async move {
        let client = Client::trusting(&pem, b"doq");
        let good = plain(NAME, 1, 1);
        let mut with_id = good.clone();
        with_id[1] = 1;
        let keepalive = b"\0\0\x29\x04\xd0\0\0\0\0\0\x04\0\x0b\0\0";
        let keepalive = message([0, 0], [1, 0, 0, 1], &[&question(NAME, 1, 1), keepalive]);
        for (what, octets) in [
            ("an id", framed(&with_id)),
            ("keepalive", framed(&keepalive)),
            ("two queries", [framed(&good), framed(&good)].concat()),
            ("a length that lies", [&[0, 200][..], &good].concat()),
            ("nothing", vec![]),
        ] {
            let (_endpoint, connection) = client.dial(server).await;
            assert_eq!(quic_stream(&connection, &octets).await, Became::Closed(2), "{what}");
        }
        // Streams of one octet are held for a time, and others are served meanwhile.
        let (_endpoint, slow) = client.dial(server).await;
        let mut held = Vec::new();
        for _ in 0..100 {
            let (mut send, receive) = slow.open_bi().await.expect("a stream");
            send.write_all(&[0]).await.expect("an octet");
            held.push((send, receive));
        }
        let more = tokio::time::timeout(Duration::from_millis(300), slow.open_bi()).await;
        assert!(more.is_err(), "a connection has at most 100 streams at a time");
        let (_endpoint, other) = client.dial(server).await;
        assert!(matches!(quic_stream(&other, &framed(&good)).await, Became::Reply(_)));
        for (_send, mut receive) in held {
            assert!(receive.read_to_end(10).await.is_err(), "a stream that stays unfinished ends");
        }
        // Many streams at once, some of them given up by the client.
        let mut all = tokio::task::JoinSet::new();
        for number in 0..500 {
            let (connection, good) = (other.clone(), good.clone());
            all.spawn(async move {
                if number % 3 == 0 {
                    let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
                    send.write_all(&framed(&good)).await.expect("a query");
                    let _ = receive.stop(3_u32.into());
                    let _ = send.reset(3_u32.into());
                } else {
                    assert!(matches!(quic_stream(&connection, &framed(&good)).await, Became::Reply(_)), "{number}");
                }
            });
        }
        while let Some(done) = all.join_next().await {
            done.expect("no panic");
        }
    });
}

#[test]
fn https_says_how_long_a_reply_may_be_kept_and_refuses_what_it_cannot_read() {
    let encrypted = start();
    let (server, pem) = (encrypted.https, encrypted.certificate.pem.clone());
    run(async move {
        let get = |query: &str| format!("GET /dns-query{query} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
        let dns = |octets: &[u8]| format!("?dns={}", super::client::base64url(octets));
        let (head, became) = http(&pem, server, &get(&dns(&plain(NAME, 6, 1)))).await;
        assert!(matches!(became, Became::Reply(_)));
        assert!(head.contains("content-type: application/dns-message"), "{head}");
        assert!(head.contains("cache-control: max-age=3600"), "{head}");
        let (head, _) = http(&pem, server, &get(&dns(&plain(b"\x04none\x07example\x03com\0", 1, 1)))).await;
        assert!(head.contains("cache-control: max-age=300"), "the SOA's TTL: {head}");
        let (head, became) = http(&pem, server, &get(&dns(&plain(NAME, 252, 1)))).await;
        assert!(matches!(became, Became::Reply(_)) && head.contains("max-age=0"), "a refusal is a 200: {head}");
        for (request, status) in [
            (get(""), 400),
            (get("?dns=A"), 400),
            (get(&format!("?dns={}", "A".repeat(5_000))), 414),
            (b"PUT /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".to_vec(), 405),
            (
                b"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"
                    .to_vec(),
                415,
            ),
            (b"GET /v1/zones HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), 404),
        ] {
            assert_eq!(
                http(&pem, server, &request).await.1,
                Became::Status(status),
                "{}",
                String::from_utf8_lossy(&request[..60.min(request.len())])
            );
        }
        let head = "POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Type: application/dns-message\r\nContent-Length: 65536\r\n\r\n";
        assert_eq!(http(&pem, server, head.as_bytes()).await.1, Became::Status(413));
    });
}

#[test]
fn a_connection_that_is_given_up_in_the_handshake_harms_nobody() {
    let encrypted = start();
    let (tls, https) = (encrypted.tls, encrypted.https);
    // A client's first flight, cut at each octet of its beginning, and garbage.
    let hello = b"\x16\x03\x01\x00\x30\x01\x00\x00\x2c\x03\x03";
    for server in [tls, https] {
        run(async move {
            for cut in 0..=hello.len() {
                let mut stream = tokio::net::TcpStream::connect(server).await.expect("a connection");
                stream.write_all(&hello[..cut]).await.expect("octets");
                drop(stream);
            }
            let mut stream = tokio::net::TcpStream::connect(server).await.expect("a connection");
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("octets");
            let mut read = Vec::new();
            // An alert, and the end.
            let _ = tokio::time::timeout(Duration::from_secs(8), stream.read_to_end(&mut read)).await.expect("an end");
        });
    }
    let octets = plain(NAME, 1, 1);
    for carrier in [Carrier::Tls, Carrier::Get] {
        assert!(matches!(encrypted.ask(carrier, &octets), Became::Reply(_)), "{carrier:?}");
    }
}

fn replace(folder: &Path, years: (i32, i32)) -> Certificate {
    let made = certificate(folder, "next", years);
    std::fs::rename(&made.key, folder.join("own.key")).expect("the key");
    std::fs::rename(&made.chain, folder.join("own.pem")).expect("the chain");
    made
}

#[test]
fn an_expired_certificate_is_an_alarm_and_its_successor_needs_no_restart() {
    let encrypted = start_with((2019, 2020));
    let connect = |pem: &str| {
        let (client, server) = (Client::trusting(pem, b"dot"), encrypted.tls);
        run(async move { client.connect(server).await.map(|_| ()) })
    };
    let error = connect(&encrypted.certificate.pem).expect_err("it is over");
    assert!(is_expired(&error), "{error}");
    eventually(10, "the alarm", || encrypted.server.ready(), |text| text.contains("[!] certificate_expiry: "));
    assert!(encrypted.server.ready().contains("no restart is needed"));
    assert_eq!(encrypted.server.ask("example.com", "A").rcode, "NOERROR", "plain DNS goes on");
    let next = replace(encrypted._folder.path(), (2020, 2100));
    eventually(20, "the new certificate", || connect(&next.pem).is_ok(), |done| *done);
    eventually(10, "no alarm", || encrypted.server.ready(), |text| !text.contains("certificate_expiry"));
    // A broken file leaves the one that was read.
    std::fs::write(encrypted._folder.path().join("own.pem"), "nothing").expect("a file");
    eventually(10, "an alarm", || encrypted.server.ready(), |text| text.contains("[!] certificate_files: "));
    assert!(connect(&next.pem).is_ok());
    std::fs::write(encrypted._folder.path().join("own.pem"), &next.pem).expect("a file");
    eventually(10, "no alarm", || encrypted.server.ready(), |text| !text.contains("certificate_files"));
}
