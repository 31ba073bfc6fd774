//! `Idempotency-Key`: a POST is done once, however often it is sent (ownership.md section 3).

use serde_json::{Value, json};

use super::service::Service;

fn post(service: &Service, token: &str, path: &str, key: &str, body: &Value) -> (u16, Value, bool) {
    let text = body.to_string();
    let (head, body) = service.raw(Some(token), "POST", path, &[("Idempotency-Key", key)], text.as_bytes());
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    (
        status,
        serde_json::from_str(&body).expect("JSON"),
        head.to_ascii_lowercase().contains("idempotent-replayed: true"),
    )
}

fn with_record() -> Service {
    let service = Service::with_zone();
    let body = r#"{"records":[{"name":"a.example.com.","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(service.api("PUT", "/v1/owners/team-a/records", Some(body)).0, 200);
    service
}

#[test]
fn a_repeat_gets_the_first_response_and_does_nothing() {
    let service = with_record();
    let admin = service.token();
    let there = json!({"from": "team-a", "to": "team-b"});
    let first = post(&service, &admin, "/v1/transfers", "k1", &there);
    assert_eq!((first.0, first.2), (200, false), "{}", first.1);
    let back = json!({"from": "team-b", "to": "team-a"});
    assert_eq!(post(&service, &admin, "/v1/transfers", "k2", &back).0, 200);
    let again = post(&service, &admin, "/v1/transfers", "k1", &there);
    assert_eq!((again.0, &again.1, again.2), (200, &first.1, true));
    let (_, records) = service.api("GET", "/v1/owners/team-a/records", None);
    assert_eq!(records["items"].as_array().map(Vec::len), Some(1), "it was done once: {records}");
    // What found nothing to do is kept as well.
    let nothing = json!({"from": "team-b", "to": "team-c"});
    let first = post(&service, &admin, "/v1/transfers", "k3", &nothing);
    assert_eq!(post(&service, &admin, "/v1/transfers", "k2", &back).1["revision"], first.1["revision"]);
    assert_eq!(post(&service, &admin, "/v1/transfers", "k3", &nothing).1, first.1);
}

#[test]
fn another_request_with_the_same_key_is_refused_and_another_token_has_keys_of_its_own() {
    let service = with_record();
    let admin = service.token();
    let there = json!({"from": "team-a", "to": "team-b"});
    assert_eq!(post(&service, &admin, "/v1/transfers", "k", &there).0, 200);
    let other = json!({"from": "team-a", "to": "team-c"});
    for (path, body) in [("/v1/transfers", &other), ("/v1/leases/renew", &there), ("/v1/transfers?refs=report", &there)]
    {
        let (status, body, _) = post(&service, &admin, path, "k", body);
        assert_eq!((status, body["code"].as_str()), (422, Some("idempotency_mismatch")), "{body}");
    }
    let second = service.make_token("admin", None);
    let (status, body, replayed) = post(&service, &second, "/v1/transfers", "k", &there);
    assert_eq!((status, body["outcome"].as_str(), replayed), (200, Some("unchanged"), false), "{body}");
    for key in ["", "é", &"k".repeat(256)] {
        assert_eq!(post(&service, &admin, "/v1/transfers", key, &there).0, 400, "{key}");
    }
}

#[test]
fn refusals_and_dry_runs_leave_no_key_and_a_key_is_over_after_a_day() {
    let service = with_record();
    let admin = service.token();
    let early = json!({"from": "team-x", "to": "team-y"});
    assert_eq!(post(&service, &admin, "/v1/transfers", "k", &early).0, 404);
    assert_eq!(
        post(&service, &admin, "/v1/transfers?dryRun=true", "k", &json!({"from": "team-a", "to": "team-b"})).0,
        200
    );
    let there = json!({"from": "team-a", "to": "team-b"});
    assert_eq!(post(&service, &admin, "/v1/transfers", "k", &there).0, 200, "the key is free");
    let dry = post(&service, &admin, "/v1/transfers?dryRun=true", "k", &early);
    assert_eq!(dry.0, 404, "a dry run looks for no key");
    service.clock.advance(24 * 60 * 60 * 1_000 + 1);
    let (status, body, replayed) = post(&service, &admin, "/v1/transfers", "k", &there);
    assert_eq!((status, body["outcome"].as_str(), replayed), (200, Some("unchanged"), false), "{body}");
}

#[test]
fn a_token_is_made_once_and_its_secret_is_never_kept() {
    let service = Service::with_zone();
    let admin = service.token();
    let asked = json!({"name": "ci", "role": "read"});
    let (status, first, _) = post(&service, &admin, "/v1/tokens", "k", &asked);
    assert_eq!((status, first["token"].is_string()), (201, true));
    let (status, again, replayed) = post(&service, &admin, "/v1/tokens", "k", &asked);
    assert_eq!((status, &again["id"], again.get("token"), replayed), (201, &first["id"], None, true));
    let (_, tokens) = service.api("GET", "/v1/tokens", None);
    assert_eq!(tokens["items"].as_array().map(Vec::len), Some(2), "{tokens}");
}

#[test]
fn the_same_request_sent_many_times_at_once_is_done_once() {
    let service = with_record();
    let admin = service.token();
    let asked = json!({"name": "ci", "role": "read"});
    let answers: Vec<(u16, Value, bool)> = std::thread::scope(|scope| {
        let send = || post(&service, &admin, "/v1/tokens", "k", &asked);
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    });
    assert!(answers.iter().all(|one| one.0 == 201 && one.1["id"] == answers[0].1["id"]), "{answers:?}");
    assert_eq!(answers.iter().filter(|one| !one.2).count(), 1, "one of them did it");
}
