//! Keys: who is let in where, how routes answer who may and who may not, and that no method or path is left open.

use serde_json::{Value, json};

use super::door::{Client, SERVER, replace};
use super::service::Service;

/// Every path of the door with its methods.
const ROUTES: &[(&str, &[&str])] = &[
    ("/api", &["GET"]),
    ("/api/v1", &["GET"]),
    ("/api/v1/servers", &["GET"]),
    ("/api/v1/servers/localhost", &["GET"]),
    ("/api/v1/servers/localhost/config", &["GET"]),
    ("/api/v1/servers/localhost/statistics", &["GET"]),
    ("/api/v1/servers/localhost/zones", &["GET", "POST"]),
    ("/api/v1/servers/localhost/zones/example.com.", &["GET", "PUT", "PATCH", "DELETE"]),
    ("/api/v1/servers/localhost/zones/example.com./notify", &["PUT"]),
    ("/api/v1/servers/localhost/zones/example.com./rectify", &["PUT"]),
    ("/api/v1/servers/localhost/zones/example.com./axfr-retrieve", &["PUT"]),
    ("/api/v1/servers/localhost/zones/example.com./export", &["GET"]),
    ("/api/v1/servers/localhost/zones/example.com./metadata", &["GET", "POST"]),
    ("/api/v1/servers/localhost/zones/example.com./metadata/SOA-EDIT-API", &["GET", "PUT", "DELETE"]),
    ("/api/v1/servers/localhost/zones/example.com./cryptokeys", &["GET", "POST"]),
    ("/api/v1/servers/localhost/cache/flush", &["PUT"]),
    ("/api/v1/servers/localhost/search-data", &["GET"]),
    ("/api/v1/servers/localhost/tsigkeys", &["GET", "POST"]),
    ("/api/v1/servers/localhost/autoprimaries", &["GET", "POST"]),
];
const METHODS: [&str; 5] = ["GET", "PUT", "POST", "PATCH", "DELETE"];

#[test]
fn nobody_is_let_in_without_a_key_of_this_door() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let admin = service.token();
    let owner = service.make_token("owner", Some("team-a"));
    let revoked = Client::with(&service, json!({"name": "revoked"}));
    assert_eq!(service.api("DELETE", &format!("/v1/tokens/{}", revoked.id), None).0, 200);
    let expired = Client::with(&service, json!({"name": "expired", "expiresAt": "2026-11-30T12:00:30Z"}));
    service.clock.advance(60_000);
    let query = format!("{SERVER}/zones?api-key={}", client.key);
    for (path, methods) in
        ROUTES.iter().copied().chain([("/api/v1/nothing", &[][..]), (query.as_str(), &["GET", "POST"][..])])
    {
        for method in METHODS {
            for key in [None, Some("wrong"), Some(&admin), Some(&owner), Some(&revoked.key), Some(&expired.key)] {
                service.clock.advance(tenured::api::failures::REFILL_MILLISECONDS);
                let headers: Vec<(&str, &str)> = key.into_iter().map(|key| ("x-api-key", key)).collect();
                let reply = client.send_with(method, path, &headers, "{");
                assert_eq!(
                    (reply.status, reply.text.as_str()),
                    (401, r#"{"error":"Unauthorized"}"#),
                    "{method} {path}"
                );
                assert_eq!(reply.header("www-authenticate"), Some("x-api-key realm=\"powerdns\""));
            }
            let reply = client.send(method, path, "{}");
            let is_known = methods.contains(&method);
            assert_eq!(reply.status == 405, !is_known && !methods.is_empty(), "{method} {path}: {reply:?}");
            assert!(reply.status < 500, "{method} {path}: {reply:?}");
            if method == "DELETE" && reply.status == 204 {
                client.zone();
            }
        }
    }
    let bearer = format!("Bearer {}", client.key);
    assert_eq!(client.send_with("GET", "/api", &[("authorization", &bearer)], "").status, 200);
    let (status, _) = service.api_as(Some(&client.key), "GET", "/v1/zones", None);
    assert_eq!(status, 401, "a key of this door is none of the native API");
}

#[test]
fn a_key_that_only_reads_writes_nothing() {
    let service = Service::start();
    Client::of(&service, "generic").zone();
    let reader = Client::with(&service, json!({"name": "r", "readOnly": true, "owner": "pdns:generic"}));
    let (_, before) = service.api("GET", "/v1/zones", None);
    for (path, methods) in ROUTES {
        for method in methods.iter().filter(|method| **method != "GET") {
            let body = json!({"name": "example.net.", "kind": "Native", "rrsets": [replace("www.example.com.", "A", &["192.0.2.1"])]});
            let reply = reader.send(method, path, &body.to_string());
            let harmless = ["notify", "rectify", "axfr-retrieve", "flush"];
            let wanted = harmless.iter().any(|part| path.contains(part));
            assert!(
                wanted || (reply.status, reply.error().as_str()) == (403, "Forbidden"),
                "{method} {path}: {reply:?}"
            );
        }
    }
    assert_eq!(service.api("GET", "/v1/zones", None).1, before);
    assert_eq!(reader.call("GET", "zones/example.com.", Value::Null).status, 200);
}

#[test]
fn a_key_already_deployed_stays() {
    let service = Service::start();
    let client = Client::with(
        &service,
        json!({"name": "dns-operator", "profile": "dns-operator", "secret": "changeme-please", "owner": "pdns:x"}),
    );
    assert_eq!(client.key, "changeme-please");
    client.zone();
    let body = json!({"name": "again", "door": "powerdns", "secret": "changeme-please"});
    assert_eq!(service.api("POST", "/v1/tokens", Some(&body.to_string())).0, 400, "one secret is one key's");
    let (_, token) = service.api("GET", &format!("/v1/tokens/{}", client.id), None);
    assert_eq!(
        (&token["door"], &token["owner"], &token["key"]["view"]),
        (&json!("powerdns"), &json!("pdns:x"), &json!("own"))
    );
    assert!(!token.to_string().contains("changeme"), "{token}");
    for body in [
        json!({"name": "t", "door": "powerdns", "role": "admin"}),
        json!({"name": "t", "door": "powerdns", "profile": "unknown"}),
        json!({"name": "t", "door": "other"}),
        json!({"name": "t", "role": "owner", "owner": "x", "view": "own"}),
        json!({"name": "t", "door": "powerdns", "secret": "short"}),
    ] {
        assert_eq!(service.api("POST", "/v1/tokens", Some(&body.to_string())).0, 400, "{body}");
    }
}
