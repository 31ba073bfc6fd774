//! Who may do what: every kind of token, every route, own names and others', in every spelling (reliability.md section 8).

use serde_json::json;
use tenured::api::auth::Access;
use tenured::api::failures::REFILL_MILLISECONDS;
use tenured::api::native;

use super::service::{Service, part};

/// A caller: its name, and its token if it has one.
struct Caller {
    name: &'static str,
    token: Option<String>,
}

/// Everybody. `team-a` owns `team-a/web`; the expired and the revoked token were those of `admin`.
fn callers(service: &Service) -> Vec<Caller> {
    let made = |body: serde_json::Value| {
        let (status, token) = service.api("POST", "/v1/tokens", Some(&body.to_string()));
        assert_eq!(status, 201, "{token}");
        (token["token"].as_str().expect("its text").to_owned(), token["id"].as_str().expect("its id").to_owned())
    };
    let owner = |id: &str| made(json!({"name": "t", "role": "owner", "owner": id})).0;
    let (expired, _) = made(json!({"name": "t", "role": "admin", "expiresAt": "2026-11-30T12:00:30Z"}));
    let (revoked, id) = made(json!({"name": "t", "role": "admin"}));
    assert_eq!(service.api("DELETE", &format!("/v1/tokens/{id}"), None).0, 200);
    let tokens = [
        ("none", None),
        ("read", Some(made(json!({"name": "t", "role": "read"})).0)),
        ("team-a", Some(owner("team-a"))),
        ("team-b", Some(owner("team-b"))),
        ("team-a/web", Some(owner("team-a/web"))),
        ("admin", Some(service.token())),
        ("expired", Some(expired)),
        ("revoked", Some(revoked)),
    ];
    service.clock.advance(60_000);
    tokens.into_iter().map(|(name, token)| Caller { name, token }).collect()
}

fn filled() -> Service {
    let service = Service::with_zone();
    for (owner, parent, name) in [
        ("team-a", None, "a.example.com."),
        ("team-b", None, "b.example.com."),
        ("team-a/web", Some("team-a"), "web.example.com."),
    ] {
        let body = json!({"parent": parent, "records": [{"name": name, "type": "A", "values": ["192.0.2.1"]}]});
        let path = format!("/v1/owners/{}/records", part(owner));
        let body = if parent.is_some() { body } else { json!({"records": body["records"]}) };
        let (status, report) = service.api("PUT", &path, Some(&body.to_string()));
        assert_eq!(status, 200, "{report}");
    }
    service
}

/// Whether a caller may write for an owner.
fn may(caller: &str, owner: &str) -> bool {
    match caller {
        "admin" => true,
        "team-a" => owner.starts_with("team-a"),
        other => other == owner,
    }
}

#[test]
fn every_route_lets_in_exactly_the_callers_it_names() {
    let service = filled();
    for caller in callers(&service) {
        for route in native::routes() {
            // Wrong tokens are let through to their 401 one at a time.
            service.clock.advance(REFILL_MILLISECONDS);
            let path = route
                .path
                .replace("{zone}", "example.com.")
                .replace("{owner}", "team-a")
                .replace("{name}", "a.example.com.")
                .replace("{type}", "A")
                .replace("{revision}", "1")
                .replace("{id}", "1");
            let path =
                if path.contains('{') { path[..path.find('{').expect("it has one")].to_owned() + "x" } else { path };
            // A parameter that no route knows: who is let in is told so, and nothing is done.
            let method = route.method.as_str();
            let (status, _) =
                service.api_as(caller.token.as_deref(), method, &format!("{path}?nonsense=1"), Some("{}"));
            let wanted = match (route.access, caller.name) {
                (Access::Public, _) => 400,
                (_, "none" | "expired" | "revoked") => 401,
                (Access::Read, _) | (Access::Write, "team-a" | "team-b" | "team-a/web") | (_, "admin") => 400,
                (Access::Write | Access::Admin, _) => 403,
            };
            assert_eq!(status, wanted, "{} {method} {path}", caller.name);
        }
    }
}

