//! A source that is empty by mistake: scenario 9.

use serde_json::{Value, json};

use super::door::{Door, endpoint, make_zone};
use super::planner::{Client, Cycle};
use super::server::Server;

fn records(count: usize) -> Vec<Value> {
    (0..count).map(|at| endpoint(&format!("h{at}.example.com"), "A", &["192.0.2.1"])).collect()
}

fn hold(server: &Server) -> Value {
    server.api("GET", "/v1/holds", None).1["items"][0].clone()
}

#[test]
fn an_emptied_source_deletes_nothing_until_somebody_says_so() {
    for count in [3, 31, 8_764] {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(folder.path(), &[]);
        make_zone(&server, "example.com.");
        let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
        let desired = records(count);
        client.works(&desired);
        let last = format!("h{}.example.com", count - 1);

        // Held, served, in view, and an error; repeated it is the same hold.
        let Cycle::Sent(500, body) = client.cycle(&[]) else { panic!("an error") };
        assert_eq!(body["code"], "delete_guard");
        let first = hold(&server);
        assert_eq!((first["owner"].as_str(), first["claims"].as_u64()), (Some("externaldns:prod"), Some(count as u64)));
        assert_eq!(first["deletes"].as_array().map(Vec::len), Some(count));
        assert_eq!(client.door.records().len(), count);
        assert!(matches!(client.cycle(&[]), Cycle::Sent(500, _)));
        assert_eq!(hold(&server)["id"], first["id"]);
        assert_eq!(server.ask(&last, "A").data(), ["192.0.2.1"]);
        assert_eq!(client.door.status(&server)["holds"], json!([first["id"]]));

        // Creates go on beside it, discarded it comes again, and desired again it is over.
        let other = endpoint("new.example.com", "A", &["192.0.2.2"]);
        assert!(matches!(client.cycle(std::slice::from_ref(&other)), Cycle::Sent(..)));
        assert_eq!(server.ask("new.example.com", "A").data(), ["192.0.2.2"]);
        let id = hold(&server)["id"].as_str().map(str::to_owned);
        if let Some(id) = id {
            assert_eq!(server.api("POST", &format!("/v1/holds/{id}/discard"), None).0, 200);
            assert_eq!(hold(&server), Value::Null);
        }
        let all: Vec<Value> = client
            .door
            .records()
            .iter()
            .map(|one| {
                endpoint(
                    one["dnsName"].as_str().expect("a name"),
                    "A",
                    &[one["targets"][0].as_str().expect("a target")],
                )
            })
            .collect();
        assert!(matches!(client.cycle(&[]), Cycle::Sent(500, _)));
        assert_ne!(hold(&server), Value::Null);
        assert_eq!(client.cycle(&all), Cycle::Silent);
        assert_eq!(hold(&server), Value::Null, "it is desired again");

        // Approved it is done, and names are free on the next query.
        assert!(matches!(client.cycle(&[]), Cycle::Sent(500, _)));
        let id = hold(&server)["id"].as_str().expect("an id").to_owned();
        let (status, body) = server.api_as(&client.door.token, "POST", &format!("/v1/holds/{id}/approve"), None);
        assert_eq!(
            (status, body["summary"]["deleted"].as_u64()),
            (200, Some(all.len() as u64)),
            "by the owner's token"
        );
        assert_eq!(server.ask("new.example.com", "A").rcode, "NXDOMAIN");
        client.rests(&[], 2);
    }
}

#[test]
fn the_brake_of_a_token_is_tuned_or_off_and_swaps_are_no_deletes() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let off = Client::new(Door::open(&server, "off", json!({"brake": false})), "off");
    off.works(&records(40));
    off.works(&[]);
    let tuned =
        Client::new(Door::open(&server, "tuned", json!({"brake": {"min": 2, "percent": 50, "last": 100}})), "tuned");
    tuned.works(&records(10));
    tuned.works(&records(5));
    assert!(matches!(tuned.cycle(&records(1)), Cycle::Sent(500, _)), "four of five");
    // All thirty become CNAMEs: nothing ends.
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let of = |rtype: &str, target: &str| -> Vec<Value> {
        (0..30).map(|at| endpoint(&format!("s{at}.example.com"), rtype, &[target])).collect()
    };
    client.works(&of("A", "192.0.2.1"));
    client.works(&of("CNAME", "edge.example.net"));
    client.rests(&of("CNAME", "edge.example.net"), 1);
}
