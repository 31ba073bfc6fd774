//! Owners behind the door: conflicts that name the holder, what a refusal does to the rest, queues, sharing and the apex.

use serde_json::{Value, json};

use super::door::{Client, claims, delete, native, replace};
use super::service::Service;

const NAME: &str = "www.example.com.";

fn values(service: &Service, name: &str) -> Vec<(String, String)> {
    let text = |claim: &Value, key: &str| claim[key].as_str().expect("a text").to_owned();
    claims(service, &format!("state=held&name={name}"))
        .iter()
        .map(|claim| (text(claim, "owner"), format!("{} {}", text(claim, "type"), claim["values"])))
        .collect()
}

#[test]
fn a_conflict_names_the_holder_behind_powerdnss_words() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    native(
        &service,
        "k8s:prod/Gateway/shop/web",
        json!({"name": NAME, "type": "ALIAS", "values": ["edge.example.net."]}),
    );
    let refused = client
        .patch(json!([replace(NAME, "CNAME", &["x.example.net."]), replace("ok.example.com.", "A", &["192.0.2.1"])]));
    let wanted = "RRset www.example.com. IN CNAME: Conflicts with pre-existing RRset \
                  (ALIAS owned by k8s:prod/Gateway/shop/web since 2026-11-30T12:00:00Z)";
    assert_eq!((refused.status, refused.error().as_str()), (422, wanted));
    assert_eq!(client.contents("ok.example.com.", "A"), Vec::<String>::new(), "reject: nothing is in effect");
    let (_, conflicts) = service.api("GET", "/v1/conflicts", None);
    let row = &conflicts["items"][0];
    assert_eq!(
        (&row["owner"], &row["door"], &row["state"]),
        (&json!("pdns:generic"), &json!("powerdns"), &json!("refused"))
    );
    assert_eq!(client.patch(json!([replace(NAME, "A", &["192.0.2.1"])])).status, 422, "A beside another's ALIAS");
    assert_eq!(
        client.patch(json!([replace(NAME, "ALIAS", &["edge.example.net."])])).status,
        422,
        "even if it is equal"
    );
    assert_eq!(client.patch(json!([delete(NAME, "ALIAS")])).status, 422, "view all: it is there, and not mine");
    let hiding = Client::with(&service, json!({"name": "h", "hideHolder": true}));
    let refused = hiding.patch(json!([replace(NAME, "CNAME", &["x.example.net."])]));
    assert!(refused.error().ends_with("(ALIAS owned by another owner)"), "{refused:?}");
    let partial = Client::with(&service, json!({"name": "p", "conflicts": "partial"}));
    let both = json!([
        replace(NAME, "CNAME", &["x.example.net."]),
        replace("p.example.com.", "A", &["192.0.2.1"]),
        replace("bad.example.com.", "A", &["192.0.2"])
    ]);
    let refused = partial.patch(both.clone());
    assert_eq!((refused.status, refused.json()["errors"].as_array().map(Vec::len)), (422, Some(2)), "{refused:?}");
    assert!(refused.error().contains("Conflicts with pre-existing RRset"), "the conflict is told first");
    assert_eq!(partial.contents("p.example.com.", "A"), ["192.0.2.1"]);
    let quiet = Client::with(&service, json!({"name": "q", "conflicts": "quiet"}));
    let mut both = both;
    both[1]["name"] = json!("q.example.com.");
    quiet.patched(both);
    assert_eq!(quiet.contents("q.example.com.", "A"), ["192.0.2.1"]);
    let taking = Client::with(&service, json!({"name": "t", "takeover": true}));
    taking.patched(json!([replace(NAME, "CNAME", &["x.example.net."])]));
    assert_eq!(values(&service, NAME), [("pdns:t".to_owned(), "CNAME [\"x.example.net.\"]".to_owned())]);
    let (_, changes) = service.api("GET", &format!("/v1/changes?name={NAME}"), None);
    assert!(changes.to_string().contains("k8s:prod/Gateway/shop/web") && changes.to_string().contains("pdns:t"));
}

#[test]
fn a_refused_wish_waits_and_is_served_when_the_holder_lets_go() {
    let service = Service::start();
    let client = Client::of(&service, "dns-operator");
    client.zone();
    native(&service, "team-a", json!({"name": NAME, "type": "A", "values": ["192.0.2.1"]}));
    let before = client.serial();
    for _ in 0..3 {
        let refused = client.patch(json!([replace(NAME, "CNAME", &["x.example.net."])]));
        assert_eq!(refused.status, 422, "the answer stays that of a conflict");
        assert!(refused.error().contains("(A owned by team-a since"), "{refused:?}");
    }
    let queued = claims(&service, &format!("state=queued&name={NAME}"));
    assert_eq!((queued.len(), &queued[0]["owner"]), (1, &json!("pdns:dns-operator")), "{queued:?}");
    assert_eq!(client.serial(), before);
    assert_eq!(service.api("DELETE", &format!("/v1/owners/team-a/records/{NAME}/A"), None).0, 200);
    assert_eq!(client.contents(NAME, "CNAME"), ["x.example.net."]);
    assert_eq!(client.serial(), before + 1, "promoted in the same commit");
    client.patched(json!([replace(NAME, "CNAME", &["x.example.net."])]));

    // Two record sets of one key must not overwrite each other: the second waits for the first.
    let refused = client.patch(json!([replace(NAME, "A", &["192.0.2.9"])]));
    assert!(refused.error().contains("(CNAME owned by pdns:dns-operator since"), "{refused:?}");
    client.patched(json!([delete(NAME, "CNAME")]));
    assert_eq!(client.contents(NAME, "A"), ["192.0.2.9"]);
    client.patched(json!([delete(NAME, "A")]));
    assert_eq!(claims(&service, &format!("name={NAME}")), Vec::<Value>::new());

    // A wish that is taken back leaves the queue.
    native(&service, "team-a", json!({"name": NAME, "type": "A", "values": ["192.0.2.1"]}));
    assert_eq!(client.patch(json!([replace(NAME, "A", &["192.0.2.9"])])).status, 422);
    client.patched(json!([delete(NAME, "A")]));
    assert_eq!(claims(&service, &format!("state=queued&name={NAME}")), Vec::<Value>::new());
    client.patched(json!([delete(NAME, "A")]));
    assert_eq!(values(&service, NAME).len(), 1, "view own: what others hold is not in its world");
}

