//! `tenured webhook-proxy`: what external-dns gets through the sidecar whatever the server does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::door::{Door, endpoint, make_zone};
use super::planner::{Client, Cycle};
use super::server::{Server, binary, eventually, run};

/// A running proxy; ended when dropped.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) calls: SocketAddr,
    health: SocketAddr,
    log: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts one for the URL of a door; its token is written beside.
    pub(crate) fn start(folder: &Path, door: &Door) -> Proxy {
        Proxy::start_with(folder, door, "http", &[])
    }

    fn start_with(folder: &Path, door: &Door, scheme: &str, more: &[&str]) -> Proxy {
        let token = folder.join("proxy.token");
        std::fs::write(&token, &door.token).expect("a file");
        let url = format!("{scheme}://{}{}", door.http, door.base);
        let mut child = Command::new(binary())
            .args(["webhook-proxy", "--url", &url, "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0"])
            .args(["--instance", "pod-7", "--token-file"])
            .arg(&token)
            .args(more)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (errors, kept) = (child.stderr.take().expect("stderr is piped"), log.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                kept.lock().expect("a lock").push(line);
            }
        });
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let mut address = |word: &str| {
            let line = lines.next().expect("a line").expect("text");
            let mut words = line.split_whitespace();
            assert_eq!(words.next(), Some(word), "{line}");
            words.next().and_then(|url| url.trim_start_matches("http://").parse().ok()).expect("an address")
        };
        let (calls, health) = (address("proxy"), address("health"));
        Proxy { child, calls, health, log }
    }

    /// The door as external-dns finds it: without a credential of its own.
    pub(crate) fn door(&self, door: &Door) -> Door {
        Door { http: self.calls, base: String::new(), token: String::new(), ..door.clone() }
    }

    fn probe(&self, path: &str) -> (u16, String) {
        let url = format!("http://{}{path}", self.health);
        run(async move {
            let response = reqwest::get(url).await.expect("an answer");
            (response.status().as_u16(), response.text().await.expect("a text"))
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_client_lives_and_converges_while_the_server_is_killed_and_started_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let door = Door::open(&server, "prod", json!({}));
    let proxy = Proxy::start(folder.path(), &door);
    assert_eq!((proxy.probe("/healthz").0, proxy.probe("/readyz").0), (200, 503), "no call yet");
    let client = Client::new(proxy.door(&door), "prod");
    let (status, filter) = client.door.call("GET", "/", None);
    assert_eq!((status, filter), (200, json!({})));
    let of = |count: usize| -> Vec<Value> {
        (0..count).map(|at| endpoint(&format!("h{at}.example.com"), "A", &["192.0.2.1"])).collect()
    };
    client.works(&of(3));
    client.rests(&of(3), 2);
    assert_eq!(proxy.probe("/readyz").0, 200);
    assert_eq!(door.status(&server)["instance"], "pod-7");

    // The server is killed: every call is a soft error, and the pod is not restarted.
    let (dns, http) = (server.dns, server.http);
    server.kill();
    assert_eq!(client.cycle(&of(5)), Cycle::Failed(503));
    for (method, path) in [("GET", "/"), ("POST", "/adjustendpoints"), ("POST", "/records")] {
        let (status, _) = client.door.call(method, path, (method == "POST").then(|| json!(null)));
        assert_eq!(status, 503, "{method} {path}");
    }
    assert_eq!((proxy.probe("/healthz").0, proxy.probe("/readyz").0), (200, 503));
    let server = Server::start_at(folder.path(), dns, http);
    let cycle = eventually(20, "it converges", || client.cycle(&of(5)), |cycle| matches!(cycle, Cycle::Sent(204, _)));
    assert!(matches!(cycle, Cycle::Sent(204, _)));
    client.rests(&of(5), 2);
    assert_eq!(server.ask("h4.example.com", "A").data(), ["192.0.2.1"]);
    let (_, metrics) = proxy.probe("/metrics");
    assert!(metrics.contains("tenured_webhook_proxy_requests_total{call=\"records\",status=\"503\"}"), "{metrics}");
    assert!(metrics.contains("tenured_webhook_proxy_server_up 1"), "{metrics}");
}

#[test]
fn refused_records_are_logged_one_line_each_and_a_new_token_is_used_when_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    make_zone(&server, "example.com.");
    let door = Door::open(&server, "prod", json!({}));
    let proxy = Proxy::start(folder.path(), &door);
    let through = proxy.door(&door);
    let bad = json!({"create": [endpoint("bad.example.com", "A", &["nonsense"]), endpoint("good.example.com", "A", &["192.0.2.1"])]});
    let (status, body) = through.change(bad);
    assert_eq!((status, &body["results"][0]["code"]), (500, &json!("invalid_record")), "{body}");
    eventually(
        10,
        "a line of the record",
        || proxy.log.lock().expect("a lock").join("\n"),
        |log| log.contains("bad.example.com.") && log.contains("invalid_record") && !log.contains("good.example.com."),
    );
    // The token is revoked: that would end external-dns at its start, and here it is a soft error.
    let id = door.token.split('_').nth(1).expect("an id").to_owned();
    assert_eq!(server.api("DELETE", &format!("/v1/tokens/{id}"), None).0, 200);
    for (method, path) in [("GET", "/"), ("GET", "/records")] {
        assert_eq!(through.call(method, path, None).0, 503, "{method} {path}");
    }
    let renewed = Door::open(&server, "prod", json!({}));
    std::fs::write(folder.path().join("proxy.token"), format!("{}\n", renewed.token)).expect("a file");
    assert_eq!(through.call("GET", "/records", None).0, 200);
    std::fs::remove_file(folder.path().join("proxy.token")).expect("the file");
    assert_eq!(through.call("GET", "/records", None).0, 503);
}

#[test]
fn a_server_that_breaks_off_is_asked_again_and_one_that_redirects_is_not_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let http = listener.local_addr().expect("an address");
    // Breaks off twice, then answers; then a redirect, a status that is no success here, and one past the soft errors.
    let answers = [
        None,
        None,
        Some(
            "HTTP/1.1 200 OK\r\ncontent-type: application/external.dns.webhook+json;version=1\r\ncontent-length: 2\r\n\r\n[]",
        ),
        Some("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
        Some("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"),
        Some("HTTP/1.1 521 Down\r\ncontent-length: 0\r\n\r\n"),
        Some("HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\n\r\n"),
    ];
    let heads = std::thread::spawn(move || {
        let mut heads = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut head = [0; 4_096];
            let length = stream.read(&mut head).expect("a request");
            heads.push(String::from_utf8_lossy(&head[..length]).to_ascii_lowercase());
            if let Some(answer) = answer {
                stream
                    .write_all(answer.replace("content-length", "connection: close\r\ncontent-length").as_bytes())
                    .expect("a client");
            }
        }
        heads
    });
    let door = Door { http, token: "tnd_a_b".to_owned(), base: "/externaldns/prod".to_owned(), owner: String::new() };
    let proxy = Proxy::start(folder.path(), &door);
    let through = proxy.door(&door);
    assert_eq!(through.call("GET", "/records", None), (200, json!([])));
    let statuses: Vec<u16> = (0..4).map(|_| through.call("GET", "/records", None).0).collect();
    assert_eq!(statuses, [503, 503, 503, 501]);
    let heads = heads.join().expect("its end");
    assert!(heads[0].starts_with("get /externaldns/prod/records http/1.1\r\n"), "{}", heads[0]);
    assert!(
        heads[0].contains("authorization: bearer tnd_a_b\r\n") && heads[0].contains("x-tenured-instance: pod-7\r\n")
    );
    assert!(proxy.probe("/metrics").1.contains("tenured_webhook_proxy_retries_total 2"));
}

