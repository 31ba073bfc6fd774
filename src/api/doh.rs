//! DNS over HTTPS (RFC 8484): GET and POST on one path, HTTP/2 and HTTP/1.1, on listeners of its own. What comes is octets
//! for the gate that all transports share; this file knows only how HTTP carries them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::failures::Peer;
use super::listen::{ACCEPT_PAUSE, HANDSHAKE, MAX_HEAD, MAX_HEADERS};
use super::patience::MAX_HEAD_TIME;
use crate::answer::{MAX_MESSAGE, encrypted};
use crate::net::{Crowd, Gate};

/// Longest `dns=`, in octets, judged before it is decoded.
const MAX_PARAMETER: usize = 4 * 1024;
/// Longest path with its parameters.
const MAX_URL: usize = 8 * 1024;
/// Time for a body.
const BODY: Duration = Duration::from_secs(5);
/// Streams of an HTTP/2 connection at a time.
const MAX_STREAMS: u32 = 100;
/// Octets of the headers of a request over HTTP/2.
const MAX_HEADER_LIST: u32 = 8 * 1024;
/// Octets that an HTTP/2 connection or one of its streams may send ahead, and that wait to be sent on a stream.
const WINDOW: u32 = 128 * 1024;
/// Streams that a client may open and reset before its connection ends (CVE-2023-44487).
const MAX_RESETS: usize = 100;
/// How often a silent HTTP/2 connection is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);
/// The media type (RFC 8484 section 6).
const MEDIA: &str = "application/dns-message";
/// Protocols offered by ALPN.
pub const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Takes connections until the task is aborted. `tls` offers [`PROTOCOLS`].
pub async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, gate: Gate, path: String) {
    let acceptor = TlsAcceptor::from(tls);
    let router = Router::new().route(&path, any(answer)).layer(Extension(gate.clone()));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Answers are small and written at once; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let place = gate.enter(peer.ip());
        let (acceptor, router) = (acceptor.clone(), router.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = live(stream, &acceptor, router, peer.ip()) => {}
                () = place.wanted() => {}
            }
        });
    }
}

/// One connection. Whatever ends it ends it alone, and was caused by the other side.
async fn live(stream: TcpStream, acceptor: &TlsAcceptor, router: Router, client: IpAddr) {
    let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
    let speaks_two = stream.get_ref().1.alpn_protocol() == Some(PROTOCOLS[0]);
    let routes = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(client));
        routes.call(request)
    });
    let stream = TokioIo::new(stream);
    let _ = if speaks_two {
        http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADER_LIST)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_send_buf_size(WINDOW as usize)
            .max_pending_accept_reset_streams(MAX_RESETS)
            .max_local_error_reset_streams(MAX_RESETS)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .serve_connection(stream, service)
            .await
    } else {
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(MAX_HEAD_TIME)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD)
            .serve_connection(stream, service)
            .await
    };
}

async fn answer(Extension(gate): Extension<Gate>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    let query = match query(request).await {
        Ok(query) => query,
        Err(status) => return refused(status),
    };
    // What gets no reply over UDP is no query, and the caller is told so.
    let Some(reply) = gate.answer(Crowd::Few, &query, peer.0).await else { return refused(StatusCode::BAD_REQUEST) };
    let age = encrypted::max_age(&reply).unwrap_or(0);
    let mut response = Response::new(Body::from(reply));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA));
    // The value is digits, which a header takes.
    if let Ok(value) = HeaderValue::from_str(&format!("max-age={age}")) {
        response.headers_mut().insert(header::CACHE_CONTROL, value);
    }
    response
}

fn refused(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST"));
    }
    response
}

/// The message of a request, or the status of its refusal (answers.md D3).
async fn query(request: Request) -> Result<Vec<u8>, StatusCode> {
    let length = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if length > MAX_URL {
        return Err(StatusCode::URI_TOO_LONG);
    }
    match *request.method() {
        Method::GET => {
            let parameters = request.uri().query().unwrap_or_default().split('&');
            let mut given = parameters.filter_map(|parameter| parameter.strip_prefix("dns="));
            let text = given.next().filter(|_| given.next().is_none()).ok_or(StatusCode::BAD_REQUEST)?;
            if text.len() > MAX_PARAMETER {
                return Err(StatusCode::URI_TOO_LONG);
            }
            decoded(text).ok_or(StatusCode::BAD_REQUEST)
        }
        Method::POST => {
            if !is_dns_message(request.headers()) {
                return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
            }
            let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
            if announced.and_then(|text| text.parse::<u64>().ok()).is_some_and(|length| length > MAX_MESSAGE as u64) {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            let body = timeout(BODY, to_bytes(request.into_body(), MAX_MESSAGE)).await;
            let body = body.map_err(|_elapsed| StatusCode::REQUEST_TIMEOUT)?;
            Ok(body.map_err(|_too_large| StatusCode::PAYLOAD_TOO_LARGE)?.to_vec())
        }
        _ => Err(StatusCode::METHOD_NOT_ALLOWED),
    }
}

fn is_dns_message(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(MEDIA)
}

/// Octets of base64url without padding (RFC 4648 section 5).
fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_is_read_without_padding() {
        for (text, octets) in [
            ("", &b""[..]),
            ("Zg", b"f"),
            ("Zm8", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg", b"foob"),
            ("-_8", &[0xFB, 0xFF]),
        ] {
            assert_eq!(decoded(text).as_deref(), Some(octets), "{text}");
        }
        for wrong in ["Z", "Zg==", "Zh", "Zm9", "+/8", "Zm 8", "Zm9vé"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }

    async fn status(method: &str, uri: &str, media: &str, body: Vec<u8>) -> Result<usize, u16> {
        let request = Request::builder().method(method).uri(uri).header("content-type", media).body(Body::from(body));
        query(request.expect("a request")).await.map(|query| query.len()).map_err(|status| status.as_u16())
    }

    #[tokio::test]
    async fn each_form_is_taken_or_refused_with_its_status() {
        let long = |octets: usize| format!("/dns-query?dns={}", "A".repeat(octets));
        assert_eq!(status("GET", "/dns-query?dns=AAAB", "", vec![]).await, Ok(3));
        assert_eq!(status("GET", "/dns-query?ct&dns=AAAB", "", vec![]).await, Ok(3));
        assert_eq!(status("GET", "/dns-query", "", vec![]).await, Err(400));
        assert_eq!(status("GET", "/dns-query?dns=AA=", "", vec![]).await, Err(400));
        assert_eq!(status("GET", "/dns-query?dns=AAAB&dns=AAAB", "", vec![]).await, Err(400));
        assert_eq!(status("GET", &long(MAX_PARAMETER), "", vec![]).await, Ok(MAX_PARAMETER / 4 * 3));
        assert_eq!(status("GET", &long(MAX_PARAMETER + 1), "", vec![]).await, Err(414));
        assert_eq!(status("GET", &long(60_000), "", vec![]).await, Err(414));
        assert_eq!(status("POST", "/dns-query", MEDIA, vec![0; MAX_MESSAGE]).await, Ok(MAX_MESSAGE));
        assert_eq!(status("POST", "/dns-query", MEDIA, vec![0; MAX_MESSAGE + 1]).await, Err(413));
        assert_eq!(status("POST", "/dns-query", "text/plain", vec![0; 12]).await, Err(415));
        assert_eq!(status("POST", "/dns-query", "Application/DNS-message; a=b", vec![0; 12]).await, Ok(12));
        assert_eq!(status("PUT", "/dns-query", MEDIA, vec![]).await, Err(405));
    }
}
