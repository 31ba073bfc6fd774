//! Zones, zone files, records, history: made, read, changed, deleted.

use serde_json::json;

use super::service::{Service, part};

#[test]
fn a_zone_is_made_once_read_changed_and_deleted() {
    let service = Service::start();
    let body = r#"{"nameservers":["ns1.example.net."],"contact":"dns@example.net","defaultTtl":120,"owner":"team-a"}"#;
    let (status, zone) = service.api("PUT", "/v1/zones/EXAMPLE.com", Some(body));
    assert_eq!(status, 201, "{zone}");
    for (key, value) in [
        ("name", json!("example.com.")),
        ("owner", json!("team-a")),
        ("defaultTtl", json!(120)),
        ("nameservers", json!(["ns1.example.net."])),
        ("contact", json!("dns@example.net")),
        ("recordCount", json!(2)),
        ("outcome", json!("created")),
        ("serial", json!(2_026_113_001_u32)),
    ] {
        assert_eq!(zone[key], value, "{key} of {zone}");
    }
    let (status, again) = service.api("PUT", "/v1/zones/example.com.", Some(body));
    assert_eq!((status, &again["outcome"]), (200, &json!("unchanged")), "{again}");
    let (status, other) = service.api("PUT", "/v1/zones/example.com.", Some(r#"{"owner":"team-b"}"#));
    assert_eq!((status, &other["code"]), (409, &json!("zone_exists")), "{other}");
    let (status, changed) = service.api("PATCH", "/v1/zones/example.com", Some(r#"{"defaultTtl":60}"#));
    assert_eq!((status, &changed["defaultTtl"]), (200, &json!(60)), "{changed}");
    let (_, list) = service.api("GET", "/v1/zones", None);
    assert_eq!((list["items"].as_array().map(Vec::len), &list["revision"]), (Some(1), &changed["revision"]), "{list}");
    let (_, matched) = service.api("GET", "/v1/zones?match=a.b.example.com", None);
    assert_eq!(matched["items"][0]["name"], "example.com.", "{matched}");
    let (_, none) = service.api("GET", "/v1/zones?match=example.net", None);
    assert_eq!(none["items"], json!([]), "{none}");
    let (status, deleted) = service.api("DELETE", "/v1/zones/example.com", None);
    assert_eq!(status, 200, "{deleted}");
    let (status, gone) = service.api("GET", "/v1/zones/example.com", None);
    assert_eq!((status, &gone["code"]), (404, &json!("not_found")), "{gone}");
}

#[test]
fn an_idn_zone_is_shown_in_both_forms() {
    let service = Service::start();
    let (status, zone) = service.api("PUT", &format!("/v1/zones/{}", part("bücher.example")), None);
    assert_eq!(status, 201, "{zone}");
    assert_eq!(
        (&zone["name"], &zone["unicode"]),
        (&json!("xn--bcher-kva.example."), &json!("bücher.example.")),
        "{zone}"
    );
}

#[test]
fn a_zone_file_is_imported_as_a_full_set_and_exported() {
    let service = Service::start();
    let text = "$TTL 300\n@ IN SOA ns hostmaster 7 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.1\nwww ALIAS ns\n";
    let put = |text: &str| {
        let headers = [("content-type", "text/dns")];
        let token = service.token();
        let (head, body) =
            service.raw(Some(&token), "PUT", "/v1/zones/example.org/zonefile", &headers, text.as_bytes());
        (head[9..12].to_owned(), serde_json::from_str::<serde_json::Value>(&body).expect("JSON"))
    };
    let (status, report) = put(text);
    assert_eq!((status.as_str(), &report["summary"]["created"]), ("200", &json!(4)), "{report}");
    let (_, records) = service.api("GET", "/v1/records?owner=zone:example.org.&type=ALIAS", None);
    assert_eq!(records["items"][0]["values"], json!(["ns.example.org."]), "{records}");
    let token = service.token();
    let (head, export) = service.raw(Some(&token), "GET", "/v1/zones/example.org./zonefile", &[], b"");
    assert!(head.contains("text/dns"), "{head}");
    assert!(export.contains("ALIAS") && export.contains("192.0.2.1"), "{export}");
    let (status, again) = put(&export);
    assert_eq!((status.as_str(), &again["summary"]["unchanged"]), ("200", &json!(4)), "{again}");

    let (status, faulty) = put("@ IN SOA ns hostmaster 7 7200 900 1209600 300\nwww A 192.0.2\n$INCLUDE /etc/passwd\n");
    assert_eq!((status.as_str(), &faulty["code"]), ("422", &json!("invalid_record")), "{faulty}");
    let lines: Vec<_> = faulty["errors"].as_array().expect("errors").iter().map(|error| &error["line"]).collect();
    assert!(lines.contains(&&json!(2)) && lines.contains(&&json!(3)), "{faulty}");
    let (status, foreign) = put(
        "$ORIGIN example.net.\n@ 300 IN SOA ns hostmaster 7 7200 900 1209600 300\n@ 300 NS ns\nns 300 A 192.0.2.1\n",
    );
    assert_eq!((status.as_str(), &foreign["code"]), ("422", &json!("name_out_of_zone")), "{foreign}");
}

#[test]
fn the_history_has_each_change_with_its_values_and_who_made_it() {
    let service = Service::with_zone();
    let path = "/v1/owners/team-a/records/www.example.com./A";
    assert_eq!(service.api("PUT", path, Some(r#"{"values":["192.0.2.1"]}"#)).0, 200);
    assert_eq!(service.api("PUT", path, Some(r#"{"values":["192.0.2.2"],"ttl":60}"#)).0, 200);
    assert_eq!(service.api("DELETE", path, None).0, 200);
    let (status, list) = service.api("GET", "/v1/changes?name=www.example.com", None);
    assert_eq!(status, 200, "{list}");
    let changes = list["items"].as_array().expect("changes");
    assert_eq!(changes.len(), 3, "{list}");
    assert_eq!(
        (&changes[0]["before"], &changes[0]["after"]["values"]),
        (&json!(null), &json!(["192.0.2.1"])),
        "{list}"
    );
    assert_eq!((&changes[1]["before"]["values"], &changes[1]["after"]["ttl"]), (&json!(["192.0.2.1"]), &json!(60)));
    assert_eq!((&changes[2]["after"], &changes[2]["owner"]), (&json!(null), &json!("team-a")));
    assert_eq!(changes[0]["door"], "native");
    let since = changes[1]["revision"].as_u64().expect("a revision");
    let (_, later) = service.api("GET", &format!("/v1/changes?since={since}"), None);
    assert_eq!(later["items"].as_array().map(Vec::len), Some(1), "{later}");
    assert_eq!(service.api("GET", "/v1/changes?limit=0", None).0, 400);
    assert_eq!(service.api("GET", "/v1/changes?limit=5001", None).0, 400);
}

#[test]
fn an_unchanged_read_is_304_and_a_changed_one_is_not() {
    let service = Service::with_zone();
    let token = service.token();
    let get = |tag: &str| service.raw(Some(&token), "GET", "/v1/zones", &[("if-none-match", tag)], b"");
    let (head, _) = get("\"none\"");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("an ETag").to_owned();
    let (head, body) = get(&tag);
    assert!(head.starts_with("HTTP/1.1 304") && body.is_empty(), "{head}");
    assert_eq!(service.api("PATCH", "/v1/zones/example.com", Some(r#"{"defaultTtl":61}"#)).0, 200);
    assert!(get(&tag).0.starts_with("HTTP/1.1 200"));
}

#[test]
fn an_alias_is_listed_with_its_target_its_state_and_its_owners() {
    let service = Service::with_zone();
    let body = r#"{"parent":"shop","records":[
        {"name":"example.com.","type":"ALIAS","ttl":300,"values":["web.example.com."]},
        {"name":"dead.example.com.","type":"ALIAS","values":["nothing.example.com."]},
        {"name":"out.example.com.","type":"ALIAS","values":["edge.example.net."],"alias":{"families":["A"]}},
        {"name":"web.example.com.","type":"A","ttl":60,"values":["192.0.2.1"]}]}"#;
    let (status, report) = service.api("PUT", &format!("/v1/owners/{}/records", part("shop/web")), Some(body));
    assert_eq!(status, 200, "{report}");
    let (status, apex) = service.api("GET", "/v1/aliases/example.com", None);
    assert_eq!(status, 200, "{apex}");
    let record = &apex["records"][0];
    assert_eq!((&apex["target"], &record["serving"]), (&json!("web.example.com."), &json!("fresh")), "{apex}");
    assert_eq!((&record["effectiveTtlSeconds"], &record["ttlLimitedBy"]), (&json!(60), &json!("chain")), "{apex}");
    assert_eq!((&record["owner"], &record["parents"]), (&json!("shop/web"), &json!(["shop"])), "{apex}");
    assert_eq!(record["families"]["A"]["addresses"], json!(["192.0.2.1"]), "{apex}");
    let (_, dead) = service.api("GET", "/v1/alias-targets?state=TargetNXDomain&owner=shop", None);
    assert_eq!(dead["items"][0]["records"][0]["name"], "dead.example.com.", "{dead}");
    assert_eq!(dead["items"].as_array().map(Vec::len), Some(1), "{dead}");
    let (_, out) = service.api("GET", "/v1/alias-targets?target=edge.example.net", None);
    let row = &out["items"][0];
    assert_eq!((&row["upstreamGroup"], &row["state"]), (&json!("default"), &json!("Pending")), "{out}");
    assert_eq!(row["records"][0]["families"].as_object().map(|families| families.len()), Some(1), "{out}");
    let (_, others) = service.api("GET", "/v1/alias-targets?owner=other", None);
    assert_eq!(others["items"], json!([]), "{others}");
    // Of an owner with those below it, to any depth.
    let child =
        r#"{"parent":"deep/1","records":[{"name":"deep.example.com.","type":"ALIAS","values":["x.example.net."]}]}"#;
    assert_eq!(service.api("PUT", "/v1/owners/deep%2F1", Some(r#"{"parent":"deep"}"#)).0, 201);
    assert_eq!(service.api("PUT", "/v1/owners/deep%2F2/records", Some(child)).0, 200);
    for owner in ["deep", "deep%2F1", "deep%2F2"] {
        let (_, found) = service.api("GET", &format!("/v1/alias-targets?owner={owner}"), None);
        assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
        assert_eq!(found["items"][0]["records"][0]["name"], "deep.example.com.", "{found}");
    }
    assert_eq!(service.api("GET", "/v1/aliases/web.example.com", None).0, 404);
    assert_eq!(service.api("GET", "/v1/alias-targets?olderThan=soon", None).0, 400);
}

#[test]
fn health_routes_need_no_token_and_show_alarms() {
    let service = Service::with_zone();
    for path in ["/livez", "/readyz", "/startupz", "/version"] {
        assert_eq!(service.api_as(None, "GET", path, None).0, 200, "{path}");
    }
    service.readiness.raise("store_row", "a row of the store cannot be read: look at the log");
    let (head, text) = service.raw(None, "GET", "/readyz?verbose", &[], b"");
    assert!(head.starts_with("HTTP/1.1 200"), "an alarm is no un-readiness: {head}");
    assert!(text.contains("[+] sockets") && text.contains("[!] store_row: a row"), "{text}");
    service.readiness.stop();
    assert_eq!(service.api_as(None, "GET", "/readyz", None).0, 503);
    assert_eq!(service.api_as(None, "GET", "/livez", None).0, 200);
}

#[test]
fn an_owner_named_after_its_zone_is_emptied_and_stays_with_the_zone() {
    let service = Service::with_zone();
    let body = r#"{"records":[{"name":"www.example.com.","type":"A","values":["192.0.2.1"]}]}"#;
    assert_eq!(service.api("PUT", "/v1/owners/zone%3Aexample.com./records?prune=false", Some(body)).0, 200);
    let (status, deleted) = service.api("DELETE", "/v1/owners/zone%3Aexample.com.", None);
    assert_eq!((status, &deleted["ownersDeleted"]), (200, &json!(0)), "{deleted}");
    assert!(deleted["records"].as_array().is_some_and(|records| !records.is_empty()), "{deleted}");
    let (_, zone) = service.api("GET", "/v1/zones/example.com.", None);
    assert_eq!(zone["owner"], "zone:example.com.", "{zone}");
    let (_, records) = service.api("GET", "/v1/records?owner=zone:example.com.", None);
    assert_eq!(records["items"], json!([]));
    assert_eq!(service.api("DELETE", "/v1/owners/zone%3Aexample.com.", None).0, 200, "it can be repeated");
    // Below an owner that goes, it stays, and nothing is above it any more.
    assert_eq!(service.api("PUT", "/v1/owners/zone%3Aexample.com.", Some(r#"{"parent":"team-a"}"#)).0, 200);
    let (status, deleted) = service.api("DELETE", "/v1/owners/team-a?cascade=true", None);
    assert_eq!((status, &deleted["owners"]), (200, &json!(["team-a"])), "{deleted}");
    let (_, owner) = service.api("GET", "/v1/owners/zone%3Aexample.com.", None);
    assert_eq!(owner["parents"], json!([]), "{owner}");
}
