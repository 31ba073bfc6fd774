//! The real binary as a process of its own, with a store in a directory of its own and ports that the system chose.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::dns::{Over, Reply, ask};

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) dns: SocketAddr,
    pub(crate) http: SocketAddr,
    folder: PathBuf,
    /// What it printed until it was ready.
    pub(crate) greeting: Vec<String>,
}

/// The binary under test.
pub(crate) fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_tenured")
}

impl Server {
    /// Starts `tenured serve` with its store in `folder` and waits until it is ready.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Server {
        Server::try_start(folder, arguments).unwrap_or_else(|output| panic!("the server did not start: {output}"))
    }

    /// As [`Server::start`]; the error is what it printed before it ended.
    pub(crate) fn try_start(folder: &Path, arguments: &[&str]) -> Result<Server, String> {
        Server::try_start_at(folder, ["127.0.0.1:0", "127.0.0.1:0"], arguments)
    }

    /// As [`Server::start`], at addresses of its own for DNS and HTTP: those of a server that ended.
    #[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
    pub(crate) fn start_at(folder: &Path, dns: SocketAddr, http: SocketAddr) -> Server {
        let [dns, http] = [dns, http].map(|address| address.to_string());
        Server::try_start_at(folder, [&dns, &http], &[])
            .unwrap_or_else(|output| panic!("the server did not start: {output}"))
    }

    fn try_start_at(folder: &Path, [dns, http]: [&str; 2], arguments: &[&str]) -> Result<Server, String> {
        let mut child = Command::new(binary())
            .args(["serve", "--dns", dns, "--http", http])
            .args(arguments)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let errors = child.stderr.take().expect("stderr is piped");
        // Errors are read to the end, so that the server never waits for its log to be read.
        let errors =
            std::thread::spawn(move || BufReader::new(errors).lines().map_while(Result::ok).collect::<Vec<_>>());
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let (mut dns, mut http, mut greeting) = (None, None, Vec::new());
        for line in lines.by_ref() {
            let line = line.expect("text");
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some("dns"), Some(address)) => dns = address.parse().ok().or(dns),
                (Some("http"), Some(url)) => {
                    http = url.trim_start_matches("http://").trim_start_matches("https://").parse().ok()
                }
                _ => {}
            }
            let ready = line.starts_with("try");
            greeting.push(line);
            if ready {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        match (dns, http) {
            (Some(dns), Some(http)) => Ok(Server { child, dns, http, folder: folder.to_owned(), greeting }),
            _ => {
                let status = child.wait().expect("its end");
                let errors = errors.join().unwrap_or_default().join("\n");
                Err(format!("{status}\n{}\n{errors}", greeting.join("\n")))
            }
        }
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Ends it by SIGTERM and gives its exit status.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let sent = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(sent.success());
        self.child.wait().expect("its end").code()
    }

    /// Ends it by SIGINT, which has it end at once and in order.
    #[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
    pub(crate) fn interrupt(mut self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        self.child.wait().expect("its end");
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sets the limit of its file descriptors while it runs.
    #[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
    pub(crate) fn limit_descriptors(&self, most: u64) {
        let (limit, id) = (format!("--nofile={most}:20000"), self.child.id().to_string());
        assert!(Command::new("prlimit").args([&limit, "--pid", &id]).status().expect("prlimit runs").success());
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The token of the first start.
    pub(crate) fn token(&self) -> String {
        let path = self.folder.join("tenured.db.token");
        std::fs::read_to_string(path).expect("the token file").trim().to_owned()
    }

    /// A question over UDP.
    pub(crate) fn ask(&self, name: &str, rtype: &str) -> Reply {
        ask(self.dns, Over::Udp, name, rtype)
    }

    /// The same question over UDP and TCP, which must agree.
    pub(crate) fn ask_both(&self, name: &str, rtype: &str) -> Reply {
        let udp = ask(self.dns, Over::Udp, name, rtype);
        let tcp = ask(self.dns, Over::Tcp, name, rtype);
        assert_eq!((&udp.rcode, udp.data()), (&tcp.rcode, tcp.data()), "{name} {rtype}");
        udp
    }

    /// Runs a command of the command line in the server's directory, told where the server is.
    pub(crate) fn command(&self, arguments: &[&str]) -> Output {
        Command::new(binary())
            .args(arguments)
            .current_dir(&self.folder)
            .env("TENURED_URL", format!("http://{}", self.http))
            .stdin(Stdio::null())
            .output()
            .expect("the binary runs")
    }

    /// What `/readyz?verbose` says.
    #[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
    pub(crate) fn ready(&self) -> String {
        self.text("/readyz?verbose")
    }

    /// What `/metrics` says.
    #[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
    pub(crate) fn metrics(&self) -> String {
        self.text("/metrics")
    }

    #[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
    fn text(&self, path: &str) -> String {
        let url = format!("http://{}{path}", self.http);
        run(async move { reqwest::get(url).await.expect("a response").text().await.expect("a body") })
    }

    /// A request with the first token: status and JSON (null where the body is none).
    pub(crate) fn api(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let token = self.token();
        self.api_as(&token, method, path, body)
    }

    /// A request with a token.
    pub(crate) fn api_as(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("http://{}{path}", self.http);
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let token = token.to_owned();
        run(async move {
            let mut request = reqwest::Client::new().request(method, url).bearer_auth(token);
            if let Some(body) = body {
                request = request.json(&body);
            }
            let response = request.send().await.expect("a response");
            let status = response.status().as_u16();
            let text = response.text().await.expect("a body");
            (status, serde_json::from_str(&text).unwrap_or(Value::Null))
        })
    }
}

/// Runs the binary in a folder, without a server.
#[allow(dead_code, reason = "each test program that takes this file in needs a part of it")]
pub(crate) fn tenured(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("the binary runs")
}

/// Runs a future to its end on a runtime of its own.
pub(crate) fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Percent-encodes one part of a path.
pub(crate) fn part(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The sample zones of the repository.
pub(crate) fn sample_zones() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("zones")
}

/// Asks until `wanted` holds; panics after so many seconds.
pub(crate) fn eventually<T: std::fmt::Debug>(
    seconds: u64,
    what: &str,
    mut ask: impl FnMut() -> T,
    wanted: impl Fn(&T) -> bool,
) -> T {
    let until = Instant::now() + Duration::from_secs(seconds);
    loop {
        let got = ask();
        if wanted(&got) {
            return got;
        }
        assert!(Instant::now() < until, "{what}: still {got:?}");
        std::thread::yield_now();
    }
}
