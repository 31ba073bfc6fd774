//! `tenured migrate` against a scripted server that speaks PowerDNS's API, with what real ones have in their databases.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};

use serde_json::Value;

use super::{Ran, Service, ask};

/// A server that gives these bodies for these paths below `/api/v1/servers/localhost`, and 404 for others.
fn scripted(answers: Vec<(&'static str, &'static str)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines().map_while(Result::ok);
            let Some(request) = lines.next() else { continue };
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let below = path.strip_prefix("/api/v1/servers/localhost").unwrap_or("?");
            let known = head.iter().any(|line| line.eq_ignore_ascii_case("x-api-key: secret"));
            let body = answers.iter().find(|(path, _)| *path == below).map(|(_, body)| *body);
            let (status, body) = match (known, body) {
                (false, _) => ("401 Unauthorized", "Unauthorized"),
                (true, None) => ("404 Not Found", "Not Found"),
                (true, Some(body)) => ("200 OK", body),
            };
            let length = body.len();
            let reply = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(reply.as_bytes()).expect("a reader");
        }
    });
    address
}

/// A DNS server that answers everything with a code and nothing else.
fn answering(rcode: u8) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let mut reply = buffer[..length].to_vec();
            (reply[2], reply[3]) = (0x84, rcode);
            let _ = socket.send_to(&reply, from);
        }
    });
    address
}

const ZONES: &str = r#"[
  {"id": "example.com.", "name": "example.com.", "kind": "Native", "dnssec": false},
  {"id": "signed.example.", "name": "signed.example.", "kind": "Master", "dnssec": true},
  {"id": "copy.example.", "name": "copy.example.", "kind": "Slave", "dnssec": false},
  {"id": "no-soa.example.", "name": "no-soa.example.", "kind": "Native", "dnssec": false},
  {"id": "broken.example.", "name": "broken.example.", "kind": "Native", "dnssec": false}]"#;

const ZONE: &str = r#"{"edited_serial": 2026113009, "rrsets": [
  {"name": "example.com.", "type": "SOA", "ttl": 3600, "records": [{"content": "ns1.example.com. h.example.com. 1 2 3 4 5"}]},
  {"name": "example.com.", "type": "NS", "ttl": 3600, "records": [{"content": "ns1.example.com."}]},
  {"name": "ns1.example.com.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.53"}]},
  {"name": "WWW.example.com.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.1"}, {"content": "192.0.2.1"}]},
  {"name": "relative.example.com.", "type": "CNAME", "ttl": 60, "records": [{"content": "www"}]},
  {"name": "lua.example.com.", "type": "LUA", "ttl": 60, "records": [{"content": "A \"pickrandom({'192.0.2.1'})\""}]},
  {"name": "both.example.com.", "type": "CNAME", "ttl": 60, "records": [{"content": "www.example.com."}]},
  {"name": "both.example.com.", "type": "MX", "ttl": 60, "records": [{"content": "10 www.example.com."}]},
  {"name": "elsewhere.example.net.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.9"}]},
  {"name": "apex.example.com.", "type": "ALIAS", "ttl": 60, "records": [{"content": "web.example.net."}]}]}"#;

const NO_SOA: &str =
    r#"{"rrsets": [{"name": "a.no-soa.example.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.1"}]}]}"#;

