//! Owners over HTTP, seen over DNS: create, conflict, dry run, cascade, zones.

use serde_json::json;

use super::server::{Server, part};

fn server_with_zone(folder: &std::path::Path) -> Server {
    let server = Server::start(folder, &[]);
    let (status, body) = server.api("PUT", "/v1/zones/example.com.", Some(json!({"defaultTtl": 120})));
    assert_eq!(status, 201, "{body}");
    server
}

#[test]
fn a_record_comes_changes_and_goes_with_its_owner_in_the_same_second() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    let path = "/v1/owners/team-a/records/www.example.com./A";
    let (status, body) = server.api("PUT", path, Some(json!({"values": ["192.0.2.1"]})));
    assert_eq!(status, 200, "{body}");
    let reply = server.ask_both("www.example.com", "A");
    assert_eq!((reply.data(), reply.ttl()), (vec!["192.0.2.1"], 120));
    let (status, body) = server.api("PUT", path, Some(json!({"ttl": 60, "values": ["192.0.2.2", "192.0.2.1"]})));
    assert_eq!(status, 200, "{body}");
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.1", "192.0.2.2"]);
    let (_, records) = server.api("GET", "/v1/records?name=www.example.com.", None);
    assert_eq!(records["items"][0]["owner"], "team-a", "{records}");
    assert_eq!(server.api("DELETE", path, None).0, 200);
    let reply = server.ask_both("www.example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.authority.len()), ("NXDOMAIN", 1));
    let (_, records) = server.api("GET", "/v1/records?name=www.example.com.", None);
    assert_eq!(records["items"], json!([]));
}

#[test]
fn a_conflict_names_the_holder_with_its_parents_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    let path = |owner: &str| format!("/v1/owners/{}/records", part(owner));
    let first = json!({"kind": "Gateway", "parent": "shop", "records": [
        {"name": "www.example.com.", "type": "A", "values": ["192.0.2.1"]}]});
    assert_eq!(server.api("PUT", &path("shop/web"), Some(first)).0, 200);
    let second = json!({"records": [{"name": "WWW.Example.com", "type": "a", "values": ["192.0.2.9"]}]});
    let (status, body) = server.api("PUT", &path("intruder"), Some(second));
    assert_eq!(status, 207, "{body}");
    let item = &body["results"][0];
    assert_eq!((item["outcome"].as_str(), item["code"].as_str()), (Some("conflict"), Some("owned_by_other")), "{body}");
    let holder = &item["holder"];
    assert_eq!((&holder["owner"], &holder["kind"]), (&json!("shop/web"), &json!("Gateway")), "{body}");
    assert_eq!(holder["parents"], json!(["shop"]), "{body}");
    assert_eq!(server.ask("www.example.com", "A").data(), ["192.0.2.1"]);
    let single = "/v1/owners/intruder/records/www.example.com./CNAME";
    let (status, body) = server.api("PUT", single, Some(json!({"values": ["elsewhere.example.net."]})));
    assert_eq!((status, body["code"].as_str()), (409, Some("cname_exclusive")), "{body}");
    assert_eq!(body["holder"]["owner"], "shop/web", "{body}");
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    let soa = server.ask("example.com", "SOA").answer;
    let wish = json!({"records": [{"name": "www.example.com.", "type": "A", "values": ["192.0.2.1"]}]});
    let (status, body) = server.api("PUT", "/v1/owners/team-a/records?dryRun=true", Some(wish.clone()));
    assert_eq!((status, body["summary"]["created"].as_u64()), (200, Some(1)), "{body}");
    assert_eq!(server.ask("www.example.com", "A").rcode, "NXDOMAIN");
    assert_eq!(server.ask("example.com", "SOA").answer, soa);
    assert_eq!(server.api("PUT", "/v1/owners/team-a/records", Some(wish.clone())).0, 200);
    // An identical write changes nothing, whatever is in it.
    let soa = server.ask("example.com", "SOA").answer;
    let (status, body) = server.api("PUT", "/v1/owners/team-a/records", Some(wish));
    assert_eq!((status, body["summary"]["unchanged"].as_u64()), (200, Some(1)), "{body}");
    assert_eq!(server.ask("example.com", "SOA").answer, soa);
}

