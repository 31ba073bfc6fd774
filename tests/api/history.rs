//! The history: as lines, as events that go on, reverted, and no longer than its limits.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::service::Service;

fn put(service: &Service, owner: &str, name: &str, address: &str) -> u64 {
    let body = json!({"values": [address]}).to_string();
    let (status, report) = service.api("PUT", &format!("/v1/owners/{owner}/records/{name}/A"), Some(&body));
    assert_eq!(status, 200, "{report}");
    report["revision"].as_u64().expect("a revision")
}

fn address(service: &Service, name: &str) -> Value {
    let (_, list) = service.api("GET", &format!("/v1/records?name={name}&state=held"), None);
    list["items"][0]["values"][0].clone()
}

#[test]
fn lines_are_the_rows_of_the_list() {
    let service = Service::with_zone();
    for at in 0..5 {
        put(&service, "team-a", "www.example.com", &format!("192.0.2.{at}"));
    }
    let (_, list) = service.api("GET", "/v1/changes", None);
    let token = service.token();
    let (head, text) = service.raw(Some(&token), "GET", "/v1/changes", &[("accept", "application/x-ndjson")], b"");
    assert!(head.contains("application/x-ndjson"), "{head}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(json!(lines), list["items"]);
}

/// An event stream: the lines it sends.
fn events(service: &Service, query: &str, last: Option<&str>) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(service.http).expect("a connection");
    let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
    let token = service.token();
    let request = format!(
        "GET /v1/changes{query} HTTP/1.1\r\nhost: t\r\naccept: text/event-stream\r\nauthorization: Bearer {token}\r\n{last}\r\n"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    BufReader::new(stream).lines().map_while(Result::ok)
}

fn data(lines: &mut impl Iterator<Item = String>) -> Value {
    let line = lines.find(|line| line.starts_with("data: ")).expect("an event");
    serde_json::from_str(&line["data: ".len()..]).expect("JSON")
}

#[test]
fn events_come_as_changes_do_and_go_on_from_the_last_one() {
    let service = Service::with_zone();
    let since = put(&service, "team-a", "a.example.com", "192.0.2.1");
    let mut lines = events(&service, &format!("?since={since}"), None);
    assert!(lines.any(|line| line.contains("text/event-stream")));
    let second = put(&service, "team-a", "b.example.com", "192.0.2.2");
    let id = lines.find(|line| line.starts_with("id: ")).expect("an id");
    assert_eq!(data(&mut lines)["name"], "b.example.com.");
    assert_eq!(id, format!("id: {second}.1"));
    drop(lines);
    put(&service, "team-a", "c.example.com", "192.0.2.3");
    put(&service, "team-b", "d.example.com", "192.0.2.4");
    let mut resumed = events(&service, "", Some(&id["id: ".len()..]));
    assert_eq!(data(&mut resumed)["name"], "c.example.com.");
    let mut of_b = events(&service, "?name=d.example.com", Some(&since.to_string()));
    assert_eq!(data(&mut of_b)["owner"], "team-b");
    let token = service.token();
    let headers = [("accept", "text/event-stream"), ("last-event-id", "x")];
    let (head, _) = service.raw(Some(&token), "GET", "/v1/changes", &headers, b"");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
}

#[test]
fn the_history_ends_at_its_limit_and_says_so() {
    let service = Service::with_zone();
    let old = put(&service, "team-a", "www.example.com", "192.0.2.1");
    service.clock.advance(90 * 24 * 3_600_000 + 1_000);
    put(&service, "team-a", "www.example.com", "192.0.2.2");
    let (_, list) = service.api("GET", "/v1/changes", None);
    let rows = list["items"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "{list}");
    let (status, problem) = service.api("GET", "/v1/changes?since=0", None);
    assert_eq!((status, &problem["code"]), (410, &json!("compacted")), "{problem}");
    assert!(problem["detail"].as_str().expect("a detail").contains(&format!("revision {}", old + 1)), "{problem}");
    assert_eq!(service.api("GET", &format!("/v1/changes?since={old}"), None).0, 200);
    assert_eq!(service.api("POST", &format!("/v1/changes/{old}/revert"), None).0, 410);
}

#[test]
fn a_revert_puts_back_what_was() {
    let service = Service::with_zone();
    let made = put(&service, "team-a", "www.example.com", "192.0.2.1");
    let changed = put(&service, "team-a", "www.example.com", "192.0.2.2");
    let revert =
        |revision: u64, query: &str| service.api("POST", &format!("/v1/changes/{revision}/revert{query}"), None);
    assert_eq!(revert(changed, "?dryRun=true").0, 200);
    assert_eq!(address(&service, "www.example.com"), "192.0.2.2", "a dry run does nothing");
    let (status, report) = revert(changed, "");
    assert_eq!((status, &report["results"][0]["outcome"]), (200, &json!("updated")), "{report}");
    assert_eq!(address(&service, "www.example.com"), "192.0.2.1");
    let (_, report) = revert(made, "");
    assert_eq!(report["results"][0]["outcome"], "deleted", "{report}");
    let (status, deleted) = service.api("DELETE", "/v1/owners/team-a?cascade=true", None);
    assert_eq!(status, 200, "{deleted}");
    assert_eq!(revert(999, "").0, 404);
    assert_eq!(revert(1, "").0, 400, "a zone is not undone");
}

#[test]
fn a_deleted_tree_comes_back_with_its_records_unless_others_hold_them() {
    let service = Service::with_zone();
    put(&service, "team-a", "a.example.com", "192.0.2.1");
    let body = json!({"parent": "team-a", "kind": "Gateway",
        "records": [{"name": "b.example.com", "type": "A", "ttl": 60, "values": ["192.0.2.2"], "labels": {"x": "y"}}]});
    assert_eq!(service.api("PUT", "/v1/owners/web/records", Some(&body.to_string())).0, 200);
    let delete = || {
        let (status, report) = service.api("DELETE", "/v1/owners/team-a?cascade=true", None);
        assert_eq!(status, 200, "{report}");
        report["revision"].as_u64().expect("a revision")
    };
    let (_, before) = service.api("GET", "/v1/records?name=b.example.com", None);
    let path = format!("/v1/changes/{}/revert", delete());
    let (status, report) = service.api("POST", &path, None);
    assert_eq!((status, &report["summary"]["created"]), (200, &json!(2)), "{report}");
    let (_, after) = service.api("GET", "/v1/records?name=b.example.com", None);
    for key in ["ttl", "values", "labels", "owner"] {
        assert_eq!(before["items"][0][key], after["items"][0][key], "{key}");
    }
    let (_, owner) = service.api("GET", "/v1/owners/web", None);
    assert_eq!((&owner["parents"], &owner["kind"]), (&json!(["team-a"]), &json!("Gateway")));
    let path = format!("/v1/changes/{}/revert", delete());
    let of_b = put(&service, "team-b", "b.example.com", "192.0.2.9");
    let (status, problem) = service.api("POST", &path, None);
    assert_eq!((status, &problem["holder"]["owner"]), (409, &json!("team-b")), "{problem}");
    assert_eq!(service.api("GET", "/v1/records?name=a.example.com", None).1["items"], json!([]), "all or nothing");
    let reader = service.make_token("owner", Some("team-c"));
    let path = format!("/v1/changes/{of_b}/revert");
    assert_eq!(
        service.api_as(Some(&reader), "POST", &path, None).0,
        403,
        "who may not write for the owner may not undo"
    );
}
