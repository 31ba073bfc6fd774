//! An empty set by accident: nothing goes away until somebody says so (ownership.md section 7, scenario 7).

use serde_json::{Value, json};

use super::server::Server;

#[test]
fn an_empty_set_by_accident_is_held_and_served_until_it_is_approved() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let records: Vec<Value> = (0..30)
        .map(|number| json!({"name": format!("h{number}.example.com."), "type": "A", "values": ["192.0.2.1"]}))
        .collect();
    let path = "/v1/owners/team-a/records";
    assert_eq!(server.api("PUT", path, Some(json!({"records": records}))).0, 200);
    let (status, body) = server.api("PUT", path, Some(json!({"records": []})));
    assert_eq!((status, body["summary"]["held"].as_u64()), (207, Some(30)), "{body}");
    assert_eq!(server.ask_both("h7.example.com", "A").data(), ["192.0.2.1"]);

    let (_, holds) = server.api("GET", "/v1/holds", None);
    let hold = &holds["items"][0];
    assert_eq!((hold["owner"].as_str(), hold["claims"].as_u64()), (Some("team-a"), Some(30)), "{holds}");
    assert_eq!(hold["deletes"][0], json!({"name": "h0.example.com.", "type": "A"}));
    let id = hold["id"].as_str().expect("an id").to_owned();
    let output = server.command(&["hold", "list", "-o", "name"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), id);

    assert!(server.command(&["hold", "discard", &id]).status.success());
    assert_eq!(server.command(&["hold", "approve", &id]).status.code(), Some(3), "it is gone");
    assert_eq!(server.api("PUT", path, Some(json!({"records": []}))).0, 207);
    let (_, holds) = server.api("GET", "/v1/holds?owner=team-a", None);
    let id = holds["items"][0]["id"].as_str().expect("an id").to_owned();
    let (status, body) = server.api("POST", &format!("/v1/holds/{id}/approve"), None);
    assert_eq!((status, body["summary"]["deleted"].as_u64()), (200, Some(30)), "{body}");
    assert_eq!(server.ask_both("h7.example.com", "A").rcode, "NXDOMAIN");
    assert_eq!(server.api("GET", "/v1/holds", None).1["items"], json!([]));
}
