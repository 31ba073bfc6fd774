//! Golden vectors of the protocol, octet for octet where the client looks at octets.

use std::io::Read as _;

use serde_json::{Value, json};

use super::service::Service;

pub(crate) const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";

struct Fixture {
    service: Service,
    token: String,
}

impl Fixture {
    fn start(terms: &str) -> Fixture {
        let service = Service::with_zone();
        let body = format!(r#"{{"name":"prod","door":"externaldns"{terms}}}"#);
        let (status, token) = service.api("POST", "/v1/tokens", Some(&body));
        assert_eq!(status, 201, "{token}");
        let token = token["token"].as_str().expect("a token").to_owned();
        Fixture { service, token }
    }

    /// Head and body as they came.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (String, String) {
        self.service.raw(Some(&self.token), method, &format!("/externaldns/prod{path}"), headers, body.as_bytes())
    }

    fn answer(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let (head, body) = self.ask(method, path, &[], body);
        (status(&head), body)
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status")
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}: ")))?;
    line.split_once(": ").map(|(_, value)| value)
}

#[test]
fn the_four_calls_answer_with_the_statuses_and_headers_that_the_client_wants() {
    let fixture = Fixture::start("");
    for base in ["", "/"] {
        let (head, body) = fixture.ask("GET", base, &[("accept", MEDIA_TYPE)], "");
        assert_eq!((status(&head), body.as_str()), (200, "{}"));
        assert_eq!(header(&head, "content-type"), Some(MEDIA_TYPE), "octet for octet: {head}");
    }
    let (head, body) = fixture.ask("GET", "/records", &[], "");
    assert_eq!((status(&head), body.as_str()), (200, "[]"), "never null");
    assert_eq!(header(&head, "content-type"), Some(MEDIA_TYPE));
    for body in ["null", "[]", "[null]"] {
        let (head, answer) = fixture.ask("POST", "/adjustendpoints", &[("content-type", "text/plain")], body);
        assert_eq!((status(&head), answer.as_str()), (200, "[]"), "{body}");
        assert_eq!(header(&head, "content-type"), Some(MEDIA_TYPE));
    }
    for body in ["{}", r#"{"create":null,"updateOld":null,"updateNew":null,"delete":null}"#, r#"{"Create":[]}"#] {
        let (head, answer) = fixture.ask("POST", "/records", &[], body);
        assert_eq!((status(&head), answer.as_str()), (204, ""), "{body}");
    }
    for (method, path) in [("POST", ""), ("PUT", "/records"), ("GET", "/adjustendpoints"), ("DELETE", "/records")] {
        assert_eq!(fixture.answer(method, path, "").0, 405, "{method} {path}");
    }
}

