//! Why a call gets no 200 or 204, and the status that says so. external-dns ends itself at every 4xx, so the three calls
//! of its cycle never get one; only at its start may it be told that it is not let in.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::DoorCall;
use crate::api::documents::{ItemDocument, ProblemDocument};
use crate::api::problem::Refused;
use crate::ledger::report::Refusal;
use crate::store::StoreError;

/// Why a call failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// No token of this door, or a wrong one.
    Unauthorized(&'static str),
    /// The token is for another owner, or the owner was deleted.
    Forbidden(String),
    /// The body did not come whole, is too large, or there is no room for it.
    Body(Refused),
    /// The body is no document of the protocol.
    Malformed(String),
    /// The store cannot be read.
    Store(StoreError),
    /// Nothing of the command is in effect.
    Refused(Refusal),
    /// Some records are refused; the others are in effect.
    Records(Vec<ItemDocument>),
    /// It took too long.
    Late,
    /// A fault of ours.
    Internal,
}

impl Failure {
    /// The status for a call.
    pub(super) fn status(&self, call: DoorCall) -> u16 {
        let at_start = call == DoorCall::Negotiate;
        match self {
            Failure::Unauthorized(_) if at_start => 401,
            Failure::Forbidden(_) if at_start => 403,
            Failure::Records(_) => 500,
            Failure::Unauthorized(_)
            | Failure::Forbidden(_)
            | Failure::Body(_)
            | Failure::Malformed(_)
            | Failure::Store(_)
            | Failure::Refused(_)
            | Failure::Late
            | Failure::Internal => 503,
        }
    }

    fn document(self) -> ProblemDocument {
        let of = |code: &str, detail: &str| ProblemDocument {
            code: code.to_owned(),
            detail: detail.to_owned(),
            ..ProblemDocument::default()
        };
        match self {
            Failure::Unauthorized(detail) => of("unauthorized", detail),
            Failure::Forbidden(detail) => of("forbidden", &detail),
            Failure::Body(refused) => refused.document().clone(),
            Failure::Malformed(detail) => of("bad_request", &detail),
            Failure::Store(error) => Refused::from(error).document().clone(),
            Failure::Refused(refusal) => Refused::from(refusal).document().clone(),
            Failure::Records(results) => {
                let first = results.iter().find_map(|item| item.code.clone()).unwrap_or_default();
                let detail = format!("{} records are refused, and the others are in effect", results.len());
                ProblemDocument { results, ..of(&first, &detail) }
            }
            Failure::Late => of("timed_out", "this took too long: it is tried again with the next cycle"),
            Failure::Internal => of("internal", "a fault of the server: its log says more"),
        }
    }

    pub(super) fn response(self, call: DoorCall) -> Response {
        let status = self.status(call);
        let title = match status {
            401 => "Unauthorized",
            403 => "Forbidden",
            500 => "Internal Server Error",
            _ => "Service Unavailable",
        };
        let document = ProblemDocument { status, title: title.to_owned(), ..self.document() };
        if status != 500 {
            tracing::warn!(call = call.text(), status, code = document.code, detail = document.detail, "external-dns");
        }
        let body = serde_json::to_vec(&document).expect("a problem has string keys only");
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == 401 {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"tenured\""));
        }
        response
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::code::Code;

    /// One of each; a new variant is named here, or this does not build.
    fn all() -> Vec<Failure> {
        let one = |failure: Failure| match failure {
            Failure::Unauthorized(_)
            | Failure::Forbidden(_)
            | Failure::Body(_)
            | Failure::Malformed(_)
            | Failure::Store(_)
            | Failure::Refused(_)
            | Failure::Records(_)
            | Failure::Late
            | Failure::Internal => failure,
        };
        let mut all = vec![
            Failure::Unauthorized("no token"),
            Failure::Forbidden("another owner's".to_owned()),
            Failure::Malformed("no JSON".to_owned()),
            Failure::Store(StoreError::OldSqlite("3".to_owned())),
            Failure::Records(Vec::new()),
            Failure::Late,
            Failure::Internal,
        ];
        all.extend(Code::ALL.iter().map(|code| Failure::Refused(Refusal::new(*code, "why"))));
        all.extend(Code::ALL.iter().map(|code| Failure::Body(Refused::new(*code, "why"))));
        all.into_iter().map(one).collect()
    }

    #[test]
    fn no_failure_of_a_cycle_ends_the_client() {
        for call in [DoorCall::Records, DoorCall::Adjust, DoorCall::Change] {
            for failure in all() {
                let status = failure.status(call);
                assert!((500..=510).contains(&status), "{call:?} {failure:?}");
                assert_eq!(failure.response(call).status().as_u16(), status);
            }
        }
    }

    #[test]
    fn a_client_that_is_not_let_in_is_told_so_at_its_start() {
        for failure in all() {
            let (wanted, challenge) = match failure {
                Failure::Unauthorized(_) => (401, true),
                Failure::Forbidden(_) => (403, false),
                Failure::Records(_) => (500, false),
                _ => (503, false),
            };
            let response = failure.response(DoorCall::Negotiate);
            assert_eq!(response.status().as_u16(), wanted);
            let header = response.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
            assert_eq!(header, challenge.then_some("Basic realm=\"tenured\""));
        }
    }
}
