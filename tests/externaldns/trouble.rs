//! A server in trouble: scenario 11, for a client that asks it without the sidecar.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::door::{Door, endpoint, make_zone};
use super::planner::{Client, Cycle};
use super::server::Server;

fn records(count: usize, address: &str) -> Vec<Value> {
    (0..count).map(|at| endpoint(&format!("h{at}.example.com"), "A", &[address])).collect()
}

#[test]
fn a_post_that_was_killed_is_whole_or_not_there_and_the_next_cycle_completes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let mut client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    for round in 1..=3_usize {
        let desired = records(400, &format!("192.0.2.{round}"));
        let changes = client.with_registry(client.plan(&desired).expect("a plan")).json();
        let door = client.door.clone();
        let sending = std::thread::spawn(move || door.send("POST", "/records", Some(changes.to_string()), None));
        // Somewhere in the middle of it, another place each time.
        for _ in 0..round * 40 {
            server.ask("h0.example.com", "A");
        }
        server.kill();
        let answered = sending.join().expect("its end");
        server = Server::start(folder.path(), &[]);
        client.door.http = server.http;
        let served = (0..400)
            .filter(|at| server.ask(&format!("h{at}.example.com"), "A").data() == [format!("192.0.2.{round}")])
            .count();
        assert!(served == 0 || served == 400, "half of it: {served}");
        assert!(answered.is_err() || served == 400, "what was acknowledged is there: {answered:?}");
        let cycle = client.cycle(&desired);
        assert!(matches!(cycle, Cycle::Silent | Cycle::Sent(204, _)), "{cycle:?}");
        client.rests(&desired, 1);
    }
}

#[test]
fn a_revoked_token_and_a_body_that_is_cut_short_are_soft_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    client.works(&records(3, "192.0.2.1"));

    let mut stream = TcpStream::connect(server.http).expect("a connection");
    let head = format!(
        "POST /externaldns/prod/records HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 5000\r\n\r\n{{\"delete\":[",
        client.door.token
    );
    stream.write_all(head.as_bytes()).expect("room");
    drop(stream);
    client.rests(&records(3, "192.0.2.1"), 1);

    let id = client.door.token.split('_').nth(1).expect("an id").to_owned();
    assert_eq!(server.api("DELETE", &format!("/v1/tokens/{id}"), None).0, 200);
    assert_eq!(client.cycle(&[]), Cycle::Failed(503));
    assert_eq!(client.door.change(json!({})).0, 503);
    let again = Client { door: Door::open(&server, "prod", json!({})), ..client };
    again.rests(&records(3, "192.0.2.1"), 1);
}

#[test]
fn a_store_that_takes_no_writes_is_a_soft_error_and_names_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let client = Client::new(Door::open(&server, "prod", json!({})), "prod");
    let before = records(3, "192.0.2.1");
    client.works(&before);
    let database = folder.path().join("tenured.db");
    let locked = Lock::on(&database);
    assert_eq!(client.door.change(json!({"create": [endpoint("new.example.com", "A", &["192.0.2.1"])]})).0, 503);
    assert_eq!(server.ask("h0.example.com", "A").data(), ["192.0.2.1"]);
    locked.free();
    client.rests(&before, 1);
    client.works(&records(4, "192.0.2.1"));
}

/// Another program that writes to the store for long: one transaction of SQLite's own shell.
struct Lock(std::process::Child);

impl Lock {
    fn on(database: &std::path::Path) -> Lock {
        use std::io::{BufRead as _, BufReader};
        let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); \
            c.execute('BEGIN EXCLUSIVE'); print('locked', flush=True); sys.stdin.read()";
        let mut child = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(database)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout is piped")).read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), "locked");
        Lock(child)
    }

    fn free(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("its end");
    }
}
