//! The first thing a new user does: serve the sample zones and ask for them.

use super::dns::{Over, ask};
use super::server::{Server, sample_zones};

fn sample_server(folder: &std::path::Path) -> Server {
    let zones = sample_zones();
    Server::start(folder, &["--zones", zones.to_str().expect("text")])
}

#[test]
fn the_sample_zones_are_served_with_the_apex_flattened() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = sample_server(folder.path());
    assert_eq!(server.ask_both("example.com", "A").data(), ["192.0.2.80", "192.0.2.81"]);
    assert_eq!(server.ask_both("example.com", "AAAA").data(), ["2001:db8::80"]);
    assert_eq!(server.ask_both("anything.apps.example.com", "A").data(), ["192.0.2.100"]);
    assert_eq!(server.ask_both("nothing.example.com", "A").rcode, "NXDOMAIN");
    assert_eq!(server.ask_both("host.lab.example.com", "A").answer, Vec::<String>::new());
    assert_eq!(server.ask_both("example.org", "A").rcode, "REFUSED");
    assert_eq!(server.ask_both("53.2.0.192.in-addr.arpa", "PTR").rcode, "NOERROR");
    assert!(
        server.greeting.iter().any(|line| line.starts_with("zones") && line.contains('4')),
        "{:?}",
        server.greeting
    );
}

#[test]
fn a_second_start_serves_the_store_and_overwrites_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = sample_server(folder.path());
    let serial = server.ask("example.com", "SOA").answer;
    let set = server.command(&["record", "set", "new.example.com", "A", "192.0.2.200"]);
    assert!(set.status.success(), "{set:?}");
    assert_eq!(server.terminate(), Some(0));
    let server = sample_server(folder.path());
    assert_eq!(server.ask("new.example.com", "A").data(), ["192.0.2.200"]);
    assert_ne!(server.ask("example.com", "SOA").answer, serial);
    server.kill();
    let server = sample_server(folder.path());
    assert_eq!(server.ask("new.example.com", "A").data(), ["192.0.2.200"]);
}

#[test]
fn a_second_process_on_the_same_store_ends_with_a_sentence_that_names_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let error = Server::try_start(folder.path(), &[]).err().expect("a refusal");
    assert!(error.contains(&server.id().to_string()), "{error}");
    assert!(error.contains("tenured.db"), "{error}");
}

#[test]
fn a_faulty_zone_file_is_left_out_with_its_errors_and_the_others_are_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let zones = folder.path().join("zones");
    std::fs::create_dir(&zones).expect("a folder");
    let good = "@ 300 IN SOA ns hostmaster 1 7200 900 1209600 300\n@ 300 NS ns\nns 300 A 192.0.2.1\n";
    std::fs::write(zones.join("good.test.zone"), good).expect("a file");
    std::fs::write(zones.join("bad.test.zone"), format!("{good}www 300 A 192.0.2.999\n")).expect("a file");
    let server = Server::start(folder.path(), &["--zones", "zones"]);
    assert_eq!(server.ask("ns.good.test", "A").data(), ["192.0.2.1"]);
    assert_eq!(server.ask("ns.bad.test", "A").rcode, "REFUSED");
    assert!(server.greeting.join("\n").contains("bad.test.zone:4"), "{:?}", server.greeting);
}

#[test]
fn several_messages_go_over_one_tcp_connection_and_junk_gets_no_answer() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().expect("a folder");
    let server = sample_server(folder.path());
    let mut stream = std::net::TcpStream::connect(server.dns).expect("a connection");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("a time-out");
    let mut octets = Vec::new();
    for name in ["example.com", "www.example.com", "mail.example.com"] {
        let query = super::dns::query(name, "A");
        octets.extend_from_slice(&(query.len() as u16).to_be_bytes());
        octets.extend_from_slice(&query);
    }
    stream.write_all(&octets).expect("room");
    for _ in 0..3 {
        let mut length = [0; 2];
        stream.read_exact(&mut length).expect("a length");
        let mut reply = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut reply).expect("a reply");
        assert_eq!(reply[3] & 15, 0);
    }
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server.dns).expect("an address");
    let mut response = super::dns::query("example.com", "A");
    response[2] |= 0x80;
    socket.send(&response).expect("sent");
    socket.send(&[0; 11]).expect("sent");
    // A query behind them is answered first and alone, so neither was.
    let query = super::dns::query("example.com", "A");
    socket.send(&query).expect("sent");
    let mut buffer = [0; 2048];
    socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("a time-out");
    socket.recv(&mut buffer).expect("a reply");
    assert_eq!(buffer[..2], query[..2]);
    assert_eq!(ask(server.dns, Over::Udp, "example.com", "A").rcode, "NOERROR");
}
