//! Owners over HTTP: apply, change, conflicts with their holder, cascade, dry runs.

use serde_json::{Value, json};

use super::service::{Service, part};

const GATEWAY: &str = "k8s:prod/Gateway/shop/web";

fn records(owner: &str) -> String {
    format!("/v1/owners/{}/records", part(owner))
}

fn held(service: &Service) -> State<'_> {
    let body = r#"{"kind":"Gateway","parent":"k8s:prod","generation":7,"records":[
        {"name":"www.example.com","type":"A","values":["192.0.2.1"]}]}"#;
    let (status, report) = service.api("PUT", &records(GATEWAY), Some(body));
    assert_eq!((status, &report["summary"]["created"]), (200, &json!(1)), "{report}");
    State(service)
}

/// A service in which [`GATEWAY`] holds `www.example.com. A`.
struct State<'a>(&'a Service);

impl State<'_> {
    fn values(&self, name: &str) -> Vec<Value> {
        let (_, list) = self.0.api("GET", &format!("/v1/records?state=held&name={name}"), None);
        list["items"].as_array().expect("items").iter().map(|item| item["values"].clone()).collect()
    }
}

#[test]
fn a_conflict_is_the_items_own_and_names_the_holder() {
    let service = Service::with_zone();
    let state = held(&service);
    let body = r#"{"records":[
        {"name":"WWW.example.com.","type":"a","values":["192.0.2.9"]},
        {"name":"free.example.com.","type":"A","values":["192.0.2.9"]},
        {"name":"bad.example.com.","type":"A","values":["192.0.2"]}]}"#;
    let (status, report) = service.api("PUT", &records("team-b"), Some(body));
    assert_eq!(status, 207, "{report}");
    let results = report["results"].as_array().expect("results");
    let outcome =
        |name: &str| results.iter().find(|item| item["name"].as_str().is_some_and(|one| one.starts_with(name)));
    let conflict = outcome("www").expect("the conflict");
    assert_eq!((&conflict["outcome"], &conflict["code"]), (&json!("conflict"), &json!("owned_by_other")), "{report}");
    assert_eq!(
        conflict["holder"],
        json!({"owner": GATEWAY, "kind": "Gateway", "parents": ["k8s:prod"], "since": "2026-11-30T12:00:00Z"})
    );
    assert_eq!(conflict["actions"], json!(["queue"]));
    assert_eq!(outcome("free").expect("it")["outcome"], "created", "{report}");
    let bad = outcome("bad").expect("it");
    assert_eq!((&bad["outcome"], &bad["code"]), (&json!("invalid"), &json!("invalid_record")), "{report}");
    assert_eq!(state.values("www.example.com"), [json!(["192.0.2.1"])]);

    let (status, problem) = service.api("PUT", &format!("{}?atomic=true", records("team-c")), Some(body));
    assert!(status == 409 || status == 422, "{status} {problem}");
    assert!(problem["results"].as_array().is_some_and(|items| !items.is_empty()), "{problem}");
    assert_eq!(service.api("GET", "/v1/owners/team-c", None).0, 404, "nothing is in effect");

    let one = format!("{}/www.example.com/CNAME", records("team-b"));
    let (status, problem) = service.api("PUT", &one, Some(r#"{"values":["x.example.net."]}"#));
    assert_eq!((status, &problem["code"]), (409, &json!("cname_exclusive")), "{problem}");
    assert_eq!(problem["holder"]["owner"], GATEWAY, "{problem}");
    assert_eq!(problem["record"], json!({"name": "www.example.com", "type": "CNAME"}), "{problem}");
}

#[test]
fn who_queues_is_served_when_the_holder_lets_go() {
    let service = Service::with_zone();
    let state = held(&service);
    let body = r#"{"records":[{"name":"www.example.com.","type":"CNAME","values":["x.example.net."]}]}"#;
    let (status, report) = service.api("PUT", &format!("{}?onConflict=queue", records("team-b")), Some(body));
    assert_eq!((status, &report["results"][0]["outcome"]), (207, &json!("queued")), "{report}");
    let (status, deleted) = service.api("DELETE", &format!("{}/www.example.com./A", records(GATEWAY)), None);
    assert_eq!(status, 200, "{deleted}");
    assert!(deleted.to_string().contains("team-b"), "the promotion is told: {deleted}");
    assert_eq!(state.values("www.example.com"), [json!(["x.example.net."])]);
}

#[test]
fn what_an_owner_no_longer_lists_goes_and_an_old_generation_is_refused() {
    let service = Service::with_zone();
    let state = held(&service);
    let (status, stale) = service.api("PUT", &records(GATEWAY), Some(r#"{"generation":6,"records":[]}"#));
    assert_eq!((status, &stale["code"]), (409, &json!("stale_generation")), "{stale}");
    let (status, report) = service.api("PUT", &records(GATEWAY), Some(r#"{"generation":8,"records":[]}"#));
    assert_eq!((status, &report["summary"]["deleted"]), (200, &json!(1)), "{report}");
    assert_eq!(state.values("www.example.com"), Vec::<Value>::new());
}

#[test]
fn a_dry_run_tells_all_and_does_nothing() {
    let service = Service::with_zone();
    let (_, before) = service.api("GET", "/v1/zones", None);
    let body = r#"{"records":[{"name":"www.example.com","type":"A","values":["192.0.2.1"]}]}"#;
    let (status, report) = service.api("PUT", &format!("{}?dryRun=true", records("team-a")), Some(body));
    assert_eq!((status, &report["dryRun"], &report["summary"]["created"]), (200, &json!(true), &json!(1)), "{report}");
    let (status, report) = service.api("PUT", "/v1/zones/example.net?dryRun=true", None);
    assert_eq!((status, &report["outcome"]), (201, &json!("created")), "{report}");
    let (status, report) = service.api("DELETE", "/v1/zones/example.com?dryRun=true", None);
    assert_eq!(status, 200, "{report}");
    assert_eq!(service.api("GET", "/v1/owners/team-a", None).0, 404);
    assert_eq!(service.api("GET", "/v1/zones", None).1, before);
}

#[test]
fn deleting_an_owner_takes_its_subtree_and_never_fails_twice() {
    let service = Service::with_zone();
    let state = held(&service);
    let (status, problem) = service.api("DELETE", "/v1/owners/k8s%3Aprod", None);
    assert_eq!((status, &problem["code"]), (409, &json!("has_children")), "{problem}");
    let (status, dry) = service.api("DELETE", "/v1/owners/k8s%3Aprod?cascade=true&dryRun=true", None);
    assert_eq!((status, &dry["ownersDeleted"]), (200, &json!(2)), "{dry}");
    let (status, deleted) = service.api("DELETE", "/v1/owners/k8s%3Aprod?cascade=true", None);
    assert_eq!((status, &deleted["ownersDeleted"]), (200, &json!(2)), "{deleted}");
    assert_eq!(deleted["records"][0]["name"], "www.example.com.", "{deleted}");
    assert!(deleted["serials"]["example.com."].is_u64(), "{deleted}");
    assert_eq!(state.values("www.example.com"), Vec::<Value>::new());
    let (status, again) = service.api("DELETE", "/v1/owners/k8s%3Aprod?cascade=true", None);
    assert_eq!((status, &again["ownersDeleted"]), (200, &json!(0)), "{again}");
}

#[test]
fn some_records_are_changed_if_the_owner_is_as_it_was_seen() {
    let service = Service::with_zone();
    let state = held(&service);
    let (_, owner) = service.api("GET", &format!("/v1/owners/{}", part(GATEWAY)), None);
    assert_eq!((&owner["generation"], &owner["parents"]), (&json!(7), &json!(["k8s:prod"])), "{owner}");
    let tag = format!("\"r{}\"", owner["revision"]);
    let body = br#"{"upsert":[{"name":"www.example.com","type":"CNAME","values":["x.example.net."]}],
        "delete":[{"name":"www.example.com","type":"A"}]}"#;
    let token = service.token();
    let patch = |tag: &str| service.raw(Some(&token), "PATCH", &records(GATEWAY), &[("if-match", tag)], body);
    let (head, text) = patch(&tag);
    assert!(head.starts_with("HTTP/1.1 200"), "{text}");
    assert_eq!(state.values("www.example.com"), [json!(["x.example.net."])]);
    let (head, text) = patch(&tag);
    assert!(head.starts_with("HTTP/1.1 412") && text.contains("stale_revision"), "{text}");
    assert!(patch("r5").0.starts_with("HTTP/1.1 400"));
}

#[test]
fn owners_are_listed_by_parent_and_changed_by_themselves() {
    let service = Service::with_zone();
    held(&service);
    let (_, below) = service.api("GET", "/v1/owners?parent=k8s%3Aprod", None);
    assert_eq!(
        (below["items"].as_array().map(Vec::len), &below["items"][0]["id"]),
        (Some(1), &json!(GATEWAY)),
        "{below}"
    );
    assert_eq!(below["items"][0]["claims"]["held"], 1, "{below}");
    let body = r#"{"kind":"Project","labels":{"team":"a"},"source":{"cluster":"prod"}}"#;
    let (status, owner) = service.api("PUT", "/v1/owners/k8s%3Aprod", Some(body));
    assert_eq!((status, &owner["labels"]["team"], &owner["children"]), (200, &json!("a"), &json!(1)), "{owner}");
    let (_, by_cluster) = service.api("GET", "/v1/owners?source.cluster=prod", None);
    assert_eq!(by_cluster["items"][0]["id"], "k8s:prod", "{by_cluster}");
    let (status, cycle) = service.api("PUT", "/v1/owners/k8s%3Aprod", Some(&json!({"parent": GATEWAY}).to_string()));
    assert_eq!((status, &cycle["code"]), (422, &json!("owner_cycle")), "{cycle}");
}
