//! Several clusters at one name: scenario 8.

use serde_json::{Value, json};

use super::door::{Door, apply, endpoint, make_zone, owned, with};
use super::planner::{Client, Cycle};
use super::server::Server;

fn shared(address: &str, ttl: i64) -> Value {
    let mut one = with(endpoint("app.example.com", "A", &[address]), "webhook/share", "true");
    one["recordTTL"] = json!(ttl);
    one
}

#[test]
fn two_clusters_share_a_name_and_each_takes_only_its_own_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let a = Client::new(Door::open(&server, "a", json!({})), "a");
    // The one by its endpoint, the other by its token.
    let b = Client::new(Door::open(&server, "b", json!({"share": true})), "b");
    let mut of_b = endpoint("app.example.com", "A", &["192.0.2.2"]);
    of_b["recordTTL"] = json!(30);
    a.works(&[shared("192.0.2.1", 60)]);
    b.works(std::slice::from_ref(&of_b));
    let reply = server.ask_both("app.example.com", "A");
    assert_eq!((reply.data(), reply.ttl()), (vec!["192.0.2.1", "192.0.2.2"], 30));
    assert_eq!(
        (&a.door.records()[0]["targets"], &a.door.records()[0]["recordTTL"]),
        (&json!(["192.0.2.1"]), &json!(60))
    );
    assert_eq!(b.door.records()[0]["targets"], json!(["192.0.2.2"]));
    a.rests(&[shared("192.0.2.1", 60)], 2);
    b.rests(std::slice::from_ref(&of_b), 2);

    a.works(&[]);
    assert_eq!(server.ask_both("app.example.com", "A").data(), ["192.0.2.2"]);
    a.works(&[shared("192.0.2.1", 60)]);
    b.works(&[]);
    assert_eq!(server.ask_both("app.example.com", "A").data(), ["192.0.2.1"]);
    a.works(&[]);
    assert_eq!(server.ask_both("app.example.com", "A").rcode, "NXDOMAIN");
}

#[test]
fn nobody_joins_a_name_unasked_and_a_cname_is_never_shared() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let a = Client::new(Door::open(&server, "a", json!({})), "a");
    let b = Client::new(Door::open(&server, "b", json!({})), "b");
    let exclusive = [endpoint("app.example.com", "A", &["192.0.2.1"])];
    a.works(&exclusive);
    assert_eq!(b.cycle(&[shared("192.0.2.2", 60)]), Cycle::Silent, "it waits");
    assert_eq!(server.ask("app.example.com", "A").data(), ["192.0.2.1"]);
    a.works(&[]);
    assert_eq!(server.ask("app.example.com", "A").data(), ["192.0.2.2"]);

    let cname = |target: &str| [with(endpoint("www.example.com", "CNAME", &[target]), "webhook/share", "true")];
    a.works(&cname("a.example.net"));
    let both: Vec<Value> = cname("b.example.net").into_iter().chain([shared("192.0.2.2", 60)]).collect();
    b.rests(&both, 2);
    let (_, conflicts) = server.api("GET", "/v1/conflicts", None);
    assert_eq!(conflicts["items"][0]["name"], "www.example.com.", "{conflicts}");
    assert_eq!(server.ask("www.example.com", "CNAME").data(), ["a.example.net."]);
    a.works(&[]);
    assert_eq!(server.ask("www.example.com", "CNAME").data(), ["b.example.net."]);
}

#[test]
fn two_urls_with_one_owner_id_are_independent_and_one_url_with_two_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let a = Client::new(Door::open(&server, "a", json!({})), "default");
    let b = Client::new(Door::open(&server, "b", json!({})), "default");
    let (of_a, of_b) =
        ([endpoint("a.example.com", "A", &["192.0.2.1"])], [endpoint("b.example.com", "A", &["192.0.2.2"])]);
    a.works(&of_a);
    b.works(&of_b);
    a.rests(&of_a, 2);
    b.rests(&of_b, 2);
    assert_eq!(a.door.status(&server)["txtOwnerId"], "default");

    let second = Client { owner_id: "second".to_owned(), ..a.clone() };
    let create = json!({"create": [owned(endpoint("c.example.com", "A", &["192.0.2.3"]), "second")],
        "delete": [owned(endpoint("a.example.com", "A", &["192.0.2.1"]), "second")]});
    let (status, codes) = second.door.change_codes(create);
    assert_eq!(status, 500);
    assert_eq!(codes.len(), 2, "{codes:?}");
    assert!(codes.iter().all(|code| code.ends_with("conflict owner_label_mismatch")), "{codes:?}");
    assert_eq!(server.ask("a.example.com", "A").data(), ["192.0.2.1"]);
    a.rests(&of_a, 2);
}

#[test]
fn set_identifiers_are_a_union_and_each_is_deleted_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let of = |set: &str, rtype: &str, target: &str| {
        let mut one = endpoint("app.example.com", rtype, &[target]);
        one["setIdentifier"] = json!(set);
        one
    };
    let desired = [of("blue", "A", "192.0.2.1"), of("green", "A", "192.0.2.2")];
    client.works(&desired);
    assert_eq!(server.ask_both("app.example.com", "A").data(), ["192.0.2.1", "192.0.2.2"]);
    client.rests(&desired, 2);
    client.works(&desired[1..]);
    assert_eq!(server.ask_both("app.example.com", "A").data(), ["192.0.2.2"]);
    assert_eq!(client.door.records()[0]["setIdentifier"], "green");
    client.works(&[]);
    let cname = |set: &str| {
        let mut one = of(set, "CNAME", "edge.example.net");
        one["dnsName"] = json!("www.example.com");
        one
    };
    client.works(&[cname("blue")]);
    let (status, codes) = client.door.change_codes(json!({"create": [cname("green")]}));
    assert_eq!(status, 500, "{codes:?}");
    assert!(codes[0].starts_with("www.example.com. CNAME conflict"), "{codes:?}");
}

#[test]
fn an_equal_import_is_adopted_where_the_token_says_so_and_waited_for_otherwise() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let imported = json!([{"name": "old.example.com.", "type": "A", "ttl": 300, "values": ["192.0.2.1"]},
        {"name": "else.example.com.", "type": "A", "values": ["192.0.2.9"]}]);
    assert_eq!(apply(&server, "zone:example.com.", imported).0, 200);
    let careful = Client::new(Door::open(&server, "careful", json!({})), "careful");
    let desired = [endpoint("old.example.com", "A", &["192.0.2.1"])];
    assert_eq!(careful.cycle(&desired), Cycle::Silent, "queued");
    let adopting = Client::new(Door::open(&server, "adopting", json!({"adoptEqual": true})), "adopting");
    let serial = super::door::serial(&server, "example.com");
    let both = [desired[0].clone(), endpoint("else.example.com", "A", &["192.0.2.1"])];
    adopting.works(&both);
    assert_eq!(super::door::serial(&server, "example.com"), serial, "no data changed");
    assert_eq!(adopting.door.records().len(), 1, "the other has another value, and waits");
    adopting.rests(&both, 2);
    // Under `reject` it is an error of that record, in each cycle.
    let strict = Client::new(Door::open(&server, "strict", json!({"onConflict": "reject"})), "strict");
    for _ in 0..2 {
        let Cycle::Sent(500, body) = strict.cycle(&desired) else { panic!("an error") };
        assert_eq!(
            (&body["code"], &body["results"][0]["holder"]["owner"]),
            (&json!("owned_by_other"), &json!("externaldns:adopting"))
        );
    }
}
