//! Records in quarantine over HTTP, the command line and DNS.

use serde_json::json;

use super::server::Server;

#[test]
fn a_record_or_an_owner_is_put_aside_and_comes_back_by_a_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let record = "/v1/owners/team-a/records/www.example.com./A";
    let value = || Some(json!({"values": ["192.0.2.1"]}));
    assert_eq!(server.api("PUT", record, value()).0, 200);
    let (status, body) = server.api("DELETE", &format!("{record}?quarantine=true"), None);
    assert_eq!((status, body["summary"]["quarantined"].as_u64()), (200, Some(1)), "{body}");
    assert_eq!(server.ask_both("www.example.com", "A").rcode, "NXDOMAIN");
    let (_, list) = server.api("GET", "/v1/records?state=quarantined", None);
    assert_eq!(list["items"][0]["owner"], "team-a", "{list}");
    assert_eq!(server.api("PUT", record, value()).0, 200);
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.1"]);

    let output = server.command(&["owner", "delete", "team-a", "--quarantine"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.ask_both("www.example.com", "A").rcode, "NXDOMAIN");
    let (_, owner) = server.api("GET", "/v1/owners/team-a", None);
    assert_eq!(
        (owner["state"].as_str(), owner["claims"]["quarantined"].as_u64()),
        (Some("deleting"), Some(1)),
        "{owner}"
    );
    assert_eq!(server.api("PUT", record, value()).0, 200);
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.1"]);
    let both = "/v1/owners/team-a?quarantine=true&records=release&to=team-b";
    assert_eq!(server.api("DELETE", both, None).0, 400);
}
