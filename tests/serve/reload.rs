//! The configuration is read again by SIGHUP and by the API: what can change does, what cannot is named, and an error
//! changes nothing.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::server::{Server, eventually, sample_zones};

fn write(folder: &Path, text: &str) {
    std::fs::write(folder.join("tenured.toml"), text).expect("a file");
}

fn start(folder: &Path) -> Server {
    Server::start(folder, &["--zones", &sample_zones().display().to_string()])
}

/// How many types ANY gets over UDP.
fn any(server: &Server) -> usize {
    let reply = server.ask("example.com", "ANY");
    let mut types: Vec<&str> = reply.answer.iter().filter_map(|record| record.split(' ').nth(2)).collect();
    types.dedup();
    types.len()
}

#[test]
fn the_api_says_what_changed_and_what_needs_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "");
    let server = start(folder.path());
    assert_eq!(any(&server), 1);
    write(folder.path(), "[dns]\nany = \"full\"\ntcp_idle = 7\n[alias]\nlookups = 5\n");
    let (status, body) = server.api("POST", "/v1/config/reload", None);
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        body["changes"],
        json!([
            {"key": "alias.lookups", "before": "4096", "after": "5", "effect": "restart"},
            {"key": "dns.any", "before": "\"minimal\"", "after": "\"full\"", "effect": "now"},
            {"key": "dns.tcp_idle", "before": "30", "after": "7", "effect": "restart"},
        ])
    );
    assert!(any(&server) > 1);
    assert_eq!(server.api("POST", "/v1/config/reload", None).1["changes"], json!([]));
    let shown = server.command(&["config", "reload"]);
    assert!(shown.status.success() && String::from_utf8_lossy(&shown.stderr).contains("nothing changed"), "{shown:?}");
    write(folder.path(), "[dns]\nany = 3\n");
    let (status, body) = server.api("POST", "/v1/config/reload", None);
    assert_eq!((status, body["code"].as_str()), (400, Some("bad_request")), "{body}");
    assert!(!body.to_string().contains("tenured.toml"), "it names a file: {body}");
    assert!(any(&server) > 1);
    let (_, token) = server.api("POST", "/v1/tokens", Some(json!({"name": "r", "role": "read"})));
    let token = token["token"].as_str().expect("a token");
    assert_eq!(server.api_as(token, "POST", "/v1/config/reload", None).0, 403);
}

#[test]
fn sighup_reads_it_again() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "");
    let server = start(folder.path());
    write(folder.path(), "[dns]\nany = \"full\"\n");
    let sent = Command::new("kill").args(["-HUP", &server.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    eventually(5, "ANY is full", || any(&server), |types| *types > 1);
}
