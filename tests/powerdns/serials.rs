//! Serials: they rise by what is served, and a submitted one is a floor.

use serde_json::{Value, json};

use super::door::{Client, delete, replace};
use super::service::Service;

const DAY: u64 = 86_400_000;

fn soa(serial: u64, refresh: u64) -> Value {
    let content = format!("ns1.example.com. hostmaster.example.com. {serial} {refresh} 3600 604800 3600");
    replace("example.com.", "SOA", &[&content])
}

#[test]
fn a_submitted_serial_is_a_floor_and_alone_no_change() {
    let service = Service::start();
    let client = Client::of(&service, "dns-operator");
    client.zone();
    client.patched(json!([soa(2_026_113_001, 10_800)]));
    let first = client.serial();
    for serial in [2_026_112_901, first, first + 100, first + 50] {
        let reply = client.patched(json!([soa(serial, 10_800)]));
        assert_eq!(reply.header("x-pdns-new-serial"), None);
    }
    assert_eq!(client.serial(), first, "alone it is no change");
    client.patched(json!([replace("www.example.com.", "A", &["192.0.2.1"])]));
    assert_eq!(client.serial(), first + 100, "the next change reaches it");
    client.patched(json!([soa(first, 7_200)]));
    assert_eq!(client.serial(), first + 101, "another field is a change, and the serial never falls");
    client.patched(json!([delete("example.com.", "SOA")]));
    client.patched(json!([soa(first, 7_200)]));
    assert!(client.serial() > first + 100);
}

#[test]
fn the_serial_rises_as_soa_edit_api_says() {
    for (kind, first, next, tomorrow) in [
        ("DEFAULT", 2_026_113_001, 2_026_113_002, 2_026_120_101),
        ("INCREASE", 2_026_113_001, 2_026_113_002, 2_026_113_003),
        ("EPOCH", 2_026_113_001, 2_026_113_002, 2_026_113_003),
    ] {
        let service = Service::start();
        let client = Client::of(&service, "generic");
        let body = json!({"name": "example.com.", "kind": "Native", "soa_edit_api": kind, "nameservers": []});
        assert_eq!(client.call("POST", "zones", body).status, 201);
        assert_eq!(client.serial(), first, "{kind}");
        client.patched(json!([replace("www.example.com.", "A", &["192.0.2.1"])]));
        assert_eq!(client.serial(), next, "{kind}");
        service.clock.advance(DAY);
        client.patched(json!([replace("www.example.com.", "A", &["192.0.2.2"])]));
        assert_eq!(client.serial(), tomorrow, "{kind}");
    }
    let service = Service::start();
    let client = Client::of(&service, "generic");
    let body = json!({"name": "example.com.", "kind": "Native", "soa_edit_api": "EPOCH", "serial": 5});
    assert_eq!(client.call("POST", "zones", body).json()["serial"], 5);
    client.patched(json!([replace("www.example.com.", "A", &["192.0.2.1"])]));
    assert_eq!(client.serial(), 1_796_040_000);
}