#[test]
fn deleting_an_owner_takes_its_whole_subtree_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    for (owner, parent, host) in
        [("project", None, "p"), ("namespace", Some("project"), "n"), ("gateway", Some("namespace"), "g")]
    {
        let mut body = json!({"records": [
            {"name": format!("{host}.example.com."), "type": "A", "values": ["192.0.2.1"]}]});
        if let Some(parent) = parent {
            body["parent"] = json!(parent);
        }
        let (status, body) = server.api("PUT", &format!("/v1/owners/{owner}/records"), Some(body));
        assert_eq!(status, 200, "{body}");
    }
    let (status, body) = server.api("DELETE", "/v1/owners/project", None);
    assert_eq!((status, body["code"].as_str()), (409, Some("has_children")), "{body}");
    let (status, body) = server.api("DELETE", "/v1/owners/project?cascade=true", None);
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["ownersDeleted"], json!(3), "{body}");
    for host in ["p", "n", "g"] {
        assert_eq!(server.ask_both(&format!("{host}.example.com"), "A").rcode, "NXDOMAIN");
    }
    assert_eq!(server.api("GET", "/v1/owners/gateway", None).0, 404);
    // Once more is no error.
    assert_eq!(server.api("DELETE", "/v1/owners/project?cascade=true", None).0, 200);
}

#[test]
fn a_swap_of_cname_and_address_leaves_no_moment_without_an_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    let wishes = [
        json!({"records": [{"name": "www.example.com.", "type": "CNAME", "values": ["edge.example.net."]}]}),
        json!({"records": [{"name": "www.example.com.", "type": "A", "values": ["192.0.2.1"]}]}),
    ];
    assert_eq!(server.api("PUT", "/v1/owners/team-a/records", Some(wishes[0].clone())).0, 200);
    let dns = server.dns;
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asking = std::thread::spawn({
        let done = done.clone();
        move || {
            let mut asked = 0_u64;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let reply = super::dns::ask(dns, super::dns::Over::Udp, "www.example.com", "A");
                assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 1), "{reply:?}");
                asked += 1;
            }
            asked
        }
    });
    for turn in 1..=40 {
        let (status, body) = server.api("PUT", "/v1/owners/team-a/records", Some(wishes[turn % 2].clone()));
        assert_eq!(status, 200, "{body}");
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(asking.join().expect("always an answer") > 40);
}

#[test]
fn a_zone_is_imported_shown_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let text = "$TTL 300\n@ IN SOA ns hostmaster 7 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n";
    let file = folder.path().join("example.org.zone");
    std::fs::write(&file, text).expect("a file");
    let output = server.command(&["zone", "import", "example.org.zone"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.ask_both("www.example.org", "A").data(), ["192.0.2.2"]);
    let (status, body) = server.api("GET", "/v1/zones/example.org.", None);
    assert_eq!((status, body["owner"].as_str()), (200, Some("zone:example.org.")), "{body}");
    let (_, list) = server.api("GET", "/v1/zones", None);
    assert_eq!(list["items"][0]["recordCount"], json!(4), "{list}");
    assert_eq!(server.api("DELETE", "/v1/zones/example.org.", None).0, 200);
    assert_eq!(server.ask_both("www.example.org", "A").rcode, "REFUSED");
}

