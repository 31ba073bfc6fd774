//! The API over a store in a directory of its own, on a port that the system chose, within the process of the test.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use tenured::api::{self, ApiState, Defaults, Readiness, Stage};
use tenured::clock::Clock;
use tenured::control::{self, Options};
use tenured::wire::name::HashKey;
use tenured::zone::alias::Moment;
use tenured::zone::walk::Trust;
use tokio::runtime::Runtime;

/// 30 November 2026, 12:00 UTC.
pub(crate) const START: Moment = Moment(1_796_040_000_000);

/// A served API. The runtime goes on while the test waits for something else, so a process can be its client.
pub(crate) struct Service {
    runtime: Runtime,
    pub(crate) http: SocketAddr,
    pub(crate) clock: Clock,
    pub(crate) readiness: Readiness,
    pub(crate) folder: TempDir,
}

impl Service {
    /// Starts with an empty store.
    pub(crate) fn start() -> Service {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let (clock, readiness) = (Clock::manual(START), Readiness::new());
        Stage::ALL.into_iter().for_each(|stage| readiness.reach(stage));
        let options = Options {
            database: folder.path().join("tenured.db"),
            clock: clock.clone(),
            key: HashKey::new(5, 17),
            trust: Trust::default(),
            terms: std::sync::Arc::default(),
            accept_older_store: false,
        };
        let http = runtime.block_on(async {
            let started = control::start(options).await.expect("a store");
            let state = ApiState {
                handle: started.handle,
                reader: started.reader,
                alias: None,
                trust: std::sync::Arc::default(),
                terms: std::sync::Arc::default(),
                clock: clock.clone(),
                defaults: Defaults::default(),
                readiness: readiness.clone(),
                counters: std::sync::Arc::default(),
                external_dns: Default::default(),
                server: api::Server::default(),
                record_states: Default::default(),
            };
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            tokio::spawn(api::serve(listener, api::router(state), std::future::pending()));
            address
        });
        Service { runtime, http, clock, readiness, folder }
    }

    /// With the zone `example.com.`.
    pub(crate) fn with_zone() -> Service {
        let service = Service::start();
        let (status, body) = service.api("PUT", "/v1/zones/example.com.", Some("{}"));
        assert_eq!(status, 201, "{body}");
        service
    }

    /// The file of the first token.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.path().join("tenured.db.token")
    }

    /// The first token.
    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.token_file()).expect("the token file").trim().to_owned()
    }

    /// A token of a role; `owner` is its root owner.
    pub(crate) fn make_token(&self, role: &str, owner: Option<&str>) -> String {
        let body = match owner {
            Some(owner) => format!(r#"{{"name":"test","role":"{role}","owner":"{owner}"}}"#),
            None => format!(r#"{{"name":"test","role":"{role}"}}"#),
        };
        let (status, token) = self.api("POST", "/v1/tokens", Some(&body));
        assert_eq!(status, 201, "{token}");
        token["token"].as_str().expect("its text").to_owned()
    }

    /// A request with the first token: status and JSON (null where the body is none).
    pub(crate) fn api(&self, method: &str, path: &str, body: Option<&str>) -> (u16, Value) {
        let token = self.token();
        self.api_as(Some(&token), method, path, body)
    }

    /// A request with a token or without.
    pub(crate) fn api_as(&self, token: Option<&str>, method: &str, path: &str, body: Option<&str>) -> (u16, Value) {
        let (head, text) = self.raw(token, method, path, &[], body.unwrap_or_default().as_bytes());
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// A request whose path goes to the server as it stands here: head and body of the response.
    pub(crate) fn raw(
        &self,
        token: Option<&str>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (String, String) {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.http).expect("a connection");
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
        head.push_str(&format!("content-length: {}\r\n", body.len()));
        if let Some(token) = token {
            head.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).expect("a head that is taken");
        // The server may refuse a body before it has read it.
        let _ = stream.write_all(body);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let text = String::from_utf8_lossy(&response).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        (head.to_owned(), if chunked { unchunked(body) } else { body.to_owned() })
    }

    /// Runs something on the runtime of the service.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

fn unchunked(body: &str) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        out.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
    }
    out
}

/// Percent-encodes one part of a path.
pub(crate) fn part(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
