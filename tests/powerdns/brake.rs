//! The brake of keys that have one: many deletes at once go on hold, and the rest of the request is done.

use serde_json::{Value, json};

use super::door::{Client, delete, replace};
use super::service::Service;

fn name(number: usize) -> String {
    format!("h{number}.example.com.")
}

#[test]
fn many_deletes_at_once_go_on_hold() {
    let service = Service::start();
    Client::of(&service, "generic").zone();
    let client = Client::of(&service, "external-dns");
    let all: Vec<Value> = (0..40).map(|number| replace(&name(number), "A", &["192.0.2.1"])).collect();
    client.patched(json!(all));
    let few: Vec<Value> = (0..10).map(|number| delete(&name(number), "A")).collect();
    client.patched(json!(few));
    let mut many: Vec<Value> = (10..30).map(|number| delete(&name(number), "A")).collect();
    many.push(replace("new.example.com.", "A", &["192.0.2.2"]));
    let held = client.patch(json!(many));
    assert_eq!((held.status, held.error().as_str()), (422, "Delete brake: 20 of 30 records on hold, see /v1/holds"));
    assert_eq!(client.contents("new.example.com.", "A"), ["192.0.2.2"], "the rest is applied");
    assert_eq!(client.contents(&name(10), "A"), ["192.0.2.1"]);
    let (_, holds) = service.api("GET", "/v1/holds", None);
    assert_eq!(holds["items"][0]["deletes"].as_array().map(Vec::len), Some(20), "{holds}");
    assert_eq!(client.patch(json!(many)).status, 422, "the repeated request refreshes the same hold");
    assert_eq!(service.api("GET", "/v1/holds", None).1["items"], holds["items"]);
    let id = holds["items"][0]["id"].as_str().expect("an id");
    assert_eq!(service.api("POST", &format!("/v1/holds/{id}/approve"), None).0, 200);
    assert_eq!(client.contents(&name(10), "A"), Vec::<String>::new());
    // What is written anew under another type is no delete.
    let swaps: Vec<Value> = (30..40)
        .flat_map(|number| [delete(&name(number), "A"), replace(&name(number), "AAAA", &["2001:db8::1"])])
        .collect();
    client.patched(json!(swaps));
}