#[test]
fn without_a_token_nothing_is_read_or_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    for token in ["", "tnd_wrong_token", "nonsense"] {
        assert_eq!(server.api_as(token, "GET", "/v1/zones", None).0, 401);
        let put = server.api_as(token, "PUT", "/v1/zones/example.net.", Some(json!({})));
        assert_eq!((put.0, put.1["code"].as_str()), (401, Some("unauthorized")), "{}", put.1);
    }
    assert_eq!(server.api_as("", "GET", "/livez", None).0, 200);
    assert_eq!(server.api_as("", "GET", "/readyz", None).0, 200);
    let token = folder.path().join("tenured.db.token");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(token).expect("it").permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_write_that_closes_an_alias_loop_is_refused_with_the_path_and_blocks_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    let put = |owner: &str, records: serde_json::Value| {
        server.api("PUT", &format!("/v1/owners/{owner}/records?prune=false"), Some(json!({"records": records})))
    };
    let alias = |name: &str, target: &str| json!({"name": name, "type": "ALIAS", "values": [target]});
    assert_eq!(put("a", json!([alias("a1.example.com.", "a2.example.com.")])).0, 200);
    let address = json!({"name": "fine.example.com.", "type": "A", "values": ["192.0.2.1"]});
    let (status, body) = put("a", json!([alias("a2.example.com.", "a1.example.com."), address]));
    assert_eq!(status, 207, "{body}");
    let refused = body["results"].as_array().expect("results").iter().find(|item| item["type"] == "ALIAS").expect("it");
    assert_eq!(refused["code"], "alias_loop", "{body}");
    let detail = refused["detail"].as_str().expect("a sentence");
    assert!(
        detail.contains("a2.example.com. ALIAS a1.example.com.") && detail.contains("a1.example.com. ALIAS"),
        "{body}"
    );
    assert_eq!(server.ask_both("fine.example.com", "A").data(), ["192.0.2.1"]);
    // A wildcard that its own target matches, and a CNAME that an ALIAS leads to, whichever is written last.
    let single = |name: &str, rtype: &str, target: &str| {
        server.api("PUT", &format!("/v1/owners/b/records/{}/{rtype}", part(name)), Some(json!({"values": [target]})))
    };
    let (status, body) = single("*.w.example.com.", "ALIAS", "x.w.example.com.");
    assert_eq!((status, body["code"].as_str()), (422, Some("alias_loop")), "{body}");
    assert_eq!(single("k2.example.com.", "ALIAS", "k1.example.com.").0, 200);
    let (status, body) = single("k1.example.com.", "CNAME", "k2.example.com.");
    assert_eq!((status, body["code"].as_str()), (422, Some("alias_loop")), "{body}");
    // CNAMEs alone may do as they like.
    assert_eq!(single("c1.example.com.", "CNAME", "c2.example.com.").0, 200);
    assert_eq!(single("c2.example.com.", "CNAME", "c1.example.com.").0, 200);
    let (status, body) = server.api("GET", "/v1/alias-targets?state=nonsense", None);
    assert_eq!((status, body["code"].as_str()), (400, Some("bad_request")), "{body}");
}

#[test]
fn what_an_alias_points_at_is_kept_on_request_and_otherwise_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_with_zone(folder.path());
    for (name, rtype, value, owner) in [
        ("edge.example.com", "A", "192.0.2.7", "team-edge"),
        ("shop.example.com", "ALIAS", "edge.example.com.", "team-shop"),
    ] {
        let output = server.command(&["record", "set", name, rtype, value, "--owner", owner]);
        assert!(output.status.success(), "{output:?}");
    }
    let delete = ["record", "delete", "edge.example.com", "A", "--owner", "team-edge"];
    let output = server.command(&[&delete[..], &["--keep-targets"]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("shop.example.com"), "{told}");
    assert_eq!(server.ask_both("shop.example.com", "A").data(), ["192.0.2.7"]);
    let output = server.command(&["owner", "delete", "team-edge", "--keep-targets"]);
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(server.ask_both("shop.example.com", "A").data(), ["192.0.2.7"]);

    let output = server.command(&delete);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("shop.example.com") && told.contains("team-shop"), "{told}");
    let reply = server.ask_both("shop.example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.data().len()), ("NOERROR", 0));
}
