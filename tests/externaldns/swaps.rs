//! Swaps of types under constant queries, and records that are refused: scenarios 6 and 7.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::dns::{Over, ask};
use super::door::{Door, apply, endpoint, make_zone, revision, serial, with};
use super::planner::{Client, Cycle};
use super::server::{Server, part};

/// Asks for a name until it is dropped; every answer must have records or be no denial of the name.
struct Watch {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<Vec<String>>>,
}

impl Watch {
    fn on(server: &Server, name: &'static str) -> Watch {
        let (stop, asked, dns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), server.dns);
        let (until, count) = (stop.clone(), asked.clone());
        let thread = std::thread::spawn(move || {
            let mut wrong = Vec::new();
            while !until.load(Ordering::Relaxed) {
                let reply = ask(dns, Over::Udp, name, "A");
                count.fetch_add(1, Ordering::Relaxed);
                if reply.rcode != "NOERROR" {
                    wrong.push(reply.rcode);
                }
            }
            wrong
        });
        Watch { stop, asked, thread: Some(thread) }
    }

    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let wrong = self.thread.take().expect("a thread").join().expect("its end");
        assert_eq!(wrong, Vec::<String>::new());
        assert!(self.asked.load(Ordering::Relaxed) > 0);
    }
}

#[test]
fn types_are_swapped_without_a_moment_of_nxdomain() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let forms = |name: &str| {
        [
            endpoint(name, "A", &["192.0.2.1"]),
            endpoint(name, "CNAME", &["edge.example.net"]),
            with(endpoint(name, "CNAME", &["edge.example.net"]), "alias", "true"),
            with(endpoint(name, "CNAME", &["edge.example.net"]), "alias", "A"),
            with(endpoint(name, "A", &["192.0.2.3"]), "alias", "true"),
        ]
    };
    client.works(&[forms("www.example.com")[0].clone()]);
    let watch = Watch::on(&server, "www.example.com");
    for _ in 0..2 {
        for form in forms("www.example.com").into_iter().skip(1) {
            client.works(std::slice::from_ref(&form));
            client.rests(std::slice::from_ref(&form), 1);
        }
        client.works(&[forms("www.example.com")[0].clone()]);
    }
    watch.end();
    // At the apex a CNAME is an ALIAS with or without the property.
    client.works(&[forms("example.com")[0].clone()]);
    let watch = Watch::on(&server, "example.com");
    for form in forms("example.com").into_iter().skip(1) {
        client.works(std::slice::from_ref(&form));
        client.rests(std::slice::from_ref(&form), 1);
    }
    watch.end();
}

#[test]
fn a_swap_whose_new_half_is_blocked_keeps_the_old_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let foreign = json!([{"name": "www.example.com.", "type": "TXT", "values": ["theirs"]}]);
    assert_eq!(apply(&server, "by-hand", foreign).0, 200);
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let a = endpoint("www.example.com", "A", &["192.0.2.1"]);
    let cname = endpoint("www.example.com", "CNAME", &["edge.example.net"]);
    client.works(std::slice::from_ref(&a));
    let watch = Watch::on(&server, "www.example.com");
    for _ in 0..3 {
        let Cycle::Sent(500, body) = client.cycle(std::slice::from_ref(&cname)) else { panic!("an error") };
        assert_eq!(body["results"][0]["code"], "swap_refused", "{body}");
        assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.1"]);
    }
    watch.end();
    let nonsense = json!({"delete": [a.clone()], "create": [endpoint("www.example.com", "CNAME", &["not a name..x"])]});
    let (status, codes) = client.door.change_codes(nonsense);
    assert_eq!(status, 500);
    assert!(codes.iter().any(|code| code.ends_with("conflict swap_refused")), "{codes:?}");
    assert_eq!(server.ask("www.example.com", "A").data(), ["192.0.2.1"]);
    assert_eq!(apply(&server, "by-hand", json!([])).0, 200);
    client.works(std::slice::from_ref(&cname));
    assert_eq!(server.ask_both("www.example.com", "CNAME").data(), ["edge.example.net."]);
    client.rests(&[cname], 2);
}

