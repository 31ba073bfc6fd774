//! Registry TXT records and a user's own: scenario 5.

use serde_json::{Value, json};

use super::door::{Door, endpoint, make_zone, serial};
use super::planner::{Client, Cycle, Registry};
use super::server::Server;

fn heritage_is_nowhere(server: &Server) {
    let (_, records) = server.api("GET", "/v1/records?type=TXT", None);
    let shown = records["items"].as_array().expect("a list").iter().map(|one| one["values"].to_string());
    let found: Vec<String> = shown.filter(|values| values.contains("heritage") || values.contains('=')).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn names_that_no_txt_could_stand_beside_are_owned_with_every_registry_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let long = "x".repeat(63);
    let txt = |prefix: &str, suffix: &str, wildcard: &str, encrypted| Registry::Txt {
        prefix: prefix.to_owned(),
        suffix: suffix.to_owned(),
        wildcard: wildcard.to_owned(),
        encrypted,
    };
    let registries = [
        Registry::txt(),
        txt("xdns-", "", "any", false),
        txt("", "-%{record_type}-xdns", "", false),
        txt("%{record_type}.", "", "any", true),
        txt("", "", "", true),
        Registry::Noop,
    ];
    for (at, registry) in registries.into_iter().enumerate() {
        let zone = format!("z{at}.example.com");
        make_zone(&server, &zone);
        let client =
            Client { registry, ..Client::new(Door::open(&server, &format!("c{at}"), json!({})), &format!("c{at}")) };
        let desired = [
            endpoint(&zone, "A", &["192.0.2.1"]),
            endpoint(&zone, "AAAA", &["2001:db8::1"]),
            endpoint(&format!("{long}.{zone}"), "CNAME", &["edge.example.net"]),
            endpoint(&format!("*.{zone}"), "A", &["192.0.2.2"]),
        ];
        client.works(&desired);
        client.rests(&desired, 2);
        assert_eq!(server.ask_both(&format!("{long}.{zone}"), "CNAME").data(), ["edge.example.net."]);
        assert_eq!(server.ask_both(&format!("any.{zone}"), "A").data(), ["192.0.2.2"]);
        client.works(&desired[..1]);
        client.rests(&desired[..1], 1);
        assert_eq!(client.door.records().len(), 1);
    }
    heritage_is_nowhere(&server);
}

#[test]
fn encrypted_texts_without_a_label_are_known_by_the_nonce_of_a_record_also_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let door = Door::open(&server, "prod", json!({}));
    let nonce = super::planner::base64(b"twelve-octet");
    let sealed = super::planner::base64(b"twelve-octetsealed-and-long-enough");
    let mut a = endpoint("www.example.com", "A", &["192.0.2.1"]);
    a["labels"]["txt-encryption-nonce"] = json!(nonce);
    let text = |name: &str| json!({"dnsName": name, "recordType": "TXT", "targets": [format!("\"{sealed}\"")]});
    assert_eq!(door.change(json!({"create": [a, text("a-www.example.com")]})).0, 204);
    // The key is lost: the text comes alone, and is known by what the claim keeps.
    assert_eq!(door.change(json!({"updateNew": [text("a-www.example.com")]})).0, 204);
    assert_eq!(door.change(json!({"delete": [text("a-www.example.com")]})).0, 204);
    assert!(server.ask("a-www.example.com", "TXT").answer.is_empty());
    let shown = door.records();
    assert_eq!((shown.len(), &shown[0]["labels"]["txt-encryption-nonce"]), (1, &json!(nonce)));
    // Another nonce is nobody's: that is data.
    let other = super::planner::base64(b"other-octetssealed-and-long-enough");
    let data = json!({"dnsName": "blob.example.com", "recordType": "TXT", "targets": [other]});
    assert_eq!(door.change(json!({"create": [data]})).0, 204);
    assert_eq!(server.ask("blob.example.com", "TXT").answer.len(), 1);
}

