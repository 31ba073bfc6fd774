//! Zones: their exact form, making and deleting them, who may, and what is not there yet.

use serde_json::{Value, json};

use super::door::{Client, SERVER, native, replace};
use super::service::Service;

#[test]
fn a_zone_has_exactly_powerdnss_keys_in_order() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    let made = client.zone();
    let ns = r#"{"comments":[],"name":"example.com.","records":[{"content":"ns1.example.com.","disabled":false}],"ttl":3600,"type":"NS"}"#;
    let soa = r#"{"comments":[],"name":"example.com.","records":[{"content":"ns1.example.com. hostmaster.example.com. 2026113001 10800 3600 604800 3600","disabled":false}],"ttl":3600,"type":"SOA"}"#;
    let wanted = format!(
        r#"{{"account":"","api_rectify":false,"catalog":"","dnssec":false,"edited_serial":2026113001,"id":"example.com.","kind":"Native","last_check":0,"master_tsig_key_ids":[],"masters":[],"name":"example.com.","notified_serial":0,"nsec3narrow":false,"nsec3param":"","record_count":0,"rrsets":[{ns},{soa}],"serial":2026113001,"slave_tsig_key_ids":[],"soa_edit":"","soa_edit_api":"DEFAULT","url":"{SERVER}/zones/example.com."}}"#
    );
    assert_eq!(made.text, wanted);
    assert_eq!(made.header("content-type"), Some("application/json"));
    assert_eq!(client.call("GET", "zones/example.com.", Value::Null).text, wanted);
    let item = r#"[{"account":"","catalog":"","dnssec":false,"edited_serial":2026113001,"id":"example.com.","kind":"Native","last_check":0,"masters":[],"name":"example.com.","notified_serial":0,"serial":2026113001,"url":"/api/v1/servers/localhost/zones/example.com."}]"#;
    for path in ["zones", "zones?zone=example.com.", "zones?zone=EXAMPLE.com"] {
        assert_eq!(client.call("GET", path, Value::Null).text, item, "{path}");
    }
    let plain = client.call("GET", "zones?dnssec=false", Value::Null).json();
    assert_eq!((plain[0].get("dnssec"), plain[0].get("edited_serial")), (None, None));
    assert_eq!(client.call("GET", "zones?zone=example.net.", Value::Null).text, "[]");
    for id in ["example.com", "EXAMPLE.com.", "example=2Ecom.", "ex%61mple.com", "example.com./"] {
        assert_eq!(client.call("GET", &format!("zones/{id}"), Value::Null).status, 200, "{id}");
    }
    let bad = client.call("GET", "zones/example.com.?rrsets=maybe", Value::Null);
    assert_eq!(bad.error(), "'rrsets' request parameter value 'maybe' is not supported");
    assert_eq!(client.call("GET", "zones/example.com.?rrsets=false", Value::Null).json().get("rrsets"), None);
}

#[test]
fn what_a_new_zone_asks_for_is_checked_and_done_at_once_or_not_at_all() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    let with = |fields: Value| {
        let mut body = json!({"name": "example.com.", "kind": "Native"});
        for (key, value) in fields.as_object().expect("an object") {
            body[key] = value.clone();
        }
        client.call("POST", "zones", body)
    };
    let ns = json!([{"name": "example.com.", "type": "NS", "ttl": 60, "records": [{"content": "ns2.example.net."}]}]);
    for (fields, status, wanted) in [
        (json!({"kind": null}), 422, "Key 'kind' not present or not a String"),
        (json!({"name": "example.com"}), 422, "DNS Name 'example.com' is not canonical"),
        (json!({"kind": "Slave"}), 422, "Zone kind 'Slave' is not available on this server yet"),
        (json!({"dnssec": true}), 422, "DNSSEC is not available on this server yet"),
        (json!({"nameservers": ["ns1"]}), 422, "Nameserver is not canonical: 'ns1'"),
        (
            json!({"nameservers": ["ns1.example.net."], "rrsets": ns}),
            422,
            "Nameservers list MUST NOT be mixed with zone-level NS in rrsets",
        ),
        (json!({"rrsets": ns, "zone": "x"}), 422, "You cannot give rrsets AND zone data as text"),
        (
            json!({"rrsets": [replace("www.example.net.", "A", &["192.0.2.1"])]}),
            422,
            "RRset www.example.net. IN A: Name is out of zone (Not in zone)",
        ),
    ] {
        let reply = with(fields.clone());
        assert_eq!((reply.status, reply.error().as_str()), (status, wanted), "{fields}");
        assert_eq!(client.call("GET", "zones/example.com.", Value::Null).status, 404, "nothing was made");
    }
    let text =
        "@ 60 IN SOA ns1.example.net. h.example.net. 7 1 2 3 4\n@ 60 IN NS ns1.example.net.\nwww 60 IN A 192.0.2.1\n";
    let made = with(json!({"zone": format!("$ORIGIN example.com.\n{text}"), "kind": "primary", "account": null,
        "soa_edit_api": "default", "serial": 0, "unknown": {"a": 1}}));
    assert_eq!((made.status, made.json()["kind"].as_str()), (201, Some("Master")), "{made:?}");
    assert_eq!(client.contents("www.example.com.", "A"), ["192.0.2.1"]);
    let again = with(json!({}));
    assert_eq!((again.status, again.error().as_str()), (409, "Conflict"));
    // A zone that was read back makes the same zone again.
    client.patched(json!([replace("www.example.com.", "TXT", &["\"a;b\""])]));
    let read = client.call("GET", "zones/example.com.", Value::Null).json();
    assert_eq!(client.call("DELETE", "zones/example.com.", Value::Null).status, 204);
    assert_eq!(client.call("DELETE", "zones/example.com.", Value::Null).status, 404);
    let restored = client.call("POST", "zones", read.clone());
    assert_eq!(restored.status, 201, "{restored:?}");
    assert_eq!(restored.json()["rrsets"], read["rrsets"]);
    let put =
        client.call("PUT", "zones/example.com.", json!({"account": "me", "dnssec": false, "soa_edit_api": "INCREASE"}));
    assert_eq!((put.status, put.text.as_str()), (204, ""));
    let shown = client.call("GET", "zones/example.com.", Value::Null).json();
    assert_eq!(
        (&shown["account"], &shown["soa_edit_api"], &shown["kind"]),
        (&json!("me"), &json!("INCREASE"), &json!("Master"))
    );
    let metadata = client.call("GET", "zones/example.com./metadata", Value::Null).json();
    assert_eq!(metadata, json!([{"kind": "SOA-EDIT-API", "metadata": ["INCREASE"], "type": "Metadata"}]));
}