#[test]
fn upsert_only_completes_swaps_of_one_resource() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let door = Door::open(&server, "prod", json!({}));
    let of = |rtype: &str, target: &str| endpoint("www.example.com", rtype, &[target]);
    assert_eq!(door.change(json!({"create": [of("A", "192.0.2.1"), of("AAAA", "2001:db8::1")]})).0, 204);
    assert_eq!(door.change(json!({"create": [of("CNAME", "edge.example.net")]})).0, 204);
    assert_eq!(server.ask_both("www.example.com", "CNAME").data(), ["edge.example.net."]);
    assert_eq!(door.records().len(), 1);
    assert_eq!(door.change(json!({"create": [of("A", "192.0.2.1")]})).0, 204);
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.1"]);
    // Of another resource it is a conflict of the client with itself.
    let mut other = of("CNAME", "edge.example.net");
    other["labels"]["resource"] = json!("ingress/else/where");
    let (status, codes) = door.change_codes(json!({"create": [other]}));
    assert_eq!((status, codes), (500, vec!["www.example.com. CNAME conflict cname_exclusive".to_owned()]));
}

#[test]
fn families_and_hints_of_an_alias() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let door = Door::open(&server, "prod", json!({}));
    for (value, families) in [("A", json!(["A"])), ("AAAA", json!(["AAAA"])), ("true", json!(["A", "AAAA"]))] {
        let form = with(endpoint("example.com", "CNAME", &["edge.example.net"]), "alias", value);
        assert_eq!(door.change(json!({"create": [form]})).0, 204);
        let (_, claims) = server.api("GET", "/v1/records?name=example.com&type=ALIAS", None);
        assert_eq!(claims["items"][0]["alias"]["families"], families, "{claims}");
        assert_eq!(door.records()[0]["providerSpecific"], json!([{"name": "alias", "value": value}]));
    }
    let host = with(endpoint("www.example.com", "A", &["edge.example.net"]), "alias", "true");
    let (status, codes) = door.change_codes(json!({"create": [host]}));
    assert_eq!((status, codes), (500, vec!["www.example.com. A invalid alias_family_unsupported".to_owned()]));
    let (_, claims) = server.api("DELETE", &format!("/v1/owners/{}", part("externaldns:none")), None);
    assert_eq!(claims["ownersDeleted"], 0);
    // Deleting the CNAME ends the ALIAS.
    assert_eq!(door.change(json!({"delete": [endpoint("example.com", "CNAME", &["whatever.example.net"])]})).0, 204);
    assert!(door.records().is_empty());
}

#[test]
fn one_bad_record_among_fifty_blocks_only_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let mut client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    client.types.push("MX");
    let mut desired: Vec<Value> =
        (0..49).map(|at| endpoint(&format!("h{at}.example.com"), "A", &["192.0.2.1"])).collect();
    desired.push(endpoint("example.com", "MX", &["ten mail.example.net"]));
    let Cycle::Sent(500, body) = client.cycle(&desired) else { panic!("an error") };
    assert_eq!(body["results"].as_array().map(Vec::len), Some(1), "{body}");
    assert_eq!((&body["results"][0]["code"], &body["status"]), (&json!("invalid_record"), &json!(500)));
    for at in 0..49 {
        assert_eq!(server.ask(&format!("h{at}.example.com"), "A").data(), ["192.0.2.1"]);
    }
    let before = (serial(&server, "example.com"), revision(&server));
    let Cycle::Sent(500, _) = client.cycle(&desired) else { panic!("still an error") };
    assert_eq!((serial(&server, "example.com"), revision(&server)), before, "nothing else is touched");
    let status = client.door.status(&server);
    assert_eq!(status["lastChange"]["refused"][0]["code"], "invalid_record", "{status}");
    let (_, metrics) = (
        0,
        super::server::run({
            let url = format!("http://{}/metrics", server.http);
            async move { reqwest::get(url).await.expect("an answer").text().await.expect("a text") }
        }),
    );
    assert!(
        metrics.contains(r#"tenured_externaldns_records_refused{owner="externaldns:prod",code="invalid_record"} 1"#),
        "{metrics}"
    );
    assert!(
        metrics
            .contains(r#"tenured_externaldns_requests_total{owner="externaldns:prod",call="change",status="500"} 2"#)
    );

    desired[49] = endpoint("example.com", "MX", &["10 mail.example.net"]);
    client.works(&desired);
    client.rests(&desired, 2);
    // What is there and edited to nonsense keeps its value.
    desired[49] = endpoint("example.com", "MX", &["mail"]);
    assert!(matches!(client.cycle(&desired), Cycle::Sent(500, _)));
    assert_eq!(server.ask_both("example.com", "MX").data(), ["10 mail.example.net."]);
    assert_eq!(client.door.records().len(), 50);
}
