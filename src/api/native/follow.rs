//! The history as a stream: NDJSON to its end, or server-sent events that go on (ownership.md section 4).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use super::changes::shown;
use crate::api::auth::{self, Access};
use crate::api::call::Call;
use crate::api::problem::Refused;
use crate::api::readiness::Phase;
use crate::ledger::code::Code;
use crate::store::paging::{ChangeCursor, Page};
use crate::store::rows::{ChangeFilter, ChangeRow};

/// Most event streams at once, of the whole process (reliability.md section 4).
pub(super) const MAX_STREAMS: usize = 100;
/// Rows of one read.
const ROWS: u32 = 500;
/// A comment goes out when nothing else did for so long, so that either side notices a dead connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a stream looks whether the server is to end and whether its token still admits it.
const LOOK: Duration = Duration::from_secs(1);

static STREAMS: Semaphore = Semaphore::const_new(MAX_STREAMS);

/// The form that a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A page.
    Json,
    /// A row a line.
    Lines,
    /// Server-sent events.
    Events,
}

/// By `Accept`; a page if that names no other form.
pub(super) fn form(headers: &HeaderMap) -> Form {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.contains("text/event-stream") {
        Form::Events
    } else if accept.contains("application/x-ndjson") {
        Form::Lines
    } else {
        Form::Json
    }
}

/// Where `Last-Event-ID` says that the caller is: `revision` or `revision.item`.
pub(super) fn last_event(headers: &HeaderMap) -> Result<Option<ChangeCursor>, Refused> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let read = |id: &str| match id.split_once('.') {
        Some((revision, item)) => Some(ChangeCursor { revision: revision.parse().ok()?, item: item.parse().ok()? }),
        None => Some(ChangeCursor::after(id.parse().ok()?)),
    };
    match id.to_str().ok().and_then(read) {
        Some(cursor) => Ok(Some(cursor)),
        None => Err(Refused::bad_request("Last-Event-ID is the id of an event of this stream, as 1200.3")),
    }
}

struct Stream {
    call: Call,
    filter: ChangeFilter,
    after: ChangeCursor,
    form: Form,
    waiting: VecDeque<ChangeRow>,
    revisions: watch::Receiver<u64>,
    last: Instant,
    _place: Option<SemaphorePermit<'static>>,
}

/// Starts a stream after a place in the history.
pub(super) fn start(call: Call, filter: ChangeFilter, after: ChangeCursor, form: Form) -> Result<Response, Refused> {
    let place = match form {
        Form::Events => Some(STREAMS.try_acquire().map_err(|_| {
            let detail = format!("{MAX_STREAMS} event streams are open, the most at once: end one, or read pages");
            Refused::new(Code::RateLimited, detail)
        })?),
        Form::Lines | Form::Json => None,
    };
    let revisions = call.state.handle.revisions();
    let first =
        Stream { call, filter, after, form, waiting: VecDeque::new(), revisions, last: Instant::now(), _place: place };
    let chunks = stream::unfold(first, |mut stream| async move {
        let chunk = stream.next().await?;
        Some((Ok::<Bytes, Infallible>(chunk), stream))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let kind = if form == Form::Events { "text/event-stream" } else { "application/x-ndjson" };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

impl Stream {
    /// The next rows, or a heartbeat; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.is_admitted().await {
                return None;
            }
            self.revisions.mark_unchanged();
            let page = Page { limit: ROWS, after: Some(self.after) };
            // A store that cannot be read ends the stream: the caller comes back with the id of its last event.
            let read = self.call.state.reader.change_page(&self.filter, &page).await.ok()?;
            self.waiting.extend(read.items);
            let mut out = String::new();
            while let Some(row) = self.waiting.pop_front() {
                self.after = ChangeCursor { revision: row.revision, item: row.item };
                let data = serde_json::to_string(&shown(&row)).unwrap_or_default();
                match self.form {
                    Form::Events => {
                        out.push_str(&format!("id: {}.{}\nevent: change\ndata: {data}\n\n", row.revision, row.item))
                    }
                    Form::Lines | Form::Json => out.push_str(&format!("{data}\n")),
                }
            }
            if !out.is_empty() {
                self.last = Instant::now();
                return Some(Bytes::from(out));
            }
            if self.form != Form::Events {
                return None;
            }
            if self.last.elapsed() >= HEARTBEAT {
                self.last = Instant::now();
                return Some(Bytes::from_static(b": still here\n\n"));
            }
            match tokio::time::timeout(LOOK, self.revisions.changed()).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(_)) => return None,
            }
        }
    }

    async fn is_admitted(&self) -> bool {
        let state = &self.call.state;
        state.readiness.phase() != Phase::Stopping
            && auth::admit(&self.call.headers, &state.reader, state.clock.now(), Access::Read).await.is_ok()
    }
}
