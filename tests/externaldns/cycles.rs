//! Properties of cycles: whatever is desired, a second and a third cycle have nothing to do, nobody else is touched, and no
//! text of a registry is published.

use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::door::{Door, apply, endpoint, make_zone, with};
use super::planner::{Client, Cycle, Registry};
use super::server::Server;

/// What is desired at one name.
#[derive(Clone, Debug)]
enum At {
    Addresses { a: Vec<u8>, aaaa: Vec<u8>, text: Option<u8>, ttl: i64, sets: bool },
    Cname { target: u8, alias: Option<&'static str>, ttl: i64 },
    Mail { target: u8 },
    Nothing,
}

fn at() -> impl Strategy<Value = At> {
    let numbers = || proptest::collection::vec(1..6_u8, 0..3);
    let ttl = prop_oneof![Just(0_i64), Just(60), Just(300)];
    let alias = prop_oneof![Just(None), Just(Some("true")), Just(Some("false")), Just(Some("A")), Just(Some("AAAA"))];
    prop_oneof![
        (numbers(), numbers(), proptest::option::of(0..3_u8), ttl.clone(), any::<bool>())
            .prop_map(|(a, aaaa, text, ttl, sets)| At::Addresses { a, aaaa, text, ttl, sets }),
        (0..3_u8, alias, ttl).prop_map(|(target, alias, ttl)| At::Cname { target, alias, ttl }),
        (0..3_u8).prop_map(|target| At::Mail { target }),
        Just(At::Nothing),
    ]
}

fn registry() -> impl Strategy<Value = Registry> {
    let txt = |(prefix, suffix, wildcard, encrypted): (&str, &str, &str, bool)| Registry::Txt {
        prefix: prefix.to_owned(),
        suffix: suffix.to_owned(),
        wildcard: wildcard.to_owned(),
        encrypted,
    };
    prop_oneof![
        Just(Registry::Noop),
        Just(Registry::txt()),
        Just(txt(("p-", "", "any", false))),
        Just(txt(("", "-s", "", false))),
        Just(txt(("%{record_type}-p.", "", "any", true))),
        Just(txt(("", "", "", true))),
    ]
}

const NAMES: [&str; 5] = ["", "www.", "*.apps.", "a-b.", "deep.er."];

fn endpoints(zone: &str, wanted: &[At]) -> Vec<Value> {
    let mut found = Vec::new();
    for (prefix, at) in NAMES.iter().zip(wanted) {
        let name = format!("{prefix}{zone}");
        let mut push = |mut one: Value, ttl: i64, set: &str| {
            if ttl != 0 {
                one["recordTTL"] = json!(ttl);
            }
            if !set.is_empty() {
                one["setIdentifier"] = json!(set);
            }
            found.push(one);
        };
        match at {
            At::Addresses { a, aaaa, text, ttl, sets } => {
                let set = if *sets { "blue" } else { "" };
                let a: Vec<String> = a.iter().map(|number| format!("192.0.2.{number}")).collect();
                let aaaa: Vec<String> = aaaa.iter().map(|number| format!("2001:DB8::{number}")).collect();
                for (rtype, targets) in [("A", a), ("AAAA", aaaa)] {
                    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
                    if !targets.is_empty() {
                        push(endpoint(&name, rtype, &targets), *ttl, set);
                    }
                }
                if let Some(number) = text {
                    let text = ["v=spf1 -all", "\"quoted text\"", "plain"][usize::from(*number)];
                    push(endpoint(&name, "TXT", &[text]), *ttl, "");
                }
            }
            At::Cname { target, alias, ttl } => {
                let one = endpoint(
                    &name,
                    "CNAME",
                    &[["Edge.example.net", "b.example.net.", "c.example.net"][usize::from(*target)]],
                );
                push(alias.map_or(one.clone(), |value| with(one, "alias", value)), *ttl, "");
            }
            At::Mail { target } => push(
                endpoint(&name, "MX", &[["10 a.example.net", "20 b.example.net.", "0 ."][usize::from(*target)]]),
                0,
                "",
            ),
            At::Nothing => {}
        }
    }
    found
}

fn without(list: Vec<Value>, keys: &[&str]) -> Vec<String> {
    let mut shown: Vec<String> = list
        .into_iter()
        .map(|mut one| {
            keys.iter().for_each(|key| {
                one.as_object_mut().expect("an object").remove(*key);
            });
            one.to_string()
        })
        .collect();
    shown.sort();
    shown
}

#[test]
fn a_second_and_a_third_cycle_send_nothing() {
    static CASE: AtomicU32 = AtomicU32::new(0);
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let sets = || proptest::collection::vec(at(), NAMES.len());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 40, ..ProptestConfig::default() });
    let outcome = runner.run(&(sets(), sets(), registry()), |(first, second, registry)| {
        let case = CASE.fetch_add(1, Ordering::Relaxed);
        let zone = format!("z{case}.example.com");
        make_zone(&server, &zone);
        let theirs = json!([{"name": format!("theirs.{zone}."), "type": "A", "values": ["192.0.2.99"]}]);
        assert_eq!(apply(&server, &format!("other-{case}"), theirs).0, 200);
        let name = format!("c{case}");
        let client = Client {
            registry,
            types: vec!["A", "AAAA", "CNAME", "TXT", "MX"],
            ..Client::new(Door::open(&server, &name, json!({"brake": false})), &name)
        };
        for wanted in [first, second] {
            let mut desired = endpoints(&zone, &wanted);
            // Somebody else's name is desired, too: it waits, and hinders nothing.
            desired.push(endpoint(&format!("theirs.{zone}"), "A", &["192.0.2.1"]));
            let cycle = client.cycle(&desired);
            prop_assert!(matches!(cycle, Cycle::Silent | Cycle::Sent(204, _)), "{cycle:?}");
            let adjusted = client.door.adjust(json!(desired));
            let again = client.door.adjust(json!(adjusted));
            prop_assert_eq!(&adjusted, &again, "the form of a form");
            for _ in 0..2 {
                prop_assert_eq!(client.cycle(&desired), Cycle::Silent);
            }
            let keys = ["labels", "recordTTL"];
            prop_assert_eq!(without(client.door.records(), &keys), without(adjusted, &keys));
        }
        let reply = server.ask(&format!("theirs.{zone}"), "A");
        prop_assert_eq!(reply.data(), vec!["192.0.2.99"]);
        let (_, texts) = server.api("GET", &format!("/v1/records?zone={zone}&type=TXT"), None);
        let values = texts["items"].as_array().expect("a list").iter().map(|one| one["values"].to_string());
        prop_assert!(values.into_iter().all(|one| !one.contains("heritage")), "{}", texts);
        Ok(())
    });
    outcome.expect("the property");
}
