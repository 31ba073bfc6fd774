//! The numbers of the overview as server-sent events.

use std::convert::Infallible;

use askama::Template as _;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::Semaphore;

use super::frame::{Frame, Visit};
use super::overview::Live;
use super::rates::PERIOD;
use super::{Fields, Ui};
use crate::api::readiness::Phase;

/// Most streams at once, of the whole process.
const MAX_STREAMS: usize = 50;
/// Events of a stream before it ends; the browser then begins another, whose token is looked at anew.
const EVENTS: u32 = 150;

static STREAMS: Semaphore = Semaphore::const_new(MAX_STREAMS);

/// The stream.
pub(super) async fn stream(State(ui): State<Ui>, Query(fields): Query<Fields>, visit: Visit) -> Response {
    let frame = Frame::of(&ui, &visit, "overview", &fields).await;
    if !frame.may_look() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Ok(place) = STREAMS.try_acquire() else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    let events = stream::unfold((ui, place, 0_u32), |(ui, place, count)| async move {
        tokio::time::sleep(PERIOD).await;
        if count >= EVENTS || ui.state.readiness.phase() == Phase::Stopping {
            return None;
        }
        let text = Live::now(&ui).render().unwrap_or_default();
        let lines: String = text.lines().map(|line| format!("data: {line}\n")).collect();
        let event = Bytes::from(format!("{lines}\n"));
        Some((Ok::<Bytes, Infallible>(event), (ui, place, count + 1)))
    });
    let mut response = Response::new(Body::from_stream(events));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}
