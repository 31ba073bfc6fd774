//! Whether a write is served.

use serde_json::json;

use super::service::Service;

#[test]
fn a_revision_is_served_when_its_write_was_answered() {
    let service = Service::with_zone();
    let body = Some(r#"{"values":["192.0.2.1"]}"#);
    let (_, report) = service.api("PUT", "/v1/owners/team-a/records/www.example.com/A", body);
    let revision = report["revision"].as_u64().expect("a revision");
    let path = "/v1/zones/example.com/propagation";
    let (status, shown) = service.api("GET", &format!("{path}?revision={revision}&wait=10s"), None);
    assert_eq!((status, &shown["served"], &shown["serial"]), (200, &json!(true), &report["serials"]["example.com."]));
    let (_, shown) = service.api("GET", &format!("{path}?revision={}&wait=1ms", revision + 1), None);
    assert_eq!((&shown["served"], &shown["servedRevision"]), (&json!(false), &json!(revision)), "{shown}");
    assert_eq!(service.api("GET", &format!("{path}?wait=1h"), None).0, 400);
    assert_eq!(service.api("GET", "/v1/zones/example.net/propagation", None).0, 404);
}
