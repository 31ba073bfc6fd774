//! Who may ask for what: the table of routes, roles, expiry, revocation.

use serde_json::json;
use tenured::api::auth::Access;
use tenured::api::native;

use super::service::{Service, part};

/// A path of a route, with something for each part.
fn filled(path: &str) -> String {
    path.replace("{zone}", "example.com.")
        .replace("{owner}", "team-a")
        .replace("{name}", "www.example.com.")
        .replace("{type}", "A")
        .replace("{id}", "nothing")
        .replace("{revision}", "1")
}

#[test]
fn every_route_names_what_it_asks_and_keeps_to_it() {
    let service = Service::with_zone();
    let read = service.make_token("read", None);
    let owner = service.make_token("owner", Some("team-a"));
    let routes = native::routes();
    assert!(routes.len() > 25);
    for route in routes {
        let (method, path) = (route.method.as_str(), filled(route.path));
        let status = |token: Option<&str>| service.api_as(token, method, &format!("{path}?dryRun=x"), Some("{}")).0;
        let reads = method == "GET";
        match route.access {
            Access::Public => assert_eq!(status(None), if reads { 400 } else { 401 }, "{method} {path}"),
            Access::Read => {
                assert_eq!(status(None), 401, "{method} {path}");
                assert_eq!(status(Some(&read)), 400, "{method} {path}: the parameter is at fault");
                assert!(reads, "{method} {path} writes, so it asks for more than reading");
            }
            Access::Write => {
                assert_eq!(status(None), 401, "{method} {path}");
                assert_eq!(status(Some(&read)), 403, "{method} {path}");
                assert_eq!(status(Some(&owner)), 400, "{method} {path}: the parameter is at fault");
            }
            Access::Admin => {
                assert_eq!(status(None), 401, "{method} {path}");
                assert_eq!(status(Some(&read)), 403, "{method} {path}");
                assert_eq!(status(Some(&owner)), 403, "{method} {path}");
            }
        }
    }
}

#[test]
fn every_kind_of_wrong_token_gets_the_same_answer() {
    let service = Service::start();
    let right = service.token();
    let (id, _) = right.strip_prefix("tnd_").and_then(|rest| rest.split_once('_')).expect("a token");
    let wrong_secret = format!("tnd_{id}_{}", "0".repeat(64));
    let answers: Vec<_> = ["tnd_000000000000_00", wrong_secret.as_str(), "nonsense", "tnd__", "x"]
        .into_iter()
        .map(|token| service.api_as(Some(token), "GET", "/v1/zones", None))
        .collect();
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!((answers[0].0, &answers[0].1["code"]), (401, &json!("unauthorized")));
    let (head, _) = service.raw(None, "GET", "/v1/zones", &[], b"");
    assert!(head.to_ascii_lowercase().contains("www-authenticate: bearer"), "{head}");
}

#[test]
fn a_token_ends_at_its_time_and_when_it_is_deleted() {
    let service = Service::start();
    let body = r#"{"name":"short","role":"read","expiresAt":"2026-11-30T12:01:00Z"}"#;
    let (status, short) = service.api("POST", "/v1/tokens", Some(body));
    assert_eq!((status, &short["expiresAt"]), (201, &json!("2026-11-30T12:01:00Z")), "{short}");
    let text = short["token"].as_str().expect("its text");
    assert_eq!(service.api_as(Some(text), "GET", "/v1/zones", None).0, 200);
    service.clock.advance(60_000);
    assert_eq!(service.api_as(Some(text), "GET", "/v1/zones", None).0, 401);

    let long = service.make_token("read", None);
    let (_, list) = service.api("GET", "/v1/tokens", None);
    assert!(!list.to_string().contains(&long), "the text is shown once: {list}");
    let id = long.split('_').nth(1).expect("an id");
    let (status, own) = service.api_as(Some(&long), "GET", &format!("/v1/tokens/{id}"), None);
    assert_eq!((status, &own["role"]), (200, &json!("read")), "{own}");
    let (_, first) = service.api("GET", "/v1/tokens", None);
    let other = first["items"][0]["id"].as_str().expect("an id");
    assert_eq!(service.api_as(Some(&long), "GET", &format!("/v1/tokens/{other}"), None).0, 404);
    assert_eq!(service.api("DELETE", &format!("/v1/tokens/{id}"), None).0, 200);
    assert_eq!(service.api_as(Some(&long), "GET", "/v1/zones", None).0, 401);
    assert_eq!(service.api("DELETE", &format!("/v1/tokens/{id}"), None).0, 404);
}

#[test]
fn a_token_of_an_owner_writes_for_it_and_those_below_it_and_for_nobody_else() {
    let service = Service::with_zone();
    let token = service.make_token("owner", Some("team-a"));
    let write = |owner: &str, body: &str| {
        service.api_as(Some(&token), "PUT", &format!("/v1/owners/{}/records", part(owner)), Some(body))
    };
    let own = r#"{"records":[{"name":"a.example.com","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(write("team-a", own).0, 200);
    let child = r#"{"parent":"team-a","records":[{"name":"b.example.com","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(write("team-a/web", child).0, 200);
    assert_eq!(service.api("PUT", "/v1/owners/team-b", None).0, 201);
    let (status, problem) = write("team-b", own);
    assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
    let (status, problem) = service.api_as(Some(&token), "DELETE", "/v1/zones/example.com", None);
    assert_eq!(status, 403, "{problem}");
    assert_eq!(service.api_as(Some(&token), "POST", "/v1/tokens", Some(r#"{"name":"x","role":"admin"}"#)).0, 403);
}
