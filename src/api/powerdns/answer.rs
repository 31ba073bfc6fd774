//! Answers of the door: JSON with exactly PowerDNS's keys, errors as `{"error": …}`, gzip when asked.

use std::io::Write as _;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::Sent;
use crate::api::call::blocking;
use crate::api::problem::Refused;
use crate::ledger::code::Code;
use crate::ledger::report::Refusal;
use crate::store::StoreError;

/// Longest text of a client that an error repeats, in characters.
pub(super) const MAX_SHOWN: usize = 512;
/// Shorter bodies are not packed: it would gain nothing.
const PACKED_FROM: usize = 1_024;
/// What a client is told of several refused RRsets without a conflict among them.
const SEVERAL: &str = "Multiple errors found in RRset";

/// An answer in the making.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    media: Option<&'static str>,
    body: Vec<u8>,
    headers: Vec<(&'static str, String)>,
}

impl Answer {
    /// 200 with a document.
    pub(super) fn json<T: Serialize>(document: &T) -> Answer {
        Answer::with(200, document)
    }

    /// A document with a status.
    pub(super) fn with<T: Serialize>(status: u16, document: &T) -> Answer {
        let body = serde_json::to_vec(document).expect("the door's documents have string keys only");
        Answer { status, media: Some("application/json"), body, headers: Vec::new() }
    }

    /// 204.
    pub(super) fn nothing() -> Answer {
        Answer { status: 204, media: None, body: Vec::new(), headers: Vec::new() }
    }

    /// 200 with text.
    pub(super) fn text(text: String) -> Answer {
        Answer {
            status: 200,
            media: Some("text/plain; charset=us-ascii"),
            body: text.into_bytes(),
            headers: Vec::new(),
        }
    }

    /// With one more header.
    pub(super) fn header(mut self, name: &'static str, value: impl ToString) -> Answer {
        self.headers.push((name, value.to_string()));
        self
    }

    /// The response; a large body is packed if the client takes that.
    pub(super) async fn into_response(self, packs: bool) -> Sent {
        let Answer { status, media, body, headers } = self;
        let packed = packs && body.len() >= PACKED_FROM;
        let body = if packed { blocking(move || pack(&body)).await.unwrap_or_default() } else { body };
        let mut response = Sent::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let all = response.headers_mut();
        if let Some(media) = media {
            all.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
        }
        if packed {
            all.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            all.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                all.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// Whether the client takes gzip (RFC 9110 section 12.5.3).
pub(super) fn packs(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|one| {
        let (coding, weight) = one.split_once(';').unwrap_or((one, ""));
        coding.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.replace(' ', "").as_str(), "q=0" | "q=0.0")
    })
}

fn pack(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).and_then(|()| encoder.finish()).expect("a Vec takes all octets")
}

/// Why a request was refused, in PowerDNS's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    status: u16,
    error: String,
    /// All of them, if there are several.
    errors: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    error: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    errors: &'a [String],
}

impl Failure {
    pub(super) fn new(status: u16, error: impl Into<String>) -> Failure {
        Failure { status, error: error.into(), errors: Vec::new() }
    }

    pub(super) fn unprocessable(error: impl Into<String>) -> Failure {
        Failure::new(422, error)
    }

    pub(super) fn bad_request() -> Failure {
        Failure::new(400, "Bad Request")
    }

    pub(super) fn unauthorized() -> Failure {
        Failure::new(401, "Unauthorized")
    }

    pub(super) fn forbidden() -> Failure {
        Failure::new(403, "Forbidden")
    }

    pub(super) fn not_found() -> Failure {
        Failure::new(404, "Not Found")
    }

    pub(super) fn wrong_method() -> Failure {
        Failure::new(405, "Method Not Allowed")
    }

    /// Of several errors a conflict is told first: there are clients that read no more than that.
    pub(super) fn of_all(errors: Vec<String>, conflict: Option<String>) -> Failure {
        match (errors.len(), errors.first(), conflict) {
            (0 | 1, Some(one), _) => Failure::unprocessable(one.clone()),
            (_, _, Some(conflict)) => Failure { status: 422, error: conflict, errors },
            (_, _, None) => Failure { status: 422, error: SEVERAL.to_owned(), errors },
        }
    }

    /// A refusal that another part of the API makes.
    pub(super) fn of(refused: Refused) -> Failure {
        let status = refused.document().status;
        let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Error");
        Failure::new(status, reason)
    }

    /// A command that was refused as a whole.
    pub(super) fn of_refusal(refusal: &Refusal) -> Failure {
        match refusal.code() {
            Code::Forbidden | Code::Unauthorized => Failure::forbidden(),
            Code::NotFound => Failure::not_found(),
            Code::ZoneExists => Failure::new(409, "Conflict"),
            Code::StorageUnavailable => Failure::new(503, "Service Unavailable"),
            Code::RateLimited => Failure::new(429, "Too Many Requests"),
            Code::PayloadTooLarge => Failure::new(413, "Payload Too Large"),
            _ => Failure::unprocessable(refusal.problem.detail.clone()),
        }
    }

    pub(super) fn into_answer(self) -> Answer {
        let answer = Answer::with(self.status, &Document { error: &self.error, errors: &self.errors });
        match self.status {
            401 => answer.header("www-authenticate", "X-API-Key realm=\"PowerDNS\""),
            429 | 503 => answer.header("retry-after", 1),
            _ => answer,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        tracing::error!(%error, "the store could not be read");
        Failure::new(503, "Service Unavailable")
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        Failure::of(refused)
    }
}

/// A client's text as an error repeats it.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_told_first_and_one_error_alone() {
        let text = |failure: Failure| String::from_utf8(failure.into_answer().body).expect("UTF-8");
        let (a, b) = ("a".to_owned(), "b".to_owned());
        assert_eq!(text(Failure::of_all(vec![a.clone()], None)), r#"{"error":"a"}"#);
        let both = vec![a, b.clone()];
        assert_eq!(text(Failure::of_all(both.clone(), Some(b))), r#"{"error":"b","errors":["a","b"]}"#);
        let wanted = r#"{"error":"Multiple errors found in RRset","errors":["a","b"]}"#;
        assert_eq!(text(Failure::of_all(both, None)), wanted);
    }

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        for (accepted, wanted) in [
            ("gzip, deflate", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            assert_eq!(packs(&headers), wanted, "{accepted}");
        }
    }
}
