//! What a PATCH does by itself: changetypes, swaps, values and their spellings, and the exact errors.

use serde_json::{Value, json};

use super::door::{Client, delete, replace};
use super::service::Service;

#[test]
fn record_sets_are_written_read_and_deleted() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let before = client.serial();
    let reply = client.patched(json!([replace("www.example.com.", "A", &["192.0.2.2", "192.0.2.1"])]));
    assert_eq!(reply.header("x-pdns-old-serial"), Some(before.to_string().as_str()));
    assert_eq!(reply.header("x-pdns-new-serial"), Some((before + 1).to_string().as_str()));
    assert_eq!(reply.header("content-type"), None);
    assert_eq!(client.contents("www.example.com.", "A"), ["192.0.2.1", "192.0.2.2"]);
    let again = client.patched(json!([replace("WWW.example.com.", "a", &["192.0.2.1", "192.0.2.2", "192.0.2.1"])]));
    assert_eq!(again.header("x-pdns-new-serial"), None, "an identical REPLACE is none");
    assert_eq!(client.serial(), before + 1);
    client.patched(json!([{"name": "www.example.com.", "type": "A", "changetype": "EXTEND", "ttl": 300,
        "records": [{"content": "192.0.2.3"}]}]));
    client.patched(json!([{"name": "www.example.com.", "type": "A", "changetype": "PRUNE", "ttl": 300,
        "records": [{"content": "192.0.2.1"}]}]));
    assert_eq!(client.contents("www.example.com.", "A"), ["192.0.2.2", "192.0.2.3"]);
    client
        .patched(json!([{"name": "www.example.com.", "type": "A", "changetype": "DELETE", "ttl": 0, "records": null}]));
    assert_eq!(client.contents("www.example.com.", "A"), Vec::<String>::new());
    let after = client.serial();
    client.patched(json!([delete("www.example.com.", "A"), delete("www.example.net.", "A")]));
    client.patched(json!([]));
    assert_eq!(client.serial(), after, "what is not there is as it should be");
    client.patched(json!([replace("www.example.com.", "A", &["192.0.2.1"])]));
    client.patched(json!([replace("www.example.com.", "A", &[])]));
    assert_eq!(client.contents("www.example.com.", "A"), Vec::<String>::new());
}

#[test]
fn one_type_takes_the_place_of_another_in_any_order() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let name = "www.example.com.";
    client.patched(json!([replace(name, "CNAME", &["edge.example.net."])]));
    client.patched(json!([replace(name, "A", &["192.0.2.1"]), delete(name, "CNAME")]));
    assert_eq!(client.contents(name, "A"), ["192.0.2.1"]);
    let before = client.serial();
    client.patched(json!([replace(name, "CNAME", &["edge.example.net."])]));
    assert_eq!((client.contents(name, "A").len(), client.contents(name, "CNAME").len()), (0, 1), "superseded");
    assert_eq!(client.serial(), before + 1, "in one commit");
    client.patched(json!([delete(name, "A")]));
    client.patched(json!([replace(name, "ALIAS", &["edge.example.net."])]));
    client.patched(json!([replace(name, "A", &["192.0.2.7"])]));
    assert_eq!((client.contents(name, "A").len(), client.contents(name, "ALIAS").len()), (1, 1), "A beside my ALIAS");
    client.patched(json!([delete(name, "CNAME")]));
    assert_eq!(client.contents(name, "ALIAS"), Vec::<String>::new(), "an ALIAS that was read back as CNAME");
    client.patched(json!([replace(name, "TXT", &["\"x\""])]));
    let refused = client.patch(json!([replace(name, "CNAME", &["edge.example.net."])]));
    assert_eq!(refused.status, 422, "TXT never gives way");
    let wanted = "RRset www.example.com. IN CNAME: Conflicts with pre-existing RRset (TXT owned by pdns:generic since ";
    assert!(refused.error().starts_with(wanted), "{refused:?}");
    assert_eq!(client.contents(name, "A"), ["192.0.2.7"], "nothing of the request is in effect");
    let apex = client.patch(json!([replace("example.com.", "CNAME", &["edge.example.net."])]));
    assert!(apex.error().contains("Conflicts with pre-existing RRset (SOA owned by system:tenured"), "{apex:?}");
}

