//! The HTTP listener, with or without TLS: connections, headers and their time are bounded.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::failures::Peer;
use super::patience::Patient;

/// Most connections at once; more wait to be accepted.
pub const MAX_CONNECTIONS: usize = 1_000;
/// Most header fields of a request.
pub const MAX_HEADERS: usize = 100;
/// Most octets of the head of a request: 16 KiB of headers behind a URL of 8 KiB.
pub const MAX_HEAD: usize = 24 * 1024;
/// Pause after a connection could not be accepted, as when files run out, so that the loop does not spin.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Time for a TLS handshake.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(5);

/// Serves a router until `stop` is done; then requests under way are answered, and connections end.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    serve_by(listener, None, router, stop).await;
}

/// As [`serve`], over TLS if there is a configuration for it.
pub async fn serve_by(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None).max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
    tokio::pin!(stop);
    loop {
        let place = tokio::select! {
            place = Arc::clone(&room).acquire_owned() => place.expect("the semaphore is never closed"),
            () = &mut stop => break,
        };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => (stream, peer),
                Err(error) => {
                    tracing::warn!(error = %error, "an HTTP connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        // Answers are small and written at once; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let routes = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer.ip()));
            routes.call(request)
        });
        match &acceptor {
            None => {
                let connection =
                    connections.watch(builder.serve_connection(TokioIo::new(Patient::new(stream)), service));
                tokio::spawn(async move {
                    // A client that breaks off is no concern of anybody else.
                    let _ = connection.await;
                    drop(place);
                });
            }
            Some(acceptor) => {
                let (handshake, builder, watcher) = (acceptor.accept(stream), builder.clone(), connections.watcher());
                tokio::spawn(async move {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, handshake).await {
                        let _ =
                            watcher.watch(builder.serve_connection(TokioIo::new(Patient::new(stream)), service)).await;
                    }
                    drop(place);
                });
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}
