//! Lists page by page.

use serde_json::{Value, json};

use super::service::{Service, part};

/// All rows of a list in pages of `limit`, and how many pages it took.
fn all(service: &Service, path: &str, limit: usize) -> (Vec<Value>, usize) {
    let separator = if path.contains('?') { '&' } else { '?' };
    let (mut rows, mut pages, mut next) = (Vec::new(), 0, None::<String>);
    loop {
        let after = next.map(|next| format!("&continue={next}")).unwrap_or_default();
        let (status, page) = service.api("GET", &format!("{path}{separator}limit={limit}{after}"), None);
        assert_eq!(status, 200, "{page}");
        assert!(page["revision"].is_u64(), "each page names its revision: {page}");
        let items = page["items"].as_array().expect("rows").clone();
        assert!(items.len() <= limit);
        rows.extend(items);
        pages += 1;
        next = page["continue"].as_str().map(str::to_owned);
        if next.is_none() {
            return (rows, pages);
        }
    }
}

fn filled() -> Service {
    let service = Service::with_zone();
    for zone in ["a.example.", "b.example.", "c.example."] {
        assert_eq!(service.api("PUT", &format!("/v1/zones/{zone}"), Some("{}")).0, 201);
    }
    for owner in ["team-a", "team-b", "team-c"] {
        let records: Vec<Value> = (0..7)
            .map(|at| {
                let name = format!("{owner}-{at}.example.com.");
                json!({"name": name, "type": "A", "values": ["192.0.2.1"], "labels": {"odd": (at % 2).to_string(), "x": "y"}})
            })
            .collect();
        let body = json!({"records": records, "source": {"cluster": owner}}).to_string();
        let path = format!("/v1/owners/{owner}/records");
        let (status, report) = service.api("PUT", &path, Some(&body));
        if status == 400 {
            let body = json!({"records": records}).to_string();
            assert_eq!(service.api("PUT", &path, Some(&body)).0, 200);
            let source = json!({"source": {"cluster": owner}}).to_string();
            assert_eq!(service.api("PUT", &format!("/v1/owners/{owner}"), Some(&source)).0, 200);
        } else {
            assert_eq!(status, 200, "{report}");
        }
    }
    service
}

#[test]
fn pages_of_any_size_make_up_the_same_list() {
    let service = filled();
    service.make_token("read", None);
    for path in [
        "/v1/records",
        "/v1/records?zone=example.com",
        "/v1/records?owner=team-b",
        "/v1/records?zone=example.com&owner=team-b&type=A",
        "/v1/records?name=team-a-1.example.com",
        "/v1/records?labels=odd%3D1,x%3Dy",
        "/v1/owners/team-a/records",
        "/v1/owners",
        "/v1/owners?source.cluster=team-b",
        "/v1/zones",
        "/v1/tokens",
        "/v1/changes",
        "/v1/changes?owner=team-c",
        "/v1/changes?name=team-a-1.example.com",
    ] {
        let (whole, pages) = all(&service, path, 5000);
        assert_eq!(pages, 1, "{path}");
        assert!(!whole.is_empty(), "{path}");
        for limit in [1, 2, 3, 7, whole.len()] {
            let (rows, pages) = all(&service, path, limit);
            assert_eq!(rows, whole, "{path} by {limit}");
            assert_eq!(
                pages,
                whole.len().div_ceil(limit),
                "{path} by {limit}: a full last page says that it is the last"
            );
        }
    }
    assert_eq!(all(&service, "/v1/records?labels=odd%3D1", 2).0.len(), 9);
    assert_eq!(all(&service, "/v1/owners?source.cluster=team-b", 2).0.len(), 1);
}

#[test]
fn a_list_goes_on_where_it_was_although_its_last_row_is_gone() {
    let service = filled();
    let path = "/v1/records?owner=team-a";
    let (_, page) = service.api("GET", &format!("{path}&limit=3"), None);
    let last = page["items"][2]["name"].as_str().expect("a name");
    assert_eq!(service.api("DELETE", &format!("/v1/owners/team-a/records/{}/A", part(last)), None).0, 200);
    let next = page["continue"].as_str().expect("more");
    let (_, page) = service.api("GET", &format!("{path}&limit=3&continue={next}"), None);
    assert_eq!(page["items"][0]["name"], "team-a-3.example.com.");
}

#[test]
fn a_page_that_cannot_be_is_refused() {
    let service = filled();
    let (_, page) = service.api("GET", "/v1/zones?limit=1", None);
    let of_zones = page["continue"].as_str().expect("more");
    for query in ["limit=0", "limit=5001", "limit=x", "continue=zz", &format!("continue={of_zones}")] {
        let (status, problem) = service.api("GET", &format!("/v1/records?{query}"), None);
        assert_eq!((status, &problem["code"]), (400, &json!("bad_request")), "{query}");
    }
    assert_eq!(service.api("GET", "/v1/records?limit=5000", None).0, 200);
}

#[test]
fn the_newest_changes_can_be_asked_for() {
    let service = filled();
    let (whole, _) = all(&service, "/v1/changes", 5000);
    let (_, newest) = service.api("GET", "/v1/changes?last=2", None);
    assert_eq!(newest["items"].as_array().expect("rows")[..], whole[whole.len() - 2..]);
    let since = whole[0]["revision"].as_u64().expect("a revision");
    let (later, _) = all(&service, &format!("/v1/changes?since={since}"), 2);
    assert!(later.iter().all(|row| row["revision"].as_u64() > Some(since)));
}
