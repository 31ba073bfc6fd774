//! The page at `/ui`, without a browser: what it says of itself, what it escapes, and who may do what.

use crate::service::Service;

fn cookie(token: &str) -> String {
    format!("tenured_token={token}")
}

/// Head and body of a view, with a session or without.
fn view(service: &Service, path: &str, token: Option<&str>) -> (String, String) {
    let cookie = token.map(cookie);
    let mut headers = vec![];
    if let Some(cookie) = &cookie {
        headers.push(("cookie", cookie.as_str()));
    }
    service.raw(None, "GET", path, &headers, b"")
}

/// Sends a form of the page.
fn send(service: &Service, path: &str, token: &str, headers: &[(&str, &str)], form: &str) -> (String, String) {
    let cookie = cookie(token);
    let mut all = vec![("cookie", cookie.as_str()), ("content-type", "application/x-www-form-urlencoded")];
    all.extend_from_slice(headers);
    service.raw(None, "POST", path, &all, form.as_bytes())
}

/// What the forms of a session carry.
fn key(page: &str) -> &str {
    let from = page.split("name=\"key\" value=\"").nth(1).expect("a form with a key");
    from.split('"').next().expect("its end")
}

const VIEWS: [&str; 8] =
    ["/ui", "/ui/overview", "/ui/zones", "/ui/records", "/ui/owners", "/ui/findings", "/ui/alias", "/ui/history"];

#[test]
fn each_view_loads_nothing_from_elsewhere_and_runs_nothing_inline() {
    let service = Service::with_zone();
    let token = service.token();
    for path in VIEWS {
        let (head, body) = view(&service, path, Some(&token));
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        assert!(
            head.contains("content-security-policy: default-src 'none'; style-src 'self'; script-src 'self'"),
            "{head}"
        );
        assert!(head.contains("x-content-type-options: nosniff") && head.contains("x-frame-options: DENY"), "{head}");
        assert!(!head.contains("unsafe-inline"), "{head}");
        for forbidden in ["style=", "onclick", "<style", "src=\"http", "href=\"http"] {
            assert!(!body.contains(forbidden), "{path} has {forbidden}");
        }
        assert!(body.contains("Copy as CLI or curl"), "{path}");
    }
}

#[test]
fn without_a_token_only_somebody_on_this_machine_may_look_and_by_a_name_that_no_other_site_can_take() {
    let service = Service::with_zone();
    // The host of these tests is the name `test`, which any site could let lead here.
    for path in VIEWS {
        let (head, body) = view(&service, path, None);
        assert!(head.starts_with("HTTP/1.1 401"), "{path}: {head}");
        assert!(!body.contains("example.com."), "{path}");
    }
    let near = service.block_on(get(service.http, "127.0.0.1", &[]));
    assert!(near.starts_with("HTTP/1.1 200") && near.contains("read only"), "{near}");
    assert!(!near.contains("Show the plan") && !near.contains("name=\"act\""), "{near}");
    let proxied = service.block_on(get(service.http, "127.0.0.1", &["x-forwarded-for: 192.0.2.1"]));
    assert!(proxied.starts_with("HTTP/1.1 401"), "{proxied}");
}

async fn get(address: std::net::SocketAddr, host: &str, headers: &[&str]) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
    let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!("GET /ui/zones HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).await.expect("a head that is taken");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("a response");
    text
}

#[test]
fn a_token_of_the_cookie_is_for_the_server_alone_and_a_wrong_one_is_none() {
    let service = Service::with_zone();
    let token = service.token();
    let form = format!("token={token}");
    let media = ("content-type", "application/x-www-form-urlencoded");
    let (head, _) = service.raw(None, "POST", "/ui/sign-in", &[media], form.as_bytes());
    assert!(head.starts_with("HTTP/1.1 303"), "{head}");
    assert!(head.contains("Path=/ui; HttpOnly; SameSite=Strict"), "{head}");
    let (head, _) =
        service.raw(None, "POST", "/ui/sign-in", &[media, ("origin", "http://other.example")], form.as_bytes());
    assert!(head.starts_with("HTTP/1.1 403") && !head.contains("set-cookie"), "{head}");
    for wrong in ["token=tnd_a_b", "token=nothing", ""] {
        let (head, _) = service.raw(None, "POST", "/ui/sign-in", &[media], wrong.as_bytes());
        assert!(head.starts_with("HTTP/1.1 401") && !head.contains("set-cookie"), "{wrong}: {head}");
    }
    let (head, _) = view(&service, "/ui/zones", Some("tnd_a_b"));
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
}

