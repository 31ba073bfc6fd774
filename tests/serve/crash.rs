//! kill -9 under load: what was acknowledged is there, and nothing is there by half.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::server::{Server, run};

const WRITERS: usize = 16;
const WRITES: usize = 1_000;

/// What a writer knows of its owner: the last acknowledged number, and the one that was under way.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    acknowledged: usize,
    asked: usize,
}

/// Writes numbered pairs of records for `owner`, one after the other, until the server is gone or all are written.
async fn write(http: std::net::SocketAddr, token: String, owner: usize, known: Arc<Mutex<BTreeMap<usize, Known>>>) {
    let client = reqwest::Client::new();
    for number in 1..=WRITES / WRITERS {
        known.lock().expect("no writer panicked").entry(owner).or_default().asked = number;
        // Both records of a request carry the same number: one alone would be half a request.
        let body = json!({"records": [
            {"name": format!("left-{owner}.example.com."), "type": "TXT", "values": [number.to_string()]},
            {"name": format!("right-{owner}.example.com."), "type": "TXT", "values": [number.to_string()]}]});
        let url = format!("http://{http}/v1/owners/writer-{owner}/records");
        match client.put(url).bearer_auth(&token).json(&body).send().await {
            Ok(response) if response.status() == 200 => {
                known.lock().expect("no writer panicked").entry(owner).or_default().acknowledged = number;
            }
            Ok(response) => panic!("{}", response.text().await.unwrap_or_default()),
            Err(_gone) => return,
        }
    }
}

fn number(server: &Server, name: &str) -> usize {
    let reply = server.ask(name, "TXT");
    reply.data().first().map_or(0, |text| text.trim_matches('"').parse().expect("a number"))
}

fn serial(server: &Server) -> u32 {
    let soa = server.ask("example.com", "SOA");
    soa.data()[0].split(' ').nth(2).expect("a serial").parse().expect("a number")
}

#[test]
fn kill_9_during_concurrent_writes_loses_no_acknowledged_write_and_leaves_no_half() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let mut last = BTreeMap::new();
    for round in 0..5_u64 {
        let before = serial(&server);
        let known = Arc::new(Mutex::new(BTreeMap::new()));
        let (http, token) = (server.http, server.token());
        let writers = {
            let known = known.clone();
            std::thread::spawn(move || {
                run(async move {
                    let mut tasks = tokio::task::JoinSet::new();
                    for owner in 0..WRITERS {
                        tasks.spawn(write(http, token.clone(), owner, known.clone()));
                    }
                    while let Some(ended) = tasks.join_next().await {
                        ended.expect("a writer");
                    }
                });
            })
        };
        // Killed at another moment each round: after so many acknowledged writes.
        let enough = 20 + 150 * round as usize;
        loop {
            let sum: usize =
                known.lock().expect("no writer panicked").values().map(|one: &Known| one.acknowledged).sum();
            if sum >= enough || writers.is_finished() {
                break;
            }
            std::thread::yield_now();
        }
        server.kill();
        writers.join().expect("the writers");
        server = Server::start(folder.path(), &[]);
        for (owner, known) in known.lock().expect("no writer panicked").iter() {
            let left = number(&server, &format!("left-{owner}.example.com"));
            let right = number(&server, &format!("right-{owner}.example.com"));
            assert_eq!(left, right, "half a request of writer {owner} in round {round}");
            let possible = known.acknowledged..=known.asked;
            // A writer whose first write was not acknowledged has what the round before left.
            let kept = known.acknowledged == 0 && last.get(owner) == Some(&left);
            assert!(possible.contains(&left) || kept, "writer {owner}: {left}, known {known:?}");
            last.insert(*owner, left);
        }
        assert!(serial(&server) >= before, "the serial went back");
    }
}

#[test]
fn answers_go_on_while_the_store_is_locked_and_an_alarm_says_so_until_it_is_free() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let body = || Some(json!({"values": ["192.0.2.1"]}));
    let path = "/v1/owners/team-a/records/www.example.com./A";
    let database = folder.path().join("tenured.db");
    // Somebody else holds SQLite's write lock.
    let locker = std::thread::spawn(move || {
        run(async move {
            use sqlx::Connection as _;
            let url = format!("sqlite://{}", database.display());
            let mut connection = sqlx::SqliteConnection::connect(&url).await.expect("a connection");
            sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.expect("the lock");
            connection
        })
    });
    let connection = locker.join().expect("the lock");
    let (status, refused) = server.api("PUT", path, body());
    assert_eq!((status, refused["code"].as_str()), (503, Some("storage_unavailable")), "{refused}");
    assert_eq!(server.ask_both("example.com", "SOA").rcode, "NOERROR");
    let ready = |server: &Server| {
        let url = format!("http://{}/readyz?verbose", server.http);
        run(async move { reqwest::get(url).await.expect("a reply").text().await.expect("a text") })
    };
    let text = ready(&server);
    assert!(text.contains("store_unavailable") && text.starts_with("ready"), "{text}");
    drop(connection);
    assert_eq!(server.api("PUT", path, body()).0, 200);
    assert_eq!(server.ask_both("www.example.com", "A").data(), ["192.0.2.1"]);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while ready(&server).contains("store_unavailable") {
        assert!(std::time::Instant::now() < until, "the alarm goes on");
    }
}

#[test]
fn kill_9_leaves_a_key_with_what_it_did_or_neither() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let names = |server: &Server| -> Vec<String> {
        let (_, tokens) = server.api("GET", "/v1/tokens?limit=5000", None);
        let items = tokens["items"].as_array().expect("a list").iter();
        items.filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
    };
    for round in 0..3 {
        let (http, token) = (server.http, server.token());
        let (sent, answered) = std::sync::mpsc::channel();
        let sender = std::thread::spawn(move || {
            run(async move {
                for number in 0.. {
                    let key = format!("{round}-{number}");
                    match post(http, &token, &key).await {
                        Ok(id) => sent.send((key, Some(id))).expect("somebody listens"),
                        Err(_gone) => return sent.send((key, None)).expect("somebody listens"),
                    }
                }
            });
        });
        let mut known: Vec<(String, Option<String>)> = answered.iter().take(20).collect();
        server.kill();
        sender.join().expect("it ends with the server");
        known.extend(answered.iter());
        server = Server::start(folder.path(), &[]);
        // Every request is sent again: what was acknowledged gets the same answer, and each is done once.
        for (key, id) in &known {
            let (http, token, sent) = (server.http, server.token(), key.clone());
            let again = run(async move { post(http, &token, &sent).await }).expect("an answer");
            assert!(id.as_ref().is_none_or(|id| *id == again), "{key}");
        }
        let made = names(&server);
        for (key, _) in &known {
            assert_eq!(made.iter().filter(|name| *name == key).count(), 1, "{key}");
        }
    }
}

/// Makes a token with the key as its name; gives back its id.
async fn post(http: std::net::SocketAddr, token: &str, key: &str) -> Result<String, reqwest::Error> {
    let request = reqwest::Client::new().post(format!("http://{http}/v1/tokens")).bearer_auth(token);
    let request = request.header("Idempotency-Key", key).json(&json!({"name": key, "role": "read"}));
    let response = request.send().await?;
    assert_eq!(response.status(), 201);
    let body: serde_json::Value = response.json().await?;
    Ok(body["id"].as_str().expect("an id").to_owned())
}
