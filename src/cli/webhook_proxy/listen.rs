//! HTTP/1.1 for the one client in the pod, and for its probes: whole requests in, whole answers out.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Most connections at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 100;
/// Most octets of a request's body: as many as the server takes.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A request with its whole body; none if the body is too large or broke off.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// An answer with its whole body.
pub(super) type Answer = Response<Octets>;

/// A body of octets that are all there.
#[derive(Debug)]
pub(super) struct Octets(Option<Bytes>);

impl Octets {
    pub(super) fn new(octets: impl Into<Bytes>) -> Octets {
        Octets(Some(octets.into()).filter(|octets| !octets.is_empty()))
    }
}

impl Body for Octets {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|octets| Ok(Frame::data(octets))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, Bytes::len) as u64)
    }
}

/// An answer of a status with a text.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Octets::new(text));
    *answer.status_mut() = status;
    answer
}

/// Serves until `end` is closed; requests under way are answered then. No time is set for idle connections: the client is
/// in the same pod, and calls once a minute.
pub(super) async fn serve<F, R>(listener: TcpListener, mut end: watch::Receiver<()>, answer: F)
where
    F: Fn(Whole) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Answer> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = GracefulShutdown::new();
    loop {
        let place = tokio::select! {
            place = Arc::clone(&room).acquire_owned() => place.expect("the semaphore is never closed"),
            _ = end.changed() => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            _ = end.changed() => break,
        };
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let answer = answer.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = whole(body).await;
                let (method, path) = (parts.method, parts.uri.path().to_owned());
                Ok::<_, Infallible>(answer(Whole { method, path, headers: parts.headers, body }).await)
            }
        });
        let connection = connections.watch(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A client that breaks off is no concern of anybody else.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    connections.shutdown().await;
}

async fn whole(mut body: Incoming) -> Option<Bytes> {
    let mut octets = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        if octets.len() + data.len() > MAX_BODY {
            return None;
        }
        octets.extend_from_slice(&data);
    }
    Some(octets.into())
}
