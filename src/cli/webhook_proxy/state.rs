//! What the proxy knows of its own calls, for probes and metrics.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, StatusCode};

use super::listen::{Answer, Whole, text};

/// How the last contact with the server was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Contact {
    /// There was none yet.
    #[default]
    None,
    /// The server answered.
    Good,
    /// It did not, or with something that is no answer of the protocol.
    Bad,
}

/// Counters and the last contact.
#[derive(Debug, Default)]
pub(super) struct State(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    contact: Contact,
    /// When the server last answered well, in seconds since 1970.
    last_good: u64,
    /// By call and by the status that the client got.
    answers: BTreeMap<(&'static str, u16), u64>,
    retries: u64,
}

impl State {
    /// Notes an answer to a call.
    pub(super) fn note(&self, call: &'static str, status: u16, contact: Contact) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.contact = contact;
        if contact == Contact::Good {
            known.last_good = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        }
        *known.answers.entry((call, status)).or_default() += 1;
    }

    /// Notes that a call was tried once more.
    pub(super) fn note_retry(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retries += 1;
    }

    /// Answers a probe.
    pub(super) fn answer(&self, request: &Whole) -> Answer {
        if request.method != Method::GET {
            return text(StatusCode::METHOD_NOT_ALLOWED, "");
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match request.path.as_str() {
            // A server that is away must not restart the pod: it is there again without that.
            "/healthz" => text(StatusCode::OK, "ok\n"),
            "/readyz" => match known.contact {
                Contact::Good => text(StatusCode::OK, "ok\n"),
                Contact::None => text(StatusCode::SERVICE_UNAVAILABLE, "no call yet\n"),
                Contact::Bad => text(StatusCode::SERVICE_UNAVAILABLE, "the server did not answer the last call\n"),
            },
            "/metrics" => {
                let mut answer = text(StatusCode::OK, known.metrics());
                let plain = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
                answer.headers_mut().insert(CONTENT_TYPE, plain);
                answer
            }
            _ => text(StatusCode::NOT_FOUND, ""),
        }
    }
}

impl Known {
    fn metrics(&self) -> String {
        const NAME: &str = "tenured_webhook_proxy";
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, u64)>| {
            // A String takes all text.
            let _ = writeln!(out, "# HELP {NAME}_{name} {help}\n# TYPE {NAME}_{name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(out, "{NAME}_{name}{labels} {value}");
            }
        };
        let answers = self
            .answers
            .iter()
            .map(|((call, status), count)| (format!("{{call=\"{call}\",status=\"{status}\"}}"), *count));
        family("requests_total", "counter", "Answers that external-dns got.", answers.collect());
        family("retries_total", "counter", "Calls that were tried once more.", vec![(String::new(), self.retries)]);
        let is_up = u64::from(self.contact == Contact::Good);
        family("server_up", "gauge", "Whether the server answered the last call.", vec![(String::new(), is_up)]);
        let last = vec![(String::new(), self.last_good)];
        family("last_contact_timestamp_seconds", "gauge", "When the server last answered.", last);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(state: &State, path: &str) -> u16 {
        let (method, headers) = (Method::GET, hyper::HeaderMap::new());
        state.answer(&Whole { method, path: path.to_owned(), headers, body: None }).status().as_u16()
    }

    #[test]
    fn a_server_that_is_away_restarts_no_pod() {
        let state = State::default();
        assert_eq!((probe(&state, "/healthz"), probe(&state, "/readyz")), (200, 503));
        state.note("records", 200, Contact::Good);
        assert_eq!((probe(&state, "/healthz"), probe(&state, "/readyz")), (200, 200));
        state.note("records", 503, Contact::Bad);
        assert_eq!((probe(&state, "/healthz"), probe(&state, "/readyz")), (200, 503));
        assert_eq!((probe(&state, "/metrics"), probe(&state, "/else")), (200, 404));
    }

    #[test]
    fn answers_are_counted_by_call_and_status() {
        let state = State::default();
        state.note("records", 200, Contact::Good);
        state.note("records", 200, Contact::Good);
        state.note_retry();
        let text = state.0.lock().expect("a lock").metrics();
        assert!(text.contains("tenured_webhook_proxy_requests_total{call=\"records\",status=\"200\"} 2\n"), "{text}");
        assert!(text.contains("tenured_webhook_proxy_retries_total 1\n"), "{text}");
    }
}