#[test]
fn a_reader_sees_no_buttons_that_write_and_its_forms_are_refused() {
    let service = Service::with_zone();
    let body = r#"{"records":[{"name":"www.example.com.","type":"A","values":["192.0.2.1"]}]}"#;
    service.api("PUT", "/v1/owners/team-a/records", Some(body));
    let (reader, admin) = (service.make_token("read", None), service.token());
    for path in ["/ui?name=www.example.com", "/ui/records", "/ui/owners?owner=team-a", "/ui/history"] {
        let (_, page) = view(&service, path, Some(&reader));
        assert!(page.contains("team-a") && !page.contains("name=\"act\""), "{path}");
        let (_, page) = view(&service, path, Some(&admin));
        assert!(page.contains("name=\"act\"") || page.contains("/ui/records/edit"), "{path}");
    }
    let (head, _) = view(&service, "/ui/records/edit", Some(&reader));
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let form = "act=record.delete&owner=team-a&name=www.example.com.&type=A";
    let (head, _) = send(&service, "/ui/do", &reader, &[], form);
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    // Another owner's token has buttons, and the API refuses what they ask for.
    let other = service.make_token("owner", Some("team-b"));
    let (_, page) = view(&service, "/ui/records/edit", Some(&other));
    let (head, page) = send(&service, "/ui/plan", &other, &[], &format!("{form}&key={}", key(&page)));
    assert!(head.starts_with("HTTP/1.1 403") && page.contains("This would be refused"), "{head}");
    assert_eq!(
        service.api("GET", "/v1/records?name=www.example.com.", None).1["items"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn a_form_of_another_site_or_session_does_nothing() {
    let service = Service::with_zone();
    let token = service.token();
    let (_, page) = view(&service, "/ui/records/edit", Some(&token));
    let form =
        format!("key={}&act=record.put&owner=team-a&name=www.example.com.&type=A&ttl=60&values=192.0.2.1", key(&page));
    let foreign: [&[(&str, &str)]; 3] =
        [&[("origin", "http://other.example")], &[("origin", "null")], &[("sec-fetch-site", "cross-site")]];
    for headers in foreign {
        let (head, _) = send(&service, "/ui/do", &token, headers, &form);
        assert!(head.starts_with("HTTP/1.1 403"), "{headers:?}: {head}");
    }
    let (head, _) = send(&service, "/ui/do", &token, &[], &form.replace("key=", "key=0"));
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let count = || service.api("GET", "/v1/records?owner=team-a", None).1["items"].as_array().map(Vec::len);
    assert_eq!(count(), Some(0));
    let (head, page) = send(&service, "/ui/plan", &token, &[("origin", "http://test")], &form);
    assert!(head.starts_with("HTTP/1.1 200") && page.contains("Nothing has been changed so far"), "{head}");
    assert_eq!(count(), Some(0), "a plan changes nothing");
    let (head, page) = send(&service, "/ui/do", &token, &[("origin", "http://test")], &form);
    assert!(head.starts_with("HTTP/1.1 200") && page.contains("It is stored, and served."), "{head}");
    assert_eq!(count(), Some(1));
}

#[test]
fn markup_in_names_owners_and_values_stays_text() {
    let service = Service::with_zone();
    let body = r#"{"kind":"<i>kind</i>","records":[{"name":"www.example.com.","type":"TXT","values":["<script>value</script>"]}]}"#;
    let (status, answer) = service.api("PUT", "/v1/owners/%3Cb%3Eowner%3C%2Fb%3E/records", Some(body));
    assert_eq!(status, 200, "{answer}");
    let token = service.token();
    let paths = [
        "/ui?name=www.example.com&type=TXT",
        "/ui?name=%3Cscript%3Evalue%3C/script%3E&type=%22%3E%3Ci%3Ekind%3C/i%3E",
        "/ui/records",
        "/ui/owners",
        "/ui/owners?owner=%3Cb%3Eowner%3C%2Fb%3E",
        "/ui/history",
        "/ui/records/edit?owner=%3Cb%3Eowner%3C%2Fb%3E&name=www.example.com.&type=TXT&zone=example.com.",
    ];
    for path in paths {
        let (_, page) = view(&service, path, Some(&token));
        for markup in ["<script>value", "<b>owner", "<i>kind"] {
            assert!(!page.contains(markup), "{path} has {markup}");
        }
    }
}

#[test]
fn commands_quote_what_a_shell_would_read_otherwise() {
    let service = Service::with_zone();
    let (_, page) = view(&service, "/ui?name=%24%28id%29%27x", Some(&service.token()));
    assert!(page.contains("tenured explain &#39;$(id)&#39;\\&#39;&#39;x&#39;"), "{page}");
}

#[test]
fn paths_that_are_not_of_the_page_keep_their_answers() {
    let service = Service::start();
    let (head, _) = view(&service, "/ui/nothing", Some(&service.token()));
    assert!(head.starts_with("HTTP/1.1 404") && head.contains("text/html"), "{head}");
    let (head, body) = view(&service, "/nothing", None);
    assert!(head.starts_with("HTTP/1.1 404") && head.contains("application/problem+json"), "{head}");
    assert!(body.contains("not_found"), "{body}");
    let (head, _) = view(&service, "/", None);
    assert!(head.starts_with("HTTP/1.1 303") && head.contains("location: /ui"), "{head}");
}
