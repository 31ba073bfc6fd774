//! The plan-only URL: scenario 12.

use serde_json::{Value, json};

use super::door::{Door, apply, endpoint, make_zone, revision};
use super::planner::{Client, Cycle};
use super::server::Server;

#[test]
fn the_plan_only_url_says_what_the_real_one_then_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let foreign = json!([{"name": "theirs.example.com.", "type": "A", "values": ["192.0.2.99"]}]);
    assert_eq!(apply(&server, "by-hand", foreign).0, 200);
    let real = Client::new(Door::open(&server, "prod", json!({"onConflict": "reject"})), "prod");
    let plan = Client { door: real.door.plan_only(), ..real.clone() };
    let before: Vec<Value> = (0..12).map(|at| endpoint(&format!("h{at}.example.com"), "A", &["192.0.2.1"])).collect();
    real.works(&before);
    let written = revision(&server);
    // A create, an update, a conflict, an invalid one, and deletes that the brake holds.
    let desired = [
        endpoint("h0.example.com", "A", &["192.0.2.2"]),
        endpoint("new.example.com", "A", &["192.0.2.3"]),
        endpoint("theirs.example.com", "A", &["192.0.2.4"]),
        endpoint("bad.example.com", "A", &["nonsense"]),
    ];
    for _ in 0..2 {
        assert_eq!(plan.cycle(&desired), Cycle::Sent(204, Value::Null));
    }
    assert_eq!((revision(&server), real.door.records().len()), (written, 12), "nothing changed");
    assert_eq!(server.api("GET", "/v1/holds", None).1["items"], json!([]));
    let (status, plans) = server.api("GET", "/v1/plans?owner=externaldns%3Aprod", None);
    assert_eq!((status, plans["items"].as_array().map(Vec::len)), (200, Some(2)), "{plans}");
    let planned = plans["items"][0].clone();
    let Cycle::Sent(500, _) = real.cycle(&desired) else { panic!("an error") };
    let done = real.door.status(&server)["lastChange"].clone();
    assert_eq!(planned["summary"], done["summary"], "{planned} {done}");
    assert_eq!(planned["summary"]["held"], 11);
    let refused: Vec<&Value> =
        planned["results"].as_array().expect("results").iter().filter(|one| one.get("code").is_some()).collect();
    assert_eq!(json!(refused), done["refused"]);
}