#[test]
fn zones_are_their_owners_and_others_find_them_only_within_their_limits() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let other = Client::with(&service, json!({"name": "other", "zones": ["*.example.com", "example.com"]}));
    assert_eq!(other.call("GET", "zones/example.com.", Value::Null).status, 200);
    for (method, body) in [("PUT", json!({"account": "x"})), ("DELETE", Value::Null)] {
        let reply = other.call(method, "zones/example.com.", body);
        assert_eq!((reply.status, reply.error().as_str()), (403, "Forbidden"), "{method}");
    }
    let outside = other.call("POST", "zones", json!({"name": "example.net.", "kind": "Native"}));
    assert_eq!(outside.status, 403);
    let blind = Client::with(&service, json!({"name": "blind", "zones": ["example.net"]}));
    for (method, path) in
        [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("PUT", "/notify"), ("GET", "/export"), ("GET", "/metadata")]
    {
        let reply = blind.call(method, &format!("zones/example.com.{path}"), json!({"rrsets": []}));
        assert_eq!((reply.status, reply.error().as_str()), (404, "Not Found"), "{method} {path}");
    }
    assert_eq!(blind.call("GET", "zones", Value::Null).text, "[]");
    assert_eq!(blind.call("GET", "search-data?q=*", Value::Null).text, "[]");
    native(&service, "externaldns:prod", json!({"name": "www.example.com.", "type": "A", "values": ["192.0.2.1"]}));
    let refused = client.call("DELETE", "zones/example.com.", Value::Null);
    let wanted =
        "Zone example.com.: Conflicts with pre-existing RRset (www.example.com. A owned by externaldns:prod; 1 in all)";
    assert_eq!((refused.status, refused.error().as_str()), (422, wanted));
    assert_eq!(service.api("DELETE", "/v1/owners/externaldns%3Aprod", None).0, 200);
    assert_eq!(client.call("DELETE", "zones/example.com.", Value::Null).status, 204);
    // A zone that is made again inherits nothing.
    let made = other.call("POST", "zones", json!({"name": "example.com.", "kind": "Native"}));
    assert_eq!(made.status, 201);
    assert_eq!(client.call("DELETE", "zones/example.com.", Value::Null).status, 403);
}

#[test]
fn a_key_sees_what_its_view_has() {
    let service = Service::start();
    let all = Client::of(&service, "generic");
    all.zone();
    let own = Client::with(&service, json!({"name": "own", "view": "own", "echoWritten": true}));
    all.patched(json!([replace("www.example.com.", "A", &["192.0.2.1"])]));
    let raw = "heritage=external-dns,external-dns/owner=default";
    own.patched(json!([replace("t.example.com.", "TXT", &[raw])]));
    let seen = |client: &Client<'_>| -> Vec<String> {
        let zone = client.call("GET", "zones/example.com.", Value::Null).json();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        zone["rrsets"]
            .as_array()
            .expect("rrsets")
            .iter()
            .map(|set| text(&set["name"]) + " " + &text(&set["type"]))
            .collect()
    };
    assert_eq!(seen(&all), ["example.com. NS", "example.com. SOA", "t.example.com. TXT", "www.example.com. A"]);
    assert_eq!(seen(&own), ["example.com. NS", "example.com. SOA", "t.example.com. TXT"]);
    assert_eq!(own.contents("t.example.com.", "TXT"), [raw], "as written");
    assert_eq!(all.contents("t.example.com.", "TXT"), [format!("\"{raw}\"")]);
    let export = own.call("GET", "zones/example.com./export", Value::Null);
    assert_eq!(export.header("content-type"), Some("text/plain; charset=us-ascii"));
    assert!(export.text.starts_with("example.com.\t3600\tIN\tNS\tns1.example.com.\n"), "{export:?}");
    assert!(!export.text.contains("192.0.2.1"), "{export:?}");
    let hits = own.call("GET", "search-data?q=*example*", Value::Null).json();
    assert!(hits.as_array().is_some_and(|hits| hits.iter().all(|hit| hit["name"] != "www.example.com.")), "{hits}");
    let record = all.call("GET", "search-data?q=192.0.2.?&object_type=record", Value::Null);
    assert_eq!(
        record.text,
        r#"[{"content":"192.0.2.1","disabled":false,"name":"www.example.com.","object_type":"record","ttl":300,"type":"A","zone":"example.com.","zone_id":"example.com."}]"#
    );
}