#[test]
fn the_old_answer_stays_while_the_new_one_is_in_anothers_way() {
    let service = Service::start();
    let client = Client::of(&service, "external-dns");
    Client::of(&service, "generic").zone();
    client.patched(json!([replace(NAME, "A", &["192.0.2.1"])]));
    native(&service, "team-a", json!({"name": NAME, "type": "TXT", "values": ["x"]}));
    client.patched(json!([replace(NAME, "CNAME", &["x.example.net."])]));
    client.patched(json!([delete(NAME, "A")]));
    assert_eq!(client.contents(NAME, "A"), ["192.0.2.1"], "rather the old answer than none");
    let (_, conflicts) = service.api("GET", "/v1/conflicts", None);
    assert!(conflicts.to_string().contains("swap_refused"), "{conflicts}");
    assert_eq!(service.api("DELETE", &format!("/v1/owners/team-a/records/{NAME}/TXT"), None).0, 200);
    client.patched(json!([replace(NAME, "CNAME", &["x.example.net."])]));
    client.patched(json!([delete(NAME, "A")]));
    assert_eq!((client.contents(NAME, "A").len(), client.contents(NAME, "CNAME").len()), (0, 1));
}

#[test]
fn two_acme_clients_answer_for_one_name_at_once() {
    let service = Service::start();
    Client::of(&service, "generic").zone();
    let (a, b) = (
        Client::with(&service, json!({"name": "a", "profile": "acme"})),
        Client::with(&service, json!({"name": "b", "profile": "acme"})),
    );
    let name = "_acme-challenge.example.com.";
    a.patched(json!([replace(name, "TXT", &["\"one\"", "\"two\""])]));
    let short = b.patch(json!([replace(name, "TXT", &["\"three\""])]));
    assert!(short.error().contains("(TXT owned by pdns:a since"), "another's value would go: {short:?}");
    b.patched(json!([replace(name, "TXT", &["\"one\"", "\"three\"", "\"two\""])]));
    assert_eq!(b.contents(name, "TXT"), ["\"one\"", "\"three\"", "\"two\""]);
    a.patched(json!([replace(name, "TXT", &["\"three\""])]));
    assert_eq!(a.contents(name, "TXT"), ["\"three\""]);
    b.patched(json!([delete(name, "TXT")]));
    assert_eq!(claims(&service, &format!("name={name}")), Vec::<Value>::new());
    let refused = a.patch(json!([replace("www.example.com.", "TXT", &["\"x\""])]));
    assert_eq!(refused.error(), "RRset www.example.com. IN TXT: not allowed for this key");
    let refused = a.patch(json!([replace(name, "CNAME", &["x.example.net."])]));
    assert_eq!(refused.error(), "RRset _acme-challenge.example.com. IN CNAME: not allowed for this key");
}

#[test]
fn soa_and_ns_of_the_apex_are_the_zone_owners_and_never_go() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let other = Client::with(&service, json!({"name": "other"}));
    let refused = other.patch(json!([replace("example.com.", "NS", &["ns9.example.com."])]));
    assert!(refused.error().contains("(NS owned by system:tenured since"), "{refused:?}");
    client.patched(json!([replace("example.com.", "NS", &["ns2.example.com.", "ns3.example.com."])]));
    let held = |rtype: &str| {
        let all = claims(&service, &format!("state=held&name=example.com.&type={rtype}"));
        assert_eq!(all.len(), 1, "{all:?}");
        (all[0]["owner"].as_str().expect("an owner").to_owned(), all[0]["values"].clone())
    };
    assert_eq!(held("NS"), ("pdns:generic".to_owned(), json!(["ns2.example.com.", "ns3.example.com."])));
    let before = client.serial();
    for rtype in ["NS", "SOA", "NS"] {
        client.patched(json!([delete("example.com.", rtype)]));
    }
    assert_eq!(held("NS"), ("system:tenured".to_owned(), json!(["ns2.example.com.", "ns3.example.com."])));
    assert_eq!(held("SOA").0, "system:tenured");
    assert_eq!(client.serial(), before, "what is served stays");
}
