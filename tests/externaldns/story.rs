//! Incident B, and names that outlive their owner: scenarios 1 to 4.

use serde_json::{Value, json};

use super::door::{Door, apply, endpoint, make_zone, revision, serial};
use super::planner::{Client, Cycle, Policy, Registry};
use super::server::{Server, part};

fn no_text_anywhere(server: &Server) {
    let (_, records) = server.api("GET", "/v1/records?type=TXT", None);
    assert_eq!(records["items"], json!([]));
    for name in ["checkout.example.com", "a-checkout.example.com", "aaaa-checkout.example.com"] {
        assert!(server.ask(name, "TXT").answer.is_empty(), "{name}");
    }
}

#[test]
fn the_record_nobody_can_own_is_created_owned_changed_and_deleted_at_a_delegated_apex() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "checkout.example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let a = endpoint("checkout.example.com", "A", &["192.0.2.10"]);
    let aaaa = endpoint("checkout.example.com", "AAAA", &["2001:db8::10"]);
    client.works(&[a.clone(), aaaa.clone()]);
    assert_eq!(server.ask_both("checkout.example.com", "A").data(), ["192.0.2.10"]);
    assert_eq!(server.ask_both("checkout.example.com", "AAAA").data(), ["2001:db8::10"]);
    no_text_anywhere(&server);
    // Both are the client's own in the second cycle, and there is nothing to do.
    for one in client.door.records() {
        assert_eq!(one["labels"]["owner"], "prod");
    }
    let (before, soa) = (revision(&server), serial(&server, "checkout.example.com"));
    client.rests(&[a.clone(), aaaa.clone()], 2);
    assert_eq!((revision(&server), serial(&server, "checkout.example.com")), (before, soa), "nothing was written");

    // The target of A is gone for one cycle, and back in the next.
    client.works(std::slice::from_ref(&aaaa));
    assert!(server.ask_both("checkout.example.com", "A").answer.is_empty());
    assert_eq!(server.ask_both("checkout.example.com", "AAAA").data(), ["2001:db8::10"]);
    client.works(&[a.clone(), aaaa.clone()]);
    assert_eq!(server.ask_both("checkout.example.com", "A").data(), ["192.0.2.10"]);

    // Changed, ten cycles of rest without a flap, and deleted.
    let changed = endpoint("checkout.example.com", "A", &["192.0.2.11", "192.0.2.12"]);
    client.works(&[changed.clone(), aaaa.clone()]);
    assert_eq!(server.ask_both("checkout.example.com", "A").data(), ["192.0.2.11", "192.0.2.12"]);
    client.rests(&[changed, aaaa], 10);
    assert_eq!(server.api("GET", "/v1/flaps", None).1["items"], json!([]));
    client.works(&[]);
    assert!(server.ask_both("checkout.example.com", "A").answer.is_empty());
    assert!(server.ask_both("checkout.example.com", "AAAA").answer.is_empty());
    assert_eq!(client.door.records(), Vec::<Value>::new());
    no_text_anywhere(&server);
}

#[test]
fn an_aaaa_that_somebody_else_holds_blocks_only_aaaa_until_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "checkout.example.com.");
    let foreign = json!([{"name": "checkout.example.com.", "type": "AAAA", "values": ["2001:db8::66"]}]);
    assert_eq!(apply(&server, "by-hand", foreign).0, 200);
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let desired = [
        endpoint("checkout.example.com", "A", &["192.0.2.10"]),
        endpoint("checkout.example.com", "AAAA", &["2001:db8::10"]),
    ];
    client.works(&desired);
    assert_eq!(server.ask_both("checkout.example.com", "A").data(), ["192.0.2.10"]);
    assert_eq!(server.ask_both("checkout.example.com", "AAAA").data(), ["2001:db8::66"]);
    let before = revision(&server);
    client.rests(&desired, 2);
    assert_eq!(revision(&server), before);
    let (_, conflicts) = server.api("GET", "/v1/conflicts", None);
    let row = &conflicts["items"][0];
    assert_eq!(
        (&row["type"], &row["owner"], &row["state"]),
        (&json!("AAAA"), &json!("externaldns:prod"), &json!("queued"))
    );
    assert_eq!(row["holder"]["owner"].as_str().or(row["holder"].as_str()), Some("by-hand"), "{conflicts}");
    assert_eq!(client.door.status(&server)["queued"][0]["type"], "AAAA");

    assert_eq!(apply(&server, "by-hand", json!([])).0, 200);
    assert_eq!(server.ask_both("checkout.example.com", "AAAA").data(), ["2001:db8::10"], "served in that commit");
    client.rests(&desired, 2);
    client.works(&desired[..1]);
    assert!(server.ask_both("checkout.example.com", "AAAA").answer.is_empty(), "and deletable");
}