#[test]
fn both_spellings_of_changes_come_to_the_same() {
    let fixture = Fixture::start("");
    let one =
        |name: &str| format!(r#"[{{"dnsName":"{name}","targets":["192.0.2.1"],"recordType":"A","recordTTL":60}}]"#);
    let lower = format!(r#"{{"create":{},"updateOld":null,"updateNew":null,"delete":null}}"#, one("a.example.com"));
    let upper = format!(r#"{{"Create":{},"UpdateOld":null,"UpdateNew":null,"Delete":null}}"#, one("b.example.com"));
    assert_eq!(fixture.answer("POST", "/records", &lower).0, 204);
    assert_eq!(fixture.answer("POST", "/records", &upper).0, 204);
    let wanted = r#"[{"dnsName":"a.example.com","targets":["192.0.2.1"],"recordType":"A","recordTTL":60,"labels":{"owner":"prod"}},{"dnsName":"b.example.com","targets":["192.0.2.1"],"recordType":"A","recordTTL":60,"labels":{"owner":"prod"}}]"#;
    assert_eq!(fixture.answer("GET", "/records", ""), (200, wanted.to_owned()));
    let delete = format!(r#"{{"Delete":{}}}"#, one("A.EXAMPLE.com."));
    assert_eq!(fixture.answer("POST", "/records", &delete).0, 204, "deletes match by key in any spelling");
    let both = format!(r#"{{"create":{},"delete":{}}}"#, one("b.example.com"), one("b.example.com"));
    assert_eq!(fixture.answer("POST", "/records", &both).0, 204, "an upsert of the same key is no delete");
    assert_eq!(fixture.answer("GET", "/records", "").1.matches("dnsName").count(), 1);
}

#[test]
fn endpoints_have_one_form_and_the_form_of_it_is_itself() {
    let fixture = Fixture::start(r#","ttlMin":60,"ttlMax":3600"#);
    let given = json!([
        {"dnsName": "WWW.Example.COM.", "recordType": "CNAME", "targets": ["edge.example.net."], "recordTTL": 5},
        {"dnsName": "bücher.example.com", "recordType": "AAAA", "targets": ["2001:DB8:0:0::1", "2001:db8::1"],
            "recordTTL": 99_999, "labels": {"resource": "ingress/shop/books"}},
        {"dnsName": "mail.example.com", "recordType": "MX", "targets": ["10 mx.example.net."]},
        {"dnsName": "_sip._tcp.example.com", "recordType": "SRV", "targets": ["0 5 443 sip.example.net."]},
        {"dnsName": "t.example.com", "recordType": "TXT", "targets": ["\"v=spf1 -all\""], "recordTTL": 0},
        {"dnsName": "p.example.com", "recordType": "A", "targets": ["192.0.2.1"], "providerSpecific": [
            {"name": "webhook/share", "value": "true"}, {"name": "aws/weight", "value": "1"},
            {"name": "alias", "value": "false"}, {"name": "alias", "value": "true"}]},
        {"dnsName": "bad.example.com", "recordType": "A", "targets": ["nonsense"], "recordTTL": 60},
        {"dnsName": "outside.example.org", "recordType": "A", "targets": ["192.0.2.1"]}]);
    let (status, first) = fixture.answer("POST", "/adjustendpoints", &given.to_string());
    assert_eq!(status, 200);
    let adjusted: Value = serde_json::from_str(&first).expect("JSON");
    let wanted = json!([
        {"dnsName": "www.example.com", "targets": ["edge.example.net"], "recordType": "CNAME", "recordTTL": 60},
        {"dnsName": "xn--bcher-kva.example.com", "targets": ["2001:db8::1"], "recordType": "AAAA", "recordTTL": 3600,
            "labels": {"resource": "ingress/shop/books"}},
        {"dnsName": "mail.example.com", "targets": ["10 mx.example.net"], "recordType": "MX"},
        {"dnsName": "_sip._tcp.example.com", "targets": ["0 5 443 sip.example.net."], "recordType": "SRV"},
        {"dnsName": "t.example.com", "targets": ["\"v=spf1 -all\""], "recordType": "TXT"},
        {"dnsName": "p.example.com", "targets": ["192.0.2.1"], "recordType": "A", "providerSpecific": [
            {"name": "alias", "value": "false"}, {"name": "webhook/share", "value": "true"}]},
        {"dnsName": "bad.example.com", "targets": ["nonsense"], "recordType": "A", "recordTTL": 60}]);
    assert_eq!(adjusted, wanted);
    assert_eq!(fixture.answer("POST", "/adjustendpoints", &first), (200, first.clone()), "octet for octet");

    // What is accepted is shown as it was adjusted, but for labels and TTLs that were left out.
    let good: Vec<Value> = adjusted.as_array().expect("a list")[..6].to_vec();
    assert_eq!(fixture.answer("POST", "/records", &json!({"create": good}).to_string()).0, 204);
    let mut shown: Vec<Value> = serde_json::from_str(&fixture.answer("GET", "/records", "").1).expect("JSON");
    let mut wanted = good;
    for one in &mut wanted {
        if one.get("recordTTL").is_none() {
            one["recordTTL"] = json!(300);
        }
        one["labels"]["owner"] = json!("prod");
    }
    let name = |one: &Value| one["dnsName"].as_str().expect("a name").to_owned();
    shown.sort_by_key(name);
    wanted.sort_by_key(name);
    assert_eq!(shown, wanted);
}

#[test]
fn answers_are_compressed_for_clients_that_take_it() {
    let fixture = Fixture::start("");
    let many: Vec<Value> = (0..200)
        .map(|at| json!({"dnsName": format!("h{at}.example.com"), "recordType": "A", "targets": ["192.0.2.1"]}))
        .collect();
    let body = json!(many).to_string();
    let (head, _) = fixture.ask("POST", "/adjustendpoints", &[("accept-encoding", "gzip")], &body);
    assert_eq!((status(&head), header(&head, "content-encoding")), (200, Some("gzip")));
    let (head, plain) = fixture.ask("POST", "/adjustendpoints", &[("accept-encoding", "gzip;q=0, br")], &body);
    assert_eq!((status(&head), header(&head, "content-encoding")), (200, None));
    // Octets of a compressed body are no text, so they are asked for by a client that knows bodies.
    let url = format!("http://{}/externaldns/prod/adjustendpoints", fixture.service.http);
    let token = fixture.token.clone();
    let packed = fixture.service.block_on(async move {
        let request = reqwest::Client::new().post(url).bearer_auth(token).header("accept-encoding", "gzip").body(body);
        request.send().await.expect("an answer").bytes().await.expect("a body")
    });
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, plain);
    assert!(packed.len() * 4 < text.len());
}

#[test]
fn who_is_not_let_in_is_told_at_the_start_and_never_in_a_cycle() {
    let fixture = Fixture::start("");
    let native = fixture.service.make_token("owner", Some("externaldns:prod"));
    let admin = fixture.service.token();
    let ask = |token: Option<&str>, method: &str, path: &str| fixture.service.raw(token, method, path, &[], b"null");
    let cases =
        [(None, "prod"), (Some("tnd_x_y"), "prod"), (Some(native.as_str()), "prod"), (Some(admin.as_str()), "prod")];
    for (token, owner) in cases {
        let (head, _) = ask(token, "GET", &format!("/externaldns/{owner}"));
        assert_eq!(
            (status(&head), header(&head, "www-authenticate")),
            (401, Some("Basic realm=\"tenured\"")),
            "{head}"
        );
        for (method, path) in [("GET", "records"), ("POST", "records"), ("POST", "adjustendpoints")] {
            let (head, body) = ask(token, method, &format!("/externaldns/{owner}/{path}"));
            assert_eq!(status(&head), 503, "{body}");
            assert_eq!(header(&head, "content-type"), Some("application/problem+json"));
        }
    }
    for owner in ["other", "UPPER", "a_b"] {
        let (head, _) = ask(Some(&fixture.token), "GET", &format!("/externaldns/{owner}"));
        assert_eq!(status(&head), 403);
        assert_eq!(status(&ask(Some(&fixture.token), "GET", &format!("/externaldns/{owner}/records")).0), 503);
    }
    // The owner is deleted, and the client lives on: it makes nothing again by itself.
    assert_eq!(fixture.answer("GET", "", "").0, 200);
    assert_eq!(fixture.service.api("DELETE", "/v1/owners/externaldns%3Aprod", None).0, 200);
    assert_eq!(fixture.answer("GET", "", "").0, 403);
    assert_eq!(fixture.answer("POST", "/adjustendpoints", "null").0, 503, "never a list that is empty by mistake");
    assert_eq!(fixture.service.api("PUT", "/v1/owners/externaldns%3Aprod", Some("{}")).0, 201);
    assert_eq!(fixture.answer("GET", "", "").0, 200);
}

#[test]
fn broken_bodies_end_nothing() {
    let fixture = Fixture::start("");
    for body in ["", "{", "[]", "7", r#"{"create":{}}"#, r#"{"create":[{"dnsName":7}]}"#] {
        assert_eq!(fixture.answer("POST", "/records", body).0, 503, "{body}");
    }
    for body in ["", "{", "{}", r#"[{"targets":"x"}]"#] {
        assert_eq!(fixture.answer("POST", "/adjustendpoints", body).0, 503, "{body}");
    }
    // Not a record, and the only one in its zone: it is passed on, so that the change can say what is wrong.
    let bad = r#"[{"dnsName":"www.example.com","recordType":"A","targets":["nonsense"]}]"#;
    assert_eq!(fixture.answer("POST", "/adjustendpoints", bad).1.matches("nonsense").count(), 1);
    let over = format!("[{}null]", "null,".repeat(10)).replace("null", r#"{"recordTTL":1}"#);
    assert_eq!(fixture.answer("POST", "/adjustendpoints", &over).0, 200, "few");
    let many = format!("[{}{{}}]", "{},".repeat(200_000));
    assert_eq!(fixture.answer("POST", "/adjustendpoints", &many).0, 503, "over 200,000 endpoints");
}

#[test]
fn the_filter_is_what_the_token_says() {
    let fixture = Fixture::start(r#","names":["example.com",".example.net"]"#);
    assert_eq!(fixture.answer("GET", "/", ""), (200, r#"{"include":["example.com",".example.net"]}"#.to_owned()));
}

#[test]
fn labels_have_limits_and_what_is_over_them_is_that_record_alone() {
    let fixture = Fixture::start("");
    let with = |name: &str, labels: Value| json!({"dnsName": name, "recordType": "A", "targets": ["192.0.2.1"], "labels": labels});
    let many: serde_json::Map<String, Value> = (0..65).map(|at| (format!("k{at}"), json!("v"))).collect();
    let changes = json!({"create": [
        with("many.example.com", Value::Object(many)),
        with("long.example.com", json!({"resource": "x".repeat(16 * 1024)})),
        with("good.example.com", json!({"resource": "x".repeat(10_000)}))]});
    let (status, body) = fixture.answer("POST", "/records", &changes.to_string());
    assert_eq!(status, 500);
    let body: Value = serde_json::from_str(&body).expect("a problem");
    let codes: Vec<&str> =
        body["results"].as_array().expect("results").iter().filter_map(|one| one["code"].as_str()).collect();
    assert_eq!(codes, ["limit_exceeded", "limit_exceeded"]);
    assert!(fixture.answer("GET", "/records", "").1.contains("good.example.com"));
}

#[test]
fn an_owner_has_one_door() {
    let fixture = Fixture::start("");
    let native = fixture.service.make_token("owner", Some("externaldns:prod"));
    let path = "/v1/owners/externaldns%3Aprod/records";
    let record = r#"{"records":[{"name":"www.example.com.","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(fixture.answer("GET", "", "").0, 200, "from the first call on");
    let (status, body) = fixture.service.api_as(Some(&native), "PUT", path, Some(record));
    assert_eq!((status, body["code"].as_str()), (403, Some("forbidden")), "{body}");
    assert_eq!(fixture.service.api("PUT", path, Some(record)).0, 200, "admin may");
    let transfer = r#"{"from":"externaldns:prod","to":"team-a","match":{"name":"www.example.com."}}"#;
    assert_eq!(fixture.service.api("POST", "/v1/transfers", Some(transfer)).0, 200);
}

#[test]
fn calls_renew_a_lease_and_records_of_a_lost_cluster_are_listed() {
    let fixture = Fixture::start("");
    let create = r#"{"create":[{"dnsName":"www.example.com","recordType":"A","targets":["192.0.2.1"]}]}"#;
    assert_eq!(fixture.answer("POST", "/records", create).0, 204);
    let owner = "/v1/owners/externaldns%3Aprod";
    assert_eq!(fixture.service.api("PUT", owner, Some(r#"{"leaseSeconds":600}"#)).0, 200);
    let expires = || fixture.service.api("GET", owner, None).1["lease"]["expiresAt"].as_str().map(str::to_owned);
    for (method, path) in [("GET", "/"), ("GET", "/records"), ("POST", "/adjustendpoints"), ("POST", "/records")] {
        let before = expires();
        fixture.service.clock.advance(60_000);
        assert!(
            (200..=204).contains(
                &fixture
                    .answer(
                        method,
                        path,
                        if method == "GET" { "" } else { "null" }
                            .replace("null", if path == "/records" { "{}" } else { "null" })
                            .as_str()
                    )
                    .0
            )
        );
        assert!(expires() > before, "{method} {path}");
    }
}

#[test]
fn what_no_call_lists_for_a_day_is_unconfirmed() {
    let fixture = Fixture::start("");
    let one = |name: &str| json!({"dnsName": name, "recordType": "A", "targets": ["192.0.2.1"]});
    let create = json!({"create": [one("kept.example.com"), one("left.example.com")]});
    assert_eq!(fixture.answer("POST", "/records", &create.to_string()).0, 204);
    let orphans = || fixture.service.api("GET", "/v1/orphans?reason=ownerUnconfirmed", None).1["items"].clone();
    let list = |times: usize, step: u64| {
        for _ in 0..times {
            fixture.service.clock.advance(step);
            assert_eq!(
                fixture.answer("POST", "/adjustendpoints", &json!([one("kept.example.com")]).to_string()).0,
                200
            );
        }
    };
    list(19, 70 * 60 * 1_000);
    assert_eq!(orphans(), json!([]), "nineteen calls, and not a day");
    fixture.service.clock.advance(2 * 60 * 60 * 1_000);
    assert_eq!(orphans(), json!([]), "nineteen calls");
    list(1, 1_000);
    let found = orphans();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!((&found[0]["name"], &found[0]["reason"]), (&json!("left.example.com."), &json!("ownerUnconfirmed")));
}

#[test]
fn a_wish_that_waits_lapses_when_nobody_lists_it_for_an_hour() {
    let fixture = Fixture::start("");
    let taken = r#"{"records":[{"name":"www.example.com.","type":"A","values":["192.0.2.9"]}]}"#;
    assert_eq!(fixture.service.api("PUT", "/v1/owners/team-a/records", Some(taken)).0, 200);
    let desired = json!([{"dnsName": "www.example.com", "recordType": "A", "targets": ["192.0.2.1"]}]).to_string();
    let queued = || fixture.service.api("GET", "/v1/owners/externaldns%3Aprod", None).1["claims"]["queued"].clone();
    for _ in 0..3 {
        assert_eq!(fixture.answer("POST", "/adjustendpoints", &desired), (200, "[]".to_owned()));
        assert_eq!(queued(), json!(1));
        fixture.service.clock.advance(50 * 60 * 1_000);
    }
    assert_eq!(fixture.answer("POST", "/adjustendpoints", &desired).0, 200);
    fixture.service.clock.advance(50 * 60 * 1_000);
    assert_eq!(fixture.answer("POST", "/adjustendpoints", "null").0, 200);
    assert_eq!(queued(), json!(1), "not an hour yet");
    fixture.service.clock.advance(11 * 60 * 1_000);
    assert_eq!(fixture.answer("POST", "/adjustendpoints", "null").0, 200);
    assert_eq!(queued(), json!(0));
}

#[test]
fn terms_of_a_token_are_read_strictly_and_shown() {
    let service = Service::start();
    for body in [
        r#"{"name":"a b","door":"externaldns"}"#,
        r#"{"name":"a","door":"other"}"#,
        r#"{"name":"a","door":"externaldns","role":"admin"}"#,
        r#"{"name":"a","owner":"x","brake":false}"#,
        r#"{"name":"a","door":"externaldns","onConflict":"maybe"}"#,
        r#"{"name":"a","door":"externaldns","brake":{"most":3}}"#,
        r#"{"name":"a","door":"externaldns","brake":7}"#,
        r#"{"name":"a","door":"externaldns","ttlMin":60,"ttlMax":30}"#,
    ] {
        assert_eq!(service.api("POST", "/v1/tokens", Some(body)).0, 400, "{body}");
    }
    let body = r#"{"name":"a b","door":"externaldns","owner":"k8s:prod/external-dns","onConflict":"reject","share":true,
        "adoptEqual":true,"ttlMin":30,"brake":{"percent":50}}"#;
    let (status, token) = service.api("POST", "/v1/tokens", Some(body));
    assert_eq!(status, 201, "{token}");
    let (_, shown) = service.api("GET", &format!("/v1/tokens/{}", token["id"].as_str().expect("an id")), None);
    let wanted = json!({"onConflict": "reject", "share": true, "adoptEqual": true, "ttlMin": 30,
        "brake": {"min": 10, "percent": 50, "last": 3}});
    assert_eq!((&shown["door"], &shown["externalDns"]), (&json!("externaldns"), &wanted));
    // The owner in the URL is the client's own id then, and the records stand in the forest.
    let token = token["token"].as_str();
    assert_eq!(service.api_as(token, "GET", "/externaldns/anything/records", None).0, 200);
    assert_eq!(service.api("GET", "/v1/owners/k8s%3Aprod%2Fexternal-dns", None).0, 200);
}

#[test]
fn updates_without_effect_and_two_controllers_on_one_url_are_flaps() {
    let fixture = Fixture::start("");
    let one =
        |ttl: i64| json!({"dnsName": "www.example.com", "recordType": "A", "targets": ["192.0.2.1"], "recordTTL": ttl});
    assert_eq!(fixture.answer("POST", "/records", &json!({"create": [one(60)]}).to_string()).0, 204);
    let flaps = || fixture.service.api("GET", "/v1/flaps", None).1["items"].as_array().expect("a list").clone();
    for round in 0..3 {
        assert!(!flaps().iter().any(|one| one["pattern"] == "rewrite"), "{round}");
        let update = json!({"updateOld": [one(30)], "updateNew": [one(60)]}).to_string();
        assert_eq!(fixture.answer("POST", "/records", &update).0, 204);
        fixture.service.clock.advance(60_000);
    }
    let found = flaps().into_iter().find(|one| one["pattern"] == "rewrite").expect("a flap");
    assert_eq!((&found["name"], &found["field"]), (&json!("www.example.com."), &json!("recordTTL")), "{found}");

    for _ in 0..3 {
        for (instance, key) in [("cluster-a", "create"), ("cluster-b", "delete")] {
            let (name, body) = (
                "x-tenured-instance",
                json!({key: [{"dnsName": "two.example.com", "recordType": "A",
                "targets": ["192.0.2.1"]}]})
                .to_string(),
            );
            let (head, _) = fixture.ask("POST", "/records", &[(name, instance)], &body);
            assert_eq!(status(&head), 204);
            fixture.service.clock.advance(300_000);
        }
    }
    let all = flaps();
    let found = all.iter().find(|one| one["name"] == "two.example.com." && one["actors"][0]["token"] == "cluster-a");
    let found = found.unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!(found["actors"].as_array().map(Vec::len), Some(2), "both instances: {found}");
    assert_eq!((&found["periodSeconds"], &found["count"]), (&json!(600), &json!(3)), "{found}");
}

#[test]
fn a_token_is_limited_and_what_is_out_of_policy_is_dropped_unless_it_is_held() {
    let fixture = Fixture::start(r#","types":["A","CNAME"],"names":["in.example.com","example.com"]"#);
    let one =
        |name: &str, rtype: &str, target: &str| json!({"dnsName": name, "recordType": rtype, "targets": [target]});
    let a = one("a.in.example.com", "A", "192.0.2.1");
    let aaaa = one("a.in.example.com", "AAAA", "2001:db8::1");
    let apex = one("example.com", "CNAME", "edge.example.net");
    let (status, body) = fixture.answer("POST", "/adjustendpoints", &json!([a, aaaa, apex]).to_string());
    assert_eq!((status, serde_json::from_str::<Value>(&body).expect("JSON")), (200, json!([a, apex])));
    assert_eq!(
        fixture.answer("POST", "/records", &json!({"create": [a, apex]}).to_string()).0,
        204,
        "an ALIAS is a CNAME"
    );
    let (status, body) = fixture.answer("POST", "/records", &json!({"create": [aaaa]}).to_string());
    assert_eq!(status, 500, "{body}");
    // Held by now and out of policy since: dropping it would delete it.
    let (_, token) =
        fixture.service.api("POST", "/v1/tokens", Some(r#"{"name":"prod","door":"externaldns","types":["AAAA"]}"#));
    let narrowed = Fixture { token: token["token"].as_str().expect("a token").to_owned(), ..fixture };
    let (_, body) = narrowed.answer("POST", "/adjustendpoints", &json!([a, aaaa]).to_string());
    assert_eq!(serde_json::from_str::<Value>(&body).expect("JSON"), json!([a, aaaa]));
}
