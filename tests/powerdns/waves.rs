//! Incident A behind a controller that knows no owners: it loses a delete with a restart, and its next wave finds the
//! record that nobody wants any more.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::door::{Client, delete, replace};
use super::service::Service;

const MINUTE: u64 = 60_000;

fn orphans(service: &Service) -> Vec<String> {
    let (status, list) = service.api("GET", "/v1/orphans?reason=ownerUnconfirmed&owner=pdns%3Adns-operator", None);
    assert_eq!(status, 200, "{list}");
    let items = list["items"].as_array().expect("items");
    items
        .iter()
        .map(|row| format!("{} {}", row["name"].as_str().expect("a name"), row["type"].as_str().expect("it")))
        .collect()
}

/// Asks until the server, which looks at its clock once a second, has seen what time it is.
fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

/// The requests with which the controller asserts its record sets, one RRset each.
fn assert_all(client: &Client<'_>, names: &[&str]) {
    for name in names {
        client.patched(json!([replace(name, "ALIAS", &["edge.example.net."])]));
    }
}

#[test]
fn a_record_whose_delete_was_lost_is_listed_when_the_wave_is_over() {
    let service = Service::start();
    let client = Client::of(&service, "dns-operator");
    client.zone();
    let all = ["www.example.com.", "shop.example.com.", "api.example.com.", "bad.example.com."];
    assert_all(&client, &all);
    client.patched(json!([replace("dropped.example.com.", "A", &["192.0.2.1"])]));
    let serial = client.serial();
    let revision = || service.api("GET", "/v1/records?name=shop.example.com.", None).1["items"][0]["revision"].clone();
    let before = revision();

    // A day later `www` is gone from its record set, and the controller is killed before it has sent the delete. It starts
    // again and sends what is left, one of it with a content that is refused.
    service.clock.advance(24 * 60 * MINUTE);
    assert_eq!(orphans(&service), Vec::<String>::new(), "no wave, no suspicion");
    assert_all(&client, &["shop.example.com.", "api.example.com."]);
    let mut bad = replace("bad.example.com.", "ALIAS", &["edge"]);
    bad["ttl"] = json!(300);
    assert_eq!(client.patch(json!([bad])).status, 422);
    // They are written some seconds after the first; the clock stands still until they are, or the wave would be over.
    service.clock.advance(10_000);
    until("assertions are seen", || {
        let asserted =
            service.api("GET", "/v1/records?name=api.example.com.", None).1["items"][0]["assertedAt"].clone();
        asserted == "2026-12-01T12:00:00Z" || asserted.as_str().is_some_and(|at| at > "2026-12-01T12:00:00Z")
    });
    assert_eq!(orphans(&service), Vec::<String>::new(), "the wave goes on");
    service.clock.advance(11 * MINUTE);
    until("the wave is over", || !orphans(&service).is_empty());
    assert_eq!(orphans(&service), ["dropped.example.com. A", "www.example.com. ALIAS"]);
    let names = ["SOA", "ALIAS"].map(|rtype| client.contents("shop.example.com.", rtype).len());
    assert_eq!(names, [0, 1], "live records are untouched");
    assert_eq!((client.serial(), revision()), (serial, before), "nothing that is served changed");

    // Whoever asks for it again takes it off the list; the rest is for a sweep.
    client.patched(json!([replace("dropped.example.com.", "A", &["192.0.2.1"])]));
    service.clock.advance(10_000);
    until("an assertion clears the mark", || orphans(&service) == ["www.example.com. ALIAS"]);
    let (_, told) = service.api("GET", "/v1/explain?name=www.example.com.&type=A", None);
    assert!(told["verdict"].as_str().is_some_and(|text| text.contains("ownerUnconfirmed")), "{told}");
    client.patched(json!([delete("www.example.com.", "ALIAS")]));
    assert_eq!(orphans(&service), Vec::<String>::new());
    assert!(client.serial() > serial, "the sweep is a change");
}

#[test]
fn fifty_thousand_identical_requests_change_nothing() {
    let service = Service::start();
    let client = Client::of(&service, "dns-operator");
    client.zone();
    let rrsets: Vec<Value> =
        (0..500).map(|number| replace(&format!("h{number}.example.com."), "A", &["192.0.2.1"])).collect();
    client.patched(json!(rrsets));
    let state = || {
        let (_, zones) = service.api("GET", "/v1/zones/example.com.", None);
        let (_, changes) = service.api("GET", "/v1/changes?since=0", None);
        (client.serial(), zones["revision"].clone(), changes["items"].as_array().map(Vec::len))
    };
    let before = state();
    for _ in 0..100 {
        let reply = client.patched(json!(rrsets));
        assert_eq!(reply.header("x-pdns-new-serial"), None);
    }
    assert_eq!(state(), before);
}
