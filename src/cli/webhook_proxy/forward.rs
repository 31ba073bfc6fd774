//! A call of external-dns on its way to the server, and what it gets for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::listen::{Answer, Octets, Whole, text};
use super::state::{Contact, State};
use super::upstream::{Reply, Upstream};
use crate::api::documents::ProblemDocument;
use crate::cli::failure::Failure;
use bytes::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT, VARY,
};
use hyper::{HeaderMap, Method, StatusCode};

/// Time for a call with all its tries: within the 15 s of the client.
const MAX_TIME: Duration = Duration::from_secs(12);
/// Pauses before each further try.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// Largest token file, in octets.
const MAX_TOKEN_FILE: u64 = 4_096;
/// Refused records that are logged of one answer.
const MAX_LOGGED: usize = 100;
/// Headers that go along to the server.
const FORWARDED: [HeaderName; 5] =
    [ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT, HeaderName::from_static("x-request-id")];
/// Headers that come back from it.
const RETURNED: [HeaderName; 4] = [CONTENT_TYPE, CONTENT_ENCODING, VARY, HeaderName::from_static("x-request-id")];

/// Sends calls to the server.
pub(super) struct Forwarder {
    upstream: Upstream,
    token_file: PathBuf,
    instance: HeaderValue,
    state: Arc<State>,
}

/// What the server said, or why it did not.
enum Said {
    Answer(StatusCode, HeaderMap, Bytes),
    Nothing(String),
}

impl Forwarder {
    pub(super) fn new(
        upstream: Upstream,
        token_file: PathBuf,
        instance: &str,
        state: Arc<State>,
    ) -> Result<Forwarder, Failure> {
        let instance = HeaderValue::from_str(instance)
            .map_err(|_| Failure::Usage("--instance is a text that a header can have".to_owned()))?;
        Ok(Forwarder { upstream, token_file, instance, state })
    }

    /// Answers a call: 200, 204, or a status from 500 to 510, which the client takes as a soft error.
    pub(super) async fn answer(&self, request: Whole) -> Answer {
        let (call, wanted) = match (&request.method, request.path.as_str()) {
            (&Method::GET, "/" | "") => ("negotiate", StatusCode::OK),
            (&Method::GET, "/records") => ("records", StatusCode::OK),
            (&Method::POST, "/records") => ("change", StatusCode::NO_CONTENT),
            (&Method::POST, "/adjustendpoints") => ("adjust", StatusCode::OK),
            _ => return text(StatusCode::NOT_FOUND, ""),
        };
        let said = match tokio::time::timeout(MAX_TIME, self.ask(&request)).await {
            Ok(said) => said,
            Err(_) => Said::Nothing(format!("no answer within {} s", MAX_TIME.as_secs())),
        };
        let (answer, contact) = judged(call, wanted, said);
        self.state.note(call, answer.status().as_u16(), contact);
        answer
    }

    /// Asks the server, and again where the connection failed: all four calls come to the same when they are repeated.
    async fn ask(&self, request: &Whole) -> Said {
        let Some(body) = &request.body else { return Said::Nothing("the body did not come whole".to_owned()) };
        let token = match token(&self.token_file).await {
            Ok(token) => token,
            Err(why) => return Said::Nothing(why),
        };
        let mut pauses = PAUSES.iter();
        loop {
            match self.try_once(request, body, &token).await {
                Ok(Reply { status, headers, body }) => return Said::Answer(status, headers, body),
                Err(why) => {
                    let Some(pause) = pauses.next() else { return Said::Nothing(why) };
                    tracing::debug!(%why, "tried again");
                    self.state.note_retry();
                    tokio::time::sleep(*pause).await;
                }
            }
        }
    }

    async fn try_once(&self, request: &Whole, body: &Bytes, token: &str) -> Result<Reply, String> {
        let path = if request.path == "/" { "" } else { request.path.as_str() };
        let mut asked = self.upstream.request(path).method(request.method.clone());
        for name in FORWARDED {
            if let Some(value) = request.headers.get(&name) {
                asked = asked.header(name, value);
            }
        }
        let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
        let bearer = bearer.map_err(|_| "the token is no text that a header can have".to_owned())?;
        asked = asked.header(AUTHORIZATION, bearer).header("x-tenured-instance", &self.instance);
        let asked = asked.body(Octets::new(body.clone())).map_err(|error| error.to_string())?;
        self.upstream.send(asked).await
    }
}

