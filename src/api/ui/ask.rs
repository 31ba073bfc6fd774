//! Asks the API within the process, as the caller of the page.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::auth::Visitor;
use crate::api::call::RequestId;
use crate::api::documents::{ErrorDocument, ItemDocument, ProblemDocument};
use crate::api::failures::Peer;

/// Most octets of an answer that is shown.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// All but what needs no encoding anywhere in a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A part of a URL.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A path with those parameters that are not empty.
pub(super) fn with_parameters(path: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// Who asks, and where.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) api: Router,
    /// The token of the session.
    pub(super) token: Option<String>,
    /// Whether somebody without a token may look.
    pub(super) visits: bool,
    /// Where the request comes from, so that wrong tokens are counted.
    pub(super) peer: Option<Peer>,
    /// The id of the request for the page, which the log shows.
    pub(super) request: RequestId,
}

impl Asker {
    /// Reads a document.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Box<ProblemDocument>> {
        let (_, value) = self.send(&Method::GET, path, None).await?;
        serde_json::from_value(value).map_err(|_| unreadable())
    }

    /// Sends a request: status and document of an answer that is no problem.
    pub(super) async fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Box<ProblemDocument>> {
        let mut request = Request::builder().method(method).uri(path).extension(self.request.clone());
        if let Some(token) = self.token.as_ref().and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok())
        {
            request = request.header(header::AUTHORIZATION, token);
        } else if self.visits {
            request = request.extension(Visitor);
        }
        if let Some(peer) = self.peer {
            request = request.extension(peer);
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let request = request.body(body).map_err(|_| unreadable())?;
        let Ok(response) = TowerToHyperService::new(self.api.clone()).call(request).await;
        let status = response.status();
        let octets = axum::body::to_bytes(response.into_body(), MAX_ANSWER).await.map_err(|_| unreadable())?;
        if status.is_success() {
            return Ok((status, serde_json::from_slice(&octets).unwrap_or(Value::Null)));
        }
        let problem = serde_json::from_slice::<ProblemDocument>(&octets).map_err(|_| unreadable())?;
        Err(Box::new(problem))
    }
}

fn unreadable() -> Box<ProblemDocument> {
    Box::new(ProblemDocument {
        status: 500,
        title: "Unreadable answer".to_owned(),
        code: "internal".to_owned(),
        detail: "the server's own answer could not be shown: ask the API with the command below".to_owned(),
        ..ProblemDocument::default()
    })
}

/// What is shown of any write: counts, items, and what it leaves behind.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) summary: Vec<(String, u64)>,
    pub(super) items: Vec<ItemDocument>,
    pub(super) notes: Vec<String>,
    pub(super) serials: BTreeMap<String, u64>,
}

impl Outcome {
    /// Of the document of a write.
    pub(super) fn read(value: &Value) -> Outcome {
        let items = |key: &str| serde_json::from_value::<Vec<ItemDocument>>(value[key].clone()).unwrap_or_default();
        let mut all = items("results");
        all.extend(items("records"));
        let counts = value["summary"].as_object().into_iter().flatten();
        let mut summary: Vec<(String, u64)> = counts
            .filter_map(|(word, count)| Some((word.clone(), count.as_u64()?)))
            .filter(|(_, count)| *count > 0)
            .collect();
        for (key, words) in [("ownersDeleted", "owners deleted"), ("accepted", "lookups begun")] {
            if let Some(count) = value[key].as_u64().filter(|count| *count > 0) {
                summary.push((words.to_owned(), count));
            }
        }
        let rows = |key: &str| value[key].as_array().cloned().unwrap_or_default();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let mut notes = Vec::new();
        for row in rows("promoted") {
            notes.push(format!(
                "{} {} is served for {} from then on, which waited for it",
                text(&row, "name"),
                text(&row, "type"),
                text(&row, "owner")
            ));
        }
        for row in rows("dangling") {
            notes.push(format!(
                "{} {} of {} would point at {}, which is not there any more",
                text(&row, "name"),
                text(&row, "type"),
                text(&row, "owner"),
                text(&row, "target")
            ));
        }
        notes.extend(rows("warnings").iter().map(|row| text(row, "detail")));
        let serials = serde_json::from_value(value["serials"].clone()).unwrap_or_default();
        Outcome { summary, items: all, notes, serials }
    }

    /// Of a refusal with items.
    pub(super) fn refused(problem: &ProblemDocument) -> Outcome {
        let error = |one: &ErrorDocument| one.detail.clone();
        Outcome {
            items: problem.results.clone(),
            notes: problem.errors.iter().map(error).collect(),
            ..Outcome::default()
        }
    }
}
