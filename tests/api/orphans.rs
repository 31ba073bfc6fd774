//! Records that nobody may own any more.

use serde_json::{Value, json};

use super::service::Service;

#[test]
fn a_record_whose_target_is_gone_is_an_orphan_and_says_whom_to_ask() {
    let service = Service::with_zone();
    let put = |owner: &str, parent: &str, records: Value| {
        let body = json!({"parent": parent, "records": records}).to_string();
        let (status, report) = service.api("PUT", &format!("/v1/owners/{owner}/records"), Some(&body));
        assert_eq!(status, 200, "{report}");
    };
    put("web", "project", json!([{"name": "target.example.com", "type": "A", "values": ["192.0.2.1"]}]));
    put(
        "gateway",
        "route",
        json!([
            {"name": "www.example.com", "type": "CNAME", "values": ["target.example.com."]},
            {"name": "shop.example.com", "type": "ALIAS", "values": ["target.example.com."]},
            {"name": "out.example.com", "type": "CNAME", "values": ["www.example.net."]},
        ]),
    );
    let orphans = |query: &str| service.api("GET", &format!("/v1/orphans{query}"), None).1["items"].clone();
    assert_eq!(orphans(""), json!([]));
    assert_eq!(service.api("DELETE", "/v1/owners/web", None).0, 200);
    let rows = orphans("");
    let names: Vec<&str> =
        rows.as_array().expect("rows").iter().map(|row| row["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["shop.example.com.", "www.example.com."], "{rows}");
    for row in rows.as_array().expect("rows") {
        assert_eq!(
            (&row["reason"], &row["owner"], &row["parents"]),
            (&json!("targetNxdomain"), &json!("gateway"), &json!(["route"]))
        );
    }
    assert_eq!(orphans("?reason=ownerExpired"), json!([]));
    assert_eq!(orphans("?owner=route"), json!([]));
    assert_eq!(orphans("?zone=example.com&olderThan=1h&owner=gateway"), json!([]));
    assert_eq!(orphans("?limit=1").as_array().expect("rows").len(), 1);
    assert_eq!(service.api("GET", "/v1/orphans?reason=x", None).0, 400);
    let (_, told) = service.api("GET", "/v1/explain?name=shop.example.com", None);
    assert_eq!(told["orphan"]["reason"], "targetNxdomain", "{told}");
    assert!(told["verdict"].as_str().expect("a verdict").contains("ask gateway, below route"), "{told}");
}

#[test]
fn what_an_import_left_is_shown_only_when_asked_for() {
    let service = Service::start();
    let zone =
        "$ORIGIN example.com.\n$TTL 60\n@ IN SOA ns hostmaster 7 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.1\n";
    assert_eq!(service.api("PUT", "/v1/zones/example.com/zonefile", Some(zone)).0, 200);
    assert_eq!(service.api("GET", "/v1/orphans", None).1["items"], json!([]));
    let (_, list) = service.api("GET", "/v1/orphans?reason=unclaimed", None);
    assert!(list["items"].as_array().expect("rows").iter().any(|row| row["name"] == "ns.example.com."), "{list}");
    let (_, told) = service.api("GET", "/v1/explain?name=missing.example.com", None);
    assert_eq!(
        told["negativeUntil"], "2026-11-30T12:01:00Z",
        "the TTL of the SOA is lower than its last field: {told}"
    );
}
