//! Who wants what another holds.

use serde_json::{Value, json};

use super::service::Service;

fn put(service: &Service, owner: &str, address: &str, query: &str) -> u16 {
    let body = json!({"values": [address]}).to_string();
    service.api("PUT", &format!("/v1/owners/{owner}/records/www.example.com/A{query}"), Some(&body)).0
}

fn conflicts(service: &Service) -> Vec<Value> {
    service.api("GET", "/v1/conflicts", None).1["items"].as_array().expect("rows").clone()
}

#[test]
fn what_is_refused_and_what_waits_is_listed_until_it_is_so_no_longer() {
    let service = Service::with_zone();
    assert_eq!(put(&service, "team-a", "192.0.2.1", ""), 200);
    assert_eq!(put(&service, "team-b", "192.0.2.2", "?dryRun=true"), 409);
    assert_eq!(conflicts(&service), [] as [Value; 0], "a dry run is no wish");
    assert_eq!(put(&service, "team-b", "192.0.2.2", ""), 409);
    let refused = json!({
        "zone": "example.com.", "name": "www.example.com.", "type": "A", "values": ["192.0.2.2"], "owner": "team-b",
        "holder": "team-a", "code": "owned_by_other", "state": "refused", "since": "2026-11-30T12:00:00Z", "door": "native",
    });
    assert_eq!(conflicts(&service), std::slice::from_ref(&refused));
    service.clock.advance(60_000);
    assert_eq!(put(&service, "team-b", "192.0.2.2", ""), 409);
    assert_eq!(conflicts(&service), std::slice::from_ref(&refused), "it is refused since the first time");
    assert_eq!(put(&service, "team-c", "192.0.2.3", "?onConflict=queue"), 207);
    let rows = conflicts(&service);
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["state"], &rows[0]["holder"]), (&json!("queued"), &json!("team-a")), "{rows:?}");
    for limit in [1, 2] {
        let (mut all, mut next) = (Vec::new(), String::new());
        loop {
            let (_, page) = service.api("GET", &format!("/v1/conflicts?limit={limit}{next}"), None);
            all.extend(page["items"].as_array().expect("rows").clone());
            match page["continue"].as_str() {
                Some(more) => next = format!("&continue={more}"),
                None => break,
            }
        }
        assert_eq!(all, rows, "{limit}");
    }
    assert_eq!(service.api("GET", "/v1/conflicts?owner=team-b", None).1["items"], json!([refused]));
    assert_eq!(service.api("DELETE", "/v1/owners/team-c", None).0, 200);
    let path = "/v1/owners/team-b/records";
    assert_eq!(service.api("PUT", path, Some(r#"{"records":[]}"#)).0, 200);
    assert_eq!(conflicts(&service), [] as [Value; 0], "its owner no longer wants it");
    assert_eq!(put(&service, "team-b", "192.0.2.2", ""), 409);
    assert_eq!(service.api("DELETE", "/v1/owners/team-a", None).0, 200);
    assert_eq!(put(&service, "team-b", "192.0.2.2", ""), 200);
    assert_eq!(conflicts(&service), [] as [Value; 0], "its owner has it");
}