/// The token of its file.
async fn token(file: &Path) -> Result<String, String> {
    let wrong = |why: String| format!("the token file {}: {why}", file.display());
    let size = tokio::fs::metadata(file).await.map_err(|error| wrong(error.to_string()))?.len();
    if size > MAX_TOKEN_FILE {
        return Err(wrong(format!("it is over {MAX_TOKEN_FILE} octets")));
    }
    let text = tokio::fs::read_to_string(file).await.map_err(|error| wrong(error.to_string()))?;
    match text.trim() {
        "" => Err(wrong("it is empty".to_owned())),
        token => Ok(token.to_owned()),
    }
}

/// What the client gets, and how the contact was.
fn judged(call: &'static str, wanted: StatusCode, said: Said) -> (Answer, Contact) {
    let soft = |why: String| {
        tracing::warn!(call, %why, "the server did not answer as it should: external-dns tries again");
        text(StatusCode::SERVICE_UNAVAILABLE, why)
    };
    match said {
        Said::Nothing(why) => (soft(why), Contact::Bad),
        Said::Answer(status, headers, body) if status == wanted => (passed(status, &headers, body), Contact::Good),
        Said::Answer(status, headers, body) if (500..=510).contains(&status.as_u16()) => {
            log_refused(call, status, &body);
            let contact = if status == StatusCode::INTERNAL_SERVER_ERROR { Contact::Good } else { Contact::Bad };
            (passed(status, &headers, body), contact)
        }
        Said::Answer(status, _, body) => {
            let detail = problem(&body).map(|problem| format!(": {}", problem.detail)).unwrap_or_default();
            (soft(format!("status {status}{detail}")), Contact::Bad)
        }
    }
}

fn passed(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Answer {
    let mut answer = text(status, body);
    for name in RETURNED {
        if let Some(value) = headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

fn problem(body: &[u8]) -> Option<ProblemDocument> {
    serde_json::from_slice(body).ok()
}

/// external-dns drops what an error says, so it is said here: one line for each record.
fn log_refused(call: &'static str, status: StatusCode, body: &[u8]) {
    let Some(problem) = problem(body) else { return };
    if problem.results.is_empty() {
        tracing::warn!(call, status = status.as_u16(), code = problem.code, detail = problem.detail, "refused");
    }
    for item in problem.results.iter().take(MAX_LOGGED) {
        tracing::warn!(
            name = item.name,
            rtype = item.rtype,
            outcome = item.outcome,
            code = item.code.as_deref().unwrap_or_default(),
            holder = item.holder.as_ref().map(|holder| holder.owner.as_str()).unwrap_or_default(),
            detail = item.detail.as_deref().unwrap_or_default(),
            "record refused"
        );
    }
    if problem.results.len() > MAX_LOGGED {
        tracing::warn!(more = problem.results.len() - MAX_LOGGED, "and more records are refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_dns_gets_what_it_wants_or_a_soft_error() {
        for status in 100..=599_u16 {
            let Ok(status) = StatusCode::from_u16(status) else { continue };
            for wanted in [StatusCode::OK, StatusCode::NO_CONTENT] {
                let said = Said::Answer(status, HeaderMap::new(), Bytes::from_static(b"x"));
                let (answer, _) = judged("records", wanted, said);
                let got = answer.status().as_u16();
                assert!(got == wanted.as_u16() || (500..=510).contains(&got), "{status} became {got}");
                assert_eq!(got == wanted.as_u16(), status == wanted, "{status}");
            }
        }
        let (answer, contact) = judged("records", StatusCode::OK, Said::Nothing("away".to_owned()));
        assert_eq!((answer.status().as_u16(), contact), (503, Contact::Bad));
    }
}
