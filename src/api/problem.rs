//! Refusals over HTTP: `application/problem+json` (RFC 9457; ownership.md section 6). Names no file, SQL or stack.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::documents::{ErrorDocument, ProblemDocument, RecordKeyDocument};
use super::show;
use crate::ledger::code::Code;
use crate::ledger::report::{Problem, Refusal};
use crate::store::StoreError;

/// Longest detail that is made of a caller's text, in characters.
const MAX_DETAIL: usize = 600;

/// Why a request was refused, as the caller sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    document: Box<ProblemDocument>,
    /// Seconds after which it can be tried again, of a refusal that is for a time.
    retry_after: u64,
}

impl Refused {
    /// A code of the ledger with a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Refused {
        Refused::with_status(code.http_status(), code.text(), detail.into())
    }

    /// `bad_request`.
    pub fn bad_request(detail: impl Into<String>) -> Refused {
        Refused::new(Code::BadRequest, detail)
    }

    /// `not_found`.
    pub fn not_found(detail: impl Into<String>) -> Refused {
        Refused::new(Code::NotFound, detail)
    }

    /// No such route.
    pub fn no_route() -> Refused {
        Refused::not_found(
            "there is nothing at this path: the API is under /v1, and a `/` in an owner or a name is %2F",
        )
    }

    /// The route is there for other methods.
    pub fn wrong_method() -> Refused {
        let detail = "this path does not take this method: the header Allow lists those it takes";
        Refused::with_status(405, "method_not_allowed", detail.to_owned())
    }

    /// The request took too long.
    pub fn timed_out(seconds: u64) -> Refused {
        let detail = format!(
            "the request was not done in {seconds} s and may or may not be in effect: writes can be repeated safely"
        );
        Refused::with_status(504, "timed_out", detail)
    }

    /// A fault of the server.
    pub fn internal() -> Refused {
        let detail = "the server failed at this request, and its log says why: look for the request id";
        Refused::with_status(500, "internal", detail.to_owned())
    }

    fn with_status(status: u16, code: &str, detail: String) -> Refused {
        let title = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Error");
        let detail =
            if detail.len() > MAX_DETAIL { detail.chars().take(MAX_DETAIL).chain(['…']).collect() } else { detail };
        let document = ProblemDocument {
            title: title.to_owned(),
            status,
            code: code.to_owned(),
            detail,
            ..ProblemDocument::default()
        };
        Refused { document: Box::new(document), retry_after: 1 }
    }

    /// With the seconds after which it can be tried again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Refused {
        self.retry_after = seconds;
        self
    }

    /// With the record in question.
    #[must_use]
    pub fn about(mut self, name: impl Into<String>, rtype: impl Into<String>) -> Refused {
        self.document.record = Some(RecordKeyDocument { name: name.into(), rtype: rtype.into() });
        self
    }

    /// With each thing that is wrong.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<ErrorDocument>) -> Refused {
        self.document.errors = errors;
        self
    }

    /// The document.
    pub fn document(&self) -> &ProblemDocument {
        &self.document
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        let mut refused = Refused::new(problem.code, problem.detail);
        refused.document.holder = problem.holder.as_ref().map(show::holder);
        refused.document.actions = show::actions(problem.code);
        refused.document.path = problem.path.into_vec();
        refused
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let mut refused = Refused::from(refusal.problem);
        if let Some(item) = refusal.items.iter().find(|item| item.problem.is_some()) {
            refused = refused.about(&item.name, &item.rtype);
        }
        refused.document.dangling = show::dangling(&refusal.dangling);
        refused.document.results = refusal.items.iter().map(|item| show::item(item, None)).collect();
        refused
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        // The cause names files and SQL, so it goes to the log alone.
        tracing::error!(error = %error, "the store could not be read");
        Refused::new(Code::StorageUnavailable, "the store cannot be read now: try again later; DNS goes on answering")
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.document.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.document).expect("a problem has string keys only");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(self.retry_after));
            }
            _ => {}
        }
        response
    }
}