#[test]
fn a_users_own_txt_record_is_published_updated_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let mut client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    client.types = vec!["A", "TXT"];
    let of = |text: &str| vec![endpoint("example.com", "TXT", &[text])];
    client.works(&of("v=spf1 -all"));
    assert_eq!(server.ask_both("example.com", "TXT").data(), ["\"v=spf1 -all\""]);
    client.rests(&of("v=spf1 -all"), 2);
    client.works(&of("\"v=spf1 include:_spf.example.net -all\""));
    client.rests(&of("\"v=spf1 include:_spf.example.net -all\""), 2);
    client.works(&[]);
    assert!(server.ask_both("example.com", "TXT").answer.is_empty());
}

#[test]
fn absorbed_texts_make_no_serial_and_are_kept_with_their_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let desired = [endpoint("www.example.com", "A", &["192.0.2.1"])];
    let noop = Client { registry: Registry::Noop, ..client.clone() };
    noop.works(&desired);
    let before = serial(&server, "example.com");
    let text = json!({"dnsName": "a-www.example.com", "recordType": "TXT", "labels": {"ownedRecord": "www.example.com"},
        "targets": ["\"heritage=external-dns,external-dns/owner=prod\""]});
    assert_eq!(client.door.change(json!({"create": [text]})).0, 204);
    assert_eq!(serial(&server, "example.com"), before);
    let (_, claims) = server.api("GET", "/v1/records?name=www.example.com", None);
    assert!(
        claims["items"][0]["labels"]["external-dns/registry"].as_str().is_some_and(|kept| kept.contains("heritage"))
    );
    assert_eq!(client.door.status(&server)["lastChange"]["summary"]["absorbed"], 1);
    // One about a record that is not there is gone, and no error.
    let lost = json!({"dnsName": "a-x.example.org", "recordType": "TXT", "labels": {"ownedRecord": "x.example.org"},
        "targets": ["x"]});
    let revision = super::door::revision(&server);
    assert_eq!(client.door.change(json!({"create": [lost]})).0, 204);
    assert_eq!(super::door::revision(&server), revision);
    // The text stays when the record changes without it.
    noop.works(&[endpoint("www.example.com", "A", &["192.0.2.2"])]);
    let (_, claims) = server.api("GET", "/v1/records?name=www.example.com", None);
    assert!(claims["items"][0]["labels"]["external-dns/registry"].is_string(), "{claims}");
    assert_eq!(
        client.door.records()[0]["labels"],
        json!({"owner": "prod", "resource": "ingress/shop/www.example.com"})
    );
}

#[test]
fn registry_settings_and_the_owner_id_change_without_a_change_of_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let desired: Vec<Value> =
        ["example.com", "www.example.com"].iter().map(|name| endpoint(name, "A", &["192.0.2.1"])).collect();
    client.works(&desired);
    let before = (serial(&server, "example.com"), super::door::revision(&server));
    let noop = Client { registry: Registry::Noop, ..client.clone() };
    noop.rests(&desired, 2);
    client.rests(&desired, 2);
    assert_eq!((serial(&server, "example.com"), super::door::revision(&server)), before);

    // Another owner id at the same URL changes and deletes nothing, until it is renamed for all records at once.
    let renamed = Client { owner_id: "new".to_owned(), ..client.clone() };
    assert_eq!(renamed.cycle(&[]), Cycle::Silent);
    let more: Vec<Value> = desired.iter().cloned().chain([endpoint("more.example.com", "A", &["192.0.2.1"])]).collect();
    let (status, codes) = renamed.door.change_codes(renamed.with_registry(renamed.plan(&more).expect("a plan")).json());
    assert_eq!((status, codes), (500, vec!["more.example.com. A conflict owner_label_mismatch".to_owned()]));
    let path = "/v1/owners/externaldns%3Aprod";
    assert_eq!(server.api("PUT", path, Some(json!({"externalDns": {"txtOwnerId": "new"}}))).0, 200);
    renamed.rests(&desired, 2);
    assert_eq!(serial(&server, "example.com"), before.0);
    renamed.works(&more);
    renamed.works(&more[..1]);
    assert_eq!(renamed.door.records().len(), 1);
}