#[test]
fn records_are_written_by_those_who_may_in_every_spelling_of_their_names() {
    let service = filled();
    let (mut allows, mut denials) = (0, 0);
    for caller in callers(&service) {
        for (owner, label) in [("team-a", "a"), ("team-b", "b"), ("team-a/web", "web")] {
            for spelling in [
                format!("{label}.example.com"),
                format!("{label}.example.com."),
                format!("{}.EXAMPLE.com", label.to_uppercase()),
                format!("{}{}.example.com", escaped(&label[..1]), &label[1..]),
                format!("{label}.e\\120ample.com."),
            ] {
                let body = r#"{"values":["192.0.2.1"]}"#;
                let path = format!("/v1/owners/{}/records/{}/A", part(owner), part(&spelling));
                for method in ["PUT", "DELETE"] {
                    service.clock.advance(REFILL_MILLISECONDS);
                    let (status, answer) = service.api_as(
                        caller.token.as_deref(),
                        method,
                        &format!("{path}?dryRun=true"),
                        (method == "PUT").then_some(body),
                    );
                    let wanted = match caller.name {
                        "none" | "expired" | "revoked" => 401,
                        name if may(name, owner) => 200,
                        _ => 403,
                    };
                    assert_eq!(status, wanted, "{} {method} {path}: {answer}", caller.name);
                    if wanted == 200 {
                        allows += 1;
                        let outcome = if method == "PUT" { "unchanged" } else { "deleted" };
                        assert_eq!(answer["results"][0]["outcome"], outcome, "it is the same record: {path}: {answer}");
                    } else {
                        denials += 1;
                    }
                }
                // For an owner of one's own, a name that another holds is a conflict, however it is spelt.
                if caller.name == "team-b" && owner != "team-b" {
                    let path = format!("/v1/owners/team-b/records/{}/A", part(&spelling));
                    let (status, problem) = service.api_as(caller.token.as_deref(), "PUT", &path, Some(body));
                    assert_eq!((status, &problem["holder"]["owner"]), (409, &json!(owner)), "{path}: {problem}");
                }
            }
        }
    }
    assert_eq!((allows, denials), (70, 170));
}

/// The first octet as `\DDD`.
fn escaped(text: &str) -> String {
    text.bytes().map(|octet| format!("\\{octet:03}")).collect()
}

#[test]
fn the_limits_of_a_token_hold_in_every_spelling() {
    let service = filled();
    let limited = |key: &str, value: serde_json::Value| {
        let mut body = json!({"name": "t", "role": "owner", "owner": "team-a"});
        body[key] = value;
        let (status, token) = service.api("POST", "/v1/tokens", Some(&body.to_string()));
        assert_eq!(status, 201, "{token}");
        token["token"].as_str().expect("its text").to_owned()
    };
    let below = limited("names", json!([".apps.example.com"]));
    let at = limited("names", json!(["apps.example.com"]));
    let txt = limited("types", json!(["TXT"]));
    let zone = limited("zones", json!(["*.example.net"]));
    for (token, name, rtype, wanted) in [
        (&below, "x.apps.example.com", "A", 200),
        (&below, "X.APPS.example.com.", "A", 200),
        (&below, "apps.example.com", "A", 403),
        (&below, "x\\046apps.example.com", "A", 403),
        (&below, "xapps.example.com", "A", 403),
        (&at, "apps.example.com.", "A", 200),
        (&at, "\\097pps.example.com.", "A", 200),
        (&at, "x.apps.example.com.", "A", 200),
        (&at, "apps2.example.com.", "A", 403),
        (&txt, "t.example.com.", "txt", 200),
        (&txt, "t.example.com.", "TYPE16", 200),
        (&txt, "t.example.com.", "TYPE1", 403),
        (&zone, "t.example.com.", "A", 403),
    ] {
        let path = format!("/v1/owners/team-a/records/{}/{rtype}?dryRun=true", part(name));
        let value = if rtype == "A" || rtype == "TYPE1" { "192.0.2.1" } else { "text" };
        let body = json!({"values": [value]}).to_string();
        let (status, answer) = service.api_as(Some(token), "PUT", &path, Some(&body));
        assert_eq!(status, wanted, "{name} {rtype}: {answer}");
    }
}
