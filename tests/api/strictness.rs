//! What says too much, or the same twice, or is no JSON, is refused; hostile paths are names or clear errors.

use serde_json::{Value, json};

use super::service::{Service, part};

#[test]
fn unknown_keys_and_parameters_are_refused_by_name() {
    let service = Service::with_zone();
    let records = "/v1/owners/team-a/records";
    for (method, path, body, part) in [
        ("PUT", "/v1/zones/example.net", r#"{"nameserver":[]}"#, "nameserver"),
        ("PUT", records, r#"{"records":[],"recrods":[]}"#, "recrods"),
        ("PUT", records, r#"{"records":[{"name":"a.example.com","type":"A","values":[],"value":1}]}"#, "value"),
        ("PUT", records, r#"{"records":[],"records":[]}"#, "duplicate"),
        ("PUT", records, r#"{}"#, "records"),
        ("PUT", records, r#"{"records":[],"labels":{"a":"b","a":"c"}}"#, "duplicate"),
        ("PUT", records, r#"{"records":[],"generation":1.5}"#, "generation"),
        ("PUT", records, r#"{"records":[],"source":{"planet":"x"}}"#, "planet"),
        ("PUT", "/v1/owners/team-a/records?prnue=true", r#"{"records":[]}"#, "prnue"),
        ("PUT", "/v1/owners/team-a/records?prune=maybe", r#"{"records":[]}"#, "prune"),
        ("PUT", "/v1/owners/team-a/records?onConflict=fight", r#"{"records":[]}"#, "onConflict"),
        ("PUT", "/v1/owners/team-a/records?maxDeletes=-1", r#"{"records":[]}"#, "maxDeletes"),
        ("PUT", "/v1/owners/team-a/records?refs=maybe", r#"{"records":[]}"#, "refs"),
        ("PUT", "/v1/owners/team-a/records?dryRun&dryRun", r#"{"records":[]}"#, "twice"),
        ("GET", "/v1/records?zome=example.com", "", "zome"),
        ("GET", "/v1/records?state=lost", "", "held"),
        ("GET", "/v1/records?type=NOTYPE", "", "type"),
        ("GET", "/v1/owners?state=x", "", "active"),
        ("POST", "/v1/tokens", r#"{"name":"x"}"#, "owner"),
        ("POST", "/v1/tokens", r#"{"name":"x","role":"admin","owner":"a"}"#, "owner"),
        ("POST", "/v1/tokens", r#"{"name":"x","role":"god"}"#, "role"),
        ("POST", "/v1/tokens", r#"{"name":"x","role":"read","expiresAt":"2001-01-01T00:00:00Z"}"#, "past"),
    ] {
        let (status, problem) = service.api(method, path, Some(body));
        assert_eq!((status, &problem["code"]), (400, &json!("bad_request")), "{method} {path} {body}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(part)), "{path} {body}: {problem}");
    }
}

#[test]
fn bodies_that_are_no_json_or_too_large_are_refused() {
    let service = Service::with_zone();
    let token = service.token();
    let put = |path: &str, body: &[u8]| {
        let (head, text) = service.raw(Some(&token), "PUT", path, &[], body);
        (head[9..12].to_owned(), serde_json::from_str::<Value>(&text).unwrap_or_default()["code"].clone())
    };
    let records = "/v1/owners/team-a/records";
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    for body in [&b"{\"records\": ["[..], b"{\"records\": [{\"name\": \"\xff\xfe\"}]}", &deep, b"\0", b"null", b"[]"] {
        assert_eq!(put(records, body), ("400".to_owned(), json!("bad_request")));
    }
    let mebibyte = vec![b' '; 1024 * 1024];
    assert_eq!(put("/v1/zones/example.net", &mebibyte).0, "201", "at the limit an empty body is {{}}");
    assert_eq!(put("/v1/zones/example.org", &[&mebibyte[..], b" "].concat()).0, "413");
    // Told by the length alone, before any of it is read.
    for (path, length) in [(records, 64 << 20), ("/v1/zones/example.com/zonefile", 256 << 20)] {
        let headers = [("content-length", (length + 1).to_string())];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let response = service.block_on(async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut stream = tokio::net::TcpStream::connect(service.http).await.expect("a connection");
            let mut head = format!("PUT {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n");
            headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
            head.push_str("\r\n");
            stream.write_all(head.as_bytes()).await.expect("a head that is taken");
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text).await;
            text
        });
        assert!(response.starts_with("HTTP/1.1 413") && response.contains("payload_too_large"), "{response}");
    }
}

#[test]
fn hostile_paths_are_names_or_clear_errors() {
    let service = Service::with_zone();
    let token = service.token();
    let long = part(&"a".repeat(3_000));
    let very_long = "a".repeat(9_000);
    for path in [
        "/v1/zones/../../etc/passwd",
        "/v1/zones/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/v1/zones/%2e",
        "/v1/zones/%2e%2e",
        "/v1/zones/%00",
        "/v1/zones/%ff%fe",
        "/v1/zones/%",
        "/v1/zones/a..b",
        "/v1/zones/",
        "/v1//zones",
        "/v1/zones/%27%3B%20DROP%20TABLE%20zone%3B%20--",
        "/v1/owners/%00/records",
        "/v1/owners//records",
        &format!("/v1/zones/{long}"),
        &format!("/v1/zones/{very_long}"),
        &format!("/v1/owners/{long}"),
    ] {
        let (head, text) = service.raw(Some(&token), "GET", path, &[], b"");
        let status: u16 = head[9..12].parse().expect("a status");
        assert!((400..=404).contains(&status), "{path}: {head}");
        let problem: Value = serde_json::from_str(&text).expect("a problem");
        assert!(problem["code"].is_string() && problem["detail"].is_string(), "{path}: {text}");
        assert!(head.contains("application/problem+json"), "{path}: {head}");
        for secret in ["SELECT", "sqlx", "SQLite", "tenured.db", "src/"] {
            assert!(!text.contains(secret), "{path}: {text}");
        }
    }
}

#[test]
fn hostile_owners_and_values_come_back_as_they_went_in() {
    let service = Service::with_zone();
    let owner = "robert'); DROP TABLE claim;--/../\"\\%s\u{1F4A3}";
    let names =
        ["\\000\\255.example.com.", "'\\;.example.com.", "*.example.com.", "a\\.b.example.com.", "@.example.com."];
    for name in names {
        let path = format!("/v1/owners/{}/records/{}/TXT", part(owner), part(name));
        let (status, report) = service.api("PUT", &path, Some(r#"{"values":["<script> '; -- \\ \""]}"#));
        assert_eq!(status, 200, "{name}: {report}");
    }
    let (status, list) = service.api("GET", &format!("/v1/owners/{}/records", part(owner)), None);
    assert_eq!((status, list["items"].as_array().map(Vec::len)), (200, Some(names.len())), "{list}");
    for item in list["items"].as_array().expect("items") {
        assert_eq!(
            (&item["owner"], &item["values"][0]),
            (&json!(owner), &json!(r#""<script> '; -- \\ \"""#)),
            "{item}"
        );
    }
    let (status, deleted) = service.api("DELETE", &format!("/v1/owners/{}", part(owner)), None);
    assert_eq!((status, &deleted["ownersDeleted"]), (200, &json!(1)), "{deleted}");
}

#[test]
fn one_name_in_all_spellings_is_one_record() {
    let service = Service::with_zone();
    for (at, spelling) in
        ["www.example.com", "WWW.Example.COM.", "\\119ww.example.com.", "w%77w.example.com", "www.example%2ecom%2E"]
            .iter()
            .enumerate()
    {
        let path = format!("/v1/owners/team-a/records/{}/A", spelling.replace('\\', "%5C"));
        let (status, report) = service.api("PUT", &path, Some(r#"{"values":["192.0.2.1"]}"#));
        let outcome = if at == 0 { "created" } else { "unchanged" };
        assert_eq!((status, &report["results"][0]["outcome"]), (200, &json!(outcome)), "{spelling}: {report}");
    }
}

#[test]
fn unknown_routes_and_wrong_methods_are_problems() {
    let service = Service::start();
    for path in ["/v2/zones", "/v1", "/v1/zone", "/livez/x"] {
        let (status, problem) = service.api("GET", path, None);
        assert_eq!((status, &problem["code"]), (404, &json!("not_found")), "{path}: {problem}");
    }
    let token = service.token();
    for (method, path, allowed) in
        [("POST", "/v1/zones", "GET"), ("DELETE", "/v1/records", "GET"), ("PUT", "/livez", "GET")]
    {
        let (head, text) = service.raw(Some(&token), method, path, &[], b"");
        assert!(head.starts_with("HTTP/1.1 405") && text.contains("method_not_allowed"), "{path}: {head} {text}");
        assert!(head.to_ascii_lowercase().contains(&format!("allow: {}", allowed.to_ascii_lowercase())), "{head}");
    }
}

#[test]
fn a_request_id_is_taken_over_or_made() {
    let service = Service::start();
    let id = |given: &str| {
        let (head, _) = service.raw(None, "GET", "/livez", &[("x-request-id", given)], b"");
        head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).expect("an id").to_owned()
    };
    assert_eq!(id("abc-1"), "abc-1");
    assert_eq!(id(&"x".repeat(200)).len(), 16, "one that is too long is replaced");
    assert_ne!(id("a b"), "a b");
}

#[test]
fn the_head_of_a_request_has_its_limits() {
    let service = Service::start();
    let status = |headers: &[(&str, &str)]| {
        let (head, _) = service.raw(None, "GET", "/livez", headers, b"");
        head.get(9..12).map(str::to_owned).unwrap_or_default()
    };
    // Three headers go along with every request of the test.
    let many: Vec<(&str, &str)> = vec![("x-a", "b"); 97];
    assert_eq!(status(&many), "200");
    assert_eq!(status(&[("x-a", "b"), ("x-a", "b")].iter().copied().chain(many).collect::<Vec<_>>()), "431");
    assert_eq!(status(&[("x-a", &"b".repeat(20_000))]), "200");
    assert_eq!(status(&[("x-a", &"b".repeat(30_000))]), "431");
}
