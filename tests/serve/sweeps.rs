//! What nobody owns any more goes in one sweep, over HTTP and by the command line, and comes back by its undo.

use serde_json::json;

use super::server::Server;

#[test]
fn a_sweep_reports_takes_and_gives_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    for owner in ["web", "mail"] {
        let records = json!([{"name": format!("{owner}.example.com."), "type": "A", "values": ["192.0.2.1"]}]);
        let body = json!({"parent": "prod", "records": records});
        assert_eq!(server.api("PUT", &format!("/v1/owners/{owner}/records"), Some(body)).0, 200);
    }
    let asked = json!({"scope": {"owner": "prod"}, "live": ["web"]});
    let (status, report) = server.api("POST", "/v1/sweeps", Some(asked.clone()));
    assert_eq!((status, report["mode"].as_str()), (200, Some("report")), "{report}");
    let candidate = json!([{"owner": "mail", "parents": ["prod"], "records": 1}]);
    assert_eq!((&report["candidates"], report["id"].is_string()), (&candidate, true), "{report}");
    assert_eq!(server.ask_both("mail.example.com", "A").data(), ["192.0.2.1"]);

    let revision = report["revision"].as_u64().expect("a revision").to_string();
    std::fs::write(folder.path().join("live"), "web\n").expect("a file");
    let base = ["sweep", "--scope", "prod", "--live", "live", "--as-of-revision", &revision];
    let output = server.command(&[&base[..], &["--mode", "delete", "-o", "json"]].concat());
    let swept: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((&swept["candidates"], swept["ownersDeleted"].as_u64()), (&candidate, Some(1)), "{swept}");
    assert_eq!(server.ask_both("mail.example.com", "A").rcode, "NXDOMAIN");

    server.kill();
    server = Server::start(folder.path(), &[]);
    let id = swept["id"].as_str().expect("an id");
    let (_, list) = server.api("GET", "/v1/sweeps", None);
    assert_eq!((list["items"][0]["id"].as_str(), list["items"].as_array().map(Vec::len)), (Some(id), Some(2)));
    let (_, one) = server.api("GET", &format!("/v1/sweeps/{id}"), None);
    assert_eq!((&one["candidates"], one["records"].as_u64()), (&candidate, Some(1)), "{one}");
    let output = server.command(&["sweep", "undo", id]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.ask_both("mail.example.com", "A").data(), ["192.0.2.1"]);
    assert_eq!(server.api("GET", &format!("/v1/sweeps/{id}"), None).1["state"], "undone");
    let listed = server.command(&["sweep", "list", "-o", "name"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains(id));

    // A revert of its revision is its undo.
    let (_, swept) =
        server.api("POST", "/v1/sweeps", Some(json!({"scope": {"owner": "prod"}, "live": [], "mode": "quarantine"})));
    assert_eq!(server.ask_both("web.example.com", "A").rcode, "NXDOMAIN");
    let (status, body) = server.api("POST", &format!("/v1/changes/{}/revert", swept["revision"]), None);
    assert_eq!((status, body["summary"]["updated"].as_u64()), (200, Some(2)), "{body}");
    assert_eq!(server.ask_both("web.example.com", "A").data(), ["192.0.2.1"]);
    assert_eq!(server.command(&["sweep", "--scope", "prod"]).status.code(), Some(2));
    assert_eq!(server.command(&["sweep", "undo", "s99999"]).status.code(), Some(3));
    for wrong in [
        json!({"scope": {"owner": "prod"}}),
        json!({"scope": {}, "live": []}),
        json!({"scope": {"owner": "prod"}, "live": [], "mode": "all"}),
    ] {
        assert_eq!(server.api("POST", "/v1/sweeps", Some(wrong)).0, 400);
    }
}
