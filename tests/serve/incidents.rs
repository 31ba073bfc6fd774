//! The two incidents that must be impossible, as far as this version shows them: each step by DNS and by API.

use serde_json::{Value, json};

use super::server::{Server, eventually, part};

const GATEWAY: &str = "k8s:prod/Gateway/shop/web";
const PROXY: &str = "k8s:prod/HTTPProxy/shop/web";

fn apply(server: &Server, owner: &str, body: Value) -> (u16, Value) {
    server.api("PUT", &format!("/v1/owners/{}/records", part(owner)), Some(body))
}

fn make_zone(server: &Server, zone: &str) {
    let (status, body) = server.api("PUT", &format!("/v1/zones/{}", part(zone)), Some(json!({})));
    assert_eq!(status, 201, "{body}");
}

/// A server that stands for the resolver: it holds the proxy's zone.
fn upstream(folder: &std::path::Path) -> Server {
    let server = Server::start(folder, &[]);
    make_zone(&server, "proxy.test.");
    let records =
        json!({"records": [{"name": "edge-7f3a.proxy.test.", "type": "A", "ttl": 5, "values": ["192.0.2.10"]}]});
    assert_eq!(apply(&server, "proxies", records).0, 200);
    server
}

#[test]
fn incident_a_the_name_does_not_outlive_its_owner() {
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let upstream = upstream(folders[0].path());
    let server = Server::start(folders[1].path(), &["--upstream", &upstream.dns.to_string()]);
    make_zone(&server, "example.com.");

    // The platform publishes a hostname: a Gateway below its HTTPProxy.
    let (status, body) = apply(
        &server,
        GATEWAY,
        json!({"parent": PROXY, "kind": "Gateway", "records": [
        {"name": "www.example.com.", "type": "ALIAS", "ttl": 300, "values": ["edge-7f3a.proxy.test."]},
        {"name": "example.com.", "type": "ALIAS", "ttl": 300, "values": ["edge-7f3a.proxy.test."]},
        {"name": "www.example.com.", "type": "TXT", "values": ["owned by the gateway"]}]}),
    );
    assert_eq!(status, 200, "{body}");
    for name in ["www.example.com", "example.com"] {
        let reply = server.ask_both(name, "A");
        assert_eq!((reply.rcode.as_str(), reply.data()), ("NOERROR", vec!["192.0.2.10"]), "{reply:?}");
        assert!(reply.authoritative && reply.ttl() <= 5, "{reply:?}");
        let reply = server.ask_both(name, "AAAA");
        assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 0), "{reply:?}");
        assert!(reply.authority[0].starts_with("example.com. "), "{reply:?}");
    }

    // The proxy's canonical name is torn down, and the record stays. One NXDOMAIN is suspected, a second confirms.
    let (status, body) = apply(&upstream, "proxies", json!({"records": []}));
    assert_eq!(status, 200, "{body}");
    let known = server.api("GET", "/v1/aliases/www.example.com.", None);
    assert_eq!(known.0, 200, "{}", known.1);
    let dead = eventually(
        10,
        "a dead target",
        || server.ask("www.example.com", "A"),
        |reply| reply.answer.is_empty() || reply.extended.as_ref().is_some_and(|(code, _)| *code == 3),
    );
    assert_eq!(dead.rcode, "NOERROR", "never SERVFAIL, never NXDOMAIN: {dead:?}");
    assert_eq!(server.ask("www.example.com", "TXT").data(), ["\"owned by the gateway\""]);
    let (status, list) = server.api("GET", "/v1/alias-targets", None);
    assert_eq!(status, 200);
    let row = &list["items"][0];
    assert_eq!(row["target"], "edge-7f3a.proxy.test.", "{list}");
    let record = &row["records"][0];
    assert_eq!((record["owner"].as_str(), record["parents"][0].as_str()), (Some(GATEWAY), Some(PROXY)), "{list}");

    // The hostname moves from www to the bare name: what is no longer wished goes.
    let (status, body) = apply(
        &server,
        GATEWAY,
        json!({"records": [
        {"name": "example.com.", "type": "ALIAS", "ttl": 300, "values": ["edge-7f3a.proxy.test."]}]}),
    );
    assert_eq!((status, body["summary"]["deleted"].as_u64()), (200, Some(2)), "{body}");
    assert_eq!(server.ask_both("www.example.com", "A").rcode, "NXDOMAIN");
    assert_eq!(server.api("GET", "/v1/aliases/www.example.com.", None).0, 404);

    // The proxy is deleted: its whole subtree goes with it, in one request.
    let (status, body) = server.api("DELETE", &format!("/v1/owners/{}?cascade=true", part(PROXY)), None);
    assert_eq!(status, 200, "{body}");
    assert_eq!(server.ask_both("example.com", "A").answer, Vec::<String>::new());
    let (_, owners) = server.api("GET", "/v1/owners", None);
    assert!(!owners.to_string().contains("k8s:prod"), "{owners}");
    let (_, records) = server.api("GET", &format!("/v1/records?owner={}", part(GATEWAY)), None);
    assert_eq!(records["items"], json!([]), "{records}");
    eventually(
        10,
        "no target left",
        || server.api("GET", "/v1/alias-targets", None).1,
        |list| list["items"] == json!([]),
    );
}

#[test]
fn incident_b_the_apex_can_be_owned_and_a_conflict_blocks_only_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "shop.example.com.");

    // Somebody else put an AAAA at the apex of the delegated zone.
    let (status, body) = apply(
        &server,
        "by-hand",
        json!({"records": [
        {"name": "shop.example.com.", "type": "AAAA", "values": ["2001:db8::66"]}]}),
    );
    assert_eq!(status, 200, "{body}");

    // The controller wants A and AAAA there: the conflict is named, and blocks nothing but itself.
    let wish = json!({"records": [
        {"name": "shop.example.com.", "type": "A", "ttl": 60, "values": ["192.0.2.10"]},
        {"name": "shop.example.com.", "type": "AAAA", "ttl": 60, "values": ["2001:db8::10"]}]});
    let (status, body) = apply(&server, "external-dns:prod", wish.clone());
    assert_eq!(status, 207, "{body}");
    let item = body["results"].as_array().expect("results").iter().find(|item| item["type"] == "AAAA").expect("it");
    assert_eq!((&item["outcome"], &item["code"]), (&json!("conflict"), &json!("owned_by_other")), "{body}");
    assert_eq!(item["holder"]["owner"], "by-hand", "{body}");
    assert_eq!(server.ask_both("shop.example.com", "A").data(), ["192.0.2.10"]);
    assert_eq!(server.ask_both("shop.example.com", "AAAA").data(), ["2001:db8::66"]);

    // Whatever is repeated, the A record is no hostage: it is never absent, and the zone is not rewritten.
    let serial = server.ask("shop.example.com", "SOA").answer;
    for _ in 0..10 {
        assert_eq!(apply(&server, "external-dns:prod", wish.clone()).0, 207);
        assert_eq!(server.ask("shop.example.com", "A").data(), ["192.0.2.10"]);
    }
    assert_eq!(server.ask("shop.example.com", "SOA").answer, serial);

    // The other owner lets go: the next wish is fulfilled, and no TXT was ever needed beside the names.
    assert_eq!(apply(&server, "by-hand", json!({"records": []})).0, 200);
    assert_eq!(apply(&server, "external-dns:prod", wish).0, 200);
    assert_eq!(server.ask_both("shop.example.com", "AAAA").data(), ["2001:db8::10"]);
    let (_, records) = server.api("GET", "/v1/records?type=TXT", None);
    assert_eq!(records["items"], json!([]));
}