fn source() -> SocketAddr {
    scripted(vec![
        ("/zones", ZONES),
        ("/zones/example.com.", ZONE),
        ("/zones/no-soa.example.", NO_SOA),
        ("/zones/broken.example.", "<html>"),
        ("/zones/example.com./metadata", r#"[{"kind": "ALSO-NOTIFY", "metadata": ["192.0.2.54"]}]"#),
    ])
}

fn migrate(service: &Service, source: SocketAddr, key: &str, more: &[&str]) -> Ran {
    let file = service.folder.path().join("key");
    std::fs::write(&file, format!("{key}\n")).expect("a file");
    let (file, from) = (file.display().to_string(), format!("http://{source}"));
    let arguments = ["migrate", "powerdns", "--from", &from, "--key-file", &file, "-o", "json"];
    ask(service, &[&arguments[..], more].concat())
}

fn outcomes(ran: &Ran) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("no report: {ran:?}"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    report["zones"]
        .as_array()
        .expect("zones")
        .iter()
        .map(|zone| (text(&zone["zone"]), text(&zone["outcome"])))
        .collect()
}

fn findings(ran: &Ran) -> Vec<String> {
    let report: Value = serde_json::from_str(&ran.out).expect("a report");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let found = report["findings"].as_array().expect("findings").iter();
    let mut told: Vec<String> =
        found.map(|one| format!("{} {} {}", text(&one["name"]), text(&one["type"]), text(&one["what"]))).collect();
    told.sort();
    told
}

#[test]
fn what_can_be_taken_is_and_the_rest_is_told() {
    let service = Service::start();
    let source = source();
    let dry = migrate(&service, source, "secret", &["--dry-run"]);
    assert_eq!(dry.code, 4, "{dry:?}");
    assert_eq!(service.api("GET", "/v1/zones", None).1["items"], serde_json::json!([]), "a dry run does nothing");
    let ran = migrate(&service, source, "secret", &["--no-compare"]);
    assert_eq!(ran.code, 4, "a part of it was left out: {ran:?}");
    assert_eq!(outcomes(&ran), outcomes(&dry));
    let outcome = |zone: &str, outcome: &str| (zone.to_owned(), outcome.to_owned());
    assert_eq!(
        outcomes(&ran),
        [
            outcome("example.com.", "created"),
            outcome("signed.example.", "leftOut"),
            outcome("copy.example.", "leftOut"),
            outcome("no-soa.example.", "leftOut"),
            outcome("broken.example.", "leftOut"),
        ]
    );
    assert_eq!(
        findings(&ran),
        [
            "both.example.com. MX leftOut",
            "broken.example.  leftOut",
            "copy.example.  leftOut",
            "elsewhere.example.net. A leftOut",
            "example.com.  notTaken",
            "lua.example.com. LUA leftOut",
            "no-soa.example.  leftOut",
            "relative.example.com. CNAME leftOut",
            "signed.example.  leftOut",
        ]
    );
    let (_, zone) = service.api("GET", "/v1/zones/example.com.", None);
    assert_eq!(zone["serial"], 2026113009, "the serial that queries see there");
    let (_, records) = service.api("GET", "/v1/records?zone=example.com.&name=www.example.com.", None);
    assert_eq!(records["items"][0]["values"], serde_json::json!(["192.0.2.1"]), "a repeat is one value");
}

#[test]
fn a_second_run_changes_nothing_and_one_for_an_owner_claims_for_it() {
    let service = Service::start();
    let source = source();
    let more = ["--no-compare", "--owner", "pdns:controller", "--zone", "example.com"];
    let first = migrate(&service, source, "secret", &more);
    assert_eq!(outcomes(&first), [("example.com.".to_owned(), "created".to_owned())], "{first:?}");
    let (_, zone) = service.api("GET", "/v1/zones/example.com.", None);
    assert_eq!(zone["owner"], "pdns:controller");
    let (_, records) = service.api("GET", "/v1/records?zone=example.com.&owner=pdns%3Acontroller", None);
    assert_eq!(records["items"].as_array().expect("records").len(), 6, "{records}");
    let revision = |service: &Service| service.api("GET", "/v1/zones", None).1["revision"].clone();
    let before = revision(&service);
    let second = migrate(&service, source, "secret", &more);
    assert_eq!(outcomes(&second), [("example.com.".to_owned(), "unchanged".to_owned())], "{second:?}");
    assert_eq!(revision(&service), before);
}

#[test]
fn a_difference_that_nothing_explains_is_exit_code_1() {
    let service = Service::start();
    let source = source();
    let (old, new) = (answering(0).to_string(), answering(3).to_string());
    let ran = migrate(&service, source, "secret", &["--old-dns", &old, "--new-dns", &new]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).expect("a report");
    let comparison = &report["comparison"];
    assert!(comparison["unexplained"].as_u64() > Some(0), "{comparison}");
    assert!(comparison["explained"].as_u64() > Some(0), "the Lua record is: {comparison}");
    let same = migrate(&service, source, "secret", &["--old-dns", &new, "--new-dns", &new]);
    assert_eq!(same.code, 4, "equal answers, and a part left out: {same:?}");
}

#[test]
fn a_wrong_key_and_a_server_that_is_not_there_are_told_by_the_exit_code() {
    let service = Service::start();
    let ran = migrate(&service, source(), "wrong", &["--no-compare"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let ran = migrate(&service, closed, "secret", &["--no-compare"]);
    assert_eq!(ran.code, 6, "{ran:?}");
}

#[test]
fn zone_files_of_a_folder_are_taken_and_a_faulty_one_is_left_out() {
    let service = Service::start();
    let folder = service.folder.path().join("files");
    std::fs::create_dir(&folder).expect("a folder");
    let good = "@ 300 IN SOA ns1 hostmaster 7 2 3 4 5\n@ 300 NS ns1\nns1 300 A 192.0.2.1\n";
    std::fs::write(folder.join("db.example.com"), good).expect("a file");
    std::fs::write(folder.join("faulty.example.zone"), "@ 300 IN SOA ns1\n").expect("a file");
    std::fs::write(folder.join("notes.txt"), "no zone").expect("a file");
    let ran = ask(&service, &["-o", "json", "migrate", "zonefiles", &folder.display().to_string(), "--no-compare"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let outcome = |zone: &str, outcome: &str| (zone.to_owned(), outcome.to_owned());
    assert_eq!(outcomes(&ran), [outcome("example.com.", "created"), outcome("faulty.example.", "leftOut")]);
}
