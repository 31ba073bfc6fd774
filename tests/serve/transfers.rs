//! Records change hands over HTTP and by the command line; DNS sees nothing of it.

use serde_json::json;

use super::server::Server;

#[test]
fn imported_records_are_adopted_and_a_leaving_owner_hands_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let text = "$TTL 300\n@ IN SOA ns hostmaster 7 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n";
    std::fs::write(folder.path().join("example.org.zone"), text).expect("a file");
    assert!(server.command(&["zone", "import", "example.org.zone"]).status.success());
    let serial = || server.api("GET", "/v1/zones/example.org.", None).1["serial"].clone();
    let before = serial();
    let adopt = ["owner", "transfer", "zone:example.org.", "team-a", "--name", "www.example.org."];
    let output = server.command(&adopt);
    assert!(output.status.success(), "{output:?}");
    let (_, records) = server.api("GET", "/v1/owners/team-a/records", None);
    assert_eq!(records["items"][0]["name"], "www.example.org.", "{records}");
    assert_eq!(server.ask_both("www.example.org", "A").data(), ["192.0.2.2"]);

    let path = "/v1/owners/team-a?records=release&to=team-b";
    let (status, body) = server.api("DELETE", path, None);
    assert_eq!((status, body["ownersDeleted"].as_u64()), (200, Some(1)), "{body}");
    assert_eq!(body["records"][0]["owner"], "team-b", "{body}");
    assert_eq!(server.ask_both("www.example.org", "A").data(), ["192.0.2.2"]);
    assert_eq!(serial(), before, "what is served stays as it is");

    let wrong = json!({"from": "team-b", "to": "team-c", "match": {"typ": "A"}});
    assert_eq!(server.api("POST", "/v1/transfers", Some(wrong)).0, 400);
    let stale = json!({"from": "team-b", "to": "team-c", "expectedRevision": 1});
    let (status, body) = server.api("POST", "/v1/transfers", Some(stale));
    assert_eq!((status, body["code"].as_str()), (412, Some("stale_revision")), "{body}");
    let (_, changes) = server.api("GET", "/v1/changes?name=www.example.org.", None);
    assert_eq!(changes["items"].as_array().map(Vec::len), Some(4), "each transfer is two rows: {changes}");
}
