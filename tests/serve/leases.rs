//! Leases on the real binary: its scheduler runs by the clock of the system.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::Server;

/// Asks until it is so; far beyond the time that it takes.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::yield_now();
    }
}

#[test]
fn an_owner_that_stays_away_is_listed_and_then_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    for owner in ["away", "listed"] {
        let path = format!("/v1/owners/{owner}/records/{owner}.example.com./A");
        assert_eq!(server.api("PUT", &path, Some(json!({"values": ["192.0.2.1"]}))).0, 200);
    }
    let lease = |policy: &str| Some(json!({"leaseSeconds": 1, "onExpiry": policy, "graceSeconds": 0}));
    let (status, body) = server.api("PUT", "/v1/owners/away", lease("delete"));
    assert_eq!((status, body["lease"]["onExpiry"].as_str()), (200, Some("delete")), "{body}");
    assert_eq!(server.api("PUT", "/v1/owners/listed", lease("report")).0, 200);
    until("the end of the lease", || server.ask("away.example.com", "A").rcode == "NXDOMAIN");
    until("the list", || {
        let (_, list) = server.api("GET", "/v1/owners?state=expired", None);
        list["items"].as_array().is_some_and(|items| items.iter().any(|one| one["id"] == "listed"))
    });
    assert_eq!(server.ask_both("listed.example.com", "A").data(), ["192.0.2.1"]);
    let (_, changes) = server.api("GET", "/v1/changes?name=away.example.com.", None);
    assert_eq!(changes["items"][1]["actor"], "system:tenured", "{changes}");

    let renewed = server.command(&["owner", "renew", "listed", "nobody", "-o", "json"]);
    let shown: Value = serde_json::from_slice(&renewed.stdout).expect("JSON");
    assert_eq!((shown["renewed"][0]["owner"].as_str(), shown["unknown"][0].as_str()), (Some("listed"), Some("nobody")));
    assert_eq!(server.api("PUT", "/v1/owners/listed", Some(json!({"onExpiry": "never"}))).0, 400);
}
