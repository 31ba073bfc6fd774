//! Input that means harm: clear errors, no crash, bounded memory, and answers go on.

use std::io::Write;
use std::net::{TcpStream, UdpSocket};

use serde_json::json;

use super::server::{Server, part, run};

/// Octets of a pseudo-random sequence.
fn noise(mut state: u64) -> impl FnMut() -> u8 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    }
}

/// Resident memory of a process in KiB.
fn resident(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn garbage_on_the_dns_sockets_costs_its_sender_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let before = resident(server.id());
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(server.dns).expect("an address");
    let mut octet = noise(1);
    for round in 0..20_000_usize {
        let length = round % 600;
        let mut packet: Vec<u8> = (0..length).map(|_| octet()).collect();
        if round % 2 == 0 && length > 12 {
            // A plausible header, so that the rest is read.
            packet[2..12].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        }
        // What does not fit into the socket's buffer is dropped, as on a network.
        let _ = socket.send(&packet);
    }
    for round in 0..50_u8 {
        let mut stream = TcpStream::connect(server.dns).expect("a connection");
        let junk: Vec<u8> = (0..2000).map(|_| octet()).collect();
        let _ = stream.write_all(&[round, 255]);
        let _ = stream.write_all(&junk);
    }
    assert_eq!(server.ask_both("example.com", "SOA").rcode, "NOERROR");
    let after = resident(server.id());
    assert!(after < before + 64 * 1024, "{before} KiB before, {after} KiB after");
}

#[test]
fn hostile_names_are_names_or_clear_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let long = "a".repeat(3000);
    let labels = "abcdefg.".repeat(40);
    for zone in
        ["../../etc/passwd", "..", "'; DROP TABLE zone; --", "a..b", &long, &labels, "\u{0}", "%2e%2e", "ex ample"]
    {
        let (status, body) = server.api("PUT", &format!("/v1/zones/{}", part(zone)), Some(json!({})));
        assert!(matches!(status, 201 | 400..=422), "{zone:?}: {status} {body}");
        if status != 201 {
            assert!(body["code"].is_string() && body["detail"].is_string(), "{zone:?}: {status} {body}");
        }
    }
    let owner = "robert'); DROP TABLE claim;--/../\"\\%s\u{1F4A3}";
    for name in [
        "'; DROP TABLE claim; --.example.com.",
        "\\000\\255.example.com.",
        "\"quoted\".example.com.",
        "*.example.com.",
        "a\\.b.example.com.",
        "$ORIGIN.example.com.",
        "@.example.com.",
    ] {
        let path = format!("/v1/owners/{}/records/{}/TXT", part(owner), part(name));
        let (status, body) =
            server.api("PUT", &path, Some(json!({"values": ["<script>alert(1)</script> '; -- \u{1F4A3}"]})));
        assert_eq!(status, 200, "{name}: {body}");
        let reply = server.ask_both(name, "TXT");
        assert_eq!(reply.answer.len(), 1, "{name}: {reply:?}");
    }
    let (_, records) = server.api("GET", &format!("/v1/owners/{}/records", part(owner)), None);
    assert_eq!(records["items"].as_array().map(Vec::len), Some(7), "{records}");
    let (status, _) = server.api("DELETE", &format!("/v1/owners/{}", part(owner)), None);
    assert_eq!(status, 200);
    assert_eq!(server.ask_both("example.com", "SOA").rcode, "NOERROR");
}

#[test]
fn bodies_that_are_too_large_or_no_json_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let before = resident(server.id());
    let (http, token) = (server.http, server.token());
    let statuses = run(async move {
        let client = reqwest::Client::new();
        let put = |path: &str, body: Vec<u8>| {
            let request = client.put(format!("http://{http}{path}")).bearer_auth(&token);
            request.header("content-type", "application/json").body(body).send()
        };
        let records = "/v1/owners/team-a/records";
        let mut statuses = Vec::new();
        for (path, body) in [
            (records, vec![b' '; 100 << 20]),
            ("/v1/zones/example.net.", vec![b' '; 2 << 20]),
            (records, b"{\"records\": [".to_vec()),
            (records, b"{\"records\": [], \"records\": []}".to_vec()),
            (records, b"{\"records\": [], \"recrods\": []}".to_vec()),
            (records, b"{\"records\": [{\"name\": \"\xff\xfe\"}]}".to_vec()),
            (records, [vec![b'['; 100_000], vec![b']'; 100_000]].concat()),
            ("/v1/owners/team-a/records?prnue=true", b"{\"records\": []}".to_vec()),
        ] {
            // The server may close before it has read what it does not want.
            statuses.push(put(path, body).await.map(|response| response.status().as_u16()).unwrap_or(413));
        }
        statuses
    });
    assert_eq!(statuses, [413, 413, 400, 400, 400, 400, 400, 400]);
    assert_eq!(server.ask_both("example.com", "SOA").rcode, "NOERROR");
    let after = resident(server.id());
    assert!(after < before + 256 * 1024, "{before} KiB before, {after} KiB after");
}