#[test]
fn every_refusal_has_its_exact_words() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    client.patched(json!([replace("m.example.com.", "A", &["192.0.2.1"])]));
    let a = |fields: Value| {
        let mut rrset = replace("www.example.com.", "A", &["192.0.2.1"]);
        for (key, value) in fields.as_object().expect("an object") {
            rrset[key] = value.clone();
        }
        rrset
    };
    let one = |content: &str| json!([{"content": content}]);
    let cases = [
        (a(json!({"name": "www.example.com"})), "DNS Name 'www.example.com' is not canonical"),
        (a(json!({"name": "w w.example.com."})), "Name 'w\\032w.example.com.' contains unsupported characters"),
        (a(json!({"name": "a..example.com."})), "Unable to parse DNS Name 'a..example.com.'"),
        (a(json!({"name": 5})), "Key 'name' not present or not a String"),
        (a(json!({"type": "WHAT"})), "RRset www.example.com. IN WHAT: unknown type given"),
        (a(json!({"type": "OPT"})), "RRset www.example.com. IN OPT: invalid type given"),
        (a(json!({"type": "TSIG"})), "RRset www.example.com. IN TSIG: invalid type given"),
        (a(json!({"type": "LUA"})), "Update of Lua records is not allowed"),
        (a(json!({"type": "DS"})), "DNSSEC is not available on this server yet"),
        (a(json!({"changetype": "SET"})), "Changetype 'SET' is not a valid value"),
        (a(json!({"changetype": null})), "Key 'changetype' not present or not a String"),
        (a(json!({"name": "example.net."})), "RRset example.net. IN A: Name is out of zone (Not in zone)"),
        (a(json!({"records": null})), "No change for RRset www.example.com. IN A"),
        (a(json!({"ttl": null})), "New RRsets are invalid: Key 'ttl' not an Integer or not present"),
        (a(json!({"ttl": "x"})), "New RRsets are invalid: Key 'ttl' not an Integer or not present"),
        (a(json!({"ttl": -1})), "New RRsets are invalid: Key 'ttl' is not a positive Integer"),
        (a(json!({"ttl": 2_147_483_648_u64})), "New RRsets are invalid: Key 'ttl' is not a positive Integer"),
        (
            a(json!({"records": [{"content": "192.0.2.1", "disabled": "no"}]})),
            "New RRsets are invalid: Key 'disabled' not present or not a Bool",
        ),
        (a(json!({"changetype": "EXTEND", "records": []})), "No record provided for PRUNE or EXTEND operation"),
        (
            a(json!({"changetype": "PRUNE", "records": [{"content": "192.0.2.1"}, {"content": "192.0.2.2"}]})),
            "Exactly one record should be provided for PRUNE or EXTEND operation",
        ),
        (
            a(json!({"name": "m.example.com.", "changetype": "EXTEND", "ttl": 60, "records": one("192.0.2.9")})),
            "RRset m.example.com. IN A: uses a different TTL value than the remainder of the RRset",
        ),
        (
            a(json!({"type": "CNAME", "records": [{"content": "a.example.net."}, {"content": "b.example.net."}]})),
            "RRset www.example.com. IN CNAME: only one such record allowed",
        ),
        (
            a(json!({"type": "SOA", "records": one("ns1.example.com. h.example.com. 1 2 3 4 5")})),
            "RRset www.example.com. IN SOA: is only allowed at apex",
        ),
        (
            a(json!({"type": "CNAME", "records": one("edge")})),
            "Record www.example.com./CNAME 'edge': Not in expected format (parsed as 'edge.')",
        ),
        (a(json!({"type": "CAA", "records": one("0 issue ;")})), "Invalid character ';' in record content '0 issue ;'"),
        (
            a(json!({"type": "MX", "records": one("10 m!l.example.com.")})),
            "RRset www.example.com. IN MX: non-hostname content m!l.example.com.",
        ),
        (
            a(json!({"records": null, "comments": [{"content": "c", "account": "a", "modified_at": -5}]})),
            "Key 'modified_at' is not a valid number",
        ),
    ];
    for (rrset, wanted) in cases {
        let reply = client.patch(json!([rrset]));
        assert_eq!((reply.status, reply.text), (422, json!({ "error": wanted }).to_string()), "{rrset}");
    }
    let twice = client.patch(json!([a(json!({})), a(json!({"name": "WWW.example.com."}))]));
    assert_eq!(twice.error(), "Duplicate RRset www.example.com. IN A with changetype: REPLACE");
    let alias = client.patch(json!([replace("www.example.com.", "ALIAS", &["localhost."])]));
    assert!(alias.error().starts_with("Record www.example.com./ALIAS 'localhost.': "), "{alias:?}");
    let several = client.patch(json!([a(json!({"ttl": -1})), a(json!({"name": "x", "type": "A"}))]));
    assert_eq!(several.error(), "Multiple errors found in RRset");
    assert_eq!(several.json()["errors"].as_array().map(Vec::len), Some(2), "{several:?}");
    for (body, status, wanted) in [
        ("", 400, "Bad Request"),
        ("null", 400, "Bad Request"),
        ("[]", 400, "Bad Request"),
        ("{", 400, "Bad Request"),
        ("{}", 422, "No rrsets given in update request"),
        (r#"{"rrsets":null}"#, 422, "No rrsets given in update request"),
    ] {
        let reply = client.send("PATCH", &format!("{}/zones/example.com.", super::door::SERVER), body);
        assert_eq!((reply.status, reply.error().as_str()), (status, wanted), "{body}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
}

#[test]
fn disabled_values_and_comments_are_kept_beside_the_claim() {
    let service = Service::start();
    let client = Client::of(&service, "generic");
    client.zone();
    let mut rrset = replace("www.example.com.", "A", &["192.0.2.1"]);
    rrset["records"] = json!([{"content": "192.0.2.1"}, {"content": "192.0.2.2", "disabled": true}]);
    rrset["comments"] = json!([{"content": "b", "account": "x", "modified_at": 7}, {"content": "a", "account": ""}]);
    client.patched(json!([rrset.clone()]));
    let before = client.serial();
    let get = || {
        let path = "zones/example.com.?rrset_name=www.example.com.&rrset_type=A";
        client.call("GET", path, Value::Null).json()["rrsets"][0].clone()
    };
    let shown = get();
    let wanted = json!([{"content": "192.0.2.1", "disabled": false}, {"content": "192.0.2.2", "disabled": true}]);
    assert_eq!(shown["records"], wanted);
    assert_eq!(shown["comments"][0], json!({"account": "", "content": "a", "modified_at": 1_796_040_000}));
    assert_eq!(shown["comments"][1], json!({"account": "x", "content": "b", "modified_at": 7}));
    service.clock.advance(5_000);
    client.patched(json!([rrset]));
    assert_eq!(get(), shown, "a comment that is written again keeps its time");
    client.patched(json!([{"name": "www.example.com.", "type": "A", "changetype": "REPLACE", "comments": []}]));
    assert_eq!((get()["comments"].clone(), get()["records"].clone()), (json!([]), wanted));
    assert_eq!(client.serial(), before, "nothing of it is served");
    let native = super::door::claims(&service, "state=held&name=www.example.com.");
    assert_eq!(native[0]["values"], json!(["192.0.2.1"]), "{native:?}");
    client.patched(json!([delete("www.example.com.", "A")]));
    assert_eq!(get(), Value::Null);
    client.patched(json!([{"name": "c.example.com.", "type": "A", "changetype": "REPLACE",
        "comments": [{"content": "alone", "account": "x"}]}]));
    assert_eq!(super::door::claims(&service, "name=c.example.com."), Vec::<Value>::new(), "comments claim nothing");
}
