//! kill -9 at random moments under applies, transfers, sweeps with their undoing, and leases that run out, beside a model
//! that knows for each lane what was acknowledged last and what was under way.
//!
//! `TENURED_KILL_ROUNDS` is the number of kills (6 if it is not set).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Server, run};

const LANES: usize = 10;
/// Lanes from here on have a lease that runs out, and are written once a round.
const LEASED: usize = 8;
/// Records of one apply; all carry its number, so that one that differs is half a request.
const RECORDS: usize = 4;

/// What a lane serves: nothing, or the records of one apply, held by one of its two owners.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Served {
    Nothing,
    Records { owner: usize, number: u64 },
}

/// What is known of a lane.
#[derive(Clone, Debug)]
struct Lane {
    acknowledged: Served,
    /// What may be in effect instead.
    under_way: Option<Served>,
    /// The sweep that emptied it last, and what it took.
    swept: Option<(String, Served)>,
    number: u64,
}

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn name(lane: usize, record: usize) -> String {
    format!("r{record}.lane{lane}.example.com")
}

fn owner(lane: usize, which: usize) -> String {
    format!("lane{lane}-{which}")
}

/// A request, and what the lane serves once it is acknowledged.
struct Step {
    method: reqwest::Method,
    path: String,
    body: Value,
    then: Served,
}

fn apply(lane: usize, which: usize, number: u64) -> Step {
    let records: Vec<Value> = (0..RECORDS)
        .map(|record| json!({"name": name(lane, record), "type": "TXT", "values": [number.to_string()]}))
        .collect();
    Step {
        method: reqwest::Method::PUT,
        path: format!("owners/{}/records?maxDeletes=100&atomic=true", owner(lane, which)),
        body: json!({"parent": format!("lane{lane}"), "records": records}),
        then: Served::Records { owner: which, number },
    }
}

/// The next step of a lane.
fn next(lane: usize, state: &mut Lane, dice: &mut Dice) -> Step {
    let post = |path: String, body: Value, then: Served| Step { method: reqwest::Method::POST, path, body, then };
    match (state.acknowledged.clone(), dice.below(5)) {
        (Served::Records { owner: from, number }, 0) => {
            let body = json!({"from": owner(lane, from), "to": owner(lane, 1 - from)});
            post("transfers".to_owned(), body, Served::Records { owner: 1 - from, number })
        }
        (Served::Records { .. }, 1) => {
            let body =
                json!({"scope": {"owner": format!("lane{lane}")}, "live": [], "mode": "delete", "maxDeletes": 100});
            post("sweeps".to_owned(), body, Served::Nothing)
        }
        (Served::Nothing, 0..=2) if state.swept.is_some() => {
            let (id, then) = state.swept.take().expect("a sweep");
            post(format!("sweeps/{id}/undo"), json!({}), then)
        }
        (Served::Records { owner, .. }, _) => {
            state.number += 1;
            apply(lane, owner, state.number)
        }
        (Served::Nothing, which) => {
            state.number += 1;
            apply(lane, which as usize % 2, state.number)
        }
    }
}

struct Run {
    http: std::net::SocketAddr,
    token: String,
    lanes: Vec<Mutex<Lane>>,
    acknowledged: AtomicUsize,
}

impl Run {
    /// Writes to a lane until the server is gone.
    async fn write(self: Arc<Self>, lane: usize, mut dice: Dice) {
        let client = reqwest::Client::new();
        loop {
            let step = {
                let mut state = self.lanes[lane].lock().expect("no writer panicked");
                let step = if lane < LEASED {
                    next(lane, &mut state, &mut dice)
                } else {
                    state.number += 1;
                    apply(lane, 0, state.number)
                };
                state.under_way = Some(step.then.clone());
                step
            };
            // Both owners of a lane stand below it, so that its sweep finds them; this changes nothing that is served.
            for which in 0..2 {
                let mut keys = json!({"parent": format!("lane{lane}")});
                if lane >= LEASED {
                    keys["leaseSeconds"] = json!(1);
                    keys["graceSeconds"] = json!(0);
                    keys["onExpiry"] = json!("delete");
                }
                let put = client.put(format!("http://{}/v1/owners/{}", self.http, owner(lane, which)));
                if put.bearer_auth(&self.token).json(&keys).send().await.is_err() {
                    return;
                }
            }
            let request = client.request(step.method, format!("http://{}/v1/{}", self.http, step.path));
            let Ok(response) = request.bearer_auth(&self.token).json(&step.body).send().await else { return };
            let status = response.status();
            let Ok(body) = response.json::<Value>().await else { return };
            assert_eq!(status, 200, "{}: {body}", step.path);
            let mut state = self.lanes[lane].lock().expect("no writer panicked");
            let before = std::mem::replace(&mut state.acknowledged, step.then);
            state.under_way = None;
            if step.path == "sweeps" {
                state.swept = Some((body["id"].as_str().expect("an id").to_owned(), before));
            } else {
                state.swept = None;
            }
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
            if lane >= LEASED {
                // From here on its lease may run out.
                state.under_way = Some(Served::Nothing);
                return;
            }
        }
    }
}

