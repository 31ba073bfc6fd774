//! Why a name answers what it answers: each way a question can end.

use serde_json::{Value, json};

use super::service::Service;

const ZONE: &str = r#"$ORIGIN example.com.
$TTL 300
@ IN SOA ns hostmaster 7 7200 900 1209600 300
@ NS ns
ns A 192.0.2.1
www CNAME ns
out CNAME www.example.net.
*.apps A 192.0.2.100
sub NS ns.sub
ns.sub A 192.0.2.53
old DNAME new
x.new A 192.0.2.7
@ ALIAS ns
dead ALIAS nothing
deep.ent TXT "x"
loop1 CNAME loop2
loop2 CNAME loop1
"#;

#[test]
fn every_way_a_question_can_end_is_told() {
    let service = Service::start();
    let (status, report) = service.api("PUT", "/v1/zones/example.com/zonefile", Some(ZONE));
    assert_eq!(status, 200, "{report}");
    for (query, rcode, steps, records) in [
        ("name=ns.example.com", "NOERROR", "zone found", json!(["ns.example.com. 300 A 192.0.2.1"])),
        (
            "name=WWW.example.com&type=a",
            "NOERROR",
            "zone cname zone found",
            json!(["www.example.com. 300 CNAME ns.example.com.", "ns.example.com. 300 A 192.0.2.1"]),
        ),
        (
            "name=out.example.com",
            "NOERROR",
            "zone cname outside",
            json!(["out.example.com. 300 CNAME www.example.net."]),
        ),
        ("name=a.apps.example.com", "NOERROR", "zone wildcard found", json!(["a.apps.example.com. 300 A 192.0.2.100"])),
        ("name=h.sub.example.com", "NOERROR", "zone cut", json!(["sub.example.com. 300 NS ns.sub.example.com."])),
        (
            "name=x.old.example.com",
            "NOERROR",
            "zone dname zone found",
            json!(["old.example.com. 300 DNAME new.example.com.", "x.new.example.com. 300 A 192.0.2.7"]),
        ),
        ("name=example.com", "NOERROR", "zone alias", json!(["example.com. 300 A 192.0.2.1"])),
        ("name=dead.example.com", "NOERROR", "zone alias", json!([])),
        ("name=ns.example.com&type=MX", "NOERROR", "zone nodata", json!([])),
        ("name=ent.example.com", "NOERROR", "zone nodata", json!([])),
        ("name=missing.example.com", "NXDOMAIN", "zone nxdomain", json!([])),
        ("name=example.net", "REFUSED", "noZone", json!([])),
    ] {
        let (status, told) = service.api("GET", &format!("/v1/explain?{query}"), None);
        assert_eq!(status, 200, "{query}: {told}");
        let words: Vec<&str> = told["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|step| step["step"].as_str().expect("a word"))
            .collect();
        assert_eq!((&told["answer"]["rcode"], words.join(" ").as_str()), (&json!(rcode), steps), "{query}: {told}");
        assert_eq!(told["answer"]["records"], records, "{query}: {told}");
        let held = !matches!(rcode, "NXDOMAIN" | "REFUSED") && !steps.ends_with("nodata");
        let holder = if held { json!("zone:example.com.") } else { Value::Null };
        assert_eq!(told["holder"]["owner"], holder, "{query}: {told}");
    }
    let (_, told) = service.api("GET", "/v1/explain?name=loop1.example.com", None);
    assert_eq!(told["steps"].as_array().expect("steps").last().expect("one")["step"], "chain", "{told}");
    assert_eq!(
        (&told["answer"]["rcode"], told["answer"]["records"].as_array().map(Vec::len)),
        (&json!("NOERROR"), Some(2))
    );
    assert_eq!(service.api("GET", "/v1/explain", None).0, 400);
    assert_eq!(service.api("GET", "/v1/explain?name=a.example&type=ANY", None).0, 400);
}

#[test]
fn who_holds_who_waits_and_what_changed_is_told() {
    let service = Service::with_zone();
    let first = r#"{"kind":"Gateway","parent":"shop","records":[{"name":"www.example.com","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(service.api("PUT", "/v1/owners/web/records", Some(first)).0, 200);
    let second = r#"{"records":[{"name":"www.example.com","type":"A","values":["192.0.2.2"]}]}"#;
    assert_eq!(service.api("PUT", "/v1/owners/other/records?onConflict=queue", Some(second)).0, 207);
    let (_, told) = service.api("GET", "/v1/explain?name=www.example.com", None);
    assert_eq!((&told["holder"]["owner"], &told["holder"]["parents"]), (&json!("web"), &json!(["shop"])), "{told}");
    assert_eq!((&told["queued"][0]["owner"], &told["queued"][0]["values"]), (&json!("other"), &json!(["192.0.2.2"])));
    assert_eq!(told["changes"].as_array().map(Vec::len), Some(2), "{told}");
    let verdict = told["verdict"].as_str().expect("a sentence");
    assert!(verdict.contains("held by web") && verdict.contains("other waits"), "{verdict}");
}