#[test]
fn a_name_goes_with_its_ingress_also_when_the_post_was_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let going = [
        endpoint("www.example.com", "A", &["192.0.2.1"]),
        endpoint("shop.example.com", "CNAME", &["edge.example.net"]),
        endpoint("example.com", "CNAME", &["edge.example.net"]),
        endpoint("*.apps.example.com", "A", &["192.0.2.2"]),
    ];
    let kept = endpoint("kept.example.com", "A", &["192.0.2.3"]);
    let all: Vec<Value> = going.iter().cloned().chain([kept.clone()]).collect();
    client.works(&all);
    assert_eq!(server.ask_both("any.apps.example.com", "A").data(), ["192.0.2.2"]);
    assert_eq!(server.ask_both("shop.example.com", "CNAME").data(), ["edge.example.net."]);
    let (_, claims) = server.api("GET", "/v1/records?name=example.com&type=ALIAS", None);
    assert_eq!(claims["items"][0]["owner"], "externaldns:prod", "the apex is an ALIAS: {claims}");
    client.rests(&all, 2);

    // A plan that is made and never sent: the next cycle makes it again.
    let lost = client.plan(std::slice::from_ref(&kept)).expect("a plan");
    assert_eq!(lost.delete.len(), 4);
    client.works(std::slice::from_ref(&kept));
    for name in ["www.example.com", "shop.example.com", "any.apps.example.com"] {
        assert_eq!(server.ask_both(name, "A").rcode, "NXDOMAIN", "{name}");
    }
    assert!(server.ask_both("example.com", "A").answer.is_empty());
    client.rests(&[kept], 2);
}

#[test]
fn a_cluster_that_never_returns_frees_all_its_names_in_one_call_and_who_waits_answers_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let gone = Client::new(Door::open(&server, "gone", json!({})), "gone");
    let waiting = Client::new(Door::open(&server, "waiting", json!({})), "waiting");
    let of = |address: &str| -> Vec<Value> {
        (0..5).map(|at| endpoint(&format!("h{at}.example.com"), "A", &[address])).collect()
    };
    gone.works(&of("192.0.2.1"));
    assert_eq!(waiting.cycle(&of("192.0.2.2")), Cycle::Silent, "all of it waits");
    let owner = format!("/v1/owners/{}", part("externaldns:gone"));
    assert_eq!(server.api("PUT", &owner, Some(json!({"leaseSeconds": 1}))).0, 200);
    super::server::eventually(
        10,
        "the lease runs out",
        || server.api("GET", "/v1/orphans?reason=ownerExpired", None).1["items"].as_array().map_or(0, Vec::len),
        |count| *count == 5,
    );
    let (status, body) = server.api("DELETE", &owner, None);
    assert_eq!((status, body["promoted"].as_array().map(Vec::len)), (200, Some(5)), "{body}");
    for at in 0..5 {
        assert_eq!(server.ask_both(&format!("h{at}.example.com"), "A").data(), ["192.0.2.2"]);
    }
    waiting.rests(&of("192.0.2.2"), 2);
}

#[test]
fn a_target_that_is_torn_down_first_is_nodata_and_listed_with_its_resource() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    make_zone(&server, "edge.test.");
    let target = json!([{"name": "lb.edge.test.", "type": "A", "values": ["192.0.2.7"]}]);
    assert_eq!(apply(&server, "edges", target).0, 200);
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let desired = [endpoint("example.com", "CNAME", &["lb.edge.test"])];
    // The two zones have one owner, so the one may lead into the other.
    for zone in ["example.com.", "edge.test."] {
        let path = format!("/v1/zones/{}", part(zone));
        assert_eq!(server.api("PATCH", &path, Some(json!({"owner": "externaldns:prod"}))).0, 200);
    }
    client.works(&desired);
    assert_eq!(server.ask_both("example.com", "A").data(), ["192.0.2.7"]);
    let (_, body) = apply(&server, "edges", json!([]));
    assert_eq!(body["dangling"][0]["name"], "example.com.", "{body}");
    let reply = server.ask_both("example.com", "A");
    assert_eq!((reply.rcode.as_str(), reply.answer.len()), ("NOERROR", 0), "{reply:?}");
    let (_, orphans) = server.api("GET", "/v1/orphans?reason=targetNxdomain", None);
    assert_eq!(orphans["items"][0]["name"], "example.com.", "{orphans}");
    let label = part("resource=ingress/shop/example.com");
    let (_, records) = server.api("GET", &format!("/v1/records?labels={label}"), None);
    assert_eq!(records["items"][0]["name"], "example.com.", "what does this object own: {records}");
    client.rests(&desired, 2);
}

#[test]
fn policies_do_what_their_names_say_and_noop_is_safe() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let foreign = json!([{"name": "theirs.example.com.", "type": "A", "values": ["192.0.2.99"]}]);
    assert_eq!(apply(&server, "by-hand", foreign).0, 200);
    let client = Client {
        registry: Registry::Noop,
        policy: Policy::UpsertOnly,
        ..Client::new(Door::open(&server, "prod", json!({})), "prod")
    };
    let www = endpoint("www.example.com", "A", &["192.0.2.1"]);
    client.works(std::slice::from_ref(&www));
    assert_eq!(client.cycle(&[]), Cycle::Silent, "upsert-only deletes nothing");
    let create_only = Client { policy: Policy::CreateOnly, ..client.clone() };
    assert_eq!(create_only.cycle(&[endpoint("www.example.com", "A", &["192.0.2.2"])]), Cycle::Silent);
    let sync = Client { policy: Policy::Sync, ..client };
    sync.works(&[]);
    assert_eq!(server.ask("www.example.com", "A").rcode, "NXDOMAIN");
    assert_eq!(server.ask("theirs.example.com", "A").data(), ["192.0.2.99"], "never in view, so never deleted");
}