/// What a lane serves, over DNS and by the API; fails if that is half of something.
fn observed(server: &Server, lane: usize) -> Served {
    let held = |which: usize| -> Vec<String> {
        let (_, body) = server.api("GET", &format!("/v1/owners/{}/records", owner(lane, which)), None);
        let items = body["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["values"][0].as_str().expect("a value").trim_matches('"').to_owned()).collect()
    };
    let served = || -> Vec<String> {
        let replies: Vec<_> = (0..RECORDS).map(|record| server.ask(&name(lane, record), "TXT")).collect();
        replies.iter().flat_map(|reply| reply.data()).map(|text| text.trim_matches('"').to_owned()).collect()
    };
    // A lease may run out between two of the questions: then they are asked again.
    for _ in 0..5 {
        let (zero, one, values) = (held(0), held(1), served());
        let (which, held) = if one.is_empty() { (0, zero) } else { (1, zero.into_iter().chain(one).collect()) };
        if held != values {
            continue;
        }
        return match values.as_slice() {
            [] => Served::Nothing,
            [first, rest @ ..] if rest.len() + 1 == RECORDS && rest.iter().all(|value| value == first) => {
                Served::Records { owner: which, number: first.parse().expect("a number") }
            }
            half => panic!("half a request in lane {lane}: {half:?}"),
        };
    }
    panic!("DNS and API differ in lane {lane}");
}

#[test]
fn kill_9_under_applies_transfers_sweeps_and_expiries_leaves_what_the_model_knows() {
    let rounds = std::env::var("TENURED_KILL_ROUNDS").map_or(6, |text| text.parse().expect("a number of rounds"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(folder.path(), &[]);
    assert_eq!(server.api("PUT", "/v1/zones/example.com.", Some(json!({}))).0, 201);
    let empty = Lane { acknowledged: Served::Nothing, under_way: None, swept: None, number: 0 };
    let mut lanes = vec![empty; LANES];
    let mut dice = Dice(7);
    let mut total = 0;
    for round in 0..rounds {
        let run_of = Arc::new(Run {
            http: server.http,
            token: server.token(),
            lanes: lanes.into_iter().map(Mutex::new).collect(),
            acknowledged: AtomicUsize::new(0),
        });
        let writers = {
            let run_of = run_of.clone();
            std::thread::spawn(move || {
                run(async move {
                    let mut tasks = tokio::task::JoinSet::new();
                    for lane in 0..LANES {
                        let dice = Dice(round as u64 * 1_000 + lane as u64);
                        tasks.spawn(run_of.clone().write(lane, dice));
                    }
                    while let Some(ended) = tasks.join_next().await {
                        ended.expect("a writer");
                    }
                });
            })
        };
        let enough = 1 + dice.below(120) as usize;
        while run_of.acknowledged.load(Ordering::Relaxed) < enough && !writers.is_finished() {
            std::thread::yield_now();
        }
        server.kill();
        writers.join().expect("the writers");
        total += run_of.acknowledged.load(Ordering::Relaxed);
        server = Server::start(folder.path(), &[]);
        let run_of = Arc::into_inner(run_of).expect("the writers have ended");
        lanes = run_of.lanes.into_iter().map(|lane| lane.into_inner().expect("no writer panicked")).collect();
        for (number, lane) in lanes.iter_mut().enumerate() {
            let found = observed(&server, number);
            let known = found == lane.acknowledged || lane.under_way.as_ref() == Some(&found);
            // A leased lane may also have lost what an earlier round wrote.
            let expired = number >= LEASED && found == Served::Nothing;
            assert!(known || expired, "round {round}, lane {number}: {found:?}, known {lane:?}");
            if lane.under_way.is_some() {
                lane.swept = None;
            }
            *lane = Lane { acknowledged: found, under_way: None, ..lane.clone() };
        }
    }
    assert!(total >= rounds, "{total} acknowledged writes in {rounds} rounds");
}