#[test]
fn a_server_with_tls_is_asked_if_its_certificate_is_of_the_authority_that_was_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path(), &[]);
    let door = Door::open(&server, "prod", json!({}));
    server.kill();
    let certificate = |name: &str| {
        let parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        let pair = rcgen::KeyPair::generate().expect("a key");
        let signed = parameters.self_signed(&pair).expect("a certificate");
        let (chain, key) = (folder.path().join(format!("{name}.pem")), folder.path().join(format!("{name}.key")));
        std::fs::write(&chain, signed.pem()).expect("a file");
        std::fs::write(&key, pair.serialize_pem()).expect("a file");
        (chain.display().to_string(), key.display().to_string())
    };
    let ((chain, key), (other, _)) = (certificate("own"), certificate("other"));
    let config = folder.path().join("tls.toml");
    let text = format!("[http]\ntls = true\n[tls]\ncertificate = \"{chain}\"\nkey = \"{key}\"\n");
    std::fs::write(&config, text).expect("a file");
    let server = Server::start(folder.path(), &["--config", &config.display().to_string()]);
    let door = Door { http: server.http, ..door };
    let trusting = Proxy::start_with(folder.path(), &door, "https", &["--ca-file", &chain]);
    for _ in 0..3 {
        assert_eq!(trusting.door(&door).call("GET", "/records", None), (200, json!([])));
    }
    let wary = Proxy::start_with(folder.path(), &door, "https", &["--ca-file", &other]);
    assert_eq!(wary.door(&door).call("GET", "/records", None).0, 503);
}

#[test]
fn a_proxy_without_its_flags_says_what_it_needs() {
    for arguments in [&["webhook-proxy"][..], &["webhook-proxy", "--url", "http://127.0.0.1:1/externaldns/a"]] {
        let output =
            Command::new(binary()).args(arguments).env_remove("TENURED_URL").output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
